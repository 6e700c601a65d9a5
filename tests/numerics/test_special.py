"""Functions that switch to a series, against many digits on both sides of the switch."""

import mpmath as mp
import pytest

from dpsim.numerics import special
from tools.verify.precision import error
from tools.verify.precision_checks import special_checks


@pytest.mark.parametrize("check", special_checks(), ids=lambda check: check.function)
def test_special_functions_against_sixty_digits(check):
    """On both sides of every switch to a series; 1 in 10 of the grids of two and more arguments, `make audit` all."""
    points = check.grid[:: 1 if len(check.grid[0]) == 1 else 10]
    assert max(error(check, point) for point in points) <= check.tolerance


def test_the_beta_quantile_is_right_where_the_inverse_of_scipy_fails():
    k, eta, delta = 98.7, 0.05, 1e-200
    gamma = special.beta_quantile(k * eta, k - k * eta, delta / 5)
    with mp.workdps(40):
        tail = 5 * mp.betainc(k * eta, k - k * eta, 0, mp.mpf(float(gamma)), regularized=True)
    assert float(tail / mp.mpf(delta)) == pytest.approx(1.0, rel=1e-8)
