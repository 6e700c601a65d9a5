"""README's commands for a release run as they stand, and its links lead somewhere."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from toy_project import ROOT

import dpsim
from dpsim import cli
from tools import rides

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", README, flags=re.DOTALL)


def test_a_stranger_releases_the_table_of_the_repository_and_reads_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line as it stands, from a folder that has the repository's data."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    for command in blocks("sh"):
        words = shlex.split(command.replace("\\\n", " "))
        result = CliRunner().invoke(cli.main, words[1:])
        assert result.exit_code == 0, result.output
        folder = words[words.index("--output") + 1]
        assert "<svg" in Path(folder, "report.html").read_text(encoding="utf-8")
        assert Path(f"{folder}_OWNER_ONLY", "owner.json").is_file()
    assert "`rides/`" in README and "`rides_OWNER_ONLY/`" in README
    (session,) = blocks("python")
    exec(compile(session, "README.md", "exec"), {})


def test_local_links_lead_somewhere() -> None:
    targets = [t for t in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in t]
    assert len(targets) > 10
    missing = [target for target in targets if not (ROOT / target).exists()]
    assert not missing


def test_the_invented_rides_are_made_by_their_script() -> None:
    committed = (ROOT / "data" / "rides" / "rides.csv").read_text(encoding="utf-8")
    assert committed == rides.rides()


def test_one_line_of_the_readme_makes_a_private_word() -> None:
    (line,) = re.findall(r"`(dpsim\.words\.privatize\(.*?\)\.value)`", README)
    word = eval(line, {"dpsim": dpsim})
    assert len(word) == 4 and set(word) <= set("abc")
