"""The noise and the error of a release, predicted from public numbers only."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from dpsim import checks
from dpsim_release.discrete_laplace import laplace_noise, pair_threshold
from dpsim_release.estimate import LEAST_PAIRS
from dpsim_release.unit import MOST_OF_A_UNIT

MOST_STATES = 10**9
COLUMNS = f"""\
unit: one event, or a person of whom at most this many events are counted. threshold:
the smallest noisy count with which a privately chosen pair is released. expected_error:
an approximation of the total variation distance of a row, averaged over events, if the
rows have equal numbers of events. error_bound: a proven upper bound on this average for
every table with fewer than {LEAST_PAIRS} pairs. With more pairs another estimate is
used. Its error is usually smaller than both, but nothing is proven about it. Both
compare the release with the counted events, so events that are left out add to the
error. An epsilon above 10 gives little protection. A delta must be far below 1 / the
number of units, because otherwise a unit may be published."""
"""What the command line says about the columns of `plan`."""


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
    """Return the noise and the error of a release for each epsilon and limit.

    Only public numbers are used. The columns are epsilon, unit ("event", or a limit),
    events_kept, scale, mean_noise (``E|Z|`` of a count), threshold (of private pairs,
    if delta is given), expected_error and error_bound. Both errors are the total
    variation distance of a row, averaged over the events kept. The first is an
    approximation, and the second is a proven upper bound for a table with `events_kept`
    events.

    Parameters
    ----------
    states : int >= 1, the number of states
    events : int >= 1, a public estimate of the number of events before any limit
    epsilons : sequence of floats, each from 1e-6 to 1e6
    persons : int, needed with limits
        The approximate number of persons (cars, sessions) to whom these events belong.
    limits : sequence of int
        Limits on the number of events that are kept for each person. Without limits,
        the unit is one event.
    delta : float in [0, 1)
    pairs : int, the number of pairs of a declared graph; None means all states^2 pairs

    Returns
    -------
    DataFrame, with a row for each epsilon and limit

    Notes
    -----
    Both errors are those of an estimate that sets negative noisy counts to 0, so that
    ``x_j = max(c_j + Z_j, 0)`` in a row of d pairs and N events, and then normalises
    the row. The chain of a release with fewer than 400 pairs is estimated in this way.
    With more pairs, the error of the estimate is usually smaller, but no bound on it is
    proven. Neither error includes the events that a limit leaves out. If persons have
    unequal numbers of events, a limit leaves out more events than is assumed here.

    The bound. Let X be the sum of x. If X >= N, the error is the sum of ``(x_j / X -
    c_j / N)^+``, which is at most the sum of ``(x_j - c_j)^+ / N`` and so at most that
    of ``Z_j^+ / N``. If X < N, the error is the sum of ``(c_j / N - x_j / X)^+``, which
    is at most that of ``Z_j^- / N``. This includes X = 0, where the error may be 1. The
    larger of ``sum Z_j^+`` and ``sum Z_j^-`` is half of ``sum |Z_j| + |sum Z_j|``, so
    its mean is at most ``(d E|Z| + sqrt(d Var Z)) / 2``. Over all rows, the
    Cauchy-Schwarz inequality gives the bound ``(pairs E|Z| + sqrt(states pairs Var Z))
    / (2 events)`` on the mean error.

    The expectation. If the counts of a row are larger than their noise, its error is
    half of ``sum |Z_j| / N`` to first order in ``Z / N``, apart from the sum of the
    noise, which adds a share of order 1 / sqrt(d). If most counts are 0, their positive
    noise moves a share ``b / (N + b)`` of the row's probability to the wrong pairs,
    where ``b = d E|Z| / 2``. If all rows are alike, the error is about ``b / (N + b)``
    in both cases. N times this error is concave in N, so if the rows have different
    numbers of events, the mean error over events is smaller than if they had equal
    numbers.

    Examples
    --------
    >>> table = plan(63, 2_900_000, epsilons=[1.0])
    >>> table[["expected_error", "error_bound"]].round(5).values.tolist()
    [[0.00058, 0.0007]]
    """
    states = checks.integer("states", states, 1, MOST_STATES)
    events = checks.integer("events", events, 1, MOST_STATES)
    if pairs is None:
        pairs = states * states
    cells = checks.integer("pairs", pairs, 1, MOST_STATES**2)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_high=True)
    kept_of_each: Sequence[int | None] = [None]
    if len(limits):
        kept_of_each = (
            checks.integers("limits", limits, 1, MOST_OF_A_UNIT).ravel().tolist()
        )
        if persons is None:
            raise ValueError(
                "persons must be given with limits, about how many persons the events "
                "belong to, got None"
            )
    if persons is not None:
        persons = checks.integer("persons", persons, 1, MOST_STATES)
    rows = []
    levels = checks.real("epsilons", epsilons, 0.0, open_low=True)
    for epsilon in levels.ravel().tolist():
        for most in kept_of_each:
            noise = laplace_noise(epsilon, most or 1)
            counted = events
            if most is not None and persons is not None:
                share = min(1.0, most / (events / persons))
                counted = max(1, math.floor(events * share))
            threshold = None
            if delta > 0.0:
                threshold, _ = pair_threshold(noise, most or 1, delta)
            share_of_noise = cells * noise.mean_absolute / (2.0 * counted)
            spread = math.sqrt(states * cells * noise.variance) / (2.0 * counted)
            row = (
                epsilon,
                str(most or "event"),
                counted,
                noise.scale,
                noise.mean_absolute,
                threshold,
                share_of_noise / (1.0 + share_of_noise),
                min(1.0, share_of_noise + spread),
            )
            rows.append(row)
    columns = [
        "epsilon",
        "unit",
        "events_kept",
        "scale",
        "mean_noise",
        "threshold",
        "expected_error",
        "error_bound",
    ]
    return pd.DataFrame(rows, columns=columns).astype({"threshold": "Int64"})
