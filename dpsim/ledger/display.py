"""How the ledger is shown: the scoreboard of a notebook, the report, README's table,
and counts in a sentence."""

from __future__ import annotations

import html
import math
import re
import tomllib
from typing import Any

import pandas as pd

from dpsim import checks, paths
from dpsim.ledger.rows import Found, papers, published
from dpsim.ledger.tables import LEFT, html_table, markdown_table
from dpsim.ledger.verdicts import CLAIMS, RULE, VERDICTS, is_seconds, judge

JUDGED = tuple(kind for kind in CLAIMS if kind != "slip")
"""The kinds of claim that can agree, in the order in which they are explained."""

LEGEND = "\n".join(
    [
        "## What the words mean\n",
        markdown_table(
            dict.fromkeys(("verdict", "meaning", "example"), "---"),
            [(f"`{word}`", *told) for word, told in VERDICTS.items()],
        ),
        "The kind of claim follows the verdict, for example `agrees: bound`.\n",
        markdown_table(
            dict.fromkeys(("kind of claim", "what is compared", "example"), "---"),
            [(f"`{kind}`", *CLAIMS[kind]) for kind in JUDGED],
        ),
        f"{RULE}\n",
    ]
)
"""What the verdicts and the kinds of claim mean, as Markdown."""

FAILING = ("contradicted", "differs", "slip")
"""The verdicts whose reason the scoreboard shows."""

GREY = "color: #767676"
"""The style of what this run has not recorded; it can be read on white and on black."""

REPORT = "../figures/REPORT.md"
"""The report, as a notebook links to it."""

PHRASES = {
    "agrees": ("agrees with our results", "agree with our results"),
    "differs": ("differs", "differ"),
    "contradicted": ("is contradicted", "are contradicted"),
    "slip": ("is a slip", "are slips"),
    "not tested": ("could not be tested", "could not be tested"),
}
"""For each word, what a sentence says about one claim with this word, and what it says
about several claims."""


def by_paper(table: pd.DataFrame) -> pd.DataFrame:
    """Return for each paper a verdict, and how many of its rows have each word.

    Parameters
    ----------
    table : DataFrame
        As `report` returns it.

    Returns
    -------
    DataFrame
        The index has the papers in the order of the rows. `verdict` is a sentence that
        counts the paper's claims under each word and names the places of those that do
        not hold. For each word of VERDICTS, a column counts the rows with this word on
        the scoreboard, which shows the rows that are judged.

    Examples
    --------
    >>> from dpsim import ledger
    >>> ledger.by_paper(ledger.report()).columns.tolist()
    ['verdict', 'agrees', 'differs', 'contradicted', 'slip', 'not tested']
    """
    parts = dict(list(_on_the_scoreboard(table).groupby("paper", sort=False)))
    found: dict[str, list[Any]] = {
        "verdict": [_sentence(part) for part in parts.values()]
    }
    for word in VERDICTS:
        found[word] = [int((part["verdict"] == word).sum()) for part in parts.values()]
    return pd.DataFrame(found, index=pd.Index(parts, name="paper"))


def counts(paper: str) -> str:
    """Return one sentence of Markdown that says how many of a paper's claims have each
    word and links to the scoreboard, which is under the heading "The verdict" of the
    paper's notebook.

    Parameters
    ----------
    paper : str
        As in data/published.csv.

    Examples
    --------
    >>> from dpsim import ledger
    >>> ledger.counts(ledger.papers().index[0]).startswith("Of the paper's ")
    True
    """
    sentence = _sentence(_on_the_scoreboard(_judge_expected(paper))).removesuffix(".")
    return f"{sentence} ([scoreboard](#The-verdict))."


def _sentence(board: pd.DataFrame, *, named: bool = True) -> str:
    """Return a sentence that says how many claims of one paper have each word, and that
    names the places of the claims that do not hold unless `named` is False."""
    parts = []
    for word, (one, many) in PHRASES.items():
        places = board["where"][board["verdict"] == word]
        among = (
            f" ({'; '.join(dict.fromkeys(places))})"
            if named and word in FAILING
            else ""
        )
        parts += (
            [f"{len(places)} {one if len(places) == 1 else many}{among}"]
            if len(places)
            else []
        )
    *first, last = parts or ["none was tested"]
    listed = f"{', '.join(first)}{',' * (len(first) > 1)} and {last}" if first else last
    return f"Of the paper's {_number(len(board), 'claim')}, {listed}."


def _number(count: int, what: str) -> str:
    """Return a count with its noun."""
    return f"{count} {what}{'s' * (count != 1)}"


def markdown(table: pd.DataFrame, folder: str = "") -> str:
    """Return the judged rows as Markdown, a table for each paper below what its authors
    have answered, free of measured seconds and dates.

    Parameters
    ----------
    table : DataFrame
        As `report` returns it.
    folder : str
        The folder of the notebooks, relative to the text; "" for no links. Each row
        links to its section of the site if pyproject.toml declares a site
        (`project.urls`, Documentation). Otherwise it links to its notebook, because
        GitHub's preview of a notebook ignores everything after a #.

    Examples
    --------
    >>> from dpsim import ledger
    >>> "|" in ledger.markdown(ledger.report())
    True
    """
    declared = papers()
    site = _site() if folder else ""
    parts = []
    columns = {
        "where": "---",
        "the paper says": "---",
        "we find": "---:",
        "verdict": "---",
        "why": "---",
    }
    for paper, part in table.groupby("paper", sort=False):
        name, reference = declared.loc[paper, ["notebook", "reference"]]
        rows = []
        for row in part.itertuples():
            place = (
                f"{site}/notebooks/{name}.html#{site_anchor(row.section)}"
                if site
                else f"{folder}/{name}.ipynb"
            )
            where = f"[{row.where}]({place})" if folder else row.where
            rows.append([where, _says(row), _finds(row), row.shown, row.sentence])
        answer = declared.loc[paper, "answer"]
        told = f"**The authors' answer.** {answer}\n\n" if answer else ""
        parts.append(f"### {reference}\n\n{told}{markdown_table(columns, rows)}")
    return "\n".join(parts)


def _site() -> str:
    """Return the address of the project's site as pyproject.toml declares it, or "" if
    it declares none."""
    path = paths.root() / "pyproject.toml"
    declared = (
        tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
        if path.is_file()
        else {}
    )
    return str(declared.get("urls", {}).get("Documentation", "")).rstrip("/")


def site_anchor(heading: str) -> str:
    """Return the id that Sphinx gives a heading on the project's site.

    Parameters
    ----------
    heading : str

    Examples
    --------
    >>> from dpsim import ledger
    >>> ledger.site_anchor("Exact epsilon: Figure 5")
    'exact-epsilon-figure-5'
    """
    return re.sub("[^a-z0-9]+", "-", heading.lower()).strip("-")


def summary(table: pd.DataFrame, folder: str = "") -> str:
    """Return a Markdown table that says for each paper which notebook checks it, and
    how many of its claims have each verdict. A verdict that no claim has is left out.

    Parameters
    ----------
    table : DataFrame
        As `report` returns it.
    folder : str
        The folder of the notebooks, relative to the text; "" for no links.

    Examples
    --------
    >>> from dpsim import ledger
    >>> ledger.summary(ledger.report()).startswith("| notebook | paper | agrees |")
    True
    """
    declared = papers()
    counted = by_paper(table)
    words = [word for word in VERDICTS if word == "agrees" or counted[word].any()]
    rows = []
    for paper, found in counted.iterrows():
        name, reference = declared.loc[paper, ["notebook", "reference"]]
        shown = f"[`{name}`]({folder}/{name}.ipynb)" if folder else f"`{name}`"
        rows.append([shown, reference, *found[words]])
    columns = {"notebook": "---", "paper": "---"} | dict.fromkeys(words, "---:")
    return markdown_table(columns, rows)


def anchor(heading: str) -> str:
    """Return the fragment under which Jupyter finds a heading, for example
    'Exact-epsilon:-Figure-5'.

    Parameters
    ----------
    heading : str
    """
    return heading.replace(" ", "-")


def _judge_expected(paper: str) -> pd.DataFrame:
    """Return the rows of a paper, judged by their verified values and not by those of a
    run."""
    checks.choice("paper", paper, papers().index)
    rows = published(paper)
    return judge(
        rows, pd.DataFrame({"value": rows["expected"], "standard_error": math.nan})
    )


def _on_the_scoreboard(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that a scoreboard shows. Rows that are not judged appear only in
    the report."""
    return table[table["inputs"] != "none"]


def board(table: pd.DataFrame, about: str) -> str:
    """Return the scoreboard of one paper as HTML.

    Parameters
    ----------
    table : DataFrame
        The paper's rows as `judge` returns them, with the columns `recorded` (whether
        this run recorded the row) and `template` (its sentence before the numbers were
        filled in).
    about : str
        A sentence about the run, or "".
    """
    table = _on_the_scoreboard(table)
    fails = table["verdict"].isin(FAILING)
    table = table.assign(
        reason=table["sentence"].where(fails, ""),
        like=table["sentence"].where(fails, table["template"]),
    )
    rows = {row.Index: row for row in table.itertuples()}
    alike = table.groupby(["where", "shown", "section", "like", "recorded"], sort=False)
    lines = [_line([rows[index] for index in part.index]) for _, part in alike]
    said = [_sentence(table, named=False)]
    if len(lines) < len(table):
        said.append("Similar claims share a line.")
    said.append(html.escape(about, quote=False))
    if not table["recorded"].all():
        said.append(
            f'A number <span style="{GREY}">in grey</span> is from a run with the usual parameters.'
        )
    said.append(
        f'The reasons for all verdicts, and what the words mean, are in <a href="{REPORT}">the report</a>.'
    )
    columns = dict.fromkeys(("where", "the paper says", "we find", "verdict"), LEFT)
    return html_table(columns, lines, " ".join(filter(None, said)))


def _line(rows: list[Any]) -> list[str]:
    """Return the cells of one line of the scoreboard, as HTML, for rows with the same
    verdict and reason."""
    first, *rest = rows
    until = "; " if len(rows) == 2 else " to "
    ends = [first, *rest[-1:]]
    says = html.escape(until.join(map(_says, ends)), quote=False)
    finds = html.escape(until.join(map(_finds, ends)), quote=False)
    where = f'<a href="#{html.escape(anchor(first.section))}">{html.escape(first.where, quote=False)}</a>'
    shown = first.shown
    if not first.recorded:
        finds = f'<span style="{GREY}">{finds}</span>'
        shown = f'<span style="{GREY}">{shown}</span>'
    if first.reason:
        reason = html.escape(first.reason, quote=False)
        reason = re.sub("`(.+?)`", r"<code>\1</code>", reason)
        shown = f"{shown}.<br>{reason}"
    return [where, says, finds, shown]


def _says(row: Any) -> str:
    """Return what the paper says: the quantity, followed by the published number, by the limit that a statement allows,
    or by the correct value for a slip."""
    said = row.printed
    if row.claim == "bound":
        said = f"{row.relation} {row.printed}"
    if row.claim == "slip":
        said = f"should be {row.printed}"
    if row.claim == "statement" and row.relation:
        said = f"{row.relation.removeprefix('equal to').lstrip()} {Found(row.limit)}".lstrip()
    return f"{row.quantity}: {said} {row.unit}".rstrip() if said else str(row.quantity)


def _finds(row: Any) -> str:
    """Return what was recorded, or the limit of a published value. Measured seconds are left out, because
    they differ in each run."""
    if is_seconds(row):
        return "measured in each run"
    if row.claim == "value" and row.relation:
        return f"{row.relation} {Found(row.limit)}"
    if math.isnan(row.reproduced):
        return ""
    if row.claim == "trend":
        return "falls" if row.reproduced < 0 else "rises"
    return f"{Found(row.reproduced)}" + (
        "" if math.isnan(row.standard_error) else f" ± {row.standard_error:.1g}"
    )
