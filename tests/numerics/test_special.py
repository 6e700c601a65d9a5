"""Functions that switch to a series, against many digits on both sides of the
switch."""

import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest

from dpsim.numerics import special
from tools.verify.precision import error
from tools.verify.precision_checks import special_checks


@pytest.mark.parametrize("check", special_checks(), ids=lambda check: check.function)
def test_special_functions_against_sixty_digits(check):
    """On both sides of every switch to a series; 1 in 10 of the grids of two and more
    arguments, `make audit` all."""
    points = check.grid[:: 1 if len(check.grid[0]) == 1 else 10]
    assert max(error(check, point) for point in points) <= check.tolerance


def test_the_beta_quantile_is_right_where_the_inverse_of_scipy_fails():
    k, eta, delta = 98.7, 0.05, 1e-200
    gamma = special.beta_quantile(k * eta, k - k * eta, delta / 5)
    with mp.workdps(40):
        tail = 5 * mp.betainc(
            k * eta, k - k * eta, 0, mp.mpf(float(gamma)), regularized=True
        )
    assert float(tail / mp.mpf(delta)) == pytest.approx(1.0, rel=1e-8)


@pytest.mark.parametrize("kind", [float, np.float64, np.asarray])
@pytest.mark.parametrize("x", [1e-300, 1e-10, 0.5, 30.0, 1e10, 1e200, 8e307])
def test_gamma_functions_hold_up_to_the_edges_of_their_domain_and_refuse_beyond(
    x, kind
):
    """At 0 they gave NaN for NumPy's numbers and ZeroDivisionError for Python's, and
    -inf for log B(1e10, 1e-300)."""
    for y in (1e-300, 1e-10, 0.5, 1e10, 8e307):
        with mp.workdps(700):
            a = mp.mpf(x)
            b = mp.mpf(y)
            beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
            ratio = mp.loggamma(a + b) - mp.loggamma(a)
        assert special.log_beta(kind(x), kind(y)) == pytest.approx(
            float(beta), rel=1e-13
        )
        assert special.log_gamma_ratio(kind(x), kind(y)) == pytest.approx(
            float(ratio), rel=1e-12
        )
    assert special.log_gamma_ratio(kind(x), kind(0.0)) == 0.0
    for wrong in (-1.0, np.nan, np.inf):
        for name, call in (
            ("a", special.log_beta),
            ("b", special.log_beta),
            ("a", special.log_gamma_ratio),
        ):
            for value in (wrong, 0.0):
                arguments = (value, x) if name == "a" else (x, value)
                with pytest.raises(ValueError, match=rf"^{name} must be in"):
                    call(*map(kind, arguments))
        with pytest.raises(ValueError, match=r"^t must be in"):
            special.log_gamma_ratio(kind(x), kind(wrong))


def test_the_first_call_of_a_process_warns_of_nothing() -> None:
    call = (
        "import numpy as np; from dpsim.numerics import special; "
        "special.log_beta_tail(np.array(0.01), np.array([0.1, 0.9]), np.array([9.0]))"
    )
    strict = [sys.executable, "-W", "error::FutureWarning", "-c", call]
    subprocess.run(strict, check=True)
