"""The integer noise of a release: OpenDP's exact sampler for real ones, numpy's generators for simulations."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks, streams
from dpsim.checks import Integers
from dpsim.release.noise import Noise

LARGEST_COUNT = 2**53
_CHUNK = 50_000  # counts that go to OpenDP at a time, so that lists of Python integers stay small


def noisy_counts(counts: ArrayLike, noise: Noise, rng: np.random.Generator | None = None) -> Integers:
    """Return the counts (cells,), from 0 to 2^53, plus independent noise, which may make them negative.

    rng: for a simulation. None: OpenDP's sampler, exact for the rational number that the scale is. Its bits come from
    OpenSSL's generator, which every thread has of its own, with a key from the operating system (NIST SP 800-90A): so
    chunks drawn at once in several threads share no state. Processes would add nothing, as the sampler holds no lock
    while it draws (tools/bench/results/release_scale.csv has the times).

    >>> from dpsim.release.noise import laplace_noise
    >>> noisy_counts([500, 0, 3], laplace_noise(1.0), np.random.default_rng(1)).tolist()
    [498, 3, 3]
    """
    values = checks.integers("counts", counts, 0, LARGEST_COUNT)
    if rng is not None:
        rng = checks.generator(rng)
        p = -np.expm1(-1.0 / noise.scale)  # in double precision, for simulations alone: quick, and not exact
        return values + (rng.geometric(p, values.size) - rng.geometric(p, values.size))
    import opendp.prelude as dp  # half a second to import, and only real releases need it

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    sampler = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=noise.scale)
    parts = np.array_split(values, values.size // _CHUNK + 1)
    with ThreadPoolExecutor(streams.threads()) as pool:
        return np.concatenate(list(pool.map(lambda part: np.array(sampler(part.tolist()), dtype=np.int64), parts)))
