"""Section V and Figure 2: what Theorem 1 gives for the printed parameters, and for b = 0.01."""

import numpy as np
from scipy.special import betainc, betaln

eta, eta_bar, gamma = 0.10, 0.051, 0.001


def epsilon(k, b):
    """Return Theorem 1's epsilon for rows with two protected entries, the largest."""
    s, rest = b / 2, 1 - eta_bar - eta
    ratio = betaln(k * eta, k * rest) - betaln(k * (eta + s), k * (rest - s))
    return ratio + k * s * np.log((1 - gamma) / gamma)


def delta(k):
    """Return a lower bound on Theorem 1's delta of any row with two protected entries or more."""
    return -np.expm1(2 * np.log1p(-betainc(k * eta, k * (1 - eta), gamma)))


for k in (9.87, 98.7):
    print(f"k = {k}, b = 0.025: epsilon {epsilon(k, 0.025):.3f}, delta at least {delta(k):.2g}")
for b in (0.025, 0.01):
    print(f"b = {b}: k in [10, 200] gives epsilon in [{epsilon(10, b):.3f}, {epsilon(200, b):.3f}]")
assert delta(9.87) > 0.018 and delta(98.7) < 1e-16 and abs(epsilon(200, 0.01) - 9) < 0.05
