"""Our own findings: what refuses a row, and what each of them rests on."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from dpsim import ledger
from dpsim.cli import main
from dpsim.ledger import rows as rows_of

BASE = {
    "id": "taxis.noise",
    "notebook": "taxis",
    "places": "README",
    "sentence": "Noise has a smaller error than draws.",
    "basis": "family",
    "inputs": "24 tables of counts",
    "relation": "at most",
    "limit": "1",
    "expected": "0.90",
    "section": "What we claim ourselves",
    "reason": "The worst table has three equal shares.",
}


def write(toy: Path, *changes: dict[str, str]) -> None:
    """Write data/findings.csv with the row above, changed."""
    rows = pd.DataFrame([BASE | change for change in changes])
    rows.to_csv(toy / "data" / "findings.csv", index=False)


def record(toy: Path, value: object) -> None:
    ledger.record("taxis.noise", value, output=str(toy / "figures" / "taxis"))


def ground(toy: Path) -> tuple[str, bool]:
    found = ledger.judged_findings().loc["taxis.noise"]
    return found["ground"], bool(found["ok"])


@pytest.mark.parametrize(
    "column, text, message",
    [
        ("basis", "guess", "must be proof or family or stand-in or withdrawn"),
        ("id", "noise", "must begin with the notebook and a dot"),
        ("limit", "", "must be a number for a family"),
        ("relation", "equal to", "must be at most or at least for a family"),
        ("expected", "", "must be given together with limit"),
        ("inputs", "", "must be a text for a family"),
        ("reason", " ", "must be a text"),
        ("places", "", "must be a text"),
    ],
)
def test_a_mistake_is_refused(toy: Path, column: str, text: str, message: str) -> None:
    write(toy, {column: text})
    with pytest.raises(
        ValueError, match=rf"row .*line 2\), column {column}: {message}"
    ):
        ledger.findings()


def test_a_second_row_and_a_withdrawn_number_are_refused(toy: Path) -> None:
    write(toy, {}, {})
    with pytest.raises(ValueError, match="column id: is the id of a row above"):
        ledger.findings()
    write(toy, {"basis": "withdrawn"})
    with pytest.raises(ValueError, match="column relation: must be empty"):
        ledger.findings()


def test_a_family_keeps_its_worst_case_and_counts_its_inputs(toy: Path) -> None:
    write(toy, {})
    assert ground(toy) == ("not recorded", False)
    record(toy, [0.5, *[0.1] * 22, 0.8999999])
    held = json.loads((toy / "figures" / "taxis" / "results.json").read_text())
    assert held == {"taxis.noise": {"tried": 24, "value": 0.9, "standard_error": None}}
    assert ground(toy) == ("held in all inputs tried", True)
    write(toy, {"relation": "at least", "limit": "0.1", "expected": "0.1"})
    record(toy, [0.5, *[0.1] * 22, 0.9])
    assert ground(toy) == ("held in all inputs tried", True)


def test_a_broken_limit_few_inputs_and_another_number_fail(toy: Path) -> None:
    write(toy, {})
    record(toy, [0.5] * 30 + [1.001])
    assert ground(toy) == ("FAILS: 1.001, not at most 1", False)
    record(toy, [0.9] * 19)
    assert ground(toy) == ("TRIED ON 19 INPUTS ONLY", False)
    record(toy, [0.9] * 20)
    assert ground(toy) == ("held in all inputs tried", True)
    record(toy, [0.88] * 20)
    assert ground(toy) == ("MISSES EXPECTED 0.9", False)
    manifest = {"parameters": {"seed": 2}}
    path = toy / "figures" / "taxis" / "manifest.json"
    path.write_text(json.dumps(manifest))
    assert ground(toy) == ("held in all inputs tried", True), "another seed"


def test_a_family_is_recorded_as_a_list(toy: Path) -> None:
    write(toy, {})
    for value in (0.9, [], [[0.9]]):
        with pytest.raises(ValueError, match=r"value of taxis\.noise must be a list"):
            record(toy, value)
    with pytest.raises(ValueError, match=r"value of taxis\.noise"):
        record(toy, [0.9, math.nan])
    with pytest.raises(ValueError, match="row must be an id"):
        ledger.record("taxis.other", 1.0)


@pytest.mark.parametrize("basis", ["proof", "stand-in", "withdrawn"])
def test_other_grounds(toy: Path, basis: str) -> None:
    word = ledger.GROUNDS[basis]
    write(toy, dict.fromkeys(("relation", "limit", "expected"), "") | {"basis": basis})
    assert ground(toy) == (word, True)
    if basis == "withdrawn":
        return
    write(toy, {"basis": basis})
    assert ground(toy) == ("not recorded", False)
    record(toy, 0.9)
    assert ground(toy) == (word, True)
    record(toy, 1.1)
    assert ground(toy) == ("FAILS: 1.1, not at most 1", False)


def test_the_report_fails_on_a_finding_and_shows_each_with_an_anchor(toy: Path) -> None:
    write(toy, {}, {"id": "taxis.old", "basis": "withdrawn"} | EMPTY)
    ledger.write_checksums()
    done = CliRunner().invoke(main, ["report"])
    assert done.exit_code == 1
    assert "taxis.noise: not recorded" in done.output
    record(toy, [0.9] * 20)
    done = CliRunner().invoke(main, ["report", "--results", "figures/taxis"])
    assert done.exit_code == 0, done.output
    record(toy, [1.9] * 20)
    done = CliRunner().invoke(main, ["report", "--results", "figures/taxis"])
    assert done.exit_code == 1
    assert "taxis.noise: FAILS: 1.9, not at most 1" in done.output
    CliRunner().invoke(main, ["report"])
    page = (toy / "figures" / "REPORT.md").read_text(encoding="utf-8")
    ours, fell = page.split("## What we claim ourselves")[1].split(
        "### Advice that was"
    )
    assert '<a id="taxis.noise"></a>Noise has a smaller error' in ours
    assert '<a id="taxis.old"></a>Noise has a smaller error' in fell


EMPTY = dict.fromkeys(("relation", "limit", "expected"), "")


def test_a_row_of_a_run_without_a_line_in_the_tables_is_named(toy: Path) -> None:
    write(toy, {})
    record(toy, [0.9] * 20)
    write(toy, {"id": "taxis.other"})
    with pytest.raises(ValueError, match=r"findings\.csv has: taxis\.noise"):
        ledger.judged_findings()


def cut(text: str, line: int) -> str:
    """Return a text without its last lines."""
    return "".join(text.splitlines(keepends=True)[:-line])


@pytest.mark.parametrize(
    "table, damaged",
    [
        ("published.csv", lambda text: cut(text, 1)),
        ("published.csv", lambda text: cut(text, 30)),
        ("published.csv", lambda text: text.replace(",0.103,", ",1.03,")),
        ("papers.csv", lambda text: text.replace("et al. 2026", "et al. 2025")),
        ("findings.csv", lambda text: text.replace(",1,", ",10,")),
    ],
)
def test_a_damaged_table_fails_the_report_until_make_ledger(
    toy: Path, table: str, damaged: Callable[[str], str]
) -> None:
    write(toy, {})
    ledger.write_checksums()
    record(toy, [0.9] * 20)
    command = ["report", "--results", "figures/taxis"]
    assert CliRunner().invoke(main, command).exit_code == 0
    path = toy / "data" / table
    text = path.read_text(encoding="utf-8")
    assert damaged(text) != text
    path.write_text(damaged(text), encoding="utf-8")
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 1, done.output
    assert f"data/{table} does not have the checksum" in done.output
    assert "`make ledger`" in done.output
    assert CliRunner().invoke(main, ["report"]).exit_code == 1
    ledger.write_checksums()
    assert CliRunner().invoke(main, command).exit_code == 0


def test_make_ledger_blesses_no_table_that_cannot_be_read(toy: Path) -> None:
    before = (toy / "data" / "ledger.sha256").read_text()
    write(toy, {"basis": "guess"})
    with pytest.raises(ValueError, match="column basis"):
        ledger.write_checksums()
    assert (toy / "data" / "ledger.sha256").read_text() == before
    (toy / "data" / "ledger.sha256").unlink()
    assert len(ledger.damage()) == 3


def test_the_committed_tables_have_their_checksums() -> None:
    assert ledger.damage() == []


def test_ledger_md_explains_every_column_and_word() -> None:
    text = (rows_of.paths.data() / "LEDGER.md").read_text(encoding="utf-8")
    ours = text[text.index("## Our own findings") :]
    words = [*rows_of.FINDINGS, *rows_of.FINDINGS["basis"], "at most", "at least"]
    assert not [word for word in words if f"`{word}`" not in ours]
    assert not [word for word in ledger.GROUNDS.values() if word not in ours]
    assert set(rows_of.FINDINGS["basis"]) == set(ledger.GROUNDS)
