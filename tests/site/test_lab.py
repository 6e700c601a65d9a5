"""A notebook in JupyterLab, as a new user meets it: run all cells, move a chart, see it
change."""

import difflib
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import psutil
import pytest
from chromium import CHROMIUM, launch
from toy_project import ROOT

from dpsim import ledger, paths
from dpsim.figures import explore
from tools import notebooks

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed"
)

NOTEBOOK = "00_overview.ipynb"
SETTINGS = "jupyter-config/lab/user-settings/@jupyterlab/apputils-extension"
PATIENCE = 120_000
"""Milliseconds that a cold start on a busy machine may take; nothing waits longer than
it must."""

RUN = """() => [...document.querySelectorAll(
    '.jp-Notebook .jp-CodeCell .jp-InputArea-prompt'
  )]
  .every(prompt => /\\[\\d+\\]:/.test(prompt.textContent))"""
"""Whether every cell of code has come to its end."""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of what the notebooks read, so that whatever is saved or run is
    written there."""
    folder = tmp_path_factory.mktemp("lab")
    for part in ("notebooks", "data", "figures"):
        shutil.copytree(ROOT / part, folder / part)
    return folder


@pytest.fixture(scope="module")
def lab(copy: Path) -> Iterator[Callable[[str], str]]:
    """Start JupyterLab on this machine alone, with settings of its own; return what
    gives a notebook's address in it.

    Each notebook opens in a workspace of its own, because JupyterLab opens again
    whatever a workspace last showed.
    """
    settings = copy / SETTINGS
    settings.mkdir(parents=True)
    offline = {"fetchNews": "false", "checkForUpdates": False}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(offline))
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(
        os.pathsep
    )
    environment = {
        **os.environ,
        "DPSIM_ROOT": str(copy),
        "HOME": str(copy),
        "IPYTHONDIR": str(copy / "ipython"),
        "JUPYTER_CONFIG_DIR": str(copy / "jupyter-config"),
        "JUPYTER_DATA_DIR": str(copy / "jupyter-data"),
        "JUPYTER_RUNTIME_DIR": str(copy / "jupyter-runtime"),
        "PYTHONPATH": path,
    }
    token = secrets.token_hex(16)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += [
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.port=0",
        f"--IdentityProvider.token={token}",
    ]
    command += [
        f"--ServerApp.root_dir={copy}"
    ]  # as in `make lab`: notebooks show figures of the folder beside them
    with (copy / "lab.log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=copy, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        base = _address(server, copy)
        yield (
            lambda name: (
                f"{base}lab/workspaces/{Path(name).stem}/tree/notebooks/{name}?token={token}"
            )
        )
    finally:
        _end(server)


def _address(server: subprocess.Popen[bytes], folder: Path) -> str:
    """Return where the server listens, once it has written it down."""
    written = folder / "jupyter-runtime" / f"jpserver-{server.pid}.json"
    give_up = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < give_up and server.poll() is None:
        try:
            return str(json.loads(written.read_text())["url"])
        except (FileNotFoundError, json.JSONDecodeError):
            time.sleep(0.1)
    raise AssertionError((folder / "lab.log").read_text())


def _end(server: subprocess.Popen[bytes]) -> None:
    """End the server and its kernels: politely, then without asking."""
    family = [
        psutil.Process(server.pid),
        *psutil.Process(server.pid).children(recursive=True),
    ]
    server.terminate()
    _, left = psutil.wait_procs(family, timeout=20)
    for process in left:
        process.kill()
    server.wait()


@pytest.fixture
def page() -> Iterator[Any]:
    """Open a page of a fresh browser; `complaints` holds what its console says."""
    with sync_api.sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(PATIENCE)
        yield page
        browser.close()


def _when_still(look: Callable[[], Any]) -> Any:
    """Return what is seen once it has stayed the same for two seconds: a chart is drawn
    in several steps."""
    before = look()
    since = time.monotonic()
    give_up = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < min(since + 2, give_up):
        time.sleep(0.1)
        now = look()
        if now != before:
            before = now
            since = time.monotonic()
    return before


def test_a_chart_that_is_moved_changes(lab: Callable[[str], str], page: Any) -> None:
    complaints: list[str] = []
    page.on(
        "console",
        lambda m: (
            complaints.append(f"{m.text} {m.location}") if m.type == "error" else None
        ),
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(lab(NOTEBOOK))
    page.locator("#jp-main-statusbar").get_by_text(
        "| Idle"
    ).wait_for()  # before that there is no kernel to run in
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()

    chart = page.locator('.jp-Notebook .vega-embed:has(input[type="range"])').first
    chart.wait_for()
    page.wait_for_function(RUN)
    assert (
        page.locator(
            '.jp-Notebook [data-mime-type$="error"], .jp-Notebook '
            '[data-mime-type$="stderr"]'
        ).count()
        == 0
    )

    handle = chart.locator('input[type="range"]').first
    handle.scroll_into_view_if_needed()
    drawing = chart.locator("canvas, svg").first
    value = handle.input_value()
    drawn = _when_still(drawing.screenshot)
    handle.focus()
    handle.press(
        "PageUp"
        # the arrow keys are JupyterLab's own here, which choose cells; on the site they
        # move it
    )
    sync_api.expect(handle).not_to_have_value(value)
    give_up = time.monotonic() + PATIENCE / 1000
    while drawing.screenshot() == drawn:
        assert time.monotonic() < give_up, "the chart does not change"
    assert not complaints


def facets() -> explore.Moving:
    """Return a chart with every kind of text: axes, a legend, titles and headers, and a
    note."""
    table = pd.DataFrame(
        {
            "x": [1, 2, 1, 2],
            "y": [1, 2, 2, 1],
            "side": ["left", "left", "right", "right"],
        }
    )
    colour = {"field": "side", "type": "nominal"}
    encoding = {
        "x": {"field": "x", "type": "quantitative"},
        "y": {"field": "y", "type": "quantitative"},
    }
    lines = {
        "mark": {"type": "line", "point": True},
        "encoding": encoding | {"color": colour},
    }
    layers = {
        "layer": [lines, explore.note("datum.side", ["side"], x=10, y=10)],
        "width": 120,
        "height": 120,
    }
    spec = {
        "facet": {"column": colour},
        "spec": layers,
        "title": {"text": "Two sides", "subtitle": "of a chart"},
    }
    return explore.Moving(explore.embedded(table) | spec, "Two panels.")


def test_a_chart_looks_the_same_in_the_dark_theme(
    lab: Callable[[str], str], page: Any, copy: Path
) -> None:
    shown = nbformat.v4.new_output(
        "display_data", {"application/vnd.vegalite.v5+json": facets().spec}
    )
    cell = nbformat.v4.new_code_cell("1 + 1", outputs=[shown], execution_count=1)
    nbformat.write(
        nbformat.v4.new_notebook(cells=[cell]), copy / "notebooks" / "facets.ipynb"
    )
    drawn = {}
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        settings = copy / SETTINGS / "themes.jupyterlab-settings"
        settings.write_text(json.dumps({"theme": theme}))
        page.goto(lab("facets.ipynb"))
        page.locator(f'body[data-jp-theme-name="{theme}"]').wait_for(state="attached")
        canvas = page.locator(".jp-Notebook .vega-embed canvas")
        canvas.wait_for()
        drawn[theme] = _when_still(
            partial(canvas.evaluate, "(drawing) => drawing.toDataURL()")
        )
    assert len(drawn["JupyterLab Light"]) > 5_000  # not an empty drawing
    assert drawn["JupyterLab Dark"] == drawn["JupyterLab Light"]


def test_the_scoreboard_is_aligned_untrusted_and_then_shows_what_is_recorded(
    lab: Callable[[str], str], page: Any, copy: Path
) -> None:
    shown = nbformat.v4.new_output(
        "display_data", {"text/html": ledger.scoreboard("fallin2023").to_html()}
    )
    board = nbformat.v4.new_code_cell(
        'from dpsim import ledger\nledger.scoreboard("fallin2023")', outputs=[shown]
    )
    recorded = nbformat.v4.new_code_cell('ledger.record("fallin2023.lemma3", 0.8125)')
    heading = nbformat.v4.new_markdown_cell("## Theorem 3")
    kernel = {
        "kernelspec": {
            "name": "python3",
            "display_name": "Python 3 (ipykernel)",
            "language": "python",
        }
    }
    made = nbformat.v4.new_notebook(cells=[board, recorded, heading], metadata=kernel)
    nbformat.write(made, copy / "notebooks" / "board.ipynb")
    page.goto(lab("board.ipynb"))
    table = page.locator(".jp-Notebook .jp-OutputArea table")
    table.wait_for()
    for part in ("caption", "th", "td"):
        styles = (
            "(e) => [getComputedStyle(e).textAlign, getComputedStyle(e).verticalAlign]"
        )
        assert table.locator(part).last.evaluate(styles) == ["left", "top"]
    assert table.locator("a").count() > 10
    assert (
        table.locator("span").first.evaluate("(e) => getComputedStyle(e).color")
        == "rgb(118, 118, 118)"
    )
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    sync_api.expect(table).to_contain_text("0.8125")
    sync_api.expect(page.locator(".jp-Notebook .jp-OutputArea table")).to_have_count(1)


TOP = """(id) => {
  const heading = [...document.querySelectorAll('.jp-Notebook :is(h1, h2, h3, h4)')]
    .find(h => h.getAttribute('data-jupyter-id') === id || h.id === id);
  const window = heading.closest('.jp-NotebookPanel-notebook');
  return heading.getBoundingClientRect().top - window.getBoundingClientRect().top;
}"""
"""How far below the top of the notebook's window a heading is, in pixels."""


def test_the_jumps_of_a_scoreboard_land_at_their_headings(
    lab: Callable[[str], str], page: Any
) -> None:
    """With guessed heights of cells a jump went too far."""
    page.goto(lab("matrix_dirichlet.ipynb"))
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for()
    jumps = page.locator('.jp-Notebook .jp-OutputArea table a[href^="#"]')
    jumps.first.wait_for()
    assert jumps.count() > 10
    for place in range(3):
        jump = jumps.nth(place)
        heading = jump.get_attribute("href").removeprefix("#")
        jump.click()
        assert 0 <= _when_still(partial(page.evaluate, TOP, heading)) < 60, heading


@pytest.mark.parametrize("name", paths.notebook_names())
def test_a_notebook_that_is_opened_and_saved_changes_nothing_but_the_version(
    name: str, lab: Callable[[str], str], page: Any, copy: Path
) -> None:
    path = copy / "notebooks" / f"{name}.ipynb"
    notebook = nbformat.read(path, 4)
    path.write_text(
        notebooks.written(notebook), encoding="utf-8"
    )  # as `make notebooks` writes it
    before = path.read_text(encoding="utf-8")
    page.goto(lab(path.name))
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for()
    since = path.stat().st_mtime_ns
    page.keyboard.press("Control+s")
    give_up = time.monotonic() + PATIENCE / 1000
    while path.stat().st_mtime_ns == since:
        assert time.monotonic() < give_up, "it is not saved"
        time.sleep(0.1)
    after = path.read_text(encoding="utf-8")
    changed = [
        line
        for line in difflib.unified_diff(before.splitlines(), after.splitlines(), n=0)
        if line[2:].strip()
    ]
    added = [line for line in changed if line.startswith("+ ")]
    assert len(added) <= 2 and all(
        '"pygments_lexer"' in line or '"version"' in line for line in added
    ), changed
