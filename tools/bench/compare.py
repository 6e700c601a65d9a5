"""Ours against what people use today, side by side in one run, errors beside seconds,
sizes growing a hundredfold.

`python -m tools.bench.compare` prints the table (about four minutes on two cores); with
`--write` it also goes to tools/bench/results/, as a page, as csv and as a log-log
figure, with a description of the machine. Every number is measured in a process of its
own, ours and the peers taking turns three times; seconds are the best of many calls
(three at least each time, one of a call above three seconds), after a warm-up; memory
is the growth of that process's peak.
"""

from __future__ import annotations

import argparse
import gc
import math
import multiprocessing
import os
import platform
import resource
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import optimize

from dpsim import dirichlet, figures, markov, mdp, streams, words
from dpsim.checks import Integers
from dpsim.ledger.table_formats import markdown_table
from release.tools.counting import count, write_trips

RESULTS = Path(__file__).parent / "results"
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
    from quantecon.markov import gth_solve

    return [gth_solve(chain) for chain in P]


def residual(P: np.ndarray, pi: Any) -> float:
    """Return the largest 1-norm of pi P - pi over the chains."""
    pi = np.asarray(pi)
    return float(np.abs(np.einsum("ci,cij->cj", pi, P) - pi).sum(axis=1).max())


def release_ours(count: int) -> np.ndarray:
    """Private chains and their stationary distributions, in chunks over the threads."""
    P = chains(1)[0]

    def work(size: int, rng: np.random.Generator) -> np.ndarray:
        return markov.stationary_distribution(
            dirichlet.dirichlet_mechanism(P, 60.0, size=size, rng=rng)
        )

    return np.concatenate(streams.in_chunks(work, count, 250, seed=1, name="benchmark"))


def release_floor(count: int) -> list[np.ndarray]:
    """The floor: the gammas drawn by numpy, one jitted GTH for each matrix, over the
    same threads."""
    from quantecon.markov import gth_solve

    parameters = 60.0 * chains(1)[0]

    def work(size: int, rng: np.random.Generator) -> Any:
        gammas = rng.standard_gamma(parameters, size=(size, STATES, STATES))
        gammas /= gammas.sum(axis=-1, keepdims=True)
        return [gth_solve(P) for P in gammas]

    return streams.in_chunks(work, count, 250, seed=1, name="benchmark")


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


def counted_by(method: str) -> Callable[[tempfile.TemporaryDirectory[str]], int]:
    """Return one way to count a folder of trips by origin and destination."""
    return lambda folder: count(method, Path(folder.name))


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
        "private chains and their stationary distributions",
        "private chains",
        [10, 100, 1000, 10_000],
        same,
        {"ours": release_ours, "floor": release_floor},
        remark=(
            "Floor: numpy draws the gammas and a jitted GTH solves each matrix, on as "
            "many threads."
        ),
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
            "ours": counted_by("dpsim"),
            "DuckDB's SQL": counted_by("duckdb"),
            "pandas": counted_by("pandas"),
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


def forgotten_peak() -> int:
    """Return the peak memory of this process in KiB, set back to what is in use now
    where the system can (Linux)."""
    gc.collect()
    forget = Path("/proc/self/clear_refs")
    if forget.exists():
        forget.write_text("5")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _measure(comparison: Comparison, way: str, size: int, pipe: Any) -> None:
    work = comparison.ways[way]
    work(comparison.prepare(min(size, 10)))  # compiles
    data = comparison.prepare(size)
    before = forgotten_peak()
    seconds: list[float] = []
    while len(seconds) < 3 or sum(seconds) < 0.5:
        start = perf_counter()
        answer = work(data)
        seconds.append(perf_counter() - start)
        if seconds[0] > LONG:
            break
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    pipe.send(
        (
            min(seconds),
            memory,
            math.nan if comparison.error is None else comparison.error(data, answer),
        )
    )


def measure(comparison: Comparison, way: str, size: int) -> tuple[float, float, float]:
    """Return seconds, MiB and the error of one way at one size, measured in a process
    of its own."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=_measure, args=(comparison, way, size, there))
    process.start()
    there.close()
    seconds, memory, error = here.recv()
    process.join()
    return seconds * SCALE.get((comparison.name, way), 1.0), memory, error


def machine() -> str:
    """Return a line that describes the machine."""
    processor = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(
            (line.split(": ")[1] for line in lines if line.startswith("model name")),
            processor,
        )
    return (
        f"{processor}, {streams.threads()} threads, {platform.system()}, Python "
        f"{platform.python_version()}"
    )


def main() -> None:
    """Measure everything, print, and write when asked."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument(
        "--write", action="store_true", help="write tools/bench/results/compare.*"
    )
    write = arguments.parse_args().write
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    rows = []
    for comparison in COMPARISONS:
        for size in comparison.sizes:
            found: dict[str, list[tuple[float, float, float]]] = {
                way: [] for way in comparison.ways
            }
            for _ in range(ROUNDS):
                for way, measured in found.items():
                    if not measured or measured[0][0] < LONG:
                        measured.append(measure(comparison, way, size))
            for way, measured in found.items():
                rows.append(
                    (comparison.name, comparison.size, size, way, *min(measured))
                )
                shown = "{0}, {2} {1}: {3} {4:.3g} s, {5:.0f} MiB, error {6:.1g}"
                print(shown.format(*rows[-1]), flush=True)
    table = pd.DataFrame(
        rows,
        columns=[
            "comparison",
            "unit",
            "size",
            "way",
            "seconds",
            "peak_growth_mib",
            "error",
        ],
    )
    if not write:
        return
    RESULTS.mkdir(exist_ok=True)
    table.to_csv(
        RESULTS / "compare.csv", index=False, float_format="%.4g", lineterminator="\n"
    )
    (RESULTS / "machine.txt").write_text(machine() + "\n", encoding="utf-8")
    (RESULTS / "compare.md").write_text(markdown(table), encoding="utf-8")
    draw(table)


def markdown(table: pd.DataFrame) -> str:
    """Return the results as a page: a table for each comparison, times with their ratio
    to ours, memory."""
    parts = [
        "# Against what people use today",
        f"Measured side by side in one run of `make bench` ({machine()}). Seconds are "
        "the best of many calls after a warm-up; in brackets how many times ours. "
        "MiB: growth of the peak memory of a process of its own.",
    ]
    for comparison in COMPARISONS:
        rows = table[table["comparison"] == comparison.name]
        seconds = rows.pivot(index="size", columns="way", values="seconds")
        memory = rows.pivot(index="size", columns="way", values="peak_growth_mib")
        error = rows.pivot(index="size", columns="way", values="error")
        ways = list(comparison.ways)
        judged = ways if comparison.error else []
        heads = ((ways, "s"), (judged, "error"), (ways, "MiB"))
        columns = [
            comparison.size,
            *(f"{way}, {head}" for among, head in heads for way in among),
        ]
        lines = []
        for size in comparison.sizes:
            own = float(seconds.loc[size, "ours"])
            times = [
                _seconds(float(seconds.loc[size, way]), own if way != "ours" else None)
                for way in ways
            ]
            errors = [f"{error.loc[size, way]:.1g}" for way in judged]
            lines += [
                [
                    f"{size:,}",
                    *times,
                    *errors,
                    *(f"{memory.loc[size, way]:.0f}" for way in ways),
                ]
            ]
        parts += [
            f"## {comparison.name[0].upper()}{comparison.name[1:]}",
            markdown_table(columns, lines, ()),
        ]
        if comparison.remark:
            parts.append(comparison.remark)
    return "\n\n".join(parts) + "\n"


def _seconds(seconds: float, ours: float | None) -> str:
    """Return the seconds, with how many times ours they are."""
    if ours is None:
        return f"{seconds:.2g}"
    ratio = seconds / ours
    digits = ",.0f" if ratio >= 10 else ".2g"
    return f"{seconds:.2g} ({ratio:{digits}})"


def draw(table: pd.DataFrame) -> None:
    """Draw seconds against size, a panel for each comparison."""
    figures.style()
    fig, grid = plt.subplots(
        math.ceil(len(COMPARISONS) / 2),
        2,
        figsize=figures.size(2, 8.0),
        layout="constrained",
    )
    axes = grid.flat
    colours = [figures.OURS, figures.TRUE, figures.OTHER]
    for ax, comparison in zip(axes, COMPARISONS):
        part = table[table["comparison"] == comparison.name]
        for way, colour in zip(comparison.ways, colours):
            own = part[part["way"] == way]
            ax.loglog(own["size"], own["seconds"], "o-", ms=3, color=colour, label=way)
        ax.set(
            xlabel=comparison.size,
            ylim=(part["seconds"].min() / 3, part["seconds"].max() * 30),
        )
        ax.set_xticks(comparison.sizes, [f"{size:,}" for size in comparison.sizes])
        ax.minorticks_off()
        ax.set_title(textwrap.fill(comparison.name, 30))
        ax.legend(loc="upper left", borderpad=0, handlelength=1.2)
    for ax in grid[:, 0]:
        ax.set_ylabel("seconds")
    fig.savefig(RESULTS / "compare.png", metadata={"Software": None})


if __name__ == "__main__":
    main()
