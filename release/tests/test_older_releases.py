"""Releases and budget files that version 0.2.0 wrote are read by this one."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

import dpsim
import dpsim_release as release
from dpsim_release import budget
from dpsim_release.unit import EVENT, Unit

WRITTEN = Path(__file__).with_name("written_by_0_2_0")
RELEASES = ["all_pairs", "persons", "private_pairs", "simulation"]


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_is_read_with_its_numbers_and_its_words(name: str) -> None:
    folder = WRITTEN / name
    chain = release.load(folder)
    assert chain.statement["versions"]["dpsim-compendium"] == "0.2.0"
    told = (WRITTEN / f"{name}.txt").read_text(encoding="utf-8").rstrip()
    assert chain.text == told.replace(
        "dpsim.release.noise", "dpsim_release.discrete_laplace"
    )
    written = pd.read_parquet(folder / "chain.parquet").drop(
        columns="note", errors="ignore"
    )
    pd.testing.assert_frame_equal(chain.pairs, written, rtol=1e-12)
    states = pd.read_parquet(folder / "states.parquet")
    assert chain.stationary().tolist() == pytest.approx(states["stationary"].tolist())
    assert chain.departures().tolist() == pytest.approx(states["departures"].tolist())
    read = dpsim.load_release(folder)
    assert (read.labels, read.statement) == (chain.labels, chain.statement)
    assert (read.text, repr(read)[13:]) == (told, repr(chain)[12:])
    pd.testing.assert_frame_equal(read.matrix, chain.matrix, rtol=1e-12)
    pd.testing.assert_frame_equal(read.pairs, chain.pairs, rtol=1e-12)
    assert read.stationary().tolist() == pytest.approx(chain.stationary().tolist())
    assert read.walk(50, rng=1) == chain.walk(50, rng=1)
    assert read.synthetic(50, rng=1).equals(chain.synthetic(50, rng=1))


@pytest.mark.parametrize(
    ("name", "unit", "spent"),
    [("budget.json", EVENT, 2), ("budget_of_cards.json", Unit(3, "card"), 1)],
)
def test_a_budget_goes_on_where_it_was(
    name: str, unit: Unit, spent: int, tmp_path: Path
) -> None:
    file = tmp_path / name
    shutil.copy(WRITTEN / name, file)
    loss = {"epsilon": 1.0, "delta": 0.0, "unit": unit, "limit": None}
    budget.spend(file, **loss)
    assert len(json.loads(file.read_text(encoding="utf-8"))["releases"]) == spent + 1
    with pytest.raises(ValueError, match="would pass the limit"):
        budget.spend(file, **loss)
