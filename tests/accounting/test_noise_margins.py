"""Gaussian scales in 50 digits: none is too small, and none comes from lost digits."""

import mpmath
import numpy as np
import pytest

from dpsim import accounting


def exact_delta(sigma, epsilon):
    """The delta of Gaussian noise at sensitivity 1 (Balle and Wang 2018)."""
    with mpmath.workdps(50):
        sigma, epsilon = mpmath.mpf(sigma), mpmath.mpf(epsilon)
        far = epsilon * sigma
        near = 1 / (2 * sigma)
        tail = mpmath.ncdf(-near - far)
        return mpmath.ncdf(near - far) - mpmath.exp(epsilon) * tail


def test_every_scale_spends_at_most_its_delta():
    rng = np.random.default_rng(3)
    scales = 0
    for _ in range(300):
        epsilon = float(10.0 ** rng.uniform(-3, 2))
        delta = float(10.0 ** rng.uniform(-12, -0.5))
        try:
            sigma = accounting.gaussian_scale(epsilon, delta, b=np.sqrt(0.5), rows=4)
        except ValueError as error:
            assert "delta must be larger" in str(error)
            continue
        scales += 1
        assert exact_delta(sigma, epsilon) <= delta
        assert exact_delta(sigma * (1 - 1e-7), epsilon) > delta
    assert scales > 100


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 10.0, 1e3, 1e4])
def test_where_digits_cancel_a_scale_is_exact_or_refused(epsilon):
    for power in np.arange(-300.0, 0.0, 7.3):
        delta = float(10.0**power)
        try:
            sigma = accounting.gaussian_scale(epsilon, delta, b=np.sqrt(0.5), rows=4)
        except ValueError as error:
            assert f"got {delta:g}" in str(error)
            continue
        assert exact_delta(sigma, epsilon) <= delta
