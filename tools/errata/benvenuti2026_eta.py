"""A public minimum read from the data: the release shows that one record moved. Table 1 implies such a minimum."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln


def smallest_epsilon(c, N, n, gamma=1e-8):
    """Return Theorem 1's epsilon of a row of N records with the public minimum c / N, at k = 3 / (2 eta)."""
    k = 1.5 * N / c
    ratio = betaln(1.5, k - 3) - betaln(1.5 + 1.5 / c, k - 3 - 1.5 / c)
    return ratio + 1.5 / c * np.log((1 - (n - 1) * gamma) / gamma)


for N in (50_000, 159_000, 400_000):
    c = brentq(lambda c, N=N: smallest_epsilon(c, N, 63) - 45.39, 0.1, 100)
    print(f"Table 1, 63 zones, 45.39: a public minimum of {c:.2f} trips in a row of {N:,}")
    assert 0.9 < c < 1.1

rng = np.random.default_rng(1)


def release(counts):
    """Return one row of Algorithm 2, with eta the smallest share that occurs and k = 3 / (2 eta)."""
    counts = np.array(counts)
    row = np.zeros(len(counts))
    row[counts > 0] = rng.dirichlet(1.5 * counts[counts > 0] / counts[counts > 0].min())
    return row


for counts in ([500, 300, 1], [501, 300, 0]):  # one record moved
    positive = np.mean([release(counts)[2] > 0 for _ in range(10_000)])
    print(f"counts {counts}: the third share is above 0 in {positive:.0%} of the releases")
assert all(release([500, 300, 1])[2] > 0 and release([501, 300, 0])[2] == 0 for _ in range(1000))
