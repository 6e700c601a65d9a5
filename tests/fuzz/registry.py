"""What to call every public function with: one entry each, so that a new function needs
one line.

`add("module.function", check, argument=strategy, ...)` for independent arguments,
`add("module.function", check, strategy)` for a strategy of whole dictionaries; LEFT_OUT
has what fuzzing would say nothing of. The valid arguments must give a result that
passes the check; with one of them replaced by junk the function must raise ValueError
or TypeError, or again give a result without NaN or infinity.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from fnmatch import fnmatch
from functools import cache
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from hypothesis import strategies as st
from scipy import sparse

import dpsim_release as release_
from dpsim import accounting, datasets, dirichlet, mdp
from dpsim import boltzmann as boltzmann_
from dpsim import words as words_
from dpsim.datasets import taxi
from dpsim.numerics import special

matplotlib.use("Agg")

Check = Callable[[Any], None]


@dataclass(frozen=True)
class Entry:
    """How to fuzz one function."""

    check: Check
    arguments: st.SearchStrategy[dict[str, Any]]
    call: Callable[..., Any] | None
    checked: bool
    trusted: tuple[str, ...]
    slow: bool


ENTRIES: dict[str, Entry] = {}
LEFT_OUT = {
    "a check, or a part of what is fuzzed and checks its arguments": """
        checks.mask checks.fitted checks.shown checks.arrayed checks.flag
        checks.together checks.fits_into_memory
        numerics.hockey_stick.* numerics.search.*
        numerics.special.tail_series numerics.special.log1p_minus
        markov.sparse.square
        dirichlet.matrix.largest_k boltzmann.sampling.refuse_large_tables
        boltzmann.sampling.draw_limit boltzmann.sampling.limit_error
        boltzmann.sampling.step_error boltzmann.private_histogram.rounding_delta
        boltzmann.zero_sum_noise.one_zero_sum_laplace numerics.exact_draws.*
        words.automaton.draw_error boltzmann.epsilon.log_normalisers
        boltzmann.mixing.enough_steps boltzmann.epsilon.losses
        boltzmann.epsilon.hockey_stick_sums accounting.exact.minimum_and_shift
        accounting.exact.beta_parameters accounting.noise_scales.laplace_delta
        dirichlet.mechanism.dirichlet_parameters dirichlet.mechanism.gamma_constants
        dirichlet.mechanism.count_below mdp.model.policy_weights mdp.model.read_only
        mdp.model.refuse_other mdp.worth.* words.permute_and_flip.best_offset
        words.permute_and_flip.log_integrals
        words.normaliser_bound.* words.exact_epsilon.calibrated
        words.candidates.feasible_transitions words.candidates.successors
        boltzmann.mixing.log_distance_bound
        boltzmann.private_histogram.zero_sum_mechanism
        boltzmann.sampling.largest_tilt boltzmann.sampling.log_weights
        boltzmann.sampling.likely_windows boltzmann.sampling.find_tilt
        markov.sparse.error_bound mdp.concentration.scaled_tail_bound
        words.permute_and_flip.log_weights_of
        release.estimate.posterior_of release.estimate.rows_estimate
        release.chain.losses
        release.intervals.* release.estimate.count_bins
        release.estimate.bin_likelihood release.estimate.bin_shares
        release.estimate.expected_counts""",
    "a record, made by what is fuzzed": """
        private.* accounting.composition.Composition datasets.roads.RoadChain
        release.chain.PrivateChain
        release.estimated_chain.EstimatedChain release.unit.*""",
    "reads or writes files, tables, texts: release/tests, tests/datasets, "
    "tests/runner, tests/test_ledger.py": """
        release.support.from_pairs release.support.declare
        release.support.read_categories release.support.read_graph release.table.*
        release.sources.* release.text.* release.scratch.* release.labels.*
        release.times.* release.statement.* release.budget.*
        release.release_folder.* release.command_lines.* release.options.*
        release.private_chain.* release.owner.* release.report.* released.*
        datasets.taxi.known_trips datasets.taxi.trips_label datasets.download.*
        ledger.*
        runner.* files.* paths.* cli.* faces.* notebook.* parameters.*""",
    "draws, or dresses what is drawn: tests/figures, tests/test_ledger.py, and in a "
    "browser tests/site": """
        figures.boltzmann_histograms.* figures.data_driven_markov.*
        figures.densities.* figures.explore.* figures.graphs.draw_* figures.maps.*
        figures.matrix_dirichlet.* figures.mdp_policy_synthesis.* figures.overview.*
        figures.permute_and_flip.* figures.released_chain.* figures.house_style.shorten
        figures.house_style.plain_ticks figures.house_style.draw_*
        figures.house_style.mark_* figures.saving.save*
        figures.saving.show_table figures.price.*""",
    "has no argument": """
        streams.cores compiled.sources datasets.*.checksums
        datasets.*.load_sources datasets.*.load_grades datasets.*.load_taxi_zones
        datasets.*.load_zone_adjacency figures.house_style.style""",
}
"""Patterns of public functions without an entry, by the reason."""


def add(
    name: str,
    check: Check,
    arguments: st.SearchStrategy[dict[str, Any]] | None = None,
    /,
    *,
    call: Callable[..., Any] | None = None,
    checked: bool = True,
    trusted: tuple[str, ...] = (),
    slow: bool = False,
    **strategies: st.SearchStrategy,
) -> None:
    """Register a function.

    call: what to call instead of the function itself (a method, or one that needs a
    file). checked: False for kernels that trust their caller: valid arguments alone.
    trusted: arguments that are records of ours, which stay valid. slow: a second a
    call, so a tenth of the cases but in `make fuzz`.
    """
    assert name not in ENTRIES, name
    together = st.fixed_dictionaries(strategies) if arguments is None else arguments
    ENTRIES[name] = Entry(check, together, call, checked, trusted, slow)


def covered(name: str) -> bool:
    """Return whether a public function has an entry or a reason for having none."""
    return name in ENTRIES or any(
        fnmatch(name, pattern) for pattern in " ".join(LEFT_OUT.values()).split()
    )


# --- checks of results ----------------------------------------------------------------


def between(
    low: float = -math.inf, high: float = math.inf, *, minus_infinity: bool = False
) -> Check:
    """Return a check that all numbers of a result are finite and in [low, high], within
    a relative 1e-9."""

    def check(result: Any) -> None:
        for numbers in numbers_of(result):
            bad = ~np.isfinite(numbers) & ~(minus_infinity & np.isneginf(numbers))
            assert not bad.any(), f"not finite: {numbers[bad].flat[0]}"
            seen = numbers[np.isfinite(numbers)]
            if seen.size:
                slack = 1e-9 * (
                    1.0 + max(abs(x) for x in (low, high, 0.0) if math.isfinite(x))
                )
                assert seen.min() >= low - slack and seen.max() <= high + slack, (
                    seen.min(),
                    seen.max(),
                )

    return check


def numbers_of(result: Any) -> list[np.ndarray]:
    """Return the arrays of numbers in a result; text, booleans, None and drawings hold
    none."""
    if isinstance(result, pd.DataFrame):
        return [
            column.dropna().to_numpy(float)
            for _, column in result.select_dtypes("number").items()
        ]
    if isinstance(result, dict):
        return numbers_of(list(result.values()))
    if isinstance(result, (list, tuple)):
        return [numbers for part in result for numbers in numbers_of(part)]
    if sparse.issparse(result):
        return [np.asarray(result.data, dtype=float)]
    if isinstance(result, np.ndarray) and result.dtype == object:
        whole = [
            x for x in result.ravel().tolist() if isinstance(x, int)
        ]  # of any size: their logarithms will do
        return [np.array([math.copysign(math.log1p(abs(x)), x) for x in whole])]
    if (
        isinstance(result, (int, float, np.number, np.ndarray))
        and np.asarray(result).dtype.kind in "iuf"
    ):
        return [np.asarray(result, dtype=float)]
    if is_dataclass(result) and not isinstance(result, type):
        return numbers_of(
            [value for value in vars(result).values() if isinstance(value, np.ndarray)]
        )
    return []


finite = between()
probability = between(0, 1)
non_negative = between(0)
logarithm = between(high=0, minus_infinity=True)


def anything(result: Any) -> None:
    """Accept any result: not raising is the point."""


def sums_to_one(result: Any) -> None:
    """Check probability vectors on the last axis."""
    probability(result)
    np.testing.assert_allclose(np.asarray(result).sum(axis=-1), 1.0, atol=1e-9)


def ordered(check: Check) -> Check:
    """Return a check of a pair (lower, upper) besides that of its numbers."""

    def both(result: Any) -> None:
        check(result)
        assert (
            np.asarray(result[0])
            <= np.asarray(result[1]) + 1e-9 * (1 + np.abs(result[1]))
        ).all()

    return both


def spending(privatize: Callable[..., Any], **arguments: Any) -> Any:
    """Return the value of a release, once it spends at most what was asked for."""
    release = privatize(**arguments)
    rounding = 1e-9  # of the draws of a histogram, which counts as delta
    assert release.epsilon <= arguments["epsilon"] and release.delta <= arguments.get(
        "delta", rounding
    )
    assert release.simulation == (arguments["rng"] is not None)
    return release.value


# --- strategies of arguments ----------------------------------------------------------


def real(low: float, high: float) -> st.SearchStrategy[float]:
    """Return numbers of any magnitude between two positive ends, or between any two
    ends uniformly."""
    plain = st.floats(low, high)
    if low <= 0.0:
        return plain
    powers = st.floats(math.log(low), math.log(high)).map(
        lambda x: min(max(math.exp(x), low), high)
    )
    return st.one_of(plain, powers)


def reals(low: float, high: float) -> st.SearchStrategy[Any]:
    """Return numbers, or arrays of two."""
    return st.one_of(
        real(low, high), st.lists(real(low, high), min_size=2, max_size=2).map(np.array)
    )


def maybe(strategy: st.SearchStrategy) -> st.SearchStrategy:
    """Return None or an example."""
    return st.one_of(st.none(), strategy)


rng = st.integers(0, 2**32).map(np.random.default_rng)
size = st.one_of(
    st.none(), st.integers(0, 3), st.sampled_from([(), (2,), (2, 0), [1, 2]])
)
epsilons = reals(0.0, 30.0)


@st.composite
def vectors(
    draw: Any, n: int | None = None, positive: bool = False, rows: int | None = None
) -> np.ndarray:
    """Return probability vectors (n,) or (rows, n)."""
    n = draw(st.integers(1, 6)) if n is None else n
    entry = st.one_of(
        st.integers(0 if not positive else 1, 20),
        st.floats(1e-6 if positive else 0.0, 1e3),
    )
    shape = (n,) if rows is None else (rows, n)
    raw = np.array(
        draw(st.lists(entry, min_size=math.prod(shape), max_size=math.prod(shape)))
    ).reshape(shape)
    raw[raw < 1e-6] = 0.0
    raw[..., 0] += raw.sum(axis=-1) == 0
    return raw / raw.sum(axis=-1, keepdims=True)


@st.composite
def chains(draw: Any, dense: bool = False) -> Any:
    """Return irreducible transition matrices, dense, batched or sparse."""
    n = draw(st.integers(1, 5))
    P = 0.9 * draw(vectors(n, rows=n)) + 0.1 * np.roll(np.eye(n), 1, axis=1)
    P = P / P.sum(axis=1, keepdims=True)
    kind = draw(
        st.sampled_from(["dense", "batch"] if dense else ["dense", "batch", "sparse"])
    )
    if kind == "batch":
        return np.stack([P, P])
    return sparse.csr_array(P) if kind == "sparse" else P


def symmetric_mask(n: int) -> st.SearchStrategy[np.ndarray]:
    """Return symmetric boolean matrices."""
    pairs = st.lists(st.booleans(), min_size=n * n, max_size=n * n).map(
        lambda x: np.array(x).reshape(n, n)
    )
    return pairs.map(lambda a: a | a.T)


@st.composite
def count_vectors(draw: Any, rows: int | None = None) -> np.ndarray:
    """Return counts with at least one in each row, (n,) or (rows, n)."""
    n = draw(st.integers(1, 5))
    shape = (n,) if rows is None else (rows, n)
    counts = np.array(
        draw(
            st.lists(
                st.integers(0, 50), min_size=math.prod(shape), max_size=math.prod(shape)
            )
        )
    )
    counts = counts.reshape(shape)
    counts[..., 0] += counts.sum(axis=-1) == 0
    return counts


# --- checks, streams ------------------------------------------------------------------

text = st.text(min_size=1, max_size=8)
add(
    "checks.interval",
    anything,
    low=st.floats(-9, 9),
    high=st.floats(-9, 9),
    open_low=st.booleans(),
    checked=False,
)
for of_check, value in (
    ("checks.real", reals(-5, 5)),
    ("checks.scalar", real(-5, 5)),
    ("checks.integer", st.integers(-5, 5)),
    ("checks.integers", st.integers(-5, 5)),
):
    add(
        of_check,
        between(-5, 5),
        name=text,
        value=value,
        low=st.just(-5),
        high=st.just(5),
        trusted=("low", "high"),  # our own code writes the limits
    )
add(
    "checks.numeric", between(-5, 5), name=text, value=reals(-5, 5), checked=False
)  # takes NaN
add(
    "checks.size",
    non_negative,
    name=text,
    value=st.one_of(st.integers(0, 9), st.just([1, 2]), st.none()),
)
add("checks.plain", between(-5, 5), result=reals(-5, 5), checked=False)
add(
    "checks.row_scales",
    probability,
    name=text,
    totals=st.just(np.ones(2)),
    n=st.integers(1, 9),
    checked=False,
)
add(
    "checks.choice",
    anything,
    name=text,
    value=st.sampled_from("ab"),
    allowed=st.just(("a", "b")),
)
add("checks.simplex", sums_to_one, name=text, value=vectors())
add("checks.generator", anything, rng=st.one_of(st.none(), rng, st.integers(0, 99)))
add(
    "streams.stream",
    anything,
    seed=st.integers(0, 2**70),
    name=text,
    chunk=st.integers(0, 2**31),
)
add("streams.threads", between(1))
add("streams.private", anything)
add(
    "streams.in_chunks",
    probability,
    work=st.just(lambda size, rng: rng.random(size)),
    total=st.integers(0, 50),
    chunk=st.integers(1, 20),
    seed=st.integers(0, 99),
    name=text,
)

add(
    "noise.geometric",
    finite,
    epsilon=reals(1e-3, 30),
    size=size,
    rng=rng,
    change=real(0.1, 9),
)
add("noise.geometric_error", non_negative, epsilon=reals(1e-3, 30), change=real(0.1, 9))

# --- special functions ----------------------------------------------------------------

arrays = reals(1e-8, 1e12).map(np.asarray)
tails = {
    "x": real(1e-6, 0.99).map(np.asarray),
    "p": real(1e-6, 0.999).map(np.asarray),
    "k": real(1e-3, 1e6),
}
add("numerics.special.log_beta_tail", logarithm, **tails, checked=False)
add("numerics.special.log_beta_kernel", finite, **tails, checked=False)
ratios = real(1e-9, 1e9).map(
    lambda ratio: {"u": np.asarray(ratio - 1.0), "ratio": np.asarray(ratio)}
)
add(
    "numerics.special.minus_log1p",
    between(-1e-15),
    ratios,
    checked=False,
    call=lambda u, ratio: special.minus_log1p(u, ratio),
)
add(
    "numerics.special.stirling_rest",
    non_negative,
    x=arrays,
    call=lambda x: special.stirling_rest(x),
    checked=False,
)
add("numerics.special.log_beta", finite, a=reals(1e-8, 1e12), b=reals(1e-8, 1e12))
add("numerics.special.log_gamma_ratio", finite, a=reals(1e-8, 1e12), t=reals(0.0, 1e12))
add("numerics.special.log_minus_psi", non_negative, x=arrays, checked=False)
quantiles = {"a": reals(0.5, 1e9), "b": reals(0.5, 1e9), "tail": reals(1e-12, 0.999)}
add("numerics.special.beta_quantile", probability, **quantiles, checked=False)
add("numerics.special.beta_upper_quantile", probability, **quantiles, checked=False)

# --- Dirichlet mechanism --------------------------------------------------------------

ks = reals(1e-3, 1e6)
draws = st.fixed_dictionaries(
    {"p": vectors(), "k": real(1e-3, 1e9), "size": size, "rng": rng}
)
add("dirichlet.mechanism.dirichlet_mechanism", probability, draws)
add(
    "dirichlet.private_matrix.privatize",
    sums_to_one,
    P=vectors(3),
    epsilon=real(1.0, 50.0),
    delta=real(1e-3, 0.5),
    support=st.just(True),
    eta=real(0.05, 0.3),
    records=real(100, 1e6),
    rng=st.one_of(rng, st.integers(0, 99)),
    call=lambda **arguments: dirichlet.privatize(**arguments).value,
)


@st.composite
def theorem(draw: Any) -> dict[str, Any]:
    """Return arguments of Theorem 1."""
    m = draw(st.integers(2, 6))
    outside = draw(maybe(st.floats(0.01, 0.5)))
    rest = 1.0 - (outside or 0.0)
    eta = draw(real(1e-6, 0.9)) * rest / m
    shift = draw(real(1e-6, 1.0)) * (rest - (m - 2) * eta - 2 * eta)
    gamma = draw(real(1e-12, 0.99)) / max(m - 1, 1)
    return {
        "k": draw(ks),
        "shift": shift,
        "eta": eta,
        "gamma": gamma,
        "n": m,
        "eta_bar": outside,
    }


@st.composite
def leaving(draw: Any) -> dict[str, Any]:
    """Return arguments of the bounds on delta."""
    n = draw(st.integers(2, 6))
    protected = draw(maybe(st.integers(1, n - 1)))
    m = n if protected is None else protected
    eta = draw(real(1e-6, 1.0 if m > 1 else 0.999)) / m
    gamma = draw(real(1e-12, 0.99)) / max(m - 1, 1)
    return {"k": draw(ks), "eta": eta, "gamma": gamma, "n": n, "protected": protected}


add("dirichlet.theorem1.theorem1_vector_epsilon", non_negative, theorem())
add("dirichlet.theorem1.theorem1_delta_bounds", ordered(probability), leaving())
add(
    "dirichlet.theorem1.extreme_points",
    sums_to_one,
    n=st.integers(2, 6),
    eta=real(1e-9, 1 / 6),
)
some = st.integers(1, 5).flatmap(lambda m: vectors(6).map(lambda p: 0.8 * p[:m] + 0.02))
add(
    "dirichlet.theorem1.leaving_probability",
    probability,
    p=some,
    k=real(1e-3, 1e3),
    gamma=real(1e-20, 0.1),
)
add(
    "dirichlet.theorem1.delta_monte_carlo",
    probability,
    p=vectors(4),
    k=real(1e-3, 1e6),
    gamma=real(1e-9, 0.999),
    draws=st.one_of(st.integers(1, 20), st.just([1, 5, 9])),
    rng=rng,
)
add("dirichlet.accuracy.expected_kl", between(-1e-9), p=vectors(), k=real(1e-3, 1e9))
sizes = {"categories": st.integers(1, 20), "N": reals(20, 1e6), "k": ks}
add("dirichlet.accuracy.expected_kl_bound", between(-1e-9), **sizes)
add(
    "dirichlet.accuracy.expected_absolute_error",
    probability,
    p=vectors(),
    k=real(1e-3, 1e9),
)
add(
    "dirichlet.accuracy.expected_chain_kl",
    non_negative,
    P=chains(dense=True),
    k=real(1e-2, 1e6),
)
add("dirichlet.accuracy.expected_absolute_error_bound", probability, k=ks)
add(
    "dirichlet.accuracy.log_absolute_error_lower_bound",
    between(high=0),
    n=st.integers(2, 20),
    N=reals(20, 1e6),
    k=ks,
)
add(
    "dirichlet.accuracy.monte_carlo_error",
    non_negative,
    delta=real(1e-9, 0.999),
    draws=st.integers(1, 10**6),
    vertices=st.integers(1, 9),
)

# --- accounting -----------------------------------------------------------------------


@st.composite
def borders(draw: Any, **more: st.SearchStrategy) -> dict[str, Any]:
    """Return a border and a shift that fit, and what else is asked for."""
    eta = draw(real(1e-4, 0.49))
    shift = draw(real(1e-4, 1.0)) * (1.0 - 2.0 * eta)
    return {"shift": shift, "eta": eta} | {
        name: draw(strategy) for name, strategy in more.items()
    }


@st.composite
def reachable(draw: Any) -> dict[str, Any]:
    """Return a target of epsilon above the privacy floor."""
    chosen = draw(borders(delta=real(1e-30, 0.5)))
    floor = accounting.privacy_floor(
        chosen["delta"], shift=chosen["shift"], eta=chosen["eta"]
    )
    return chosen | {"epsilon": float(floor) * 1.01 + draw(real(1e-3, 9.0))}


@st.composite
def reachable_posterior(draw: Any) -> dict[str, Any]:
    """Return the same for the posterior release."""
    chosen = {
        "alpha": draw(real(0.1, 100.0)),
        "adjacency": draw(adjacency),
        "delta": draw(real(1e-30, 0.5)),
    }
    floor = accounting.posterior_floor(
        chosen["delta"], alpha=chosen["alpha"], adjacency=chosen["adjacency"]
    )
    return chosen | {"epsilon": float(floor) * 1.01 + draw(real(1e-3, 9.0))}


adjacency = st.sampled_from(["replace", "add-remove"])
posterior = {
    "kappa": reals(1e-3, 1e3),
    "alpha": reals(1e-3, 1e3),
    "adjacency": adjacency,
}
deltas = reals(1e-300, 1.0)
levels = st.one_of(epsilons, reals(0.0, 1e6))
add("accounting.exact.exact_delta", probability, borders(epsilon=levels, k=ks))
add("accounting.exact.exact_epsilon", non_negative, borders(delta=deltas, k=ks))
add("accounting.exact.privacy_floor", non_negative, borders(delta=deltas))
add("accounting.exact.calibrate_k", non_negative, reachable())
add("accounting.exact.posterior_delta", probability, epsilon=levels, **posterior)
add(
    "accounting.exact.posterior_floor",
    non_negative,
    delta=deltas,
    alpha=reals(1e-3, 1e3),
    adjacency=adjacency,
)
add("accounting.exact.calibrate_kappa", non_negative, reachable_posterior())


def composed(epsilon: Any = 1.0, delta: Any = 0.01, **groups: Any) -> Any:
    """Return what a composition says of epsilon and delta."""
    made = accounting.compose(**groups)
    return (
        made.delta_bounds(epsilon),
        made.epsilon_lower_bound(delta),
        made.delta(epsilon),
        made.epsilon(delta),
    )


groups = borders(
    k=real(0.01, 1e3), count=st.integers(1, 4), epsilon=epsilons, delta=reals(1e-9, 1.0)
)
add("accounting.composition.compose", non_negative, groups, call=composed)

# --- data-driven chains ---------------------------------------------------------------

add("dirichlet.from_counts.rows", non_negative, counts=count_vectors(rows=2))
several = count_vectors(rows=2).map(
    lambda c: np.column_stack([c + 1, np.full(2, 1000)])
)
border = {"k": real(0.01, 1e3), "eta": real(1e-4, 0.02), "gamma": real(1e-9, 0.1)}
add("dirichlet.from_counts.row_privacy", non_negative, counts=several, **border)
add(
    "dirichlet.from_counts.private_counts",
    non_negative,
    counts=several.map(lambda c: c[0] + 1000),
    **border,
    size=size,
    rng=rng,
)
add(
    "dirichlet.from_counts.posterior_absolute_error",
    probability,
    counts=count_vectors(),
    kappa=real(1e-3, 1e3),
    alpha=real(1e-3, 1e3),
)

# --- Markov chains --------------------------------------------------------------------

square_counts = count_vectors(rows=3).map(
    lambda c: np.pad(c, ((0, 0), (0, 3)))[:, :3] + np.eye(3)
)
add("markov.stationary.transition_matrix", sums_to_one, counts=square_counts)
add("markov.stationary.stationary_distribution", sums_to_one, P=chains())
add("markov.coefficients.total_variation", probability, p=vectors(3), q=vectors(3))
add("markov.coefficients.ergodicity_coefficient", between(0, 2.5), P=chains(dense=True))
add("markov.coefficients.fundamental_matrix", finite, P=chains(dense=True))
add(
    "markov.walks.random_walk",
    between(0, 4),
    P=chains(),
    start=st.just(0),
    steps=st.integers(0, 4),
    size=st.sampled_from([None, 2, (1, 2)]),
    rng=rng,
)
crs = chains().filter(sparse.issparse)
add("markov.sparse.stochastic", probability, name=text, matrix=crs, checked=False)
add("markov.sparse.classes", non_negative, chain=crs, checked=False)
add("markov.sparse.closed_class", non_negative, name=text, chain=crs, checked=False)
add("markov.sparse.stationary", sums_to_one, P=crs, checked=False)
three = {"N": reals(3, 1e6).filter(lambda N: np.ndim(N) == 0), "k": real(1e-2, 1e6)}
add("dirichlet.stationary_bounds.mean_kl_bound", between(-1e-9), pi=vectors(3), **three)
add(
    "dirichlet.stationary_bounds.stationary_bound",
    non_negative,
    P=st.integers(0, 99).map(
        lambda seed: np.random.default_rng(seed).dirichlet(np.ones(3), 3)
    ),
    **three,
)
add(
    "dirichlet.stationary_bounds.ergodicity_bound", non_negative, pi=vectors(3), **three
)
add(
    "dirichlet.stationary_bounds.matrix_dirichlet_bound",
    non_negative,
    norm=reals(0.0, 100.0),
    n=st.integers(2, 40),
    k=real(1e-2, 1e6),
    eta=st.just(0.1),
    eta_bar=real(1e-3, 0.39),
    protected=st.integers(2, 6),
)

# --- simplex --------------------------------------------------------------------------

points = st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=4).map(np.array)
masks = st.lists(st.booleans(), min_size=3, max_size=3).map(
    lambda x: np.array([True, *x])
)
add(
    "numerics.simplex.project_to_simplex",
    finite,
    x=points,
    total=real(0.5, 9.0),
    lower=real(0.0, 0.1),
    support=maybe(masks),
)
add(
    "numerics.simplex.project_to_bordered_simplex",
    probability,
    x=points,
    eta=real(1e-3, 0.2),
    eta_bar=real(1e-3, 0.25),
    protected=st.just(np.array([True, True, True, False])),
    support=st.none(),
)
add("numerics.simplex.protected_entries", anything, matrix=vectors(5, positive=True))

# --- matrix Dirichlet, its baselines --------------------------------------------------


@st.composite
def theorem_of_rows(draw: Any, **more: st.SearchStrategy) -> dict[str, Any]:
    """Return arguments of Theorem 1 for two rows, and what else is asked for."""
    m = draw(st.integers(2, 6))
    outside = draw(st.floats(0.01, 0.4))
    eta = draw(real(1e-4, 0.9)) * (1.0 - outside) / m
    b = 2.0 * draw(real(1e-4, 0.99)) * (1.0 - outside - m * eta)
    chosen = {"b": min(b, 1.0), "eta": eta, "eta_bar": outside, "protected": [2, m]}
    return chosen | {name: draw(strategy) for name, strategy in more.items()}


thin = real(1e-12, 0.15)
add(
    "dirichlet.matrix.theorem1_matrix_epsilon",
    non_negative,
    theorem_of_rows(k=ks, gamma=thin),
)


for scale, most_rows in (("gaussian_scale", 3), ("laplace_scale", 1)):
    add(
        f"accounting.noise_scales.{scale}",
        non_negative,
        epsilon=real(0.01, 30.0),
        delta=real(1e-12, 0.99),
        b=real(1e-3, 1.0),
        rows=st.integers(1, most_rows),
    )
add(
    "dirichlet.private_matrix.noisy_matrix",
    finite,
    P=vectors(4, rows=3),
    scale=real(1e-6, 1e6),
    noise=st.sampled_from(["laplace", "gaussian"]),
    size=size,
    rng=rng,
)

# --- decision processes ---------------------------------------------------------------

models = st.builds(
    lambda states, actions, seed, horizon: mdp.random_mdp(
        states, actions, np.random.default_rng(seed), horizon=horizon, discount=0.9
    ),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 999),
    maybe(st.integers(1, 4)),
)
planned = models.map(lambda model: {"mdp": model, "policy": mdp.synthesize(model)[0]})


@st.composite
def around(draw: Any, name: str) -> dict[str, Any]:
    """Return a model, a policy, a radius and a beta."""
    chosen = draw(planned)
    return {
        name: chosen["mdp"],
        "policy": chosen["policy"],
        "radius": draw(reals(0, 1)),
        "beta": draw(reals(0, 0.99)),
    }


def value(result: Any) -> None:
    """Check values of rewards in [0, 1] over at most five stages, or discounted by
    0.9."""
    between(-1e-6, 10.0 + 1e-6)(result)


parts = ("transitions", "rewards", "horizon", "discount", "terminal")
add(
    "mdp.model.MDP",
    anything,
    models.map(lambda model: {name: getattr(model, name) for name in parts}),
)
add("mdp.planning.synthesize", finite, mdp=models)
add("mdp.planning.evaluate", value, planned)
add(
    "mdp.private_model.perturb",
    probability,
    mdp=models,
    k=real(1e-2, 1e6),
    rng=rng,
    size=size,
    call=lambda **kw: mdp.perturb(**kw).transitions,
)
noises = {
    "scale": real(1e-3, 10.0),
    "rng": rng,
    "size": size,
    "noise": st.sampled_from(["laplace", "gaussian"]),
}


def anywhere(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with a support that allows every transition."""
    return arguments | {"support": np.ones(arguments["mdp"].transitions.shape, bool)}


noised_model = st.fixed_dictionaries({"mdp": models, **noises}).map(anywhere)
add(
    "mdp.private_model.perturb_with_noise",
    probability,
    noised_model,
    call=lambda **kw: mdp.perturb_with_noise(**kw).transitions,
)
secret = {
    "mdp": models.filter(lambda model: len(model.rewards) > 1),
    "epsilon": real(20.0, 60.0),
    "delta": real(1e-9, 0.1),
    "b": real(0.02, 0.1),
    "rng": rng,
    "rows": st.just("one"),
}
kinds = st.sampled_from(
    [{}, {"mechanism": "laplace"}, {"mechanism": "dirichlet", "eta": 0.1}]
)
add(
    "mdp.private_model.privatize",
    probability,
    st.tuples(st.fixed_dictionaries(secret).map(anywhere), kinds).map(
        lambda x: x[0] | x[1]
    ),
    call=lambda **kw: spending(mdp.privatize, **kw).transitions,
)
add("mdp.bounds.value_bounds", ordered(value), around("private"))
add("mdp.bounds.cost_of_privacy", value, around("private"))
discounted = models.filter(lambda model: model.horizon is None)
add(
    "mdp.planning.iterations_needed",
    non_negative,
    mdp=discounted,
    tolerance=real(1e-9, 1.0),
)
add(
    "mdp.model.random_mdp",
    anything,
    states=st.integers(1, 5),
    actions=st.integers(1, 4),
    rng=rng,
    horizon=maybe(st.integers(1, 9)),
    discount=st.floats(0, 0.999),
)
add("mdp.model.startup_mdp", anything)
add(
    "mdp.concentration.concentration_radius",
    probability,
    k=real(1e-3, 300.0),
    beta=real(1e-9, 0.99),
    n=st.integers(1, 50),
    kind=st.sampled_from(["paper", "union", "union", "paper", "exact"]),
)

# --- histograms -----------------------------------------------------------------------


@st.composite
def histograms(draw: Any, **more: st.SearchStrategy) -> dict[str, Any]:
    """Return a histogram with weights that fit, and what else is asked for."""
    x = np.array(draw(st.lists(st.integers(0, 3), min_size=2, max_size=4)))
    x[0] += x.sum() == 0
    return {"x": x, "weights": draw(weight(x.size))} | {
        name: draw(strategy) for name, strategy in more.items()
    }


def unweighted(**more: st.SearchStrategy) -> st.SearchStrategy:
    """Return a histogram, and what else is asked for."""
    return histograms(**more).map(
        lambda chosen: {k: v for k, v in chosen.items() if k != "weights"}
    )


def weight(bins: int) -> st.SearchStrategy:
    """Return weights of bins, or None."""
    numbers = st.lists(st.floats(0.0, 9.0), min_size=bins, max_size=bins)
    return st.one_of(st.none(), numbers.map(np.array))


@st.composite
def spaces(draw: Any, **more: st.SearchStrategy) -> dict[str, Any]:
    """Return a space of histograms with weights."""
    bins = draw(st.integers(2, 4))
    chosen = {
        "total": draw(st.integers(1, 6)),
        "bins": bins,
        "weights": draw(weight(bins)),
    }
    return chosen | {name: draw(strategy) for name, strategy in more.items()}


warmth = real(1e-3, 1e6)
warmths = reals(1e-3, 1e6)
add(
    "boltzmann.histograms.histogram",
    non_negative,
    histograms().map(lambda d: {"x": d["x"]}),
)
add(
    "boltzmann.histograms.bin_weights",
    finite,
    histograms().map(lambda d: {"weights": d["weights"], "bins": d["x"].size}),
    checked=False,
)
add("boltzmann.histograms.temperature", non_negative, t=warmth)
add(
    "boltzmann.histograms.size",
    non_negative,
    total=st.integers(1, 6),
    bins=st.integers(2, 4),
)
add(
    "boltzmann.histograms.configurations",
    between(0, 6),
    total=st.integers(0, 6),
    bins=st.integers(1, 4),
)
add(
    "boltzmann.histograms.configuration_index",
    non_negative,
    histograms().map(lambda d: {"z": d["x"], "total": int(d["x"].sum())}),
)
moves = histograms().map(
    lambda d: {
        "z": d["x"],
        "i": int(d["x"].argmax()),
        "j": (int(d["x"].argmax()) + 1) % d["x"].size,
    }
)
states = st.integers(1, 5).map(
    lambda total: {"states": boltzmann_.configurations(total, 3)}
)
add("boltzmann.histograms.index", non_negative, states, checked=False)
add("boltzmann.histograms.after_move", non_negative, moves, checked=False)
add("boltzmann.histograms.neighbours", non_negative, states, checked=False)
add(
    "boltzmann.distribution.objective",
    between(high=0),
    histograms().map(lambda d: {**d, "z": d["x"][::-1]}),
)
add("boltzmann.distribution.log_stationary", between(high=1e-9), histograms(t=warmths))
add("boltzmann.epsilon.sensitivity", non_negative, spaces())
add("boltzmann.epsilon.epsilon_bound", non_negative, spaces(t=warmth))
kinds = {
    "candidate": st.sampled_from(["bins", "individual"]),
    "rule": st.sampled_from(["metropolis", "logistic"]),
}
steps = {
    "t": warmths,
    "steps": st.integers(0, 5),
    "chains": st.integers(1, 3),
    "rng": rng,
    **kinds,
}
add(
    "boltzmann.sampling.metropolis",
    finite,
    unweighted(**steps, running_mean=st.booleans()),
)
add(
    "boltzmann.sampling.sample_exact",
    non_negative,
    unweighted(t=warmth, size=size, rng=rng),
)
counted_bins = histograms().map(
    lambda d: {"histogram": d["x"], "total": int(d["x"].sum()), "bins": d["x"].size}
)
asked_for = {
    "epsilon": real(1e-3, 1e3),
    "rng": rng,
    "mechanism": st.sampled_from(["boltzmann", "laplace"]),
}
add(
    "boltzmann.private_histogram.privatize",
    non_negative,
    st.tuples(counted_bins, st.fixed_dictionaries(asked_for)).map(
        lambda x: x[0] | x[1]
    ),
    call=lambda **kw: spending(boltzmann_.privatize, **kw),
)
add("boltzmann.epsilon.exact_epsilon_limit", non_negative, spaces(t=warmth))
small = {"total": st.integers(1, 6), "bins": st.integers(2, 4), "t": warmth}
add(
    "boltzmann.epsilon.epsilon_at_delta", non_negative, **small, delta=reals(0.0, 0.999)
)
chain = {"t": warmth, **kinds}
add("boltzmann.mixing.metropolis_matrix", probability, histograms(**chain))
step_numbers = st.one_of(st.integers(0, 4), st.just([0, 3]))
add(
    "boltzmann.mixing.k_step_distribution",
    sums_to_one,
    histograms(**chain, steps=step_numbers),
)
mixing = spaces(t=real(0.1, 1e3), steps=step_numbers, epsilon=maybe(real(0, 9)))
add("boltzmann.mixing.mixing_delta", probability, mixing)
add("boltzmann.mixing.convergence_rate", probability, **small)
add(
    "boltzmann.mixing.mixing_bound",
    probability,
    **small,
    steps=step_numbers,
    epsilon=real(0, 9),
)
add(
    "boltzmann.zero_sum_noise.add_zero_sum_laplace",
    finite,
    x=histograms().map(lambda d: d["x"]),
    epsilon=real(1e-6, 1000.0),
    size=size,
    rng=rng,
)
noisy_counts = st.lists(st.integers(-(10**9), 10**9), min_size=6, max_size=6).map(
    lambda x: np.array(x).reshape(2, 3)
)
totals = st.integers(1, 10**9)
add(
    "boltzmann.zero_sum_noise.nearest_histogram",
    non_negative,
    noisy=noisy_counts,
    total=totals,
    rng=rng,
)

# --- words ----------------------------------------------------------------------------

RING = np.array([[0, 1, 1, 0], [1, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 0]])
on_alphabet = st.lists(st.integers(0, 2), min_size=1, max_size=5).map(
    lambda w: {"word": w, "letters": 3}
)
on_chain = st.integers(0, 99).map(
    lambda seed: {
        "word": RING_WORDS[seed % len(RING_WORDS)],
        "adjacency": RING,
        "start": 0,
    }
)
RING_WORDS = [[1, 0, 2, 3], [2, 1, 3, 0, 1], [1], [2, 3, 1, 2, 1, 0], [1, 3]]
worded = st.one_of(on_alphabet, on_chain)
spelled = st.lists(st.sampled_from("abc"), min_size=1, max_size=5).map(
    lambda w: {"word": w, "letters": "abc"}
)


@st.composite
def law(
    draw: Any, kinds: tuple[str, ...] = ("permute-and-flip", "exponential", "staircase")
) -> dict[str, Any]:
    """Return a mechanism on words."""
    return {
        "epsilon": draw(real(0.0, 60.0)),
        "b": draw(st.integers(1, 3)),
        "mechanism": draw(st.sampled_from(kinds)),
    }


counted = st.lists(
    st.one_of(st.integers(0, 50), st.integers(0, 10**40)), min_size=1, max_size=6
).map(lambda c: np.array([1, *c], dtype=object))


def with_counts(
    strategy: st.SearchStrategy[dict], *left: str, **more: st.SearchStrategy
) -> st.SearchStrategy[dict]:
    """Return the arguments with counts, less those named, and what else is asked
    for."""
    return st.tuples(counted, strategy, st.fixed_dictionaries(more)).map(
        lambda x: {
            "counts": x[0],
            **{name: v for name, v in x[1].items() if name not in left},
            **x[2],
        }
    )


def asked(automaton_: words_.HammingAutomaton, seed: int = 0) -> Any:
    """Return what an automaton answers."""
    distance = int(np.flatnonzero(automaton_.counts)[-1])
    return automaton_.counts, automaton_.sample(
        [distance, 0], np.random.default_rng(seed)
    )


add(
    "words.automaton.alphabet_counts",
    non_negative,
    n=st.integers(1, 30),
    m=st.integers(1, 30),
)
add(
    "words.automaton.log_integers",
    between(0, minus_infinity=True),
    values=counted,
    checked=False,
)
add(
    "words.automaton.HammingAutomaton",
    non_negative,
    worded,
    call=lambda **kw: asked(words_.HammingAutomaton(**kw)),
)
pmf = with_counts(law(), "mechanism")
add("words.permute_and_flip.pmf", sums_to_one, with_counts(law()))
chained = st.lists(
    st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=4
)
add(
    "words.automaton.chain_counts",
    non_negative,
    words=chained,
    adjacency=st.just(np.ones((3, 3))),
    start=st.integers(0, 2),
    letters=st.just(3),
)
few = st.integers(1, 4).map(
    lambda n: np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
)
add(
    "words.least_error.least_mean_error",
    between(0, 4),
    apart=few,
    epsilon=real(0.0, 20.0),
)
add("words.permute_and_flip.expected_error", between(0, 6), with_counts(law()))
add(
    "words.permute_and_flip.draw_distances",
    between(0, 6),
    with_counts(law(), size=size, rng=rng),
)
known = st.sampled_from([None, "permute-and-flip", "exponential", "staircase"])
for_release = st.tuples(
    st.one_of(worded, spelled), real(1e-3, 60.0), st.integers(1, 3), known, rng
).map(lambda x: {**x[0], "epsilon": x[1], "b": x[2], "mechanism": x[3], "rng": x[4]})
add(
    "words.private_word.privatize",
    non_negative,
    for_release,
    call=lambda **kw: spending(words_.privatize, **kw),
)
spaces_of_words = st.sampled_from(
    [
        {"letters": 3},
        {"letters": "abc"},
        {"adjacency": RING, "start": 0},
        {"letters": 1},
    ]
)
spent = st.tuples(spaces_of_words, law(), st.integers(1, 4)).map(
    lambda x: {**x[0], **x[1], "length": x[2]}
)
add("words.exact_epsilon.exact_word_epsilon", between(0, 60), spent)
add(
    "words.candidates.word_space", anything, spaces_of_words, checked=False
)  # text is an alphabet

add(
    "words.least_error.least_expected_error",
    between(0, 12),
    n=st.integers(1, 12),
    m=st.integers(2, 30),
    epsilon=real(0.0, 30.0),
    b=st.integers(1, 3),
)


# --- audit ----------------------------------------------------------------------------


@st.composite
def hits(draw: Any, *names: str) -> dict[str, Any]:
    """Return counts of draws."""
    drawn = draw(st.integers(1, 10**9))
    chosen = {name: draw(st.integers(0, drawn)) for name in names}
    return chosen | {"draws": drawn, "alpha": draw(real(1e-12, 0.5))}


add("accounting.audit.clopper_pearson", ordered(probability), hits("hits"))
both_hits = st.tuples(hits("hits_p", "hits_q"), epsilons).map(
    lambda x: {**x[0], "epsilon": x[1]}
)
add("accounting.audit.delta_bounds", ordered(between(high=1)), both_hits)
# --- releases -------------------------------------------------------------------------

noises = st.builds(release_.Noise, st.floats(0.2, 50.0), st.just(1.0))
wanted = {"epsilon": real(1e-3, 100.0), "delta": real(1e-12, 0.5)}
seeds = st.integers(0, 2**32)
ABC = ["a", "b", "c"]
EDGES = pd.DataFrame({"origin": list("aabbc"), "destination": list("bcaca")})
tabled = st.lists(st.integers(0, 500), min_size=5, max_size=5).map(
    lambda x: EDGES.assign(trips=x)
)
supports = st.sampled_from([release_.all_pairs(ABC), release_.declared_graph(EDGES)])
chosen = st.sampled_from([release_.private_pairs(ABC), release_.private_pairs()])


def published(**of: Any) -> Any:
    """Return the numbers of a release."""
    chain = release_.release_chain(
        release_.Counts(of.pop("trips"), of.pop("unit")), **of
    )
    assert chain.statement["simulation"] == (of["rng"] is not None)
    stated = [v for v in chain.statement.values() if isinstance(v, float)]
    return np.maximum(chain.noisy, 0), chain.estimate.probabilities, stated


@cache
def chain_of(seed: int) -> release_.PrivateChain:
    """Return one of a few released chains: only what is made of them is fuzzed."""
    support = release_.all_pairs(ABC)
    return release_.release_chain(
        release_.Counts(EDGES.assign(trips=500)), epsilon=1.0, support=support, rng=seed
    )


made = st.integers(0, 99).map(chain_of)
share = real(0.01, 0.99)
add("release.support.all_pairs", anything, labels=st.permutations(ABC))
add(
    "release.support.declared_graph",
    anything,
    graph=st.just(EDGES),
    labels=maybe(st.permutations(ABC)),
)
add("release.support.private_pairs", anything, labels=maybe(st.permutations(ABC)))
add(
    "release.support.counts_on",
    non_negative,
    trips=tabled,
    support=supports,
    trusted=("support",),
)
add(
    "release.support.pair_counts",
    anything,
    trips=tabled,
    labels=maybe(st.just(tuple(ABC))),
    trusted=("trips",),
)
tallies = st.lists(st.integers(0, 10**6), max_size=4)
few = st.integers(1, 9)
add(
    "release.discrete_laplace.noisy_counts",
    anything,
    counts=tallies,
    noise=noises,
    rng=rng,
    events=few,
    trusted=("noise",),
)
add(
    "release.estimate.rule",
    anything,
    support=st.just(release_.all_pairs(ABC)),
    checked=False,
)
nine = st.lists(st.integers(-50, 500), min_size=9, max_size=9).map(np.array)
add(
    "release.estimate.estimate_chain",
    anything,
    support=st.just(release_.all_pairs(ABC)),
    noisy=nine,
    noise=noises,
    call=lambda **of: release_.estimate_chain(**of).probabilities,
    checked=False,
)
add(
    "release.estimate.clear_rows",
    anything,
    support=st.just(release_.all_pairs(ABC)),
    noisy=nine,
    noise=noises,
    checked=False,
)
add(
    "release.estimate.weak_rows",
    anything,
    support=st.just(release_.all_pairs(ABC)),
    noisy=nine,
    noise=noises,
    checked=False,
)
add(
    "release.estimate.row_sums",
    anything,
    values=nine,
    support=st.just(release_.all_pairs(ABC)),
    checked=False,
)
add(
    "release.chain.release_chain",
    non_negative,
    slow=True,
    trips=tabled,
    **wanted,
    support=st.one_of(supports, chosen),
    unit=st.builds(release_.Unit, st.integers(1, 9), st.just("who")),
    rng=seeds,
    call=published,
    trusted=("trips", "unit"),
)
add(
    "release.discrete_laplace.laplace_noise",
    anything,
    epsilon=wanted["epsilon"],
    events=st.integers(1, 99),
)
add(
    "release.discrete_laplace.pair_threshold",
    non_negative,
    noise=noises,
    events=few,
    delta=wanted["delta"],
    trusted=("noise",),
)
add(
    "release.discrete_laplace.pair_delta",
    probability,
    noise=noises,
    events=few,
    threshold=st.integers(10, 99),
    checked=False,
)
add(
    "release.intervals.intervals",
    anything,
    chain=made,
    of=st.sampled_from(["counts", "probabilities"]),
    level=share,
    target=st.sampled_from(["table", "process"]),
    trusted=("chain",),
)
add(
    "release.expected_error.plan",
    anything,
    states=st.integers(1, 99),
    events=st.integers(1, 10**6),
    epsilons=st.lists(real(0.1, 9.0), min_size=1, max_size=2),
    delta=wanted["delta"],
    persons=st.integers(1, 99),
    limits=st.lists(st.integers(1, 9), max_size=2),
)
labelled = st.one_of(st.permutations(ABC), st.permutations([3, 1, 2]))
add("release.labels.distinct_labels", anything, name=text, labels=labelled)
add(
    "release.labels.whole_word",
    anything,
    value=st.one_of(text, st.integers(), st.floats(allow_nan=True)),
)
add(
    "release.times.seconds", anything, max_gap=st.sampled_from(["30min", "2h", "1.5 d"])
)

# --- data, figures --------------------------------------------------------------------


@st.composite
def merging(draw: Any) -> dict[str, Any]:
    """Return counts of trips, which zones touch, and how many groups to keep."""
    n = draw(st.integers(1, 5))
    counts = np.array(
        draw(st.lists(st.integers(0, 9), min_size=n * n, max_size=n * n))
    ).reshape(n, n)
    touches = (
        draw(symmetric_mask(n))
        | np.eye(n, k=1, dtype=bool)
        | np.eye(n, k=-1, dtype=bool)
    )
    rule = draw(st.sampled_from(taxi.MERGE_RULES))
    return {
        "counts": counts,
        "adjacency": touches,
        "target": draw(st.integers(1, n)),
        "rule": rule,
    }


TRIPS = pd.DataFrame({"origin": [1, 2], "destination": [2, 2], "trips": [3, 4]})
add("datasets.taxi.merge_zones", non_negative, merging())
add(
    "datasets.taxi.counts_matrix",
    non_negative,
    trips=st.just(TRIPS),
    zones=st.permutations([1, 2, 3]),
)
add(
    "datasets.csv_files.read_bytes",
    anything,
    name=st.sampled_from(sorted(datasets.csv_files.checksums())),
)
tables = sorted(
    name for name in datasets.csv_files.checksums() if name.endswith(".csv")
)
add("datasets.csv_files.read_table", anything, name=st.sampled_from(tables))
add("datasets.taxi.load_taxi_trips", anything, source=st.just("surrogate"))
add("datasets.roads.load_gainesville", finite, core=st.booleans())
add(
    "datasets.roads.onward_drives",
    anything,
    roads=st.just(datasets.load_gainesville()),
    start=st.integers(0, 42),
    through=st.booleans(),
    trusted=("roads",),
)
add(
    "figures.house_style.size",
    between(0, 12),
    columns=st.sampled_from([1, 2]),
    height=real(0.1, 12.0),
)
