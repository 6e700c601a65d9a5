"""Histograms of N people in n bins: their order, the moves between them, and the checks of arguments."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.checks import Array, Integers

LARGEST_TABLE = 50_000_000  # numbers in one array: 400 MB
LARGEST_TOTAL = 10**9
LARGEST_BINS = 100_000
SCALE = 1e100  # the largest weight, and one over the smallest temperature, so that no exponent overflows


def histogram(x: ArrayLike) -> Integers:
    """Return x as integers, and raise ValueError unless it is 1-D with >= 2 bins, counts >= 0 and a total >= 1."""
    counts = checks.integers("x", x, 0, LARGEST_TOTAL)
    if counts.ndim != 1 or counts.size < 2:
        raise ValueError(
            f"x must be one histogram with at least 2 bins, got shape {counts.shape}"
        )
    if not 1 <= counts.sum() <= LARGEST_TOTAL:
        raise ValueError(
            f"x must count from 1 to {LARGEST_TOTAL} people, got {counts.sum()}"
        )
    return counts


def weight_matrix(weights: ArrayLike | None, bins: int) -> Array:
    """Return W for n bins, (n,) if it is diagonal (ones for None) and (n, n) otherwise. A full W must be positive
    semidefinite up to n * 8 rounding errors."""
    if weights is None:
        return np.ones(bins)
    w = checks.real("weights", weights, -SCALE, SCALE)
    if w.shape not in ((bins,), (bins, bins)):
        raise ValueError(
            f"weights must have shape ({bins},) or ({bins}, {bins}), got {w.shape}"
        )
    if w.ndim == 2:
        slack = 8 * bins * np.finfo(float).eps * np.abs(w).max()
        if np.abs(w - w.T).max() > slack:
            raise ValueError(
                f"weights must be symmetric, got an asymmetry of {np.abs(w - w.T).max():g}"
            )
        w = (w + w.T) / 2
        if np.any(w - np.diag(np.diag(w))):
            smallest = float(np.linalg.eigvalsh(w)[0])
            if smallest < -slack:
                raise ValueError(
                    f"weights must be positive semidefinite, eigenvalues in [0, inf), got {smallest:g}"
                )
            return w
        w = np.diag(w)
    return checks.real("weights", w, 0.0, SCALE)


def temperature(t: float) -> float:
    """Return t, and raise ValueError unless it is in [1e-100, 1e100]."""
    return checks.scalar("t", t, 1 / SCALE, SCALE)


def size(total: int, bins: int) -> tuple[int, int]:
    """Return N and n, and raise ValueError unless N is in 1..10^9 and n in 2..100,000."""
    total = checks.integer("total", total, 1, LARGEST_TOTAL)
    return total, checks.integer("bins", bins, 2, LARGEST_BINS)


def configurations(total: int, bins: int) -> Integers:
    """Return all histograms with this total, (binom(N + n - 1, n - 1), n), from (N, 0, ..., 0) to (0, ..., 0, N).

    The order is the one of Fleischer 2024, decreasing lexicographically.

    Parameters
    ----------
    total, bins : int, N >= 0 people and n >= 1 bins; at most 50,000,000 numbers in all

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.configurations(2, 2).tolist()
    [[2, 0], [1, 1], [0, 2]]
    """
    total = checks.integer("total", total, 0, LARGEST_TOTAL)
    bins = checks.integer("bins", bins, 1, LARGEST_TABLE)
    small = min(
        total, bins - 1, 15
    )  # there are more than LARGEST_TABLE ways to choose 15 out of 30 or more
    rows = math.comb(total + bins - 1, small)
    if rows * bins > LARGEST_TABLE:
        raise ValueError(
            f"total {total} and bins {bins} must give at most {LARGEST_TABLE} numbers, got {rows:.6g} histograms"
        )
    ways = np.ones(
        (bins, total + 1), np.int64
    )  # [i, m]: in how many ways m people fit into the bins from i on
    for i in reversed(range(bins - 1)):
        ways[i] = ways[i + 1].cumsum()
    states = np.empty((rows, bins), np.int64)
    left = np.array([total])
    for i in range(bins - 1):
        splits = left + 1  # bin i takes all that are left, or one less, down to none
        rest = np.arange(splits.sum()) - np.repeat(splits.cumsum() - splits, splits)
        states[:, i] = np.repeat(np.repeat(left, splits) - rest, ways[i + 1, rest])
        left = rest
    states[:, -1] = left
    return states


def configuration_index(z: ArrayLike, total: int) -> Integers:
    """Return the rows in `configurations` of histograms, (...).

    Parameters
    ----------
    z : array_like of int (..., n), histograms of this total
    total : int, N >= 0 people; fewer than 2^63 histograms

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> int(boltzmann.configuration_index([1, 1], 2))
    1
    """
    total = checks.integer("total", total, 0, LARGEST_TOTAL)
    states = checks.integers("z", z, 0)
    if states.ndim == 0:
        raise ValueError("z must be histograms (..., n), got a number")
    if (states.sum(axis=-1) != total).any():
        raise ValueError(f"z must be histograms with the total {total}")
    bins = states.shape[-1]
    if math.comb(total + bins - 1, bins - 1) * (total + bins) >= 2**63:
        raise ValueError(
            f"total {total} and bins {bins} must give a space that 64-bit integers can number"
        )
    return checks.plain(index(states))


def index(states: Integers) -> Integers:
    """Return the rows of histograms z (..., n) among all histograms of the same total and bins."""
    left = states.sum(axis=-1)
    found = np.zeros_like(left)
    for i in range(states.shape[-1] - 1):
        left = left - states[..., i]
        ahead = np.ones_like(
            left
        )  # histograms that agree before bin i and have more in it
        # binom(left + r - 1, r) with r bins after i, by a product that is whole at every step
        for k in range(states.shape[-1] - 1 - i):
            ahead = ahead * (left + k) // (k + 1)
        found += ahead
    return found


def after_move(z: Integers, i: int, j: int) -> Integers:
    """Return histograms z (..., n) after one person moved from bin i, which is not empty, to bin j."""
    moved = z.copy()
    moved[..., i] -= 1
    moved[..., j] += 1
    return moved


def neighbours(states: Integers) -> Integers:
    """Return, for each histogram and each move, the row of the histogram after the move, (rows, moves). If the bin from
    which the person moves is empty, it is the histogram's own row."""
    moves = list(permutations(range(states.shape[1]), 2))
    there = np.repeat(np.arange(len(states))[:, None], len(moves), axis=1)
    for m, (i, j) in enumerate(moves):
        here = states[:, i] > 0
        there[here, m] = index(after_move(states[here], i, j))
    return there
