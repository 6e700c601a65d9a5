"""What is released, the noisy counts, and what follows from them alone: the estimated chain, which costs no privacy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from dpsim import markov
from dpsim.checks import Array
from dpsim.markov.sparse import classes
from dpsim.release import estimate
from dpsim.release import support as supports
from dpsim.release.noise import Noise
from dpsim.release.support import Support

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Released:
    """Noisy counts on a public support, and the chain that follows: determined by what is released, and equal by it.

    Parameters
    ----------
    support : Support, the labels and the pairs that have a noisy count
    noisy : (pairs,) integers, the noisy counts, aligned with the support; they may be negative
    statement : dict, mechanism, scale, losses, unit, support, versions, whether a simulation: for statement.json
    """

    support: Support
    noisy: Integers
    statement: dict[str, Any]

    def __repr__(self) -> str:
        s = self.statement
        said = f"{len(self.labels)} labels, {self.noisy.size} pairs, epsilon {s['epsilon']:.4g}, delta {s['delta']:.3g}"
        return f"{type(self).__name__}({said}{', SIMULATION' if s['simulation'] else ''})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Released) or self.statement != other.statement:
            return False
        return self.labels == other.labels and self.counts.equals(other.counts)

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels of the states, in the order of the matrix."""
        return self.support.labels

    @property
    def noise(self) -> Noise:
        """The law of the noise in the counts."""
        return Noise(self.statement["scale"], self.statement["epsilon"])

    @cached_property
    def estimate(self) -> estimate.Estimate:
        """The estimated chain as scipy.sparse, the probabilities of the support's pairs, and the empty rows."""
        return estimate.estimated(self.support, self.noisy, self.noise)

    @property
    def empty(self) -> list[Any]:
        """The labels whose rows are noise, and were filled by the rule of the statement."""
        return [self.labels[i] for i in self.estimate.empty]

    @property
    def weak(self) -> list[Any]:
        """The labels whose rows cannot be told from noise, three standard deviations of it."""
        return [self.labels[i] for i in np.flatnonzero(estimate.weak_rows(self.support, self.noisy, self.noise))]

    @property
    def counts(self) -> pd.DataFrame:
        """The noisy counts: columns origin, destination, noisy_count."""
        origin, destination = map(self.named, (self.support.rows, self.support.indices))
        return pd.DataFrame({"origin": origin, "destination": destination, "noisy_count": self.noisy})

    @property
    def pairs(self) -> pd.DataFrame:
        """The estimate: columns origin, destination, probability."""
        matrix = self.estimate.matrix.tocoo()
        origin, destination = map(self.named, matrix.coords)
        return pd.DataFrame({"origin": origin, "destination": destination, "probability": matrix.data})

    @property
    def matrix(self) -> pd.DataFrame | sparse.csr_array:
        """The transition matrix: a labelled DataFrame, or scipy.sparse csr for more than 3,000 labels."""
        P = self.estimate.matrix
        if len(self.labels) > supports.LARGEST_DENSE:
            return P
        index = pd.Index(self.labels, name="origin")
        return pd.DataFrame(P.toarray(), index=index, columns=pd.Index(self.labels, name="destination"))

    @cached_property
    def closed_classes(self) -> tuple[list[Integers], Integers]:
        """The classes of states that the estimated chain never leaves, up to ten, and the transient states."""
        return classes(self.estimate.matrix)

    def stationary(self) -> pd.Series:
        """Return the stationary distribution by label (0 on transient states); ValueError where it is not unique."""
        if not self.labels:
            raise ValueError("the release has no labels: no pair passed the threshold")
        closed, _ = self.closed_classes
        if len(closed) > 1:
            some = ", ".join(repr(self.labels[states[0]]) for states in closed)
            raise ValueError(f"the chain must have one class of states that is never left, got those of {some}")
        pi = markov.stationary_distribution(self.estimate.matrix)
        return pd.Series(pi, index=pd.Index(self.labels, name="label"), name="stationary")

    def departures(self) -> Array:
        """Return the share of events that begin in each state (n,), from the noisy counts."""
        weights = np.maximum(estimate.row_sums(self.noisy.astype(float), self.support), 0.0)
        return weights / weights.sum() if weights.any() else np.full(len(self.labels), 1.0 / max(len(self.labels), 1))

    def named(self, places: Integers) -> pd.Series:
        """Return the labels of the states at these places: integers where all are, else text, even of none."""
        labels = pd.Series(self.labels, dtype=None if self.labels else str)
        return labels.iloc[np.asarray(places, dtype=np.int64)].reset_index(drop=True)
