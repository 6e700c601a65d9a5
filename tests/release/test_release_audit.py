"""The audit of releases: its losses are those of the noise's law, and its bound is wrong as rarely as it says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpsim import accounting
from dpsim.accounting.units import GAUSSIAN, LAPLACE, Noise
from dpsim.release import audit


@pytest.mark.parametrize(("mechanism", "power"), [(LAPLACE, 1), (GAUSSIAN, 2)])
def test_losses_are_those_of_the_law_of_the_noise(mechanism: str, power: int) -> None:
    noise, counts, others = Noise(mechanism, 1.7, 1.0, 0.0), np.array([3, 0, 5]), np.array([2, 1, 5])
    noisy = np.array([[4, -1, 5], [0, 0, 0], [2, 1, 9]])
    scale = 1.7 if power == 1 else 2.0 * 1.7**2

    def log_law(values: np.ndarray) -> np.ndarray:
        return (-(np.abs(noisy - values) ** power) / scale).sum(axis=-1)

    expected = log_law(counts) - log_law(others)
    np.testing.assert_allclose(audit.privacy_loss(noisy, counts, others, noise), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_the_risk_is_shared_by_the_bounds_of_both_laws(epsilon: float) -> None:
    """Each of the two probabilities has a bound that is wrong with half of the risk."""
    losses, others = np.repeat([1.0, 0.5, -1.0], [700, 200, 100]), np.repeat([1.0, 0.5, -1.0], [50, 50, 900])
    hits = [int((array > epsilon).sum()) for array in (losses, others)]
    low = accounting.clopper_pearson(hits[0], 1000, 0.005)[0]
    high = accounting.clopper_pearson(hits[1], 1000, 0.005)[1]
    found = audit.delta_lower_bound(losses, others, epsilon, 0.01)
    assert found == pytest.approx(low - math.exp(epsilon) * high, rel=1e-12)
