"""The matrix Dirichlet mechanism over all rows at once, and noise with projection
calibrated to the same privacy."""

import functools
import itertools
import math

import mpmath
import numpy as np
import pytest
from dp_accounting import gaussian_mechanism
from dp_accounting.pld import privacy_loss_distribution
from scipy import stats

from dpsim import accounting, datasets, dirichlet
from dpsim.accounting.noise_scales import laplace_delta as laplace_delta
from dpsim.dirichlet import matrix
from dpsim.numerics import simplex
from tools.verify.precision_checks import gaussian_profile

PAPER = {"b": 0.025, "eta": 0.10, "eta_bar": 0.051}
ROWS = 32


@pytest.fixture(scope="module")
def core():
    return datasets.load_gainesville(core=True)


# --- Theorem 1 ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "k, epsilon, delta", [(9.87, 1.168, 0.0567), (98.7, 11.13, 1.397e-16)]
)
def test_theorem_one_on_the_core(core, k, epsilon, delta):
    W = simplex.protected_entries(core.transition_matrix).sum(axis=1)
    assert sorted(set(W.tolist())) == [2, 3, 4, 5, 6]
    assert dirichlet.theorem1_matrix_epsilon(
        k, **PAPER, gamma=0.001, protected=W
    ) == pytest.approx(epsilon, rel=5e-4)
    lower, upper = dirichlet.theorem1_delta_bounds(
        k, n=32, eta=0.1, gamma=0.001, protected=int(W.max())
    )
    assert lower <= upper == pytest.approx(delta, rel=2e-3)


def test_theorem_one_takes_the_worst_row():
    k = np.array([9.87, 30.0])
    epsilons = [
        dirichlet.theorem1_vector_epsilon(
            k, shift=0.0125, eta=0.1, eta_bar=0.051, gamma=0.01, n=m
        )
        for m in (2, 3, 5)
    ]
    assert (
        dirichlet.theorem1_matrix_epsilon(
            k, **PAPER, gamma=0.01, protected=[3, 2, 5, 3]
        )
        == np.max(epsilons, 0)
    ).all()


def leaving_by_enumeration(shapes, rest, gamma):
    """Lemma 2 for whole shapes: Q(a, z) = e^-z sum z^i / i! for i < a, whose products
    transform back term by term."""
    with mpmath.workdps(80):
        gamma = mpmath.mpf(gamma)
        stays = mpmath.mpf(0)
        k = mpmath.mpf(sum(shapes)) + mpmath.mpf(rest)
        room = 1 - len(shapes) * gamma
        for powers in itertools.product(*map(range, shapes)):
            total = sum(powers)
            term = mpmath.mpf(1)
            for i in powers:
                term *= gamma**i / mpmath.factorial(i)
            falling = mpmath.rf(k - total, total)  # Gamma(k) / Gamma(k - total)
            stays += term * falling * room ** (k - 1 - total)
        return float(1 - stays)


@pytest.mark.parametrize("gamma", [1e-9, 1e-3, 0.05, 0.08])
@pytest.mark.parametrize(
    "shapes, rest",
    [
        ((1,) * 6, 4.0),
        ((1,) * 6, 0.0),
        ((1, 1), 0.3),
        ((1, 2, 3), 2.5),
        ((4, 2, 1, 5), 0.01),
        ((4,) * 5, 900.0),
    ],
)
def test_lemma_two_for_any_number_of_entries_against_enumeration(shapes, rest, gamma):
    k = sum(shapes) + rest
    leaving = dirichlet.leaving_probability(np.array(shapes) / k, k, gamma=gamma)
    assert leaving == pytest.approx(
        leaving_by_enumeration(shapes, rest, gamma), rel=1e-6, abs=0.0
    )


@pytest.mark.parametrize(
    "p, k, gamma", [((0.1, 0.3, 0.2, 0.15), 3.7, 0.02), ((0.1,) * 6, 9.87, 1e-3)]
)
def test_lemma_two_for_broken_shapes_against_draws(p, k, gamma):
    draws = dirichlet.dirichlet_mechanism(
        [*p, 1 - sum(p)], k, size=400_000, rng=np.random.default_rng(5)
    )
    share = (draws[:, :-1] < gamma).any(axis=1).mean()
    error = np.sqrt(share * (1 - share) / 400_000)
    assert abs(dirichlet.leaving_probability(p, k, gamma=gamma) - share) < 5 * error
    assert (
        abs(dirichlet.leaving_probability(p, 1.1 * k, gamma=gamma) - share) > 5 * error
    )


def test_lemma_two_lies_inside_its_bracket():
    for m in (1, 2, 3, 6):
        for k, gamma in (
            (3.0, 1e-3),
            (9.87, 1e-3),
            (98.7, 1e-3),
            (0.01, 1e-20),
            (0.5, 1e-20),
            (300.0, 0.08),
        ):
            low, high = dirichlet.theorem1_delta_bounds(
                k, eta=0.1, gamma=gamma, n=9, protected=m
            )
            leaving = dirichlet.leaving_probability([0.1] * m, k, gamma=gamma)
            assert low * (1 - 1e-8) <= leaving <= high * (1 + 1e-8)


# --- all rows at once, exactly --------------------------------------------------------


@pytest.mark.parametrize(
    "k, b, eta, eta_bar, gamma, W, n",
    [
        (20.0, 0.05, 0.44, 0.05, 0.05, [2, 2, 2], 3),
        (98.7, 0.025, 0.10, 0.051, 0.001, range(2, 7), ROWS),
    ],
)
def test_theorem_one_fails_when_all_rows_move(k, b, eta, eta_bar, gamma, W, n):
    """Every assumption holds, and one row alone keeps the promise by far; three states
    are enough."""
    assert (
        eta + eta_bar < 0.5
        and k >= max(1 / eta, 1 / (1 - eta - eta_bar))
        and gamma <= 1 / max(W)
    )
    assert 2 * eta + b / 2 <= 1 - eta_bar  # the worst pair is in the domain
    epsilon = float(
        dirichlet.theorem1_matrix_epsilon(
            k, b=b, eta=eta, eta_bar=eta_bar, gamma=gamma, protected=W
        )
    )
    stated = dirichlet.theorem1_delta_bounds(
        k, n=n, eta=eta, gamma=gamma, protected=max(W)
    )[1]
    assert (
        accounting.compose(k, shift=b / 2, eta=eta, count=n).delta_bounds(epsilon)[0]
        > 50 * stated
    )
    assert accounting.exact_delta(epsilon, k, shift=b / 2, eta=eta) < 0.1 * stated


def floor_of(rows, delta=0.01):
    """The epsilon at delta that is approached as k -> 0."""
    return float(
        accounting.compose(1e-6, shift=0.0125, eta=0.1, count=rows).epsilon_lower_bound(
            delta
        )
    )


@pytest.mark.parametrize("delta", [0.01, 1e-6])
def test_the_floor_of_one_row_is_the_closed_form(delta):
    exact = accounting.privacy_floor(delta, shift=0.0125, eta=0.1)
    assert floor_of(1, delta) == pytest.approx(float(exact), rel=1e-4)


@pytest.mark.parametrize(
    "rows, epsilon, delta",
    [(1, 1.0, 0.01), (1, 2.0, 1e-6), (4, 2.0, 0.01), (ROWS, 4.0, 0.01)],
)
def test_the_largest_k_meets_the_target_and_a_larger_one_does_not(rows, epsilon, delta):
    shifts = np.full(rows, 0.0125)
    k = matrix.largest_k(epsilon, delta, shift=shifts, eta=0.1, least=1e-6)
    assert (
        accounting.compose(k, shift=0.0125, eta=0.1, count=rows).delta(epsilon) <= delta
    )
    assert (
        accounting.compose(1.001 * k, shift=0.0125, eta=0.1, count=rows).delta_bounds(
            epsilon
        )[0]
        > delta
    )
    if rows == 1:
        assert k == pytest.approx(
            float(accounting.calibrate_k(epsilon, delta, shift=0.0125, eta=0.1)),
            rel=1e-4,
        )


# --- noise: calibration ---------------------------------------------------------------


def normal_delta(epsilon, sigma, b, rows=1):
    with mpmath.workdps(40):
        return gaussian_profile(epsilon, mpmath.mpf(sigma), mpmath.mpf(b), rows)


@pytest.mark.parametrize("rows", [1, ROWS])
@pytest.mark.parametrize(
    "epsilon, delta",
    [(0.0, 0.1), (0.1, 0.05), (1, 0.01), (1, 1e-6), (10, 1e-9), (0.5, 1e-100)],
)
def test_gaussian_scales_are_the_smallest(epsilon, delta, rows):
    sigma = accounting.gaussian_scale(epsilon, delta, b=0.025, rows=rows)
    assert (
        normal_delta(epsilon, sigma, 0.025, rows)
        <= delta
        < normal_delta(epsilon, sigma * (1 - 3e-9), 0.025, rows)
    )


def test_gaussian_scales_are_refused_where_the_peer_loses_its_digits():
    """At epsilon 0 and delta 1e-12 dp-accounting's scale is right to four digits
    only."""
    sigma = gaussian_mechanism.get_sigma_gaussian(0.0, 1e-12) * 0.025 / math.sqrt(2)
    assert abs(normal_delta(0, sigma, 0.025) / 1e-12 - 1) > 1e-6
    with pytest.raises(
        ValueError,
        match=r"^delta must be larger for epsilon = 0, got 1e-12: its digits cancel",
    ):
        accounting.gaussian_scale(0.0, 1e-12, b=0.025)


@pytest.mark.parametrize(
    "epsilon, scale", [(0.0, 0.02), (0.3, 0.02), (1.0, 0.02), (2.0, 0.006)]
)
def test_laplace_delta_of_one_row_against_integration(epsilon, scale):
    move = 0.0125 / scale
    x = stats.laplace.ppf(
        (np.arange(2000) + 0.5) / 2000
    )  # the midpoint rule in both variables' quantiles
    loss = np.abs(x - move) - np.abs(x)
    total = -np.expm1(np.minimum(epsilon - loss[:, None] - loss, 0.0)).mean()
    assert laplace_delta(epsilon, scale, 0.025, 1) == pytest.approx(total, abs=2e-6)


def test_laplace_delta_of_many_rows_continues_the_one_of_one():
    exact = laplace_delta(0.5, 0.02, 0.025, 1)
    grid = privacy_loss_distribution.from_laplace_mechanism(
        0.02, sensitivity=0.0125, value_discretization_interval=1e-5
    )
    assert grid.self_compose(2).get_delta_for_epsilon(0.5) == pytest.approx(
        exact, rel=1e-4
    )
    three = laplace_delta(0.5, 0.02, 0.025, 3)
    assert three == pytest.approx(
        grid.self_compose(6).get_delta_for_epsilon(0.5), rel=1e-4
    )
    assert three > exact


def test_laplace_is_pure_from_b_over_its_scale_on():
    assert laplace_delta(1.25, 0.02, 0.025, 1) == 0.0
    assert (
        laplace_delta(1.25001 * 3, 0.02, 0.025, 3)
        == 0.0
        < laplace_delta(1.25 * 2, 0.02, 0.025, 3)
    )
    assert laplace_delta(1.2499, 0.02, 0.025, 1) > 0.0


@pytest.mark.parametrize("rows", [1, 3])
def test_laplace_scales_are_the_smallest(rows):
    profile = functools.partial(laplace_delta, b=0.025, rows=rows)
    scale = accounting.laplace_scale(1.0, 0.01, b=0.025, rows=rows)
    assert profile(1.0, scale) <= 0.01 < profile(1.0, 0.9999 * scale)


# --- noise: draws, projection ---------------------------------------------------------


@pytest.mark.parametrize(
    "noise, law", [("laplace", stats.laplace), ("gaussian", stats.norm)]
)
def test_noise_has_its_law_on_the_support_alone(core, noise, law):
    P = core.transition_matrix
    noisy = dirichlet.noisy_matrix(
        P, 0.05, noise, size=400, rng=np.random.default_rng(7)
    )
    assert noisy.shape == (400, 32, 32)
    assert (noisy[:, P == 0] == 0).all()
    drawn = (noisy - P)[:, P > 0].ravel()
    assert stats.kstest(drawn, law(scale=0.05).cdf).pvalue > 1e-6
    assert stats.kstest(drawn, law(scale=0.055).cdf).pvalue < 1e-9


def test_noise_on_a_public_support_does_not_tell_where_the_entries_are_zero():
    drawn = dirichlet.noisy_matrix(
        [1.0, 0.0, 0.0], 0.1, "laplace", support=[True, True, False], size=5, rng=1
    )
    assert (drawn[:, 1] != 0).all() and (drawn[:, 2] == 0).all()
