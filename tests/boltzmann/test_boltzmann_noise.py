"""The approximate privacy of the limit against enumeration, and the noise-injection baselines."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy import stats

from dpsim import boltzmann

X = (1, 2, 3, 20, 24)


@pytest.mark.parametrize("total, bins", [(1, 2), (3, 2), (1, 4), (6, 3), (4, 4), (3, 5)])
@pytest.mark.parametrize("t", [0.5, 4.0, 60.0])
def test_limit_deltas_against_enumeration(total, bins, t):
    space = boltzmann.configurations(total, bins)
    laws = np.exp([boltzmann.log_stationary(x, t) for x in space])
    gaps = np.abs(space[:, None] - space).sum(axis=2)
    x, y = np.nonzero(gaps == 2)
    epsilon = np.array([[0.0, 0.2], [1.5, 30.0]])
    deltas = boltzmann.delta_at_epsilon(total, bins, t, epsilon)
    for place, level in np.ndenumerate(epsilon):
        brute = np.maximum(laws[x] - math.exp(level) * laws[y], 0).sum(axis=1).max()
        assert deltas[place] == pytest.approx(brute, abs=1e-13)
    targets = np.array([0.0, 1e-9, 1e-3, 0.9])
    levels = boltzmann.epsilon_at_delta(total, bins, t, targets)
    assert levels[0] == pytest.approx(boltzmann.exact_epsilon_limit(total, bins, t), rel=1e-12)
    assert (np.diff(levels) <= 0).all()
    for level, target in zip(levels[1:], targets[1:]):
        assert boltzmann.delta_at_epsilon(total, bins, t, level) <= target
        if level > 0:
            assert boltzmann.delta_at_epsilon(total, bins, t, level * (1 - 1e-8)) > target


@pytest.mark.parametrize("sigma", [0.5, 2.0, 7.0])
def test_gaussian_delta_against_brute_force_and_a_peer(sigma):
    support = np.arange(-60, 61)
    law = np.exp(-(support**2) / (2 * sigma**2))
    law /= law.sum()
    shifted = np.exp(-((support - 1) ** 2) / (2 * sigma**2))
    shifted /= shifted.sum()
    epsilon = np.array([0.0, 0.3, 1.0, 3.0])
    ours = boltzmann.discrete_gaussian_delta(sigma, epsilon)
    here, there = np.outer(law, law), np.outer(shifted, shifted[::-1])  # one bin gains, the other loses
    brute = [np.maximum(here - math.exp(e) * there, 0).sum() for e in epsilon]
    np.testing.assert_allclose(ours, brute, atol=1e-14)
    peer = privacy_loss_distribution.from_discrete_gaussian_mechanism(sigma, value_discretization_interval=1e-4)
    np.testing.assert_allclose(ours, peer.self_compose(2).get_delta_for_epsilon(epsilon.tolist()), rtol=2e-3, atol=1e-8)


@pytest.mark.parametrize("sigma", [0.01, 0.2, 1.0, 2.7, 30.0])
def test_discrete_gaussian_delta_is_the_sum_over_all_pairs(sigma):
    u = np.arange(-math.ceil(39 * sigma), math.ceil(39 * sigma) + 1)
    law = np.exp(-(u**2) / (2 * sigma**2)) / np.exp(-(u**2) / (2 * sigma**2)).sum()
    mass, loss = np.convolve(law, law), (np.arange(2 * u[0], 2 * u[-1] + 1) + 1) / sigma**2
    for epsilon in (0.0, 0.01, 0.3, 2.0, 9.0, 60.0):
        direct = float(-np.expm1(np.minimum(epsilon - loss, 0.0)) @ mass)
        delta = boltzmann.discrete_gaussian_delta(sigma, epsilon)
        assert delta == pytest.approx(direct, rel=1e-12, abs=1e-300)


def test_discrete_gaussian_delta_of_wide_noise_is_that_of_the_continuous_one():
    for epsilon in (0.0, 1e-4, 3e-4):  # two entries move by one: sensitivity sqrt(2)
        a, b = (stats.norm.logcdf(sign / (math.sqrt(2) * 1e4) - epsilon * 1e4 / math.sqrt(2)) for sign in (1, -1))
        peer = math.exp(a) - math.exp(epsilon + b)
        assert boltzmann.discrete_gaussian_delta(1e4, epsilon) == pytest.approx(peer, rel=1e-4)
    assert boltzmann.discrete_gaussian_delta(30.0, 1e300) == 0.0


@pytest.mark.parametrize("epsilon, delta", [(0.2, 1e-6), (3.0, 1e-6), (20.0, 1e-9), (0.01, 1e-30)])
def test_calibrated_sigma_is_the_smallest(epsilon, delta):
    sigma = boltzmann.calibrate_sigma(epsilon, delta)
    assert boltzmann.discrete_gaussian_delta(sigma, epsilon) <= delta
    assert boltzmann.discrete_gaussian_delta(sigma * (1 - 1e-7), epsilon) > delta


def chi_square(noise, law, reach):
    observed = np.bincount(np.clip(noise, -reach, reach) + reach, minlength=2 * reach + 1)
    inner = law(np.arange(-reach + 1, reach))
    ends = (1 - inner.sum()) / 2
    return stats.chisquare(observed, np.concatenate([[ends], inner, [ends]]) * noise.size).pvalue


def gaussian(sigma):
    support = np.arange(-200, 201)
    total = np.exp(-(support**2) / (2 * sigma**2)).sum()
    return lambda u: np.exp(-(u**2) / (2 * sigma**2)) / total


def test_noise_has_its_law_and_not_one_ten_per_cent_off():
    rng = np.random.default_rng(4)
    laplace = boltzmann.add_discrete_laplace(X, 1.4, size=40_000, rng=rng) - X
    normal = boltzmann.add_discrete_gaussian(X, 2.5, size=40_000, rng=rng) - X
    assert laplace.shape == normal.shape == (40_000, 5)
    assert chi_square(laplace.ravel(), stats.dlaplace(0.7).pmf, 6) > 1e-6
    assert chi_square(laplace.ravel(), stats.dlaplace(0.77).pmf, 6) < 1e-12
    assert chi_square(normal.ravel(), gaussian(2.5), 7) > 1e-6
    assert chi_square(normal.ravel(), gaussian(2.75), 7) < 1e-12


def test_boltzmann_is_gaussian_noise_given_the_invariants():
    """Draws of the discrete Gaussian with sigma^2 = t / 2 that happen to be histograms of N have the law pi."""
    x, t = (1, 0, 2), 3.0
    noisy = boltzmann.add_discrete_gaussian(x, math.sqrt(t / 2), size=200_000, rng=np.random.default_rng(2))
    valid = noisy[(noisy >= 0).all(axis=1) & (noisy.sum(axis=1) == 3)]
    observed = np.bincount(boltzmann.configuration_index(valid, 3), minlength=10)
    law = np.exp(boltzmann.log_stationary(x, t))
    assert stats.chisquare(observed, law * len(valid)).pvalue > 1e-6
    wrong = np.exp(boltzmann.log_stationary(x, 1.1 * t))
    assert stats.chisquare(observed, wrong * len(valid)).pvalue < 1e-6


@pytest.mark.parametrize("total, bins", [(1, 2), (4, 3), (5, 4)])
def test_nearest_histogram_is_nearest(total, bins):
    space = boltzmann.configurations(total, bins)
    noisy = np.array(list(itertools.product(range(-3, total + 3), repeat=bins)))
    nearest = boltzmann.nearest_histogram(noisy, total, rng=np.random.default_rng(0))
    assert (nearest.sum(axis=1) == total).all() and (nearest >= 0).all()
    best = ((noisy[:, None] - space) ** 2).sum(axis=2).min(axis=1)
    assert np.array_equal(((noisy - nearest) ** 2).sum(axis=1), best)
    ties = boltzmann.nearest_histogram(np.zeros((9000, 3), int), 1, rng=np.random.default_rng(0)).sum(axis=0)
    assert stats.chisquare(ties).pvalue > 1e-6
    assert np.array_equal(boltzmann.nearest_histogram(space, total), space)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: boltzmann.delta_at_epsilon(0, 3, 1, 1), "total must be an integer of at least 1, got 0"),
        (lambda: boltzmann.delta_at_epsilon(3, 1, 1, 1), "bins must be an integer of at least 2, got 1"),
        (lambda: boltzmann.delta_at_epsilon(3, 3, 0, 1), r"t must be in \[1e-100, 1e\+100\], got 0"),
        (lambda: boltzmann.delta_at_epsilon(3, 3, 1, -1), r"epsilon must be in \[0, inf\), got -1"),
        (lambda: boltzmann.epsilon_at_delta(3, 3, 1, 1), r"delta must be in \[0, 1\), got 1"),
        (lambda: boltzmann.add_discrete_laplace([-1, 2], 1), "x must be integers from 0 .*got -1"),
        (lambda: boltzmann.add_discrete_laplace([1, 2], 0), r"epsilon must be in \[1e-06, 1000\], got 0"),
        (lambda: boltzmann.add_discrete_gaussian([1, 2], 0), r"sigma must be in \[0.01, 10000\], got 0"),
        (lambda: boltzmann.discrete_gaussian_delta(1, math.nan), "epsilon must be in .*got nan"),
        (lambda: boltzmann.calibrate_sigma(1, 0), r"delta must be in \[1e-30, 1\), got 0"),
        (lambda: boltzmann.nearest_histogram([1.5, 2], 3), "noisy must be integers from .*got 1.5"),
        (
            lambda: boltzmann.nearest_histogram([1, 2], 0),
            "total must be an integer from 1 to .*, got 0",
        ),
        (lambda: boltzmann.add_discrete_laplace([1, 2], 1, size=-1), "size must be integers of at least 0"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
