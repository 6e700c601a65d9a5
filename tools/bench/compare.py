"""Ours against what people use today, side by side in one run, errors beside seconds,
sizes growing a hundredfold.

`python -m tools.bench.compare` prints the table (about four minutes on two cores); with
`--write` it also goes to tools/bench/results/, as a page and as csv, with a description
of the machine. Ours and the peers take turns three times; seconds are the best of many
calls, after a warm-up.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from timeit import Timer
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
from quantecon.markov import gth_solve
from scipy import optimize

import dpsim_release
from dpsim import dirichlet, markov, mdp, words
from dpsim.checks import Integers
from dpsim.ledger.table_formats import markdown_table
from release.tools.scale import ENDS, write_trips
from tools.bench.machine import machine

RESULTS = Path(__file__).parent / "results" / "compare.csv"
STATES = 40
RADIUS, BETA = 0.3, 0.1  # of the cost of privacy


class Comparison(NamedTuple):
    """One question, the ways to answer it, and the sizes at which they are measured."""

    name: str
    size: str
    sizes: list[int]
    prepare: Callable[[int], Any]
    ways: dict[str, Callable[[Any], Any]]
    error: Callable[[Any, Any], float] | None = None
    """Of what was prepared and what a way returned."""
    remark: str = ""


def chains(count: int) -> np.ndarray:
    """Return `count` random chains of 40 states."""
    return np.random.default_rng(1).dirichlet(
        np.full(STATES, 1.5), size=(count, STATES)
    )


def same(size: int) -> int:
    """Return the size itself: nothing to prepare."""
    return size


def solve_numpy(P: np.ndarray) -> np.ndarray:
    """Batched linear solves, the plain numpy way."""
    A = np.swapaxes(np.eye(STATES) - P, 1, 2).copy()
    A[:, -1, :] = 1.0
    b = np.zeros((len(P), STATES, 1))
    b[:, -1] = 1.0
    return np.linalg.solve(A, b)[..., 0]


def solve_quantecon(P: np.ndarray) -> list[np.ndarray]:
    """quantecon's jitted GTH in a loop."""
    return [gth_solve(chain) for chain in P]


def residual(P: np.ndarray, pi: Any) -> float:
    """Return the largest 1-norm of pi P - pi over the chains."""
    pi = np.asarray(pi)
    return float(np.abs(np.einsum("ci,cij->cj", pi, P) - pi).sum(axis=1).max())


def delta_closed(n: int) -> Any:
    """The closed-form bracket at n categories."""
    return dirichlet.theorem1_delta_bounds(
        1.5 * 2 * n, eta=0.5 / n, gamma=1e-3 / n, n=n
    )


def delta_sampled(n: int) -> Any:
    """The papers' estimator with 100,000 draws at one vertex (by symmetry the others
    are equal)."""
    vertex = dirichlet.extreme_points(n, 0.5 / n)[:1]
    return dirichlet.delta_monte_carlo(
        vertex, 1.5 * 2 * n, gamma=1e-3 / n, draws=100_000, rng=np.random.default_rng(1)
    )


def delta_error(n: int, found: Any) -> float:
    """Return how far a bracket's lower end, or an estimate, is from the proven upper
    end, relative to it."""
    upper = delta_closed(n)[1]
    return float(np.abs(np.ravel(found) - upper).max() / upper)


def word_ours(length: int) -> Any:
    """1,000 private words of a length over three letters."""
    automaton = words.HammingAutomaton([0] * length, letters=3)
    rng = np.random.default_rng(1)
    return automaton.sample(
        words.draw_distances(automaton.counts, 3.0, size=1000, rng=rng), rng
    )


def word_enumerated(length: int) -> Any:
    """The same by permute-and-flip over the list of all words, ten times, counted a
    hundredfold."""
    rng = np.random.default_rng(1)
    distance = np.zeros(1, dtype=int)
    for _ in range(length):
        distance = np.concatenate([distance, distance + 1, distance + 1])
    chance = np.exp(-3.0 * distance / 2)
    drawn = []
    for _ in range(10):
        order = rng.permutation(len(chance))
        drawn.append(order[np.argmax(rng.random(len(order)) < chance[order])])
    return drawn


def released_model(states: int) -> tuple[mdp.MDP, Integers]:
    """Return a released random model (k = 10) with two actions, horizon 3, and its
    policy."""
    rng = np.random.default_rng(states)
    private = mdp.perturb(mdp.random_mdp(states, 2, rng, horizon=3), 10.0, rng)
    return private, mdp.synthesize(private)[0]


def cost_ours(plan: tuple[mdp.MDP, Integers]) -> Any:
    """Return the cost of privacy by the greedy solution of the inner problem."""
    return mdp.cost_of_privacy(*plan, RADIUS, BETA)


def cost_by_programmes(plan: tuple[mdp.MDP, Integers]) -> float:
    """Return the same with one linear programme (HiGHS) for each side, stage and
    state."""
    private, policy = plan
    ends = []
    for side in (1, -1):
        values = private.terminal
        for rule in policy[::-1]:
            played = np.arange(len(rule)), rule
            worst = [least(p, side * values) for p in private.transitions[played]]
            values = private.rewards[played] + side * np.array(worst)
        ends.append(values[0])
    return ends[1] - ends[0]


def least(p: np.ndarray, values: np.ndarray) -> float:
    """Return the least expectation over the set (1) of the paper by one linear
    programme."""
    near = np.clip([p - RADIUS, p + RADIUS], 0, 1).T
    return optimize.linprog(
        np.concatenate([(1 - BETA) * values, BETA * values]),
        A_eq=np.kron(np.eye(2), np.ones(p.size)),
        b_eq=[1, 1],
        bounds=[*near, *[(0, 1)] * p.size],
    ).fun


def cost_error(plan: tuple[mdp.MDP, Integers], found: Any) -> float:
    """Return how far a cost of privacy is from ours, relative to it."""
    ours = cost_ours(plan)
    return float(np.max(np.abs(found - ours)) / np.max(np.abs(ours)))


def trips(rows: int) -> tempfile.TemporaryDirectory[str]:
    """Return a folder of synthetic trips in Parquet, removed with the object."""
    folder = tempfile.TemporaryDirectory()
    write_trips(Path(folder.name), rows)
    return folder


def count_ours(folder: tempfile.TemporaryDirectory[str]) -> Any:
    """Count trips by origin and destination as releases do."""
    return dpsim_release.count_transitions(Path(folder.name), *ENDS)


def count_duckdb(folder: tempfile.TemporaryDirectory[str]) -> Any:
    """Count them by a query of one's own."""
    pairs = f"SELECT {', '.join(ENDS)}, count(*) n FROM '{folder.name}/*.parquet'"
    return duckdb.sql(f"{pairs} GROUP BY ALL").df()


def count_pandas(folder: tempfile.TemporaryDirectory[str]) -> Any:
    """Count them in memory."""
    return pd.read_parquet(folder.name, columns=ENDS).groupby(ENDS).size()


COMPARISONS = [
    Comparison(
        "delta of one row",
        "categories",
        [3, 30, 300],
        same,
        {"ours": delta_closed, "sampling": delta_sampled},
        delta_error,
        "Error: ours, how far the proven bracket is wide; sampling, how far 100,000 "
        "draws are from its upper end; both relative to that.",
    ),
    Comparison(
        "stationary distributions",
        "chains of 40 states",
        [10, 100, 1000, 10_000],
        chains,
        {
            "ours": markov.stationary_distribution,
            "quantecon in a loop": solve_quantecon,
            "numpy.linalg.solve": solve_numpy,
        },
        residual,
        "Error: the largest 1-norm of pi P - pi over the chains. Ours also checks "
        "each chain, which the others do not.",
    ),
    Comparison(
        "1,000 private words",
        "letters",
        [2, 5, 8, 12],
        same,
        {"ours": word_ours, "enumeration": word_enumerated},
        remark=(
            "Both draw from the exact law. Enumeration is measured on ten words, its "
            "seconds multiplied by 100."
        ),
    ),
    Comparison(
        "cost of privacy",
        "states",
        [2, 10, 30, 100],
        released_model,
        {"ours": cost_ours, "one LP each": cost_by_programmes},
        cost_error,
        "Error: how far from ours, relative to it.",
    ),
    Comparison(
        "counting trips by origin and destination",
        "trips",
        [10_000, 100_000, 1_000_000],
        trips,
        {
            "ours": count_ours,
            "DuckDB's SQL": count_duckdb,
            "pandas": count_pandas,
        },
        remark=(
            "Ours is DuckDB through Ibis: a new connection, the checks of the source "
            "and reading each value as text take the time. All count every trip."
        ),
    ),
]

SCALE = {("1,000 private words", "enumeration"): 100.0}
"""A peer measured on a share of the work: its seconds are multiplied."""


ROUNDS, LONG = 3, 3.0
"""How often the ways take turns, and the seconds of a call beyond which one is
enough."""


def measure(comparison: Comparison, size: int) -> Iterator[tuple[str, float, float]]:
    """Yield seconds and the error of each way at one size."""
    data = comparison.prepare(size)
    seconds: dict[str, list[float]] = {}
    for way, work in comparison.ways.items():
        work(comparison.prepare(min(size, 10)))  # compiles
        seconds[way] = []
    for way, times in ROUNDS * list(seconds.items()):
        if not times or times[0] < LONG:
            timer = Timer(partial(comparison.ways[way], data))
            number, together = timer.autorange()
            times.append(together / number)
    for way, times in seconds.items():
        error = math.nan
        if comparison.error:
            error = comparison.error(data, comparison.ways[way](data))
        yield way, min(times) * SCALE.get((comparison.name, way), 1.0), error


def main() -> None:
    """Measure everything, print, and write when asked."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument(
        "--write", action="store_true", help="write tools/bench/results/compare.*"
    )
    write = arguments.parse_args().write
    rows = []
    for comparison in COMPARISONS:
        for size in comparison.sizes:
            for way, seconds, error in measure(comparison, size):
                rows.append(
                    (comparison.name, comparison.size, size, way, seconds, error)
                )
                print(*rows[-1], sep=", ", flush=True)
    table = pd.DataFrame(
        rows, columns=["comparison", "unit", "size", "way", "seconds", "error"]
    )
    if write:
        table.to_csv(RESULTS, index=False, float_format="%.4g", lineterminator="\n")
        RESULTS.with_suffix(".md").write_text(markdown(table), encoding="utf-8")


def markdown(table: pd.DataFrame) -> str:
    """Return the results as a page: a table for each comparison, times with their ratio
    to ours."""
    parts = [
        "# Against what people use today",
        f"Measured side by side in one run of `make bench` ({machine()}). Seconds are "
        "the best of many calls after a warm-up; in brackets how many times ours.",
    ]
    for comparison in COMPARISONS:
        rows = table[table["comparison"] == comparison.name]
        seconds = rows.pivot(index="size", columns="way", values="seconds")
        error = rows.pivot(index="size", columns="way", values="error")
        judged = list(comparison.ways) if comparison.error else []
        columns = [
            comparison.size,
            *(f"{way}, s" for way in comparison.ways),
            *(f"{way}, error" for way in judged),
        ]
        lines = [
            [
                f"{size:,}",
                *(_seconds(seconds.loc[size], way) for way in comparison.ways),
                *(f"{error.loc[size, way]:.1g}" for way in judged),
            ]
            for size in comparison.sizes
        ]
        parts += [
            f"## {comparison.name[0].upper()}{comparison.name[1:]}",
            markdown_table(columns, lines, ()),
        ]
        if comparison.remark:
            parts.append(comparison.remark)
    return "\n\n".join(parts) + "\n"


def _seconds(seconds: pd.Series, way: str) -> str:
    """Return the seconds of a way, with how many times ours they are."""
    if way == "ours":
        return f"{seconds[way]:.2g}"
    ratio = seconds[way] / seconds["ours"]
    digits = ",.0f" if ratio >= 10 else ".2g"
    return f"{seconds[way]:.2g} ({ratio:{digits}})"


if __name__ == "__main__":
    main()
