"""The site in headless Chromium: whole, from one origin, typeset, readable on a phone,
and quick to find things in.

Builds into a temporary folder, or takes the built site that DPSIM_SITE names.
"""

import functools
import gzip
import http.server
import importlib
import importlib.util
import math
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from chromium import CHROMIUM, launch
from toy_project import ROOT

from dpsim import ledger, paths

try:
    from playwright import sync_api
except ImportError:
    sync_api = None

NEEDED = "Sphinx, myst-nb or playwright is not installed: see `make site`"
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}
MOST_BYTES = 750_000
"""Bytes of everything that a page loads when it is opened, as a web server sends
them."""

LOOK = """() => ({
  images: [...document.images]
    .map(i => ({src: i.src, alt: i.alt, width: i.naturalWidth})),
  links: [...document.querySelectorAll('a[href]')].map(a => a.href),
  ids: [...document.querySelectorAll('[id]')].map(e => e.id),
  formulas: document.querySelectorAll('.math').length,
  typeset: [...document.querySelectorAll('.math')]
    .filter(m => m.querySelector('mjx-container')).length,
  failures: [...document.querySelectorAll('mjx-merror, [data-mjx-error]')]
    .map(e => e.textContent),
  lang: document.documentElement.lang,
  title: document.title,
  description: document.querySelector('meta[name="description"]')?.content ?? "",
  headings: [...document.querySelectorAll('main :is(h1, h2, h3, h4, h5, h6)')]
    .map(e => Number(e.tagName[1])),
  nameless: [...document.querySelectorAll('a[href], button')]
    .filter(e => e.checkVisibility())
    .filter(e => ![
      e.textContent, e.ariaLabel, ...[...e.querySelectorAll('img')].map(i => i.alt)
    ].join('').trim())
    .map(e => e.outerHTML),
  untypeset: [...document.querySelectorAll('article :is(p, li, h1, h2, h3, td)')]
    .map(e => e.innerText).filter(text => /\\$[^$]*\\\\[a-z]+[^$]*\\$/.test(text)),
  labels: [...document.querySelectorAll('[data-column]')].map(e => e.dataset.column),
  undressed: [...document.querySelectorAll(
    '.cell_output table:not(.dataframe):not(.table)'
  )].map(e => e.id),
  documented: Object.fromEntries([...document.querySelectorAll('dl.py > dt.sig[id]')]
    .map(dt => [dt.id, [dt.innerText, dt.nextElementSibling.innerText]])),
})"""
"""What a page holds once it is loaded."""

WIDE = """() => [...document.querySelectorAll(
    'html, body, main, main > *, .bd-article-container, article, section'
  )]
  .filter(e => e.scrollWidth > Math.max(e.clientWidth, 1) + 1
    || e.getBoundingClientRect().right > innerWidth + 1)
  .filter(e => e.getBoundingClientRect().width > 0)
  .map(e => [e.tagName, e.className, e.scrollWidth, e.clientWidth].join(' '))"""
"""The parts of a page that would have to be scrolled sideways; code, tables and
formulas have boxes of their own."""

OVERLAPPING = """() => [...document.querySelectorAll('article td, .prev-next-area a')]
  .filter(e => e.scrollWidth > e.clientWidth + 1 && e.checkVisibility())
  .map(e => e.innerText)"""
"""The cells of tables whose words run into the next cell, the titles of neighbouring
pages that are cut off."""

COLOURS = """() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => parts(colour).slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = e => {
    while (e && (parts(getComputedStyle(e).backgroundColor)[3] ?? 1) < 1)
      e = e.parentElement;
    return e ? getComputedStyle(e).backgroundColor : 'rgb(255, 255, 255)';
  };
  const contrast = e => {
    const both = [light(getComputedStyle(e).color), light(behind(e))];
    const [low, high] = both.sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  return {
    images: [...document.querySelectorAll('article img')].map(behind),
    contrasts: [...document.querySelectorAll(
      'article :is(h1, h2, p, a, li, td, dt, code, pre, pre span, mjx-mi)'
    )]
      .filter(e => e.innerText.trim() && e.checkVisibility()).map(contrast),
  };
}"""
"""What images stand on, and how words stand out (the ratio of the Web Content
Accessibility Guidelines)."""

NEAR = """() => Promise.all([...document.images].map(i => {
  i.loading = 'eager';
  return i.complete || new Promise(done => { i.onload = i.onerror = done; });
}))"""
"""Scrolls to every picture, so to say: loaded, its size known; drawing all of them
would take most of the time."""

TYPESET = """() => !document.querySelector('script[src*="mathjax"]') || Promise.race([
  MathJax.startup.promise.then(() => true),
  new Promise(late => setTimeout(() => late(false), 120000)),
])"""
"""Whether MathJax came to its end."""

RAW = (
    r"TypeAlias|ndarray\[tuple|:(?:py:)?(?:func|class|meth|mod|param|math):|``|object "
    r"at 0x"
)
"""What would be left of markup or of Python's own way to print a type."""


def site_module(name: str) -> Any:
    """Import one of the modules that build the site."""
    if str(ROOT / "tools" / "site") not in sys.path:  # they import each other
        sys.path.append(str(ROOT / "tools" / "site"))
    spec = importlib.util.spec_from_file_location(
        f"site_{name}", ROOT / "tools" / "site" / f"{name}.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the built site."""
    if sync_api is None or importlib.util.find_spec("myst_nb") is None:
        pytest.skip(NEEDED)
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    if named := os.environ.get("DPSIM_SITE"):
        return Path(named).resolve()
    if (
        shutil.which("npm") is None
        and not (ROOT / "build" / "npm" / "fetched.json").is_file()
    ):
        pytest.skip("MathJax is not there and npm, which fetches it, is not installed")
    folder = tmp_path_factory.mktemp("site") / "html"
    command = [sys.executable, str(ROOT / "tools" / "site" / "build.py"), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


missing: list[str] = []
"""What was asked of the server and is not there, by workers too, which the browser does
not report."""


@pytest.fixture(scope="module")
def origin(site: Path) -> Iterator[str]:
    """Serve the site on this machine alone."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def log_error(self, *_: Any) -> None:
            missing.append(self.path)

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def browser(site: Path) -> Iterator[Any]:
    """Open a browser with a fresh profile; what takes more than two minutes fails, on a
    busy machine too."""
    with sync_api.sync_playwright() as playwright:
        opened = launch(playwright)
        context = opened.new_context(viewport=DESKTOP, accept_downloads=True)
        context.set_default_timeout(120_000)
        yield context
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """Open a page of its own for a test."""
    page = browser.new_page()
    yield page
    page.close()


@pytest.fixture(scope="module")
def visits(site: Path, origin: str, browser: Any) -> dict[str, dict[str, Any]]:
    """Visit every page, wide and narrow; return what each asked for, complained of and
    holds."""
    heard: dict[str, list[str]] = {"requests": [], "complaints": []}

    def listening(context: Any) -> Any:
        page = context.new_page()
        page.on("request", lambda request: heard["requests"].append(request.url))
        page.on(
            "requestfailed",
            lambda request: heard["complaints"].append(f"failed {request.url}"),
        )
        page.on(
            "response",
            lambda r: (
                heard["complaints"].append(f"{r.status} {r.url}")
                if r.status >= 400
                else None
            ),
        )
        page.on(
            "console",
            lambda m: (
                heard["complaints"].append(m.text)
                if m.type in ("error", "warning")
                else None
            ),
        )
        page.on("pageerror", lambda error: heard["complaints"].append(str(error)))
        return page

    page = listening(browser)
    found = {}
    for path in sorted(site.rglob("*.html")):
        if "_static" in path.parts:
            continue
        name = path.relative_to(site).as_posix()
        for list_ in heard.values():
            list_.clear()
        page.set_viewport_size(DESKTOP)
        page.goto(f"{origin}/{name}", wait_until="load")
        ended = page.evaluate(TYPESET)
        opened = sum(
            _sent(site / path)
            for path in {_path(url, origin) for url in heard["requests"]}
        )
        page.evaluate(NEAR)
        seen = page.evaluate(LOOK) | {
            "bytes": opened,
            "overlapping": page.evaluate(OVERLAPPING),
        }
        page.set_viewport_size(PHONE)
        seen["wide"] = page.evaluate(WIDE)
        seen["overlapping"] += page.evaluate(OVERLAPPING)
        found[name] = (
            seen | {"ended": ended} | {key: list(list_) for key, list_ in heard.items()}
        )
    page.close()
    return found


def _path(url: str, origin: str) -> str:
    """Return the file of the site that an address asks for."""
    return url.partition("#")[0].partition("?")[0].removeprefix(origin + "/")


def _sent(path: Path) -> int:
    """Return how many bytes of a file a web server sends: text is compressed, pictures
    and fonts are so already."""
    held = path.read_bytes()
    return (
        len(gzip.compress(held))
        if path.suffix in (".html", ".css", ".js", ".json", ".svg")
        else len(held)
    )


def test_every_page_is_light(visits: dict[str, Any]) -> None:
    assert {
        name: seen["bytes"]
        for name, seen in visits.items()
        if not 100_000 < seen["bytes"] < MOST_BYTES
    } == {}


def test_every_page_loads_without_a_complaint_and_from_one_origin(
    visits: dict[str, Any], origin: str
) -> None:
    assert {
        "index.html",
        "errata.html",
        "report.html",
        "measurements.html",
        "api/markov.html",
    } <= visits.keys()
    assert {
        f"notebooks/{name}.html" for name in paths.notebook_names()
    } <= visits.keys()
    for name, seen in visits.items():
        assert not seen["complaints"], (name, seen["complaints"])
        elsewhere = [
            url
            for url in seen["requests"]
            if not url.startswith((origin + "/", "data:", "blob:"))
        ]
        assert not elsewhere, (name, elsewhere)
    assert not missing


def test_every_image_shows_and_has_alternative_text(visits: dict[str, Any]) -> None:
    for name, seen in visits.items():
        for image in seen["images"]:
            assert image["width"] > 0, (name, image)
            assert len(image["alt"]) > 3, (name, image)


def test_every_formula_is_typeset(visits: dict[str, Any]) -> None:
    for name, seen in visits.items():
        assert seen["ended"] and seen["typeset"] == seen["formulas"], name
        assert not seen["failures"] and not seen["untypeset"], (
            name,
            seen["failures"],
            seen["untypeset"],
        )
        assert not [label for label in seen["labels"] if "\\" in label], name
    assert visits["notebooks/data_driven_markov.html"]["formulas"] > 50


def test_no_page_is_wider_than_a_phone(visits: dict[str, Any]) -> None:
    assert {name: seen["wide"] for name, seen in visits.items() if seen["wide"]} == {}


def test_every_table_is_dressed_and_its_cells_stand_apart(
    visits: dict[str, Any],
) -> None:
    assert {
        name: seen["undressed"] for name, seen in visits.items() if seen["undressed"]
    } == {}
    assert {
        name: seen["overlapping"]
        for name, seen in visits.items()
        if seen["overlapping"]
    } == {}


def test_every_page_has_a_title_one_first_heading_and_a_name_for_every_link(
    visits: dict[str, Any],
) -> None:
    titles = [seen["title"] for seen in visits.values()]
    assert len(set(titles)) == len(titles)
    for name, seen in visits.items():
        assert 5 < len(seen["description"]) <= 210 and "<" not in seen["description"], (
            name
        )
        assert seen["lang"] == "en", name
        assert seen["headings"].count(1) == 1, name
        assert all(lower <= upper + 1 for upper, lower in pairwise(seen["headings"])), (
            name,
            seen["headings"],
        )
        assert not seen["nameless"], (name, seen["nameless"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_stand_on_white_and_words_stand_out_from_the_page(
    scheme: str, page: Any, origin: str
) -> None:
    page.emulate_media(color_scheme=scheme)
    for name in ("index", "notebooks/permute_and_flip", "api/words", "errata"):
        page.goto(f"{origin}/{name}.html", wait_until="load")
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        seen = page.evaluate(COLOURS)
        assert set(seen["images"]) <= {"rgb(255, 255, 255)"}, name
        assert seen["contrasts"] and min(seen["contrasts"]) >= 4.5, (
            name,
            min(seen["contrasts"]),
        )


def test_what_the_search_shows_is_prose(page: Any, origin: str) -> None:
    page.goto(f"{origin}/notebooks/permute_and_flip.html", wait_until="load")
    assert (
        page.locator(":is(summary, .search-button-field)[aria-label]:visible").count()
        == 0
    )
    page.goto(f"{origin}/search.html?q=permute", wait_until="load")
    page.locator("ul.search > li p.context").first.wait_for()
    shown = page.locator("ul.search > li p.context").all_inner_texts()
    assert shown and not [text for text in shown if "import " in text or "np." in text]


def test_every_link_within_the_site_leads_somewhere(
    visits: dict[str, Any], site: Path, origin: str
) -> None:
    for name, seen in visits.items():
        for link in seen["links"]:
            if not link.startswith(origin):
                assert link.startswith(("https://", "http://", "mailto:")), (name, link)
                continue
            path, _, fragment = link.removeprefix(origin + "/").partition("#")
            path = path.partition("?")[0] or "index.html"
            assert (site / path).is_file(), (name, link)
            if fragment and path in visits:
                assert fragment in visits[path]["ids"], (name, link)


def test_every_figure_is_on_its_page(visits: dict[str, Any]) -> None:
    for name in paths.notebook_names():
        for png in (paths.figures() / name).glob("*.png"):
            if png.stem == "thumbnail":
                shown = visits[f"notebooks/{name}.html"]["images"]
                file = f"/figures/{name}/{png.stem}."  # png or webp
                assert [image for image in shown if file in image["src"]], name
                continue
            anchor = png.stem.replace("_", "-")
            assert {anchor, f"code-{anchor}"} <= set(
                visits[f"notebooks/{name}.html"]["ids"]
            )


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in paths.notebook_names()
        if [*(paths.figures() / name).glob("fig*.png")]
    ],
)
def test_a_figure_its_numbers_and_its_code_are_three_clicks_away(
    name: str, page: Any, origin: str
) -> None:
    figures = sorted((paths.figures() / name).glob("fig*.png"))
    figure = next(
        (figure for figure in figures if figure.stem.startswith("fig5")), figures[-1]
    )
    anchor = figure.stem.replace("_", "-")
    page.goto(f"{origin}/index.html")
    page.click(f'a[href$="{name}.html#{anchor}"]')
    shown = page.locator(f"figure#{anchor}")
    sync_api.expect(shown.locator("img")).to_be_in_viewport()
    assert (
        shown.locator("figcaption").inner_text().startswith(("Figure", "Paper, Figure"))
    )
    with page.expect_download() as waiting:
        shown.get_by_role("link", name="csv").click()
    assert (
        Path(waiting.value.path()).read_bytes()
        == figure.with_suffix(".csv").read_bytes()
    )
    shown.get_by_role("link", name="code").click()
    code = page.locator(f'xpath=//*[@id="code-{anchor}"]/following::pre[1]')
    sync_api.expect(code).to_be_in_viewport()


def test_charts_move_by_keyboard_and_show_the_notebooks_numbers(
    page: Any, origin: str
) -> None:
    page.goto(f"{origin}/explore.html", wait_until="load")
    charts = page.locator("figure.moving")
    stills = sorted(paths.figures().glob("*/fig*.json"))
    assert charts.count() == len(stills) > 0
    page.wait_for_function(
        f"document.querySelectorAll('figure.moving.ready').length == {len(stills)}"
    )

    chart = page.locator("figure#fig2-manhattan")
    table = pd.read_csv(paths.figures() / "00_overview" / "fig2_manhattan.csv")
    chart.locator('input[type="radio"]').first.focus()
    page.keyboard.press("ArrowRight")
    epsilon = float(chart.locator('input[type="radio"]:checked').input_value())
    assert epsilon == float(chart.locator('input[type="radio"]').nth(1).input_value())
    sync_api.expect(chart.locator("svg")).to_contain_text(f"ε = {epsilon:g}")
    for total in (
        table[table["epsilon"] == epsilon].groupby("mechanism")["total"].mean()
    ):
        digits = 1 - math.floor(math.log10(total))  # two of them
        sync_api.expect(chart.locator("svg")).to_contain_text(
            f"{round(total, digits):,g}"
        )


def test_charts_stand_still_without_scripts(browser: Any, origin: str) -> None:
    context = browser.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{origin}/explore.html", wait_until="load")
    for image in (
        page.locator("figure.moving noscript img").all()
        or page.locator("figure.moving img").all()
    ):
        assert image.get_attribute("alt") and image.get_attribute("src").endswith(
            ".webp"
        )
    assert page.locator("figure.moving img").count() > 0
    context.close()


def test_on_a_phone_the_claims_have_lines_without_gaps_and_a_paper_above_each(
    page: Any, origin: str
) -> None:
    page.set_viewport_size(PHONE)
    page.goto(f"{origin}/explore.html", wait_until="load")
    place = page.locator("#fig3-numbers.ready")
    dots, names = (
        place.locator(f'[aria-roledescription="{role}"]').evaluate_all(
            "all => all.map(e => e.getBoundingClientRect().y)"
        )
        for role in ("point", "text mark")
    )
    claims = pd.read_csv(paths.figures() / "00_overview" / "fig3_numbers.csv")
    assert len(dots) == len(claims)
    steps = [lower - upper for upper, lower in pairwise(sorted(dots))]
    assert min(steps) > 10 and max(steps) < 120  # an axis and a title between panels
    groups = claims.groupby(["kind", "paper"]).ngroups
    assert len(names) == groups + len(claims)  # each claim has a label, which may be ""


def test_a_phone_shows_the_numbers_of_every_table(page: Any, origin: str) -> None:
    page.set_viewport_size(PHONE)
    page.goto(f"{origin}/report.html", wait_until="load")
    off = page.evaluate("""() => [...document.querySelectorAll('article table td')]
      .filter(td => td.innerText.trim() && td.checkVisibility())
      .filter(td => td.getBoundingClientRect().right > innerWidth + 1)
      .map(td => td.innerText)""")
    assert not off, off[:5]


def test_every_erratum_is_explained(page: Any, origin: str) -> None:
    rows = ledger.judged_claims()
    rows = rows[rows["sent"] != ""]
    page.goto(f"{origin}/errata.html")
    text = page.locator("article").inner_text()
    for row in rows.itertuples():
        assert f"{row.where}: {row.quantity}" in text
        assert row.sentence in text
        if row.claim == "value":
            assert f"must be: {row.relation} {row.limit:g}" in text
    assert ledger.about_letters(ledger.judged_claims()) in text


def found(words: str, browser: Any, origin: str) -> list[str]:
    """Type words into the search, as a reader does; return the pages that it finds,
    best first."""
    tab = browser.new_page()
    tab.goto(f"{origin}/search.html", wait_until="domcontentloaded")
    tab.keyboard.press("Control+k")
    tab.keyboard.type(words)
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/search.html?q=*")
    tab.wait_for_function(
        "/found|match/.test(document.querySelector('.search-summary')?.innerText ?? '')"
    )
    tab.locator("ul.search > li > a").first.wait_for()
    total = int(
        re.search(r"found (one|\d+)", tab.locator(".search-summary").inner_text())[
            1
        ].replace("one", "1")
    )
    sync_api.expect(tab.locator("ul.search > li")).to_have_count(total)
    pages = [a.get_attribute("href") for a in tab.locator("ul.search > li > a").all()]
    tab.close()
    return [page.partition("?")[0] for page in pages]


@pytest.mark.parametrize(
    "words, page, first",
    [
        (
            "stationary_distribution",
            "api/markov.html#dpsim.markov.stationary_distribution",
            False,
        ),
        ("privacy floor", "notebooks/data_driven_markov.html", False),
        ("surrogate", "data.html", False),
        ("how to install", "run.html", True),
        ("hockey stick", "notebooks/terms.html", False),
        (
            "which mechanism",
            "notebooks/00_overview.html#which-mechanism-to-use",
            False,
        ),
        ("privatise", "notebooks/your_own_chain.html", True),
        ("privatize", "notebooks/your_own_chain.html", True),
        ("matrix", "notebooks/matrix_dirichlet.html", True),
        ("epsilon", "notebooks/terms.html#epsilon", True),
    ],
)
def test_the_search_finds_and_leads_to_pages_first(
    words: str, page: str, first: bool, browser: Any, origin: str
) -> None:
    pages = found(words, browser, origin)
    assert page in (pages[:8] if first else pages)
    if first:
        interface = [page.startswith(("api/", "genindex")) for page in pages]
        others = interface.count(False)  # may be fewer than eight
        assert not any(interface[: min(8, others)]), pages
        assert [page for page in pages if page.startswith("api/")]


def test_on_a_phone_offline_from_a_copy_of_the_site(browser: Any, site: Path) -> None:
    context = browser.browser.new_context(
        viewport=PHONE, has_touch=True, is_mobile=True, offline=True
    )
    context.set_default_timeout(120_000)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    start = f"{site.as_uri()}/index.html"

    page.goto(start)
    page.locator(".readers a").nth(2).tap()
    charts = page.locator("figure.moving.ready")
    sync_api.expect(charts).to_have_count(len([*paths.figures().glob("*/fig*.json")]))
    for chart in charts.all():
        shrunk = (
            "(drawing) => drawing.getBoundingClientRect().width / "
            "drawing.width.baseVal.value"
        )
        assert chart.locator("svg").evaluate(shrunk) == pytest.approx(1), (
            "its labels can be read"
        )
        assert chart.locator(".chart").evaluate(
            "(e) => e.scrollWidth <= e.clientWidth"
        ), "it fits the width"
        for control in chart.locator("input, select").all():
            if (
                control.is_checked()
                if control.get_attribute("type") == "radio"
                else False
            ):
                continue
            before = chart.locator("svg").first.inner_html()
            _move(control)
            page.wait_for_function(
                "([chart, before]) => chart.querySelector('svg').innerHTML != before",
                arg=[chart.element_handle(), before],
            )

    page.goto(start)
    page.locator('article a[href$="explore.html"]').last.tap()
    maps = page.locator("figure#fig2-manhattan")
    sync_api.expect(page.locator("figure#fig0-ann svg")).to_be_in_viewport()
    table = pd.read_csv(paths.figures() / "00_overview" / "fig2_manhattan.csv")
    for mechanism in table["mechanism"].unique():
        sync_api.expect(maps.locator("svg")).to_contain_text(mechanism)

    page.goto(start)
    page.get_by_role("button", name="Search").first.tap()
    sync_api.expect(page.locator("input[type=search]:visible")).to_be_focused()
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    context.close()


def _move(control: Any) -> None:
    """Move a slider by the arrow keys, choose another entry of a list, another
    button."""
    kind = control.get_attribute("type")
    if kind == "radio":
        control.tap()
    elif kind == "range":
        control.focus()
        control.press(
            "ArrowLeft"
            if control.input_value() == control.get_attribute("max")
            else "ArrowRight"
        )
    else:
        control.select_option(index=1)


def test_every_name_of_the_face_has_its_signature_and_its_words(
    visits: dict[str, Any],
) -> None:
    interface = site_module("interface")
    for part in interface.subpackages():
        shown = visits[f"api/{part}.html"]["documented"]
        full_name = interface.module_name(part)
        module = importlib.import_module(full_name)
        for name in interface.face(full_name):
            if callable(getattr(module, name)):
                signature, words = shown[f"{full_name}.{name}"]
                assert len(words) > 10, (part, name)
                assert not re.search(RAW, signature + words), (part, name)


def test_a_page_folds_the_checks_and_rows_of_cells_and_shows_a_caption_once(
    tmp_path: Path,
) -> None:
    new = nbformat.v4
    (tmp_path / "fig0_ann.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(24))
    folded = {"tags": ["hide-input"]}
    cells = [
        new.new_markdown_cell("# Title"),
        *(new.new_code_cell(f"x = {n}", metadata=folded) for n in range(3)),
    ]
    cells += [
        new.new_code_cell("x"),
        new.new_code_cell("from dpsim import checks", metadata={"tags": ["checks"]}),
    ]
    cells += [new.new_code_cell('figures.save(fig, "fig0_ann", data, output)')]
    cells += [new.new_markdown_cell("**Figure 0.** A caption. \n\nMore text.")]
    cells += [new.new_markdown_cell("## More", metadata={"tags": ["collapsed"]})]
    made = site_module("notebook_pages").page(
        "00_overview", new.new_notebook(cells=cells), tmp_path
    )
    code = [cell for cell in made.cells if cell.cell_type == "code"]
    assert [cell.source.split() for cell in code[:2]] == [
        ["x", "=", "0", "x", "=", "1", "x", "=", "2"],
        ["x"],
    ]
    assert code[0].metadata["mystnb"]["code_prompt_show"] == "Setup"
    assert [
        cell.metadata["tags"] for cell in code if "import checks" in cell.source
    ] == [["checks", "hide-input"]]
    assert (
        sum(cell.source.count("**Figure 0.** A caption.") for cell in made.cells) == 1
    )
    assert "fold-here" in made.cells[-1].source


def test_part_2_is_folded_behind_one_bar_that_says_what_it_contains(
    tmp_path: Path,
) -> None:
    new = nbformat.v4
    prose = [
        "# Title",
        "## A lesson",
        "The end.",
        "# The paper, claim by claim",
        "## Theorem 1\n\n### Details",
    ]
    prose += [
        "**Paper, Figure 4.** A.\n\n```sh\n# no heading\n```",
        "# Further",
        "## More",
    ]
    cells = [new.new_markdown_cell(source) for source in prose]
    cells[-1].metadata["tags"] = ["collapsed"]
    made = site_module("notebook_pages").page(
        "matrix_dirichlet", new.new_notebook(cells=cells), tmp_path
    )
    text = "\n\n".join(cell.source for cell in made.cells)
    assert re.findall("^#+ .*", text, flags=re.MULTILINE) == [
        *(
            "# Title",
            "## A lesson",
            "## The paper, claim by claim",
            "### Theorem 1",
            "#### Details",
        ),
        *("# no heading", "### Further", "#### More"),
    ]
    claims = (ledger.published("fallin2023")["inputs"] != "none").sum()
    assert (
        f"the paper&#x27;s Figure 4, and each of its {claims} claims beside what we "
        "compute" in text
    )
    assert text.count("fold-here") == 2


def test_links_to_files_that_are_pages_lead_to_them() -> None:
    pages = site_module("notebook_pages")
    board = nbformat.v4.new_output(
        "display_data", {"text/html": ledger.scoreboard("fallin2023").to_html()}
    )
    text = pages.shown_output(board).data["text/html"]
    assert (
        'href="../report.html"' in text
        and ".md" not in text
        and 'href="#theorem-1-when-all-rows-differ"' in text
    )
    letters = "[a](../tools/letters/gohari2020.md), `dpsim/cli.py`"
    assert pages.with_site_links(letters) == "a, `dpsim/cli.py`"
    row = "([proved](../figures/REPORT.md#taxis.noise_smaller))"
    assert (
        pages.with_site_links(row)
        == '(<a href="../report.html#taxis.noise_smaller">proved</a>)'
    )
    markdown = (
        "[a](../data/LEDGER.md), `figures/REPORT.md`, [b](terms.md#Public-minimum), "
        "[c](#Theorem-1)"
    )
    assert pages.with_site_links(markdown) == (
        '[a](../ledger.md), <a href="../report.html">`figures/REPORT.md`</a>, '
        '<a href="terms.html#public-minimum">b</a>, <a href="#theorem-1">c</a>'
    )
    assert pages.with_site_links(markdown, "notebooks/a.html") == (
        '[a](ledger.md), <a href="report.html">`figures/REPORT.md`</a>, <a '
        'href="notebooks/terms.html#public-minimum">b</a>, <a '
        'href="notebooks/a.html#theorem-1">c</a>'
    )


def test_a_card_has_its_question_and_the_papers_first_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = site_module("pages")
    notebooks = site_module("notebook_pages")
    prose = "*A paper.*\n\n**The question.** Who asks? Ann does. She is a student."
    cells = [nbformat.v4.new_markdown_cell(source) for source in ("# Title", prose)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    captions = {
        "figa1_toy": "**Figure A1. Ours.**",
        "fig2_theirs": "**Paper, Figure 2. Theirs.**",
    }
    monkeypatch.setattr(pages.notebook_pages, "screen_size", lambda *_: (100, 50))
    figures = [
        notebooks.Figure("matrix_dirichlet", stem, caption, "")
        for stem, caption in captions.items()
    ]
    card = pages.card("matrix_dirichlet", notebook, figures)
    assert "<p>Who asks? Ann does.</p>" in card and "matrix Dirichlet mechanism" in card
    assert card.count("<img") == 1 and "fig2_theirs.png" in card
    drawn = nbformat.v4.new_markdown_cell(
        "# Title\n\n![A line.](../figures/matrix_dirichlet/thumbnail.png)"
    )
    notebook.cells = [drawn, *cells[1:]]
    picture = tmp_path / "matrix_dirichlet" / "thumbnail.png"
    picture.parent.mkdir()
    picture.touch()
    monkeypatch.setattr(pages.paths, "figures", lambda: tmp_path)
    card = pages.card("matrix_dirichlet", notebook, figures)
    assert card.count("<img") == 1 and 'thumbnail.png" alt="A line."' in card
    for name in paths.notebook_names():
        asked = notebooks.question(
            nbformat.read(paths.notebooks() / f"{name}.ipynb", as_version=4)
        )
        assert 40 < len(asked) < 500, name


def test_the_first_page_says_what_to_do_and_explore_where_each_chart_comes_from(
    page: Any, origin: str
) -> None:
    page.goto(f"{origin}/index.html")
    advice = page.locator(
        "article > section > section > ul > li, article section ul > li"
    ).first
    assert len(advice.inner_text()) > 60 and advice.locator("a").count()
    page.goto(f"{origin}/explore.html")
    charts = page.locator("figure.moving")
    for source, chart in zip(
        page.locator("p.source a").all(), charts.all(), strict=True
    ):
        assert source.get_attribute("href").endswith("#" + chart.get_attribute("id"))
        assert not re.match(
            "(Paper, )?Figure", chart.locator("figcaption").inner_text()
        )


def test_a_folded_section_opens_for_a_link_into_it(
    browser: Any, site: Path, origin: str
) -> None:
    marked = [
        path
        for path in site.glob("notebooks/*.html")
        if "fold-here" in path.read_text(encoding="utf-8")
    ]
    assert marked
    for path in marked:
        page = browser.new_page()
        page.goto(f"{origin}/notebooks/{path.name}", wait_until="load")
        folded = page.locator("details.section")
        assert folded.count() and not page.locator("details.section[open]").count()
        id = page.evaluate(
            "document.querySelector('section:has(> details.section)').id"
        )
        page.goto(f"{origin}/notebooks/{path.name}#{id}", wait_until="load")
        sync_api.expect(
            page.locator(f"section#{id} > details.section")
        ).to_have_attribute("open", "")
        page.close()


def test_a_measurement_is_its_words_its_figure_and_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "tools" / "verify" / "results"
    results.mkdir(parents=True)
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setenv("DPSIM_ROOT", str(tmp_path))
    png = (
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
        + (200).to_bytes(4, "big")
        + (100).to_bytes(4, "big")
    )
    (results / "speed.md").write_text(
        "# Speed\n\nTwice as *fast*; [numbers](speed.csv), [code](../speed.py).\n\n## "
        "How\n"
    )
    (results / "speed.png").write_bytes(png)
    (results / "speed.csv").write_text("a\n1\n")
    text = site_module("measurements").page(tmp_path / "made")
    place = "measurements/speed"
    assert (
        f'<img src="{place}.png" alt="Twice as fast; numbers, code." width="110" '
        'height="55">' in text
    )
    assert f'; <a href="{place}.csv">numbers</a>, code.' in text
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        *("# Measurements", "## Speed", "### How"),
    ]
    assert (tmp_path / "made" / "files" / f"{place}.csv").read_text() == "a\n1\n"


@pytest.mark.parametrize(
    "markdown, text",
    [
        (
            "**Figure 2 (data).** *Left:* the `draws`",
            "Figure 2 (data). Left: the draws",
        ),
        (r"up to $\epsilon=3$ or $\tilde\pi\le 10^{-6}$", "up to ε=3 or π\u0303≤ 10⁻⁶"),
        (
            r"at $p=\tfrac12$, $\frac{4}{n}$ and $\sigma=\sqrt{t}/2$",
            "at p=1/2, 4/n and σ=√t/2",
        ),
        ("see [the paper](https://x.org)\nand\nmore", "see the paper and more"),
    ],
)
def test_alternative_text_is_plain(markdown: str, text: str) -> None:
    assert site_module("markup").plain(markdown) == text


@pytest.mark.parametrize(
    "number", ["**Figure 0.** ", "**Figure A1. Ann's odds.** ", "**Paper, Figure 3.** "]
)
def test_a_caption_on_explore_has_raised_letters_and_no_remark_on_jupyterlab(
    number: str,
) -> None:
    caption = number + (
        r"Move it (the slider needs JupyterLab): $e^{\epsilon}$, "
        r"$e^{-\epsilon|z|}$, $x_i^2$, `a_b`."
    )
    figure = site_module("notebook_pages").Figure(
        "overview", "fig0_ann", caption, "Ann"
    )
    message = "**Ann's odds.** " if "Ann" in number else ""
    shown = (
        f"{message}Move it: e<sup>ε</sup>, e<sup>-ε|z|</sup>, x<sub>i</sub>², `a_b`."
    )
    assert site_module("explore_page").caption(figure) == shown


def test_addresses_come_from_pyproject_and_lead_to_binder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = site_module("notebook_pages")
    figure = pages.Figure("00_overview", "fig0_ann", "**Figure 0.** A caption.", "Ann")
    shutil.copytree(ROOT / "data", tmp_path / "data")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setenv("DPSIM_ROOT", str(tmp_path))
    (tmp_path / "pyproject.toml").write_text("[project]\n[tool.compendium]\n")
    for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)
    assert pages.launch(
        "00_overview"
    ) == [] and ", notebooks/00_overview.html#fig0-ann" in pages.citation(figure)
    urls = (
        'Repository = "https://github.com/lab/chains"\nDocumentation = '
        '"https://lab.github.io/chains"\n'
    )
    declared = f'[project.urls]\n{urls}[tool.compendium]\ndoi = "10.5281/x.1"\n'
    (tmp_path / "pyproject.toml").write_text(declared)
    (link,) = pages.launch("00_overview")
    assert (
        "mybinder.org/v2/gh/lab/chains/HEAD?labpath=notebooks%2F00_overview.ipynb"
        in link
    )
    cited = pages.citation(figure)
    assert (
        "https://doi.org/10.5281/x.1, "
        "https://lab.github.io/chains/notebooks/00_overview.html#fig0-ann" in cited
    )


def test_where_a_workflow_publishes_its_repository_is_the_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = site_module("addresses")
    command = "git clone ADDRESS dpsim && cd dpsim"
    assert told.completed({}) == {} and told.filled(command, {}) == command
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "lab/chains")
    urls = told.completed({})
    cloned = "git clone https://github.com/lab/chains dpsim && cd dpsim"
    assert told.filled(command, urls) == cloned
    (link,) = site_module("notebook_pages").launch("00_overview")
    assert "mybinder.org/v2/gh/lab/chains/HEAD" in link
    elsewhere = {"Repository": "https://example.org/x"}
    assert told.completed(elsewhere) == elsewhere


def test_a_formula_keeps_the_signs_beside_it() -> None:
    formula, code = (
        r'<span class="math notranslate nohighlight">\(w\)</span>',
        '<code class="literal"><i>a</i></code>',
    )
    page = f"<p>below {formula}. See ({code}), {code} and {formula}</p>"
    first = f'<span class="whole">{formula}.</span>'
    second = f'<span class="whole">({code}),</span>'
    assert (
        site_module("finish").whole(page)
        == f"<p>below {first} See {second} {code} and {formula}</p>"
    )
