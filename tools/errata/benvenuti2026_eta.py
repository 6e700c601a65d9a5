"""A border read from the data: one record moved, and the release tells."""

import numpy as np

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
