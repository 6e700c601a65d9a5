"""The noisy counts of a release, and the chain that is estimated from them.

Nothing in this file sees the data, so nothing in it costs privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from dpsim.checks import Array, Integers
from dpsim.released import ReleasedChain
from dpsim_release import estimate as estimates
from dpsim_release.discrete_laplace import Noise
from dpsim_release.support import Support


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedChain(ReleasedChain):
    """The noisy counts of a release, and what is computed from them alone.

    Parameters
    ----------
    support : Support, the labels and the pairs that have a noisy count
    noisy : (pairs,) integers
        The noisy counts, in the order of the support's pairs. They may be negative.
    statement : dict
        The facts in statement.json, such as epsilon, delta, mechanism, scale, unit,
        support and versions.
    """

    support: Support
    noisy: Integers
    statement: dict[str, Any]

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels of the states, in the order of the matrix."""
        return self.support.labels

    @property
    def noise(self) -> Noise:
        """The distribution of the noise in the counts."""
        return Noise(self.statement["scale"], self.statement["epsilon"])

    @cached_property
    def estimate(self) -> estimates.Estimate:
        """The chain estimated from the noisy counts."""
        plain = self.statement.get("estimate") == estimates.PLAIN_RULE
        kind = estimates.PLAIN if plain else estimates.LEARNED
        return estimates.estimate_chain(self.support, self.noisy, self.noise, kind)

    @property
    def empty(self) -> list[Any]:
        """The labels of the rows that were filled because they had no usable counts."""
        return [self.labels[i] for i in self.estimate.empty]

    @property
    def arrivals_only(self) -> list[Any]:
        """The labels of the rows that hold nothing but shares of arrivals.

        These are the filled rows, or all rows if the noisy counts contain no more
        information than their margins.
        """
        return [self.labels[i] for i in self.estimate.arrivals_only]

    @property
    def clear(self) -> list[Any]:
        """The labels of the rows that stand out from the noise.

        Noise alone cannot explain the noisy counts of such a row: their total and the
        sum of their squares are more than three standard deviations larger than those
        of noise. The released row holds more than shares of arrivals.
        """
        clear = estimates.clear_rows(self.support, self.noisy, self.noise)
        clear[self.estimate.arrivals_only] = False
        return [self.labels[i] for i in np.flatnonzero(clear)]

    @property
    def weak(self) -> list[Any]:
        """The labels of the rows whose totals may be noise.

        The noisy total of such a row is at most three times the standard deviation of
        the total's noise.
        """
        weak = estimates.weak_rows(self.support, self.noisy, self.noise)
        return [self.labels[i] for i in np.flatnonzero(weak)]

    @property
    def counts(self) -> pd.DataFrame:
        """The noisy counts, with the columns origin, destination and noisy_count."""
        table = self._ends(self.support.rows, self.support.indices)
        return table.assign(noisy_count=self.noisy)

    @property
    def transitions(self) -> sparse.csr_array:
        """The transition matrix, without labels."""
        return self.estimate.matrix

    def departures(self) -> Array:
        """Return the shares of the events that begin in each state (n,).

        The shares are computed from the noisy counts. If no row has a positive noisy
        total, all shares are equal.
        """
        totals = estimates.row_sums(self.noisy.astype(float), self.support)
        weights = np.maximum(totals, 0.0)
        if not weights.any():
            weights = np.ones(len(self.labels))
        return weights / weights.sum()
