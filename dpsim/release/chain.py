"""A private Markov chain from a table of transitions: what is drawn, and what it costs.

Each row i becomes one draw of Dir(kappa (c_i + alpha)), c_i the counts of the transitions allowed from i.

Why it is private. The guarantee speaks of two tables that differ in one unit (dpsim.unit_privacy), and covers
everything that depends on the data:
  the categories   declared by the user without looking at the data: free. Else chosen by a thresholded noisy count
                   (an event adds 1 to the count of each of its ends): epsilon_1, delta_1.
  the support      all pairs of categories, or a graph declared by the user: free. Which transitions are seen in the
                   data is not: one event that appears would make a zero positive, and anybody would see it.
  the row totals   public (then neighbours differ in where events end: "replace"), or unknown: then a unit may be there
                   or not ("add-remove") and the totals are released with discrete Laplace noise: epsilon_2.
  alpha, kappa     chosen by `unit_privacy.plan` from the totals above, n, epsilon and delta alone: free, as
                   post-processing.
  the matrix       (epsilon_3, delta_3) for every value of the above, exact or bounded by unit_privacy.unit_epsilon.
Adaptive composition adds the epsilons and the deltas: the sums are what the release states. Replacing an event by one
with another origin is one removal and one addition: twice the stated loss under "add-remove". What is drawn from the
result (stationary distribution, walks) is post-processing and free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from dpsim import accounting, checks, datasets, markov
from dpsim.accounting import units
from dpsim.accounting.units import EVENT, Unit
from dpsim.checks import Array
from dpsim.datasets import events
from dpsim.release import draws as release_draws

Integers = NDArray[np.int64]

SELECTION_SHARE = 0.2  # of epsilon, when the categories are chosen privately; and half of delta
TOTALS_SHARE = 0.1  # of epsilon, when the row totals are released
SMALLEST_EPSILON = 1e-5  # of which the matrix gets at least 0.7: what `unit_privacy.plan` needs, several times over
LARGEST_DENSE = 3_000  # categories up to which all pairs may be allowed
SIMULATION = "simulation: not a private release"
FLOATING_POINT = (
    "The probabilities are drawn in double precision, while the proof is about real numbers: it does not cover an "
    "attacker who learns from the last bits of the floats (Mironov 2012)."
)
OBSERVED = (
    "the support of a release must not be read from the data: a transition that one event makes possible would be seen "
    "by everybody. Declare a public graph, or allow all pairs"
)


class Support(NamedTuple):
    """The categories, and the transitions allowed from each as csr (indptr, indices): public."""

    categories: list[Any]
    indptr: Integers
    indices: Integers

    @property
    def sizes(self) -> Integers:
        """How many destinations are allowed from each category."""
        return np.diff(self.indptr)


@dataclass(frozen=True)
class PrivateChain:
    """A released chain: everything in it may be published (unless it is a simulation)."""

    support: Support
    matrix: Any
    """scipy.sparse csr (n, n), the allowed transitions."""
    totals: Array
    """Row totals: as declared public, or as released."""
    row_errors: Array
    """Bound on the expected total variation error of each row, at these totals."""
    statement: dict[str, Any]
    """Mechanism, parameters, budget, unit, caveats: the side-car."""

    @property
    def status(self) -> str:
        """ "private release", or that it is none."""
        return str(self.statement["status"])

    def stationary(self) -> Array:
        """Return the stationary distribution (n,); ValueError when the declared graph is not irreducible."""
        return markov.stationary_distribution(self.matrix)


def all_pairs(categories: Sequence[Any]) -> Support:
    """Return the support of all pairs of 2 to `LARGEST_DENSE` distinct categories (ValueError)."""
    labels = datasets.distinct_labels("categories", categories)
    n = len(labels)
    if n > LARGEST_DENSE:
        raise ValueError(
            f"categories must be at most {LARGEST_DENSE} when all pairs are allowed, got {n}: declare a public graph "
            "of the transitions that are possible"
        )
    return Support(labels, np.arange(0, n * n + 1, n), np.tile(np.arange(n), n))


def declared_graph(graph: pd.DataFrame, categories: Sequence[Any] | None = None) -> Support:
    """Return the support of a public graph: columns origin, destination, a row for each allowed transition.

    categories: in the order wanted (default: the labels of the graph, sorted). Raises ValueError for missing columns
    or labels, repeated pairs, and categories from which no transition is allowed.
    """
    if isinstance(graph, str):
        raise ValueError(f"graph must be a table of allowed pairs, got {graph!r}: {OBSERVED}")
    if not isinstance(graph, pd.DataFrame):
        raise TypeError(f"graph must be a DataFrame of allowed pairs, got {type(graph).__name__}")
    missing = {"origin", "destination"} - set(graph.columns)
    if missing:
        raise ValueError(
            f"graph must have the columns origin and destination, got {', '.join(map(str, graph.columns))}"
        )
    ends = graph[["origin", "destination"]]
    if ends.isna().any(axis=None):
        raise ValueError("graph must have an origin and a destination in each row, got an empty one")
    labels = pd.unique(pd.concat([ends["origin"], ends["destination"]])) if categories is None else categories
    labels = datasets.distinct_labels("categories", sorted(labels) if categories is None else categories)
    origin, destination = (datasets.positions(ends[column], labels) for column in ("origin", "destination"))
    if (origin < 0).any() or (destination < 0).any():
        bad = ends[(origin < 0) | (destination < 0)].iloc[0]
        raise ValueError(f"graph: the pair {bad['origin']}, {bad['destination']} is not among the categories")
    n = len(labels)
    keys = np.sort(origin * n + destination)
    if (np.diff(keys) == 0).any():
        key = int(keys[np.flatnonzero(np.diff(keys) == 0)[0]])
        raise ValueError(f"graph: the pair {labels[key // n]}, {labels[key % n]} must occur once, got it twice or more")
    indptr = np.searchsorted(keys, np.arange(n + 1, dtype=np.int64) * n)
    if (np.diff(indptr) == 0).any():
        closed = labels[int(np.flatnonzero(np.diff(indptr) == 0)[0])]
        raise ValueError(f"graph must allow a transition from each category, got none from {closed}")
    return Support(labels, indptr, keys % n)


def counts_on(trips: pd.DataFrame, support: Support, outside: str = "error") -> tuple[Integers, int]:
    """Return the counts aligned with support.indices, and how many trips are on pairs that are not allowed.

    trips: columns origin, destination, trips, as `events.count_transitions` gives them. outside "error" raises
    ValueError naming such pairs, "drop" leaves them out.
    """
    checks.choice("outside", outside, ("error", "drop"))
    if not isinstance(support, Support):
        raise TypeError(f"support must be a Support, got {type(support).__name__}")
    _refuse_other_tables(trips)
    n = len(support.categories)
    origin, destination = (
        datasets.positions(trips[column], support.categories) for column in ("origin", "destination")
    )
    keys = np.repeat(np.arange(n, dtype=np.int64), support.sizes) * n + support.indices
    wanted = origin * n + destination
    place = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    fits = (origin >= 0) & (destination >= 0) & (keys[place] == wanted)
    numbers = trips["trips"].to_numpy(np.int64)
    if (numbers < 0).any():
        raise ValueError(f"trips must be at least 0, got {int(numbers.min())}")
    lost = int(numbers[~fits].sum())
    if lost and outside == "error":
        some = trips.loc[~fits & (numbers > 0), ["origin", "destination"]].head(events.SHOWN)
        pairs = ", ".join(f"{a} -> {b}" for a, b in some.itertuples(index=False))
        raise ValueError(f"trips: {lost} are on pairs that are not allowed ({pairs}); allow them, or drop them "
                         "with outside=\"drop\"")  # fmt: skip
    counts = np.zeros(keys.size, dtype=np.int64)
    np.add.at(counts, place[fits], numbers[fits])
    return counts, lost


def release_chain(
    trips: pd.DataFrame,
    *,
    epsilon: float,
    delta: float,
    categories: Sequence[Any] | None = None,
    graph: pd.DataFrame | None = None,
    totals: str = "released",
    unit: Unit = EVENT,
    outside: str = "error",
    seed: int | None = None,
) -> PrivateChain:
    """Return a private chain, (epsilon, delta) in all; the module's text says for whom and why.

    trips: columns origin, destination, trips; for a unit of several events already truncated to its limits
    (`events.count_transitions` does it). categories or graph: declared; with neither the categories are chosen
    privately, which needs totals="released". totals: "released" or "public". seed: None for a real release; a number
    makes it a simulation, which says so. epsilon in [1e-5, 1e30], so that its shares are in the range of what they pay
    for; delta in (0, 1), for a unit of several rows at least 2e-11. Raises ValueError outside these ranges, for targets
    no alpha reaches, and for events outside what is declared (outside="drop" leaves them out).
    """
    epsilon = checks.scalar("epsilon", epsilon, SMALLEST_EPSILON, units.LARGEST_EPSILON)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    checks.choice("totals", totals, ("released", "public"))
    unit, source = Unit.checked(unit), release_draws.Source(seed)
    if isinstance(graph, str):
        raise ValueError(f"graph must be a table of allowed pairs, got {graph!r}: {OBSERVED}")
    budget: list[dict[str, Any]] = []
    if graph is not None:
        support = declared_graph(graph, categories)
    elif categories is not None:
        support = all_pairs(categories)
    else:
        support = _chosen_support(trips, epsilon, delta, totals, unit, source, budget)
        outside = "drop"
    counts, _ = counts_on(trips, support, outside)
    row_totals = np.add.reduceat(counts, support.indptr[:-1])
    if totals == "released":
        row_totals, spent = release_draws.noisy_totals(row_totals, TOTALS_SHARE * epsilon, unit.events, source)
        budget.append({"what": "row totals", "epsilon": spent, "delta": 0.0, "method": "discrete Laplace (OpenDP)"})
    adjacency = "replace" if totals == "public" else "add-remove"
    left = (epsilon - sum(b["epsilon"] for b in budget), delta - sum(b["delta"] for b in budget))
    plan = accounting.plan(*left, support.sizes, row_totals, unit=unit, adjacency=adjacency)
    budget.append({"what": "matrix", "epsilon": plan.epsilon, "delta": plan.delta, "method": "Dir(kappa (c + alpha))"})
    draws = release_draws.dirichlet_rows(plan.kappa * (counts.astype(float) + plan.alpha), support.indptr, source)
    widest = int(support.sizes.max())
    enough = accounting.events_needed(0.1, *left, widest, unit=unit, adjacency=adjacency)
    facts = {
        "mechanism": "row i is one draw of Dir(kappa (c_i + alpha)), c_i the counts from i",
        "alpha": plan.alpha,
        "kappa": plan.kappa,
        "rule": "the alpha with the smallest proven bound on the mean row error, with the largest kappa epsilon allows",
        "mean_row_error_bound": plan.error,
        "events_in_a_row_for_error_0.1": enough,
    }
    return _finished(support, draws, row_totals, plan, budget, totals, unit, source, facts)


def release_papers_chain(
    trips: pd.DataFrame, *, epsilon: float, delta: float, eta: float, categories: Sequence[Any], seed: int | None = None
) -> PrivateChain:
    """Return a chain released by the Dirichlet mechanism of Benvenuti et al. 2026: row i one draw of Dir(k_i c_i/N_i).

    eta: border of the simplex, declared without looking at the data. Every row's shares must be at least eta
    (Definition 2); row totals are public and a neighbour differs in where one event ends. k_i is the largest that
    epsilon allows by the exact accounting (accounting.calibrate_k). Raises ValueError naming the assumption that
    fails; that refusal depends on the data and is for their owner. Assumption 4 (k >= 3/(2 eta)) is needed by the
    paper's Theorem 1 alone: the statement says when it fails.
    """
    epsilon = checks.scalar("epsilon", epsilon, 0.0, open_low=True)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    eta, source = checks.scalar("eta", eta, 0.0, open_low=True), release_draws.Source(seed)
    if eta >= 0.25:
        raise ValueError(f"eta must be in (0, 0.25), got {eta:g}: Assumption 3 of Benvenuti et al. 2026 fails")
    support = all_pairs(categories)
    n = len(support.categories)
    counts = counts_on(trips, support)[0].reshape(n, n)
    row_totals = counts.sum(axis=1)
    low = np.flatnonzero((counts < eta * row_totals[:, None]).any(axis=1) | (row_totals == 0))
    if low.size:
        raise ValueError(
            f"eta must be at most the smallest share of each row, got {eta:g}: the bordered simplex of Definition 2 "
            f"(Benvenuti et al. 2026) does not hold row {support.categories[low[0]]} and {low.size - 1} more; the "
            "default mechanism needs no such assumption"
        )
    k = accounting.calibrate_k(epsilon, delta, shift=1.0 / row_totals, eta=eta) * (1.0 - 1e-9)
    spent = float(accounting.exact_epsilon(delta, k, shift=1.0 / row_totals, eta=eta).max())
    shares = counts / row_totals[:, None]
    draws = release_draws.dirichlet_rows((k[:, None] * shares).ravel(), support.indptr, source)
    spread = 0.5 * np.sqrt((n - 1.0) / (k + 1.0))
    verdict = "holds" if k.min() >= 1.5 / eta else "fails (the exact accounting does not need it)"
    facts = {
        "mechanism": "row i is one draw of Dir(k_i c_i / N_i) (Benvenuti et al. 2026, Definition 5)",
        "eta": eta,
        "k_smallest": float(k.min()),
        "k_largest": float(k.max()),
        "assumptions": "the guarantee holds among tables whose shares are all at least eta; Assumption 4, "
        f"k >= 3/(2 eta) = {1.5 / eta:.4g}, {verdict}",
        "mean_row_error_bound": float(row_totals @ np.minimum(1.0, spread) / row_totals.sum()),
    }
    plan = accounting.Plan(0.0, 0.0, spent, delta, 0.0)
    budget = [{"what": "matrix", "epsilon": spent, "delta": delta, "method": "Dirichlet mechanism, exact accounting"}]
    chain = _finished(support, draws, row_totals, plan, budget, "public", EVENT, source, facts)
    return PrivateChain(chain.support, chain.matrix, chain.totals, np.minimum(1.0, spread), chain.statement)


def _refuse_other_tables(trips: pd.DataFrame) -> None:
    """Raise TypeError or ValueError unless trips is a table with the three columns of counts."""
    if not isinstance(trips, pd.DataFrame):
        raise TypeError(f"trips must be a DataFrame, got {type(trips).__name__}")
    if not {"origin", "destination", "trips"} <= set(trips.columns):
        raise ValueError(f"trips must have the columns origin, destination and trips, got {list(trips.columns)}")


def _chosen_support(
    trips: pd.DataFrame,
    epsilon: float,
    delta: float,
    totals: str,
    unit: Unit,
    source: release_draws.Source,
    budget: list[dict[str, Any]],
) -> Support:
    """Return all pairs of the categories that pass the threshold; their share is added to the budget."""
    if totals == "public":
        raise ValueError('totals must be "released" when the categories are not declared, got "public"')
    _refuse_other_tables(trips)
    ends = trips[["origin", "destination"]].astype(str)
    away = ends["origin"] != ends["destination"]  # an event within a category counts once
    counts = trips["trips"].groupby(ends["origin"]).sum()
    counts = counts.add(trips.loc[away, "trips"].groupby(ends.loc[away, "destination"]).sum(), fill_value=0)
    touched = (2 * unit.events, 2 * unit.events, unit.events)
    labels, threshold, epsilon_1, delta_1 = release_draws.chosen_labels(
        counts.astype(int).to_dict(), SELECTION_SHARE * epsilon, 0.5 * delta, touched, source
    )
    budget.append({"what": "categories", "epsilon": epsilon_1, "delta": delta_1,
                   "method": f"noisy counts of at least {threshold} (OpenDP)"})  # fmt: skip
    if len(labels) < 2:
        raise ValueError(
            f"categories: {len(labels)} passed the threshold of {threshold} events, at least 2 must; declare them, or "
            "give a larger epsilon or delta"
        )
    original = {str(label): label for column in ("origin", "destination") for label in trips[column]}
    return all_pairs(sorted(original[label] for label in labels))


def _finished(
    support: Support,
    draws: Array,
    row_totals: Any,
    plan: accounting.Plan,
    budget: list[dict[str, Any]],
    totals: str,
    unit: Unit,
    source: release_draws.Source,
    facts: dict[str, Any],
) -> PrivateChain:
    n = len(support.categories)
    matrix = sparse.csr_array((draws, support.indices, support.indptr), shape=(n, n))
    neighbours = {
        "public": "the unit's events end elsewhere; the row totals are public",
        "released": "the unit is in the table or not; the row totals are released with noise",
    }
    statement = {
        "status": "private release" if source.seed is None else SIMULATION,
        "epsilon": sum(share["epsilon"] for share in budget),
        "delta": sum(share["delta"] for share in budget),
        "budget": budget,
        "unit": {"events_per_row": unit.events_per_row, "rows": unit.rows},
        "neighbours": neighbours[totals],
        **facts,
        "randomness": source.name,
        "floating_point": FLOATING_POINT,
        "categories_from": "noisy counts" if budget[0]["what"] == "categories" else "declared",
        "allowed_transitions": len(support.indices),
        "row_totals": totals,
    }
    errors = np.ones(n)
    if plan.alpha:
        errors = accounting.row_error_bound(support.sizes, row_totals, plan.kappa, plan.alpha)
    return PrivateChain(support, matrix, np.asarray(row_totals, dtype=float), errors, statement)
