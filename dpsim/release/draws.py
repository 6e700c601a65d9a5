"""The randomness of a release: from the operating system for real ones, from a seed for simulations.

Gammas come from Marsaglia and Tsang's rejection in logarithms, discrete Laplace noise from OpenDP.
They are floats: the proofs of privacy are about real numbers, and nothing here defends against an attack that reads
the last bits of a double (Mironov 2012). OpenDP's integers have no such gap.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from dpsim import checks, streams
from dpsim.checks import Array

Integers = NDArray[np.int64]

_CHUNK = 1 << 20  # numbers drawn at a time, so that memory stays bounded


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

    totals: integers in 0..2^53; epsilon >= 1e-9. One unit changes the totals by at most `sensitivity` in 1-norm.
    """
    scale = _scale(epsilon, sensitivity)
    counts = checks.real("totals", totals, 0.0, 2.0**53)
    if (counts != np.floor(counts)).any():
        raise ValueError(f"totals must be integers, got {counts[counts != np.floor(counts)].flat[0]:g}")
    return np.maximum(_noisy(counts.astype(np.int64), scale, source), 0), sensitivity / scale


def chosen_labels(
    counts: Mapping[str, int], epsilon: float, delta: float, sensitivities: tuple[int, int, int], source: Source
) -> tuple[list[str], int, float, float]:
    """Return the labels whose noisy count reaches a threshold T, the threshold, and the epsilon and delta spent.

    epsilon >= 1e-9.
    sensitivities (l0, l1, m): how many counts one unit changes, by how much in sum, by how much at most. With noise of
    scale b = l1 / epsilon, z = e^(-1/b), a label that one unit alone has passes with p <= z^(T - m) / (1 + z); T is
    the smallest whole number with l0 p <= min(delta, l0 (1 - z)), and l0 p is the delta spent.
    Proof. Let the table x have a unit that y has not, and S be a set of outputs. Labels of y: their noisy counts cost
    e^(l/b), l the change of their counts. Labels of x alone: each takes at least 1 of the l1. P(x in S) <= P(some of
    them passes) + P(the others in S) <= delta + e^epsilon P(y in S); and P(y in S) <= e^(l/b) P(x in S) / (1-p)^g for
    g such labels, where 1 - p >= z pays for each: at most e^epsilon P(x in S).
    (OpenDP 0.16 has this mechanism, but states z^(T - m + 1) / (1 + z), without the mass at the threshold, which it
    lets pass; see its issue 2922. So only its noise is used.)
    """
    if not isinstance(counts, Mapping):
        raise TypeError(f"counts must map labels to counts, got {type(counts).__name__}")
    touched, total, most = (checks.integer("sensitivities", s, 1) for s in sensitivities)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    scale = _scale(epsilon, total)
    z = math.exp(-1.0 / scale)
    allowed = min(delta, -touched * math.expm1(-1.0 / scale)) * (1.0 - 1e-9)
    above = max(1, math.ceil(scale * (math.log(touched) - math.log(allowed) - math.log1p(z))))
    labels = sorted(counts)
    noisy = _noisy(np.array([counts[label] for label in labels], dtype=np.int64), scale, source)
    kept = [label for label, count in zip(labels, noisy.tolist()) if count >= most + above]
    return kept, most + above, total / scale, touched * math.exp(-above / scale) / (1.0 + z)


def _scale(epsilon: float, sensitivity: int) -> float:
    """Return the scale of the noise, rounded up."""
    epsilon = checks.scalar("epsilon", epsilon, 1e-9)  # noise below 2^53: no count overflows
    return checks.integer("sensitivity", sensitivity, 1) / epsilon * (1.0 + 1e-12)


def _noisy(values: Integers, scale: float, source: Source) -> Integers:
    """Return values plus noise, P(z) proportional to e^(-|z|/scale): OpenDP's, or with a seed numpy's."""
    if source.generator is not None:
        p = -np.expm1(-1.0 / scale)
        return values + source.generator.geometric(p, values.size) - source.generator.geometric(p, values.size)
    import opendp.prelude as dp  # half a second to import, and only real releases need it

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return np.array(dp.m.make_laplace(*space, scale=scale)(values.tolist()), dtype=np.int64)
