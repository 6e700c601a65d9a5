"""The proven bound on the chain's second eigenvalue against the eigenvalues of all starts, and the lines behind it."""

import math

import numpy as np
import pytest

from dpsim import boltzmann
from dpsim.boltzmann import mixing


def reversible(P):
    """The eigenvalues of a reversible matrix, smallest first: P_ij P_ji is a symmetric matrix's square."""
    return np.linalg.eigvalsh(np.sqrt(P * P.T))


def eigenvalues(x, t):
    return reversible(boltzmann.transition_matrix(x, t).toarray())


@pytest.mark.parametrize("t", [0.05, 1.0, 4.0, 30.0, 1e4])
@pytest.mark.parametrize("total, bins", [(1, 2), (2, 2), (7, 2), (1, 3), (4, 3), (9, 3), (3, 4), (5, 4), (2, 5)])
def test_every_start_converges_as_fast_as_is_said(total, bins, t):
    rate = boltzmann.mixing.convergence_rate(total, bins, t)
    spectra = [eigenvalues(x, t) for x in boltzmann.configurations(total, bins)]
    alpha = max(max(values[-2], -values[0]) for values in spectra)
    assert alpha <= rate + 1e-12 and rate < 1
    gap = 1 - max(values[-2] for values in spectra)
    assert 1 - rate >= gap / (2 * bins * bins)  # and it says something


def test_two_bins_are_one_line():
    """With two bins the chain is a line itself: a gap that is said too large by a tenth is caught."""
    for t in (1.0, 10.0, 40.0):
        worst = max(eigenvalues(x, t)[-2] for x in boltzmann.configurations(30, 2))
        assert worst <= boltzmann.mixing.convergence_rate(30, 2, t) <= 1 - 0.95 * (1 - worst)


def test_redrawing_pairs_has_the_gap_that_the_coupling_gives():
    """The chain R of the proof: its gap is at least 1 / b, and for few people not twice as much."""
    for total, bins, t in [(4, 3, 2.0), (6, 3, 30.0), (4, 4, 5.0), (1, 3, 1e6), (3, 4, 0.3)]:
        states = boltzmann.configurations(total, bins)
        for x in states:
            law = np.exp(boltzmann.log_stationary(x, t))
            R = np.zeros((len(states), len(states)))
            for i in range(bins):
                for j in range(i):
                    rest = np.delete(states, (i, j), axis=1)
                    line = (rest[:, None] == rest).all(axis=2) * law
                    R += line / line.sum(axis=1, keepdims=True) / math.comb(bins, 2)
            assert reversible(R)[-2] <= 1 - 1 / math.comb(bins, 2) + 1e-12


@pytest.mark.parametrize("total, t", [(3, 0.5), (6, 4.0), (8, 1e3)])
def test_every_line_is_a_part_of_two_lines(total, t):
    """Every line x can have: its walk's gap is at least that of the longest of its kind, its other end as proven."""
    long = {half: mixing._gap(total, t, half) for half in (0.0, 0.5)}
    for x in boltzmann.configurations(total, 3):
        for on_line in range(1, total + 1):  # z_0 + z_1
            z = np.arange(on_line + 1)
            energy = ((z - x[0]) ** 2 + (on_line - z - x[1]) ** 2) / t
            walk = 0.5 * np.exp(np.minimum(energy[:, None] - energy, 0.0)) * (np.abs(z[:, None] - z) == 1)
            walk += np.diag(1 - walk.sum(axis=1))
            values = reversible(walk)
            kind = (on_line + x[0] - x[1]) % 2 / 2
            assert 1 - values[-2] >= long[kind] and values[0] >= -values[-2] - 1e-12


@pytest.mark.parametrize("smaller", [0.0, 0.5])
def test_the_smaller_gap_of_the_two_lines_counts(monkeypatch, smaller):
    """That it is the line of integers is not proven, so the other one is asked too."""
    monkeypatch.setattr(mixing, "_gap", lambda total, t, half: 0.1 if half == smaller else 0.2)
    assert boltzmann.mixing.convergence_rate(5, 3, 2.0) == pytest.approx(1 - 0.1 / 3)


@pytest.mark.parametrize("total, bins, t", [(5, 3, 2.0), (4, 4, 9.0), (6, 2, 500.0)])
def test_the_bound_takes_the_least_likely_start(total, bins, t):
    """Before any step the bound is (1 + e^epsilon) / (2 sqrt(pi_x(x))) or more, for the x of the smallest pi_x(x)."""
    states = boltzmann.configurations(total, bins)
    least = min(boltzmann.log_stationary(x, t)[row] for row, x in enumerate(states))
    first, rate = mixing._log_bound(total, bins, t, 1.5)
    assert math.log(1 + math.exp(1.5)) - math.log(2) - least / 2 <= first
    assert rate == math.log(boltzmann.mixing.convergence_rate(total, bins, t))
    k = mixing.enough_steps(total, bins, t, 1.5, 1e-6)
    assert boltzmann.mixing_bound(total, bins, t, k, 1.5) <= 1e-6 < boltzmann.mixing_bound(total, bins, t, k - 1, 1.5)
