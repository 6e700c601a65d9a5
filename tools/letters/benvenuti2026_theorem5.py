"""Theorem 5 and Lemma 6: three states beyond their bounds, and bounds that hold."""

import numpy as np
from scipy.special import psi

counts = np.array([[5000, 5000, 10], [5000, 5000, 10], [6, 6, 13]])
N = counts.sum(axis=1)
n = 3
P = counts / N[:, None]
k = 1.5 / P.min(axis=1)  # Assumption 4; each eta_i is below 1/4 (Assumption 3)
equations = np.vstack([(P.T - np.eye(n))[:-1], np.ones(n)])
pi = np.linalg.solve(equations, [0, 0, 1])


def zeta(x):
    return np.log((x + 1) / N) - psi((x + 1) * k / N)


def tau(matrix):  # three states: the largest difference within a column
    return np.ptp(matrix, axis=-2).max(axis=-1)


by_row = (n - 1) / N * zeta(0) + (N - n + 1) / N * zeta(N - n) + psi(k)  # Corollary 1
printed = np.sqrt(2 * pi @ by_row)
rng = np.random.default_rng(1)
rows = [rng.dirichlet(factor * row, size=100_000) for factor, row in zip(k, P)]
private = np.stack(rows, axis=1)
moved = np.abs(tau(P) - tau(private)).mean()
distances = np.abs(P - private)
row_sums = distances.sum(axis=2).max(axis=1).mean()
column_sums = distances.sum(axis=1).max(axis=1).mean()
print(f"counts {counts.tolist()}")
print(f"E|tau(P) - tau(P~)| {moved:.3f}, Theorem 5 allows {printed:.3f}")
print(f"  sum of sqrt(2 L_i) / 2: {np.sqrt(2 * by_row).sum() / 2:.3f}")
print(f"E||P - P~||: row sums {row_sums:.2f}, column sums {column_sums:.2f}")
print(f"  Lemma 6 allows {printed:.3f}")
assert 2 * printed < moved < np.sqrt(2 * by_row).sum() / 2
assert 2 * printed < column_sums < row_sums < np.sqrt(2 * by_row.sum())
