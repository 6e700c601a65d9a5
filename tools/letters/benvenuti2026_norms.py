"""Lemma 5 needs the largest row sum, C.7 the largest column sum; half the largest
distance of two rows, in place of tau, needs row sums only."""

import numpy as np


def sums(matrix):
    return [np.abs(matrix).sum(axis=axis).max() for axis in (1, 0)]


def stationary(P):
    equations = np.vstack([(P.T - np.eye(len(P)))[:-1], np.ones(len(P))])
    return np.linalg.solve(equations, np.eye(len(P))[-1])


def half_distance(matrix):
    return np.abs(matrix[:, None] - matrix[None]).sum(axis=2).max() / 2


P = np.array([[0.86, 0.09, 0.05], [0.06, 0.74, 0.20], [0.90, 0.05, 0.05]])
moved = np.array([[0.90, 0.05, 0.05], P[1], P[2]])
distance = np.abs(stationary(moved) - stationary(P)).sum()
Z = np.linalg.inv(np.eye(3) - P - stationary(P))
row, column = np.multiply(sums(Z), sums(moved - P))
print(f"Lemma 5: distance {distance:.3f}; by rows {row:.3f}, by columns {column:.3f}")
assert column < distance < row

S = np.array([[7, 1, 1, 1], [7, 1, 1, 1], [1, 1, 7, 1], [1, 1, 7, 1]]) / 10
z = np.array([1, 1, -1, -1])
tau = np.abs(S.T @ z).max()  # no other z gives more
row, column = sums(S)
print(f"C.7: tau {tau:.1f}, largest row sum {row:.1f}, column sum {column:.1f}")
assert row < tau < column

pairs = np.random.default_rng(1).dirichlet(np.ones(4), size=(10_000, 2, 4))
change = [abs(half_distance(A) - half_distance(B)) for A, B in pairs]
by_rows = [sums(A - B)[0] for A, B in pairs]
print(f"half the distance: change over row sum {np.divide(change, by_rows).max():.2f}")
assert np.all(np.less_equal(change, by_rows))
