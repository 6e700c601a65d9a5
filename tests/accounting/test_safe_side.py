"""What is inverted is rounded to the safe side by the error that the accounting
declares of itself."""

import re

import numpy as np
import pytest

from dpsim import accounting
from dpsim.numerics import hockey_stick

GRADES = {"shift": 1 / 98, "eta": 0.073}


def log_delta(epsilon, k):
    return hockey_stick.log_delta(
        epsilon, k * GRADES["eta"], k * GRADES["shift"], hockey_stick.REPLACE
    )


@pytest.mark.parametrize(
    ("delta", "target"), [(1e-3, 2.0), (1e-6, 2.0), (1e-300, 200.0)]
)
def test_epsilon_and_k_leave_room_for_the_declared_error(delta, target):
    """Of 1e-10 in log delta and 1e-12 of it, which counts where delta is tiny."""
    declared = 0.99 * (1e-10 - 1e-12 * np.log(delta))
    epsilon = accounting.exact_epsilon(delta, 20.6, **GRADES)
    assert log_delta(epsilon, 20.6) <= np.log(delta) - declared
    k = accounting.calibrate_k(target, delta, **GRADES)
    assert log_delta(target, k) <= np.log(delta) - declared


def test_a_composed_delta_leaves_room_for_the_roundings_of_its_transforms():
    """Where nothing is left of delta but what they may have made of it."""
    composed = accounting.compose(20.6, count=3, **GRADES)
    lower, upper = composed.delta_bounds(50.0)
    assert lower == 0.0 and 1e-12 <= upper <= 1e-11
    pmf, offset = composed.optimistic
    for epsilon in np.linspace(3.0, 6.0, 12):
        lower, upper = composed.delta_bounds(epsilon)
        assert upper >= composed.pessimistic.get_delta_for_epsilon(epsilon) + 1e-12
        assert lower <= max(0.0, pmf.get_delta_for_epsilon(epsilon - offset) - 1e-12)


@pytest.mark.parametrize("pair", [hockey_stick.REPLACE, hockey_stick.ADD_REMOVE])
@pytest.mark.parametrize("log_target", [-1.0, -14.0, -300.0])
def test_the_end_of_the_bracket_that_holds_is_returned(pair, log_target):
    """To the last bit: the other end differs by a relative 1e-13 alone, and fails."""
    for a, t in [(0.3, 0.01), (1.5, 0.2), (20.0, 3.0), (400.0, 25.0)]:
        epsilon = float(hockey_stick.epsilon_for(log_target, a, t, pair))
        assert (
            epsilon == 0.0
            or hockey_stick.excess_over(epsilon, a, t, pair, log_target) <= 0.0
        )


def printed(pattern, error):
    """The number that a message prints at this place."""
    return float(re.search(pattern, str(error.value)).group(1))


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("eta", [0.0123, 0.0345, 0.073])
def test_the_floor_and_the_minimum_that_a_message_prints_can_be_reached(delta, eta):
    """They are rounded up: whoever follows the message must not be refused again."""
    floor = float(accounting.privacy_floor(delta, shift=1 / 98, eta=eta))
    target = 0.5 * floor
    with pytest.raises(ValueError, match="privacy floor") as error:
        accounting.calibrate_k(target, delta, shift=1 / 98, eta=eta)
    assert printed(r"floor (\S+) at", error) >= floor
    wider = printed(r"eta above (\S+) would", error)
    accounting.calibrate_k(target, delta, shift=1 / 98, eta=wider)
