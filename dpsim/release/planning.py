"""What a release would cost and be worth, from public numbers, before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpsim import accounting, checks
from dpsim.accounting.units import EVENT, Unit
from dpsim.release import draws, estimate
from dpsim.release import support as supports
from dpsim.release.support import Support

MUCH_EPSILON = 10.0
NOT_PRIVATE = "computed from the data, not private: for their owner alone"


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
    """Return the noise and the expected error of a release for each epsilon and unit: from public numbers alone.

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
        (``E|Z|`` of a count), threshold (of private pairs, with delta), error_bound: of the mean total variation
        of a row, weighted by events.

    Notes
    -----
    The bound, for noisy counts set to at least 0 and normalised: ``||x/|x| - c/N|| <= ||x - c||_1 / N`` in total
    variation, and setting to 0 brings each count nearer, so a row's error is at most min(1, sum ``|Z|`` / N), its mean
    over events at most pairs ``E|Z|`` / events. What truncation leaves out is not in it.

    Examples
    --------
    >>> plan(63, 2_900_000, epsilons=[1.0])[["mechanism", "error_bound"]].round(5)
              mechanism  error_bound
    0  discrete Laplace      0.00116
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
            bound = min(1.0, cells * noise.mean_absolute / events)
            rows.append((epsilon, unit.short, noise.mechanism, noise.scale, noise.mean_absolute, threshold, bound))
    columns = ["epsilon", "unit", "mechanism", "scale", "mean_noise", "threshold", "error_bound"]
    return pd.DataFrame(rows, columns=columns).astype({"threshold": "Int64"})


def measured(
    trips: pd.DataFrame,
    support: Support,
    *,
    epsilons: Sequence[float],
    delta: float = 0.0,
    unit: Unit = EVENT,
    mechanism: str | None = None,
    draws_of_each: int = 5,
    rng: np.random.Generator | int | None = None,
) -> pd.DataFrame:
    """Return the mean row error of simulated releases of the data themselves: `NOT_PRIVATE`.

    Columns epsilon, mechanism, row_error (mean total variation of a row, weighted by events), uniform_error (that of
    rows which know nothing).
    """
    generator, draws_of_each = checks.generator(rng), checks.integer("draws_of_each", draws_of_each, 1)
    counts, _ = supports.counts_on(trips, support)
    totals = estimate.row_sums(counts.astype(float), support)
    shares = counts / np.where(totals > 0.0, totals, 1.0)[support.rows]

    def error(probabilities: np.ndarray) -> float:
        moved = 0.5 * estimate.row_sums(np.abs(probabilities - shares), support)
        return float(totals @ moved / max(totals.sum(), 1.0))

    rows = []
    for epsilon in checks.real("epsilons", epsilons, 0.0, open_low=True).tolist():
        noise = accounting.chosen_noise(epsilon, delta, unit, mechanism=mechanism)
        errors = [
            error(estimate.estimated(support, draws.noisy_counts(counts, noise, generator), noise).probabilities)
            for _ in range(draws_of_each)
        ]
        uniform = error(1.0 / support.sizes[support.rows])
        rows.append((epsilon, noise.mechanism, float(np.mean(errors)), uniform))
    return pd.DataFrame(rows, columns=["epsilon", "mechanism", "row_error", "uniform_error"])


def warnings(epsilon: float, delta: float, units: int | None = None) -> list[str]:
    """Return what somebody who chooses epsilon and delta should be told; units: how many there are, a public number."""
    epsilon, delta = checks.scalar("epsilon", epsilon, 0.0), checks.scalar("delta", delta, 0.0, 1.0)
    found = []
    if epsilon > MUCH_EPSILON:
        found.append(f"epsilon {epsilon:g} is above {MUCH_EPSILON:g}, which protects little")
    if units is not None and delta > 1.0 / checks.integer("units", units, 1):
        found.append(f"delta {delta:g} is above 1/{units}: it allows the data of one unit to be published as they are")
    return found
