"""Tests of the exact accounting: 90-digit oracles, reference values, domination,
compositions, an audit."""

import math
import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import special

from dpsim import accounting, dirichlet
from dpsim.numerics import hockey_stick
from tools.verify.precision_checks import log_add_remove, log_replace

GRADES = {"eta": 0.073, "shift": 1 / 98}
ROWS = {"eta": 0.10, "shift": 0.0125}
PAIRS = {"replace": hockey_stick.REPLACE, "add-remove": hockey_stick.ADD_REMOVE}


def log_posterior_delta(epsilon, *, kappa, alpha, adjacency="replace"):
    """The logarithm of posterior_delta, below 1e-308 too."""
    return np.minimum(
        hockey_stick.log_delta(
            epsilon, np.multiply(kappa, alpha), kappa, PAIRS[adjacency]
        ),
        0.0,
    )


def posterior_epsilon(delta, *, kappa, alpha, adjacency="replace"):
    """The smallest epsilon of the posterior release at delta, rounded up."""
    return hockey_stick.epsilon_for(
        np.log(delta), np.multiply(kappa, alpha), kappa, PAIRS[adjacency]
    )


# --- many digits ----------------------------------------------------------------------

BETA_CASES = [
    (0.629, 1.5038, 0.2102),
    (0.0, 2.0, 3.0),
    (0.0, 1e-6, 1e-6),
    (1e-6, 1e-6, 1e-3),
    (1e3, 1e-6, 1.0),
    (1e3, 1e-3, 1e9),
    (1.0, 1e6, 1e-6),
    (1e-6, 1e9, 1e-6),
    (30.0, 1.5, 1.5),
    (900.0, 1.0, 1.3),
    (1e3, 10.0, 1.0),
    (1e3, 300.0, 0.4),
    (7e5, 1e5, 1e6),
    (2.5e5, 1e5, 1e5),
    (1e3, 1e9, 1e3),
    (7.5e8, 1e9, 1e9),
    (1e-3, 3e3, 2e3),
    (40.0, 0.02, 1e4),
]


@pytest.mark.parametrize(("epsilon", "a", "t"), BETA_CASES)
def test_log_delta_agrees_with_90_digits(epsilon, a, t):
    with mp.workdps(90):
        truth = log_replace(*map(mp.mpf, (epsilon, a, t)))
    error = abs(hockey_stick.log_delta(epsilon, a, t, hockey_stick.REPLACE) - truth)
    assert error <= 1e-10 + 1e-12 * abs(truth)


@pytest.mark.parametrize("a", [1e-2, 0.7, 15.0, 400.0])
@pytest.mark.parametrize("t", [1e-9, 1e-6, 1e-3, 1.0, 30.0, 80.0])
def test_add_remove_agrees_with_60_digits(a, t):
    for epsilon in (0.0, 0.3 * t, 4.0 * t):
        with mp.workdps(60):
            truth = log_add_remove(*map(mp.mpf, (epsilon, a, t)))
        error = abs(
            hockey_stick.log_delta(epsilon, a, t, hockey_stick.ADD_REMOVE) - truth
        )
        assert error <= 1e-10 + 1e-12 * abs(truth)


def test_huge_and_tiny_parameters_stay_finite():
    grid = np.array([1e-9, 1e-3, 1.0, 1e3, 1e10])
    alpha, kappa = np.meshgrid(grid, grid)
    inside = (alpha * kappa >= 1e-9) & (alpha * kappa <= 1e10)
    for epsilon in (0.0, 1e-6, 1.0, 1e3, 1e20):
        for adjacency in ("replace", "add-remove"):
            values = log_posterior_delta(
                epsilon, kappa=kappa[inside], alpha=alpha[inside], adjacency=adjacency
            )
            assert np.all(np.isfinite(values)) and np.all(values <= 0.0)


# --- reference values -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "delta", "epsilon"),
    [(20.6, 0.0026, 0.629), (110.6, 1e-6, 2.836), (1e10, 1.0, 0.0)],
)
def test_exact_epsilon_of_the_grades(k, delta, epsilon):
    assert accounting.exact_epsilon(delta, k, **GRADES) == pytest.approx(
        epsilon, abs=6e-4
    )


def test_the_first_call_of_a_process_warns_of_nothing():
    first = (
        "from dpsim import accounting; "
        "accounting.exact_epsilon([1e-3, 1e-6], 20.6, shift=0.01, eta=0.07)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", first], check=True)


# --- inverses and limits --------------------------------------------------------------

shape = st.floats(-5.0, 6.0).map(lambda x: 10.0**x)
small_delta = st.floats(-250.0, -0.1).map(lambda x: 10.0**x)
adjacencies = st.sampled_from(["replace", "add-remove"])


@settings(max_examples=60, deadline=None)
@given(alpha=shape, kappa=shape, delta=small_delta, adjacency=adjacencies)
def test_epsilon_is_the_smallest_that_holds(alpha, kappa, delta, adjacency):
    assume(1e-6 <= alpha * kappa <= 1e9)
    arguments = {"kappa": kappa, "alpha": alpha, "adjacency": adjacency}
    epsilon = posterior_epsilon(delta, **arguments)
    log_delta = math.log(delta)
    assert log_posterior_delta(epsilon, **arguments) <= log_delta
    if epsilon > 0.0:
        smaller = log_posterior_delta(epsilon, **arguments)
        assert smaller > log_delta - 3e-10 - 1e-11 * abs(log_delta)


@settings(max_examples=60, deadline=None)
@given(
    alpha=shape,
    kappa=shape,
    factor=st.floats(1.01, 100.0),
    ratio=st.floats(0.0, 20.0),
    adjacency=adjacencies,
)
def test_delta_grows_with_the_scale_from_the_floor(
    alpha, kappa, factor, ratio, adjacency
):
    assume(alpha * kappa >= 1e-6 and alpha * kappa * factor <= 1e9)
    epsilon = ratio / alpha
    scales = np.array([kappa, kappa * factor])
    less, more = log_posterior_delta(
        epsilon, kappa=scales, alpha=alpha, adjacency=adjacency
    )
    assert less <= more + 1e-10
    assert (
        accounting.posterior_floor(np.exp(less), alpha=alpha, adjacency=adjacency)
        <= epsilon * (1 + 1e-9) + 1e-9
    )


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_the_floor_is_approached(adjacency):
    alpha = np.array([0.3, 1.0, 10.0])
    floor = accounting.posterior_floor(1e-6, alpha=alpha, adjacency=adjacency)
    epsilon = posterior_epsilon(1e-6, kappa=1e-8, alpha=alpha, adjacency=adjacency)
    np.testing.assert_allclose(epsilon, floor, rtol=1e-6)
    assert accounting.posterior_floor(0.9, alpha=1.0, adjacency=adjacency) == 0.0


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.56, 1e-6), (2.0, 1e-6), (40.0, 1e-9), (1e-3, 0.4)]
)
def test_calibrated_k_is_the_largest(epsilon, delta):
    k = accounting.calibrate_k(epsilon, delta, **GRADES)
    assert accounting.exact_delta(epsilon, k, **GRADES) <= delta
    assert accounting.exact_epsilon(delta, k, **GRADES) <= epsilon * (1 + 1e-12)
    assert accounting.exact_delta(epsilon, k * (1 + 1e-6), **GRADES) > delta


def test_calibrated_kappa_is_the_largest():
    for adjacency in ("replace", "add-remove"):
        kappa = accounting.calibrate_kappa(
            [1.2, 3.0], 1e-6, alpha=[10.0, 20.0], adjacency=adjacency
        )
        arguments = {"alpha": [10.0, 20.0], "adjacency": adjacency}
        assert np.all(
            accounting.exact.posterior_delta([1.2, 3.0], kappa=kappa, **arguments)
            <= 1e-6
        )
        assert np.all(
            accounting.exact.posterior_delta(
                [1.2, 3.0], kappa=kappa * (1 + 1e-6), **arguments
            )
            > 1e-6
        )


def test_a_target_below_the_floor_is_refused_with_what_would_reach_it():
    with pytest.raises(
        ValueError, match=r"epsilon must be above the privacy floor 1\.549.* got 1\.5"
    ) as refusal:
        accounting.calibrate_k([2.0, 1.5], 1e-6, **GRADES)
    border = float(str(refusal.value).split("public minimum eta above ")[1].split()[0])
    assert (
        accounting.calibrate_k(1.5, 1e-6, eta=border * 1.001, shift=GRADES["shift"])
        > 0.0
    )
    with pytest.raises(ValueError, match="no kappa reaches it") as refusal:
        accounting.calibrate_kappa(1.0, 1e-6, alpha=5.0)
    pseudo_count = float(str(refusal.value).split("alpha above ")[1].split()[0])
    assert accounting.calibrate_kappa(1.0, 1e-6, alpha=pseudo_count * 1.001) > 0.0
    with pytest.raises(ValueError, match="no public minimum eta does"):
        accounting.calibrate_k(1e-4, 1e-6, **GRADES)
    for epsilon, delta, alpha, message in (
        (
            1e-300,
            1e-12,
            0.5,
            r"no kappa reaches it; a pseudo-count alpha above 5\.001e\+11 would",
        ),
        (1e-300, 1e-100, 0.5, r"no pseudo-count alpha does"),
        (1e-7, 1e-300, 6.681e9, "so little above it no kappa in range reaches it"),
    ):
        with pytest.raises(ValueError, match=message):
            accounting.calibrate_kappa(epsilon, delta, alpha=alpha)


# --- the pair dominates ---------------------------------------------------------------


def beta_pair_delta(epsilon, first, second):
    """delta of Beta(first) against Beta(second), same totals, by scanning
    thresholds."""
    y = special.expit(np.linspace(-20, 20, 2001))
    tails = special.betaincc(*first, y) - math.exp(epsilon) * special.betaincc(
        *second, y
    )
    return float(tails.max())


@settings(max_examples=100, deadline=None)
@given(
    k=st.floats(2.0, 200.0),
    eta=st.floats(0.01, 0.2),
    shift=st.floats(0.001, 0.3),
    extra=st.tuples(st.floats(0.0, 0.1), st.floats(0.0, 0.1)),
    part=st.floats(0.0, 1.0),
    epsilon=st.floats(0.0, 4.0),
)
def test_no_pair_of_the_domain_is_worse(k, eta, shift, extra, part, epsilon):
    p_i = eta + extra[0] + part * shift
    p_j = eta + extra[1]
    moved = part * shift
    delta = beta_pair_delta(
        epsilon, (k * p_i, k * p_j), (k * (p_i - moved), k * (p_j + moved))
    )
    assert (
        delta
        <= accounting.exact_delta(epsilon, k, eta=eta, shift=shift) * (1 + 1e-9) + 1e-12
    )


def test_the_pair_is_attained():
    k, epsilon, eta, shift = 30.0, 0.7, 0.05, 0.02
    a = k * eta
    t = k * shift
    worst = beta_pair_delta(epsilon, (a + t, a), (a, a + t))
    assert worst == pytest.approx(
        float(accounting.exact_delta(epsilon, k, eta=eta, shift=shift)), rel=1e-4
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_add_remove_is_approached_from_below_by_growing_rows(epsilon):
    kappa, alpha = 0.8, 2.0
    a = kappa * alpha
    t = kappa
    limit = float(
        accounting.exact.posterior_delta(
            epsilon, kappa=kappa, alpha=alpha, adjacency="add-remove"
        )
    )
    worst = []
    for rest in (1.0, 30.0, 1e5):
        x = np.exp(np.linspace(-25.0, 0.0, 40001))
        less = special.betainc(a, rest, x)
        more = special.betainc(a + t, rest, x)
        removing = (less - math.exp(epsilon) * more).max()
        adding = ((1 - more) - math.exp(epsilon) * (1 - less)).max()
        worst.append(max(removing, adding))
    assert worst[0] < worst[1] < worst[2] <= limit * (1 + 1e-9)
    assert worst[2] == pytest.approx(limit, rel=1e-4)


# --- compositions ---------------------------------------------------------------------

ALIKE = [
    ([9.87 * 0.1] * 32, [9.87 * 0.0125] * 32, 1.16),
    ([9.87] * 32, [98.7 * 0.0125] * 32, 11.12),
]
ALIKE += [([9.87] * 32, [98.7 * 0.0125] * 32, 7.0)]
UNLIKE = [((1.5, 0.8), (0.3, 0.5)), ((0.05, 3.0), (0.4, 0.2)), ((0.9, 0.9), (1.0, 1.0))]


@pytest.mark.parametrize(
    ("a", "t", "epsilon"),
    ALIKE + [(*rows, e) for rows in UNLIKE for e in (0.2, 1.0, 6.0)],
)
def test_composition_agrees_with_the_characteristic_function(a, t, epsilon):
    """Of the sum of the losses t log(x / (1 - x)), x from Beta(a + t, a), whose signs
    the other hypothesis turns."""
    a = np.array(a)
    t = np.array(t)
    u = (np.arange(400_000) + 0.5) * (40.0 / 400_000)
    log_phi = 0.0
    for x, y in set(zip(a, t)):
        one = special.loggamma(x + y + 1j * u * y) + special.loggamma(x - 1j * u * y)
        log_phi = log_phi + ((a == x) & (t == y)).sum() * (
            one - special.gammaln(x + y) - special.gammaln(x)
        )

    def cdf(x):
        return (
            0.5
            - np.sum(np.imag(np.exp(log_phi - 1j * u * x)) / u)
            * (u[1] - u[0])
            / math.pi
        )

    truth = 1 - cdf(epsilon) - math.exp(epsilon) * cdf(-epsilon)
    scale = 2.0 * max(2 * a + t)  # any scale gives the same k eta and k shift
    lower, upper = accounting.compose(
        scale, eta=a / scale, shift=t / scale
    ).delta_bounds(epsilon)
    assert (
        lower - 1e-9 <= truth <= upper + 1e-9 and upper - lower <= 1e-4 * truth + 1e-9
    )


def test_one_release_composes_to_the_exact_profile():
    composed = accounting.compose(20.6, **GRADES)
    epsilon = np.array([0.0, 0.3, 1.0, 2.0])
    exact = accounting.exact_delta(epsilon, 20.6, **GRADES)
    lower, upper = composed.delta_bounds(epsilon)
    assert (
        np.all(lower <= exact)
        and np.all(exact <= upper)
        and np.all(upper <= exact * (1 + 1e-4) + 1e-11)
    )
    np.testing.assert_array_equal(composed.delta(epsilon), upper)
    low = composed.epsilon_lower_bound([1e-3, 1e-6])
    high = composed.epsilon([1e-3, 1e-6])
    assert (
        np.all(low <= high)
        and np.all(high - low < 1e-5)
        and composed.epsilon(0.9) == 0.0
    )


@pytest.mark.parametrize(
    ("a", "t"), [(1e-5, 3e-3), (0.01, 30.0), (1e4, 3.0), (2e3, 1e5), (1e9, 1e3)]
)
def test_unusual_releases_are_bracketed_too(a, t):
    delta = np.array([0.1, 1e-6])
    epsilon = posterior_epsilon(delta, kappa=t, alpha=a / t)
    exact = accounting.exact.posterior_delta(epsilon, kappa=t, alpha=a / t)
    scale = 0.5 / (2 * a + t)
    lower, upper = accounting.compose(
        1 / scale, eta=a * scale, shift=t * scale
    ).delta_bounds(epsilon)
    assert np.all(lower <= exact) and np.all(exact <= upper)
    assert np.all(upper - lower <= 0.01 * exact)


def test_unlike_releases_compose_in_any_grouping():
    together = accounting.compose([30.0, 30.0, 80.0], **GRADES)
    grouped = accounting.compose([80.0, 30.0], **GRADES, count=[1, 2])
    epsilon = np.array([0.5, 2.0, 4.0])
    np.testing.assert_allclose(
        together.delta(epsilon), grouped.delta(epsilon), rtol=1e-7
    )


def test_a_coarse_interval_still_brackets():
    fine = accounting.compose(20.6, **GRADES, count=8)
    coarse = accounting.compose(20.6, **GRADES, count=8, interval=0.05)
    (fine_low, fine_high) = fine.delta_bounds(1.0)
    (low, high) = coarse.delta_bounds(1.0)
    assert low < fine_low <= fine_high < high


# --- arguments ------------------------------------------------------------------------


def test_arguments_broadcast():
    epsilon = np.array([0.5, 1.0])[:, None, None]
    k = np.array([10.0, 20.0, 30.0])[:, None]
    eta = np.array([0.05, 0.1])
    delta = accounting.exact_delta(epsilon, k, eta=eta, shift=0.01)
    assert delta.shape == (2, 3, 2)
    assert delta[1, 2, 0] == accounting.exact_delta(1.0, 30.0, eta=0.05, shift=0.01)
    assert accounting.exact_epsilon(delta, k, eta=eta, shift=0.01).shape == (2, 3, 2)
    assert accounting.compose(20.0, eta=0.1, shift=0.01).delta(epsilon).shape == (
        2,
        1,
        1,
    )


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("k", lambda: accounting.exact_delta(1.0, [9.0, 1e14], **GRADES)),
        ("eta", lambda: accounting.exact_delta(1.0, 10.0, eta=0.5, shift=0.01)),
        ("shift", lambda: accounting.exact_epsilon(1e-6, 10.0, eta=0.1, shift=0.81)),
        (
            "adjacency",
            lambda: accounting.exact.posterior_delta(
                1.0, kappa=1.0, alpha=1.0, adjacency="swap"
            ),
        ),
        ("the sum of count", lambda: accounting.compose(10.0, **GRADES, count=20_000)),
        ("delta", lambda: accounting.compose(10.0, **GRADES).epsilon(1e-12)),
        ("epsilon", lambda: accounting.compose(10.0, **GRADES).delta(-1.0)),
        ("hits", lambda: accounting.audit.clopper_pearson(5, 4, 0.1)),
        ("draws", lambda: accounting.audit.clopper_pearson(1, 0, 0.1)),
        ("alpha", lambda: accounting.audit.clopper_pearson(1, 2, 0.6)),
        ("epsilon", lambda: accounting.delta_bounds(800.0, 1, 1, 2, 0.1)),
    ],
)
def test_refusals_name_the_argument(name, call):
    with pytest.raises(ValueError, match=f"^{name} must"):
        call()


def test_no_delta_is_rounded_down_to_nothing():
    """Below 1e-308 a number would become 0, which is a promise that no draw of a
    Dirichlet variable keeps."""
    exact = accounting.exact_delta([1e3, 1e6, 1e30], 20.0, shift=0.01, eta=0.1)
    posterior = accounting.exact.posterior_delta(
        [1e3, 1e30], kappa=0.5, alpha=1.0, adjacency="add-remove"
    )
    upper = dirichlet.theorem1_delta_bounds(1e5, eta=0.1, gamma=1e-9, n=3)[1]
    for delta in (*exact, *posterior, upper):
        assert 0.0 < delta < 1e-300
