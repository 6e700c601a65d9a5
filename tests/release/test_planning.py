"""What is said before a release: a bound that holds in the mean, an expectation that is near it, warnings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpsim import accounting, release
from dpsim.accounting import GAUSSIAN, LAPLACE, Unit

SETTINGS = {"epsilons": [0.5], "delta": 1e-5}


def law(noise: accounting.Noise, reach: int) -> np.ndarray:
    z = np.abs(np.arange(-reach, reach + 1))
    weights = np.exp(-z / noise.scale if noise.mechanism == LAPLACE else -0.5 * (z / noise.scale) ** 2)
    return weights / weights.sum()


def error_of_a_row(counts: tuple[int, ...], noise: accounting.Noise, reach: int) -> float:
    """Return the mean error of a row by summing over every noise; a row of zeros is 1 off, the worst there is."""
    z = np.array(list(itertools.product(range(-reach, reach + 1), repeat=len(counts))))
    chance = law(noise, reach)[z + reach].prod(axis=1)
    noisy = np.maximum(z + np.array(counts), 0)
    totals = noisy.sum(axis=1)
    shares = noisy / np.maximum(totals, 1)[:, None]
    errors = 0.5 * np.abs(shares - np.array(counts) / sum(counts)).sum(axis=1)
    return float(chance @ np.where(totals > 0, errors, 1.0))


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN])
def test_no_table_errs_more_than_the_bound_in_the_mean(mechanism: str) -> None:
    epsilon, delta = (1.0, 0.0) if mechanism == LAPLACE else (3.0, 1e-3)
    noise = accounting.chosen_noise(epsilon, delta, mechanism=mechanism)
    near = []
    for rows in (((1, 0),), ((3, 0),), ((5, 5),), ((20, 0), (0, 20)), ((9, 0), (2, 1)), ((9, 0, 0),), ((4, 3, 2),)):
        states, events = len(rows), sum(map(sum, rows))
        exact = sum(sum(row) * error_of_a_row(row, noise, 22 if len(row) == 2 else 14) for row in rows) / events
        plan = release.plan(
            states, events, epsilons=[epsilon], delta=delta, pairs=sum(map(len, rows)), mechanism=mechanism
        )
        bound = float(plan["error_bound"].iloc[0])
        assert exact <= bound
        near.append(exact / bound)
    assert max(near) > 0.5  # by half as much noise the bound would fail


def test_the_tables_of_a_hostile_reader() -> None:
    """Few states: the estimate is the plain one, so that the bound is of what is released."""
    for counts in ([[25, 25], [50, 0]], [[10, 0], [0, 10]], [[49, 1], [3, 47]]):
        table = np.array(counts)
        shares = table / table.sum(axis=1, keepdims=True)
        errors = []
        for seed in range(60):
            noise = accounting.chosen_noise(0.5, 0.0)
            noisy = release.noisy_counts(table.ravel(), noise, np.random.default_rng(seed))
            P = release.estimated(release.all_pairs([0, 1]), noisy, noise).matrix.toarray()
            errors.append(float(table.sum(axis=1) @ (0.5 * np.abs(P - shares).sum(axis=1)) / table.sum()))
        bound = float(release.plan(2, int(table.sum()), epsilons=[0.5])["error_bound"].iloc[0])
        assert np.mean(errors) + 3.0 * np.std(errors) / np.sqrt(60) <= bound


@pytest.mark.parametrize(("states", "events"), [(30, 90_000), (30, 9_000)])
def test_what_is_expected_of_rows_that_are_alike(states: int, events: int) -> None:
    """Counts above their noise: Jensen's inequality has (1 - 1/d) times as much at least, to first order."""
    noise = accounting.chosen_noise(1.0, 0.0)
    counts = np.full((states, states), events // states**2)
    errors = []
    for seed in range(20):
        noisy = release.noisy_counts(counts.ravel(), noise, np.random.default_rng(seed)).reshape(counts.shape)
        kept = np.maximum(noisy, 0)
        errors.append(0.5 * np.abs(kept / kept.sum(axis=1, keepdims=True) - 1.0 / states).sum(axis=1).mean())
    plan = release.plan(states, events, epsilons=[1.0]).iloc[0]
    error = 3.0 * np.std(errors) / np.sqrt(20)
    second_order = 1.0 - np.sqrt(states * noise.variance) / counts[0].sum()
    assert np.mean(errors) + error >= plan["expected_error"] * (1.0 - 1.0 / states) * second_order
    assert np.mean(errors) - error <= plan["error_bound"]


def test_columns_and_units() -> None:
    table = release.plan(9, 1_000, units=[Unit(), Unit(events=10), Unit(2, 5)], **SETTINGS)
    assert table["unit"].tolist() == ["event", "10", "2x5"]
    assert table["error_bound"].is_monotonic_increasing or table["mechanism"].nunique() == 2
    assert (table["expected_error"] <= table["error_bound"]).all()
    expected = accounting.chosen_noise(0.5, 1e-5, Unit(events=10), pairs=True)
    assert table["threshold"][1] == accounting.pair_threshold(expected, Unit(events=10), 1e-5 - expected.delta)[0]
    assert release.plan(9, 1_000, epsilons=[1.0])["threshold"].isna().all()


def test_a_delta_that_is_too_large_is_told_by_what_is_known() -> None:
    lines = list(release.plan_lines(states=9, events=1_000, epsilon="1", delta=0.01, limits="event,5"))
    assert "above 1/200, and there are at least 200 units" in lines[-1] and "--units" in lines[-1]
    lines = list(release.plan_lines(states=9, events=1_000, epsilon="1", delta=1e-6, limits="event,5"))
    assert "must be far below 1 / the number of units" in lines[-1]
    lines = list(release.plan_lines(states=9, events=1_000, epsilon="1", delta=1e-6, units=2_000_000))
    assert "delta 1e-06 is above 1/2000000" in lines[-1]
    assert not release.warnings(1.0, 1e-6, 1_000) and not release.warnings(1.0, 0.0)
    assert "protects little" in release.warnings(11.0, 0.0)[0]
