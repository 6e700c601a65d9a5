"""What a release would cost and be worth, from public numbers, before anything is spent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpsim import accounting, checks
from dpsim.accounting.units import EVENT, Unit
from dpsim.release import draws, estimate
from dpsim.release import support as supports
from dpsim.release.support import Support

MUCH_EPSILON = 10.0
NOT_PRIVATE = "computed from the data (before any truncation), not private: for their owner alone"
COLUMNS = f"""\
mean_noise: E|Z| of a count. threshold: the noisy count from which a pair chosen privately is released.
expected_error: of a row, in total variation, mean over events, where all rows have as many events and most pairs have
counts above their noise; rows that differ have less. An approximation, to first order in noise / events of a row.
error_bound: proven for the mean over releases, whatever the table, of noisy counts set to at least 0 and normalised:
that is what is released from fewer than {estimate.LEAST_PAIRS} pairs.
From more pairs the estimate mostly errs less, and may err more.
None of them has what truncation leaves out, or pairs that are not released."""
"""What the columns of `plan` mean, for the command line."""


def plan(
    states: int,
    events: int,
    *,
    epsilons: Sequence[float],
    delta: float = 0.0,
    units: Sequence[Unit] = (EVENT,),
    pairs: int | None = None,
    mechanism: str | None = None,
) -> pd.DataFrame:
    """Return the noise and the error of a release for each epsilon and unit: from public numbers alone.

    Parameters
    ----------
    states, events : int >= 1
        The number of states, and about how many events are counted (after truncation): a guess that is public.
    epsilons : sequence of floats
    delta : float in [0, 1)
    units : sequence of accounting.Unit
    pairs : int, optional
        Pairs of a declared graph; None: all states^2.
    mechanism : "discrete Laplace" or "discrete Gaussian", optional

    Returns
    -------
    DataFrame
        epsilon, unit ("event", "2x5" events in a row x rows, "10" events in all), mechanism, scale, mean_noise
        (``E|Z|`` of a count), threshold (of private pairs, with delta), expected_error and error_bound: of a row, in
        total variation, mean over events. The first is an approximation, the second is proven.

    Notes
    -----
    Both are of noisy counts set to at least 0 and normalised, ``x_j = max(c_j + Z_j, 0)`` in a row of d pairs and N
    events. That is the estimate from fewer than 400 pairs; from more it mostly errs less, for which nothing is proven.
    What truncation leaves out is in neither.

    The bound. Let X be the sum of x. Where X >= N the error is the sum of ``(x_j / X - c_j / N)^+``, at most that of
    ``(x_j - c_j)^+ / N``, and so of ``Z_j^+ / N``; where X < N it is the sum of ``(c_j / N - x_j / X)^+``, at most
    that of ``Z_j^- / N`` (X = 0, where the error may be 1, is among these). The larger of the two sums is half of
    ``sum |Z_j| + |sum Z_j|``, in the mean at most ``(d E|Z| + sqrt(d Var Z)) / 2``. Over the rows, by Cauchy and
    Schwarz: ``(pairs E|Z| + sqrt(states pairs Var Z)) / (2 events)``.

    The expectation. To first order in ``Z / N`` the error of a row whose counts are above their noise is half of
    ``sum |Z_j| / N`` (without the sum of the noise, which adds a share of order 1 / sqrt(d)); where most counts are 0,
    their positive noises move a share ``b / (N + b)`` to wrong pairs, with
    ``b = d E|Z| / 2``. For rows that are alike both are ``b / (N + b)``, which is concave in N times N: rows that
    differ have less in the mean over events.

    Examples
    --------
    >>> plan(63, 2_900_000, epsilons=[1.0])[["mechanism", "expected_error", "error_bound"]].round(5)
              mechanism  expected_error  error_bound
    0  discrete Laplace         0.00058       0.0007
    """
    states, events = checks.integer("states", states, 1), checks.integer("events", events, 1)
    cells = checks.integer("pairs", states * states if pairs is None else pairs, 1)
    rows = []
    for epsilon in checks.real("epsilons", epsilons, 0.0, open_low=True).tolist():
        for unit in units:
            noise = accounting.chosen_noise(epsilon, delta, unit, mechanism=mechanism)
            threshold = None
            if delta > 0.0:
                shared = accounting.chosen_noise(epsilon, delta, unit, pairs=True, mechanism=mechanism)
                threshold = accounting.pair_threshold(shared, unit, delta - shared.delta)[0]
            moved = cells * noise.mean_absolute / (2.0 * events)
            bound = min(1.0, moved + math.sqrt(states * cells * noise.variance) / (2.0 * events))
            errors = moved / (1.0 + moved), bound
            rows.append((epsilon, unit.short, noise.mechanism, noise.scale, noise.mean_absolute, threshold, *errors))
    columns = ["epsilon", "unit", "mechanism", "scale", "mean_noise", "threshold", "expected_error", "error_bound"]
    return pd.DataFrame(rows, columns=columns).astype({"threshold": "Int64"})


def measured(
    trips: pd.DataFrame,
    support: Support,
    *,
    epsilons: Sequence[float],
    delta: float = 0.0,
    units: Sequence[Unit] = (EVENT,),
    mechanism: str | None = None,
    draws_of_each: int = 5,
    rng: np.random.Generator | int | None = None,
) -> pd.DataFrame:
    """Return the mean row error of simulated releases of the data themselves: `NOT_PRIVATE`.

    Columns epsilon, unit, mechanism, row_error (mean total variation of a row, weighted by events),
    uniform_error (that of rows which know nothing).
    """
    generator, draws_of_each = checks.generator(rng), checks.integer("draws_of_each", draws_of_each, 1)
    counts, _ = supports.counts_on(trips, support)
    totals = estimate.row_sums(counts.astype(float), support)
    shares = counts / np.where(totals > 0.0, totals, 1.0)[support.rows]

    def error(probabilities: np.ndarray) -> float:
        moved = 0.5 * estimate.row_sums(np.abs(probabilities - shares), support)
        return float(totals @ moved / max(totals.sum(), 1.0))

    rows = []
    levels = checks.real("epsilons", epsilons, 0.0, open_low=True).ravel().tolist()
    for epsilon, unit in itertools.product(levels, units):
        noise = accounting.chosen_noise(epsilon, delta, unit, mechanism=mechanism)
        errors = [
            error(estimate.estimated(support, draws.noisy_counts(counts, noise, generator), noise).probabilities)
            for _ in range(draws_of_each)
        ]
        uniform = error(1.0 / support.sizes[support.rows])
        rows.append((epsilon, unit.short, noise.mechanism, float(np.mean(errors)), uniform))
    return pd.DataFrame(rows, columns=["epsilon", "unit", "mechanism", "row_error", "uniform_error"])


def warnings(epsilon: float, delta: float, units: int | None = None, least: int | None = None) -> list[str]:
    """Return what somebody who chooses epsilon and delta should be told.

    units: how many there are, a public number; least: where it is not known, how many there are at least.
    """
    epsilon, delta = checks.scalar("epsilon", epsilon, 0.0), checks.scalar("delta", delta, 0.0, 1.0)
    units = None if units is None else checks.integer("units", units, 1)
    least = None if least is None else checks.integer("least", least, 1)
    found = []
    if epsilon > MUCH_EPSILON:
        found.append(f"epsilon {epsilon:g} is above {MUCH_EPSILON:g}, which protects little")
    if units is not None and delta > 1.0 / units:
        found.append(f"delta {delta:g} is above 1/{units}: it allows the data of one unit to be published as they are")
    elif units is None and delta > 0.0:
        if least is not None and delta > 1.0 / least:
            found.append(
                f"delta {delta:g} is above 1/{least}, and there are at least {least} units: it allows the data of one "
                "unit to be published as they are"
            )
        else:
            found.append(f"delta {delta:g} must be far below 1 / the number of units, which is not known here")
    return found
