"""Noisy counts, sampled exactly by OpenDP or, in a simulation, approximately by
numpy."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks, streams
from dpsim.checks import Integers
from dpsim_release.noise import Noise

LARGEST_COUNT = 2**53
_CHUNK = 50_000  # counts at a time, so that the lists of Python integers stay small


def noisy_counts(
    counts: ArrayLike,
    noise: Noise,
    rng: np.random.Generator | None = None,
    *,
    events: int = 1,
) -> Integers:
    """Return the counts with independent noise added to each; the results may be
    negative.

    Parameters
    ----------
    counts : (cells,) integers, each from 0 to 2^53
    noise : Noise
    rng : Generator, optional
        A generator for a simulation. If None, OpenDP samples the noise, whose
        distribution is exact because the scale is a rational number. The random bits
        come from OpenSSL's generator, whose key comes from the operating system (NIST
        SP 800-90A). Every thread has a generator of its own, so threads that sample at
        the same time share no state. Processes would not be faster than threads,
        because the sampler holds no lock while it samples
        (release/tools/results/release_scale.csv lists the times).
    events : int
        The largest change that one unit can make to the sum of the counts. If the loss
        that OpenDP states for such a change is larger than the epsilon of the noise,
        ValueError is raised and nothing is sampled.

    Examples
    --------
    >>> from dpsim_release.noise import laplace_noise
    >>> noisy_counts([500, 0, 3], laplace_noise(1.0), np.random.default_rng(1)).tolist()
    [498, 3, 3]
    """
    values = checks.integers("counts", counts, 0, LARGEST_COUNT)
    events = checks.integer("events", events, 1)
    if rng is not None:
        rng = checks.generator(rng)
        # in double precision, which is quick but not exact
        p = -np.expm1(-1.0 / noise.scale)
        return values + (rng.geometric(p, values.size) - rng.geometric(p, values.size))
    # the import takes half a second, and only a real release needs it
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    sampler = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=noise.scale)
    loss = sampler.map(events)
    if not loss <= noise.epsilon:
        raise ValueError(
            f"noise must have an epsilon of at most {noise.epsilon!r} for {events} "
            f"events, got {loss!r}"
        )

    def add_noise(part: Integers) -> Integers:
        return np.array(sampler(part.tolist()), dtype=np.int64)

    parts = np.array_split(values, values.size // _CHUNK + 1)
    with ThreadPoolExecutor(streams.threads()) as pool:
        return np.concatenate(list(pool.map(add_noise, parts)))
