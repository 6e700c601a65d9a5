import dataclasses
import functools
import math

import pytest

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


def test_no_check_passes_with_a_value_a_little_off(checks):
    for check in checks:
        point = check.grid[len(check.grid) // 2]
        value = float(check.ours(*point))
        off = 20 * check.tolerance * (max(1.0, abs(value)) if check.log else abs(value))
        reference = functools.cache(check.reference)
        for wrong in (value + off, value - off):
            shifted = dataclasses.replace(
                check, ours=lambda *_, wrong=wrong: wrong, reference=reference
            )
            missed = precision.error(shifted, point)
            assert missed > check.tolerance or value == 0.0, (
                f"{check.function} at {point}"
            )


def test_a_value_that_is_not_finite_is_an_infinite_error():
    check = precision.Check("none", lambda x: math.nan, lambda x: x, [(1.0,)], 1e-3)
    assert precision.error(check, (1.0,)) == math.inf


@pytest.mark.parametrize(
    ("side", "within"), [(1, 1.0 + 1e-6), (-1, 1.0 - 1e-6), (0, 1.0 + 1e-6)]
)
def test_a_value_on_the_wrong_side_is_an_infinite_error(side, within):
    for value in (within, 2.0 - within):
        check = precision.Check(
            "none",
            lambda value=value: value,
            lambda: precision.mp.mpf(1),
            [()],
            1e-3,
            side=side,
        )
        assert precision.error(check, ()) == (
            pytest.approx(1e-6) if value == within or not side else math.inf
        )
