"""The approximate privacy of the limit, and the projection of noise."""

import itertools
import math

import numpy as np
import pytest
from chi_square import p_value

from dpsim import boltzmann


@pytest.mark.parametrize(
    "total, bins", [(1, 2), (3, 2), (1, 4), (6, 3), (4, 4), (3, 5)]
)
@pytest.mark.parametrize("t", [0.5, 4.0, 60.0])
def test_limit_deltas_against_enumeration(total, bins, t):
    space = boltzmann.configurations(total, bins)
    laws = np.exp([boltzmann.log_stationary(x, t) for x in space])
    gaps = np.abs(space[:, None] - space).sum(axis=2)
    x, y = np.nonzero(gaps == 2)

    def delta(level):
        return np.maximum(laws[x] - math.exp(level) * laws[y], 0).sum(axis=1).max()

    targets = np.array([[0.0, 1e-9, 1e-6], [1e-3, 0.1, 0.9]])
    levels = boltzmann.epsilon_at_delta(total, bins, t, targets)
    assert levels[0, 0] == pytest.approx(
        boltzmann.exact_epsilon_limit(total, bins, t), rel=1e-12
    )
    assert (np.diff(levels.ravel()) <= 0).all()
    for level, target in zip(levels.ravel()[1:], targets.ravel()[1:]):
        assert delta(level) <= target + 1e-13
        if level > 0:
            assert delta(level * (1 - 1e-8) - 1e-12) > target - 1e-13


@pytest.mark.parametrize("total, bins", [(1, 2), (4, 3), (5, 4)])
def test_nearest_histogram_is_nearest(total, bins):
    space = boltzmann.configurations(total, bins)
    noisy = np.array(list(itertools.product(range(-3, total + 3), repeat=bins)))
    nearest = boltzmann.nearest_histogram(noisy, total, rng=np.random.default_rng(0))
    assert (nearest.sum(axis=1) == total).all() and (nearest >= 0).all()
    best = ((noisy[:, None] - space) ** 2).sum(axis=2).min(axis=1)
    assert np.array_equal(((noisy - nearest) ** 2).sum(axis=1), best)
    ties = boltzmann.nearest_histogram(
        np.zeros((9000, 3), int), 1, rng=np.random.default_rng(0)
    ).sum(axis=0)
    assert p_value(ties, np.ones(3)) > 1e-6
    assert np.array_equal(boltzmann.nearest_histogram(space, total), space)
