"""Lemma 2, if its radius is sqrt(log(1/beta) / (2 (k + 1))): one coordinate, or all."""

import numpy as np
from scipy.stats import beta as beta_law

rng = np.random.default_rng(1)
k, beta, n = 2.0, 0.2, 20
radius = np.sqrt(np.log(1 / beta) / (2 * (k + 1)))
wider = np.sqrt(np.log(2 * n / beta) / (2 * (k + 1)))
# One entry at most exceeds 1/n + r > 1/2, and none is below 1/n - r < 0.
assert 1 / n + radius > 1 / 2 and 1 / n < radius
coordinate = beta_law(k / n, k - k / n)
one = coordinate.sf(1 / n + radius)
draws = rng.dirichlet(np.full(n, k / n), size=100_000)
distance = np.abs(draws - 1 / n).max(axis=1)
print(f"uniform p, n = {n}, k = {k:g}, beta = {beta}: radius {radius:.3f} is exceeded")
print(f"  by one coordinate with probability {one:.3f}", end=", ")
print(f"by any with {n * one:.2f}, sampled {(distance >= radius).mean():.3f}")
print(f"with 2 n / beta in place of 1 / beta: radius {wider:.3f}", end=", ")
print(f"probability {n * coordinate.sf(1 / n + wider):.3f}")
assert one < beta < n * one and n * coordinate.sf(1 / n + wider) < beta
