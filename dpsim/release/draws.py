"""Noisy counts, sampled exactly by OpenDP or, in a simulation, by numpy."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks, streams
from dpsim.checks import Integers
from dpsim.release.noise import Noise

LARGEST_COUNT = 2**53
_CHUNK = 50_000  # the number of counts that OpenDP gets at a time, so that the lists of Python integers stay small


def noisy_counts(
    counts: ArrayLike,
    noise: Noise,
    rng: np.random.Generator | None = None,
    *,
    events: int = 1,
) -> Integers:
    """Return the counts with independent noise added to each, which may be negative.

    Parameters
    ----------
    counts : (cells,) integers, each from 0 to 2^53
    noise : Noise
    rng : Generator, optional
        A generator for a simulation. With None, the noise is sampled by OpenDP, and its
        distribution is exact because the scale is a rational number. The random bits
        come from OpenSSL's generator, whose key comes from the operating system (NIST
        SP 800-90A). Every thread has a generator of its own, so threads that sample at
        the same time share no state. Processes would not be faster than threads,
        because the sampler holds no lock while it samples
        (tools/bench/results/release_scale.csv has the times).
    events : int
        The most by which a unit may change the sum of the counts. If the loss that
        OpenDP states for such a change is larger than the epsilon of the noise,
        ValueError is raised and nothing is sampled.

    Examples
    --------
    >>> from dpsim.release.noise import laplace_noise
    >>> noisy_counts([500, 0, 3], laplace_noise(1.0), np.random.default_rng(1)).tolist()
    [498, 3, 3]
    """
    values, events = (
        checks.integers("counts", counts, 0, LARGEST_COUNT),
        checks.integer("events", events, 1),
    )
    if rng is not None:
        rng = checks.generator(rng)
        p = -np.expm1(
            -1.0 / noise.scale
        )  # in double precision, which is quick but not exact
        return values + (rng.geometric(p, values.size) - rng.geometric(p, values.size))
    import opendp.prelude as dp  # the import takes half a second, and only a real release needs it

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    sampler = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=noise.scale)
    if not (loss := sampler.map(events)) <= noise.epsilon:
        raise ValueError(
            f"noise must lose epsilon {noise.epsilon!r} at most for {events} events, and would lose {loss!r}"
        )
    parts = np.array_split(values, values.size // _CHUNK + 1)
    with ThreadPoolExecutor(streams.threads()) as pool:
        return np.concatenate(
            list(
                pool.map(
                    lambda part: np.array(sampler(part.tolist()), dtype=np.int64), parts
                )
            )
        )
