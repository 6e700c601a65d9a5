"""Estimates a chain from noisy counts, at no further cost in privacy.

The rule is an empirical Bayes method (Robbins 1956). The distribution of a noisy count,
given the true count, is known, so the noisy counts reveal what shares of the pairs have
0 events, 1 event, and so on. Expectation-maximisation estimates these shares for bins
of counts, separately in each group of pairs whose noisy margins (row and column sums)
suggest similar counts. The shares in a group are shrunk towards those in the whole
table.

If the total of a row were known, the estimate with the smallest expected total
variation distance would consist of posterior quantiles, one for each pair in the row,
all at the level at which they add up to the total. If nothing were known about the
total, the posterior medians would be best. The estimate is half-way between the two,
with the sum of the posterior means in place of the unknown total.

If the noisy counts contain no more information than their margins, each estimate is the
count expected from the margins. If a row's total may be nothing but noise, and if the
row's noisy counts are at least twice as probable when the row has no events, the row
gets the other rows' shares of arrivals. For pairs chosen privately, for a small
support, and if the owner of the data chose the plain estimate beforehand, the estimate
is the noisy count, or 0 if the noisy count is negative.

The rule was chosen for its errors on 42 kinds of tables, before any user's data were
seen. It is not the best rule for every table, and the tests include tables on which a
simpler rule has a smaller error. release/tools/results/estimates.md compares its errors
with those of twelve other rules, both on some of these kinds, among them the worst, and
on kinds that had no part in the choice.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dpsim import checks
from dpsim.checks import Array, Integers, Mask
from dpsim_release.discrete_laplace import Noise
from dpsim_release.support import PRIVATE_LABELS, PRIVATE_PAIRS, Support

LEARNED = "learned"
PLAIN = "plain"
KINDS = (LEARNED, PLAIN)
COMMONEST = 10  # the number of destinations that a row without pairs is given
WEAK = 3.0  # a row total of up to this many standard deviations may be noise
LEAST_PAIRS = 400  # the least number of pairs for which RULE is used
# the squared deviations from the margins must exceed those of noise by this many
# standard deviations
EVIDENCE = 3.0
RATIO = 5.0  # the ratio of the largest expected count in a group to the smallest
GROWTH = 1.35  # the ratio of the counts in one bin to those in the bin before
LEAN = 100.0  # the weight, in pairs, of the whole table's shares in a group
STEPS = 200  # of expectation-maximisation; with more, the shares start to fit the noise
LEVELS = np.arange(1, 8) / 8  # of quantiles; between them, quantiles are interpolated
RULE = (
    "each count is half-way between its posterior median and the posterior quantile "
    "at one level for the whole row, at which the quantiles of the row add up to the "
    "sum of its posterior means; the priors are learned from the noisy counts of "
    "pairs with similar margins; the counts of a row are set to 0 if its noisy total "
    f"is at most {WEAK:g} standard deviations of its noise and its noisy counts are at "
    "least twice as probable without any event; if the noisy counts contain no more "
    "information than their margins, each count is instead the one that the margins "
    "lead one to expect; finally, each row is normalised"
)
PLAIN_RULE = "negative noisy counts are set to 0, and then each row is normalised"
EMPTY_RULE = (
    "a row whose counts are all 0 after this gets the shares of arrivals of its "
    "allowed destinations, or equal shares if these have no arrivals; a row without "
    f"any pair gets the shares of arrivals of the {COMMONEST} commonest destinations"
)


class Estimate(NamedTuple):
    """An estimated chain.

    Attributes
    ----------
    matrix : csr_array (n, n)
        The transition matrix. A row without pairs is filled by `EMPTY_RULE`.
    probabilities : (pairs,) floats, the probabilities of the pairs of the support
    empty : integers, the rows that were filled by `EMPTY_RULE`
    arrivals_only : integers, the rows that hold nothing but shares of arrivals
    """

    matrix: sparse.csr_array
    probabilities: Array
    empty: Integers
    arrivals_only: Integers


def rule(support: Support, kind: str = LEARNED) -> str:
    """Return, in words, the rule by which a chain on this support is estimated."""
    small = support.indices.size < LEAST_PAIRS
    if kind == PLAIN or small or support.kind in (PRIVATE_PAIRS, PRIVATE_LABELS):
        return PLAIN_RULE
    return RULE


def estimate_chain(
    support: Support, noisy: Integers, noise: Noise, kind: str = LEARNED
) -> Estimate:
    """Return the chain that is estimated from a support's noisy counts (pairs,).

    kind: "learned" for the rule in the module's docstring, or "plain" for `PLAIN_RULE`.
    """
    checks.choice("kind", kind, KINDS)
    counts = noisy.astype(float)
    weights = np.maximum(counts, 0.0)
    alike = False
    if rule(support, kind) == RULE:
        weights = expected_counts(support, counts, noise)
        squares = ((counts - weights) ** 2).sum()
        alike = not _beyond_noise(squares, counts.size, noise)
        if not alike:
            weights = _learn_counts(support, counts, weights, noise)
    empty = row_sums(weights, support) <= 0.0
    filled = empty[support.rows]
    arrivals = np.bincount(
        support.indices, np.where(filled, 0.0, weights), minlength=len(support.labels)
    )
    weights[filled] = arrivals[support.indices[filled]]
    weights[filled & (row_sums(weights, support)[support.rows] <= 0.0)] = 1.0
    probabilities = weights / row_sums(weights, support)[support.rows]
    matrix = _matrix(support, probabilities, arrivals)
    return Estimate(
        matrix, probabilities, np.flatnonzero(empty), np.flatnonzero(empty | alike)
    )


def row_sums(values: Array, support: Support) -> Array:
    """Return, for each row, the sum of the values of its pairs."""
    sums = np.bincount(support.rows, values, minlength=len(support.labels))
    return sums.astype(float)


def weak_rows(support: Support, noisy: Array | Integers, noise: Noise) -> Mask:
    """Return a mask of the rows whose totals may be noise, as `WEAK` defines."""
    totals = row_sums(noisy.astype(float), support)
    return np.asarray(totals <= WEAK * np.sqrt(noise.variance * support.sizes))


def clear_rows(support: Support, noisy: Array | Integers, noise: Noise) -> Mask:
    """Return a mask of the rows whose noisy counts cannot be explained by noise alone.

    The row's total is large, as `WEAK` defines, and so are the squares of its counts,
    as `EVIDENCE` defines.
    """
    squares = row_sums(noisy.astype(float) ** 2, support)
    beyond = _beyond_noise(squares, support.sizes, noise)
    return np.asarray(beyond & ~weak_rows(support, noisy, noise))


def _beyond_noise(squares: Any, sizes: Any, noise: Noise) -> Mask:
    """Return whether sums of squares are larger than those of noise, as `EVIDENCE`
    says.

    sizes: the number of squares in each sum
    """
    # the square of noise with variance v has mean v and variance at most 5 v^2
    most = sizes + EVIDENCE * np.sqrt(5.0 * sizes)
    return np.asarray(squares > noise.variance * most)


def _learn_counts(
    support: Support, noisy: Array, expected: Array, noise: Noise
) -> Array:
    """Return the counts (pairs,) that are estimated by `RULE`.

    expected: the counts expected from the margins
    """
    mean, quantiles, evidence = posterior_of(noisy, expected, noise)
    empty = weak_rows(support, noisy, noise) & (
        row_sums(evidence, support) <= -math.log(2.0)
    )
    return np.where(empty[support.rows], 0.0, rows_estimate(quantiles, mean, support))


def posterior_of(
    noisy: Array, expected: Array, noise: Noise
) -> tuple[Array, Array, Array]:
    """Return the mean, the quantiles and the evidence of each pair's true count.

    The mean and the quantiles (at `LEVELS`) are those of the posterior distribution.
    The evidence that the pair has any events is the log of a ratio: the probability of
    the noisy count under the prior, divided by its probability if the true count is 0.
    """
    # noisy counts that differ by less than a step are treated as equal
    step = max(1.0, noise.scale // 16.0)
    # a negative noisy count has the same posterior as 0
    seen = np.maximum(np.rint(noisy / step) * step, 0.0)
    bins = count_bins(float(seen.max()))
    counts, numbers = np.unique(seen, return_counts=True)
    table = bin_shares(
        bin_likelihood(counts, bins, noise), numbers, np.ones(bins[0].size), 0.0
    )
    groups = np.rint(np.log(expected) / math.log(RATIO))
    mean = np.empty(noisy.size)
    evidence = np.empty(noisy.size)
    quantiles = np.empty((LEVELS.size, noisy.size))
    for number in np.unique(groups):
        members = np.flatnonzero(groups == number)
        counts, place, numbers = np.unique(
            seen[members], return_inverse=True, return_counts=True
        )
        likelihood = bin_likelihood(counts, bins, noise)
        joint: Array = likelihood * bin_shares(likelihood, numbers, table, LEAN)
        total = joint.sum(axis=1)
        without = np.maximum(likelihood[:, 0], np.finfo(float).tiny)
        evidence[members] = np.log(total / without)[place]
        means = (joint * np.clip(counts[:, None], *bins)).sum(axis=1) / total
        mean[members] = means[place]
        below = np.cumsum(joint, axis=1)[:, :-1] / total[:, None]
        for level, values in zip(LEVELS, quantiles):
            shift = noise.scale * math.copysign(
                math.log(1.0 - abs(2.0 * level - 1.0)), level - 0.5
            )
            chosen = (below < level).sum(axis=1)
            first, last = (ends[chosen] for ends in bins)
            values[members] = np.clip(counts + shift, first, last)[place]
    return mean, quantiles, evidence


def count_bins(most: float) -> tuple[Array, Array]:
    """Return the first and the last count in each bin; the bins reach at least to
    `most`.

    Each count from 0 to 5 has a bin of its own.
    """
    wider = 6.0 * GROWTH ** np.arange(
        2.0 + max(0.0, math.log(max(most, 1.0) / 6.0) / math.log(GROWTH))
    )
    starts = np.unique(np.append(np.arange(6.0), np.ceil(wider)))
    return starts[:-1], starts[1:] - 1.0


def bin_likelihood(noisy: Array, bins: tuple[Array, Array], noise: Noise) -> Array:
    """Return the probability of each noisy count (row) for each bin (column).

    The true count is assumed to be uniformly distributed within the bin.
    """
    first, last = bins
    width = last - first + 1.0
    noisy = noisy[:, None]
    # the noise is symmetric, so negative noise is replaced with its absolute value
    least = np.where(noisy < first, first - noisy, noisy - last)
    inside = np.exp(noise.log_tail(least)) - np.exp(noise.log_tail(least + width))
    return np.asarray(inside) / width


def bin_shares(
    likelihood: Array, numbers: Integers, lean_on: Array, lean: float
) -> Array:
    """Return the shares of the bins after `STEPS` steps of expectation-maximisation.

    The first step starts from the shares `lean_on`, and in every step these shares have
    the weight of `lean` additional pairs.
    """
    shares = lean_on = lean_on / lean_on.sum()
    for _ in range(STEPS):
        shares = (
            shares * ((numbers / (likelihood @ shares)) @ likelihood) + lean * lean_on
        )
        shares /= shares.sum()
    return shares


def rows_estimate(quantiles: Array, mean: Array, support: Support) -> Array:
    """Return the counts that `RULE` computes from the posterior quantiles and means.

    If the counts of a row would add up to less than half of the sum of its means, the
    means are returned for this row.
    """
    sums = np.stack([row_sums(values, support) for values in quantiles])
    wanted = row_sums(mean, support)
    above = np.clip((sums < wanted).sum(axis=0), 1, LEVELS.size - 1)
    low = np.take_along_axis(sums, above[None] - 1, axis=0)[0]
    high = np.take_along_axis(sums, above[None], axis=0)[0]
    step = np.where(high > low, high - low, 1.0)
    at = above - 1.0 + np.clip((wanted - low) / step, 0.0, 1.0)
    shares = (
        np.maximum(1.0 - np.abs(at - place), 0.0)[support.rows]
        for place in range(LEVELS.size)
    )
    common = sum(share * values for share, values in zip(shares, quantiles))
    counts = 0.5 * (quantiles[LEVELS.size // 2] + common)
    too_small = row_sums(counts, support) < 0.5 * wanted
    return np.where(too_small[support.rows], mean, counts)


def expected_counts(support: Support, counts: Array, noise: Noise) -> Array:
    """Return, for each pair, the count expected from its margins."""
    n = len(support.labels)
    rows = _margin(support.rows, counts, n, noise)
    columns = _margin(support.indices, counts, n, noise)
    product = rows[support.rows] * columns[support.indices]
    return np.asarray(product * (max(float(counts.sum()), 1.0) / float(product.sum())))


def _margin(places: Integers, counts: Array, n: int, noise: Noise) -> Array:
    """Return the row or column sums, shrunk towards a common mean per pair.

    The shrinkage is that of James and Stein (1961). Each sum is at least 1 plus the
    standard deviation of its noise.
    """
    sums = np.bincount(places, counts, minlength=n)
    sizes = np.maximum(np.bincount(places, minlength=n), 1)
    even = sizes * (counts.sum() / counts.size)
    spread = float(((sums - even) ** 2 / sizes).sum())
    weight = max(0.0, 1.0 - noise.variance * n / spread) if spread else 0.0
    least = 1.0 + np.sqrt(noise.variance * sizes)
    return np.maximum(even + weight * (sums - even), least)


def _matrix(support: Support, probabilities: Array, arrivals: Any) -> sparse.csr_array:
    """Return the transition matrix.

    The row of a state without allowed pairs gives the `COMMONEST` destinations
    probabilities proportional to their arrivals.
    """
    n = len(support.labels)
    P = sparse.csr_array((probabilities, support.indices, support.indptr), shape=(n, n))
    if support.sizes.all():
        return P
    number = min(COMMONEST, max(1, int((arrivals > 0.0).sum())))
    common = np.argsort(-arrivals, kind="stable")[:number]
    weights = arrivals[common] if arrivals.any() else None
    shares = np.bincount(common, weights, minlength=n)
    bare = sparse.csr_array(np.where(support.sizes > 0, 0.0, 1.0)[:, None])
    return sparse.csr_array(P + bare @ sparse.csr_array(shares[None, :] / shares.sum()))
