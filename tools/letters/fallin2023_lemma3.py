"""Lemma 3 with row sums and with column sums: three states, one row changed."""

import numpy as np

P = np.array([[0.86, 0.09, 0.05], [0.06, 0.74, 0.20], [0.90, 0.05, 0.05]])
moved = P.copy()
moved[0] = [0.90, 0.05, 0.05]


def stationary(matrix):
    """Return the row vector pi with pi P = pi."""
    equations = np.vstack([(matrix.T - np.eye(3))[:-1], np.ones(3)])
    return np.linalg.solve(equations, [0, 0, 1])


pi = stationary(P)
distance = np.abs(stationary(moved) - pi).sum()
print(f"P {P.tolist()}")
print(f"first row changed to {moved[0].tolist()}: distance {distance:.3f}")
for name, sign in (("I - P - 1 pi^T", -1), ("I - P + 1 pi^T", 1)):
    Z = np.linalg.inv(np.eye(3) - P + sign * pi)
    sums = [[np.abs(M).sum(axis=axis).max() for axis in (1, 0)] for M in (Z, moved - P)]
    rows, columns = np.prod(sums, axis=0)
    print(f"inverse of {name}: row sums give {rows:.3f}, column sums {columns:.3f}")
    assert columns < distance < rows
