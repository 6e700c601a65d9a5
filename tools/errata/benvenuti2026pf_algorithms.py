"""Algorithm 1 line 7, Algorithm 2 line 8 and equation (8), read to the letter on small cases."""

from math import comb, exp

n, m, ell = 3, 3, 2  # Figure 1: words at distance 2 from abc over a, b, c


def ways(written, wrong, letters):
    """Return V, the ways to finish: over pairs of state and letter, or, with letters = 1, over distinct states."""
    return comb(n - written, ell - wrong) * letters ** (ell - wrong)


for reading, letters in (("pairs of state and letter", m - 1), ("distinct states, line 7 as printed", 1)):
    total, right, wrong = (ways(*state, letters) for state in ((0, 0), (1, 0), (1, 1)))
    mu = [right / total, *[wrong / total] * (m - 1)]
    print(f"Algorithm 1, {reading}: a, b, c with", ", ".join(f"{x:.3f}" for x in mu), f"- sum {sum(mu):.3f}")
print("Algorithm 2, line 8, in our copy: mu = V(q, y) / V(q, y) = 1 for every transition")
assert sum(mu) > 1.5

weights = [comb(5, k) * exp(-5 * k / 2) for k in range(6)]  # exponential mechanism, n = 5, m = 2, epsilon = 5, b = 1
print(f"equation (8): the distances from l = 1 on have probability {sum(weights[1:]) / sum(weights):.4f}, not 1")
assert sum(weights[1:]) < 0.5 * sum(weights)
