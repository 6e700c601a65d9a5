"""The chain estimated from noisy counts: post-processing, which costs no privacy.

Empirical Bayes (Robbins 1956). Which share of the pairs has 0, 1, 2, ... events is learned from the noisy counts, whose
law given the counts is known, by expectation-maximisation: on bins, for each group of pairs whose noisy margins make
one expect alike of them, leaning on the whole table's shares. In total variation a row with a known total errs least
at one quantile of all its pairs' posterior laws, that at which they add up; one with an unknown total at their medians.
The estimate is half-way between. Where all noisy counts tell no more than their margins, it is what these make one
expect. A row whose total may be noise, and whose noisy counts are twice as likely if it has no events, has the other
rows' shares of arrivals. Pairs chosen privately, and supports of few pairs, keep their noisy counts.

The rule was chosen on the first tables of tools/bench/estimates.py, before anybody's own data. It is no rule for every
table: on some a simpler one errs less (tests). tools/bench/results/estimates.md has its errors beside twelve others',
there and on tables that had no part in the choice.
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
LEAST_PAIRS = 400  # of a support: fewer keep their noisy counts
EVIDENCE = 3.0  # standard deviations by which noise must be exceeded
RATIO = 5.0  # of the largest expected count in a group to the smallest
GROWTH = 1.35  # of the counts in one bin to those in the one before
LEAN = 100.0  # pairs that the whole table's shares are worth in a group's
STEPS = 200  # of expectation-maximisation: more learn more of the noise
LEVELS = np.arange(1, 8) / 8  # of the quantiles, between which they are linear
RULE = (
    "half-way between the medians of the counts' posterior laws and, in each row, the one quantile of them that adds "
    "up to its posterior mean, with priors learned from the noisy counts of pairs with like margins; rows normalised"
)
PLAIN_RULE = "noisy counts (at least 0), rows normalised"
EMPTY_RULE = (
    "a row that says nothing, whose counts are twice as likely without any event, has the shares of arrivals of its "
    f"allowed destinations; one without any pair, those of the {COMMONEST} commonest destinations"
)


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
    few = support.indices.size < LEAST_PAIRS
    return PLAIN_RULE if few or support.kind in (PRIVATE_PAIRS, PRIVATE_LABELS) else RULE


def estimated(support: Support, noisy: Integers, noise: Noise) -> Estimate:
    """Return the chain estimated from the noisy counts of a support, by the module's rule."""
    counts = noisy.astype(float)
    weights = _learned(support, counts, noise) if rule(support) == RULE else np.maximum(counts, 0.0)
    empty = row_sums(weights, support) <= 0.0
    filled = empty[support.rows]
    arrivals = np.bincount(support.indices, np.where(filled, 0.0, weights), minlength=len(support.labels))
    weights[filled] = arrivals[support.indices[filled]]
    weights[filled & (row_sums(weights, support)[support.rows] <= 0.0)] = 1.0
    probabilities = weights / row_sums(weights, support)[support.rows]
    return Estimate(_matrix(support, probabilities, arrivals), probabilities, np.flatnonzero(empty))


def row_sums(values: Array, support: Support) -> Array:
    """Return the sum of each row's pairs."""
    return np.bincount(support.rows, values, minlength=len(support.labels)).astype(float)


def weak_rows(support: Support, noisy: Array | Integers, noise: Noise) -> Mask:
    """Return which rows have a noisy total that is at most `WEAK` standard deviations of its noise."""
    return np.asarray(row_sums(noisy.astype(float), support) <= WEAK * np.sqrt(noise.variance * support.sizes))


def _learned(support: Support, noisy: Array, noise: Noise) -> Array:
    """Return the pairs' counts by `RULE`, 0 in weak rows whose noisy counts are twice as likely without events."""
    expected, most = _expected(support, noisy, noise), noisy.size + EVIDENCE * math.sqrt(5.0 * noisy.size)
    if float(((noisy - expected) ** 2).sum()) <= noise.variance * most:  # 5 v^2 bounds a squared noise's variance
        return expected
    step = max(1.0, noise.scale // 16.0)  # noisy counts that are nearer than this are alike
    seen = np.maximum(np.rint(noisy / step) * step, 0.0)  # a negative one has the posterior law that 0 has
    bins = _bins(float(seen.max()))
    counts, numbers = np.unique(seen, return_counts=True)
    table = _shares(_likelihood(counts, bins, noise), numbers, np.ones(bins[0].size), 0.0)
    kinds = np.rint(np.log(expected) / math.log(RATIO))
    mean, evidence, quantiles = np.empty(noisy.size), np.empty(noisy.size), np.empty((LEVELS.size, noisy.size))
    for kind in np.unique(kinds):
        group = np.flatnonzero(kinds == kind)
        counts, place, numbers = np.unique(seen[group], return_inverse=True, return_counts=True)
        likelihood = _likelihood(counts, bins, noise)
        joint: Array = likelihood * _shares(likelihood, numbers, table, LEAN)
        total = joint.sum(axis=1)
        evidence[group] = np.log(total / np.maximum(likelihood[:, 0], np.finfo(float).tiny))[place]
        mean[group] = ((joint * np.clip(counts[:, None], *bins)).sum(axis=1) / total)[place]
        below = np.cumsum(joint, axis=1)[:, :-1] / total[:, None]
        for level, values in zip(LEVELS, quantiles):
            moved = noise.scale * math.copysign(math.log(1.0 - abs(2.0 * level - 1.0)), level - 0.5)
            first, last = (ends[(below < level).sum(axis=1)] for ends in bins)
            values[group] = np.clip(counts + moved, first, last)[place]
    empty = weak_rows(support, noisy, noise) & (row_sums(evidence, support) <= -math.log(2.0))
    return np.where(empty[support.rows], 0.0, _of_rows(quantiles, mean, support))


def _bins(most: float) -> tuple[Array, Array]:
    """Return the first and the last count of each bin: 0 to 5 each alone, then wider ones, up to `most` at least."""
    wider = 6.0 * GROWTH ** np.arange(2.0 + max(0.0, math.log(max(most, 1.0) / 6.0) / math.log(GROWTH)))
    starts = np.unique(np.append(np.arange(6.0), np.ceil(wider)))
    return starts[:-1], starts[1:] - 1.0


def _likelihood(noisy: Array, bins: tuple[Array, Array], noise: Noise) -> Array:
    """Return the chance of each noisy count (row) where the count is uniform in a bin (column)."""
    first, last = bins
    width, noisy = last - first + 1.0, noisy[:, None]
    least = np.where(noisy < first, first - noisy, noisy - last)  # of the noise, or by symmetry of minus the noise
    return np.asarray(np.exp(noise.log_tail(least)) - np.exp(noise.log_tail(least + width))) / width


def _shares(likelihood: Array, numbers: Integers, lean_on: Array, lean: float) -> Array:
    """Return the shares of the bins after so many steps towards the likeliest, with `lean` more pairs as given."""
    shares = lean_on = lean_on / lean_on.sum()
    for _ in range(STEPS):
        shares = shares * ((numbers / (likelihood @ shares)) @ likelihood) + lean * lean_on
        shares /= shares.sum()
    return shares


def _of_rows(quantiles: Array, mean: Array, support: Support) -> Array:
    """Return `RULE`'s counts from the pairs' quantiles; a row's means where less than half of their sum is left."""
    sums, wanted = np.stack([row_sums(values, support) for values in quantiles]), row_sums(mean, support)
    above = np.clip((sums < wanted).sum(axis=0), 1, LEVELS.size - 1)
    low, high = (np.take_along_axis(sums, place[None], axis=0)[0] for place in (above - 1, above))
    at = above - 1.0 + np.clip((wanted - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
    shares = (np.maximum(1.0 - np.abs(at - place), 0.0)[support.rows] for place in range(LEVELS.size))
    counts = 0.5 * (quantiles[LEVELS.size // 2] + sum(s * values for s, values in zip(shares, quantiles)))
    return np.where((row_sums(counts, support) < 0.5 * wanted)[support.rows], mean, counts)


def _expected(support: Support, counts: Array, noise: Noise) -> Array:
    """Return what the margins make one expect of a pair."""
    ends = support.rows, support.indices
    product = np.multiply(*(_margin(places, counts, len(support.labels), noise)[places] for places in ends))
    return np.asarray(product * (max(float(counts.sum()), 1.0) / float(product.sum())))


def _margin(places: Integers, counts: Array, n: int, noise: Noise) -> Array:
    """Return sums moved to one mean per pair by James and Stein's factor (1961), and above their noise."""
    sums, sizes = np.bincount(places, counts, minlength=n), np.maximum(np.bincount(places, minlength=n), 1)
    even = sizes * (counts.sum() / counts.size)
    spread = float(((sums - even) ** 2 / sizes).sum())
    kept = max(0.0, 1.0 - noise.variance * n / spread) if spread else 0.0
    return np.maximum(even + kept * (sums - even), 1.0 + np.sqrt(noise.variance * sizes))


def _matrix(support: Support, probabilities: Array, arrivals: Any) -> sparse.csr_array:
    """Return the chain; a state without any allowed pair gets the shares of the commonest arrivals."""
    n = len(support.labels)
    P = sparse.csr_array((probabilities, support.indices, support.indptr), shape=(n, n))
    if support.sizes.all():
        return P
    common = np.argsort(-arrivals, kind="stable")[: min(COMMONEST, max(1, int((arrivals > 0.0).sum())))]
    shares = np.bincount(common, arrivals[common] if arrivals.any() else None, minlength=n)
    bare = sparse.csr_array(np.where(support.sizes > 0, 0.0, 1.0)[:, None])
    return sparse.csr_array(P + bare @ sparse.csr_array(shares[None, :] / shares.sum()))
