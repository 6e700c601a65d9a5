"""Releases of neighbouring tables with the same noise: everything published must follow
from the noisy counts.

A table and its neighbour are released by the command line, with no noise at all, which
is the same noise for both. Then the neighbour's folder must be, byte for byte, what the
table's own public part makes of the neighbour's noisy counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dpsim_release as release
from dpsim import cli
from dpsim_release import chain, release_folder, statement

COLUMNS = ("who", "from", "to", "n")
# the facts in statement.json that follow from the noisy counts
OF_ROWS = ("rows_that_stand_out", "rows_of_arrivals_only")
ODD = [
    *(
        "clinic",
        "7",
        "7.5",
        "007",
        "2.0",
        "-0",
        "",
        " ",
        "a,b",
        'a"b',
        "a\nb",
        "a;b",
        "#1",
        "'x",
        "NULL",
        "nan",
        "\\",
    ),
    *(
        "x" * 10_000,
        "\u202eabc",
        "<script>alert(1)</script>",
        "=cmd()",
        "| a | b |",
        "é",
    ),
    *("日本", "1e300", "true", "99", None),
]
"""Labels of one more event: other types, missing, quotes, markup."""

LINES = ["0,2", "0,2,3,1,9999,more", '"0,2,3,1,9999', '0,2,3,1,"9999', "", '"', ",,,,"]
LINES += ["\x00", "\ud8ff", "0\t2\t3\t1\t1"]
"""Lines that are no rows of the table."""


class Case(NamedTuple):
    """A neighbour of the base table, and how both are released."""

    name: str
    options: tuple[str, ...]
    base: pd.DataFrame
    neighbour: pd.DataFrame
    ending: str
    line: str | None = None
    """One more line of the neighbour's file."""


def base() -> pd.DataFrame:
    """Return events of 60 persons between five states, every pair often enough for any
    threshold here.
    """
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"who": rng.integers(0, 60, 6000).astype(str)})
    states = np.array(["2", "3", "10", "21", "100"])
    table["from"] = states[rng.integers(0, 5, 6000)]
    table["to"] = states[rng.integers(0, 5, 6000)]
    return table.assign(n="1", at=np.arange(6000).astype(str))


def with_event(table: pd.DataFrame, place: int = 0, **event: Any) -> pd.DataFrame:
    """Return the table with one more event at a place."""
    more = pd.DataFrame(
        [{"who": "0", "from": "2", "to": "3", "n": "1", "at": "9999"} | event],
        dtype=object,
    )
    return pd.concat([table[:place], more, table[place:]], ignore_index=True)


def cases() -> Iterator[Case]:
    """Yield over a hundred kinds of neighbours, with every option of a release."""
    table = base()
    columns = ("--origin", "from", "--destination", "to")
    chosen = (*columns, "--delta", "1e-6")
    words, whole = (
        (*columns, "--categories", name) for name in ("words.txt", "whole.txt")
    )
    among = (*words, "--pairs", "private", "--delta", "1e-6")
    graph = (*columns, "--graph", "graph.csv")
    person = (*words, "--unit", "who", "--events", "20")
    counts = (*words, "--count", "n")
    endings = ("csv", "parquet", "csv.gz", "tsv", "tsv.gz", "folder")
    for i, label in enumerate(ODD):
        ends = [{"from": label, "to": label}, {"from": label}, {"to": label}][i % 3]
        event = with_event(table, 6000 * (i % 2), **ends)
        shown = repr(label)[:20]
        for j, (name, options) in enumerate(
            (("chosen", chosen), ("words", words), ("whole", whole), ("graph", graph))
        ):
            yield Case(f"{name} {shown}", options, table, event, endings[(i + j) % 6])
        yield Case(
            f"person {shown}",
            person,
            table,
            with_event(table, who=label),
            endings[i % 6],
        )
        yield Case(
            f"count {shown}",
            counts,
            table,
            with_event(table, n=label),
            endings[(i + 1) % 6],
        )
    for line in LINES:
        for name, options in (("words", words), ("person", person), ("chosen", chosen)):
            yield Case(
                f"{name}: the line {line[:12]!r}", options, table, table, "csv", line
            )
    lonely = with_event(table[table["from"] != "21"], **{"from": "21"})
    none = table[:0]
    one = with_event(none)
    two = with_event(with_event(none), **{"from": "clinic"})
    every = {
        "chosen": chosen,
        "words": words,
        "whole": whole,
        "person": person,
        "among": among,
        "graph": graph,
    }
    for name, options in every.items():
        yield Case(
            f"{name}: the row of 21 empties",
            options,
            lonely,
            table[table["from"] != "21"],
            "csv",
        )
        yield Case(f"{name}: one event or none", options, one, none, "csv")
        yield Case(
            f"{name}: none, from another place",
            options,
            with_event(none, to="clinic"),
            none,
            "parquet",
        )
        yield Case(f"{name}: two events or one", options, two, one, "tsv")
        yield Case(
            f"{name}: no end",
            options,
            with_event(none, **{"from": None, "to": None}),
            none,
            "csv.gz",
        )
    for who in ("0", "7", "59"):
        yield Case(
            f"person: without {who}", person, table, table[table["who"] != who], "csv"
        )
    for number in ("1", "500", "1000000000", "1000000001", "-1", "0.5", "x", ""):
        more = with_event(table, who="new", n=number)
        yield Case(
            f"person: {number} times", (*person, "--count", "n"), table, more, "csv"
        )
    visits = (
        "--trajectory",
        "who,at,from",
        "--events",
        "10",
        "--categories",
        "words.txt",
        "--max-gap",
        "1h",
    )
    visits = (*visits, "--time-format", "seconds")
    for who in ("0", "30"):
        yield Case(
            f"visits: without {who}",
            visits,
            table,
            table[table["who"] != who],
            "parquet",
        )
    alone = with_event(table, who="new")
    odd = {
        "a time": {"at": "soon"},
        "a place": {"from": None},
        "a person": {"who": None},
        "an end": {"at": "infinity"},
    }
    for name, event in odd.items():
        new = with_event(table, **({"who": "new"} | event))
        for form in ("seconds", "iso", "milliseconds", "%Y-%m-%d"):
            options = (*visits[:-1], form)
            yield Case(
                f"visits in {form}: a visit without {name}", options, table, new, "csv"
            )
        yield Case(
            f"visits: one more without {name}",
            visits,
            alone,
            with_event(alone, **event),
            "tsv",
        )


def check(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Release both tables and compare what is published."""
    monkeypatch.setattr(
        chain, "noisy_counts", lambda counts, noise, rng, events: np.array(counts)
    )
    monkeypatch.chdir(folder)
    Path("words.txt").write_text("2\n3\n10\n21\n100\nend\n")
    Path("whole.txt").write_text("2\n3\n10\n21\n100\n")
    states = ("2", "3", "10", "21", "100", "end")
    edges = [
        (one, other)
        for one in states
        for other in states
        if one != other or one == "end"
    ]
    pd.DataFrame(edges, columns=["origin", "destination"]).to_csv(
        "graph.csv", index=False
    )
    codes, texts = zip(
        *(
            _released(case, table, place)
            for table, place in ((case.base, "a"), (case.neighbour, "b"))
        )
    )
    assert codes == (0, 0), texts
    one, other = (release.load(f"{place}/published") for place in "ab")
    assert one.labels == other.labels and list(map(type, one.labels)) == list(
        map(type, other.labels)
    )
    facts = [
        {name: fact for name, fact in chain.statement.items() if name not in OF_ROWS}
        for chain in (one, other)
    ]
    assert facts[0] == facts[1] and len(facts[0]) == len(one.statement) - len(OF_ROWS)
    changed = np.abs(one.noisy - other.noisy).sum()
    assert changed <= one.statement["unit"]["events"] or case.name.startswith("count ")
    made = release.PrivateChain(one.support, other.noisy, facts[0])
    made.statement.update(statement.of_rows(made))
    Path("made").mkdir()
    release_folder.write_public(made, Path("made"))
    published = {file.name: file.read_bytes() for file in Path("b/published").iterdir()}
    assert published == {
        file.name: file.read_bytes() for file in Path("made").iterdir()
    }
    assert texts[1] == texts[0]


def _released(case: Case, table: pd.DataFrame, place: str) -> tuple[int, str]:
    """Return the exit code and what was written to standard output."""
    folder = Path(place)
    folder.mkdir()
    file = folder / f"table.{case.ending}"
    if case.ending == "parquet":
        table.astype(object).where(table.notna(), None).astype(
            dict.fromkeys(table, "str")
        ).to_parquet(file)
    elif case.ending == "folder":
        file.mkdir()
        table[:3000].to_csv(file / "one.csv", index=False)
        table[3000:].to_csv(file / "two.csv.gz", index=False)
    else:
        table.to_csv(
            file, index=False, sep="\t" if case.ending.startswith("tsv") else ","
        )
    if case.line is not None and place == "b":
        with file.open("ab") as stream:
            stream.write(case.line.encode("utf-8", "surrogatepass") + b"\n")
    command = [
        "release",
        str(file),
        *case.options,
        "--epsilon",
        "1",
        "--output",
        f"{place}/published",
        "--seed",
        "1",
    ]
    run = CliRunner().invoke(cli.main, command)
    assert run.exception is None or isinstance(run.exception, SystemExit), run.exception
    return run.exit_code, run.stdout.replace(f"{place}/published", "published")
