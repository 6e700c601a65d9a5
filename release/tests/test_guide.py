"""The guide `your_own_chain`: its commands run as they stand, and a run on one's own
table shows the truth to nobody else."""

import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dpsim_release as release
from dpsim import cli, paths
from dpsim.notebook import load
from dpsim_release import estimate

NAME = "your_own_chain"

CELLS = nbformat.read(paths.notebooks() / f"{NAME}.ipynb", as_version=4).cells
PROSE = "\n\n".join(cell.source for cell in CELLS if cell.cell_type == "markdown")


def blocks(kind: str) -> list[str]:
    """Return the blocks of code of one kind in the prose of the guide."""
    return re.findall(rf"```{kind}\n(.*?)```", PROSE, flags=re.DOTALL)


def commands() -> list[list[str]]:
    """Return the words of each command of the guide."""
    lines = "".join(blocks("sh")).replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines]


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the guide's own tables into a new folder, and work there."""
    monkeypatch.chdir(tmp_path)
    written = "".join(block for block in blocks("py") if "to_csv" in block)
    exec(compile(written, NAME, "exec"), {})


@pytest.mark.usefixtures("tables")
def test_each_command_of_the_guide_runs_on_the_tables_of_the_guide() -> None:
    written = []
    for program, verb, *words in commands():
        assert program == "dpsim"
        if verb == "run":
            name, *given = words
            pairs = list(zip(given[1::3], given[2::3]))
            assert given[::3] == ["-p"] * len(pairs)
            resolved = load(name).checked(pairs)
            assert Path(resolved["events_path"]).is_file()
            continue
        result = CliRunner().invoke(cli.main, [verb, *words])
        assert result.exit_code == 0, result.output
        if "--output" in words:
            written.append(words[words.index("--output") + 1])
            states = Path(words[words.index("--categories") + 1]).read_text().split()
            assert sorted(release.load(written[-1]).labels) == sorted(states)
            assert Path(written[-1] + "_OWNER_ONLY", "owner.json").is_file()
    assert len(written) == len(set(written)) == 5
    assert {"run", "plan"} < {verb for _, verb, *_ in commands()}


def test_the_release_in_python_is_written_and_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the guide says, with `output` in place of `rng`."""
    monkeypatch.chdir(tmp_path)
    (cell,) = (cell.source for cell in CELLS if cell.source.startswith("events = "))
    assert "rng=seed," in cell
    assert '`output="chain"` in place of `rng=seed`' in PROSE
    given = {"pd": pd, "release": release, "pages": ["home", "advice", "tests"]}
    real = cell.replace("rng=seed,", 'output="chain",')
    exec(compile(real, NAME, "exec"), given | {"epsilon": 1.0}, given)
    assert list(release.load("chain").labels) == list(given["one"].labels)


@pytest.mark.usefixtures("tables")
def test_the_guide_reads_the_options_as_the_command_does() -> None:
    visits = [("events_path", "visits.csv"), ("time_format", "iso")]
    visits += [("categories", "pages.txt")]
    spaced = load(NAME).checked([*visits, ("trajectory", "visitor, time, page")])
    assert spaced["trajectory"] == "visitor, time, page"
    for wrong, message in (
        ("visitor,time", "trajectory must be three columns"),
        ("visitor,time,room", "room"),
    ):
        with pytest.raises(ValueError, match=message):
            load(NAME).checked([*visits, ("trajectory", wrong)])
    with pytest.raises(
        ValueError, match="time_format and max_gap belong to trajectory"
    ):
        load(NAME).checked([("max_gap", "30min")])


def test_a_run_on_your_own_table_shows_its_truth_only_to_you(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    pages = np.array(["home", "advice", "tests"])
    clicks = pd.DataFrame(rng.choice(pages, (3000, 2)), columns=["from", "to"])
    clicks.to_csv(tmp_path / "clicks.csv", index=False)
    (tmp_path / "pages.txt").write_text("\n".join(pages))
    words = ["-p", "events_path", "clicks.csv", "-p", "categories", "pages.txt"]
    words += ["-p", "releases", "2", "-p", "audit_draws", "1000"]
    command = [sys.executable, "-m", "dpsim", "run", NAME, *words, "--output", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    made = tmp_path / "out" / NAME
    assert stat.S_IMODE(made.stat().st_mode) & 0o077 == 0
    opened = {path.stem for path in made.iterdir() if path.suffix in {".csv", ".png"}}
    marked = {stem for stem in opened if stem.endswith("OWNER_ONLY")}
    assert opened - marked == {"figa0_click", "figa4_audit"}, (
        "a table that depends on the data"
    )
    numbers = {path.name for path in made.glob("*.json")}
    assert numbers == {"manifest.json", "numbers_OWNER_ONLY.json"}
    table = made / "figa1_release_OWNER_ONLY.csv"
    assert stat.S_IMODE(table.stat().st_mode) == 0o600
    truth = pd.read_csv(table)["true"]
    shares = pd.crosstab(clicks["from"], clicks["to"], normalize="index")
    np.testing.assert_allclose(np.sort(truth), np.sort(shares, axis=None), atol=1e-5)


def test_the_guide_says_from_how_many_pairs_on_the_library_has_its_own_estimate() -> (
    None
):
    assert f"at least $20\\cdot20={estimate.LEAST_PAIRS}$ pairs" in PROSE
