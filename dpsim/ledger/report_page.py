"""The text of figures/REPORT.md. Its fixed sentences are in report.md, beside this
file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from dpsim.ledger.display import markdown
from dpsim.ledger.rows import Found
from dpsim.ledger.table_formats import markdown_table

TEMPLATE = Path(__file__).with_name("report.md").read_text(encoding="utf-8")
_, _LEGEND, _, _OURS = TEMPLATE.split("\n## ")
LEGEND = f"## {_LEGEND}"
"""The meaning of the verdicts and of the kinds of claim, as Markdown."""


def report_text(claims: pd.DataFrame, ours: pd.DataFrame) -> str:
    """Return the text of REPORT.md.

    Parameters
    ----------
    claims : DataFrame
        As `judged_claims` returns it.
    ours : DataFrame
        As `judged_findings` returns it.

    Examples
    --------
    >>> from dpsim import ledger
    >>> page = ledger.report_text(ledger.judged_claims(), ledger.judged_findings())
    >>> "## What we claim ourselves" in page
    True
    """
    return TEMPLATE.format(
        letters=about_letters(claims),
        claims=markdown(claims, "../notebooks"),
        **_finding_tables(ours),
    )


def about_letters(claims: pd.DataFrame) -> str:
    """Return a sentence on how many corrections were sent to the papers' authors.

    Parameters
    ----------
    claims : DataFrame
        As `judged_claims` returns it.

    Examples
    --------
    >>> from dpsim import ledger
    >>> "authors" in ledger.about_letters(ledger.judged_claims())
    True
    """
    corrections = claims["sent"][claims["sent"] != ""]
    sent = int((corrections == "yes").sum())
    if not sent:
        return (
            "We have not asked the authors yet, so none of them has answered. A "
            "correction is our reading until they do."
        )
    return (
        f"Of {len(corrections)} corrections, {sent} were sent to the authors. An "
        "answer stands above the claims of its paper."
    )


def findings_text(ours: pd.DataFrame) -> str:
    """Return our own findings as Markdown: a table for those that stand, and one for
    those that were withdrawn. Each row has its id as an anchor.

    Parameters
    ----------
    ours : DataFrame
        As `judged_findings` returns it.

    Examples
    --------
    >>> from dpsim import ledger
    >>> "### Advice" in ledger.findings_text(ledger.judged_findings())
    True
    """
    return f"## {_OURS}".format(**_finding_tables(ours))


def _finding_tables(ours: pd.DataFrame) -> dict[str, str]:
    """Return the tables of the findings that stand and of those that were withdrawn."""
    withdrawn = ours["basis"] == "withdrawn"
    stands = [_finding(row) for row in ours[~withdrawn].itertuples()]
    fell = [_withdrawn(row) for row in ours[withdrawn].itertuples()]
    columns = ("we say", "ground", "tried on", "number that decides", "reason")
    gone = ("we said", "where", "counterexample")
    return {
        "stands": markdown_table(columns, stands, range(5)),
        "withdrawn": markdown_table(gone, fell, range(3)),
    }


def _finding(row: Any) -> list[str]:
    """Return the cells of a finding that stands."""
    number = ""
    if row.relation:
        number = f"{Found(row.reproduced)} ({row.relation} {Found(row.limit)})"
    link = f"[{row.section}](../notebooks/{row.notebook}.ipynb)"
    reason = f"{row.reason} ({link})"
    return [_anchored(row), row.ground, row.inputs, number, reason]


def _withdrawn(row: Any) -> list[str]:
    """Return the cells of a finding that was withdrawn."""
    link = f"[{row.notebook}](../notebooks/{row.notebook}.ipynb)"
    return [_anchored(row), f"{link}: {row.places}", row.reason]


def _anchored(row: Any) -> str:
    """Return the sentence of a finding, with an anchor to which its place links."""
    return f'<a id="{row.Index}"></a>{row.sentence}'
