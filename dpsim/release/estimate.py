"""The chain estimated from noisy counts: post-processing, which costs no privacy.

Two estimates of each count are mixed. The first is the noisy count, at least 0. The second is its posterior mean under
a prior that is learned from the noisy counts themselves (empirical Bayes; Robbins 1956, Laird 1978): pairs are put into
strata by what the noisy margins make one expect, m = departures x arrivals / total, and in each stratum the counts
follow a mixture of a few small integers and of uniform pieces between multiples of m, whose weights are found by
expectation-maximisation. The posterior mean is better where noise is large against most counts; it minimises squared,
not absolute error, and with noise below one event the noisy counts themselves are nearer. So its weight is
w = min(1, E|Z| / 2), a public number. A support of fewer than 400 pairs is too small to learn from: there w = 0.

Rows are normalised. A row without a positive noisy count gets the shares of arrivals. Margins that cannot be told from
noise (two standard deviations of the total, and of the sum of squares) are not used. A stratum whose prior hardly beats
the likelihood of the margins alone has the margins' m instead, moved towards the noisy counts as far as all such strata
together refute m (James and Stein's factor).

The rule was chosen on the three tables of tools/bench/release.py and on made ones of 2 to 300 states (gravity, random
rows, few destinations of a row), before anybody's own data. tools/bench/results/release.md has its errors on the three
and on tables that had no part in the choice, beside the noisy counts, at least 0 and normalised. It is no rule for
every table: where counts are of the size of the noise and rows have nothing to do with arrivals, its error is up to a
fifth larger than theirs (tests).
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpsim import streams
from dpsim.checks import Array
from dpsim.release import support as supports
from dpsim.release.noise import Noise
from dpsim.release.support import Support

Integers = NDArray[np.int64]

COMMONEST = 10  # destinations that a row without pairs is given
EVIDENCE = 2.0  # standard deviations of its noise that a total, or a sum of squares, must exceed
WEAK = 3.0  # standard deviations of its own noise below which a row says nothing
STRATA = 8
LEAST_PAIRS = 400  # of a stratum: a prior is learned from no fewer
LEAST_GAIN = 6.0  # nats of likelihood by which a stratum's prior must beat the margins alone
RULE = (
    "empirical Bayes: noisy counts (at least 0) mixed with their posterior means under a prior learned from them, "
    "rows normalised"
)
PLAIN_RULE = "noisy counts (at least 0), rows normalised"
EMPTY_RULE = (
    "a row without a positive noisy count has the shares of arrivals of its allowed destinations; one without any "
    f"pair, those of the {COMMONEST} commonest destinations"
)
_RATIOS = np.append(0.0, np.geomspace(1e-2, 1e6, 33))  # ends of the prior's pieces, in units of m
_INTEGERS = 6  # the prior's small integers 0, 1, ...; with coarse noise 0 alone
_COARSE = 4.0  # E|Z| from which noise hides integers
_LEARNED_ON = 20_000  # pairs of a stratum
_PASSES = 60  # of expectation-maximisation
_CHUNK = 20_000  # pairs at a time, each of which needs some hundred numbers
_UNIFORM = 0.01  # share of the uniform law in the margins, so that no pair is ruled out


class Estimate(NamedTuple):
    """An estimated chain."""

    matrix: sparse.csr_array
    """(n, n): the pairs of the support, and what an empty row without pairs is given."""
    probabilities: Array
    """Of the pairs of the support."""
    empty: Integers
    """Rows without a positive noisy count, filled by `EMPTY_RULE`."""


def rule(support: Support) -> str:
    """Return in words how a chain on this support is estimated.

    Of pairs chosen privately every noisy count is far above 0, and is taken as it is; so is a count of few pairs.
    """
    chosen = support.kind in (supports.PRIVATE_PAIRS, supports.PRIVATE_LABELS)
    return PLAIN_RULE if chosen or support.indices.size < LEAST_PAIRS else RULE


def estimated(support: Support, noisy: Integers, noise: Noise) -> Estimate:
    """Return the chain estimated from the noisy counts of a support, by the module's rule."""
    n = len(support.labels)
    weights = np.maximum(noisy, 0).astype(float)
    empty = row_sums(weights, support) <= 0.0
    share = min(1.0, 0.5 * noise.mean_absolute) if rule(support) == RULE else 0.0
    if share:
        weights = (1.0 - share) * weights + share * posterior_means(support, noisy, noise)
    arrivals = np.bincount(support.indices, weights, minlength=n).astype(float)
    filled = empty[support.rows]
    weights[filled] = arrivals[support.indices[filled]]
    weights[filled & (row_sums(weights, support)[support.rows] <= 0.0)] = 1.0
    sums = row_sums(weights, support)
    probabilities = weights / np.repeat(np.where(sums > 0.0, sums, 1.0), support.sizes)
    return Estimate(_matrix(support, probabilities, arrivals), probabilities, np.flatnonzero(empty))


def posterior_means(support: Support, noisy: Integers, noise: Noise) -> Array:
    """Return the posterior mean of each count under the prior learned from all of them; see the module."""
    expected = _expected(support, noisy, noise)
    values = noisy.astype(float)
    if not values.size:
        return values
    strata = min(STRATA, max(1, values.size // LEAST_PAIRS))
    edges = np.quantile(expected, np.linspace(0.0, 1.0, strata + 1)[1:-1])
    stratum = np.searchsorted(edges, expected)
    top = max(float(values.max(initial=0.0)), 1.0) + 40.0 * math.sqrt(noise.variance)
    weights, tells = [], np.zeros(strata, dtype=bool)
    for g in range(strata):
        place = np.flatnonzero(stratum == g)
        some = place[:: max(1, -(-place.size // _LEARNED_ON))]
        likelihood, _, alone = _parts(values[some], expected[some], noise, top)
        weights.append(_learned(likelihood))
        tells[g] = np.log(likelihood @ weights[g]).sum() - alone.sum() > LEAST_GAIN
    mixture, means = np.array(weights), np.empty(values.size)
    untold = ~tells[stratum]
    instead = _towards(np.maximum(values[untold], 0.0), expected[untold], noise.variance)

    def fill(start: int) -> None:
        part = slice(start, start + _CHUNK)
        likelihood, centres, _ = _parts(values[part], expected[part], noise, top)
        posterior = likelihood * mixture[stratum[part]]
        means[part] = (posterior * centres).sum(axis=1) / posterior.sum(axis=1)

    with ThreadPoolExecutor(streams.threads()) as pool:
        list(pool.map(fill, range(0, values.size, _CHUNK)))
    means[untold] = instead
    return means


def row_sums(values: Array, support: Support) -> Array:
    """Return the sum of each row's pairs."""
    return np.bincount(support.rows, values, minlength=len(support.labels)).astype(float)


def weak_rows(support: Support, noisy: Integers, noise: Noise) -> NDArray[np.bool_]:
    """Return which rows have a noisy total that is at most `WEAK` standard deviations of its noise."""
    deviation = np.sqrt(noise.variance * np.maximum(support.sizes, 1))
    return np.asarray(row_sums(noisy.astype(float), support) <= WEAK * deviation)


def _expected(support: Support, noisy: Integers, noise: Noise) -> Array:
    """Return what the margins make one expect of each pair."""
    n = len(support.labels)
    sizes_in = np.bincount(support.indices, minlength=n)
    rows = _shrunk(row_sums(noisy.astype(float), support), support.sizes, noise.variance)
    columns = _shrunk(np.bincount(support.indices, noisy, minlength=n).astype(float), sizes_in, noise.variance)
    product = rows[support.rows] * columns[support.indices]
    return product * (max(float(noisy.sum()), 1.0) / max(float(product.sum()), 1e-300))


def _shrunk(sums: Array, sizes: Integers, variance: float) -> Array:
    """Return noisy sums, moved towards the same mean for every pair, as shares; equal ones where the total is noise."""
    total, pairs = float(sums.sum()), int(sizes.sum())
    if total <= EVIDENCE * math.sqrt(variance * pairs):
        return np.full(len(sums), 1.0 / max(len(sums), 1))
    guess = np.asarray(sizes * (total / pairs), dtype=float)
    shares = np.maximum(_towards(sums, guess, np.maximum(sizes, 1) * variance), 0.0)
    shares /= shares.sum()
    return (1.0 - _UNIFORM) * shares + _UNIFORM / max(len(sums), 1)


def _towards(noisy: Array, guess: Array, variance: Array | float) -> Array:
    """Return a guess moved towards noisy values as far as these refute it.

    The factor of James and Stein 1961, but for a chi-square that noise alone exceeds in one case of forty.
    """
    moved = noisy - guess
    spread = float((moved**2 / variance).sum()) if np.all(variance) else math.inf
    least = moved.size + EVIDENCE * math.sqrt(2.0 * moved.size)
    return guess + (max(0.0, 1.0 - least / spread) if spread > 0.0 else 0.0) * moved


def _parts(values: Array, expected: Array, noise: Noise, top: float) -> tuple[Array, Array, Array]:
    """Return each value's likelihood under each part of the prior, the mean of the count there, and log P given m."""
    s = noise.scale
    integers = np.arange(_INTEGERS if noise.mean_absolute < _COARSE else 1, dtype=float)
    ends = expected[:, None] * _RATIOS
    ends = np.concatenate([ends, np.maximum(2.0 * ends[:, -1:], top)], axis=1)
    values = np.maximum(values, 0.0)[:, None]  # below 0 the likelihood keeps its shape
    points = np.exp(-np.abs(values - integers) / s)
    alone = -np.abs(values[:, 0] - expected) / s
    moved = ends - values
    decay = np.exp(-np.abs(moved) / s)
    mass = np.diff(np.where(moved < 0.0, decay, 2.0 - decay), axis=1) * s
    moment = np.diff(-s * decay * (np.abs(moved) + s), axis=1)
    low, high = ends[:, :-1], ends[:, 1:]
    within = np.divide(moment, mass, out=np.zeros_like(mass), where=mass > 1e-12 * s)
    means = np.clip(values + within, low, high)
    points_of = np.broadcast_to(integers, (len(values), integers.size))
    likelihood = np.concatenate([points, mass / np.maximum(high - low, 1e-300)], axis=1)
    return likelihood, np.concatenate([points_of, means], axis=1), alone


def _learned(likelihood: Array) -> Array:
    """Return the weights of the prior's parts by expectation-maximisation, with one pair's worth of the uniform law."""
    parts = likelihood.shape[1]
    weights = np.full(parts, 1.0 / parts)
    for _ in range(_PASSES if len(likelihood) else 0):
        weights = weights * (likelihood.T @ (1.0 / (likelihood @ weights))) + 1.0 / parts
        weights /= weights.sum()
    return weights


def _matrix(support: Support, probabilities: Array, arrivals: Array) -> sparse.csr_array:
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
