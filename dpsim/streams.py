"""Random streams that depend on the seed and the figure alone, never on workers, threads or other figures."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from dpsim import checks

Result = TypeVar("Result")


def stream(seed: int, name: str, chunk: int = 0) -> np.random.Generator:
    """Return the generator of one chunk of one figure: SeedSequence(seed, spawn_key=(crc32(name), chunk)).

    seed: integer >= 0; name: the figure's name; chunk: integer >= 0. Raises ValueError outside these ranges, TypeError
    for a name that is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {name!r}")
    seed = checks.integer("seed", seed, 0)
    chunk = checks.integer("chunk", chunk, 0)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()), chunk)))


def private() -> np.random.Generator:
    """Return a generator that nobody can predict: ChaCha20 with a new key of 256 bits from the operating system."""
    import randomgen  # a release draws from it, a figure does not

    return np.random.Generator(randomgen.ChaCha(key=int.from_bytes(os.urandom(32), "little"), rounds=20))


def threads() -> int:
    """Return how many threads this process may use: OMP_NUM_THREADS when set, else the cores it may run on."""
    setting = os.environ.get("OMP_NUM_THREADS", "")
    if setting.isdigit() and int(setting) > 0:
        return int(setting)
    affinity = getattr(os, "sched_getaffinity", None)  # Linux alone has it
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def in_chunks(
    work: Callable[[int, np.random.Generator], Result], total: int, chunk: int, *, seed: int, name: str
) -> list[Result]:
    """Return work(size, rng) for each chunk of a sample of `total`, in order, over the available threads.

    Chunk i has `chunk` draws (the last one what is left) and the stream (seed, name, i), so the results do not
    depend on the number of threads. Raises ValueError unless total >= 0 and chunk >= 1.
    """
    stream(seed, name)  # refuses what is no seed or name, where there is nothing to draw too
    total = checks.integer("total", total, 0)
    chunk = checks.integer("chunk", chunk, 1)
    sizes = [min(chunk, total - start) for start in range(0, total, chunk)]
    with ThreadPoolExecutor(threads()) as pool:
        return list(pool.map(lambda i: work(sizes[i], stream(seed, name, i)), range(len(sizes))))
