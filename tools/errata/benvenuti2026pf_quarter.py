"""An error of 0.62 at epsilon 5 and a reduction of 25 % at epsilon 3 exclude each other if b = 1."""

import numpy as np

E = 0.615  # the smallest value that rounds to 0.62
ell = np.arange(1, 15)
for b in (1, 3):
    Z = 1 + E * np.min(np.exp(ell / b) / (ell - E))  # of all weights at epsilon 3, at least
    print(f"b = {b}: the reduction at epsilon 3 is below {1 / (1 + Z):.1%}")
    if b == 1:
        assert 1 / (1 + Z) < 0.25

nodes, weights = np.polynomial.legendre.leggauss(20)
distances = np.array([0] + 17 * [6])


def errors(epsilon, b=3):
    """Return the expected distance under permute-and-flip and under the exponential mechanism."""
    q = np.exp(-epsilon * distances / (2 * b))
    factors = 1 - np.outer((nodes + 1) / 2, q)
    flip = q * (weights / 2 @ (factors.prod(axis=1, keepdims=True) / factors))
    return flip @ distances, q @ distances / q.sum()


reduction = 1 - np.divide(*errors(3.0))
print(f"b = 3, 17 words at distance 6: error {errors(5.0)[1]:.3f} at epsilon 5, reduction {reduction:.1%} at 3")
assert reduction > 0.25
