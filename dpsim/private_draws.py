"""The randomness of a release: from the operating system for real ones, from a seed for simulations.

Gammas come from Marsaglia and Tsang's rejection in logarithms, discrete Laplace noise and thresholds from OpenDP.
They are floats: the proofs of privacy are about real numbers, and nothing here defends against an attack that reads
the last bits of a double (Mironov 2012). OpenDP's integers have no such gap.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from dpsim import checks, streams
from dpsim.checks import Array

Integers = NDArray[np.int64]

_CHUNK = 1 << 20  # numbers drawn at a time, so that memory stays bounded
_LARGEST_THRESHOLD = 1 << 40


class Source:
    """Uniform numbers in (0, 1]: from the operating system's entropy (seed None), or a seed for simulations."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = None if seed is None else checks.integer("seed", seed, 0)
        self.generator = None if seed is None else streams.stream(self.seed or 0, "release")

    @property
    def name(self) -> str:
        """What the release says of its randomness."""
        return "operating system" if self.seed is None else f"seed {self.seed}"

    def uniform(self, size: int) -> Array:
        """Return `size` multiples of 2^-53 moved to the middle of their cells and rounded: never 0."""
        if self.generator is not None:
            bits = self.generator.integers(0, 1 << 53, size, dtype=np.uint64)
        else:
            bits = np.frombuffer(os.urandom(8 * size), dtype="<u8") >> np.uint64(11)
        return (bits.astype(np.float64) + 0.5) * 2.0**-53

    def normal(self, size: int) -> Array:
        """Return `size` standard normal numbers, by inversion of 53 bits; beyond 8.2 none occur."""
        return ndtri(np.minimum(self.uniform(size), 1.0 - 2.0**-53))


def log_gamma(shape: ArrayLike, source: Source) -> Array:
    """Return logarithms of independent Gamma(shape) draws, shape > 0 of any array shape.

    Source: Marsaglia and Tsang 2000; below 1, G(a) = G(a + 1) U^(1/a).
    """
    shapes = checks.real("shape", shape, 0.0, open_low=True)
    flat = shapes.ravel()
    parts = [_log_gamma(flat[i : i + _CHUNK], source) for i in range(0, flat.size, _CHUNK)]
    return np.concatenate(parts).reshape(shapes.shape) if parts else np.empty(shapes.shape)


def _log_gamma(shape: Array, source: Source) -> Array:
    small = np.flatnonzero(shape < 1.0)
    d = shape - 1.0 / 3.0
    d[small] += 1.0
    c = 1.0 / np.sqrt(9.0 * d)
    out = np.empty(shape.size)
    left = np.arange(shape.size)
    while left.size:
        x = source.normal(left.size)
        root = 1.0 + c[left] * x
        log_v = 3.0 * np.log(np.maximum(root, 1e-300))
        bound = 0.5 * x * x + d[left] * (1.0 - np.exp(log_v) + log_v)
        taken = (root > 0.0) & (np.log(source.uniform(left.size)) < bound)
        out[left[taken]] = np.log(d[left[taken]]) + log_v[taken]
        left = left[~taken]
    if small.size:
        out[small] += np.log(source.uniform(small.size)) / shape[small]
    return out


def dirichlet_rows(parameters: Array, indptr: Integers, source: Source) -> Array:
    """Return one Dirichlet draw for each row of csr data (indptr, no empty row), aligned with the parameters."""
    logs = log_gamma(parameters, source)
    lengths = np.diff(indptr)
    draws = np.exp(logs - np.repeat(np.maximum.reduceat(logs, indptr[:-1]), lengths))
    draws /= np.repeat(np.add.reduceat(draws, indptr[:-1]), lengths)
    return draws


def noisy_totals(totals: ArrayLike, epsilon: float, sensitivity: int, source: Source) -> tuple[Integers, float]:
    """Return totals with discrete Laplace noise, at least 0, and the epsilon spent (at most the one asked for).

    One unit changes the totals by at most `sensitivity` in 1-norm. OpenDP draws the noise and accounts for it;
    with a seed numpy draws from the same law instead.
    """
    dp = _opendp()
    epsilon = checks.scalar("epsilon", epsilon, 0.0, open_low=True)
    scale = float(np.nextafter(checks.integer("sensitivity", sensitivity, 1) / epsilon * (1.0 + 1e-12), np.inf))
    whole = np.asarray(totals, dtype=np.int64)
    measure = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=scale)
    noisy = measure(whole.tolist()) if source.generator is None else whole + _simulated_noise(scale, whole.size, source)
    return np.maximum(np.asarray(noisy, dtype=np.int64), 0), float(measure.map(sensitivity))


def chosen_labels(
    counts: Mapping[str, int], epsilon: float, delta: float, sensitivities: tuple[int, int, int], source: Source
) -> tuple[list[str], int, float, float]:
    """Return the labels whose noisy count passes a threshold, the threshold, and the epsilon and delta spent.

    sensitivities: how many counts one unit changes, by how much in sum, by how much at most. OpenDP's thresholded
    discrete Laplace mechanism (Rogers 2023): the noise costs epsilon, a label that occurs in one unit alone delta.
    The threshold is the smallest whole number whose delta is allowed. With a seed numpy draws from the same law.
    """
    dp = _opendp()
    epsilon = checks.scalar("epsilon", epsilon, 0.0, open_low=True)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    scale = float(np.nextafter(sensitivities[1] / epsilon * (1.0 + 1e-12), np.inf))
    space = (
        dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="i64")),
        dp.l01inf_distance(dp.absolute_distance(T="i64")),
    )

    def measure(threshold: int) -> Any:
        return dp.m.make_laplace_threshold(*space, scale=scale, threshold=threshold)

    low, high = sensitivities[2], _LARGEST_THRESHOLD
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if measure(middle).map(sensitivities)[1] <= delta else (middle, high)
    spent = measure(high).map(sensitivities)
    if source.generator is None:
        kept = measure(high)(dict(counts))
    else:
        noise = _simulated_noise(scale, len(counts), source)
        kept = [label for (label, count), z in zip(sorted(counts.items()), noise.tolist()) if count + z >= high]
    return sorted(kept), high, float(spent[0]), float(spent[1])


def _simulated_noise(scale: float, size: int, source: Source) -> Integers:
    p = -np.expm1(-1.0 / scale)
    assert source.generator is not None
    return source.generator.geometric(p, size) - source.generator.geometric(p, size)


def _opendp() -> Any:
    import opendp.prelude as dp  # half a second to import, and only releases need it

    dp.enable_features("contrib")
    return dp
