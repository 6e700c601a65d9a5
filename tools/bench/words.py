"""Private words, measured: seconds per 1,000 words against their length and the number of states.

    python tools/bench/words.py [--output timings.csv]

Each time includes building the automaton, and is the best of three; compilation is not counted. The baseline
scores every word, so its cost grows as m**n.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike

from dpsim import datasets, words
from dpsim.checks import Integers

EPSILON = 3.0


def seconds(work: Callable[[], object]) -> float:
    """The best of three runs after one that compiles."""
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times[1:])


def private(word: ArrayLike, mechanism: str, size: int, **where: Any) -> Integers:
    """Return private words with a fixed seed; where: the arguments that name the space of words."""
    rng, automaton = np.random.default_rng(1), words.HammingAutomaton(word, **where)
    distances = words.laws.drawn(words.laws.Law(mechanism, EPSILON, 1), automaton.log_counts, (size,), rng)
    return automaton.sample(distances, rng)


def enumerated(word: Integers, m: int, size: int) -> list[Integers]:
    """Permute-and-flip by noise on the score of every word of the alphabet."""
    rng = np.random.default_rng(1)
    every = np.array(list(itertools.product(range(m), repeat=len(word))))
    score = -EPSILON / 2 * (every != word).sum(axis=1)
    return [every[np.argmax(score + rng.standard_exponential(len(every)))] for _ in range(size)]


def random_walk(adjacency: Any, start: int, length: int) -> Integers:
    """Return a word of the graph, each letter a uniform successor of the one before."""
    rng = np.random.default_rng(2)
    rows = sp.csr_array(adjacency)
    states = [start]
    for _ in range(length):
        states.append(int(rng.choice(rows.indices[rows.indptr[states[-1]] : rows.indptr[states[-1] + 1]])))
    return np.array(states[1:])


def sparse_chain(states: int, successors: int = 5) -> sp.csr_array:
    """Return a random graph in which each state has a few successors."""
    rng = np.random.default_rng(3)
    rows = np.repeat(np.arange(states), successors)
    columns = (rows + rng.integers(1, states, rows.size)) % states
    return sp.csr_array((np.ones(rows.size), (rows, columns)), shape=(states, states))


def measure() -> pd.DataFrame:
    """Return the table of seconds."""
    found = []

    def add(what: str, mechanism: str, length: int, states: int, size: int, work: Callable[[], object]) -> None:
        found.append((what, mechanism, length, states, size, seconds(work)))
        print(
            f"{what:12} {mechanism:18} n {length:5}  states {states:6}  {size} words  {found[-1][-1]:.4f} s", flush=True
        )

    roads = datasets.load_gainesville()
    where: dict[str, Any] = {"adjacency": roads.adjacency, "start": int(roads.trip[0])}
    flip = "permute-and-flip"
    draw = partial(private, mechanism=flip)
    add("trip", flip, 14, 43, 2000, partial(draw, roads.trip[1:], size=2000, **where))
    for length in (14, 50, 100, 300):
        word = random_walk(roads.adjacency, where["start"], length)
        add("length", flip, length, 43, 1000, partial(draw, word, size=1000, **where))
    for states in (100, 1000, 10_000):
        chain = sparse_chain(states)
        word = random_walk(chain, 0, 14)
        add("states", flip, 14, states, 1000, partial(draw, word, size=1000, adjacency=chain, start=0))
    for length in (4, 6, 8, 10):
        word = np.zeros(length, dtype=int)
        add("enumeration", flip, length, 3, 1000, partial(enumerated, word, m=3, size=1000))
        add("automaton", flip, length, 3, 1000, partial(private, word, mechanism=flip, size=1000, letters=3))
    columns = ["what", "mechanism", "length", "states", "words", "seconds"]
    return pd.DataFrame(found, columns=columns)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default="", help="a csv file for the measured seconds")
    output = parser.parse_args().output
    table = measure()
    for mechanism, part in table[table.what == "length"].groupby("mechanism"):
        long = part[part.length >= 100]
        power = np.polyfit(np.log(long.length), np.log(long.seconds), 1)[0]
        print(f"{mechanism}: seconds grow as length ** {power:.2f} from 100 letters on")
    if output:
        table.to_csv(output, index=False, lineterminator="\n")
