"""What is inverted is rounded to the safe side by the error that the accounting declares of itself."""

import numpy as np
import pytest

from dpsim import accounting

GRADES = {"shift": 1 / 98, "eta": 0.073}
DECLARED = 0.99e-10  # in log delta


@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_epsilon_and_k_leave_room_for_the_declared_error(delta):
    epsilon = accounting.exact_epsilon(delta, 20.6, **GRADES)
    assert accounting.log_exact_delta(epsilon, 20.6, **GRADES) <= np.log(delta) - DECLARED
    k = accounting.calibrate_k(2.0, delta, **GRADES)
    assert accounting.log_exact_delta(2.0, k, **GRADES) <= np.log(delta) - DECLARED


def test_a_composed_delta_leaves_room_for_the_roundings_of_its_transforms():
    """Where nothing is left of delta but what they may have made of it."""
    composed = accounting.compose(20.6, count=3, **GRADES)
    lower, upper = composed.delta_bounds(50.0)
    assert lower == 0.0 and 1e-12 <= upper <= 1e-11
