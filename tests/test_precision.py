import math

import pytest

from benchmarks import precision


@pytest.fixture(scope="module")
def checks():
    return precision.checks()


def test_closed_forms_agree_with_many_digits():
    table = precision.table(most=3, seed=1)
    assert table["within"].all(), table[~table["within"]].to_string()
    assert math.isfinite(table["worst_error"].max())


def test_no_check_passes_with_a_value_a_little_off(checks):
    for check in checks:
        point = check.grid[len(check.grid) // 2]
        truth = float(check.ours(*point))
        off = max(1.0, abs(truth)) if check.log else abs(truth)
        wrong = precision.Check(
            check.function,
            lambda *x, truth=truth, off=off, check=check: truth + 20 * check.tolerance * off,
            lambda *x, truth=truth: precision.mp.mpf(truth),
            check.grid,
            check.tolerance,
            check.log,
        )
        assert off == 0 or precision.error(wrong, point) > check.tolerance, check.function


def test_a_value_that_is_not_finite_is_an_infinite_error():
    check = precision.Check("none", lambda x: math.nan, lambda x: x, [(1.0,)], 1e-3)
    assert precision.error(check, (1.0,)) == math.inf
