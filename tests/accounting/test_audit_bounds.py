import math

import numpy as np
import pytest
from scipy.stats import binom

from dpsim import accounting

SCIPY_FAILS = (1000, 132579327)  # its inverse of the incomplete beta function gives twice the lower bound


@pytest.mark.parametrize(
    ("hits", "draws"), [(0, 1), (1, 1), (0, 50), (3, 50), (50, 50), (500, 1000), (7, 10**9), SCIPY_FAILS]
)
@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-9])
def test_bounds_are_where_the_binomial_tails_are_alpha(hits, draws, alpha):
    lower, upper = accounting.audit.clopper_pearson(hits, draws, alpha)
    assert 0.0 <= lower <= upper <= 1.0
    if hits:
        assert binom.sf(hits - 1, draws, lower) == pytest.approx(alpha, rel=1e-6)
    else:
        assert lower == 0.0
    if hits < draws:
        assert binom.cdf(hits, draws, upper) == pytest.approx(alpha, rel=1e-6)
    else:
        assert upper == 1.0


@pytest.mark.parametrize("probability", [0.0, 0.01, 0.3, 0.999, 1.0])
def test_bounds_fail_as_rarely_as_they_say(probability):
    draws, alpha = 60, 0.02
    hits = np.arange(draws + 1)
    law = binom.pmf(hits, draws, probability)
    lower, upper = accounting.audit.clopper_pearson(hits, draws, alpha)
    assert law[lower > probability].sum() <= alpha
    assert law[upper < probability].sum() <= alpha


def test_delta_bounds_of_counts():
    lower, upper = accounting.delta_bounds([0.0, 1.0], [900, 900], [100, 100], 1000, 1e-6)
    (low_p, high_p), (low_q, high_q) = (
        accounting.audit.clopper_pearson(900, 1000, 1e-6),
        accounting.audit.clopper_pearson(100, 1000, 1e-6),
    )
    np.testing.assert_allclose(lower, [low_p - high_q, low_p - math.e * high_q])
    np.testing.assert_allclose(upper, [high_p - low_q, high_p - math.e * low_q])


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: accounting.audit.clopper_pearson(5, 4, 0.1), "hits"),
        (lambda: accounting.audit.clopper_pearson(-1, 4, 0.1), "hits"),
        (lambda: accounting.audit.clopper_pearson(1.5, 4, 0.1), "hits"),
        (lambda: accounting.audit.clopper_pearson(1, 0, 0.1), "draws"),
        (lambda: accounting.audit.clopper_pearson(1, 2, 0.6), "alpha"),
        (lambda: accounting.delta_bounds(800.0, 1, 1, 2, 0.1), "epsilon"),
    ],
)
def test_refusals_name_the_argument(call, name):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        call()
