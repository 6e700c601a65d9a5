"""Random streams that do not depend on the number of workers or threads."""

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
    """Return the generator for one chunk of the sample behind a figure.

    It is made from SeedSequence(seed, spawn_key=(crc32(name), chunk)), so that adding a
    figure changes no other figure. The seed and the chunk are integers of at least 0,
    and the name, usually that of the figure, is a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {name!r}")
    seed = checks.integer("seed", seed, 0, None)
    chunk = checks.integer("chunk", chunk, 0)
    return np.random.default_rng(
        np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()), chunk))
    )


def private() -> np.random.Generator:
    """Return a generator that nobody can predict.

    It is ChaCha20 with a new key of 256 bits from the operating system.
    """
    import randomgen  # here, because only a release needs it

    return np.random.Generator(
        randomgen.ChaCha(key=int.from_bytes(os.urandom(32), "little"), rounds=20)
    )


def threads() -> int:
    """Return how many threads this process may use.

    It is OMP_NUM_THREADS if that is set, and otherwise the number of cores.
    """
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
    """Return work(size, rng) for each chunk of a sample of size `total`, in order.

    Every chunk has `chunk` elements, except the last one, which holds the rest. Chunk i
    uses stream(seed, name, i), so the results do not depend on the number of threads on
    which the chunks are computed.

    Returns
    -------
    list
        The results, one for each chunk.
    """
    stream(seed, name)  # checks both, even if total is 0
    total = checks.integer("total", total, 0)
    chunk = checks.integer("chunk", chunk, 1)
    sizes = [min(chunk, total - start) for start in range(0, total, chunk)]
    with ThreadPoolExecutor(threads()) as pool:
        return list(
            pool.map(lambda i: work(sizes[i], stream(seed, name, i)), range(len(sizes)))
        )
