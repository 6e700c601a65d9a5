"""Theorem 1 under Definition 4: three rows, and the 32 rows of Section V, that all move at once."""

import numpy as np
from scipy.special import betainc, betaln


def show(k, b, eta, eta_bar, gamma, rows, W_least, W_most, draws):
    """Print Theorem 1's pair, and how far the two releases really are apart, from draws of the privacy loss."""
    s, rest = b / 2, 1 - eta_bar - eta
    epsilon = betaln(k * eta, k * rest) - betaln(k * (eta + s), k * (rest - s))
    epsilon += k * s * np.log((1 - (W_least - 1) * gamma) / gamma)
    stated = W_most * betainc(k * eta, k * (1 - eta), gamma)
    rng = np.random.default_rng(1)
    # row i of P has eta + s and eta where row i of Q has eta and eta + s; the log-ratio of a row is k s log(x / y)
    x, y = rng.gamma(k * (eta + s), size=(rows, draws)), rng.gamma(k * eta, size=(rows, draws))
    exceeding = -np.expm1(np.minimum(epsilon - k * s * np.log(x / y).sum(axis=0), 0))
    error = exceeding.std() / np.sqrt(draws)
    delta = exceeding.mean()
    print(f"{rows} rows, k = {k}: stated ({epsilon:.3f}, {stated:.2g}); true delta {delta:.3g} +- {error:.0e}")
    assert delta - 5 * error > 2 * stated


show(25, 0.16, 0.44, 0.04, 0.25, rows=3, W_least=2, W_most=2, draws=400_000)
show(20, 0.05, 0.44, 0.05, 0.05, rows=3, W_least=2, W_most=2, draws=2_000_000)
show(10, 0.025, 0.10, 0.051, 0.001, rows=32, W_least=2, W_most=6, draws=200_000)
