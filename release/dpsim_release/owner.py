"""Information for the data owner only: what was left out, and the release's error.

Neither is differentially private, because both are computed from the data without
noise.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse

from dpsim import markov
from dpsim_release.chain import PrivateChain
from dpsim_release.labels import first_labels, positions, short_label
from dpsim_release.support import PrivatePairs, Support, counts_on
from dpsim_release.table import Counts
from dpsim_release.text import DAMAGES

REASONS = {
    "count": "rows whose count is not a whole number of at least 0",
    "missing": "without an origin, a destination or a unit",
    "time": "visits without a time that can be read",
    "unordered": "other visits of the same units. Without a visit's time, the visits "
    "on both sides of it would be joined into a move that never happened",
    "late": "moves that took longer than max_gap",
    "outside": "events outside the declared states",
    "truncated": "events above the limit of their unit",
    "barred": "events on pairs that the graph does not allow",
}


def count_lines(counts: Counts, support: Support | PrivatePairs) -> list[str]:
    """Return lines that say what was counted, what was left out and why.

    The lines also name the declared states that never occur.

    >>> import pandas as pd
    >>> from dpsim_release import all_pairs, count_transitions
    >>> ends = {"from": ["a", "b", None, "c"], "to": ["b", "a", "a", "a"]}
    >>> table = pd.DataFrame(ends | {"n": [3, 1, 1, 2]})
    >>> settings = {"count": "n", "categories": ["a", "b"]}
    >>> counts = count_transitions(table, "from", "to", **settings)
    >>> lines = count_lines(counts, all_pairs(["a", "b"]))
    >>> print(*(line.strip() for line in lines), sep=chr(10))
    4 rows read; of these
    1 left out: without an origin, a destination or a unit
    2 left out: events outside the declared states
    4 events counted, between 2 states
    """
    report = dict(counts.report)
    if isinstance(support, Support):
        report["barred"] = counts_on(counts.trips, support)[1]
    rows = "visits" if counts.moves else "rows"
    lines = [f"{report['rows']:>15,} {rows} read; of these"]
    for name, number in counts.damages.items():
        lines.append(f"{number:>15,} left out: {DAMAGES[name]}")
    for name, words in REASONS.items():
        if report.get(name):
            example = ""
            if name == "time" and "unread" in counts.seen:
                example = f", for example {short_label(counts.seen['unread'])!r}"
            lines.append(f"{report[name]:>15,} left out: {words}{example}")
    if "first" in counts.seen:
        lines.append(f"{'':>16}the times are from {counts.seen['first']}")
        lines.append(f"{'':>16}{'to':>18} {counts.seen['last']}")
    seen = {*map(str, counts.trips["origin"]), *map(str, counts.trips["destination"])}
    counted = report["kept"] - report.get("barred", 0)
    lines.append(f"{counted:>15,} events counted, between {len(seen):,} states")
    never = [str(label) for label in support.labels or () if str(label) not in seen]
    if never:
        names = first_labels(never)
        lines.append(f"{len(never):>15,} declared states occur in no event: {names}")
        first = str((support.labels or ())[0])
        if never[0] == first:
            lines.append(
                f"{'':>16}{short_label(first)} is the first of them: remove it if it "
                f"is "
                "the header of a file, because it will be published as a state"
            )
    return lines


def utility(chain: PrivateChain, counts: Counts) -> dict[str, Any]:
    """Return the errors of a release, measured against the owner's whole table.

    The errors are total variation distances from the chain of all events, before any
    limit on a unit's events. For the rows, the mean distance over the events and the
    largest distance are returned; the row of a state that was not released has distance
    1. For the stationary distributions, their distance is returned, or the reason why
    they cannot be compared.
    """
    own = counts.trips if counts.before is None else counts.before
    n = len(chain.labels)
    ends = [positions(own[name], chain.labels) for name in ("origin", "destination")]
    # the states that were not released share position n
    places = tuple(np.where(end < 0, n, end) for end in ends)
    trips = own["trips"].to_numpy(float)
    table = sparse.coo_array((trips, places), shape=(n + 1, n + 1)).tocsr()
    totals = table.sum(axis=1)
    shares = sparse.diags_array(1.0 / np.maximum(totals, 1.0)) @ table
    released = chain.estimate.matrix.copy()
    released.resize((n + 1, n + 1))
    distances = 0.5 * abs(shares - released).sum(axis=1)
    distances[n] = 1.0
    seen = np.flatnonzero(totals)
    lost = own.loc[ends[0] < 0, "origin"].nunique()
    mean = None
    largest = None
    if seen.size:
        mean = float(totals @ distances / totals.sum())
        largest = float(distances[seen].max())
    return {
        "status": chain.statement["status"],
        **counts.report,
        "damaged_lines": counts.damages,
        "rows_of_the_table": int((seen < n).sum()) + lost,
        "rows_whose_state_was_not_released": lost,
        "mean_row_total_variation": mean,
        "largest_row_total_variation": largest,
        "stationary_total_variation": _stationary(chain, shares, seen),
    }


def _stationary(
    chain: PrivateChain, shares: sparse.csr_array, seen: Any
) -> float | str:
    """Return the distance of the released stationary distribution from the true one.

    If they cannot be compared, the reason is returned.
    """
    truth = np.zeros(shares.shape[0])
    # ValueError is raised if events end in a state that no event leaves
    with suppress(ValueError):
        truth[seen] = markov.stationary_distribution(shares[seen][:, seen])
        released = np.append(chain.stationary().to_numpy(), 0.0)
        if not truth[-1]:
            return float(0.5 * np.abs(truth - released).sum())
    return (
        "not compared: not every state was released, or a chain has no single "
        "stationary distribution"
    )
