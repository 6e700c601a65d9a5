"""Corollary 1: its bound holds, and three steps of its proof do not."""

import numpy as np
from scipy.special import polygamma, psi

k, N, n = 20.6, 98, 5  # the grades of Section 6.1


def g(p):
    """Return the summand of (56)."""
    return p * (np.log(p) - psi(k * p) + psi(k))


first = 1 / N
last = 1 - (n - 1) / N
q = np.linspace(first, last, 100_001)
apart = (n - 1) * g(q).max() + g(q).max()
stated = (n - 1) * g(first) + g(last)
print(f"(62), two maxima apart: {apart:.3f}; (79) states {stated:.3f}")
print(f"trigamma(3/2) = {polygamma(1, 1.5):.2f}; above (73) it is called negative")
print(f"k q1 at q1 = 1/N: {k / N:.2f}; above (74) it is at least 3/2")
print(f"g is convex on the domain: {bool((np.diff(g(q), 2) > 0).all())}")
domain = np.random.default_rng(1).dirichlet(np.ones(n), size=300_000)
largest = g(domain * (1 - n / N) + 1 / N).sum(axis=1).max()
print(f"largest sum over 300,000 points of the domain: {largest:.3f}")
assert largest < stated < apart
