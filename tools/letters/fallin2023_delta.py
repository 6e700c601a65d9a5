"""Theorem 1's delta: the row that 1 - max min takes, and the row that is meant."""

import numpy as np

k, eta, gamma = 10, 0.10, 0.001  # Section V, at the smallest k of Assumption 2
rng = np.random.default_rng(1)
deltas = []
for protected in (2, 6):
    # all protected entries at eta, k eta = 1: Lemma 2's integral has a closed form
    inside = (1 - protected * gamma) ** (k - 1)
    rest = [k - protected]
    draws = rng.dirichlet([k * eta] * protected + rest, size=300_000)
    sampled = np.mean(draws[:, :protected].min(axis=1) < gamma)
    deltas += [1 - inside]
    print(
        f"a row of {protected} protected entries, k = {k}: delta_i {1 - inside:.3f}",
        end=", ",
    )
    print(f"sampled {sampled:.4f}")
    assert abs(sampled - deltas[-1]) < 0.002
print(f"1 - max min {min(deltas):.3f}, max (1 - min) {max(deltas):.3f}")
