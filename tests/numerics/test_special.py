"""Functions that switch to a series, against fifty digits on both sides of the switch."""

import mpmath as mp
import numpy as np
import pytest

from dpsim.numerics import special


@pytest.mark.parametrize("u", [-0.99, -0.89, -0.5, -0.21, -0.19, -1e-3, -1e-9, 1e-9, 1e-3, 0.19, 0.21, 0.89, 5.0])
def test_minus_log1p_against_fifty_digits(u):
    with mp.workdps(50):
        exact = float(mp.mpf(u) - mp.log1p(mp.mpf(u)))
    assert float(special.minus_log1p(np.array(u), np.array(1.0 + u))) == pytest.approx(exact, rel=1e-13, abs=0.0)


@pytest.mark.parametrize("x", [1e-6, 0.5, 11.9, 12.1, 1e3, 1e9])
def test_log_minus_psi_against_fifty_digits(x):
    """A plain difference of the two logarithms would lose seven digits at 1e9, all of them below 1e-12."""
    with mp.workdps(50):
        exact = float(mp.log(mp.mpf(x)) - mp.psi(0, mp.mpf(x)))
    assert float(special.log_minus_psi(np.array(x))) == pytest.approx(exact, rel=1e-13, abs=0.0)


def test_the_beta_quantile_is_right_where_the_inverse_of_scipy_fails():
    k, eta, delta = 98.7, 0.05, 1e-200
    gamma = special.beta_quantile(k * eta, k - k * eta, delta / 5)
    with mp.workdps(40):
        tail = 5 * mp.betainc(k * eta, k - k * eta, 0, mp.mpf(float(gamma)), regularized=True)
    assert float(tail / mp.mpf(delta)) == pytest.approx(1.0, rel=1e-8)
