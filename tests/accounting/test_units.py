"""What a unit costs: against the exact accounting, numerical convolutions, and patterns that must not be worse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import fftconvolve
from scipy.special import gammaln

from dpsim import accounting, dirichlet
from dpsim.accounting import Unit, units

STEP = 0.005


def scaled_log_gamma(shape: float, scale: float) -> tuple[int, np.ndarray]:
    """Return the density of scale * log Gamma(shape) on a grid of STEP, and the index of its first point."""
    reach = max(45.0 / shape, 8.0)
    ends = sorted((-reach * scale, 5.5 * scale))
    first = int(np.floor(ends[0] / STEP))
    y = np.arange(first, int(np.ceil(ends[1] / STEP)) + 1) * STEP / scale
    return first, np.exp(shape * y - np.exp(y) - gammaln(shape)) / abs(scale)


def profile(moves: list[int], a: float, kappa: float, epsilon: np.ndarray) -> np.ndarray:
    """Return delta(epsilon) of independent Gammas whose shapes a move by kappa * moves (the lower one is a)."""
    law, other = (
        [(a + kappa * max(sign * d, 0), d) for d in moves] for sign in (-1, 1)
    )  # (shape, coefficient of log G in the loss)
    constant = sum(gammaln(q) - gammaln(p) for (p, _), (q, _) in zip(law, other))
    densities = []
    for side in (law, other):
        first, density = 0, np.array([1.0 / STEP])
        for shape, d in side:
            start, part = scaled_log_gamma(shape, -kappa * d)
            first, density = first + start, fftconvolve(density, part) * STEP
        densities.append((first, np.maximum(density, 0.0)))
    first = densities[0][0]
    loss = constant + (first + np.arange(densities[0][1].size)) * STEP
    p = densities[0][1]
    return np.array([(p * np.maximum(-np.expm1(e - loss), 0.0)).sum() * STEP for e in epsilon])


def test_numerical_profile_agrees_with_the_exact_one() -> None:
    epsilon = np.array([0.0, 0.3, 1.0])
    for a, kappa in ((0.5, 0.4), (3.0, 0.5)):
        exact = accounting.posterior_delta(epsilon, kappa=kappa, alpha=a / kappa)
        np.testing.assert_allclose(profile([1, -1], a, kappa, epsilon), exact, rtol=2e-3, atol=1e-9)
        add = accounting.posterior_delta(epsilon, kappa=kappa, alpha=a / kappa, adjacency="add-remove")
        both = np.maximum(profile([1], a, kappa, epsilon), profile([-1], a, kappa, epsilon))
        np.testing.assert_allclose(both, add, rtol=2e-3, atol=1e-9)


@pytest.mark.parametrize("a", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("kappa", [0.2, 1.0])
@pytest.mark.parametrize(
    ("moves", "worst"),
    [([1, 1], [2]), ([2, 1], [3]), ([1, 1, -2], [2, -2]), ([1, 1, -1, -1], [2, -2]), ([-1, -1, -1], [-3])],
)
def test_no_pattern_is_worse_than_all_events_together(
    a: float, kappa: float, moves: list[int], worst: list[int]
) -> None:
    epsilon = np.array([0.0, 0.2, 0.7, 1.5])
    assert (profile(moves, a, kappa, epsilon) <= profile(worst, a, kappa, epsilon) * (1 + 1e-6) + 1e-9).all()


def test_key_inequality_of_the_proof() -> None:
    x = np.geomspace(1e-4, 60, 200)
    for a in (0.5, 0.7, 2.0, 30.0):
        rate = [np.exp(-a * x / d) / -np.expm1(-x / d) for d in range(1, 8)]
        for one in range(1, 7):
            for two in range(1, 8 - one):
                assert (rate[one - 1] + rate[two - 1] <= rate[one + two - 1] * (1 + 1e-12)).all()
    d = np.arange(1.0, 3.0)
    below = np.exp(-0.3 * 1e-2 / d) / -np.expm1(-1e-2 / d)  # a < 1/2: it fails, which is why 1/2 is demanded
    assert 2 * below[0] > below[1]


@pytest.mark.parametrize("adjacency", units.ADJACENCIES)
def test_one_row_is_the_exact_accounting(adjacency: str) -> None:
    for c in (1, 3):
        got = accounting.unit_epsilon(1e-6, kappa=0.3, alpha=20.0, unit=Unit(c, 1), adjacency=adjacency)
        assert got == accounting.posterior_epsilon(1e-6, kappa=0.3 * c, alpha=20.0 / c, adjacency=adjacency)


def test_several_rows_replace_against_the_bracket_of_accounting() -> None:
    for c, r, kappa, alpha in ((1, 5, 0.3, 20.0), (2, 3, 0.2, 40.0)):
        low, high = accounting.compose_posterior(kappa * c, alpha=alpha / c, count=r).epsilon_bounds(1e-6)
        got = accounting.unit_epsilon(1e-6, kappa=kappa, alpha=alpha, unit=Unit(c, r))
        assert low <= got <= high * 1.001


def test_several_rows_add_remove_against_convolution() -> None:
    a, kappa, r = 6.0, 0.3, 4
    epsilon = accounting.unit_epsilon(1e-3, kappa=kappa, alpha=a / kappa, unit=Unit(1, r), adjacency="add-remove")
    exact = max(profile([sign] * r, a, kappa, np.array([epsilon]))[0] for sign in (1, -1))
    assert 0.99 * 1e-3 < exact <= 1e-3 * (1 + 1e-4)


def test_losses_beyond_the_exponential_are_not_forgotten() -> None:
    for kappa, alpha, delta in ((209.0, 1.0, 1e-3), (453.0, 1.0, 1.0), (50.0, 10.0, 1e-9)):
        one, two = (
            accounting.unit_epsilon(delta, kappa=kappa, alpha=alpha, unit=Unit(3, rows), adjacency="add-remove")
            for rows in (1, 2)
        )
        assert one <= two < np.inf


def test_more_events_and_more_rows_cost_more() -> None:
    def cost(c: int, r: int) -> float:
        return accounting.unit_epsilon(1e-5, kappa=0.1, alpha=60.0, unit=Unit(c, r), adjacency="add-remove")

    assert cost(1, 1) < cost(2, 1) < cost(3, 1)
    assert cost(1, 1) < cost(1, 2) < cost(1, 4)
    assert cost(1, 4) < cost(4, 1)  # spread over rows the same events cost less


# --- the rule ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("adjacency", units.ADJACENCIES)
@pytest.mark.parametrize("totals", [[40_000.0], [500.0, 3_000.0, 90_000.0], [20.0], [0.0]])
def test_the_rule_is_optimal(adjacency: str, totals: list[float]) -> None:
    epsilon, delta, n = 1.0, 1e-6, 40
    plan = accounting.plan(epsilon, delta, n, totals, adjacency=adjacency)
    assert epsilon * (1 - 1e-6) < plan.epsilon <= epsilon
    floor = float(accounting.posterior_floor(delta, alpha=plan.alpha, adjacency=adjacency))
    assert floor < epsilon
    alphas = np.geomspace(11.0, 1e5, 400)
    kappas = accounting.calibrate(epsilon, delta, alphas, Unit(), adjacency)
    kept = kappas > 0
    weights = np.array(totals) / sum(totals) if sum(totals) else np.ones(len(totals)) / len(totals)
    errors = [weights @ accounting.row_error_bound(n, totals, k, a) for k, a in zip(kappas[kept], alphas[kept])]
    assert plan.error <= min(errors) * 1.001


@pytest.mark.parametrize("unit", [Unit(3, 1), Unit(2, 2)])
def test_the_rule_for_units(unit: Unit) -> None:
    plan = accounting.plan(1.5, 1e-5, 20, [5000.0], unit=unit, adjacency="add-remove")
    assert 1.5 * 0.995 < plan.epsilon <= 1.5
    assert unit.events_per_row == 1 or plan.kappa * plan.alpha >= 0.5
    again = accounting.unit_epsilon(1e-5, kappa=plan.kappa, alpha=plan.alpha, unit=unit, adjacency="add-remove")
    assert again == plan.epsilon


@pytest.mark.parametrize("epsilon", [1e-6, 1e30])
@pytest.mark.parametrize("delta", [5e-324, 0.5, 1 - 1e-16])
def test_the_rule_at_the_ends_of_its_range(epsilon: float, delta: float) -> None:
    plan = accounting.plan(epsilon, delta, 5, [100.0, 0.0])
    assert 0.0 <= plan.epsilon <= epsilon and np.isfinite(plan).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 3000), min_size=2, max_size=9), st.floats(0.05, 50.0), st.floats(0.02, 3.0))
def test_error_bound_holds_for_every_row(counts: list[int], alpha: float, kappa: float) -> None:
    if not sum(counts):
        counts = [1, *counts[1:]]
    exact = dirichlet.posterior_absolute_error(np.array(counts), kappa=kappa, alpha=alpha).sum() / 2
    bound = accounting.row_error_bound(len(counts), sum(counts), kappa, alpha)
    assert exact <= bound * (1 + 1e-9)


def test_events_needed() -> None:
    needed = accounting.events_needed(0.1, 1.0, 1e-6, 50)
    assert accounting.plan(1.0, 1e-6, 50, [needed]).error == pytest.approx(0.1, rel=5e-3)
    assert accounting.plan(1.0, 1e-6, 50, [50.0]).error > 0.9  # 50 events among 50 destinations: mostly prior
    assert accounting.events_needed(0.1, 1.0, 1e-6, 1) == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: accounting.plan(0, 1e-6, 3, [9.0]), "epsilon must be in [1e-06, 1e+30], got 0"),
        (lambda: accounting.plan(1, 1e-12, 3, [9.0], unit=Unit(1, 2)), "delta must be in [1e-11, 1), got 1e-12"),
        (
            lambda: accounting.unit_epsilon(1, kappa=1, alpha=1e-300, unit=Unit(1, 2), adjacency="add-remove"),
            "alpha must be in [1e-18, 1e+18], got 1e-300",
        ),
        (
            lambda: accounting.unit_epsilon(1e-12, kappa=1, alpha=1, unit=Unit(1, 2)),
            "delta must be in [1e-11, 1], got 1e-12",
        ),
        (lambda: accounting.plan(1, 0, 3, [9.0]), "delta must be in (0, 1), got 0"),
        (lambda: accounting.plan(1, 1, 3, [9.0]), "delta must be in (0, 1), got 1"),
        (
            lambda: accounting.plan(1, 1e-6, 3, [9.0], unit=Unit(0, 1)),
            "events_per_row must be an integer of at least",
        ),
        (lambda: accounting.plan(1, 1e-6, 3, [9.0], unit=Unit(1, 0)), "rows must be an integer from 1 to 999"),
        (lambda: accounting.plan(1, 1e-6, 3, [9.0], adjacency="other"), "adjacency must be one of"),
        (lambda: accounting.plan(1, 1e-6, 3, [-1.0]), "N must be in [0, inf)"),
        (lambda: accounting.events_needed(1.0, 1, 1e-6, 3), "target must be in (0, 1)"),
        (
            lambda: accounting.unit_epsilon(1e-6, kappa=0.01, alpha=10, unit=Unit(2, 1)),
            "kappa alpha must be at least 0.5",
        ),
    ],
)
def test_refusals(call: object, words: str) -> None:
    with pytest.raises(ValueError) as refusal:
        call()  # type: ignore[operator]
    assert words in str(refusal.value)
