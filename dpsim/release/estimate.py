"""The chain estimated from noisy counts: post-processing, which costs no privacy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpsim.accounting.units import Noise
from dpsim.checks import Array
from dpsim.release.support import Support

Integers = NDArray[np.int64]

COMMONEST = 10  # destinations that an empty row without pairs is given
RULE = "negative noisy counts to 0, rows normalised"
EMPTY_RULE = (
    "a row without a positive noisy count is given the shares of arrivals of its allowed destinations (uniform where "
    f"these have none); without any pair, those of the {COMMONEST} commonest destinations"
)


class Estimate(NamedTuple):
    """An estimated chain."""

    matrix: sparse.csr_array
    """(n, n): the pairs of the support, and what an empty row without pairs is given."""
    probabilities: Array
    """Of the pairs of the support."""
    empty: Integers
    """Rows without a positive noisy count."""


def estimated(support: Support, noisy: Integers, noise: Noise, totals: Integers | None = None) -> Estimate:
    """Return the chain estimated from the noisy counts of a support, by the module's rule."""
    n = len(support.labels)
    weights = np.maximum(noisy, 0).astype(float)
    sums = row_sums(weights, support)
    empty = np.flatnonzero(sums == 0.0)
    arrivals = np.bincount(support.indices, weights, minlength=n)
    if empty.size:
        hit = np.isin(support.rows, empty)
        weights[hit] = arrivals[support.indices[hit]]
        sums = row_sums(weights, support)
        weights[hit & (sums[support.rows] == 0.0)] = 1.0
        sums = row_sums(weights, support)
    probabilities = weights / np.repeat(np.where(sums > 0.0, sums, 1.0), support.sizes)
    return Estimate(_matrix(support, probabilities, arrivals), probabilities, empty)


def row_sums(values: Array, support: Support) -> Array:
    """Return the sum of each row's pairs."""
    cumulative = np.append(0.0, np.cumsum(values))
    return cumulative[support.indptr[1:]] - cumulative[support.indptr[:-1]]


def _matrix(support: Support, probabilities: Array, arrivals: Array) -> sparse.csr_array:
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
