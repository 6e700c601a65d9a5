"""One version and one date wherever they are written; what archives read is what the
project says."""

import json
import re
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet
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
    assert {project["version"] for project in lock.projects()} == {version}
    assert (str(cited["version"]), str(cited["date-released"])) == (
        version,
        released[0][1],
    )
    assert released[0][0] == version
    assert [date for _, date in released] == sorted(
        (date for _, date in released), reverse=True
    )


def test_the_pythons_that_are_declared_are_those_that_ci_runs() -> None:
    prefix = "Programming Language :: Python :: "
    declared = [
        one.removeprefix(prefix)
        for one in archive.project()["classifiers"]
        if one.startswith(prefix)
    ]
    workflows = ROOT / ".github" / "workflows"
    ci, monthly = (
        [
            job["strategy"]["matrix"]["python"]
            for job in yaml.safe_load((workflows / name).read_text())["jobs"].values()
            if "python" in job.get("strategy", {}).get("matrix", {})
        ]
        for name in ("ci.yml", "monthly.yml")
    )
    assert declared in ci
    assert [declared[0], declared[-1]] in monthly
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Python {declared[0]} to {declared[-1]}" in readme
    assert archive.project()["requires-python"] == f">={declared[0]}"


def test_the_environment_file_has_the_dependencies_in_the_locks_versions() -> None:
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    assert text == lock.environment(
        (ROOT / "requirements.lock").read_text(encoding="utf-8")
    )


def test_conda_installs_python_and_what_was_ordered_and_pip_the_rest() -> None:
    """Conda-forge may lack a small package or its locked version, and conda then finds
    no solution."""
    ordered = {
        "jupyterlab",
        "numpy",
        "scipy",
        "matplotlib",
        "papermill",
        "pandas",
        "seaborn",
    }
    *conda, rest = yaml.safe_load(
        (ROOT / "environment.yml").read_text(encoding="utf-8")
    )["dependencies"]
    names = {re.split("[=>]", line)[0] for line in conda}
    assert names == {"python", "pip", "matplotlib-base"} | ordered - {
        "matplotlib"
    }  # which brings Qt
    assert not any(
        "==" in line for line in conda
    )  # the newest version may not be there yet
    versions = lock.locked((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    assert all(
        versions[name] in SpecifierSet(allowed) for name, allowed in lock.CONDA.items()
    )
    *pinned, own, release = rest["pip"]
    assert (own, release) == ("-e .", "-e ./release")
    assert {line.partition("==")[0] for line in pinned} == {*lock.direct()} - ordered
    assert ordered <= {*lock.direct()}


def test_what_pyproject_declares_once_is_said_everywhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = "https://lab.github.io/chains/"
    code = "https://github.com/lab/chains"
    package = {
        **archive.project(),
        "authors": [{"name": "Ann B. Author"}, {"name": "A Group"}],
        "urls": {"Repository": code, "Documentation": site},
    }
    monkeypatch.setattr(archive, "project", lambda: package)
    monkeypatch.setattr(
        archive,
        "compendium",
        lambda: {"doi": "10.5281/x.1", "orcid": {"Ann B. Author": "0000-1"}},
    )
    cited = yaml.safe_load(archive.cff())
    person = {
        "given-names": "Ann B.",
        "family-names": "Author",
        "orcid": "https://orcid.org/0000-1",
    }
    assert cited["authors"] == [person, {"name": "A Group"}]
    assert (cited["repository-code"], cited["url"], cited["doi"]) == (
        code,
        site,
        "10.5281/x.1",
    )
    assert (
        cited["references"] == archive.citation()["references"]
        and cited["title"] == archive.citation()["title"]
    )
    meta = archive.codemeta()
    assert [each.get("familyName", each.get("name")) for each in meta["author"]] == [
        "Author",
        "A Group",
    ]
    assert (meta["codeRepository"], meta["url"], meta["sameAs"]) == (
        code,
        site,
        "https://doi.org/10.5281/x.1",
    )
    paper = yaml.safe_load(archive.codecheck())["paper"]
    assert paper["authors"] == [
        {"name": "Ann B. Author", "ORCID": "0000-1"},
        {"name": "A Group"},
    ]
    assert paper["reference"] == meta["sameAs"]
    line = archive.address_line()
    assert all(
        part in line
        for part in (
            "Ann B. Author, A Group: ",
            site,
            code,
            "/gh/lab/chains/",
            meta["sameAs"],
        )
    )
    monkeypatch.setattr(
        archive, "compendium", lambda: {"orcid": {"Somebody": "0000-2"}}
    )
    with pytest.raises(
        ValueError, match="an ORCID must be that of an author, got Somebody"
    ):
        archive.cff()


def test_the_citation_says_what_pyproject_declares() -> None:
    assert (ROOT / "CITATION.cff").read_text(encoding="utf-8") == archive.cff(), (
        "`make report` writes it anew"
    )


def test_what_only_an_archive_needs_is_made_for_it() -> None:
    made = archive.metadata_of_archives()
    assert not [name for name in made if (ROOT / name).exists()]
    assert json.loads(made["codemeta.json"]) == archive.codemeta()
    listed = [
        entry["file"] for entry in yaml.safe_load(made["codecheck.yml"])["manifest"]
    ]
    assert sorted(listed) == sorted(
        str(f.relative_to(ROOT)) for f in (ROOT / "figures").glob("*/*.png")
    )


def test_the_readme_lists_every_figure_of_the_papers() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text == archive.page("README.md"), "`make notebooks` writes its tables anew"
    for name in ledger.papers()["notebook"]:
        pictures = {
            f"figures/{name}/{path.name}"
            for path in (ROOT / "figures" / name).glob("fig[1-9]*.png")
        }
        assert pictures <= set(re.findall(r"\]\(([^)]+)\)", archive.index()))


def test_the_map_of_files_has_the_first_sentence_of_each_docstring(
    tmp_path: Path,
) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert text == archive.page("CONTRIBUTING.md"), "`make report` writes it anew"
    start, (end, _) = next(
        (mark, made)
        for mark, made in archive.MADE.items()
        if made[1] is archive.file_map
    )
    inside = text.partition(start)[2].partition(end)[0]
    folders = ("dpsim/*", "release/dpsim_release")
    modules = [path.name for each in folders for path in ROOT.glob(f"{each}/[!_]*.py")]
    assert sorted(re.findall(r"^\| `(\w+\.py)` \| \S", inside, re.M)) == sorted(modules)
    module = tmp_path / "module.py"
    for docstring, sentence in (
        ("One (A et al. 2026), b 1.5.\n\nTwo.", "One (A et al. 2026), b 1.5."),
        ("One\nmore. Two.", "One more."),
    ):
        module.write_text(f'"""{docstring}"""\n', encoding="utf-8")
        assert archive.first_sentence(module) == sentence
    module.write_text('"""No sentence"""\n', encoding="utf-8")
    with pytest.raises(ValueError, match="must begin with a sentence"):
        archive.first_sentence(module)


def test_each_paper_is_cited_once_by_its_address() -> None:
    papers = ledger.papers()
    references = archive.citation()["references"]
    assert sorted(papers["address"]) == sorted(each["url"] for each in references)
    assert (
        papers.index.is_unique
        and papers["notebook"].is_unique
        and papers["address"].is_unique
    )
    assert set(papers["notebook"]) <= set(paths.notebook_names())
    years = (
        papers.set_index("address")["reference"]
        .str.extract(r"\b(\d{4}), ")[0]
        .astype(int)
    )
    assert all(years[each["url"]] == each["year"] for each in references)


def test_no_code_names_a_paper() -> None:
    names = re.compile("|".join(rf"\b{name}\b" for name in ledger.papers().index))
    codes = [
        path for folder in ("dpsim", "tools") for path in (ROOT / folder).rglob("*.py")
    ]
    of_a_notebook = set(ledger.papers()["notebook"])  # they show a paper's points
    assert not [
        path
        for path in codes
        if path.parent.name != "letters"
        and path.stem not in of_a_notebook
        and names.search(path.read_text("utf-8"))
    ]


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
        assert [oct(entry.external_attr >> 16) for entry in made.infolist()] == [
            "0o100644",
            "0o100755",
        ]


def test_an_archive_is_made_of_what_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "ROOT", tmp_path)
    with pytest.raises(ValueError, match="is no git clone"):
        archive.sources()


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / ".github" / "workflows").glob("*.yml")),
    ids=lambda path: path.stem,
)
def test_a_workflow_keeps_no_credentials_and_takes_no_latest(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
    steps = [step for job in jobs for step in job.get("steps", [])]
    checkouts = [
        step for step in steps if step.get("uses", "").startswith("actions/checkout@")
    ]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    assert not any("latest" in step.get("run", "") for step in steps)
    assert not any(
        re.search(r"\b(curl|wget)\b", step.get("run", "")) for step in steps
    ), "a download without a hash"
