import dataclasses
import functools
import math

import mpmath as mp
import numpy as np
import pytest

from dpsim import dirichlet
from dpsim.numerics import special
from tools.verify import precision


@pytest.fixture(scope="module")
def checks():
    return precision.checks()


@pytest.fixture(scope="module")
def table():
    return precision.table(most=2, seed=1)


def test_closed_forms_agree_with_many_digits(table):
    assert table["within"].all(), table[~table["within"]].to_string()
    assert math.isfinite(table["worst_error"].max())


def test_the_page_has_every_function_and_says_when_one_is_out(table):
    page = precision.markdown(table)
    assert page.startswith("# ") and all(f"| {function} |" in page for function in table["function"])
    assert "NOT" not in page and "NOT" in precision.markdown(table.assign(within=False))


def test_no_check_passes_with_a_value_a_little_off(checks):
    for check in checks:
        point = check.grid[len(check.grid) // 2]
        value = float(check.ours(*point))
        off = 20 * check.tolerance * (max(1.0, abs(value)) if check.log else abs(value))
        reference = functools.cache(check.reference)
        for wrong in (value + off, value - off):
            shifted = dataclasses.replace(check, ours=lambda *_, wrong=wrong: wrong, reference=reference)
            missed = precision.error(shifted, point)
            assert missed > check.tolerance or value == 0.0, f"{check.function} at {point}"


def test_a_value_that_is_not_finite_is_an_infinite_error():
    check = precision.Check("none", lambda x: math.nan, lambda x: x, [(1.0,)], 1e-3)
    assert precision.error(check, (1.0,)) == math.inf


@pytest.mark.parametrize(("side", "within"), [(1, 1.0 + 1e-6), (-1, 1.0 - 1e-6), (0, 1.0 + 1e-6)])
def test_a_value_on_the_wrong_side_is_an_infinite_error(side, within):
    for value in (within, 2.0 - within):
        check = precision.Check("none", lambda value=value: value, lambda: precision.mp.mpf(1), [()], 1e-3, side=side)
        assert precision.error(check, ()) == (pytest.approx(1e-6) if value == within or not side else math.inf)


@pytest.mark.parametrize("delta", [1e-300, 1e-30, 1e-9])
def test_the_error_of_a_share_never_seen_is_twice_its_size(delta):
    draws = np.array([1, 10])
    np.testing.assert_allclose(dirichlet.monte_carlo_error(delta, draws), 2.0 * (1.0 - delta) ** draws, rtol=1e-12)


def test_the_beta_quantile_is_right_where_the_inverse_of_scipy_fails():
    k, eta, delta = 98.7, 0.05, 1e-200
    gamma = special.beta_quantile(k * eta, k - k * eta, delta / 5)
    with mp.workdps(40):
        tail = 5 * mp.betainc(k * eta, k - k * eta, 0, mp.mpf(float(gamma)), regularized=True)
    assert float(tail / mp.mpf(delta)) == pytest.approx(1.0, rel=1e-8)
