"""One zip that outlives the project: sources, executed notebooks, figures, data, locks,
and what made what.

`make archive` writes build/archive/<name>-<version>.zip, an RO-Crate after the profile
Process Run Crate. It holds no times, no memory and no paths of this machine: two clean
clones on one machine give the same bytes. codemeta.json and codecheck.yml are made for
the archive and are only there. `--metadata` writes only CITATION.cff and the generated
parts of README and CONTRIBUTING, which a test compares with their sources.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import mimetypes
import re
import subprocess
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from dpsim import ledger, paths, runner
from dpsim.notebook import load
from tools import notebooks  # it makes the modules of the site importable

import addresses  # isort: skip

ROOT = Path(__file__).resolve().parents[1]

PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
SHA256 = "https://w3id.org/ro/terms/workflow-run#sha256"

FORMATS = {
    ".ipynb": "application/x-ipynb+json",
    ".lock": "text/plain",
    ".cff": "text/yaml",
    ".md": "text/markdown",
    ".toml": "application/toml",
    ".yml": "text/yaml",
    ".yaml": "text/yaml",
    ".geojson": "application/geo+json",
}


def _pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def project() -> dict[str, Any]:
    """Return the table [project] of pyproject.toml."""
    return dict(_pyproject()["project"])


def compendium() -> dict[str, Any]:
    """Return the table [tool.compendium] of pyproject.toml."""
    return dict(_pyproject()["tool"]["compendium"])


def citation() -> dict[str, Any]:
    """Return CITATION.cff."""
    return dict(yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8")))


class Author(NamedTuple):
    """An author as pyproject.toml declares them; one with an ORCID is a person, whose
    last name is the last word."""

    name: str
    orcid: str

    @property
    def names(self) -> tuple[str, str]:
        """The given names and the family name."""
        given, _, family = self.name.rpartition(" ")
        return given, family


def authors() -> list[Author]:
    """Return the authors, in order."""
    orcid = compendium().get("orcid", {})
    names = [each["name"] for each in project()["authors"]]
    if strangers := set(orcid) - set(names):
        raise ValueError(
            "pyproject.toml: an ORCID must be that of an author, got "
            f"{', '.join(sorted(strangers))}"
        )
    return [
        Author(name, f"https://orcid.org/{orcid[name]}" if name in orcid else "")
        for name in names
    ]


def cff() -> str:
    """Return CITATION.cff with what pyproject.toml declares; the other fields and the
    references stay as written."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    package = project()
    urls = package.get("urls", {})
    cited = [
        dict(zip(("given-names", "family-names", "orcid"), (*each.names, each.orcid)))
        if each.orcid
        else {"name": each.name}
        for each in authors()
    ]
    declared = {
        "version": package["version"],
        "license": package["license"],
        "authors": cited,
        "keywords": package["keywords"],
        "repository-code": urls.get("Repository"),
        "url": urls.get("Documentation"),
        "doi": compendium().get("doi"),
        "references": None,  # they follow as they are written
    }
    known = {key: value for key, value in (citation() | declared).items() if value}
    head = yaml.safe_dump(known, sort_keys=False, allow_unicode=True, width=120)
    return CFF_HEAD + head + text[text.index("references:\n") :]


CFF_HEAD = (
    "# Version, licence, authors, keywords, addresses and DOI come from "
    "pyproject.toml, by `make report`.\n"
)


def codemeta() -> dict[str, Any]:
    """Return codemeta.json: what pyproject.toml and CITATION.cff say, in CodeMeta's
    words."""
    package = project()
    cited = citation()
    urls = addresses.completed(package.get("urls", {}))
    verdicts = ledger.by_paper(ledger.judged_claims())["verdict"].rename(
        index=ledger.papers()["address"]
    )
    found = {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "identifier": package["name"],
        "name": cited["title"],
        "description": package["description"],
        "version": package["version"],
        "datePublished": str(cited["date-released"]),
        "license": f"https://spdx.org/licenses/{package['license']}",
        "author": [_agent(each) for each in authors()],
        "codeRepository": urls.get("Repository"),
        "url": urls.get("Documentation"),
        "sameAs": doi_address(),
        "keywords": package["keywords"],
        "programmingLanguage": "Python",
        "runtimePlatform": f"Python {package['requires-python']}",
        "operatingSystem": "Linux",
        "referencePublication": [
            {
                "@type": "ScholarlyArticle",
                "name": paper["title"],
                "datePublished": str(paper["year"]),
                "url": paper["url"],
                "review": {
                    "@type": "Review",
                    "reviewAspect": "reproducibility",
                    "reviewBody": verdicts[paper["url"]],
                },
            }
            for paper in cited["references"]
        ],
    }
    return {name: value for name, value in found.items() if value}


def doi_address() -> str:
    """Return the address of the archive, or "" if no DOI is declared."""
    doi = compendium().get("doi")
    return f"https://doi.org/{doi}" if doi else ""


def _agent(author: Author) -> dict[str, str]:
    """Return an author in CodeMeta's words."""
    if not author.orcid:
        return {"@type": "Organization", "name": author.name}
    given, family = author.names
    return {
        "@type": "Person",
        "@id": author.orcid,
        "givenName": given,
        "familyName": family,
    }


MISSING = """\
---
# Written by `make archive`: each figure and the command that makes it. `make figures`
# makes them all. By the rules of CODECHECK 2.0; authors and DOI come from
# pyproject.toml. A person has to add what is missing: codechecker (name, ORCID),
# report, certificate, summary.
"""
"""How codecheck.yml begins."""


def codecheck() -> str:
    """Return codecheck.yml: every committed figure with the command that makes it; the
    codechecker adds the rest."""
    cited = citation()
    about = ledger.papers().set_index("notebook")["reference"]
    manifest = [
        {
            "file": f"figures/{name}/{figure.name}",
            "comment": f"dpsim run {name}"
            + (f" ({about[name]})" if name in about else ""),
        }
        for name in paths.notebook_names()
        for figure in sorted((ROOT / "figures" / name).glob("*.png"))
    ]
    names = [
        {"name": each.name}
        | ({"ORCID": each.orcid.rpartition("/")[2]} if each.orcid else {})
        for each in authors()
    ]
    paper: dict[str, Any] = {"title": cited["title"], "authors": names}
    if doi := doi_address():
        paper["reference"] = doi
    paper["reference-other"] = [each["url"] for each in cited["references"]]
    whole = {
        "version": "https://codecheck.org.uk/spec/config/2.0/",
        "paper": paper,
        "manifest": manifest,
    }
    return MISSING + yaml.safe_dump(
        whole, sort_keys=False, allow_unicode=True, width=120
    )


def verdicts() -> str:
    """Return README's table of the papers, with what is below it."""
    return f"{ledger.papers_table(ledger.judged_claims(), 'notebooks')}\n"


def counts() -> str:
    """Return README's sentence on how many reported values were reproduced."""
    return f"{ledger.values_sentence(ledger.judged_claims())}\n"


def index() -> str:
    """Return README's index of our plots of the papers' figures."""
    return f"{ledger.figure_index()}\n"


def address_line() -> str:
    """Return README's line on who wrote this, and where it is: the site, Binder and the
    archive, once declared."""
    urls = project().get("urls", {})
    found = []
    if "Documentation" in urls:
        found.append(f"[the site]({urls['Documentation']})")
    if binder := addresses.binder(urls, "00_overview"):
        found += [
            f"[the notebooks on Binder]({binder})",
            f"[the repository]({urls['Repository']})",
        ]
    if doi := doi_address():
        found.append(f"[the archive, doi:{compendium()['doi']}]({doi})")
    names = ", ".join(each.name for each in authors())
    return f"{names}{': ' if found else '.'}{' · '.join(found)}\n\n"


def file_map() -> str:
    """Return CONTRIBUTING's map of files: a table for each subpackage, with the first
    sentence of each module's docstring."""
    parts = []
    for folder in (
        *sorted((ROOT / "dpsim").glob("*/")),
        ROOT / "release/dpsim_release",
    ):
        modules = sorted(folder.glob("[!_]*.py"))
        if modules:
            rows = [f"| `{path.name}` | {first_sentence(path)} |" for path in modules]
            name = folder.relative_to(ROOT)
            head = [f"| `{name}` | what it contains |", "| --- | --- |"]
            parts.append("\n".join([*head, *rows, ""]))
    return "\n".join([*parts, ""])


def first_sentence(module: Path) -> str:
    """Return the first sentence of a module's docstring on one line."""
    text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    found = re.match(r".*?(?<!et al)\.(?= [A-Z`]|$)", paragraph)
    if not found:
        raise ValueError(f"{module}: the docstring must begin with a sentence")
    return found[0]


MADE = {
    "<!-- counts: generated by `make report` -->": ("<!-- end of counts -->", counts),
    "<!-- report: generated by `make report` -->": ("<!-- end of report -->", verdicts),
    "<!-- index: generated by `make notebooks` -->": ("<!-- end of index -->", index),
    "<!-- addresses: generated by `make report` -->": (
        "<!-- end of addresses -->",
        address_line,
    ),
    "<!-- files: generated by `make report` -->": ("<!-- end of files -->", file_map),
}
"""The marks before and after each generated part of README and CONTRIBUTING, and the
function that returns the part."""


def page(name: str) -> str:
    """Return README.md or CONTRIBUTING.md with its generated parts made anew."""
    text = (ROOT / name).read_text(encoding="utf-8")
    for start, (end, make) in MADE.items():
        before, found, rest = text.partition(start)
        if not found:
            continue
        text = f"{before}{start}\n\n{make()}{end}{rest.partition(end)[2]}"
    return text


def metadata() -> dict[str, bytes]:
    """Return CITATION.cff, README.md and CONTRIBUTING.md, parts of which are
    generated."""
    pages = {name: page(name).encode() for name in ("README.md", "CONTRIBUTING.md")}
    return {"CITATION.cff": cff().encode()} | pages


def metadata_of_archives() -> dict[str, bytes]:
    """Return codemeta.json and codecheck.yml, which are not committed because only
    readers of an archive need them."""
    return {
        "codemeta.json": _json(codemeta(), sort_keys=False),
        "codecheck.yml": codecheck().encode(),
    }


def sources() -> dict[str, bytes]:
    """Return the committed files but for notebooks and figures, which come from the
    last runs.

    Raises ValueError where there is no clone, or one with changes: the archive is that
    of a commit.
    """
    if not (ROOT / ".git").exists():
        raise ValueError(
            f"{ROOT} is no git clone: an archive is made of what is committed"
        )
    if changed := _git("status", "--porcelain", "--", ":!notebooks", ":!figures"):
        raise ValueError(f"the clone has changes that are not committed:\n{changed}")
    listed = _git("ls-files", "-z", "--", ":!notebooks/*.ipynb").split("\0")
    made = (
        *(f"figures/{name}/" for name in paths.notebook_names()),
        "figures/REPORT.md",
    )
    found = {
        name: (ROOT / name).read_bytes()
        for name in listed
        if name and not name.startswith(made)
    }
    readme = found["README.md"].decode()
    urls = addresses.completed(project().get("urls", {}))
    return found | {"README.md": addresses.filled(readme, urls).encode()}


def results() -> tuple[dict[str, bytes], dict[str, dict[str, Any]]]:
    """Return the notebooks with the outputs of their last default run, figures and
    manifests; and these manifests.

    Raises ValueError for a notebook whose figures are not current.
    """
    found: dict[str, bytes] = {
        "figures/REPORT.md": (paths.figures() / "REPORT.md").read_bytes()
    }
    manifests = {}
    for job in runner.plan_runs():
        if not runner.runs.is_current(job):
            raise ValueError(
                f"the figures of {job.name} are not current: `make figures` first"
            )
        record = json.loads(
            (Path(job.record) / "manifest.json").read_text(encoding="utf-8")
        )
        kept = {name: value for name, value in record.items() if name != "seconds"}
        kept["output"] = f"figures/{job.name}"
        kept["versions"] = runner.keys.versions()
        kept["outputs"] = {
            name: digest
            for name, digest in record["outputs"].items()
            if "timings" not in name
        }
        manifests[job.name] = kept
        found[f"manifests/{job.name}.json"] = _json(kept)
        found[f"notebooks/{job.name}.ipynb"] = notebooks.refreshed(job.name).encode()
        for name in kept["outputs"]:
            found[f"figures/{job.name}/{name}"] = (Path(job.output) / name).read_bytes()
    return found, manifests


def crate(files: dict[str, bytes], manifests: dict[str, dict[str, Any]]) -> bytes:
    """Return ro-crate-metadata.json: every file with its sha256, every run with what
    went in and what came out."""
    from rocrate.model.contextentity import ContextEntity
    from rocrate.rocrate import ROCrate

    package = project()
    cited = citation()
    made = ROCrate(version="1.1")
    made.metadata.extra_terms["sha256"] = SHA256

    def add(identifier: str, kind: str, **properties: Any) -> Any:
        return made.add(
            ContextEntity(made, identifier, properties={"@type": kind, **properties})
        )

    made.name = cited["title"]
    made.description = package["description"]
    made.datePublished = str(cited["date-released"])
    made.root_dataset["version"] = str(cited["version"])
    made.license = add(
        "https://spdx.org/licenses/MIT",
        "CreativeWork",
        name="MIT License",
        description="LICENSE, in this archive",
    )
    people = []
    for number, each in enumerate(authors(), 1):
        agent = _agent(each)
        identifier = agent.pop("@id", f"#author-{number}")
        people.append(made.add(ContextEntity(made, identifier, properties=agent)))
    made.root_dataset["author"] = people
    made.publisher = author = people[0]
    made.root_dataset["conformsTo"] = add(
        PROFILE, "CreativeWork", name="Process Run Crate", version="0.5"
    )
    entities = {}
    for name, contents in sorted(files.items()):
        properties: dict[str, Any] = {
            "name": name,
            "contentSize": str(len(contents)),
            "encodingFormat": _format(name),
        }
        if name.endswith(".ipynb"):
            properties["@type"] = ["File", "SoftwareSourceCode"]
            properties["version"] = str(cited["version"])
        properties["sha256"] = hashlib.sha256(contents).hexdigest()
        entities[name] = made.add_file(
            ROOT / name, dest_path=name, properties=properties
        )
    for name, manifest in manifests.items():
        notebook = entities[f"notebooks/{name}.ipynb"]
        notebook["programmingLanguage"] = add(
            "https://www.python.org/", "ComputerLanguage", name="Python"
        )
        notebook["softwareRequirements"] = [
            add(
                purl,
                "SoftwareApplication",
                name=library,
                softwareVersion=version,
                url=purl,
            )
            for library, version in manifest["versions"].items()
            for purl in [f"pkg:pypi/{library}@{version}"]
        ]
        read = [entity for file, entity in entities.items() if file.startswith("data/")]
        if paths.stage(name):
            read += [
                e
                for f, e in entities.items()
                if f.startswith("figures/") and f"/{name}/" not in f
            ]
        parameters = [
            add(
                f"#{name}-{parameter.name}",
                "PropertyValue",
                name=parameter.name,
                value=str(parameter.default),
            )
            for parameter in load(name).parameters.values()
            if parameter.name != "output"
        ]
        run = made.add_action(
            notebook,
            identifier=f"#run-{name}",
            object=[*read, *parameters],
            result=[entities[f"figures/{name}/{file}"] for file in manifest["outputs"]],
            properties={
                "name": f"dpsim run {name}",
                "description": (
                    "The notebook run from top to bottom; its record is "
                    f"manifests/{name}.json"
                ),
                "agent": author,
                "actionStatus": "http://schema.org/CompletedActionStatus",
            },
        )
        made.root_dataset.append_to("mentions", run)
    return _json(made.metadata.generate())


def write_zip(path: Path, files: dict[str, bytes]) -> None:
    """Write files under one folder named as the zip: in order, without times, readable
    by everybody."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    with zipfile.ZipFile(
        partial, "w", zipfile.ZIP_DEFLATED, compresslevel=9
    ) as archive:
        for name, contents in sorted(files.items()):
            entry = zipfile.ZipInfo(
                f"{path.stem}/{name}", date_time=(1980, 1, 1, 0, 0, 0)
            )
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (
                0o100755 if contents.startswith(b"#!") else 0o100644
            ) << 16
            archive.writestr(entry, contents)
    partial.replace(path)


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


def _json(value: Any, *, sort_keys: bool = True) -> bytes:
    text = json.dumps(value, indent=2, sort_keys=sort_keys, ensure_ascii=False)
    return f"{text}\n".encode()


def _format(name: str) -> str:
    return (
        FORMATS.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "text/plain"
    )


def main() -> Iterator[str]:
    """Write what was asked for; yield what to print."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument(
        "--metadata",
        action="store_true",
        help="only CITATION.cff, README and the map of files in CONTRIBUTING",
    )
    if arguments.parse_args().metadata:
        for name, contents in metadata().items():
            (ROOT / name).write_bytes(contents)
        return
    made, manifests = results()
    files = sources() | made | metadata() | metadata_of_archives()
    files["ro-crate-metadata.json"] = crate(files, manifests)
    path = (
        ROOT / "build" / "archive" / f"{project()['name']}-{project()['version']}.zip"
    )
    write_zip(path, files)
    yield (
        f"{path.relative_to(ROOT)}: {len(files)} files, "
        f"{path.stat().st_size / 2**20:.1f} MiB"
    )
    yield f"sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}"


if __name__ == "__main__":
    for line in main():
        print(line)
