"""Theorem 1: which public minimum Table 1 implies, and what one record shows."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln

table = {63: 45.39, 55: 19.82, 50: 4.690, 40: 3.730, 35: 3.078}
most = 2_933_898  # trips, Section 6.2


def smallest_epsilon(records, N, n, gamma=1e-8):
    """Return (6) at eta = records / N and k = 3 / (2 eta), in a row of N records."""
    k, shift = 1.5 * N / records, 1.5 / records
    ratio = betaln(1.5, k - 3) - betaln(1.5 + shift, k - 3 - shift)
    return ratio + shift * np.log((1 - (n - 1) * gamma) / gamma)


def excess(records, N, n, epsilon):
    return smallest_epsilon(records, N, n) - epsilon


for n, epsilon in table.items():
    low, high = (brentq(excess, 0.5, 100, (N, n, epsilon)) for N in (10_000, most))
    print(f"{n} zones, {epsilon}: a minimum of {low:.1f} to {high:.1f} trips")
print(f"in rows of 10,000 to {most:,} trips")
ends = [smallest_epsilon(1, N, 63) for N in (10_000, most)]
print(f"from a minimum of 1 trip: {ends[0]:.1f} to {ends[1]:.1f}", end="; ")
print(f"from 2 trips: at most {smallest_epsilon(2, most, 63):.1f}")


rng = np.random.default_rng(1)
for counts in ([500, 300, 1], [501, 300, 0]):  # one record changed
    counts = np.array(counts)
    there = counts > 0
    parameters = 1.5 * counts[there] / counts[there].min()
    releases = np.zeros((10_000, 3))
    releases[:, there] = rng.dirichlet(parameters, size=10_000)
    positive = np.mean(releases[:, 2] > 0)
    print(f"counts {tuple(counts.tolist())}: third share above 0 in {positive:.0%}")
    assert positive == (counts[2] > 0)
