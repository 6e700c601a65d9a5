"""Random streams that depend only on the seed and the figure, not on workers, threads or other figures."""

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
    """Return the generator of one chunk of one figure, made from SeedSequence(seed, spawn_key=(crc32(name), chunk)).

    Raises ValueError unless the seed and the chunk are integers of at least 0, and TypeError unless the name, which is
    the name of the figure, is a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {name!r}")
    seed = checks.integer("seed", seed, 0)
    chunk = checks.integer("chunk", chunk, 0)
    return np.random.default_rng(
        np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()), chunk))
    )


def private() -> np.random.Generator:
    """Return a generator that nobody can predict: ChaCha20 with a new key of 256 bits from the operating system."""
    import randomgen  # only a release needs it

    return np.random.Generator(
        randomgen.ChaCha(key=int.from_bytes(os.urandom(32), "little"), rounds=20)
    )


def threads() -> int:
    """Return how many threads this process may use: OMP_NUM_THREADS if it is set, otherwise the number of its cores."""
    setting = os.environ.get("OMP_NUM_THREADS", "")
    return int(setting) if setting.isdigit() and int(setting) > 0 else cores()


def cores() -> int:
    """Return how many cores this process may run on."""
    affinity = getattr(os, "sched_getaffinity", None)  # only Linux has it
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def in_chunks(
    work: Callable[[int, np.random.Generator], Result],
    total: int,
    chunk: int,
    *,
    seed: int,
    name: str,
) -> list[Result]:
    """Return work(size, rng) for each chunk of a sample of `total`, in order, on all available threads.

    Chunk i has `chunk` draws, and the last chunk has the remaining ones. Each chunk uses the stream (seed, name, i), so
    the results do not depend on the number of threads. Raises ValueError unless total >= 0 and chunk >= 1.
    """
    stream(
        seed, name
    )  # refuses a wrong seed or name even when there is nothing to draw
    total = checks.integer("total", total, 0)
    chunk = checks.integer("chunk", chunk, 1)
    sizes = [min(chunk, total - start) for start in range(0, total, chunk)]
    with ThreadPoolExecutor(threads()) as pool:
        return list(
            pool.map(lambda i: work(sizes[i], stream(seed, name, i)), range(len(sizes)))
        )
