"""Histograms of N people in n bins: their order, the moves between them, and checks."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks
from dpsim.checks import Array, Integers

# The largest number of entries in one array; they take 400 MB.
LARGEST_TABLE = 50_000_000
LARGEST_TOTAL = 10**9
LARGEST_BINS = 100_000
# The largest weight, and one over the smallest temperature, so that no exponent
# overflows.
SCALE = 1e100


def histogram(x: ArrayLike) -> Integers:
    """Return x as integers.

    Raise ValueError unless x is 1-D and has at least 2 bins, no negative count and a
    total of at least 1.
    """
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


def bin_weights(weights: ArrayLike | None, bins: int) -> Array:
    """Return the weight of each bin, (n,), which is 1 if weights is None."""
    if weights is None:
        return np.ones(bins)
    w = checks.real("weights", weights, 0.0, SCALE) + 0.0  # a zero without sign
    if w.shape != (bins,):
        raise ValueError(f"weights must have shape ({bins},), got {w.shape}")
    return w


def temperature(t: float) -> float:
    """Return t, and raise ValueError unless it is in [1e-100, 1e100]."""
    return checks.scalar("t", t, 1 / SCALE, SCALE)


def size(total: int, bins: int) -> tuple[int, int]:
    """Return N and n. Raise ValueError unless N is in 1..10^9 and n in 2..100,000."""
    total = checks.integer("total", total, 1, LARGEST_TOTAL)
    return total, checks.integer("bins", bins, 2, LARGEST_BINS)


def configurations(total: int, bins: int) -> Integers:
    """Return all histograms with this total.

    They are in the order of Fleischer 2024, which is decreasing lexicographic order,
    from (N, 0, ..., 0) to (0, ..., 0, N).

    Parameters
    ----------
    total, bins : int, N >= 0 people and n >= 1 bins; the result may have at most
        50,000,000 entries

    Returns
    -------
    array of int (binom(N + n - 1, n - 1), n)

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.configurations(2, 2).tolist()
    [[2, 0], [1, 1], [0, 2]]
    """
    total = checks.integer("total", total, 0, LARGEST_TOTAL)
    bins = checks.integer("bins", bins, 1, LARGEST_TABLE)
    # there are more than LARGEST_TABLE ways to choose 15 out of 30 or more
    small = min(total, bins - 1, 15)
    rows = math.comb(total + bins - 1, small)
    if rows * bins > LARGEST_TABLE:
        raise ValueError(
            f"total {total} and bins {bins} must give at most {LARGEST_TABLE} numbers, "
            f"got {rows:.6g} histograms"
        )
    # ways[i, m]: in how many ways m people fit into the bins from i on
    ways = np.ones((bins, total + 1), np.int64)
    for i in reversed(range(bins - 1)):
        ways[i] = ways[i + 1].cumsum()
    states = np.empty((rows, bins), np.int64)
    left = np.array([total])
    for i in range(bins - 1):
        splits = left + 1  # bin i takes all who are left, or one fewer, down to none
        rest = np.arange(splits.sum()) - np.repeat(splits.cumsum() - splits, splits)
        states[:, i] = np.repeat(np.repeat(left, splits) - rest, ways[i + 1, rest])
        left = rest
    states[:, -1] = left
    return states


def configuration_index(z: ArrayLike, total: int) -> Integers:
    """Return the rows of histograms in `configurations`.

    Parameters
    ----------
    z : array_like of int (..., n), histograms of this total
    total : int, N >= 0 people; there must be fewer than 2^63 histograms

    Returns
    -------
    array of int (...)

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
            f"total {total} and bins {bins} must give a space "
            "that 64-bit integers can number"
        )
    return checks.plain(index(states))


def index(states: Integers) -> Integers:
    """Return the rows (...) of histograms (..., n) in `configurations`."""
    left = states.sum(axis=-1)
    found = np.zeros_like(left)
    for i in range(states.shape[-1] - 1):
        left = left - states[..., i]
        # How many histograms are equal before bin i and have more in it. With r bins
        # after i it is binom(left + r - 1, r), and each partial product is an integer.
        ahead = np.ones_like(left)
        for k in range(states.shape[-1] - 1 - i):
            ahead = ahead * (left + k) // (k + 1)
        found += ahead
    return found


def after_move(z: Integers, i: int, j: int) -> Integers:
    """Return histograms (..., n) after one person has moved from bin i to bin j.

    Bin i must not be empty.
    """
    moved = z.copy()
    moved[..., i] -= 1
    moved[..., j] += 1
    return moved


def neighbours(states: Integers) -> Integers:
    """Return the row of each histogram after each move, (rows, moves).

    A move from an empty bin changes nothing, so it gives the histogram's own row.
    """
    moves = list(permutations(range(states.shape[1]), 2))
    there = np.repeat(np.arange(len(states))[:, None], len(moves), axis=1)
    for m, (i, j) in enumerate(moves):
        here = states[:, i] > 0
        there[here, m] = index(after_move(states[here], i, j))
    return there
