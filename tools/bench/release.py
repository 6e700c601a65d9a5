"""Releases at scale, and the audit in full.

python tools/bench/release.py --states 100000 --events 5000000   # under 60 s and 2 GiB on two cores
python tools/bench/release.py --cost                             # cost against n and the allowed transitions
python tools/bench/release.py --audit --pairs 1000               # never above the claim, a fault is found
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from dpsim import accounting, datasets, markov, release
from dpsim.accounting import units

RISK = 1e-6


def graph_and_events(states: int, out: int, total: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a public graph, `out` destinations a state and irreducible, and events on it."""
    rng = np.random.default_rng(seed)
    steps = np.append(1, rng.choice(np.arange(2, states), out - 1, replace=False))
    ends = (np.arange(states)[:, None] + steps) % states
    graph = pd.DataFrame({"origin": np.repeat(np.arange(states), out), "destination": ends.ravel()})
    start = rng.integers(0, states, total)
    return graph, pd.DataFrame({"origin": start, "destination": ends[start, rng.integers(0, out, total)]})


def at_scale(states: int, out: int, total: int) -> None:
    """Print what each step takes, and what the release is worth."""
    graph, table = graph_and_events(states, out, total, 1)
    start = time.perf_counter()
    steps: dict[str, float] = {}

    def lap(name: str) -> None:
        steps[name] = time.perf_counter() - start - sum(steps.values())

    trips = datasets.count_transitions(table, "origin", "destination", categories=range(states))
    del table
    lap("count")
    chain = release.release_chain(trips, graph=graph, categories=range(states), epsilon=1.0, delta=1e-6)
    lap("release")
    pi = chain.stationary()
    lap("stationary")
    markov.random_walk(chain.matrix, 0, 1000, size=1000)
    lap("1,000 walks of 1,000")
    with tempfile.TemporaryDirectory() as folder:
        release.write_release(chain, Path(folder) / "out", trips)
        lap("write and compare")
    seconds, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(f"{states:,} states, {len(graph):,} allowed transitions, {total:,} events: {seconds:.1f} s, {peak:.0f} MiB")
    print("    " + ", ".join(f"{name} {took:.1f} s" for name, took in steps.items()))
    owner = release.owner_utility(chain, trips, pi)
    s = chain.statement
    print(f"    mean row error {owner['mean_row_total_variation']:.3f} (bound {s['mean_row_error_bound']:.3f}), "
          f"a row needs {s['events_in_a_row_for_error_0.1']:,} events for 0.1")  # fmt: skip


def adjacent_rows(pairs: int, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Return random rows (pairs, d) of 1 to 6 events, and each with one event moved."""
    rng = np.random.default_rng(7)
    rows = np.array([rng.multinomial(rng.integers(1, 7), np.full(d, 1 / d)) for _ in range(pairs)])
    others = rows.copy()
    for row in others:
        taken = rng.choice(np.flatnonzero(row))
        row[taken] -= 1
        row[(taken + rng.integers(1, d)) % d] += 1
    return rows, others


def bounds(epsilon: float, delta: float, draws: int, pairs: int, factor: float) -> tuple[int, float]:
    """Return how many of the pairs exceed the claim, and the lower bound of their mean, wrong with probability RISK."""
    honest = accounting.plan

    def broken(*a: Any, **k: Any) -> accounting.Plan:
        plan = honest(*a, **k)
        return plan._replace(kappa=factor * plan.kappa)

    rows, others = adjacent_rows(pairs)
    exceeded, hits = 0, np.zeros(2)
    for block in range(0, pairs, 10):
        sides = rows[block : block + 10], others[block : block + 10]
        claim = honest(epsilon, delta, rows.shape[1], sides[0].sum(axis=1))
        settings = {"epsilon": epsilon, "alpha": claim.alpha, "kappa": claim.kappa}
        with mock.patch.object(units, "plan", broken):
            drawn = [
                release.released_rows(side, draws, epsilon=epsilon, delta=delta, seed=2 * block + i)[0]
                for i, side in enumerate(sides)
            ]
        seen = np.array([release.telling(x, *sides, **settings).sum(axis=0) for x in drawn])
        each, _ = accounting.delta_bounds(epsilon, *seen, draws, RISK / (pairs + 1) / 2)
        exceeded, hits = exceeded + int((each > delta).sum()), hits + seen.sum(axis=1)
    return exceeded, float(accounting.delta_bounds(epsilon, *hits, draws * pairs, RISK / (pairs + 1) / 2)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=100_000)
    parser.add_argument("--out", type=int, default=50, help="allowed destinations of a state")
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--audit", action="store_true")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=10_000, help="draws of each side of a pair")
    arguments = parser.parse_args()
    if arguments.audit:
        for epsilon, delta in ((0.25, 0.2), (0.5, 0.05), (1.0, 0.02), (2.0, 0.01)):
            for factor in (1.0, 1.2):
                exceeded, pooled = bounds(epsilon, delta, arguments.draws, arguments.pairs, factor)
                verdict = "caught" if exceeded or pooled > delta else "not exceeded"
                print(f"epsilon {epsilon}, claimed delta {delta}, kappa x {factor}: {exceeded} of "
                      f"{arguments.pairs} pairs above, pooled lower bound {pooled:.4f}: {verdict}")  # fmt: skip
    elif arguments.cost:
        for states, out in ((1_000, 50), (10_000, 50), (100_000, 50), (100_000, 10)):
            at_scale(states, out, 50 * states)
    else:
        at_scale(arguments.states, arguments.out, arguments.events)


if __name__ == "__main__":
    main()
