"""Speed and memory of the Boltzmann machine mechanism: `python tools/bench/boltzmann.py`, by hand.

Each row is the best of three runs after one that compiles; memory is the growth of the peak during its runs.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from dpsim import boltzmann

X = np.array([1, 2, 3, 20, 24])
LARGE = np.random.default_rng(7).multinomial(100_000, np.random.default_rng(8).dirichlet(np.ones(100)))


def enumerated_draws(size: int) -> np.ndarray:
    """The plain way to draw from the limit: list all 316,251 histograms, then draw one by its probability."""
    law = np.exp(boltzmann.log_stationary(X, 10.0))
    rows = np.random.default_rng(3).choice(law.size, size, p=law / law.sum())
    return boltzmann.configurations(50, 5)[rows]


def numpy_chain(steps: int) -> np.ndarray:
    """The plain way to run a chain: one Python step after another."""
    rng = np.random.default_rng(4)
    z = X.copy()
    for _ in range(steps):
        i, j = rng.permutation(5)[:2]
        if z[i] == 0:
            continue
        change = -2 * (z[j] - X[j]) + 2 * (z[i] - X[i]) - 2
        if change >= 0 or rng.random() < np.exp(change / 10.0):
            z[i] -= 1
            z[j] += 1
    return z


def rows() -> list[tuple[str, str, Callable[[], object]]]:
    """Return what is measured: name, size, call."""
    rng = np.random.default_rng(1)
    return [
        ("metropolis", "30 chains x 5,000 steps", lambda: boltzmann.metropolis(X, 10.0, 5000, chains=30, rng=rng)),
        ("running_objective", "60 x 5,000", lambda: boltzmann.running_objective(X, 50.0, 5000, chains=60, rng=rng)),
        ("plain Python chain", "1 chain x 5,000 steps", lambda: numpy_chain(5000)),
        ("sample_exact", "10,000 draws, N 50, n 5", lambda: boltzmann.sample_exact(X, 10.0, size=10_000, rng=rng)),
        ("enumeration and choice", "10,000 draws, N 50, n 5", lambda: enumerated_draws(10_000)),
        ("sample_exact", "1,000 draws, N 100,000, n 100, t 10", lambda: boltzmann.sample_exact(LARGE, 10.0, size=1000)),
        ("sample_exact", "1,000 draws, N 100,000, n 100, t 1e6", lambda: boltzmann.sample_exact(LARGE, 1e6, size=1000)),
        ("mixing_bound", "N 50, n 5, 5,000 steps", lambda: boltzmann.mixing_bound(50, 5, 10.0, 5000, 39.6)),
        ("configurations", "316,251 histograms", lambda: boltzmann.configurations(50, 5)),
        ("exact_epsilon_limit", "316,251 histograms", lambda: boltzmann.exact_epsilon_limit(50, 5, 10.0)),
        ("epsilon_at_delta", "316,251 histograms", lambda: boltzmann.epsilon_at_delta(50, 5, 10.0, 1e-6)),
    ]


def measure(call: Callable[[], object]) -> tuple[float, float]:
    """Return the best seconds of three calls, and by how many MiB the peak of this process grew."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:]), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


if __name__ == "__main__":
    table = [(name, size, *measure(call)) for name, size, call in rows()]
    print(pd.DataFrame(table, columns=["what", "size", "seconds", "peak_growth_MiB"]).round(4).to_string(index=False))
