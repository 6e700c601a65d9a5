"""README's session in Python runs as it stands, and its links lead somewhere."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from toy_project import ROOT

import dpsim
from dpsim import cli

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_session_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert "differentially private" in capsys.readouterr().out
    assert list(names["P"].index) == ["a", "b", "c"]  # type: ignore[attr-defined]


def tables_of_a_stranger() -> None:
    """Write the files that README's commands name, with the columns that they name."""
    rng = np.random.default_rng(1)
    pages, zones = np.array(["home", "shop", "cart, full"]), np.arange(1, 9)
    Path("pages.txt").write_text("home\nshop\ncart, full\n")
    Path("zones.txt").write_text("\n".join(map(str, zones)))
    views = pd.DataFrame({"page_from": rng.choice(pages, 5000), "page_to": rng.choice(pages, 5000)})
    views.to_csv("visits.csv.gz", index=False)
    pairs = pd.MultiIndex.from_product([zones, zones], names=["from", "to"])
    pd.DataFrame({"trips": rng.poisson(300, 64)}, index=pairs).to_csv("trips.csv")
    seconds = pd.to_timedelta(rng.integers(0, 86_400, 9000), "s")
    visits = {"user": rng.integers(0, 400, 9000), "time": pd.Timestamp("2025-01-01") + seconds}
    pd.DataFrame(visits | {"page": rng.choice(pages, 9000)}).to_csv("logs.csv", index=False)


def test_a_stranger_releases_three_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command as it stands; then the lines in Python, on each of the releases."""
    part = README.partition("## Release your own data")[2].partition("\n## ")[0]
    commands, lines = (re.findall(rf"```{kind}\n(.*?)```", part, flags=re.DOTALL) for kind in ("sh", "py"))
    monkeypatch.chdir(tmp_path)
    tables_of_a_stranger()
    written = []
    for words in (shlex.split(line) for line in commands[0].replace("\\\n", " ").splitlines()):
        result = CliRunner().invoke(cli.main, words[1:])
        assert result.exit_code == 0, result.output
        if "--check" in words:
            assert not result.stdout and not list(Path().glob("chain*"))
            continue
        written.append(words[words.index("--output") + 1])
        assert "<svg" in Path(written[-1], "report.html").read_text(encoding="utf-8")
    assert written == ["chain", "trips", "visits"]
    for folder, start in zip(written, ("home", "1", "home")):
        code = lines[0].replace('load_release("visits")', f'load_release("{folder}")').replace('"home"', f'"{start}"')
        code = code.replace("visits_again", f"{folder}_again")
        exec(compile(code, "README.md", "exec"), {"dpsim": dpsim})
        own = folder + "_OWNER_ONLY"
        assert f"`{own}/`" in part or folder != "chain"
        assert Path(own, "owner.json").is_file()


def test_local_links_lead_somewhere() -> None:
    targets = [t for t in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in t]
    assert len(targets) > 10
    missing = [target for target in targets if not (ROOT / target).exists()]
    assert not missing
