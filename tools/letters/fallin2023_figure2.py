"""Figure 2: the epsilon that Theorem 1 gives for k from 10 to 200."""

import numpy as np
from scipy.special import betaln


def epsilon(k, b, eta=0.10, eta_bar=0.051, gamma=0.001):
    """Return Theorem 1's epsilon for rows with two protected entries."""
    s = b / 2
    rest = 1 - eta_bar - eta
    ratio = betaln(k * eta, k * rest) - betaln(k * (eta + s), k * (rest - s))
    return ratio + k * s * np.log((1 - gamma) / gamma)


print("printed: b = 0.025, gamma 0.001, k in [10, 200], epsilon in [0.5, 9]")
for b in (0.025, 0.01):
    print(f"b = {b}: epsilon in [{epsilon(10, b):.2f}, {epsilon(200, b):.2f}]")
# The first term is not negative; a row has at most 9 entries of 0.095 or more
least = 10 * 0.0245 / 2 * np.log((1 - 8 * 0.0015) / 0.0015)
print(f"k = 10, b >= 0.0245, gamma <= 0.0015: epsilon of at least {least:.3f}")
assert least > 0.79 and epsilon(10, 0.01) < 0.5 and abs(epsilon(200, 0.01) - 9) < 0.05
