"""For the owner of the data alone, as nothing here is private: what was left out, and how far the release is off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from dpsim import markov
from dpsim.checks import Array
from dpsim.release.chain import PrivateChain
from dpsim.release.counts import Counts
from dpsim.release.labels import positions
from dpsim.release.support import PrivatePairs, Support, counts_on

REDUCIBLE = "not compared: the owner's own chain is reducible, so that it has no single stationary distribution"
NOT_RELEASED = "not compared: the released chain has no single stationary distribution"
REASONS = {
    "damaged": "lines that are no rows of the table (too many or too few fields, a lone quote, no UTF-8)",
    "count": "rows whose count is no whole number from 0 to 10^9",
    "missing": "without an origin, a destination or a unit",
    "time": "visits without a time that can be read",
    "late": "moves that took longer than the gap",
    "outside": "events outside the declared states",
    "truncated": "events beyond what is counted of a unit",
    "barred": "events on pairs that the graph does not allow",
}


def counted(counts: Counts, support: Support | PrivatePairs | None = None) -> str:
    """Return what became of the rows of a table and why, in one sentence.

    >>> from dpsim.release.table import count_transitions
    >>> table = pd.DataFrame({"from": ["a", "b", None, "c"], "to": ["b", "a", "a", "a"], "n": [3, 1, 1, 2]})
    >>> counted(count_transitions(table, "from", "to", count="n", categories=["a", "b"]))
    '4 rows; left out: 1 without an origin, a destination or a unit, 2 events outside the declared states; counted: 4'
    """
    report = dict(counts.report)
    if isinstance(support, Support):
        report["barred"] = counts_on(counts.trips, support)[1]
    kept = report["kept"] - report.get("barred", 0)
    lost = ", ".join(f"{report[name]:,} {words}" for name, words in REASONS.items() if report.get(name))
    return f"{report['rows']:,} {_rows(counts)}; left out: {lost or 'nothing'}; counted: {kept:,}"


def checked(counts: Counts, support: Support | PrivatePairs) -> list[str]:
    """Return, a line each, what would be counted, what is left out and why, and which declared states never occur."""
    report = dict(counts.report) | (
        {"barred": counts_on(counts.trips, support)[1]} if isinstance(support, Support) else {}
    )
    lines = [
        "for you only (nothing is drawn, spent or written):",
        f"{report['rows']:>15,} {_rows(counts)} read; of these",
    ]
    lines += [f"{report[name]:>15,} left out: {words}" for name, words in REASONS.items() if report.get(name)]
    seen = {*map(str, counts.trips["origin"]), *map(str, counts.trips["destination"])}
    kept = report["kept"] - report.get("barred", 0)
    lines.append(f"{kept:>15,} events counted, between {len(seen):,} states")
    never = [str(label) for label in support.labels or () if str(label) not in seen]
    if never:
        shown = ", ".join(never[:10]) + (", ..." if len(never) > 10 else "")
        lines.append(f"{len(never):>15,} declared states occur in no event: {shown}"[:500])
    return lines


def _rows(counts: Counts) -> str:
    return "visits" if counts.moves else "rows"


def mostly_lost(counts: Counts) -> bool:
    """Return whether more than half of the rows could not be read or are outside what was declared: often a slip."""
    lost = sum(counts.report.get(name, 0) for name in ("damaged", "count", "missing", "time", "outside"))
    return lost > counts.report["kept"] + counts.report["truncated"]


def compared(chain: PrivateChain, counts: Counts) -> dict[str, Any]:
    """Return how far a release is from the owner's table, before truncation, that it was made of.

    Total variation of rows (mean over the owner's events, and the largest; 1 for a state that was not released) and of
    the stationary distributions, or why these are not compared.
    """
    own = counts.trips if counts.before is None else counts.before
    table, released, lost = _aligned(chain, own)
    totals = table.sum(axis=1)
    seen = np.flatnonzero(totals)
    shares = sparse.diags_array(1.0 / np.maximum(totals, 1.0)) @ table
    moved = 0.5 * abs(shares - released).sum(axis=1)
    moved[lost] = 1.0
    facts: dict[str, Any] = {"status": chain.statement["status"]}
    if counts.report:
        facts |= {"counted": counted(counts, chain.support), **counts.report}
    facts |= {
        "rows_of_the_table": int(seen.size),
        "rows_whose_state_was_not_released": int(np.isin(seen, lost).sum()),
        "mean_row_total_variation": float(totals @ moved / totals.sum()) if seen.size else None,
        "largest_row_total_variation": float(moved[seen].max()) if seen.size else None,
        "stationary_total_variation": _stationary(chain, shares, seen, released.shape[0]),
    }
    return facts


def _aligned(chain: PrivateChain, own: pd.DataFrame) -> tuple[sparse.csr_array, sparse.csr_array, Any]:
    """Return the owner's counts and the released chain over the labels of either, and the places not released."""
    known = len(chain.labels)
    ends = [positions(own[name], list(chain.labels)) for name in ("origin", "destination")]
    strange = pd.concat([own.loc[place < 0, name] for place, name in zip(ends, ("origin", "destination"))]).astype(str)
    codes, others = pd.factorize(strange)
    size, start = known + len(others), 0
    for place in ends:
        new = place < 0
        place[new] = known + codes[start : start + new.sum()]
        start += int(new.sum())
    counts = sparse.coo_array((own["trips"].to_numpy(float), tuple(ends)), shape=(size, size)).tocsr()
    matrix = chain.estimate.matrix.tocoo()
    released = sparse.coo_array((matrix.data, matrix.coords), shape=(size, size)).tocsr()
    return counts, released, np.arange(known, size)


def _stationary(chain: PrivateChain, shares: sparse.csr_array, seen: Any, size: int) -> float | str:
    """Return the distance of the released from the true stationary law, or why there is none."""
    try:
        released = _padded(chain.stationary().to_numpy(), size)
    except ValueError:
        return NOT_RELEASED
    own = shares[seen][:, seen]
    try:
        if not seen.size or shares[seen].sum() - own.sum() > 1e-9 * seen.size:  # an event ends where none begins
            return REDUCIBLE
        truth = np.zeros(size)
        truth[seen] = markov.stationary_distribution(own)
    except ValueError:
        return REDUCIBLE
    return float(0.5 * np.abs(truth - released).sum())


def _padded(values: Array, size: int) -> Array:
    return np.append(values, np.zeros(size - len(values)))
