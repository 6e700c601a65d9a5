"""Theorem 5 and Lemma 6: a chain of three states beyond their bounds."""

import numpy as np
from scipy.special import psi

counts = np.array([[5000, 5000, 10], [5000, 5000, 10], [6, 6, 13]])
N, n = counts.sum(axis=1), 3
P = counts / N[:, None]
k = 1.5 / P.min(axis=1)  # Assumption 4 with eta_i the smallest share of row i, below 1/4 (Assumption 3)
pi = np.linalg.solve(np.vstack([(P.T - np.eye(n))[:-1], np.ones(n)]), [0, 0, 1])


def zeta(x):
    """Return zeta_i(x) of every row."""
    return np.log((x + 1) / N) - psi((x + 1) * k / N)


def tau(p):
    """Return max ||z P||_inf over ||z||_inf = 1, sum z = 0; for n = 3 the largest difference within a column."""
    return np.ptp(p, axis=-2).max(axis=-1)


bound = np.sqrt(2 * pi @ ((n - 1) / N * zeta(0) + (N - n + 1) / N * zeta(N - n) + psi(k)))
rng = np.random.default_rng(1)
private = np.stack([rng.dirichlet(k_i * p, size=200_000) for k_i, p in zip(k, P)], axis=1)
moved = np.abs(tau(P) - tau(private)).mean()
columns, rows = (np.abs(P - private).sum(axis=axis).max(axis=1).mean() for axis in (1, 2))
print(f"Theorem 5: E|tau(P) - tau(P~)| = {moved:.3f}, bound {bound:.4f}")
print(f"Lemma 6: E||P - P~|| = {columns:.3f} (column sums) or {rows:.3f} (row sums), bound {bound:.4f}")
assert moved > 2 * bound
