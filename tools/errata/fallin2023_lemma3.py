"""Lemma 3 with column sums: three states, one row moved, both signs of the fundamental matrix."""

import numpy as np

P = np.array([[0.86, 0.09, 0.05], [0.06, 0.74, 0.20], [0.90, 0.05, 0.05]])
moved = P.copy()
moved[0] = [0.90, 0.05, 0.05]


def stationary(A):
    """Return the row vector pi with pi A = pi."""
    return np.linalg.solve(np.vstack([(A.T - np.eye(3))[:-1], np.ones(3)]), [0, 0, 1])


pi, change = stationary(P), np.abs(moved - P)
gap = np.abs(stationary(moved) - pi).sum()
for name, sign in (("paper", -1), ("Seneta", 1)):
    Z = np.abs(np.linalg.inv(np.eye(3) - P + sign * pi))
    columns, rows = (Z.sum(axis=axis).max() * change.sum(axis=axis).max() for axis in (0, 1))
    print(f"Z of {name}: distance {gap:.4f}, column sums give {columns:.4f}, row sums {rows:.4f}")
    assert columns < gap <= rows
