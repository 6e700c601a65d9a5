"""The rules that judge the papers' claims and our own findings, and the judged rows of
a run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from dpsim import paths
from dpsim.ledger.rows import Found, findings, how_many, papers, published

VERDICTS = ("agrees", "differs", "contradicted", "slip", "not tested")
"""The five verdicts, which report.md explains."""

GROUNDS = {
    "proof": "proved",
    "family": "held in all inputs tried",
    "stand-in": "on our stand-in only",
    "withdrawn": "withdrawn",
}
"""The word for each basis of a finding of ours; report.md explains the words."""

FEWEST = 20
"""The smallest number of inputs on which a finding must be tried."""

SEEDS = 20
"""The number of full runs with other seeds to which FALSE_ALARM refers."""

FALSE_ALARM = 1e-3
"""The largest acceptable probability that, in any of these runs, chance alone makes any
sampled number miss its verified value."""


def verdict(row: Any, value: float, error: float = 0.0) -> str:
    """Return the verdict on a claim: one of VERDICTS, or "not judged".

    Parameters
    ----------
    row : named tuple or Series
        A row of `published`.
    value : float
        Our number.
    error : float
        Its standard error.

    Returns
    -------
    str
        One of VERDICTS, or "not judged".

    Examples
    --------
    >>> from dpsim import ledger
    >>> rows = ledger.published().query("claim == 'bound' and inputs == 'paper'")
    >>> row = next(rows.itertuples())
    >>> ledger.verdict(row, row.published), ledger.verdict(row, 2 * row.published)
    ('agrees', 'differs')
    """
    if row.inputs == "none":
        return "not judged"
    if row.inputs == "lost":
        return "not tested"
    if _limit_rules_out_the_published_value(row):
        return "contradicted"
    if row.inputs == "chosen":
        return "not tested"
    if _holds(row, value, error):
        tested = row.inputs != "example" or row.claim != "value"
        return "agrees" if tested else "not tested"
    if row.inputs == "example":
        return "not tested"
    if row.claim == "slip":
        return "slip"
    return "contradicted" if row.inputs == "any" else "differs"


def _holds(row: Any, value: float, error: float) -> bool:
    """Return whether the claim holds for our number, allowing for rounding and for
    three standard errors."""
    if row.claim == "trend":
        return value > 0 if row.printed == "rises" else value < 0
    if row.claim == "statement":
        rounding = row.limit_unit / 2 if row.relation == "equal to" else 0.0
        return not _beyond(row.relation, row.limit, value, rounding + 3 * error)
    relation = row.relation if row.claim == "bound" else "equal to"
    slack = row.published_unit / 2 + 3 * math.hypot(error, _error_of_the_paper(row))
    return not _beyond(relation, row.published, value, slack)


def _limit_rules_out_the_published_value(row: Any) -> bool:
    """Return whether a published value violates the limit in its row. The limit comes
    from a theorem or from another number in the paper."""
    if row.claim != "value" or math.isnan(row.limit):
        return False
    slack = row.published_unit / 2 + 3 * _error_of_the_paper(row)
    return _beyond(row.relation, row.limit, row.published, slack)


def _error_of_the_paper(row: Any) -> float:
    """Return the standard error of the paper's number, or 0 if the paper did not sample
    the number."""
    return float(np.nan_to_num(row.deviation / math.sqrt(row.draws)))


def _beyond(relation: str, limit: float, value: float, slack: float) -> bool:
    """Return whether a value violates its relation to a limit ("at most", "at least" or
    "equal to") by more than the slack."""
    over = {
        "at most": value - limit,
        "at least": limit - value,
        "equal to": abs(value - limit),
    }[relation]
    return bool(over > slack + 1e-9 * abs(limit))


def judge(
    rows: pd.DataFrame, values: pd.DataFrame, *, default: bool = True
) -> pd.DataFrame:
    """Return the rows with their verdicts and with the numbers filled into their
    sentences.

    Parameters
    ----------
    rows : DataFrame
        Rows of `published`.
    values : DataFrame
        The recorded numbers, as `results` returns them.
    default : bool
        Whether the run had default parameters, for which `expected` was verified.

    Returns
    -------
    DataFrame
        The added columns are `reproduced` and `standard_error` (NaN if the number was
        not sampled); `verdict`, as the function `verdict` returns it, or "not
        recorded"; `shown`, which is the verdict with the kind of claim; and `ok`. It is
        False for a row without a number. In a run with default parameters, `ok` is also
        False if the number differs from `expected` by more than rounding and chance
        (FALSE_ALARM) allow, or if `expected` would get a different verdict; `verdict`
        and `shown` then say so. For measured times, `ok` is always True.
    """
    table = rows.join(values.rename(columns={"value": "reproduced"}))
    alarm = most_standard_errors(how_many())
    table["sentence"] = [
        row.sentence.format(found=Found(row.reproduced), limit=Found(row.limit))
        for row in table.itertuples()
    ]
    verdicts = [_verdict(row, alarm, default) for row in table.itertuples()]
    table = table.join(pd.DataFrame(verdicts, table.index, ["verdict", "ok"]))
    return table.assign(shown=[_with_kind(row) for row in table.itertuples()])


def _verdict(row: Any, alarm: float, default: bool) -> tuple[str, bool]:
    """Return a row's `verdict` and `ok` for `judge`. A number may differ from
    `expected` by up to `alarm` standard errors."""
    value = row.reproduced
    error = float(np.nan_to_num(row.standard_error))
    if is_seconds(row):
        return "not judged", True
    if math.isnan(value):
        return "not recorded", False
    ours = verdict(row, value, error)
    if not default:
        return ours, True
    if abs(value - row.expected) > row.expected_unit + alarm * error:
        return f"{ours}, MISSES EXPECTED {row.expected:g}", False
    verified = verdict(row, row.expected, error)
    if verified != ours:
        return f"{ours}, EXPECTED {verified.upper()}", False
    return ours, True


def judge_findings(
    rows: pd.DataFrame, values: pd.DataFrame, *, default: bool = True
) -> pd.DataFrame:
    """Return our own findings, each with what it rests on.

    Parameters
    ----------
    rows : DataFrame
        Rows of `findings`.
    values : DataFrame
        The recorded numbers, as `results` returns them.
    default : bool
        Whether the run had default parameters, for which `expected` was verified.

    Returns
    -------
    DataFrame
        The added columns are `reproduced`, `standard_error` and `tried` (the number of
        inputs); `ground`, which is a word of GROUNDS, or what is wrong; and `ok`, which
        says whether nothing is wrong.
    """
    table = rows.join(values.rename(columns={"value": "reproduced"}))
    grounds = [_ground(row, default) for row in table.itertuples()]
    return table.join(pd.DataFrame(grounds, table.index, ["ground", "ok"]))


def _ground(row: Any, default: bool) -> tuple[str, bool]:
    """Return a finding's `ground` and `ok` for `judge_findings`."""
    if not math.isnan(row.limit):
        if math.isnan(row.reproduced):
            return "not recorded", False
        if _beyond(row.relation, row.limit, row.reproduced, 0.0):
            return f"FAILS: {row.reproduced:g}, not {row.relation} {row.limit:g}", False
        if default and abs(row.reproduced - row.expected) > row.expected_unit:
            return f"MISSES EXPECTED {row.expected:g}", False
    if row.basis == "family" and row.tried < FEWEST:
        return f"TRIED ON {row.tried:g} INPUTS ONLY", False
    return GROUNDS[row.basis], True


def _with_kind(row: Any) -> str:
    """Return a row's verdict followed by its kind of claim, for example "agrees:
    statement, on an example"."""
    said, comma, wrong = row.verdict.partition(",")
    if row.claim == "slip" or said not in VERDICTS:
        return str(row.verdict)
    example = ", on an example" if said == "agrees" and row.inputs == "example" else ""
    return f"{said}: {row.claim}{example}{comma}{wrong}"


def is_seconds(row: Any) -> bool:
    """Return whether a row is a measured time. Because times differ in every run, they
    are not judged, and they are stored in a separate file."""
    return bool(row.inputs == "none" and row.unit == "s")


def results(folder: Path) -> pd.DataFrame:
    """Return the numbers of the rows that a run recorded, from results.json and
    timings.json.

    Parameters
    ----------
    folder : Path
        The folder of a run. A missing file counts as empty.

    Returns
    -------
    DataFrame
        `value`, `standard_error` (NaN if the number was not sampled) and `tried` (for
        a finding of ours, the number of inputs), by id.

    Examples
    --------
    >>> from dpsim import ledger, paths
    >>> ledger.results(paths.figures() / "nowhere").empty
    True
    """
    columns = ["value", "standard_error", "tried"]
    numbers = pd.DataFrame(columns=columns, dtype=float)
    for path in (folder / "timings.json", folder / "results.json"):
        if not path.is_file():
            continue
        try:
            recorded = {**json.loads(path.read_text(encoding="utf-8"))}
            read = pd.DataFrame.from_dict(recorded, "index", float, numbers.columns)
            numbers = read.combine_first(numbers)
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{path} must hold value and standard_error of each id as json, "
                "and is damaged"
            ) from error
    return numbers


def parameters(folder: Path) -> dict[str, Any] | None:
    """Return those parameters of a run that differ from the defaults, or None if the
    run has no manifest.

    Parameters
    ----------
    folder : Path
        The folder of the run.
    """
    path = folder / "manifest.json"
    if not path.is_file():
        return None
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))["parameters"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(
            f"{path} must hold the parameters of a run as json, and is damaged"
        ) from error


def judged_claims(folder: Path | None = None) -> pd.DataFrame:
    """Return the judged rows, as `judge` does, with the papers in the order of
    `papers`.

    Parameters
    ----------
    folder : Path, optional
        Either the folder of one run, in which case only the recorded rows are judged,
        or a folder with a subfolder for each notebook. None means the committed
        figures. A run with parameters other than the defaults is not compared with
        `expected`.

    Returns
    -------
    DataFrame
        The judged rows, indexed by id, with the columns that `judge` adds.

    Examples
    --------
    >>> from dpsim import ledger
    >>> len(ledger.judged_claims()) == len(ledger.published())
    True
    """
    notebooks = papers()["notebook"]
    rows = published()
    rows = rows.assign(notebook=rows["paper"].map(notebooks))
    table = _judged(judge, rows, list(notebooks), folder).drop(columns="notebook")
    if folder and len(table) and table["reproduced"].isna().all():
        raise ValueError(
            f"{folder} does not exist, or holds neither results.json nor "
            "<notebook>/results.json, or the run recorded no row: name the folder of a "
            f"run (default runs record their rows in {paths.figures()})"
        )
    return table


def judged_findings(folder: Path | None = None) -> pd.DataFrame:
    """Return our own findings, as `judge_findings` does, with the notebooks in
    alphabetical order.

    Parameters
    ----------
    folder : Path, optional
        As in `judged_claims`.

    Returns
    -------
    DataFrame
        The judged rows, indexed by id, with the columns that `judge_findings` adds.

    Examples
    --------
    >>> from dpsim import ledger
    >>> len(ledger.judged_findings()) == len(ledger.findings())
    True
    """
    rows = findings()
    return _judged(judge_findings, rows, sorted(set(rows["notebook"])), folder)


def _judged(
    judge: Callable[..., pd.DataFrame],
    rows: pd.DataFrame,
    notebooks: list[str],
    folder: Path | None,
) -> pd.DataFrame:
    """Return the rows of a run, or of all notebooks in this order, as `judge` judges
    them."""
    base = paths.figures() if folder is None else folder
    numbers = _known_results(base)
    if len(numbers):
        recorded = rows[rows.index.isin(numbers.index)]
        return judge(recorded, numbers, default=not parameters(base))
    parts = [judge(rows[:0], numbers)]
    for notebook in notebooks:
        part = rows[rows["notebook"] == notebook]
        place = base / notebook
        numbers = _known_results(place)
        parts.append(judge(part, numbers, default=not parameters(place)))
    return pd.concat([part for part in parts if len(part)] or parts)


def _known_results(folder: Path) -> pd.DataFrame:
    """Return the numbers of a run, after checking that each of them has a row."""
    numbers = results(folder)
    known = {*published().index, *findings().index}
    if unknown := sorted(set(numbers.index) - known):
        raise ValueError(
            f"{folder} holds rows that neither data/published.csv nor "
            f"data/findings.csv has: {', '.join(unknown)}"
        )
    return numbers


def most_standard_errors(rows: int) -> float:
    """Return how many standard errors a sampled number may differ from the verified
    one, with a Bonferroni correction for all rows and seeds."""
    return NormalDist().inv_cdf(1 - FALSE_ALARM / (2 * SEEDS * rows))
