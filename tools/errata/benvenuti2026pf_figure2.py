"""The bounds of Theorem 2 do not become tighter with n in the range of Figure 2."""

from math import comb

import numpy as np

nodes, weights = np.polynomial.legendre.leggauss(400)
u = (nodes + 1) / 2


def width(n, m, epsilon=5.0, b=1):
    """Return upper - lower of Theorem 2, n / 4 * Z * (Phi(0) - Phi(n)); E_Exp[Phi] = 1 / Z."""
    ell = np.arange(n + 1)
    N = np.array([comb(n, k) * (m - 1) ** k for k in ell], dtype=float)
    q = np.exp(-epsilon * ell / (2 * b))
    others = np.exp(np.log1p(-np.outer(u, q)) @ N)[:, None] / (1 - np.outer(u, q))
    phi = weights / 2 @ others
    return n / 4 * (N @ q) * (phi[0] - phi[n])


print("n:", ", ".join(f"{n}: {width(n, 2):.3f}" for n in (2, 8, 16, 20)))
print("m:", ", ".join(f"{m}: {width(5, m):.3f}" for m in (2, 3, 6, 10)))
assert width(20, 2) > 5 * width(2, 2) and width(5, 10) < width(5, 2) / 5
