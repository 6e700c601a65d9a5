"""What is said before a release: a bound that holds in the mean, an expectation that is
near it, warnings.
"""

import itertools

import numpy as np
import pytest
from scipy import stats

import dpsim_release as release
from dpsim_release.discrete_laplace import Noise, laplace_noise, pair_threshold


def error_of_a_row(counts: tuple[int, ...], noise: Noise, reach: int) -> float:
    """Return the mean error of a row by summing over every noise; a row of zeros is 1
    off, the worst there is.
    """
    z = np.array(list(itertools.product(range(-reach, reach + 1), repeat=len(counts))))
    chance = stats.dlaplace.pmf(z, 1.0 / noise.scale).prod(axis=1)
    noisy = np.maximum(z + np.array(counts), 0)
    totals = noisy.sum(axis=1)
    shares = noisy / np.maximum(totals, 1)[:, None]
    errors = 0.5 * np.abs(shares - np.array(counts) / sum(counts)).sum(axis=1)
    return float(chance @ np.where(totals > 0, errors, 1.0))


def drawn_errors(counts: np.ndarray, noise: Noise, draws: int) -> np.ndarray:
    """Return the mean error of rows that are alike, of counts that are cut off at 0,
    for each draw of the noise.
    """
    errors = []
    for seed in range(draws):
        noisy = release.noisy_counts(
            counts.ravel(), noise, np.random.default_rng(seed)
        ).reshape(counts.shape)
        kept = np.maximum(noisy, 0)
        errors.append(
            0.5
            * np.abs(kept / kept.sum(axis=1, keepdims=True) - 1.0 / len(counts))
            .sum(axis=1)
            .mean()
        )
    return np.array(errors)


def test_no_table_errs_more_than_the_bound_in_the_mean() -> None:
    epsilon = 1.0
    noise = laplace_noise(1.0)
    near = []
    for rows in (
        ((1, 0),),
        ((3, 0),),
        ((5, 5),),
        ((20, 0), (0, 20)),
        ((9, 0), (2, 1)),
        ((9, 0, 0),),
        ((4, 3, 2),),
    ):
        states = len(rows)
        events = sum(map(sum, rows))
        exact = (
            sum(
                sum(row) * error_of_a_row(row, noise, 22 if len(row) == 2 else 14)
                for row in rows
            )
            / events
        )
        plan = release.plan(
            states, events, epsilons=[epsilon], pairs=sum(map(len, rows))
        )
        bound = float(plan["error_bound"].iloc[0])
        assert exact <= bound
        near.append(exact / bound)
    assert max(near) > 0.5  # by half as much noise the bound would fail


def test_the_bound_of_rows_that_are_alike_is_that_of_one() -> None:
    """Without the number of states it would be 1.34, below the 1.51 events that a row
    errs by.
    """
    row = (1000, 20, 20)
    exact = error_of_a_row(row, laplace_noise(1.0), 14)
    plans = (
        release.plan(states, states * sum(row), epsilons=[1.0], pairs=3 * states)
        for states in (1, 400)
    )
    one, many = (float(plan["error_bound"].iloc[0]) for plan in plans)
    assert exact <= one and many == pytest.approx(one)


@pytest.mark.parametrize(("states", "events"), [(30, 90_000), (30, 9_000)])
def test_what_is_expected_of_rows_that_are_alike(states: int, events: int) -> None:
    """Counts above their noise: Jensen's inequality has (1 - 1/d) times as much at
    least, to first order.
    """
    noise = laplace_noise(1.0)
    counts = np.full((states, states), events // states**2)
    errors = drawn_errors(counts, noise, 20)
    plan = release.plan(states, events, epsilons=[1.0]).iloc[0]
    error = 3.0 * np.std(errors) / np.sqrt(20)
    second_order = 1.0 - np.sqrt(states * noise.variance) / counts[0].sum()
    assert (
        np.mean(errors) + error
        >= plan["expected_error"] * (1.0 - 1.0 / states) * second_order
    )
    assert np.mean(errors) - error <= plan["error_bound"]


def test_columns_and_units() -> None:
    table = release.plan(
        9, 1_000, epsilons=[0.5], persons=100, limits=[1, 10, 20], delta=1e-5
    )
    assert table["unit"].tolist() == ["1", "10", "20"] and table[
        "events_kept"
    ].tolist() == [100, 1000, 1000]
    assert table["scale"].tolist() == [2.0, 20.0, 40.0]
    assert (table["expected_error"] <= table["error_bound"]).all()
    assert table["threshold"].tolist() == [
        pair_threshold(laplace_noise(0.5, m), m, 1e-5)[0] for m in (1, 10, 20)
    ]
    one = release.plan(9, 1_000, epsilons=[1.0])
    assert one["threshold"].isna().all() and one["unit"].tolist() == ["event"]
    with pytest.raises(ValueError, match="persons"):
        release.plan(9, 1_000, epsilons=[1.0], limits=[3])


@pytest.mark.parametrize("most", [1, 3])
def test_events_before_limits_are_not_taken_for_those_that_stay(most: int) -> None:
    """500 persons with 20 events each: what is planned for a limit is what a table cut
    to it has.
    """
    states, persons, each = 4, 500, 20
    plan = release.plan(
        states, persons * each, epsilons=[1.0], persons=persons, limits=[most]
    ).iloc[0]
    errors = drawn_errors(
        np.full((states, states), persons * most // states**2),
        laplace_noise(1.0, most),
        40,
    )
    assert 0.5 * plan["expected_error"] <= np.mean(errors) <= plan["error_bound"]
