"""Theorem 1 under Definition 4: how large delta is when every row differs."""

import numpy as np
from scipy.special import betainc, betaln


def theorem1(k, b, eta, eta_bar, gamma, least=2, most=2):
    """Return epsilon, and the sum of |W_i| tails, which is not less than delta."""
    s = b / 2
    rest = 1 - eta_bar - eta
    epsilon = betaln(k * eta, k * rest) - betaln(k * (eta + s), k * (rest - s))
    epsilon += k * s * np.log((1 - (least - 1) * gamma) / gamma)
    return epsilon, most * betainc(k * eta, k * (1 - eta), gamma)


def true_delta(epsilon, k, b, eta, rows, draws=100_000):
    """Return delta at epsilon, and its standard error, from draws of the log-ratio.

    Each row of P has eta + b / 2 and eta where the row of Q has eta and eta + b / 2.
    """
    rng = np.random.default_rng(1)
    x = rng.gamma(k * (eta + b / 2), size=(rows, draws))
    y = rng.gamma(k * eta, size=(rows, draws))
    log_ratio = k * b / 2 * np.log(x / y).sum(axis=0)
    beyond = -np.expm1(np.minimum(epsilon - log_ratio, 0))
    return beyond.mean(), beyond.std() / np.sqrt(draws)


epsilon, delta = theorem1(25, 0.16, 0.44, 0.04, 0.25)
true, error = true_delta(epsilon, 25, 0.16, 0.44, rows=3)
print("3 rows (0.52, 0.44, 0.04) or (0.44, 0.52, 0.04), gamma 0.25, k = 25:")
print(f"stated ({epsilon:.2f}, {delta:.3f}), true delta {true:.2f}, error {error:.4f}")
assert true - 5 * error > 2 * delta
for k, most in ((10, 6), (98.7, 6)):  # Section V
    epsilon, delta = theorem1(k, 0.025, 0.10, 0.051, 0.001, most=most)
    true, error = true_delta(epsilon, k, 0.025, 0.10, rows=32)
    print(f"Section V, 32 rows of 2 to {most} entries, k = {k}:")
    print(f"stated ({epsilon:.2f}, {delta:.2g}), true {true:.3f}, error {error:.4f}")
    assert true - 5 * error > 2 * delta
