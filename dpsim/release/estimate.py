"""The chain estimated from noisy counts: post-processing, which costs no privacy.

The noisy margins make one expect m = departures x arrivals / total of a pair. Pairs with an m of like size make a
group, off whose noisy counts one offset is taken, so that what stays positive adds up to the group's noisy total
(norm-sub; Wang et al. 2020): most of the pairs that nobody has stay at 0. A group whose noisy counts are no further
from m than noise is has m instead. Rows are normalised. A row that keeps hardly more than noise alone would leave there
has the other rows' shares of arrivals. Pairs chosen privately, and supports of few pairs, keep their noisy counts.

The rule was chosen on the first tables of tools/bench/release.py, before anybody's own data. It is no rule for every
table: on some a simpler one errs a third less (tests). tools/bench/results/release.md has its errors, there and on
tables that had no part in the choice, beside simpler rules.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dpsim.checks import Array, Integers, Mask
from dpsim.release.noise import Noise
from dpsim.release.support import PRIVATE_LABELS, PRIVATE_PAIRS, Support

COMMONEST = 10  # destinations that a row without pairs is given
WEAK = 3.0  # standard deviations of its own noise up to which a row is said to tell nothing
EVIDENCE = 2.0  # standard deviations by which noise must be exceeded
LEAST_PAIRS = 400  # of a support: fewer keep their noisy counts
SPARE = 1.0  # standard deviations by which a row must keep more than noise alone leaves
RATIO = 50.0  # of the largest m in a group to the smallest
RULE = (
    "noisy counts less one offset for pairs of like margins, so that the positive ones add up to their noisy total, or "
    "what the margins make one expect where the counts tell no more; rows normalised"
)
PLAIN_RULE = "noisy counts (at least 0), rows normalised"
EMPTY_RULE = (
    "a row that keeps hardly more than noise alone would leave has the shares of arrivals of its allowed destinations; "
    f"one without any pair, those of the {COMMONEST} commonest destinations"
)
_UNIFORM = 0.01  # share of the uniform law in the margins, so that no pair is ruled out


class Estimate(NamedTuple):
    """An estimated chain."""

    matrix: sparse.csr_array
    """(n, n): the pairs of the support, and what an empty row without pairs is given."""
    probabilities: Array
    """Of the pairs of the support."""
    empty: Integers
    """Rows filled by `EMPTY_RULE`."""


def rule(support: Support) -> str:
    """Return in words how a chain on this support is estimated."""
    chosen = support.kind in (PRIVATE_PAIRS, PRIVATE_LABELS)
    return PLAIN_RULE if chosen or support.indices.size < LEAST_PAIRS else RULE


def estimated(support: Support, noisy: Integers, noise: Noise) -> Estimate:
    """Return the chain estimated from the noisy counts of a support, by the module's rule."""
    weights, left = np.maximum(noisy, 0).astype(float), np.zeros((2, noisy.size))
    if rule(support) == RULE:
        counts = noisy.astype(float)
        expected = _expected(support, counts, noise)
        for group in _groups(expected):
            spread = float(((counts[group] - expected[group]) ** 2).sum())
            deviation = EVIDENCE * math.sqrt(5.0 * group.size)  # 5 v^2 bounds the variance of a squared noise
            if spread <= noise.variance * (group.size + deviation):
                weights[group] = expected[group]
            else:
                weights[group], left[:, group] = _positive(counts[group], noise)
    mean, square = (row_sums(moment, support) for moment in left)
    empty = row_sums(weights, support) <= mean + SPARE * np.sqrt(square)
    filled = empty[support.rows]
    arrivals = np.bincount(support.indices, np.where(filled, 0.0, weights), minlength=len(support.labels))
    weights[filled] = arrivals[support.indices[filled]]
    weights[filled & (row_sums(weights, support)[support.rows] <= 0.0)] = 1.0
    probabilities = weights / row_sums(weights, support)[support.rows]
    return Estimate(_matrix(support, probabilities, arrivals), probabilities, np.flatnonzero(empty))


def row_sums(values: Array, support: Support) -> Array:
    """Return the sum of each row's pairs."""
    return np.bincount(support.rows, values, minlength=len(support.labels)).astype(float)


def weak_rows(support: Support, noisy: Integers, noise: Noise) -> Mask:
    """Return which rows have a noisy total that is at most `WEAK` standard deviations of its noise."""
    deviation = np.sqrt(noise.variance * np.maximum(support.sizes, 1))
    return np.asarray(row_sums(noisy.astype(float), support) <= WEAK * deviation)


def _groups(expected: Array) -> list[Integers]:
    """Return the places of pairs whose expected counts are alike; those about the mean are one group."""
    kinds = np.rint(np.log(expected / expected.mean()) / math.log(RATIO))
    return [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]


def _positive(counts: Array, noise: Noise) -> tuple[Array, Array]:
    """Return counts less the offset that keeps their sum, at least 0, and the two moments of what a 0 keeps."""
    total = float(counts.sum())
    if total <= 0.0:
        return np.zeros(counts.size), np.zeros((2, 1))
    falling = np.sort(counts)[::-1]
    offsets = (np.cumsum(falling) - total) / np.arange(1, counts.size + 1)
    offset = float(offsets[np.flatnonzero(falling > offsets)[-1]])
    least, q = max(math.ceil(offset), 1), math.exp(-1.0 / noise.scale)
    mean = least - offset + q / (1.0 - q)  # of Z - offset where Z is at least as large as `least`
    moments = math.exp(noise.log_tail(least)) * np.array([[mean], [mean**2 + q / (1.0 - q) ** 2]])
    return np.maximum(counts - offset, 0.0), moments


def _expected(support: Support, counts: Array, noise: Noise) -> Array:
    """Return what the margins make one expect of each pair."""
    n = len(support.labels)
    sums_in, sizes_in = (np.bincount(support.indices, w, minlength=n) for w in (counts, np.ones(counts.size)))
    rows, columns = (
        _shares(sums, sizes, noise.variance)
        for sums, sizes in ((row_sums(counts, support), support.sizes), (sums_in, sizes_in))
    )
    product = rows[support.rows] * columns[support.indices]
    return np.asarray(product * (max(float(counts.sum()), 1.0) / float(product.sum())))


def _shares(sums: Any, sizes: Any, variance: float) -> Array:
    """Return noisy sums as shares, equal where the total is noise, else moved to one mean per pair if not refuted.

    James and Stein's factor (1961), but for a chi-square that noise alone exceeds in one case of forty.
    """
    total, pairs, n = float(sums.sum()), float(sizes.sum()), sums.size
    if total <= EVIDENCE * math.sqrt(variance * pairs):
        return np.full(n, 1.0 / n)
    moved = sums - sizes * (total / pairs)
    spread = float((moved**2 / np.maximum(sizes, 1)).sum())
    least = variance * (n + EVIDENCE * math.sqrt(2.0 * n))
    shares = np.maximum(sums - moved * min(1.0, least / spread if spread else 1.0), 0.0)
    return (1.0 - _UNIFORM) * shares / shares.sum() + _UNIFORM / n


def _matrix(support: Support, probabilities: Array, arrivals: Any) -> sparse.csr_array:
    """Return the chain; a state without any allowed pair gets the shares of the commonest arrivals."""
    n = len(support.labels)
    bare = np.flatnonzero(support.sizes == 0)
    if not bare.size:
        return sparse.csr_array((probabilities, support.indices, support.indptr), shape=(n, n))
    common = np.sort(np.argsort(-arrivals, kind="stable")[: min(COMMONEST, max(1, int((arrivals > 0).sum())))])
    shares = arrivals[common] if arrivals.any() else np.ones(common.size)
    rows = np.append(support.rows, np.repeat(bare, common.size))
    columns = np.append(support.indices, np.tile(common, bare.size))
    values = np.append(probabilities, np.tile(shares / shares.sum(), bare.size))
    return sparse.coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
