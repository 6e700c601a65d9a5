"""Releases of neighbouring tables with the same noise: everything published must follow from the noisy counts.

A table and its neighbour are released by the command line, with no noise at all, which is the same noise for both. Then
the neighbour's folder must be, byte for byte, what the table's own public part makes of the neighbour's noisy counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dpsim import cli, release
from dpsim.release import draws

COLUMNS = ("who", "from", "to", "n")
ODD = [
    *("clinic", "7", "7.5", "007", "2.0", "-0", "", " ", "a,b", 'a"b', "a\nb", "a;b", "#1", "'x", "NULL", "nan", "\\"),
    *(
        "x" * 10_000,
        "\u202eabc",
        "<script>alert(1)</script>",
        "=cmd()",
        "| a | b |",
        "é",
        "日本",
        "1e300",
        "true",
        "99",
    ),
    None,
]
"""Labels of one more event: other types, missing, quotes, markup."""


class Case(NamedTuple):
    """A neighbour of the base table, and how both are released."""

    name: str
    options: tuple[str, ...]
    base: pd.DataFrame
    neighbour: pd.DataFrame
    ending: str


def base() -> pd.DataFrame:
    """Return events of 60 persons between five states, every pair often enough for any threshold here."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"who": rng.integers(0, 60, 6000).astype(str)})
    states = np.array(["2", "3", "10", "21", "100"])
    table["from"], table["to"] = states[rng.integers(0, 5, 6000)], states[rng.integers(0, 5, 6000)]
    return table.assign(n="1", at=np.arange(6000).astype(str))


def with_event(table: pd.DataFrame, place: int = 0, **event: Any) -> pd.DataFrame:
    """Return the table with one more event at a place."""
    more = pd.DataFrame([{"who": "0", "from": "2", "to": "3", "n": "1", "at": "9999"} | event], dtype=object)
    return pd.concat([table[:place], more, table[place:]], ignore_index=True)


def cases() -> Iterator[Case]:
    """Yield over a hundred kinds of neighbours."""
    table, columns = base(), ("--origin", "from", "--destination", "to")
    chosen = (*columns, "--delta", "1e-6")
    words, whole = ((*columns, "--categories", name) for name in ("words.txt", "whole.txt"))
    person = (*words, "--unit", "who", "--events", "20")
    endings = ("csv", "parquet", "jsonl")
    for i, label in enumerate(ODD):
        ends = {"from": label, "to": label} if i % 3 == 0 else {("from", "to")[i % 3 - 1]: label}
        event = with_event(table, 6000 * (i % 2), **ends)
        shown = repr(label)[:20]
        yield Case(f"chosen {shown}", chosen, table, event, endings[i % 3])
        yield Case(f"words {shown}", words, table, event, endings[(i + 1) % 3])
        yield Case(f"whole {shown}", whole, table, event, endings[(i + 2) % 3])
        stranger = with_event(table, who=label)
        yield Case(f"person {shown}", person, table, stranger, endings[i % 3])
    lonely = with_event(table[table["from"] != "21"], **{"from": "21"})
    none = table[:0]
    one, two = with_event(none), with_event(with_event(none), **{"from": "clinic"})
    for name, options in (("chosen", chosen), ("words", words), ("whole", whole), ("person", person)):
        yield Case(f"{name}: the row of 21 empties", options, lonely, table[table["from"] != "21"], "csv")
        yield Case(f"{name}: one event or none", options, one, none, "csv")
        yield Case(f"{name}: none, from another place", options, with_event(none, to="clinic"), none, "parquet")
        yield Case(f"{name}: two events or one", options, two, one, "csv")
        yield Case(f"{name}: no end", options, with_event(none, **{"from": None, "to": None}), none, "jsonl")
    rows = (*words, "--unit", "who", "--events-per-row", "3", "--rows", "2")
    for name, limits in (("in all", person), ("rows", rows)):
        for who in ("0", "7", "59"):
            yield Case(f"{name}: without {who}", limits, table, table[table["who"] != who], "csv")
        for number in ("1", "500"):
            more = with_event(table, who="new", n=number)
            yield Case(f"{name}: {number} times", (*limits, "--count", "n"), table, more, "csv")
    visits = ("--trajectory", "who,at,from", "--events", "10", "--categories", "words.txt", "--max-gap", "1h")
    for who in ("0", "30"):
        yield Case(f"visits: without {who}", visits, table, table[table["who"] != who], "parquet")
    alone = with_event(table, who="new")
    for name, event in (("a time", {"at": "soon"}), ("a place", {"from": None}), ("a person", {"who": None})):
        yield Case(
            f"visits: a visit without {name}", visits, table, with_event(table, **({"who": "new"} | event)), "csv"
        )
        yield Case(f"visits: one more without {name}", visits, alone, with_event(alone, **event), "jsonl")


def check(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Release both tables and compare what is published."""
    monkeypatch.setattr(draws, "_simulated", lambda noise, size, rng: np.zeros(size, dtype=np.int64))
    monkeypatch.chdir(folder)
    Path("words.txt").write_text("2\n3\n10\n21\n100\nend\n")
    Path("whole.txt").write_text("2\n3\n10\n21\n100\n")
    codes, texts = zip(*(_released(case, table, place) for table, place in ((case.base, "a"), (case.neighbour, "b"))))
    assert codes[0] == codes[1], texts
    if codes[0] != 0:
        assert texts[0] == texts[1]
        return
    one, other = (release.load_release(f"{place}/published") for place in "ab")
    assert one.labels == other.labels and list(map(type, one.labels)) == list(map(type, other.labels))
    assert one.statement == other.statement
    limits = one.statement["unit"]
    most = limits["events"] if "events" in limits else limits["events_per_row"] * limits["rows"]
    assert np.abs(one.noisy - other.noisy).sum() <= most
    made = release.PrivateChain(one.support, other.noisy, one.statement, one.totals)
    release.write_release(made, "made")
    published = {file.name: file.read_bytes() for file in Path("b/published").iterdir()}
    assert published == {file.name: file.read_bytes() for file in Path("made").iterdir()}
    assert texts[1] == texts[0].replace(one.text, made.text)


def _released(case: Case, table: pd.DataFrame, place: str) -> tuple[int, str]:
    """Return the exit code and what was written to standard output."""
    folder = Path(place)
    folder.mkdir()
    file = folder / f"table.{case.ending}"
    if case.ending == "csv":
        table.to_csv(file, index=False)
    elif case.ending == "parquet":
        table.astype(object).where(table.notna(), None).astype(dict.fromkeys(table, "str")).to_parquet(file)
    else:
        rows = table.astype(object).where(table.notna(), None).to_dict("records") or [dict.fromkeys(table)]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = CliRunner().invoke(
        cli.main,
        ["release", str(file), *case.options, "--epsilon", "1", "--output", f"{place}/published", "--seed", "1"],
    )
    assert run.exception is None or isinstance(run.exception, SystemExit), run.exception
    return run.exit_code, run.stdout.replace(f"{place}/published", "published")
