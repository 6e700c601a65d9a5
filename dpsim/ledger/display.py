"""How the ledger is shown: the scoreboard of a notebook, the report, README's table, and counts in a sentence."""

from __future__ import annotations

import html
import math
import re
import tomllib
from collections.abc import Iterable
from typing import Any

import pandas as pd

from dpsim import checks, paths
from dpsim.ledger.rows import papers, published
from dpsim.ledger.verdicts import CLAIMS, RULE, VERDICTS, Found, is_seconds, judge

JUDGED = tuple(kind for kind in CLAIMS if kind != "slip")
"""The kinds of claim that can agree, in the order in which they are counted."""

LEGEND = (
    "".join(f"- `{word}`: {meaning}.\n" for word, meaning in VERDICTS.items())
    + "\nThe kind of claim is written behind the word:\n\n"
    + "".join(f"- `{kind}`: {CLAIMS[kind]}.\n" for kind in JUDGED)
    + f"\n{RULE}\n"
)
"""What the words and the kinds of claim mean, as Markdown."""

PHRASES = {
    "agrees": ("agrees with our results", "agree with our results"),
    "differs": ("differs", "differ"),
    "contradicted": ("is contradicted", "are contradicted"),
    "slip": ("is a slip", "are slips"),
    "not tested": ("could not be tested", "could not be tested"),
}
"""For each word, what a sentence says about one claim with this word, and what it says about several claims."""


def by_paper(table: pd.DataFrame) -> pd.DataFrame:
    """Return for each paper a verdict, the kinds of the claims that agree, and how many of its rows have each word.

    Parameters
    ----------
    table : DataFrame
        As `report` returns it.

    Returns
    -------
    DataFrame
        The index has the papers in the order of the rows. `verdict` is a sentence that counts the paper's claims under
        each word and names the places of those that do not hold; `kinds` says which kinds of claims agree. For each
        word of VERDICTS, a column counts the rows with this word on the scoreboard, which shows the rows that are
        judged.

    Examples
    --------
    >>> from dpsim import ledger
    >>> ledger.by_paper(ledger.report()).columns.tolist()
    ['verdict', 'kinds', 'agrees', 'differs', 'contradicted', 'slip', 'not tested']
    """
    parts = dict(list(_on_the_scoreboard(table).groupby("paper", sort=False)))
    said = {"verdict": map(_sentence, parts.values()), "kinds": map(_kinds, parts.values())}
    words = {word: [int((part["verdict"] == word).sum()) for part in parts.values()] for word in VERDICTS}
    return pd.DataFrame(said | words, index=pd.Index(parts, name="paper"))


def counts(paper: str) -> str:
    """Return one sentence of Markdown that says how many of a paper's claims have each word and links to the
    scoreboard, which is under the heading "The verdict" of the paper's notebook.

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


def _sentence(board: pd.DataFrame) -> str:
    """Return a sentence that says how many claims of one paper have each word, and that names the places of the claims
    that do not hold."""
    parts = []
    for word, (one, many) in PHRASES.items():
        places = board["where"][board["verdict"] == word]
        named = "" if word in ("agrees", "not tested") else f" ({'; '.join(dict.fromkeys(places))})"
        parts += [f"{len(places)} {one if len(places) == 1 else many}{named}"] if len(places) else []
    *first, last = parts or ["none was tested"]
    listed = f"{', '.join(first)}{',' * (len(first) > 1)} and {last}" if first else last
    return f"Of the paper's {_number(len(board), 'claim')}, {listed}."


def _kinds(board: pd.DataFrame) -> str:
    """Return how many of the claims of one paper that agree are of each kind, for example "1 value, 4 bounds and 6
    statements; 5 of them on an example"."""
    agreeing = board[board["verdict"] == "agrees"]
    if agreeing.empty:
        return ""
    found = agreeing["claim"].value_counts()
    *first, last = [_number(int(found[kind]), kind) for kind in JUDGED if kind in found]
    examples = int((agreeing["inputs"] == "example").sum())
    share = "all" if examples == len(agreeing) else str(examples)
    behind = f"; {share} of them on an example" if examples and len(agreeing) > 1 else ""
    behind = ", on an example" if examples and len(agreeing) == 1 else behind
    return f"{', '.join(first)} and {last}{behind}" if first else f"{last}{behind}"


def _number(count: int, what: str) -> str:
    """Return a count with its noun."""
    return f"{count} {what}{'s' * (count != 1)}"


def markdown(table: pd.DataFrame, folder: str = "") -> str:
    """Return the judged rows as Markdown, a table for each paper, free of measured seconds and dates.

    Parameters
    ----------
    table : DataFrame
        As `report` returns it.
    folder : str
        The folder of the notebooks, relative to the text; "" for no links. Each row links to its section of the site if
        pyproject.toml declares a site (`project.urls`, Documentation). Otherwise it links to its notebook, because
        GitHub's preview of a notebook ignores everything after a #.

    Examples
    --------
    >>> from dpsim import ledger
    >>> "|" in ledger.markdown(ledger.report())
    True
    """
    declared, site, parts = papers(), _site() if folder else "", []
    columns = {"where": "---", "the paper says": "---", "we find": "---:", "verdict": "---", "why": "---"}
    for paper, part in table.groupby("paper", sort=False):
        name, reference = declared.loc[paper, ["notebook", "reference"]]
        rows = []
        for row in part.itertuples():
            place = f"{site}/notebooks/{name}.html#{site_anchor(row.section)}" if site else f"{folder}/{name}.ipynb"
            where = f"[{row.where}]({place})" if folder else row.where
            rows.append([where, _says(row), _finds(row), row.shown, row.sentence])
        parts.append(f"### {reference}\n\n{_markdown_table(columns, rows)}")
    return "\n".join(parts)


def _markdown_table(columns: dict[str, str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a Markdown table. The columns are given by name, each with the mark that aligns it."""
    lines = [[str(cell).replace("|", "\\|") for cell in cells] for cells in (columns, columns.values(), *rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _site() -> str:
    """Return the address of the project's site as pyproject.toml declares it, or "" if it declares none."""
    path = paths.root() / "pyproject.toml"
    declared = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {}) if path.is_file() else {}
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
    """Return a Markdown table that says for each paper which notebook checks it, how many rows have each word, and
    which kinds of claims agree.

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
    declared, rows = papers(), []
    columns = {"notebook": "---", "paper": "---", "agrees": "---:", "kinds of claim that agree": "---"}
    for paper, counted in by_paper(table).iterrows():
        name, reference = declared.loc[paper, ["notebook", "reference"]]
        shown = f"[`{name}`]({folder}/{name}.ipynb)" if folder else f"`{name}`"
        agrees, *others = counted[list(VERDICTS)]
        rows.append([shown, reference, agrees, counted["kinds"], *others])
    return _markdown_table(columns | {word: "---:" for word in VERDICTS if word != "agrees"}, rows)


def scoreboard(paper: str) -> Any:
    """Return the paper's claims as a table for its notebook, made from data/published.csv alone.

    Parameters
    ----------
    paper : str
        As in data/published.csv.

    Returns
    -------
    object that Jupyter shows
        A table of the place of each claim, what the paper says, what was verified, the word with the kind of claim, and
        a sentence. The word links to the heading (column `section`) under which the claim is checked. Rows with the
        same word, kind and sentence share a line. The caption counts the words and explains them.
    """
    return _board(_judge_expected(paper))


def anchor(heading: str) -> str:
    """Return the fragment under which Jupyter finds a heading, for example 'Exact-epsilon:-Figure-5'.

    Parameters
    ----------
    heading : str
    """
    return heading.replace(" ", "-")


def _judge_expected(paper: str) -> pd.DataFrame:
    """Return the rows of a paper, judged by their verified values and not by those of a run."""
    checks.choice("paper", paper, papers().index)
    rows = published(paper)
    return judge(rows, pd.DataFrame({"value": rows["expected"], "standard_error": math.nan}))


def _on_the_scoreboard(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that a scoreboard shows. Rows that are not judged appear only in the report."""
    return table[table["inputs"] != "none"]


def _board(table: pd.DataFrame) -> Any:
    """Return the scoreboard of one paper, made from its judged rows."""
    board, paper = _on_the_scoreboard(table), str(table["paper"].iloc[0])
    rows = {row.Index: row for row in board.itertuples()}
    like = board.groupby(["where", "shown", "section", "sentence"], sort=False)
    lines = [_line([rows[index] for index in part.index]) for _, part in like]
    meanings = [f"<b>{word}</b>: {meaning}. " for word, meaning in VERDICTS.items() if word in set(board["verdict"])]
    meanings.append("<br>The kind of claim is written behind the word. ")
    meanings += [f"<b>{kind}</b>: {CLAIMS[kind]}. " for kind in JUDGED if kind in set(board["claim"])]
    rule = re.sub(r"\*(.+?)\*", r"<i>\1</i>", RULE)
    agreeing = f" Those that agree are {_kinds(board)}." if (board["verdict"] == "agrees").any() else ""
    about = f"<details><summary>What the words mean</summary>{''.join(meanings)}<br>{rule}</details>"
    caption = f"{_sentence(board)}{agreeing} Similar claims share a line.{about}"
    styler = pd.DataFrame(lines).style.hide(axis="index").set_caption(caption).set_uuid(f"scoreboard_{paper}")
    left = "text-align: left; vertical-align: top; white-space: normal"
    styler = styler.set_table_styles([{"selector": "th, td, caption", "props": left}])
    return styler.set_table_attributes('class="dataframe"')


def _line(rows: list[Any]) -> dict[str, str]:
    """Return one line of the scoreboard, as HTML, for rows that share their word and their sentence."""
    first, *rest = rows
    until = "; " if len(rows) == 2 else " to "
    says, found = (until.join([text(first), *map(text, rest[-1:])]) for text in (_says, _finds))
    cells = {"where": first.where, "the paper says": says, "we find": found, "verdict": "", "why": first.sentence}
    shown = {name: html.escape(str(text), quote=False) for name, text in cells.items()}
    word = f'<a href="#{html.escape(anchor(first.section))}">{first.shown}</a>'
    return shown | {"verdict": word, "why": re.sub("`(.+?)`", r"<code>\1</code>", shown["why"])}


def _says(row: Any) -> str:
    """Return what the paper says: the quantity, followed by the printed number, by the limit that a statement allows,
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
    """Return what was recorded, or the limit that a printed value should keep. Measured seconds are left out, because
    they differ in each run."""
    if is_seconds(row):
        return "measured in each run"
    if row.claim == "value" and row.relation:
        return f"{row.relation} {Found(row.limit)}"
    if math.isnan(row.reproduced):
        return ""
    if row.claim == "trend":
        return "falls" if row.reproduced < 0 else "rises"
    return f"{Found(row.reproduced)}" + ("" if math.isnan(row.standard_error) else f" ± {row.standard_error:.1g}")
