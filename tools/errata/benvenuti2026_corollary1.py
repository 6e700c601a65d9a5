"""Corollary 1: its bound holds, and one step of its proof does not."""

import numpy as np
from scipy.special import polygamma, psi

k, N, n = 20.6, 98, 5


def g(p):
    """Return the summand of (56)."""
    return p * (np.log(p) - psi(k * p) + psi(k))


first, last = 1 / N, 1 - (n - 1) / N
q = np.linspace(first, last, 100_001)
print(f"trigamma(3/2) = {polygamma(1, 1.5):.3f}; the proof calls it strictly negative, above (73)")
print(f"(62) by itself, the two terms apart: {(n - 1) * g(q).max() + g(q).max():.4f}")
print(f"(79) and Corollary 1, the two joined by q2 = 1 - (n - 1) q1: {(n - 1) * g(first) + g(last):.4f}")
print(f"second differences of g: all positive: {bool((np.diff(g(q), 2) > 0).all())}")
p = np.random.default_rng(1).dirichlet(np.ones(n), size=1_000_000) * (1 - n / N) + 1 / N
print(f"largest sum of g over a million points of the domain: {g(p).sum(axis=1).max():.4f}")
assert n * g(q).max() > (n - 1) * g(first) + g(last) > g(p).sum(axis=1).max()
