"""The tables of the papers' claims, and the scoreboards."""

from __future__ import annotations

import html
import math
import re
import tomllib
from typing import Any

import pandas as pd

from dpsim import paths
from dpsim.ledger.rows import Found, papers
from dpsim.ledger.table_formats import html_table, markdown_table
from dpsim.ledger.verdicts import VERDICTS, is_seconds

FAILING = ("contradicted", "differs", "slip")
"""The verdicts on claims that do not hold. The scoreboard gives a reason with each of
them."""

GREY = "color: #767676"
"""The style of a number that this run has not recorded; the colour is legible on white
and on black."""

REPORT = "../figures/REPORT.md"
"""The link from a notebook to the report."""

PHRASES = {
    "agrees": ("agrees with our results", "agree with our results"),
    "differs": ("differs", "differ"),
    "contradicted": ("is contradicted", "are contradicted"),
    "slip": ("is a slip", "are slips"),
    "not tested": ("could not be tested", "could not be tested"),
}
"""How a sentence states each verdict, first on one claim and then on several."""


def by_paper(table: pd.DataFrame) -> pd.DataFrame:
    """Return a summary of the verdicts on each paper. Rows that are not judged are left
    out.

    Parameters
    ----------
    table : DataFrame
        As `judged_claims` returns it.

    Returns
    -------
    DataFrame
        A row for each paper, in the order of the table. `verdict` is a sentence that
        states how many claims have each verdict, and where in the paper the claims that
        do not hold are made. The other columns contain the same numbers, one column for
        each verdict.

    Examples
    --------
    >>> from dpsim import ledger
    >>> ledger.by_paper(ledger.judged_claims()).columns.tolist()
    ['verdict', 'agrees', 'differs', 'contradicted', 'slip', 'not tested']
    """
    rows = {}
    for paper, part in _judged(table).groupby("paper", sort=False):
        counted = part["verdict"].value_counts().reindex(VERDICTS, fill_value=0)
        rows[paper] = {"verdict": _sentence(part), **counted}
    columns = ["verdict", *VERDICTS]
    return pd.DataFrame.from_dict(rows, "index", columns=columns).rename_axis("paper")


def _judged(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are judged. The other rows appear only in the report."""
    return table[table["inputs"] != "none"]


def _sentence(claims: pd.DataFrame, *, named: bool = True) -> str:
    """Return a sentence that states how many claims of one paper have each verdict and,
    if `named` is True, where the claims that do not hold are made."""
    parts = []
    for word, (one, many) in PHRASES.items():
        places = claims["where"][claims["verdict"] == word]
        if places.empty:
            continue
        part = f"{len(places)} {one if len(places) == 1 else many}"
        if named and word in FAILING:
            part += f" ({'; '.join(places.unique())})"
        parts.append(part)
    *first, last = parts or ["none was tested"]
    listed = last
    if first:
        comma = "," if len(first) > 1 else ""
        listed = f"{', '.join(first)}{comma} and {last}"
    noun = "claim" if len(claims) == 1 else "claims"
    return f"Of the paper's {len(claims)} {noun}, {listed}."


def markdown(table: pd.DataFrame, folder: str = "") -> str:
    """Return the judged rows as Markdown: for each paper, the authors' answer, if there
    is one, and a table.

    Neither measured times nor dates are shown, so two runs give the same text.

    Parameters
    ----------
    table : DataFrame
        As `judged_claims` returns it.
    folder : str
        The folder of the notebooks, relative to the file with this text; "" for no
        links. If pyproject.toml declares a site (`project.urls`, Documentation), each
        row links to its section on the site. Otherwise the row links to the whole
        notebook, because GitHub does not support links to a section of a notebook.

    Examples
    --------
    >>> from dpsim import ledger
    >>> "|" in ledger.markdown(ledger.judged_claims())
    True
    """
    declared = papers()
    site = _site() if folder else ""
    parts = []
    columns = ("where", "the paper says", "we find", "verdict", "why")
    for paper, part in table.groupby("paper", sort=False):
        name = declared.loc[paper, "notebook"]
        rows = []
        for row in part.itertuples():
            where = row.where
            if site:
                page = f"{site}/notebooks/{name}.html"
                where = f"[{where}]({page}#{site_anchor(row.section)})"
            elif folder:
                where = f"[{where}]({folder}/{name}.ipynb)"
            rows.append([where, _says(row), _finds(row), row.shown, row.sentence])
        parts.append(f"### {declared.loc[paper, 'reference']}")
        if answer := declared.loc[paper, "answer"]:
            parts.append(f"**The authors' answer.** {answer}")
        parts.append(markdown_table(columns, rows, (0, 1, 3, 4)))
    return "\n\n".join(parts) + "\n"


def _site() -> str:
    """Return the address of the project's site, or "" if pyproject.toml declares
    none."""
    path = paths.root() / "pyproject.toml"
    if not path.is_file():
        return ""
    project = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
    return str(project.get("urls", {}).get("Documentation", "")).rstrip("/")


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


def text(table: pd.DataFrame, width: int) -> str:
    """Return the rows as lines of text: for each paper, the name of each row, what the
    paper says, what we find, and the verdict.

    Parameters
    ----------
    table : DataFrame
        As `judged_claims` returns it.
    width : int
        The number of columns of the terminal. What the paper says is shortened to fit,
        and below 100 columns the verdict stands without the kind of claim.

    Examples
    --------
    >>> from dpsim import ledger
    >>> max(map(len, ledger.text(ledger.judged_claims(), 80).splitlines())) <= 80
    True
    """
    wide = width >= 100
    verdicts = table["shown" if wide else "verdict"]
    finds = {
        row.Index: _finds(row).removesuffix(" in each run")
        for row in table.itertuples()
    }
    if not wide:
        finds = {id: found.partition(" ±")[0] for id, found in finds.items()}
    names = table.index.str.partition(".").get_level_values(2)
    first, third = (max(map(len, column)) for column in (names, finds.values()))
    second = max(width - first - third - verdicts.str.len().max() - 6, 12)
    form = f"{{:{first}}}  {{:{second}}}  {{:>{third}}}  {{}}"
    lines = []
    for paper, part in table.groupby("paper", sort=False):
        lines += ["", papers().loc[paper, "reference"][:width]]
        for row in part.itertuples():
            says = _shortened(row, second)
            name = row.Index.partition(".")[2]
            lines.append(form.format(name, says, finds[row.Index], verdicts[row.Index]))
    return "\n".join(lines)


def _shortened(row: Any, width: int) -> str:
    """Return what the paper says with a quantity that is shortened to fit a width."""
    number = _number(row).replace("at most", "≤").replace("at least", "≥")
    number = f": {number}" if number else ""
    room = width - len(number)
    quantity = row.quantity
    if len(quantity) > room:
        quantity = f"{quantity[: max(room - 1, 0)]}…"
    return f"{quantity}{number}"


def anchor(heading: str) -> str:
    """Return the URL fragment of a heading in Jupyter, for example
    "Exact-epsilon:-Figure-5"."""
    return heading.replace(" ", "-")


def board(table: pd.DataFrame, about: str) -> str:
    """Return the scoreboard of one paper as HTML.

    Parameters
    ----------
    table : DataFrame
        The paper's rows as `judge` returns them, with two more columns: `recorded` says
        whether this run recorded the row, and `template` is the row's sentence without
        the numbers.
    about : str
        A sentence about the run, or "".
    """
    table = _judged(table)
    fails = table["verdict"].isin(FAILING)
    table = table.assign(
        reason=table["sentence"].where(fails, ""),
        like=table["sentence"].where(fails, table["template"]),
    )
    rows = {row.Index: row for row in table.itertuples()}
    alike = table.groupby(["where", "shown", "section", "like", "recorded"], sort=False)
    lines = [_line([rows[id] for id in part.index]) for _, part in alike]
    said = [_sentence(table, named=False)]
    if len(lines) < len(table):
        said.append("Similar claims share a line.")
    if about:
        said.append(html.escape(about, quote=False))
    if not table["recorded"].all():
        said.append(
            f'A number <span style="{GREY}">in grey</span> is from a run with the '
            "usual parameters."
        )
    said.append(
        "The reasons for all verdicts, and what the words mean, are in <a "
        f'href="{REPORT}">the report</a>.'
    )
    columns = ("where", "the paper says", "we find", "verdict")
    return html_table(columns, lines, " ".join(said))


def _line(rows: list[Any]) -> list[str]:
    """Return, as HTML, the cells of the scoreboard line shared by rows that have the
    same verdict and reason."""
    first, *rest = rows
    until = "; " if len(rows) == 2 else " to "
    ends = [first, *rest[-1:]]
    says = html.escape(until.join(map(_says, ends)), quote=False)
    finds = html.escape(until.join(map(_finds, ends)), quote=False)
    place = html.escape(anchor(first.section))
    where = f'<a href="#{place}">{html.escape(first.where, quote=False)}</a>'
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
    """Return what the paper says: the quantity, and the number that it reports."""
    said = _number(row)
    return f"{row.quantity}: {said}" if said else str(row.quantity)


def _number(row: Any) -> str:
    """Return the published number, the limit of a statement or, for a slip, the correct
    value."""
    said = row.printed
    if row.claim == "bound":
        said = f"{row.relation} {row.printed}"
    if row.claim == "slip":
        said = f"should be {row.printed}"
    if row.claim == "statement" and row.relation:
        relation = row.relation.removeprefix("equal to")
        said = f"{relation} {Found(row.limit)}".lstrip()
    return f"{said} {row.unit}".rstrip() if said else ""


def _finds(row: Any) -> str:
    """Return what we find: the recorded number, or the limit that a published value
    must not violate. A measured time is not shown."""
    if is_seconds(row):
        return "measured in each run"
    if row.claim == "value" and row.relation:
        return f"{row.relation} {Found(row.limit)}"
    if math.isnan(row.reproduced):
        return ""
    if row.claim == "trend":
        return "falls" if row.reproduced < 0 else "rises"
    number = f"{Found(row.reproduced)}"
    if math.isnan(row.standard_error):
        return number
    return f"{number} ± {row.standard_error:.1g}"
