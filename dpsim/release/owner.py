"""What only the owner of the data may see: what was left out of the counts, and how far the release is from the truth.

Nothing here is private. Utility is measured against the owner's own table, before truncation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from dpsim import datasets, markov
from dpsim.checks import Array
from dpsim.datasets import limits
from dpsim.release.chain import PrivateChain
from dpsim.release.support import GRAPH, PrivatePairs, Support, counts_on

REDUCIBLE = "not compared: the owner's own chain is reducible, so that it has no single stationary distribution"
NOT_RELEASED = "not compared: the released chain has no single stationary distribution"


def counted(trips: pd.DataFrame, support: Support | PrivatePairs | None = None) -> str:
    """Return what became of the rows of a table, in one sentence: for the console and for the owner's file.

    Parameters
    ----------
    trips : DataFrame
        What `datasets.count_transitions` gave.
    support : Support, optional
        Of a declared graph, which may not allow all pairs.

    Examples
    --------
    >>> table = pd.DataFrame({"from": ["a", "b", None, "c"], "to": ["b", "a", "a", "a"], "n": [3, 1, 1, 2]})
    >>> counted(datasets.count_transitions(table, "from", "to", count="n", categories=["a", "b"]))
    '4 rows for 7 events: 1 without an origin, destination or unit, 2 outside the categories, 0 truncated, 4 counted'
    """
    report = trips.attrs["report"]
    r = {name: f"{number:,}" for name, number in report.items()}
    events = "" if report["rows"] == report["events"] else f" for {r['events']} events"
    rows = "moves" if getattr(trips.attrs.get(limits.RECORD), "trajectories", False) else "rows"
    late = f", and {r['late']} moves that took longer than the gap" if "late" in r else ""
    barred = ""
    if isinstance(support, Support) and support.kind == GRAPH:
        barred = f", of these {counts_on(trips, support)[1]:,} left out on pairs that the graph does not allow"
    return (
        f"{r['rows']} {rows}{events}: {r['missing']} without an origin, destination or unit, {r['outside']} outside "
        f"the categories, {r['truncated']} truncated, {r['kept']} counted{barred}{late}"
    )


def mostly_lost(trips: pd.DataFrame) -> bool:
    """Return whether more than half of the rows lacked a label or were outside what was declared: often a slip."""
    report = trips.attrs["report"]
    return bool(2 * (report["missing"] + report["outside"]) > report["events"] > 0)


def compared(chain: PrivateChain, trips: pd.DataFrame) -> dict[str, Any]:
    """Return how far a release is from the table that it was made of, for the owner of the data.

    Parameters
    ----------
    chain : PrivateChain
    trips : DataFrame
        What went into `release_chain`: with the record of `datasets.count_transitions` it is the table before
        truncation that the release is compared with.

    Returns
    -------
    dict
        Total variation of rows (mean over the owner's events, and the largest; a row whose state was not released
        counts as 1) and of the stationary distributions, or why these are not compared.
    """
    before = trips.attrs.get("before")
    own = trips if before is None else before.trips
    counts, released, lost = _aligned(chain, own)
    totals = counts.sum(axis=1)
    seen = np.flatnonzero(totals)
    shares = sparse.diags_array(1.0 / np.maximum(totals, 1.0)) @ counts
    moved = 0.5 * abs(shares - released).sum(axis=1)
    moved[lost] = 1.0
    facts: dict[str, Any] = {"status": chain.statement["status"]}
    if "report" in trips.attrs:
        facts |= {"counted": counted(trips, chain.support), **trips.attrs["report"]}
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
    ends = [datasets.positions(own[name], list(chain.labels)) for name in ("origin", "destination")]
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
