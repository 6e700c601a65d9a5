"""What a release would cost and be worth, from public numbers, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from dpsim import checks
from dpsim.release import estimate
from dpsim.release.noise import laplace_noise, pair_threshold
from dpsim.release.unit import LARGEST

MANY = 10**9
COLUMNS = f"""\
unit: one event, or a person of whom so many events are kept. threshold: of the noisy count of a pair chosen privately.
expected_error: of a row, in total variation, mean over events, where rows have as many events and most counts are above
their noise: an approximation. error_bound: proven, whatever the table, for fewer than {estimate.LEAST_PAIRS} pairs; the
estimate from more mostly errs less. Both are against the events kept: what is left out comes on top.
An epsilon above 10 protects little; a delta must be far below 1 / the number of units, else one may be published."""
"""What the columns of `plan` mean, for the command line."""


def plan(
    states: int,
    events: int,
    *,
    epsilons: Sequence[float],
    persons: int | None = None,
    limits: Sequence[int] = (),
    delta: float = 0.0,
    pairs: int | None = None,
) -> pd.DataFrame:
    """Return the noise and the error of a release for each epsilon and limit: from public numbers alone.

    Columns epsilon, unit ("event", or a limit), events_kept, scale, mean_noise (``E|Z|`` of a count), threshold (of
    private pairs, with delta), expected_error and error_bound: of a row, in total variation, mean over the events kept.
    The first is an approximation, the second is proven for a table of `events_kept`.

    Parameters
    ----------
    states, events : int >= 1, the number of states, and about that of events before any limit: a public guess
    epsilons, delta : sequence of floats, and float in [0, 1)
    persons : int, about how many persons (cars, sessions) these events belong to; needed with limits
    limits : sequence of int, how many events are kept of a person; without any the unit is one event
    pairs : int, pairs of a declared graph; None: all states^2

    Notes
    -----
    Both are of noisy counts set to at least 0 and normalised, ``x_j = max(c_j + Z_j, 0)`` in a row of d pairs and N
    events. That is the estimate from fewer than 400 pairs; from more it mostly errs less, for which nothing is proven.
    What a limit leaves out is in neither. Of persons with unequal numbers of events it leaves out more than here.

    The bound. Let X be the sum of x. Where X >= N the error is the sum of ``(x_j / X - c_j / N)^+``, at most that of
    ``(x_j - c_j)^+ / N``, and so of ``Z_j^+ / N``; where X < N it is the sum of ``(c_j / N - x_j / X)^+``, at most
    that of ``Z_j^- / N`` (X = 0, where the error may be 1, is among these). The larger of the two sums is half of
    ``sum |Z_j| + |sum Z_j|``, in the mean at most ``(d E|Z| + sqrt(d Var Z)) / 2``. Over the rows, by Cauchy and
    Schwarz: ``(pairs E|Z| + sqrt(states pairs Var Z)) / (2 events)``.

    The expectation. To first order in ``Z / N`` the error of a row whose counts are above their noise is half of
    ``sum |Z_j| / N`` (without the sum of the noise, which adds a share of order 1 / sqrt(d)); where most counts are 0,
    their positive noises move a share ``b / (N + b)`` to wrong pairs, ``b = d E|Z| / 2``. For rows that are alike both
    are ``b / (N + b)``, which is concave in N times N: rows that differ have less in the mean over events.

    Examples
    --------
    >>> plan(63, 2_900_000, epsilons=[1.0])[["expected_error", "error_bound"]].round(5).values.tolist()
    [[0.00058, 0.0007]]
    """
    states, events = checks.integer("states", states, 1, MANY), checks.integer("events", events, 1, MANY)
    cells = checks.integer("pairs", states * states if pairs is None else pairs, 1, MANY**2)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_high=True)
    kept_of_each = checks.integers("limits", limits, 1, LARGEST).ravel().tolist() if len(limits) else []
    if kept_of_each and persons is None:
        raise ValueError("persons must be given with limits, about how many persons the events belong to, got None")
    each = None if persons is None else events / checks.integer("persons", persons, 1, MANY)
    rows = []
    for epsilon in checks.real("epsilons", epsilons, 0.0, open_low=True).ravel().tolist():
        for most in kept_of_each or (None,):
            noise = laplace_noise(epsilon, most or 1)
            kept = events if most is None or each is None else max(1, math.floor(events * min(1.0, most / each)))
            threshold = pair_threshold(noise, most or 1, delta)[0] if delta > 0.0 else None
            moved = cells * noise.mean_absolute / (2.0 * kept)
            bound = min(1.0, moved + math.sqrt(states * cells * noise.variance) / (2.0 * kept))
            row = epsilon, str(most or "event"), kept, noise.scale, noise.mean_absolute, threshold
            rows.append((*row, moved / (1.0 + moved), bound))
    columns = ["epsilon", "unit", "events_kept", "scale", "mean_noise", "threshold", "expected_error", "error_bound"]
    return pd.DataFrame(rows, columns=columns).astype({"threshold": "Int64"})
