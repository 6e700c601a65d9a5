"""Section 6.1: (6) for the grades, and for inputs that round to the printed ones."""

from itertools import product

import numpy as np
from scipy.special import betaln

N, n = 98, 5


def epsilon(k, eta, gamma):
    """Return (6)."""
    there = betaln(k * eta, k * (1 - 2 * eta))
    moved = betaln(k * (eta + 1 / N), k * (1 - 2 * eta - 1 / N))
    return there - moved + k / N * np.log((1 - (n - 1) * gamma) / gamma)


ks = np.linspace(20.55, 20.65, 21)
etas = np.linspace(0.0725, 0.0735, 21)
gammas = np.linspace(0.00035, 0.00045, 21)
largest = max(epsilon(*inputs) for inputs in product(ks, etas, gammas))
formula = epsilon(20.6, 0.073, 0.0004)
print(f"epsilon printed 2.255, from the printed inputs {formula:.3f}")
print(f"from all inputs that round to them: at most {largest:.3f}")
assert largest < 2.2545
