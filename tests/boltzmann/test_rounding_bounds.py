"""The declared errors of samples against the terms of their proofs, added up anew."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpsim import boltzmann
from dpsim.boltzmann import private_histogram, sampling, zero_sum_noise
from dpsim.numerics import exact_draws

UNIT = Fraction(1, 2**53)


@pytest.mark.parametrize("log_left_out", [-5.0, -70.0])
@pytest.mark.parametrize(
    "total, a", [(3, [1.0, 0.2]), (50, [0.01] * 3), (900, [4e-6, 0, 1])]
)
def test_the_error_of_a_limit_covers_every_term_of_its_proof(total, a, log_left_out):
    a = np.array(a)
    found = sampling.limit_error(total, a, log_left_out)
    with np.errstate(divide="ignore"):
        most = np.minimum(total + 1.0, 1.0 + np.sqrt(np.pi / a))
        widths = np.minimum(total + 1.0, 2.0 * np.sqrt(found.cut / a) + 4.0)
    left_out = 2 * a.size * (total + 1) * math.exp(-found.cut) * most.prod()
    assert left_out <= math.exp(log_left_out) * (1 + 1e-9)
    tilt = 2 * total * a.max() + math.log(a.size) + 5
    error = 0.0
    for width in widths:
        error += float(UNIT) * (4 * tilt * width + found.cut + 3)
        error += exact_draws.relative_error(int(width), found.cut)
    assert found.error >= error * (1 - 1e-12)


@pytest.mark.parametrize("bins", [2, 3, 5, 1000, 99_999])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 300.0])
def test_the_error_of_a_step_covers_its_choice_and_its_coin(bins, epsilon):
    """Exactly: how many of 2^53 uniform numbers choose a bin, and a coin's quotient."""

    def off(choices):
        """The largest relative error of the probability of one of the choices."""
        share = Fraction(2**53, choices)
        ends = (math.floor(share), math.ceil(share), math.ceil(share) + 1)
        return max(abs(end / share - 1) for end in ends)

    pair = (1 + off(bins)) * (1 + off(bins - 1)) - 1
    coin = (3 + 2 * Fraction(epsilon)) * UNIT
    bound = Fraction(sampling.step_error(bins, epsilon))
    assert bound >= pair + coin
    assert bound >= (4 * bins + 4 + 2 * Fraction(epsilon)) * UNIT * (1 - UNIT)


def test_zero_sum_noise_is_drawn_at_less_than_the_stated_epsilon(monkeypatch):
    """By what its sampler may lose to rounding; the statement keeps the whole epsilon."""
    drawn = []
    real = zero_sum_noise.one_zero_sum_laplace

    def noted(bins, epsilon, rng):
        drawn.append(epsilon)
        return real(bins, epsilon, rng)

    monkeypatch.setattr(private_histogram.zero_sum_noise, "one_zero_sum_laplace", noted)
    for epsilon in (1e-6, 0.5, 1000.0):
        release = boltzmann.privatize(
            [3, 4, 5], epsilon=epsilon, total=12, bins=3, mechanism="laplace", rng=1
        )
        assert release.epsilon == epsilon
        assert drawn.pop() + zero_sum_noise.ROUNDING <= epsilon
