"""Equation (8): the probabilities of one error or more, on the 32 words of Figure 2."""

from math import comb

import numpy as np

n, m, b, epsilon = 5, 2, 1, 5
nodes, weights = np.polynomial.legendre.leggauss(40)
u = (nodes + 1) / 2
ell = np.arange(n + 1)
q = np.exp(-epsilon * ell / (2 * b))
counts = np.array([comb(n, d) * (m - 1) ** d for d in ell])
everything = np.prod((1 - np.outer(u, q)) ** counts, axis=1)
Phi = weights / 2 @ (everything[:, None] / (1 - np.outer(u, q)))  # (5) as an integral
P = q * counts * Phi  # (4)
print(f"{m**n} words of {n} letters, epsilon {epsilon}: P(0) to P(5) {P.round(4)}")
print(f"sum from 0 {P.sum():.4f}, sum from 1, as in (8), {P[1:].sum():.4f}")
Z = (q * counts).sum()
expected = (q * counts / Z) @ Phi
print(f"Z {Z:.4f}, 1 / E_Exp[Phi] with all terms {1 / expected:.4f}")
assert abs(P.sum() - 1) < 1e-12 and abs(Z * expected - 1) < 1e-12
