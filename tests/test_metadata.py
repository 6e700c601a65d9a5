"""One version and one date wherever they are written; what archives read is what the project says."""

import json
import re
import zipfile
from pathlib import Path

import pytest
import yaml
from toy_project import ROOT

import dpsim
from dpsim import ledger, paths
from tools import archive, lock


def test_version_and_date_are_the_same_wherever_they_are_written() -> None:
    version = archive.project()["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## (\d\S*) - (\S+)$", changelog, re.MULTILINE)
    cited = archive.citation()
    assert dpsim.__version__ == version
    assert (str(cited["version"]), str(cited["date-released"])) == (version, released[0][1])
    assert released[0][0] == version
    assert [date for _, date in released] == sorted((date for _, date in released), reverse=True)


def test_the_environment_file_has_the_direct_dependencies_in_the_versions_of_the_lock() -> None:
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    assert text == lock.environment((ROOT / "requirements.lock").read_text(encoding="utf-8"), archive.project())
    assert len(text.splitlines()) <= 45
    assert all(re.search(rf"^ +- {name}==?[\w.]+$", text, re.MULTILINE) for name in lock.direct(archive.project()))


def test_codemeta_says_what_the_project_says() -> None:
    codemeta = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    assert codemeta == archive.codemeta(), "`make notebooks` writes it anew"


def test_codecheck_lists_every_figure_with_its_command() -> None:
    text = (ROOT / "codecheck.yml").read_text(encoding="utf-8")
    assert text == archive.codecheck(), "`make notebooks` writes it anew"
    listed = [entry["file"] for entry in yaml.safe_load(text)["manifest"]]
    assert sorted(listed) == sorted(str(f.relative_to(ROOT)) for f in (ROOT / "figures").glob("*/*.png"))


def test_the_readme_lists_every_figure_of_the_papers_and_what_people_wrote_of_it_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text == archive.readme(), "`make notebooks` writes its tables anew"
    for name in ledger.papers()["notebook"]:
        pictures = {f"figures/{name}/{path.name}" for path in (ROOT / "figures" / name).glob("fig[1-9]*.png")}
        assert pictures <= set(re.findall(r"\]\(([^)]+)\)", archive.index()))
    for start, (end, _) in archive.MADE.items():
        text = text.partition(start)[0] + text.partition(end)[2]
    assert len(text.splitlines()) <= 120


def test_each_paper_is_cited_once_by_its_address() -> None:
    papers, references = ledger.papers(), archive.citation()["references"]
    assert sorted(papers["address"]) == sorted(each["url"] for each in references)
    assert papers.index.is_unique and papers["notebook"].is_unique and papers["address"].is_unique
    assert set(papers["notebook"]) <= set(paths.notebook_names())
    years = papers.set_index("address")["reference"].str.extract(r"\b(\d{4}), ")[0].astype(int)
    assert all(years[each["url"]] == each["year"] for each in references)


def test_no_code_names_a_paper_and_no_page_counts_them() -> None:
    names = re.compile("|".join(rf"\b{name}\b" for name in ledger.papers().index))
    codes = [path for folder in ("dpsim", "tools") for path in (ROOT / folder).rglob("*.py")]
    assert not [path for path in codes if path.parent.name != "errata" and names.search(path.read_text("utf-8"))]
    counted = re.compile(
        r"\b(?:two|three|four|five|six|seven|eight|\d+) (?:other )?papers\b|\ball (?:five|six)\b", re.I
    )
    pages = ["README.md", "CONTRIBUTING.md", "data/README.md", "notebooks/00_overview.ipynb"]
    assert not {page: found for page in pages if (found := counted.findall((ROOT / page).read_text("utf-8")))}


def test_the_zip_has_no_time_and_the_same_bytes_again(tmp_path: Path) -> None:
    files = {"b/run": b"#!/bin/sh\n", "a.txt": b"text"}
    for folder in ("one", "two"):
        archive.write_zip(tmp_path / folder / "dpsim-1.zip", files)
        files = dict(reversed(files.items()))
    one, two = (tmp_path / folder / "dpsim-1.zip" for folder in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    with zipfile.ZipFile(one) as made:
        assert made.namelist() == ["dpsim-1/a.txt", "dpsim-1/b/run"]
        assert {entry.date_time for entry in made.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert [oct(entry.external_attr >> 16) for entry in made.infolist()] == ["0o100644", "0o100755"]


def test_an_archive_is_made_of_what_is_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "ROOT", tmp_path)
    with pytest.raises(ValueError, match="is no git clone"):
        archive.sources()


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.stem)
def test_a_workflow_keeps_no_credentials_and_takes_no_latest(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
    steps = [step for job in jobs for step in job.get("steps", [])]
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    assert not any("latest" in step.get("run", "") for step in steps)
