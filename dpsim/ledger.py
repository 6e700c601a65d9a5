"""The ledger: every published number beside the reproduced one, and a word for it that follows from a stated rule."""

from __future__ import annotations

import html
import json
import math
import re
from decimal import Decimal
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from dpsim import checks, files, paths

VERDICTS = {
    "agrees": "we find what the paper says, to its last printed digit or within three standard errors",
    "differs": "from the paper's own inputs we find another number or direction, and no proof excludes the printed one",
    "contradicted": "the paper's own formula, another of its statements, a proof or a counterexample excludes it",
    "not tested": "data, inputs or a formula are missing, or a choice of ours decides: our number settles nothing",
}
"""The four words, and what they mean."""

RULE = "Each row is judged under the reading most favourable to the paper, and all rows of a paper under the same one."
"""The rule of the words in a sentence; data/README.md has the whole."""

LEGEND = "".join(f"- `{word}`: {meaning}.\n" for word, meaning in VERDICTS.items()) + f"\n{RULE}\n"
"""What the words mean, as Markdown."""

FALSE_ALARM, SEEDS = 1e-3, 20
"""The chance that any sampled row misses what was verified in that many full runs with other seeds, at most."""


def papers() -> pd.DataFrame:
    """Return data/papers.csv indexed by id, in the order of the report: the one place that declares a paper.

    Returns
    -------
    DataFrame
        `notebook`, which settles the paper's rows; `reference`, authors, year and subject; `address`, by which
        CITATION.cff has it.

    Examples
    --------
    >>> from dpsim import ledger
    >>> set(ledger.papers().index) == set(ledger.published()["paper"])
    True
    """
    return pd.read_csv(paths.data() / "papers.csv", dtype=str, index_col="id")


def published() -> pd.DataFrame:
    """Return data/published.csv indexed by id: the published values, the basis of each word, what we verified.

    Returns
    -------
    DataFrame
        Columns as in data/README.md. `published`, `expected` and `limit` are numbers, NaN where there is none;
        `printed` is the text of `published`, and `published_unit`, `expected_unit` and `limit_unit` are the units of
        their last digits.

    Examples
    --------
    >>> from dpsim import ledger
    >>> bool(ledger.published().index.is_unique)
    True
    """
    table = pd.read_csv(paths.data() / "published.csv", dtype=str, keep_default_na=False, index_col="id")
    table["printed"] = table["published"]
    for column in ("published", "expected", "limit"):
        table[f"{column}_unit"] = [_unit(text) for text in table[column]]
    for column in ("published", "expected", "limit", "draws", "deviation"):
        table[column] = pd.to_numeric(table[column], errors="coerce")
    return table


def record(row: str, value: float, *, standard_error: float | None = None, output: str = "") -> None:
    """Record the reproduced value of one ledger row, to six significant digits.

    Parameters
    ----------
    row : str
        The id of a row of data/published.csv.
    value : float
        Finite.
    standard_error : float, optional
        Of a value that was drawn.
    output : str
        The folder whose results.json holds it; "" writes nothing. Rows of speed go to timings.json: results.json is
        the same in every run.
    """
    rows = published()
    if row not in rows.index:
        raise ValueError(f"row must be an id of data/published.csv, got {row!r}")
    found = {"value": json.loads(files.number(checks.scalar(f"value of {row}", value))), "standard_error": None}
    if standard_error is not None:
        error = checks.scalar(f"standard_error of {row}", standard_error, 0)
        found["standard_error"] = json.loads(files.number(error))
    if output:
        path = Path(output) / ("timings.json" if rows.loc[row, "basis"] == "speed" else "results.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        held = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        files.write_json(path, dict(sorted((held | {row: found}).items())))


def results(folder: Path) -> pd.DataFrame:
    """Return value and standard_error (NaN: none) by id in a run's folder: results.json and, where it is, timings.json.

    Parameters
    ----------
    folder : Path

    Examples
    --------
    >>> from dpsim import ledger, paths
    >>> ledger.results(paths.figures() / "nowhere").empty
    True
    """
    found = pd.DataFrame(columns=["value", "standard_error"], dtype=float)
    for path in (folder / "timings.json", folder / "results.json"):
        try:
            held = {**json.loads(path.read_text(encoding="utf-8"))} if path.is_file() else {}
            found = pd.DataFrame.from_dict(held, "index", float, found.columns).combine_first(found)
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"{path} must hold value and standard_error of each id as json, and is damaged") from error
    return found


def judge(rows: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with columns reproduced, standard_error, verdict and ok; the sentences are filled.

    Parameters
    ----------
    rows
        Rows of `published`.
    values
        Recorded value and standard_error by id, as `results` returns them.

    Returns
    -------
    DataFrame
        `verdict` is one of `VERDICTS` by the rule of the basis (data/README.md), and says what is wrong where `ok` is
        False: for a row without a value, for one whose evidence does not carry its basis, and for one that misses
        `expected`, what was verified, by more than the unit of its last digit and chance (`FALSE_ALARM`), or whose
        word is another one there. Rows of speed are always in order.
    """
    table, alarm = rows.join(values.rename(columns={"value": "reproduced"})), _alarm()
    filled = zip(table["sentence"], table["reproduced"], table["limit"])
    table["sentence"] = [text.format(found=_Found(found), limit=_Found(limit)) for text, found, limit in filled]
    judged = [_judged(row, alarm) for row in table.itertuples()]
    return table.join(pd.DataFrame(judged, table.index, ["verdict", "ok"]))


def report(folder: Path | None = None) -> pd.DataFrame:
    """Return all rows judged, papers in the order of `papers`.

    Parameters
    ----------
    folder : Path, optional
        Where the notebooks' results are, <folder>/<notebook>/results.json; None: the committed figures.

    Examples
    --------
    >>> from dpsim import ledger
    >>> len(ledger.report()) == len(ledger.published())
    True
    """
    base, rows = paths.figures() if folder is None else folder, published()
    made = papers()["notebook"].items()
    return pd.concat([judge(rows[rows["paper"] == paper], results(base / notebook)) for paper, notebook in made])


def by_paper(table: pd.DataFrame) -> pd.DataFrame:
    """Return a verdict per paper, and how many of its rows have which word.

    Parameters
    ----------
    table : DataFrame
        As `report` returns it.

    Returns
    -------
    DataFrame
        Index: papers as they come. `verdict` is a sentence that names the places of the paper under each word, those
        that agree on stand-ins apart, and how many of a place's rows have the word where not all do. A column for each
        of VERDICTS counts the rows of the scoreboard, those of every basis but identity and speed.

    Examples
    --------
    >>> from dpsim import ledger
    >>> ledger.by_paper(ledger.report()).columns.tolist()
    ['verdict', 'agrees', 'differs', 'contradicted', 'not tested']
    """
    board = _on_the_scoreboard(table)
    papers = board["paper"].unique()
    counts = pd.crosstab(board["paper"], board["verdict"]).reindex(papers, columns=list(VERDICTS), fill_value=0)
    counts.insert(0, "verdict", [_sentence(board[board["paper"] == paper]) for paper in papers])
    return counts.rename_axis(columns=None)


def _sentence(board: pd.DataFrame) -> str:
    """Return what agrees of one paper, on which inputs, and what does not, by the places of its rows."""
    words = board["verdict"].mask((board["verdict"] == "agrees") & (board["basis"] == "standin"), "agrees on stand-ins")
    rows, parts = board["where"].value_counts(), []
    for word in ("agrees", "agrees on stand-ins", "differs", "contradicted", "not tested"):
        found = board["where"][words == word].value_counts(sort=False)
        named = [place if n == rows[place] else f"{place} ({n} of {rows[place]})" for place, n in found.items()]
        parts += [f"{word}: {', '.join(named)}"] if named else []
    return "; ".join(parts)


def markdown(table: pd.DataFrame, folder: str = "") -> str:
    """Return the judged rows as Markdown, a table a paper, free of measured seconds and dates.

    Parameters
    ----------
    table : DataFrame
        As `report` returns it.
    folder : str
        Where the notebooks are, seen from the text: each row leads to its section there. "" for no links.

    Examples
    --------
    >>> from dpsim import ledger
    >>> "|" in ledger.markdown(ledger.report())
    True
    """
    titles, lines = papers()["reference"], []
    for paper, part in table.groupby("paper", sort=False):
        lines += [
            f"### {titles[paper]}",
            "",
            "| where | the paper says | we find | | |",
            "| --- | --- | ---: | --- | --- |",
        ]
        for row in part.itertuples():
            where = f"[{row.where}]({folder}/{evidence(row)})" if folder else row.where
            cells = [where, _says(row), _finds(row), row.verdict, row.sentence]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def summary(table: pd.DataFrame, folder: str = "") -> str:
    """Return as Markdown each paper with its notebook, its verdict and how many rows have which word.

    Parameters
    ----------
    table : DataFrame
        As `report` returns it.
    folder : str
        Where the notebooks are, seen from the text; "" for no links.

    Examples
    --------
    >>> from dpsim import ledger
    >>> ledger.summary(ledger.report()).startswith("| notebook | paper | verdict |")
    True
    """
    head = ("notebook", "paper", "verdict", *VERDICTS)
    lines = [f"| {' | '.join(head)} |", "| --- | --- | --- |" + " ---: |" * len(VERDICTS)]
    declared = papers()
    for paper, row in by_paper(table).iterrows():
        name, reference = declared.loc[paper, ["notebook", "reference"]]
        shown = f"[`{name}`]({folder}/{name}.ipynb)" if folder else f"`{name}`"
        lines.append("| " + " | ".join([shown, reference, *map(str, row)]) + " |")
    return "\n".join(lines) + "\n"


def scoreboard(paper: str) -> Any:
    """Return the paper's claims as a table for the top of its notebook, made from data/published.csv alone.

    Parameters
    ----------
    paper : str
        As in data/published.csv.

    Returns
    -------
    object that Jupyter shows
        Where, what the paper says, what we verified, the word, which leads to the heading (column `section`) that
        settles it, and the sentence. Rows that share word and sentence share a line; the verdict is the caption.
    """
    checks.choice("paper", paper, papers().index)
    rows = published().query("paper == @paper")
    return _board(judge(rows, pd.DataFrame({"value": rows["expected"], "standard_error": math.nan})))


def anchor(heading: str) -> str:
    """Return the fragment under which Jupyter finds a heading.

    Parameters
    ----------
    heading : str

    Examples
    --------
    >>> from dpsim import ledger
    >>> ledger.anchor("Exact epsilon: Figure 5")
    'Exact-epsilon:-Figure-5'
    """
    return heading.replace(" ", "-")


def evidence(row: Any) -> str:
    """Return where a row is settled: its notebook and the fragment of the heading there.

    Parameters
    ----------
    row : named tuple
        Of `report`, with `paper` and `section`.

    Examples
    --------
    >>> from dpsim import ledger
    >>> ledger.evidence(next(ledger.report().itertuples())).partition("#")[0].endswith(".ipynb")
    True
    """
    return f"{papers().loc[row.paper, 'notebook']}.ipynb#{anchor(row.section)}"


def _on_the_scoreboard(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that a scoreboard shows: what is true by construction and seconds are left to the report."""
    return table[~table["basis"].isin(["identity", "speed"])]


def _board(table: pd.DataFrame) -> Any:
    """Return judged rows of one paper as its scoreboard."""
    board, paper = _on_the_scoreboard(table), str(table["paper"].iloc[0])
    rows = {row.Index: row for row in board.itertuples()}
    like = board.groupby(["where", "verdict", "section", "sentence"], sort=False)
    lines = [_line([rows[index] for index in part.index]) for _, part in like]
    counts = by_paper(table).loc[paper]
    sentence, words = counts.pop("verdict"), ", ".join(f"{word} {count}" for word, count in counts.items())
    caption = (
        f"{words} (like rows share a line).<br>{sentence}.<br>"
        + "".join(f"<b>{word}</b>: {VERDICTS[word]}. " for word in VERDICTS)
        + RULE
    )
    styler = pd.DataFrame(lines).style.hide(axis="index").set_caption(caption).set_uuid(f"scoreboard_{paper}")
    left = "text-align: left; vertical-align: top; white-space: normal"
    styler = styler.set_table_styles([{"selector": "th, td, caption", "props": left}])
    return styler.set_table_attributes('class="dataframe"')


def _line(rows: list[Any]) -> dict[str, str]:
    """Return one line of the scoreboard, as HTML, for rows that share their word and their sentence."""
    first, last = rows[0], rows[-1]
    says, found = _says(first), _finds(first)
    if len(rows) > 1:
        until = "; " if len(rows) == 2 else " to "
        says, found = f"{says}{until}{_says(last)}", f"{found}{until}{_finds(last)}"
    word = f'<a href="#{html.escape(anchor(first.section))}">{first.verdict}</a>'
    cells = {"where": first.where, "the paper says": says, "we find": found, "verdict": "", "why": first.sentence}
    shown = {name: html.escape(str(text), quote=False) for name, text in cells.items()}
    return shown | {"verdict": word, "why": re.sub("`(.+?)`", r"<code>\1</code>", shown["why"])}


def _says(row: Any) -> str:
    """Return what the paper says: the quantity and what is printed, or what a false statement allows."""
    printed = row.printed or (f"{row.limit:.4g}" if row.basis == "false" else "")
    limited = row.relation in ("at most", "at least") and row.basis != "contradiction"
    bound = f"{row.relation} " if printed and limited else ""
    return f"{row.quantity}: {bound}{printed} {row.unit}".rstrip(": ")


def _finds(row: Any) -> str:
    """Return what was recorded, or what contradicts the paper; seconds differ in each run, so they are left out."""
    if row.basis == "speed":
        return "measured in each run"
    if row.basis == "contradiction":
        return f"{row.relation or 'elsewhere'} {_Found(row.limit)}"
    if math.isnan(row.reproduced):
        return ""
    if row.printed in ("falls", "rises"):
        return "falls" if row.reproduced < 0 else "rises"
    return f"{_Found(row.reproduced)}" + ("" if math.isnan(row.standard_error) else f" ± {row.standard_error:.1g}")


class _Found(float):
    """A recorded value in a sentence or table: four digits unless the format asks for others, "%" after a space; "by"
    and a format say how far it falls or rises."""

    def __format__(self, spec: str) -> str:
        if spec.startswith("by"):
            return f"{'falls' if self < 0 else 'rises'} by {_Found(abs(self)):{spec[2:]}}"
        whole = self == np.round(self) and abs(self) < 1e9
        return float.__format__(self, spec or (".0f" if whole else ".4g")).replace("%", " %")


def _judged(row: Any, alarm: float) -> tuple[str, bool]:
    """Return what the report says of a row and whether the row is in order: expected within `alarm` errors."""
    if row.basis == "speed":
        return "not tested", True
    value, error = row.reproduced, float(np.nan_to_num(row.standard_error))
    decided = row.basis == "contradiction" or (row.basis == "missing" and math.isnan(row.expected))  # by the text alone
    if math.isnan(value) and not decided:
        return "not recorded", False
    verdict, carried = _verdict(row, value, error)
    if not carried:
        return f"{verdict}, NOT SHOWN", False
    if math.isnan(row.expected):
        return verdict, True
    if abs(value - row.expected) > row.expected_unit + alarm * error:
        return f"{verdict}, MISSES EXPECTED {row.expected:g}", False
    verified = _verdict(row, row.expected, error)[0]
    return (verdict, True) if verified == verdict else (f"{verdict}, EXPECTED {verified.upper()}", False)


def _verdict(row: Any, value: float, error: float) -> tuple[str, bool]:
    """Return the word for a value by the row's basis, and whether the value carries that basis."""
    if row.basis in ("surrogate", "calibrated", "choice", "missing"):
        return "not tested", True
    if row.basis == "identity":
        return "agrees", value == row.published
    if row.basis == "formula":
        return "contradicted", abs(value - row.published) > row.published_unit
    if row.basis == "false":
        return "contradicted", _passes(row.relation, row.limit, value, 3 * error)
    if row.basis == "contradiction":
        drawn = float(np.nan_to_num(row.deviation / math.sqrt(row.draws)))  # what the paper found by drawing
        excluded = _passes(row.relation, row.limit, row.published, row.published_unit / 2 + 3 * drawn)
        return ("contradicted", excluded) if excluded or not drawn else ("not tested", True)
    if row.basis == "standin":
        return ("agrees" if _agrees(row, value, error) else "not tested"), True
    return ("agrees" if _agrees(row, value, error) else "differs"), True


def _agrees(row: Any, value: float, error: float) -> bool:
    """Return whether a value is what the row prints: a direction, a number rounded or cut off, or a limit.

    Numbers and limits are met give or take the draws of both.
    """
    if row.printed in ("falls", "rises"):
        return bool(value * {"falls": -1, "rises": 1}[row.printed] > 0)
    if row.relation == "cut":
        return bool(0 <= value - row.published < row.published_unit)
    if math.isnan(row.published):  # words, read as a limit
        return not _passes(row.relation, row.limit, value, 3 * error)
    theirs = np.nan_to_num(row.deviation / math.sqrt(row.draws))
    slack = row.published_unit / 2 * (1 + 1e-9) + 3 * math.hypot(error, theirs)
    return not _passes(row.relation, row.published, value, slack)


def _passes(relation: str, limit: float, value: float, slack: float) -> bool:
    """Return whether a value is beyond a limit ("at most", "at least", "" for equal) by more than the slack."""
    beyond = {"at most": value - limit, "at least": limit - value, "": abs(value - limit)}[relation]
    return bool(beyond > slack)


def _alarm() -> float:
    """Return how many standard errors a sampled value may be off for the family of rows and seeds (Bonferroni)."""
    return NormalDist().inv_cdf(1 - FALSE_ALARM / (2 * SEEDS * len(published())))


def _unit(text: str) -> float:
    """Return the unit of the last digit of a printed number, NaN for what is none: 0.01 for 4.69, 1e-6 for 3e-6."""
    try:
        return float(Decimal(1).scaleb(int(Decimal(text).as_tuple().exponent)))
    except ArithmeticError:
        return math.nan
