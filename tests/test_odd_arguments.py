"""Odd arguments: refused by name and range, or used exactly as they were checked."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dpsim import (
    accounting,
    boltzmann,
    checks,
    dirichlet,
    markov,
    mdp,
    streams,
    words,
)
from dpsim.dirichlet import stationary_bounds, theorem1

HUGE = [2**63, np.uint64(2**63), 10**400, 10**5000, Fraction(10**400), 1e300]
PLANS = mdp.random_mdp(2, 2, 1, horizon=2)

SIZES = {
    "n of words": ("n", lambda x: words.alphabet_counts(x, 4)),
    "m": ("m", lambda x: words.alphabet_counts(3, x)),
    "b of words": ("b", lambda x: words.pmf([1, 2], 1.0, x)),
    "length": ("length", lambda x: words.exact_word_epsilon(x, 1.0, letters=2)),
    "letters": ("letters", lambda x: words.HammingAutomaton([0, 1], letters=x)),
    "total": ("total", lambda x: boltzmann.mixing_bound(x, 3, 1e3, 1, 1.0)),
    "bins": ("bins", lambda x: boltzmann.mixing_bound(200, x, 1e3, 1, 1.0)),
    "steps": ("steps", lambda x: boltzmann.mixing_bound(20, 3, 1e3, x, 1.0)),
    "chains": (
        "chains",
        lambda x: boltzmann.metropolis([3, 2], 1.0, 1, chains=x, rng=1),
    ),
    "rows": ("rows", lambda x: accounting.laplace_scale(1.0, 1e-3, b=0.1, rows=x)),
    "count": (
        "count",
        lambda x: accounting.compose(5.0, shift=0.01, eta=0.1, count=x),
    ),
    "n of a theorem": ("n", lambda x: theorem1.extreme_points(x, 0.1)),
    "n of a radius": ("n", lambda x: mdp.concentration_radius(5.0, 0.1, x, "union")),
    "states": ("states", lambda x: mdp.random_mdp(x, 2, 1)),
    "horizon": ("horizon", lambda x: mdp.random_mdp(2, 2, 1, horizon=x)),
    "initial": (
        "initial",
        lambda x: mdp.cost_of_privacy(PLANS, PLANS.horizon * [[0, 0]], 0, 0, initial=x),
    ),
    "walk": ("steps", lambda x: markov.random_walk([[0.5, 0.5]] * 2, 0, x, rng=1)),
    "start": ("start", lambda x: markov.random_walk([[0.5, 0.5]] * 2, x, 2, rng=1)),
    "size": (
        "size",
        lambda x: dirichlet.dirichlet_mechanism([0.5, 0.5], 1.0, size=x, rng=1),
    ),
    "chunk": ("chunk", lambda x: streams.stream(1, "fig1", x)),
}


@pytest.mark.parametrize("given", HUGE, ids=lambda x: f"{type(x).__name__}")
@pytest.mark.parametrize("size", SIZES)
def test_a_size_beyond_all_memory_is_refused_with_its_range(size, given):
    name, call = SIZES[size]
    with pytest.raises(ValueError, match=rf"\b{name}\b.* (from|of at|real numb).* got"):
        call(given)


def test_a_seed_may_have_any_size():
    assert streams.stream(2**100, "fig1").random() != streams.stream(1, "fig1").random()
    checks.generator(10**30)


def refused(name, call, *odd):
    return [
        pytest.param(name, call, x, id=f"{name} {checks.shown(x):.30}") for x in odd
    ]


RAGGED = [[True], [True, False]]
ROW = {"support": True, "eta": 0.1, "b": 0.1, "rng": 1}
CALLS = [
    *refused(
        "b",
        lambda x: dirichlet.privatize([0.5, 0.5], 5.0, 0.1, **(ROW | {"b": x})),
        5e-324,
        Decimal("sNaN"),
        Fraction(1, 10**400),
        [0.1, 0.1],
    ),
    *refused(
        "b",
        lambda x: mdp.privatize(
            PLANS, 1.0, 0.1, support=PLANS.transitions > 0, rows="one", b=x, rng=1
        ),
        5e-324,
        Decimal("0.5"),
        pd.NA,
        None,
    ),
    *refused(
        "b", lambda x: accounting.laplace_scale(1.0, 0.1, b=x), 5e-324, 0.0, pd.NA
    ),
    *refused(
        "b", lambda x: accounting.gaussian_scale(1.0, 0.1, b=x), 5e-324, Decimal("1")
    ),
    *refused(
        "support",
        lambda x: dirichlet.privatize([0.5, 0.5], 5.0, 0.1, **(ROW | {"support": x})),
        RAGGED,
        [1, 1],
        pd.NA,
        None,
    ),
    *refused(
        "support",
        lambda x: mdp.privatize(PLANS, 1.0, 0.1, support=x, rows="one", b=0.1, rng=1),
        RAGGED,
        "all",
        [pd.NA, True],
    ),
    *refused(
        "rows",
        lambda x: mdp.privatize(PLANS, 1.0, 0.1, support=True, rows=x, b=0.1, rng=1),
        ["one"],
        {"one": 1},
        pd.NA,
        Decimal("sNaN"),
        1,
        np.array(["one", "all"]),
    ),
    *refused(
        "noise",
        lambda x: dirichlet.noisy_matrix([[0.5, 0.5]], 0.1, x),
        ["laplace"],
        {"laplace"},
        pd.NA,
        None,
    ),
    *refused(
        "scale",
        lambda x: dirichlet.noisy_matrix([[0.5, 0.5]], x, "laplace"),
        1.7e308,
        Decimal("sNaN"),
        [0.1],
    ),
    *refused(
        "invariant",
        lambda x: boltzmann.privatize(
            [2, 3], epsilon=1.0, total=5, bins=2, invariant=x, rng=1
        ),
        [1],
        1,
        "ab",
        pd.NA,
        np.zeros(0),
        pd.Series([1]),
        {0: pd.NA},
        {"a": 1},
        {0: 2**70},
    ),
    *refused(
        "epsilon",
        lambda x: boltzmann.privatize(
            [2, 3], epsilon=x, total=5, bins=2, mechanism="boltzmann", rng=1
        ),
        5e-324,
        1e-110,
        Decimal("NaN"),
    ),
    *refused(
        "protected",
        lambda x: dirichlet.theorem1_matrix_epsilon(
            1.0, b=0.025, eta=0.1, eta_bar=0.05, gamma=1e-3, protected=x
        ),
        [],
        (),
        np.zeros((0, 2)),
        [1],
        pd.NA,
        [pd.NA],
    ),
    *refused(
        "protected",
        lambda x: stationary_bounds.matrix_dirichlet_bound(
            2.0, 6, 100.0, eta=0.1, eta_bar=0.05, protected=x
        ),
        [],
        pd.NA,
        np.zeros((2, 0)),
    ),
    *refused(
        "interval",
        lambda x: accounting.compose(5.0, shift=0.01, eta=0.1, interval=x),
        1.7e308,
        5e-324,
        [0.1],
        pd.NA,
    ),
    *refused(
        "noisy",
        lambda x: boltzmann.nearest_histogram(x, 5, rng=1),
        [],
        3,
        np.zeros((2, 0)),
        RAGGED,
    ),
    *refused(
        "letters",
        lambda x: words.HammingAutomaton("ab", letters=x),
        [["a"], ["b"]],
        ["a", pd.NA],
        ["a", Decimal("sNaN")],
        pd.Series(["a", pd.NA]),
        [[1], [1, 2]],
    ),
    *refused(
        "word",
        lambda x: words.HammingAutomaton(x, letters="ab"),
        [pd.NA],
        ["a", Decimal("sNaN")],
        [["a"]],
        [np.zeros(2)],
    ),
    *refused(
        "start",
        lambda x: words.HammingAutomaton([0, 1], adjacency=[[1, 1], [1, 1]], start=x),
        pd.NA,
        Decimal("sNaN"),
        10**5000,
        [0],
    ),
    *refused(
        "adjacency",
        lambda x: words.HammingAutomaton([0, 1], adjacency=x, start=0),
        RAGGED,
        [[1], [1, 2]],
    ),
    *refused(
        "apart", lambda x: words.least_mean_error(x, 1.0), [1], [], 1, [[0, 1]], RAGGED
    ),
    *refused("policy", lambda x: mdp.evaluate(PLANS, x), RAGGED, [[0], [1, 1]], pd.NA),
    *refused("transitions", lambda x: mdp.MDP(x, [[1.0]]), RAGGED, [[1], [1, 2]], 1.0),
    *refused("rewards", lambda x: mdp.MDP([[[1.0]]], x), RAGGED, [[10**400]], pd.NA),
    *refused(
        "N",
        lambda x: stationary_bounds.stationary_bound([[0.5, 0.5]] * 2, x, 5.0),
        1.7e308,
    ),
    *refused(
        "public_labels",
        lambda x: words.privatize(
            "ab", epsilon=1.0, b=1, letters="ab", public_labels=x, rng=1
        ),
        pd.NA,
        np.zeros(0),
        1,
    ),
    *refused(
        "k",
        lambda x: accounting.exact_delta([1.0, 2.0], x, shift=0.01, eta=[0.1, 0.2]),
        [],
        [1.0, 2.0, 3.0],
        pd.NA,
    ),
]


@pytest.mark.parametrize(("name", "call", "odd"), CALLS)
def test_what_is_odd_is_refused_by_name(name, call, odd):
    with pytest.raises(ValueError, match=rf"\b{name}\b") as error:
        call(odd)
    for raw in ("zero-size", "inhomogeneous", "convert", "unpack", "ambiguous"):
        assert raw not in str(error.value)


@pytest.mark.parametrize("total, bins", [(255, 4), (5000, 2), (10**6, 2)])
def test_sums_that_would_take_minutes_are_refused_with_their_range(total, bins):
    with pytest.raises(ValueError, match=r"at most 2e\+10 .* for total|at most 5000"):
        boltzmann.exact_epsilon_limit(total, bins, 100.0)


def test_a_weight_of_minus_zero_is_a_weight_of_zero():
    for weights in ([0.0, 1.0, 1.0], [0.0, 1.0, 0.0]):
        signed = [-0.0 if w == 0.0 else w for w in weights]
        plain, minus = (
            boltzmann.log_stationary([3, 4, 5], 2.0, w) for w in (weights, signed)
        )
        np.testing.assert_array_equal(minus, plain)


KINDS = {
    "uint8": np.uint8,
    "int8": np.int8,
    "float16": np.float16,
    "a fraction": Fraction,
    "an array": np.asarray,
}
USES = {
    "mixing_bound": lambda c: boltzmann.mixing_bound(c(120), c(3), c(100), 90, c(1)),
    "convergence_rate": lambda c: boltzmann.mixing.convergence_rate(c(120), c(3), c(9)),
    "enough_steps": lambda c: boltzmann.mixing.enough_steps(
        c(120), 3, c(99), c(1), 0.5
    ),
    "epsilon_bound": lambda c: boltzmann.epsilon_bound(c(120), c(99), c(3)),
    "sensitivity": lambda c: boltzmann.sensitivity(c(120), c(99)),
    "configurations": lambda c: boltzmann.configurations(c(100), c(3)),
    "metropolis": lambda c: boltzmann.metropolis([50, 60], c(9), c(120), rng=1),
    "alphabet_counts": lambda c: words.alphabet_counts(c(60), c(100)),
    "least_expected_error": lambda c: words.least_expected_error(c(9), c(99), c(2)),
    "exact_word_epsilon": lambda c: words.exact_word_epsilon(
        c(5), c(2), b=c(2), letters=c(9)
    ),
    "laplace_scale": lambda c: accounting.laplace_scale(c(2), 1e-3, b=c(1), rows=c(3)),
    "compose": lambda c: accounting.compose(
        5.0, shift=0.1, eta=0.1, count=c(120)
    ).delta(c(9)),
    "extreme_points": lambda c: theorem1.extreme_points(c(100), 1e-3),
    "concentration": lambda c: mdp.concentration_radius(c(120), 0.1, c(120), "union"),
    "random_mdp": lambda c: mdp.random_mdp(c(3), c(2), 1, horizon=c(120)).horizon,
    "iterations": lambda c: mdp.iterations_needed(
        mdp.random_mdp(3, 2, 1, discount=0.9), c(2)
    ),
    "privatize": lambda c: (
        boltzmann.privatize(
            [60, 60], epsilon=c(1), total=c(120), bins=c(2), rng=1
        ).value
    ),
    "stream": lambda c: streams.stream(c(120), "fig1", c(100)).random(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("use", USES)
@pytest.mark.filterwarnings("error")
def test_a_number_of_any_type_is_used_as_checked(use, kind):
    exact = USES[use](int)
    found = USES[use](lambda number: KINDS[kind](number))
    np.testing.assert_array_equal(found, exact)
