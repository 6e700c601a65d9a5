"""The declared errors of samples against the terms of their proofs, added up anew."""

import math
from fractions import Fraction

import pytest

from dpsim import boltzmann
from dpsim.boltzmann import private_histogram, sampling, zero_sum_noise
from dpsim.numerics import exact_draws

UNIT = Fraction(1, 2**53)


@pytest.mark.parametrize("log_left_out", [-5.0, -70.0])
@pytest.mark.parametrize(
    "total, bins, a", [(3, 2, 1.0), (50, 3, 0.01), (900, 3, 4e-6), (900, 2, 30.0)]
)
def test_the_error_of_a_limit_covers_every_term_of_its_proof(
    total, bins, a, log_left_out
):
    cut, error = sampling.limit_error(total, bins, a, log_left_out)
    most = min(total + 1.0, 1.0 + math.sqrt(math.pi / a))
    width = min(total + 1.0, 2.0 * math.sqrt(cut / a) + 4.0)
    left_out = 2 * bins * (total + 1) * math.exp(-cut) * most**bins
    assert left_out <= math.exp(log_left_out) * (1 + 1e-9)
    tilt = 2 * total * a + math.log(bins) + 5
    each = float(UNIT) * (4 * tilt * width + cut + 3)
    each += exact_draws.relative_error(int(width), cut)
    assert error >= bins * each * (1 - 1e-12)


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
    """By what rounding may cost; the statement keeps the whole epsilon."""
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
