"""What hostile calls are answered: a refusal in words, or a result.

`python release/tests/hostile_calls.py` writes hostile_calls.csv anew, from the calls in
it.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import tempfile
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from click.testing import CliRunner

import dpsim_release as release
from dpsim import cli
from dpsim_release import (
    budget,
    discrete_laplace,
    estimate,
    expected_error,
    labels,
    release_folder,
    sources,
    support,
    table,
    times,
    unit,
)

MODULES = (budget, discrete_laplace, estimate, expected_error, labels)
MODULES += (release_folder, sources, support, table, times, unit)

LISTED = Path(__file__).with_name("hostile_calls.csv")

TABLE = pd.DataFrame(
    {
        "from": ["a", "b", "a", None, "c"],
        "to": ["b", "a", "a", "a", "a"],
        "n": [3, 1, 2, 1, 1],
        "who": ["p", "q", "p", "r", "r"],
    }
)
VISITS = pd.DataFrame(
    {"who": ["p", "p", "p", "q"], "at": [0, 60, 7200, 5], "zone": list("abca")}
)
ENDS = {"origin": "from", "destination": "to"}
STATES = {**ENDS, "categories": ["a", "b"]}
WHO = {"unit": "who", "events": 2}

TEXTS = {
    "good.csv": "from,to,n\na,b,3\nb,a,1\n",
    "empty.csv": "",
    "header.csv": "from,to,n\n",
    "twice.csv": "from,to,from\na,b,c\n",
    "damaged.csv": 'from,to,n\na,b,3\na,b\na,b,c,d\n"a,b,3\nb,a,x\nb,a,-1\n',
    "semicolon.csv": "from;to;n\na;b;3\nb;a;1\n",
    "states.txt": "a\nb\n",
    "one.txt": "a\n",
    "twice.txt": "a\nb\na\n",
    "states.csv": "a\nb\n",
    "graph.csv": "origin,destination\na,b\nb,a\n",
    "closed.csv": "origin,destination\na,b\n",
    "hole.csv": "origin,destination\na,b\nb,\n",
    "visits.csv": "who,at,zone\np,0,a\np,60,b\np,x,c\nq,5,a\n",
    "other.dat": "from,to\na,b\n",
    "budget.json": '{"version": 2, "limit": [1.0, 0.0], "column": null, "releases": '
    '[{"epsilon": 0.75, "delta": 0.0, "events": 1, "time": ""}]}\n',
    "budget_who.json": '{"version": 2, "limit": [9.0, 0.1], "column": "who", '
    '"releases": []}\n',
    "old_budget.json": '{"version": 1, "limit": [1.0, 0.0], "column": null, '
    '"releases": []}\n',
    "repeated.json": '{"version": 2, "version": 2, "limit": [1.0, 0.0]}\n',
    "text.json": "nothing\n",
}


def prepare(folder: Path) -> None:
    """Write the files that the calls name."""
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.csv").write_bytes("from,to\nä,b\n".encode("latin-1"))
    (folder / "latin_header.csv").write_bytes("frÖm,to\nä,b\n".encode("latin-1"))
    (folder / "cut.csv.gz").write_bytes(gzip.compress(b"from,to\na,b\n" * 9)[:-9])
    (folder / "damaged.parquet").write_bytes(b"PAR1 nothing")
    (folder / "nothing").mkdir()
    (folder / "full").mkdir()
    (folder / "full" / "file").write_text("x", encoding="utf-8")
    os.link(folder / "budget_who.json", folder / "two_names.json")
    TABLE[["from", "to"]].to_parquet(folder / "good.parquet")
    made = release.privatize(
        TABLE[["from", "to"]], **STATES, epsilon=1.0, rng=1, output=folder / "chain"
    )
    assert made.noisy.size == 4


def command(line: str) -> list[Any]:
    """Return the exit code and the output of a command."""
    done = CliRunner().invoke(cli.main, line.split(), prog_name="dpsim")
    error = done.exception
    odd = [] if isinstance(error, SystemExit | None) else [repr(error)]
    return [done.exit_code, done.stdout[:400], done.stderr[:900], *odd]


def modes(**arguments: Any) -> list[str]:
    """Return the modes of everything that a release writes."""
    with tempfile.TemporaryDirectory() as folder:
        os.umask(0o022)
        release.privatize(
            TABLE, **arguments, epsilon=1.0, rng=1, output=f"{folder}/chain"
        )
        return sorted(
            f"{each.relative_to(folder)} {each.stat().st_mode & 0o777:o}"
            for each in Path(folder).rglob("*")
        )


def changed(name: str, **facts: Any) -> Any:
    """Load a release after facts of its statement were changed, or files removed."""
    import shutil

    with tempfile.TemporaryDirectory(dir=".", prefix="copy") as folder:
        shutil.copytree("chain", folder, dirs_exist_ok=True)
        file = Path(folder) / name
        if name == "statement.json" and facts:
            told = json.loads(file.read_text(encoding="utf-8")) | facts
            file.write_text(json.dumps(told), encoding="utf-8")
        elif facts:
            frame = pd.read_parquet(file)
            for column, values in facts.items():
                frame[column] = values
            frame.to_parquet(file)
        else:
            file.unlink()
        return release_folder.load(folder)


def chain_of(**arguments: Any) -> Any:
    """Return a simulated release of the table."""
    return release.privatize(TABLE, **(STATES | arguments), epsilon=1.0, rng=1)


NAMES: dict[str, Any] = {
    each.__name__.split(".")[-1]: each
    for each in (*MODULES, Decimal, Fraction, command, modes, changed, chain_of)
}
NAMES |= {"TABLE": TABLE, "VISITS": VISITS, "ENDS": ENDS, "STATES": STATES, "WHO": WHO}
NAMES |= {"np": np, "pd": pd, "release": release}
NAMES |= {"nan": float("nan"), "inf": float("inf")}


def shown(value: Any, folder: str) -> str:
    """Return what a call gave, in words that are the same everywhere."""
    if isinstance(value, pd.DataFrame):
        value = value.round(6).to_dict("list")
    elif isinstance(value, np.ndarray | pd.Series):
        value = value.tolist()
    elif isinstance(value, table.Counts):
        value = {"trips": value.trips.to_numpy().tolist(), **value.report}
    text = value if isinstance(value, str) else repr(value)
    text = text.replace(folder, "FOLDER")
    text = re.sub(r"copy\w+", "COPY", text)
    return re.sub(r"at 0x[0-9a-f]+", "at ADDRESS", text)[:1500]


def answer(call: str, folder: str) -> str:
    """Return the result of a call, or the class and the message of its error."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        try:
            value = shown(eval(call, dict(NAMES)), folder)
        except Exception as error:
            value = shown(f"{type(error).__name__}: {error}", folder)
    named = [
        f"; {each.category.__name__}: {each.message}"
        for each in told
        if issubclass(each.category, UserWarning)
        and not issubclass(each.category, DeprecationWarning)
    ]
    return value + "".join(named)


def answers(calls: list[str]) -> list[str]:
    """Return the answer to each call, in a folder of its own."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        os.chdir(folder)
        try:
            prepare(Path(folder))
            return [answer(call, folder) for call in calls]
        finally:
            os.chdir(before)


def listed() -> list[tuple[str, str]]:
    """Return the calls and the answers of hostile_calls.csv."""
    with LISTED.open(encoding="utf-8", newline="") as lines:
        return [(row["call"], row["answer"]) for row in csv.DictReader(lines)]


def write(calls: list[str]) -> None:
    """Write hostile_calls.csv."""
    told = answers(calls)
    with LISTED.open("w", encoding="utf-8", newline="") as lines:
        rows = csv.writer(lines, lineterminator="\n")
        rows.writerow(["call", "answer"])
        rows.writerows(zip(calls, told))


if __name__ == "__main__":
    write([call for call, _ in listed()])
