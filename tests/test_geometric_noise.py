"""Two-sided geometric noise: its probabilities, against one that is a tenth off."""

import itertools
import math

import numpy as np
import pytest

from dpsim import noise

DRAWS = 200_000
FAR = 5.0  # standard errors


def probability(z, rate):
    return math.tanh(rate / 2) * math.exp(-rate * abs(z))


@pytest.mark.parametrize("epsilon, change", [(0.5, 1.0), (1.0, 2.0), (2.0, 1.0)])
def test_noise_has_its_probabilities_and_no_others(epsilon, change):
    drawn = noise.geometric(epsilon, DRAWS, 1, change=change)
    shares = [np.mean(drawn == z) for z in (-2, -1, 0, 1)]

    def distance(rate):
        expected = np.array([probability(z, rate) for z in (-2, -1, 0, 1)])
        return (np.abs(shares - expected) / np.sqrt(expected / DRAWS)).max()

    assert distance(epsilon / change) < FAR
    assert distance(0.9 * epsilon / change) > FAR
    mean = np.abs(drawn).mean()
    expected = noise.geometric_error(epsilon, change=change)
    assert abs(mean - expected) < FAR * drawn.std() / math.sqrt(DRAWS)


def test_one_who_changes_multiplies_no_probability_by_more_than_the_factor():
    for epsilon in (0.1, 1.0, 3.0):
        terms = [probability(z, epsilon) for z in range(-60, 61)]
        ratios = [a / b for a, b in itertools.pairwise(terms)]
        assert max(*ratios, *(1 / r for r in ratios)) == pytest.approx(
            math.exp(epsilon)
        )
        assert sum(terms) == pytest.approx(1.0, abs=1e-2)


def test_shapes_and_seeds():
    assert noise.geometric([1.0, 2.0], (3, 2), 1).shape == (3, 2, 2)
    assert isinstance(noise.geometric(1.0, rng=1), np.int64)
    first, again = (noise.geometric(0.3, 50, 7) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(noise.geometric(1e-15, 9, 1)).max() > 1e10


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1e-16, 701.0, np.nan, "1", [1.0, 0.0]])
def test_an_epsilon_out_of_range_is_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon must be"):
        noise.geometric(epsilon, 3, 1)
    with pytest.raises(ValueError, match="change must be"):
        noise.geometric(1.0, 3, 1, change=0.0)
