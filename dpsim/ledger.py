"""The ledger: every published number beside the reproduced one, with its tolerance and its verdict."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpsim import checks, paths

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

_recorded: dict[str, dict[str, float | None]] = {}


def published() -> pd.DataFrame:
    """Return data/published.csv indexed by id: the published values, how to compare them, what we verified.

    Columns paper, where, quantity, published, unit, kind (match, surrogate, erratum, reading, speed),
    mode (relative, absolute, exact, factor), tolerance, expected, expected_tolerance (relative), note.
    """
    table = pd.read_csv(paths.data() / "published.csv", index_col="id")
    text = ["paper", "where", "quantity", "unit", "kind", "mode", "note"]
    table[text] = table[text].fillna("").astype(str)
    return table


def record(id: str, value: float, *, standard_error: float | None = None, output: str = "") -> None:
    """Record the reproduced value of one ledger row; with an output folder also in its results.json.

    Rows of kind "speed" go to timings.json, so that results.json is the same in every run.
    Raises ValueError for an id that is not in data/published.csv or a value that is not finite.
    """
    rows = published()
    if id not in rows.index:
        raise ValueError(f"id must be a row of data/published.csv, got {id!r}")
    number = checks.scalar(f"value of {id}", value)
    error = None if standard_error is None else checks.scalar(f"standard_error of {id}", standard_error, 0)
    _recorded[id] = {"value": number, "standard_error": error}
    if output:
        name = "timings.json" if rows.loc[id, "kind"] == "speed" else "results.json"
        _merge(Path(output) / name, {id: _recorded[id]})


def comparison(paper: str) -> pd.DataFrame:
    """Return the paper's rows with what this process has recorded: published, reproduced, expected, verdict."""
    checks.choice("paper", paper, PAPERS)
    rows = published()
    return judge(rows[rows["paper"] == paper], _recorded)


def results(folder: Path) -> dict[str, dict[str, float | None]]:
    """Return the recorded values in a run's folder: results.json and, where it is, timings.json."""
    found: dict[str, dict[str, float | None]] = {}
    for name in ("results.json", "timings.json"):
        if (folder / name).is_file():
            found |= json.loads((folder / name).read_text(encoding="utf-8"))
    return found


def judge(rows: pd.DataFrame, values: dict[str, dict[str, float | None]]) -> pd.DataFrame:
    """Return the rows with columns reproduced, standard_error, verdict and ok.

    The verdict of a match row is "agrees" or "OUT OF TOLERANCE"; of a surrogate row its factor, and "not
    reproduced (surrogate data)" beyond the tolerance; of erratum and reading rows their kind; of speed rows, with or
    without a value, "shown, never gates". Any other row whose value misses `expected` says so and is not ok; one
    without a value says "not recorded" and is not ok.
    """
    table = rows.copy()
    judged = [_verdict(row, values.get(str(row.Index))) for row in rows.itertuples()]
    table["reproduced"] = [_number(values.get(id), "value") for id in rows.index]
    table["standard_error"] = [_number(values.get(id), "standard_error") for id in rows.index]
    table["verdict"] = [verdict for verdict, _ in judged]
    table["ok"] = [ok for _, ok in judged]
    return table


def report(folder: Path | None = None) -> pd.DataFrame:
    """Return all rows judged, papers in the order of PAPERS; rows of notebooks not yet written say "not yet".

    folder: where the notebooks' results are, <folder>/<notebook>/results.json; the committed figures when None.
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


def markdown(table: pd.DataFrame) -> str:
    """Return the judged rows as Markdown, a table a paper, free of measured seconds and dates."""
    lines = []
    for paper, title in PAPERS.items():
        part = table[table["paper"] == paper]
        if part.empty:
            continue
        lines += [f"### {title}", "", "| where | quantity | published | reproduced | verdict |"]
        lines += ["| --- | --- | ---: | ---: | --- |"]
        for row in part.itertuples():
            cells = [row.where, row.quantity, _shown(row.published), _reproduced(row), row.verdict]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


LEGEND = """\
`agrees`: within the tolerance of `data/published.csv`. `surrogate`: the paper's data are not public here, a stand-in
comes within its factor; `not reproduced`: it does not. `erratum`: the printed value cannot hold, the notebook shows
why. `reading`: fails under our reading of what our text leaves open. `shown`: seconds, measured in each run, that judge
nothing.
"""
"""What the verdicts mean, as Markdown."""

VERDICTS = ("agrees", "surrogate", "not reproduced", "erratum", "reading", "shown")
"""How verdicts begin, all but those of rows that are out of order."""


def summary(table: pd.DataFrame) -> str:
    """Return as Markdown how many judged rows of each paper have which verdict; the last column: not in order."""
    lines = [f"| paper | {' | '.join(VERDICTS)} | out of order |", "| --- |" + " ---: |" * (len(VERDICTS) + 1)]
    for paper, title in PAPERS.items():
        part = table[table["paper"] == paper]
        if part.empty:
            continue
        counts = [int((part["ok"] & part["verdict"].str.startswith(head)).sum()) for head in VERDICTS]
        cells = [str(count) if count else "" for count in counts] + [str(int((~part["ok"]).sum()))]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


COLUMNS = ("where", "quantity", "published", "reproduced", "verdict", "note")
"""What a table in a notebook shows of its rows."""


def notebook_table(paper: str) -> Any:
    """Return the paper's comparison as a small table to show in its notebook: what is printed, what we get, why."""
    return shown_table(comparison(paper), paper)


def shown_table(table: pd.DataFrame, name: str, *, columns: Sequence[str] = COLUMNS) -> Any:
    """Return judged rows as a styled table of the given columns; name makes its HTML the same in every run."""
    texts = {
        "published": [_shown(value) for value in table["published"]],
        "reproduced": [_reproduced(row) for row in table.itertuples()],
    }
    shown = pd.DataFrame({column: texts.get(column, table[column]) for column in columns})
    left = {"text-align": "left", "vertical-align": "top", "white-space": "normal"}
    styler = shown.style.hide(axis="index").set_properties(**left)
    styler = styler.set_table_styles([{"selector": "th", "props": "text-align: left"}])
    return styler.set_table_attributes('class="dataframe"').set_uuid(name)


def _verdict(row: Any, found: dict[str, float | None] | None) -> tuple[str, bool]:
    """Return what the report says of a row and whether the row is in order."""
    if row.kind == "speed":
        return "shown, never gates", True
    if found is None:
        return "not recorded", False
    value = float(found["value"])  # type: ignore[arg-type]
    verdict, ok = row.kind, True
    if row.kind == "match":
        ok = within(value, row.published, row.mode, row.tolerance)
        verdict = "agrees" if ok else "OUT OF TOLERANCE"
    elif row.kind == "surrogate":
        factor = value / row.published
        close = within(value, row.published, row.mode, row.tolerance)
        verdict = (
            f"surrogate, factor {factor:.3g}" if close else f"not reproduced (surrogate data), factor {factor:.3g}"
        )
    if not math.isnan(row.expected) and not within(value, row.expected, "relative", row.expected_tolerance):
        return f"{verdict}; MISSES EXPECTED {row.expected:g}", False
    return verdict, ok


def within(value: float, target: float, mode: str, tolerance: float) -> bool:
    """Return whether value agrees with target: |difference| <= tolerance |target| (relative), <= tolerance
    (absolute), equal (exact), or a ratio of at most tolerance either way (factor).

    Raises ValueError for another mode, a value or target that is not finite, a tolerance below 0.
    """
    checks.choice("mode", mode, ("relative", "absolute", "exact", "factor"))
    value, target = checks.scalar("value", value), checks.scalar("target", target)
    tolerance = checks.scalar("tolerance", tolerance, 0.0)
    if mode == "relative":
        return abs(value - target) <= tolerance * abs(target)
    if mode == "absolute":
        return abs(value - target) <= tolerance
    if mode == "exact":
        return value == target
    ratio = value / target if target else math.inf
    return ratio > 0 and max(ratio, 1 / ratio) <= tolerance


def _number(found: dict[str, float | None] | None, field: str) -> float:
    """Return a recorded field, NaN where there is none."""
    value = None if found is None else found[field]
    return math.nan if value is None else float(value)


def _reproduced(row: Any) -> str:
    """Return what the tables print as reproduced: measured seconds differ in each run, so they are left out."""
    return "measured in each run" if row.kind == "speed" else _shown(row.reproduced, row.standard_error)


def _shown(value: float, error: float = math.nan) -> str:
    """Return a number as the tables print it, with its standard error behind a sign."""
    if np.isnan(value):
        return ""
    number = f"{value:.0f}" if value == round(value) and abs(value) < 1e9 else f"{value:.4g}"
    return number if np.isnan(error) else f"{number} ± {error:.1g}"


def _merge(path: Path, values: dict[str, Any]) -> None:
    """Add values to a json file; the file is replaced whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    old = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(dict(sorted((old | values).items())), indent=2) + "\n", encoding="utf-8")
    os.replace(partial, path)
