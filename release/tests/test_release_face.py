"""What dpsim_release shows, what it needs, and how the command line finds it."""

import doctest
import importlib
import inspect
import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

import dpsim
import dpsim_release
from dpsim import cli

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", dpsim_release.__all__)
def test_every_name_loads_and_says_what_it_is_and_its_examples_run(name: str) -> None:
    thing = getattr(dpsim_release, name)
    doc = inspect.getdoc(thing) or ""
    assert doc
    module = inspect.getmodule(thing)
    test = doctest.DocTestParser().get_doctest(doc, vars(module), name, None, None)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_the_guide_uses_public_names_alone() -> None:
    cells = json.loads((ROOT / "notebooks/your_own_chain.ipynb").read_text())["cells"]
    code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    words = set(code.replace("(", " ").replace(".", " . ").split())
    assert "privatize" in words and "dpsim_release" in words
    places = [part.split("(")[0] for part in code.split("release.")[1:]]
    used = {place.split(".")[0].split(",")[0].strip() for place in places}
    used = {name for name in used if name.isidentifier()}
    assert {"privatize", "Options"} <= used
    assert used <= {*dpsim_release.__all__, "png", "csv", "rng", "text"}


def test_both_houses_have_one_version() -> None:
    assert dpsim_release.__version__ == dpsim.__version__
    for name in ("dpsim-release", "dpsim-compendium"):
        assert metadata.version(name) == dpsim.__version__


@pytest.mark.parametrize("version", [None, "0.2.0"])
def test_without_its_dpsim_it_says_how_to_install_both(version: str | None) -> None:
    fake = (
        "None" if version is None else f"types.SimpleNamespace(__version__={version!r})"
    )
    code = f"import sys, types; sys.modules['dpsim'] = {fake}; import dpsim_release"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: dpsim_release {dpsim.__version__} needs dpsim "
        f"{dpsim.__version__}: run `pip install -e . -e ./release` in the clone"
    )


@pytest.mark.parametrize("name", ["release", "plan"])
def test_the_command_line_finds_the_commands_and_tells_what_they_do(name: str) -> None:
    assert name in cli.main.list_commands(None)
    done = CliRunner().invoke(cli.main, [name, "--help"])
    assert done.exit_code == 0 and "--epsilon E" in done.output
    assert cli.OFFERED[name] in " ".join(done.output.split())


@pytest.mark.parametrize("name", ["release", "plan"])
def test_without_the_package_a_command_says_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda **_: [])
    done = CliRunner().invoke(cli.main, [name, "x.csv"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        f"dpsim: `dpsim {name}` is in the package dpsim_release: run "
        "`pip install -e . -e ./release` in the clone\n"
    )


def test_the_old_place_says_where_the_package_is() -> None:
    with pytest.raises(ImportError, match=r"^dpsim\.release is now dpsim_release"):
        importlib.import_module("dpsim.release")


def test_help_loads_no_package_that_offers_commands() -> None:
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom dpsim import cli\n"
        "done = CliRunner().invoke(cli.main, ['--help'])\n"
        "heavy = {'dpsim_release', 'pandas', 'duckdb', 'ibis'} & set(sys.modules)\n"
        "print(heavy, 'Make a private Markov chain' in done.output)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set() True\n"


def test_no_message_lets_pip_look_for_our_names_on_pypi() -> None:
    """Nobody has registered them there, so anybody could."""
    texts = [*ROOT.glob("*.md"), *ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("*/*.md")]
    for package in ("dpsim", "release/dpsim_release"):
        texts += ROOT.joinpath(package).rglob("*.py")
        texts += ROOT.joinpath(package).rglob("*.html")
    found = [
        (text.name, command.split())
        for text in texts
        for command in re.findall(
            r"pip install ([^`&\n\\\"]*)", text.read_text(encoding="utf-8")
        )
    ]
    assert len(found) >= 6
    for name, words in found:
        places = [word for word in words if word[0] != "-"]
        flags = [word for word in words if word[0] == "-" and word != "-q"]
        assert places and set(places) <= {".", "./release", "requirements.lock"}, name
        assert flags.count("-e") + flags.count("-r") == len(places), name
