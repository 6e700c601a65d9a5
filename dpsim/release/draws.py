"""The integer noise of a release: OpenDP's exact samplers for real ones, numpy's generators for simulations."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsim import checks, streams
from dpsim.accounting.units import LAPLACE, Noise

Integers = NDArray[np.int64]

LARGEST_COUNT = 2**53
_CHUNK = 50_000  # counts that go to OpenDP at a time, so that lists of Python integers stay small
_TABLED = 1_000.0  # sigma up to which simulated Gaussian noise is drawn from its law, beyond which it is rounded


def noisy_counts(counts: ArrayLike, noise: Noise, rng: np.random.Generator | None = None) -> Integers:
    """Return the counts plus independent noise, which may make them negative.

    Parameters
    ----------
    counts : (cells,) integers from 0 to 2^53
    noise : Noise
    rng : numpy.random.Generator, optional
        For a simulation. None: OpenDP's samplers, exact for the rational number that the scale is.

    Notes
    -----
    OpenDP takes its bits from OpenSSL's generator, which every thread has of its own, with a key from the operating
    system (NIST SP 800-90A). So chunks drawn at the same time in several threads share no state; processes would add
    nothing, as the samplers hold no lock while they draw (tools/bench/results/release_scale.csv has the times).
    """
    values = checks.integers("counts", counts, 0, LARGEST_COUNT)
    if rng is not None:
        return values + _simulated(noise, values.size, checks.generator(rng))
    sampler = _sampler(noise)
    noisy = np.empty(values.size, dtype=np.int64)

    def fill(start: int) -> None:
        part = slice(start, start + _CHUNK)
        noisy[part] = sampler(values[part].tolist())

    with ThreadPoolExecutor(streams.threads()) as pool:  # the samplers release Python's lock
        list(pool.map(fill, range(0, values.size, _CHUNK)))
    return noisy


def _sampler(noise: Noise):  # type: ignore[no-untyped-def]
    """Return OpenDP's exact sampler of this noise, on vectors."""
    import opendp.prelude as dp  # half a second to import, and only real releases need it

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if noise.mechanism == LAPLACE:
        return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=noise.scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T="i64"), scale=noise.scale)


def _simulated(noise: Noise, size: int, rng: np.random.Generator) -> Integers:
    """Return noise in double precision from a seed, for simulations alone: quick, and not exact."""
    if noise.mechanism == LAPLACE:
        p = -np.expm1(-1.0 / noise.scale)
        return rng.geometric(p, size) - rng.geometric(p, size)
    if noise.scale > _TABLED:
        return np.rint(rng.normal(0.0, noise.scale, size)).astype(np.int64)
    reach = int(np.ceil(40.0 * noise.scale)) + 1
    law = np.exp(-0.5 * (np.arange(-reach, reach + 1) / noise.scale) ** 2)
    cumulative = np.cumsum(law)
    drawn = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
    return drawn.astype(np.int64) - reach
