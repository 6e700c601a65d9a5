"""Lemma 2 with the radius sqrt(log(1/beta) / (2 (k + 1))): uniform vectors beyond it. Lemma 3: a vector outside D."""

import numpy as np
from scipy.stats import beta as beta_law

rng = np.random.default_rng(1)
for n, k, beta in ((4, 2.0, 0.2), (20, 2.0, 0.2), (20, 2.0, 0.05)):
    r = np.sqrt(np.log(1 / beta) / (2 * (k + 1)))
    # One entry at most exceeds 1/n + r > 1/2, none can be below 1/n - r < 0: the n probabilities add up.
    exact = n * beta_law(k / n, k - k / n).sf(1 / n + r)
    drawn = np.abs(rng.dirichlet(np.full(n, k / n), size=400_000) - 1 / n).max(axis=1)
    print(f"n {n}, k {k:g}, beta {beta}: r = {r:.4f}, probability {exact:.4f}, simulated {(drawn >= r).mean():.3f}")
    assert exact > beta and 1 / n + r > 1 / 2 and 1 / n < r

k, beta = 50.0, 0.05
r = np.sqrt(np.log(1 / beta) / (2 * (k + 1)))
# (1/2, 1/2) is in D(x, 1 - x) if (1/2 - beta t) / (1 - beta) is within r of x for a t in [0, 1].
outside = 2 * beta_law(25, 25).sf(0.5 / (1 - beta) + r)
print(f"p = (1/2, 1/2), k {k:g}, beta {beta}: outside D with probability {outside:.4f}")
assert outside > 0
