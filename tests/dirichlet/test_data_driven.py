"""From counts to private chains: the published accounting, the exact one, the data-free release."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import polygamma

from dpsim import accounting, datasets, dirichlet, ledger

GRADES = datasets.load_grades()["students"].to_numpy()
ZONES = datasets.load_taxi_zones()["zone"]
TAXIS = datasets.counts_matrix(datasets.load_taxi_trips(), ZONES)
SMALL = np.array([[5000, 5000, 10], [5000, 5000, 10], [6, 6, 13]])
ROWS = ledger.published().query("paper == 'benvenuti2026'")


def test_rows_read_totals_categories_and_borders() -> None:
    row = dirichlet.rows([[3, 1, 0], [2, 2, 4]])
    assert row.total.tolist() == [4, 8] and row.categories.tolist() == [2, 3]
    assert row.eta.tolist() == [0.25, 0.25] and row.k_min.tolist() == [6, 6]
    with pytest.raises(ValueError, match="counts must be positive somewhere in each row, got none in row"):
        dirichlet.rows([[1, 2], [0, 0]])
    with pytest.raises(ValueError, match=r"counts must be in \[0, inf\), got -1"):
        dirichlet.rows([[1, -1]])


def test_the_spread_of_one_divergence_is_the_recorded_one() -> None:
    row, C = ROWS.loc["benvenuti2026.fig1.kl_max"], GRADES / 98
    deviation = np.sqrt((C**2 * polygamma(1, 20.6 * C)).sum() - polygamma(1, 20.6))
    assert deviation == pytest.approx(row["deviation"], abs=5e-5)
    drawn = (C * (np.log(C) - dirichlet.log_dirichlet(C, 20.6, size=100_000, rng=np.random.default_rng(3)))).sum(axis=1)
    assert drawn.std() == pytest.approx(deviation, rel=0.02)


def test_a_row_without_neighbours_is_refused() -> None:
    for counts in ([7], [3, 3], [2, 2, 2], [[4, 1], [0, 9]]):
        with pytest.raises(ValueError, match="counts must leave each row a neighbour"):
            dirichlet.published_epsilon(counts, gamma=0.01)
    for counts in ([2, 1], [3, 1, 1]):
        assert dirichlet.published_epsilon(counts, gamma=0.01) > 0
    with pytest.raises(ValueError, match="N_i - 2 min of at least 1, got N_i 7 and min 7 in row"):
        dirichlet.exact_epsilon([7], 1e-6)
    assert dirichlet.exact_epsilon([2, 2, 2], 1e-6) > 0


@pytest.mark.parametrize("zones", [63, 60, 55, 50, 45, 40, 35, 30])
def test_the_smallest_epsilon_of_each_number_of_zones(zones: int) -> None:
    merged, _ = datasets.merge_zones(TAXIS, datasets.load_zone_adjacency(), zones)
    expected = ROWS.loc[f"benvenuti2026.table1.{zones}"]
    epsilon = dirichlet.published_epsilon(merged, gamma=1e-8).max()
    assert epsilon == pytest.approx(expected["expected"], abs=expected["expected_unit"])


def test_the_exact_epsilon_is_below_the_published_one_at_its_own_delta() -> None:
    for counts in (TAXIS, SMALL):
        for factor in (1.0, 2.0, 3.0):
            published = dirichlet.published_epsilon(counts, factor=factor, gamma=1e-8)
            delta = dirichlet.published_delta(counts, factor=factor, gamma=1e-8)[1]
            exact = dirichlet.exact_epsilon(counts, delta, factor=factor)
            assert (exact <= published).all()


def test_the_exact_epsilon_of_a_row_depends_on_its_smallest_count_alone() -> None:
    for smallest, expected in ((1, 14.6), (2, 6.90), (3, 4.45)):
        for others in ([500, 800], [20_000, 31, 77]):
            epsilon = dirichlet.exact_epsilon([smallest, *others], 1e-6)
            assert epsilon == pytest.approx(expected, rel=5e-3)


def test_best_epsilon_refuses_what_it_cannot_use() -> None:
    with pytest.raises(ValueError, match="n must be an integer of at least 2, got 0"):
        dirichlet.best_epsilon_bound(0.1, 20.0, shift=0.01, eta=0.1, n=0)
    with pytest.raises(ValueError, match="k must be in"):
        dirichlet.best_epsilon_bound(0.1, 0.0, shift=0.01, eta=0.1, n=3)


def test_best_gamma_reaches_the_reference_values_and_is_a_bound() -> None:
    best = dirichlet.best_epsilon_bound([0.0026, 1e-6], 20.6, shift=1 / 98, eta=0.073, n=5)
    np.testing.assert_allclose(best, [2.175, 3.275], rtol=5e-4)
    for delta, epsilon in zip([0.0026, 1e-6], best):
        gammas = np.geomspace(1e-12, 0.1, 4000)
        upper = dirichlet.delta_bounds(20.6, eta=0.073, gamma=gammas, n=5)[1]
        on_grid = dirichlet.epsilon_bound(20.6, shift=1 / 98, eta=0.073, gamma=gammas, n=5)[upper <= delta].min()
        assert epsilon <= on_grid <= epsilon * 1.01
    with pytest.raises(ValueError, match=r"delta must be in \(0, 1\), got 0"):
        dirichlet.best_epsilon_bound(0.0, 20.6, shift=1 / 98, eta=0.073, n=5)


@pytest.mark.parametrize("vertices", [1, 2, 5])
@pytest.mark.parametrize("delta, draws", [(0.3, 7), (0.02, 200), (0.0026, 5000)])
def test_monte_carlo_error_is_the_mean_deviation_of_the_worst_estimate(delta, draws, vertices) -> None:
    counts = np.arange(draws + 1)
    pmf = stats.binom.pmf(counts, draws, delta)
    law = np.diff(np.cumsum(pmf) ** vertices, prepend=0.0)
    expected = (law * np.abs(counts / draws - delta)).sum() / delta
    assert dirichlet.monte_carlo_error(delta, draws, vertices=vertices) == pytest.approx(expected, rel=1e-9)


def test_monte_carlo_error_follows_its_large_sample_law() -> None:
    for delta in (0.0026, 0.006, 0.3):
        error = dirichlet.monte_carlo_error(delta, [10**6])
        np.testing.assert_allclose(error, np.sqrt(2 * (1 - delta) / (np.pi * delta * 1e6)), rtol=2e-3)
    assert 0.021 < dirichlet.monte_carlo_error(0.0026, 10**6, vertices=5) < 0.024


@pytest.mark.parametrize("kappa, alpha", [(0.5, 10.0), (1.0, 1.0), (0.05, 2.0)])
def test_posterior_errors_against_draws_and_another_kappa(kappa: float, alpha: float) -> None:
    exact = dirichlet.posterior_absolute_error(GRADES, kappa=kappa, alpha=alpha)
    drawn = dirichlet.posterior_release(GRADES, kappa=kappa, alpha=alpha, size=200_000, rng=np.random.default_rng(5))
    errors = np.abs(drawn - GRADES / 98)
    band = 6 * errors.std(axis=0) / np.sqrt(len(errors))
    assert (np.abs(errors.mean(axis=0) - exact) < band).all()
    wrong = dirichlet.posterior_absolute_error(GRADES, kappa=1.1 * kappa, alpha=1.5 * alpha)
    assert (np.abs(errors.mean(axis=0) - wrong) > band).any()


def test_posterior_release_is_possible_everywhere_and_unbiased_about_its_prior() -> None:
    counts = np.array([[0, 0, 9], [4, 0, 0]])
    drawn = dirichlet.posterior_release(counts, kappa=1.0, alpha=2.0, size=100_000, rng=np.random.default_rng(2))
    assert (drawn > 0).all()
    expected = (counts + 2.0) / (counts + 2.0).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(drawn.mean(axis=0), expected, atol=0.005)


def test_posterior_delta_at_alpha_kappa_one_is_elementary() -> None:
    epsilon = np.array([0.1, 1.0, 5.0])
    np.testing.assert_allclose(
        accounting.posterior_delta(epsilon, kappa=1, alpha=1), 1 / (1 + np.exp(epsilon)), rtol=1e-9
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-3, 30), min_size=1, max_size=6), st.floats(-1, 5), st.floats(-1, 5))
def test_answers_are_finite_or_a_refusal_that_names_its_argument(counts, kappa, alpha) -> None:
    try:
        error = dirichlet.posterior_absolute_error(counts, kappa=kappa, alpha=alpha)
        release = dirichlet.posterior_release(counts, kappa=kappa, alpha=alpha, rng=np.random.default_rng(1))
    except ValueError as refusal:
        assert str(refusal).split()[0] in ("counts", "kappa", "alpha", "k")
    else:
        assert np.isfinite(error).all() and (error >= 0).all() and (error <= 1 + 1e-12).all()
        assert release.sum() == pytest.approx(1) and (release >= 0).all()


def test_the_error_of_a_release_of_tiny_kappa_is_that_of_one_certain_category():
    """Below 1e-154 SciPy's incomplete beta function gives 1 where 2/3 is meant, and the error would be negative."""
    error = dirichlet.posterior_absolute_error([1, 3], kappa=1e-149, alpha=1.0)
    assert error == pytest.approx([2 / 3 * 1 / 4 + 1 / 3 * 3 / 4] * 2)
    with pytest.raises(ValueError, match=r"^kappa must keep kappa \(counts \+ alpha\) in \[1e-150, 1e15\]"):
        dirichlet.posterior_absolute_error([1, 3], kappa=1e-160, alpha=1.0)
