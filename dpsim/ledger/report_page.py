"""The text of figures/REPORT.md."""

from __future__ import annotations

from typing import Any

import pandas as pd

from dpsim.ledger.display import LEGEND, markdown
from dpsim.ledger.rows import Found
from dpsim.ledger.table_formats import markdown_table
from dpsim.ledger.verdicts import GROUNDS

OPENING = """\
# What the papers report, and what we find

![A dot for each claim of the papers: our number divided by the number that the paper \
reports, or by the limit that it states.](00_overview/fig3_numbers.png)

*All claims at once.* Each dot is our number divided by the number that the paper \
reports, or by the limit that it states. The contradicted claims and the slips \
are labelled.

[What we claim ourselves](#what-we-claim-ourselves) is judged below in the same way.
"""

RULES = "[data/LEDGER.md](../data/LEDGER.md) says how a claim is judged.\n"
"""A line for readers who doubt a verdict or want to add a claim."""

OURS = """\
## What we claim ourselves

Each sentence in which we give advice or compare mechanisms has a row here, and a link
from the sentence leads to the row. What the sentence rests on follows from the row:
"""


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
    told = markdown(claims, "../notebooks")
    asked = f"{about_letters(claims)}\n"
    return "\n".join(
        [OPENING, LEGEND, RULES, "## The claims\n", asked, told, findings_text(ours)]
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
    grounds = markdown_table(
        ("ground", "meaning"),
        [(f"`{word}`", meaning) for word, meaning in GROUNDS.values()],
        range(2),
    )
    withdrawn = ours["basis"] == "withdrawn"
    stands = [_finding(row) for row in ours[~withdrawn].itertuples()]
    fell = [_withdrawn(row) for row in ours[withdrawn].itertuples()]
    columns = ("we say", "ground", "tried on", "number that decides", "reason")
    return (
        "\n\n".join(
            [
                OURS.rstrip("\n"),
                grounds,
                markdown_table(columns, stands, range(5)),
                "### Advice that was withdrawn",
                markdown_table(("we said", "where", "counterexample"), fell, range(3)),
            ]
        )
        + "\n"
    )


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
