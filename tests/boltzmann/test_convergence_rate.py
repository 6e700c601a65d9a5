"""The proven bound on the chain's second eigenvalue against those of all starts."""

import math

import numpy as np
import pytest

from dpsim import boltzmann
from dpsim.boltzmann import mixing


def reversible(P):
    """The eigenvalues of a reversible matrix, smallest first, from sqrt(P_ij P_ji)."""
    return np.linalg.eigvalsh(np.sqrt(P * P.T))


def eigenvalues(x, t):
    return reversible(boltzmann.metropolis_matrix(x, t).toarray())


@pytest.mark.parametrize("t", [0.05, 1.0, 4.0, 30.0, 1e4])
@pytest.mark.parametrize(
    "total, bins",
    [(1, 2), (2, 2), (7, 2), (1, 3), (4, 3), (9, 3), (3, 4), (5, 4), (2, 5)],
)
def test_every_start_converges_as_fast_as_is_said(total, bins, t):
    rate = boltzmann.mixing.convergence_rate(total, bins, t)
    spectra = [eigenvalues(x, t) for x in boltzmann.configurations(total, bins)]
    alpha = max(max(values[-2], -values[0]) for values in spectra)
    assert alpha <= rate + 1e-12 and rate < 1
    gap = 1 - max(values[-2] for values in spectra)
    assert 1 - rate >= gap / (2 * bins * bins)  # and it says something


def test_two_bins_are_one_line():
    """With two bins the chain is a line: a gap that is a tenth too large is caught."""
    for t in (1.0, 10.0, 40.0):
        worst = max(eigenvalues(x, t)[-2] for x in boltzmann.configurations(30, 2))
        assert (
            worst
            <= boltzmann.mixing.convergence_rate(30, 2, t)
            <= 1 - 0.95 * (1 - worst)
        )


@pytest.mark.parametrize("smaller", [0.0, 0.5])
def test_the_smaller_gap_of_the_two_lines_counts(monkeypatch, smaller):
    """That it is the line of integers is not proven, so the other one is asked too."""
    monkeypatch.setattr(
        mixing, "_gap", lambda total, t, half: 0.1 if half == smaller else 0.2
    )
    assert boltzmann.mixing.convergence_rate(5, 3, 2.0) == pytest.approx(1 - 0.1 / 3)


@pytest.mark.parametrize("total, bins, t", [(5, 3, 2.0), (4, 4, 9.0), (6, 2, 500.0)])
def test_the_bound_takes_the_least_likely_start(total, bins, t):
    """Before any step the bound is at least (1 + e^epsilon) / (2 sqrt(pi_x(x)))."""
    states = boltzmann.configurations(total, bins)
    least = min(boltzmann.log_stationary(x, t)[row] for row, x in enumerate(states))
    first, rate = mixing.log_distance_bound(total, bins, t, 1.5)
    assert math.log(1 + math.exp(1.5)) - math.log(2) - least / 2 <= first
    assert rate == math.log(boltzmann.mixing.convergence_rate(total, bins, t))
    k = mixing.enough_steps(total, bins, t, 1.5, 1e-6)
    assert (
        boltzmann.mixing_bound(total, bins, t, k, 1.5)
        <= 1e-6
        < boltzmann.mixing_bound(total, bins, t, k - 1, 1.5)
    )


def test_small_integers_of_numpy_do_not_overflow():
    steps = [0, 9000]
    exact = mixing.mixing_bound(200, 3, 1e3, steps, 1.0)
    small = mixing.mixing_bound(np.uint8(200), np.int8(3), 1e3, steps, np.float16(1.0))
    np.testing.assert_array_equal(small, exact)
    few = mixing.enough_steps(np.uint8(200), np.int8(3), np.int16(1000), 1.0, 1e-6)
    assert few == mixing.enough_steps(200, 3, 1e3, 1.0, 1e-6)


@pytest.mark.parametrize("delta", [0.0, -1.0, 1.5, np.nan])
def test_enough_steps_name_the_range_of_delta(delta):
    with pytest.raises(ValueError, match=r"delta must be in \(0, 1\], got"):
        mixing.enough_steps(20, 3, 10.0, 1.0, delta)
