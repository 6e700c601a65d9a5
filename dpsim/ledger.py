"""The ledger: every published number beside the reproduced one, and a verdict that follows from a stated rule."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from dpsim import checks, files, paths

NOTEBOOKS = {
    "benvenuti2026": "data_driven_markov",
    "fallin2023": "matrix_dirichlet",
    "benvenuti2026pf": "permute_and_flip",
    "gohari2020": "mdp_policy_synthesis",
    "fleischer2024": "boltzmann_histograms",
}
"""The notebook that settles each paper's rows."""

PAPERS = {
    "benvenuti2026": "Benvenuti et al. 2026, data-driven Markov chains",
    "fallin2023": "Fallin et al. 2023, matrix Dirichlet mechanism",
    "benvenuti2026pf": "Benvenuti, Rao and Hale 2026, permute-and-flip",
    "gohari2020": "Gohari, Hale and Topcu 2020, private policy synthesis",
    "fleischer2024": "Fleischer 2024, Boltzmann machine mechanism",
}
"""The papers in the order of the report."""

BASES = {
    "rounding": "half a unit of the last printed digit",
    "sampling": "that, and three standard errors, the paper's (where it prints its number of draws) and ours together",
    "reading": "the claim compared under the reading of the text that the column `reading` names",
    "identity": "equal by construction",
    "qualitative": "the paper states a direction and no number: the sign of ours",
    "calibrated": "an input of ours was chosen to come near the printed number: a factor, which decides nothing",
    "surrogate": "public data stand in for the paper's: a factor, which decides nothing",
    "contradiction": "the printed number and what `limit` holds, another statement of the paper or a proven bound, "
    "exclude each other",
    "formula": "the paper's own formula gives a number more than one unit of the last printed digit away",
    "false": "a counterexample within all assumptions passes `limit`, what the statement allows, "
    "by more than three standard errors",
    "speed": "seconds, measured in each run: decide nothing",
}
"""What the verdict of a row rests on, the column `basis`, and the rule that gives it."""

VERDICTS = {
    "agrees": "within half a unit of the last printed digit or, where the paper samples, three standard errors",
    "agrees in direction": "the paper states a direction and no number; ours has it",
    "agrees under a reading": "agrees once the text is read as the row says",
    "true by construction": "an identity; equal",
    "calibrated": "an input of ours was chosen to come near; the factor decides nothing",
    "surrogate": "public data stand in for the paper's; the factor decides nothing",
    "not reproduced": "the paper's data and formula are at hand, and the number differs",
    "fails under a reading": "fails as we read what the text leaves open; the statement itself may hold",
    "erratum: contradiction": "two statements of the paper, or a statement and a proven bound, exclude each other",
    "erratum: formula": "the paper's own formula gives another value",
    "erratum: false": "a counterexample within all assumptions",
    "shown": "seconds, measured in each run, that judge nothing",
}
"""How verdicts begin, up to a comma, and what they mean."""

GROUPS = {
    "agree": ("agrees", "agrees in direction", "agrees under a reading"),
    "are true by construction": ("true by construction",),
    "rest on a stand-in": ("calibrated", "surrogate"),
    "differ": ("not reproduced", "fails under a reading"),
    "are errata": ("erratum: contradiction", "erratum: formula", "erratum: false"),
}
"""The lines that sum up a paper, and the verdicts in each."""

UNTENABLE = ("fails under a reading", *GROUPS["are errata"])
"""Verdicts on what cannot hold as printed, or not as we read it."""

LEGEND = "".join(f"- `{verdict}`: {meaning}.\n" for verdict, meaning in VERDICTS.items())
"""What the verdicts mean, as Markdown."""

FALSE_ALARM, SEEDS = 1e-3, 20
"""The chance that any sampled row misses what was verified in that many full runs with other seeds, at most."""

_recorded: dict[str, dict[str, float | None]] = {}


def published() -> pd.DataFrame:
    """Return data/published.csv indexed by id: the published values, the basis of each verdict, what we verified.

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
    table = pd.read_csv(paths.data() / "published.csv", index_col="id", dtype=str, keep_default_na=False)
    table["printed"] = table["published"]
    for column in ("published", "expected", "limit"):
        table[f"{column}_unit"] = [_unit(text) for text in table[column]]
    for column in ("published", "expected", "limit", "draws", "deviation"):
        table[column] = pd.to_numeric(table[column], errors="coerce")
    return table


def record(id: str, value: float, *, standard_error: float | None = None, output: str = "") -> None:
    """Record the reproduced value of one ledger row.

    Parameters
    ----------
    id : str
        Of a row of data/published.csv.
    value : float
        Finite.
    standard_error : float, optional
        Of a value that was drawn.
    output : str
        The folder whose results.json holds it too; "" for none.

    Raises
    ------
    ValueError
        For an id that is not in data/published.csv or a value that is not finite.

    Notes
    -----
    Rows of speed go to timings.json, so that results.json is the same in every run.
    """
    rows = published()
    if id not in rows.index:
        raise ValueError(f"id must be a row of data/published.csv, got {id!r}")
    number = checks.scalar(f"value of {id}", value)
    error = None if standard_error is None else checks.scalar(f"standard_error of {id}", standard_error, 0)
    _recorded[id] = {"value": number, "standard_error": error}
    if output:
        name = "timings.json" if rows.loc[id, "basis"] == "speed" else "results.json"
        path = Path(output) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        held = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        files.write_json(path, dict(sorted((held | {id: _recorded[id]}).items())))


def comparison(paper: str) -> pd.DataFrame:
    """Return the paper's rows with what this process has recorded.

    Parameters
    ----------
    paper : str
        As in data/published.csv.

    Returns
    -------
    DataFrame
        Judged rows, as `judge` returns them.
    """
    checks.choice("paper", paper, PAPERS)
    rows = published()
    return judge(rows[rows["paper"] == paper], _recorded)


def results(folder: Path) -> dict[str, dict[str, float | None]]:
    """Return the recorded values in a run's folder: results.json and, where it is, timings.json.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    dict of str to dict
        Value and standard error by id.

    Examples
    --------
    >>> from dpsim import ledger, paths
    >>> ledger.results(paths.figures() / "nowhere")
    {}
    """
    found: dict[str, dict[str, float | None]] = {}
    for name in ("results.json", "timings.json"):
        if (folder / name).is_file():
            found |= json.loads((folder / name).read_text(encoding="utf-8"))
    return found


def judge(rows: pd.DataFrame, values: dict[str, dict[str, float | None]]) -> pd.DataFrame:
    """Return the rows with columns reproduced, standard_error, verdict and ok.

    Parameters
    ----------
    rows
        Rows of `published`.
    values
        Recorded value and standard error of each id.

    Returns
    -------
    DataFrame
        `verdict` follows from the row's basis (`BASES`) and begins with one of `VERDICTS`. `ok` is False for a row
        without a value, for one whose evidence does not carry its basis, and for one that misses `expected`, what was
        verified, by more than the unit of its last digit and chance (`FALSE_ALARM`), or whose verdict is another one
        there. Rows of speed are always in order.
    """
    table = rows.copy()
    alarm = _alarm()
    judged = [_judged(row, values.get(str(row.Index)), alarm) for row in rows.itertuples()]
    table["reproduced"] = [_number(values.get(id), "value") for id in rows.index]
    table["standard_error"] = [_number(values.get(id), "standard_error") for id in rows.index]
    table["verdict"] = [verdict for verdict, _ in judged]
    table["ok"] = [ok for _, ok in judged]
    return table


def report(folder: Path | None = None) -> pd.DataFrame:
    """Return all rows judged, papers in the order of PAPERS.

    Parameters
    ----------
    folder : Path, optional
        Where the notebooks' results are, <folder>/<notebook>/results.json; None: the committed figures.

    Returns
    -------
    DataFrame
        Rows of notebooks not yet written say "not yet".

    Examples
    --------
    >>> from dpsim import ledger
    >>> len(ledger.report()) == len(ledger.published())
    True
    """
    base = paths.figures() if folder is None else folder
    rows = published()
    existing = set(paths.notebook_names())
    parts = []
    for paper in PAPERS:
        own = rows[rows["paper"] == paper]
        part = judge(own, results(base / NOTEBOOKS[paper]))
        if NOTEBOOKS[paper] not in existing:
            part["verdict"], part["ok"] = "not yet", True
        parts.append(part)
    return pd.concat(parts)


def markdown(table: pd.DataFrame, folder: str = "") -> str:
    """Return the judged rows as Markdown, a table a paper, free of measured seconds and dates.

    Parameters
    ----------
    table : DataFrame
        As `report` returns it.
    folder : str
        Where the notebooks are, seen from the text: each row leads to its section there. "" for no links.

    Returns
    -------
    str

    Examples
    --------
    >>> from dpsim import ledger
    >>> "|" in ledger.markdown(ledger.report())
    True
    """
    lines = []
    for paper, title in PAPERS.items():
        part = table[table["paper"] == paper]
        if part.empty:
            continue
        lines += [f"### {title}", "", "| where | quantity | published | reproduced | verdict |"]
        lines += ["| --- | --- | ---: | ---: | --- |"]
        for row in part.itertuples():
            where = f"[{row.where}]({folder}/{evidence(row)})" if folder else row.where
            cells = [where, row.quantity, row.printed, _reproduced(row), row.verdict]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def summary(table: pd.DataFrame) -> str:
    """Return as Markdown how many judged rows of each paper have which verdict; the last row: not in order.

    Parameters
    ----------
    table : DataFrame
        As `report` returns it.

    Returns
    -------
    str

    Examples
    --------
    >>> from dpsim import ledger
    >>> ledger.summary(ledger.report()).startswith("|")
    True
    """
    names = [NOTEBOOKS[paper] for paper in PAPERS]
    lines = [f"| verdict | {' | '.join(f'`{name}`' for name in names)} |", "| --- |" + " ---: |" * len(names)]
    for head in (*VERDICTS, "out of order"):
        chosen = ~table["ok"] if head == "out of order" else table["ok"] & (_heads(table) == head)
        counts = [int((chosen & (table["paper"] == paper)).sum()) for paper in PAPERS]
        lines.append(f"| {head} | {' | '.join(str(count) if count else '' for count in counts)} |")
    return "\n".join(lines) + "\n"


COLUMNS = ("where", "quantity", "published", "reproduced", "verdict", "reading", "note")
"""What a table in a notebook shows of its rows."""


def notebook_table(paper: str) -> Any:
    """Return the paper's comparison to show in its notebook: a few lines, and every row folded away below them.

    Parameters
    ----------
    paper : str
        As in data/published.csv.

    Returns
    -------
    object that Jupyter shows
    """
    from IPython.display import HTML

    table = comparison(paper)
    whole = shown_table(table, paper, here=NOTEBOOKS[paper]).to_html()
    lines = "".join(f"<li>{line}</li>" for line in _summed_up(table))
    text = f"<ul>{lines}</ul><details><summary>All {len(table)} rows</summary>{whole}</details>"
    return HTML(text)  # type: ignore[no-untyped-call]


def scoreboard(paper: str) -> Any:
    """Return the paper's claims as a table for the top of its notebook, made from data/published.csv alone.

    Parameters
    ----------
    paper : str
        As in data/published.csv.

    Returns
    -------
    object that Jupyter shows
        Each claim with what is printed, the verdict on what was verified, and a link to the heading (column `section`)
        under which the notebook settles it. Claims of one place with one verdict share a line.
    """
    rows = published()
    rows = rows[(rows["paper"] == paper) & (rows["basis"] != "speed")]
    table = judge(rows, {str(id): {"value": row["expected"], "standard_error": None} for id, row in rows.iterrows()})
    lines = [_claim(part) for _, part in table.groupby(["where", _heads(table), "section"], sort=False)]
    return _styled(pd.DataFrame(lines), f"scoreboard_{paper}")


def anchor(heading: str) -> str:
    """Return the fragment under which Jupyter finds a heading.

    Parameters
    ----------
    heading : str

    Returns
    -------
    str

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

    Returns
    -------
    str

    Examples
    --------
    >>> from dpsim import ledger
    >>> ledger.evidence(next(ledger.report().loc[["fallin2023.delta.k9"]].itertuples()))
    'matrix_dirichlet.ipynb#The-printed-pairs'
    """
    return f"{NOTEBOOKS[row.paper]}.ipynb#{anchor(row.section)}"


def shown_table(table: pd.DataFrame, name: str, *, columns: Sequence[str] = COLUMNS, here: str = "") -> Any:
    """Return judged rows as a styled table, in which the place of each row leads to the section that settles it.

    Parameters
    ----------
    table : DataFrame
        As `report` returns it.
    name : str
        Makes its HTML the same in every run.
    columns : sequence of str
        Which columns are shown; `paper` is shown as its title.
    here : str
        The notebook that shows the table: its own headings need no name of a file.

    Returns
    -------
    Styler
    """
    rows = list(table.itertuples())
    texts = {"published": table["printed"], "reproduced": map(_reproduced, rows), "paper": table["paper"].map(PAPERS)}
    shown = {c: [html.escape(str(text), quote=False) for text in texts.get(c, table[c])] for c in columns}
    places = [evidence(row).removeprefix(f"{here}.ipynb") for row in rows]
    shown["where"] = [f'<a href="{place}">{text}</a>' for place, text in zip(places, shown["where"])]
    return _styled(pd.DataFrame(shown), name)


def _styled(table: pd.DataFrame, name: str) -> Any:
    """Return a table of HTML cells as the notebooks show it; name makes its HTML the same in every run."""
    left = {"text-align": "left", "vertical-align": "top", "white-space": "normal"}
    styler = table.style.hide(axis="index").set_properties(**left)
    styler = styler.set_table_styles([{"selector": "th", "props": "text-align: left"}])
    return styler.set_table_attributes('class="dataframe"').set_uuid(name)


def _claim(rows: pd.DataFrame) -> dict[str, str]:
    """Return one line of the scoreboard for rows of one place with one verdict."""
    quantities, printed = list(rows["quantity"]), list(rows["printed"])
    if len(rows) > 3:
        quantities, printed = [f"{quantities[0]}, to {quantities[-1]}"], [f"{printed[0]} to {printed[-1]}"]
    first = rows.iloc[0]
    factors = (rows["expected"] / rows["published"]).dropna()
    verdict = str(first["verdict"])
    if "factor" in verdict and len(rows) > 1:
        verdict = f"{verdict.split(',')[0]}, factor {factors.min():.3g} to {factors.max():.3g}"
    place = evidence(first).partition("#")[2]
    return {
        "claim": html.escape(f"{first['where']}: {'; '.join(quantities)}", quote=False),
        "printed": html.escape("; ".join(printed), quote=False),
        "verdict": verdict,
        "shown under": f'<a href="#{place}">{html.escape(first["section"])}</a>',
    }


def _summed_up(table: pd.DataFrame) -> list[str]:
    """Return how many judged rows are in each of GROUPS, and which, as HTML: a line a group."""
    lines = []
    for name, verdicts in GROUPS.items():
        rows = table[_heads(table).isin(verdicts)]
        places = "; ".join(dict.fromkeys(f"{row.where} ({row.verdict.split(',')[0]})" for row in rows.itertuples()))
        lines.append(f"<b>{len(rows)} of {len(table)} {name}</b>" + (f": {html.escape(places)}" if places else ""))
    return lines


def _heads(table: pd.DataFrame) -> pd.Series:
    """Return the verdict of each judged row without its factor."""
    return table["verdict"].str.split(",").str[0]


def _judged(row: Any, found: dict[str, float | None] | None, alarm: float) -> tuple[str, bool]:
    """Return what the report says of a row and whether the row is in order: expected within `alarm` errors."""
    if row.basis == "speed":
        return "shown", True
    value, error = _number(found, "value"), _number(found, "standard_error")
    if math.isnan(value) and row.basis != "contradiction":
        return "not recorded", False
    error = 0.0 if math.isnan(error) else error
    verdict, carried = _verdict(row, value, error)
    if not carried:
        return f"{verdict}, NOT SHOWN", False
    if math.isnan(row.expected):
        return verdict, True
    if abs(value - row.expected) > row.expected_unit + alarm * error:
        return f"{verdict}, MISSES EXPECTED {row.expected:g}", False
    verified = _verdict(row, row.expected, error)[0]
    if verified.split(",")[0] != verdict.split(",")[0]:
        return f"{verdict}, EXPECTED {verified.upper()}", False
    return verdict, True


def _verdict(row: Any, value: float, error: float) -> tuple[str, bool]:
    """Return the verdict of a value by the row's basis, and whether the value carries that basis."""
    if row.basis in ("surrogate", "calibrated"):
        return f"{row.basis}, factor {value / row.published:.3g}", value > 0
    if row.basis == "identity":
        return "true by construction", value == row.published
    if row.basis == "qualitative":
        return ("agrees in direction" if _agrees(row, value, error) else "not reproduced"), True
    if row.basis == "formula":
        return "erratum: formula", abs(value - row.published) > row.published_unit
    if row.basis == "false":
        return "erratum: false", _passes(row.relation, row.limit, value, 3 * error)
    if row.basis == "contradiction":
        return "erratum: contradiction", _passes(row.relation, row.limit, row.published, row.published_unit / 2)
    good = _agrees(row, value, error)
    if row.basis == "reading":
        return ("agrees under a reading" if good else "fails under a reading"), True
    return ("agrees" if good else "not reproduced"), True


def _agrees(row: Any, value: float, error: float) -> bool:
    """Return whether a value is what the row prints: a direction, a number rounded or cut off, or a limit.

    Numbers and limits are met give or take the draws of both.
    """
    if row.printed in ("falls", "rises"):
        return bool(value * {"falls": -1, "rises": 1}[row.printed] > 0)
    if row.relation == "cut":
        return bool(0 <= value - row.published < row.published_unit)
    theirs = 0.0 if math.isnan(row.deviation) else row.deviation / math.sqrt(row.draws)
    slack = row.published_unit / 2 * (1 + 1e-9) + 3 * math.hypot(error, theirs)
    if row.relation:
        return not _passes(row.relation, row.published, value, slack)
    return bool(abs(value - row.published) <= slack)


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


def _number(found: dict[str, float | None] | None, field: str) -> float:
    """Return a recorded field, NaN where there is none."""
    value = None if found is None else found[field]
    return math.nan if value is None else float(value)


def _reproduced(row: Any) -> str:
    """Return what the tables print as reproduced: measured seconds differ in each run, so they are left out."""
    return "measured in each run" if row.basis == "speed" else _shown(row.reproduced, row.standard_error)


def _shown(value: float, error: float = math.nan) -> str:
    """Return a number as the tables print it, with its standard error behind a sign."""
    if np.isnan(value):
        return ""
    number = f"{value:.0f}" if value == round(value) and abs(value) < 1e9 else f"{value:.4g}"
    return number if np.isnan(error) else f"{number} ± {error:.1g}"
