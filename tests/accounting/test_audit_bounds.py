import math

import numpy as np
import pytest
from scipy.stats import binom

from dpsim import accounting

SCIPY_FAILS = (
    1000,
    132579327,
)  # its inverse of the incomplete beta function gives twice the lower bound


@pytest.mark.parametrize(
    ("hits", "draws"),
    [(0, 1), (1, 1), (0, 50), (3, 50), (50, 50), (500, 1000), (7, 10**9), SCIPY_FAILS],
)
@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-9])
def test_bounds_are_where_the_binomial_tails_are_alpha(hits, draws, alpha):
    lower, upper = accounting.audit.clopper_pearson(hits, draws, alpha)
    assert 0.0 <= lower <= upper <= 1.0
    assert (
        binom.sf(hits - 1, draws, lower) == pytest.approx(alpha, rel=1e-6)
        if hits
        else lower == 0.0
    )
    assert (
        binom.cdf(hits, draws, upper) == pytest.approx(alpha, rel=1e-6)
        if hits < draws
        else upper == 1.0
    )


def test_delta_bounds_of_counts():
    lower, upper = accounting.delta_bounds(
        [0.0, 1.0], [900, 900], [100, 100], 1000, 1e-6
    )
    (low_p, high_p), (low_q, high_q) = (
        accounting.audit.clopper_pearson(n, 1000, 1e-6) for n in (900, 100)
    )
    np.testing.assert_allclose(lower, [low_p - high_q, low_p - math.e * high_q])
    np.testing.assert_allclose(upper, [high_p - low_q, high_p - math.e * low_q])


@pytest.mark.parametrize("name", ["hits_p", "hits_q"])
def test_refusals_of_delta_bounds_name_the_argument(name):
    """They said "hits", which is no argument of it."""
    for wrong in (-1, 11, 0.5, "x"):
        with pytest.raises(ValueError, match=f"^{name} must be"):
            accounting.delta_bounds(
                **(
                    {
                        "epsilon": 0.0,
                        "hits_p": 1,
                        "hits_q": 1,
                        "draws": 10,
                        "alpha": 0.1,
                    }
                    | {name: wrong}
                )
            )
