"""Files of a release: whole or not at all, read back equal, nothing of the owner's
among them, labels as text.
"""

import html.parser
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

import dpsim.released
import dpsim_release as release
from dpsim import markov
from dpsim_release import Counts, owner, release_folder, report
from dpsim_release.unit import EVENT, Unit

TABLES = ("chain", "counts", "states")
ENDINGS = ("csv", "parquet")
PUBLISHED = [f"{name}.{ending}" for name in TABLES for ending in ENDINGS]
PUBLISHED = sorted([*PUBLISHED, "report.html", "statement.json"])
NASTY = [
    *(
        "<script>x</script>",
        "=cmd()|' /C calc'!A0",
        "| a | b |",
        "a\nb",
        "x" * 10_000,
        "\u202eabc",
        "</svg>",
        "&amp;",
    ),
    *('"quoted"', "a,b", "$x^2$", "日本", "\u2028", "'", "<b"),
]


def counted(
    rows: int = 3000, labels: list[object] | None = None, unit: Unit = EVENT
) -> Counts:
    rng = np.random.default_rng(1)
    named = pd.Series(
        ["home", "shop", "cart", "help"] if labels is None else labels, dtype=object
    )
    ends = {
        end: named.take(rng.integers(0, len(named), rows)).array
        for end in ("origin", "destination")
    }
    trips = pd.DataFrame(ends).value_counts(sort=False).rename("trips").reset_index()
    return Counts(trips, unit, before=trips)


def released(
    labels: list[object] | None = None,
    declared: bool = True,
    counts: Counts | None = None,
    **settings: object,
) -> tuple[release.PrivateChain, Counts]:
    counts = counted(labels=labels) if counts is None else counts
    support = (
        release.all_pairs(labels or ["home", "shop", "cart", "help"])
        if declared
        else None
    )
    chosen = {
        "epsilon": 1.0,
        "delta": 0.0 if declared else 1e-6,
        "support": support,
        "rng": 1,
    } | settings
    return release.release_chain(counts, **chosen), counts  # type: ignore[arg-type]


def written(chain: release.PrivateChain, folder: Path, counts: Counts) -> list[str]:
    """Write a release and return the names of its public files."""
    with release_folder.prepare(folder) as place:
        place.write(chain, counts)
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("once") / "out"
    written(*released()[:1], folder, released()[1])
    return folder


@pytest.fixture
def out(once: Path, tmp_path: Path) -> Path:
    """Return a copy of the files of a release."""
    return Path(shutil.copytree(once, tmp_path / "out"))


@pytest.mark.parametrize(
    ("labels", "declared", "settings"),
    [
        (None, True, {}),
        (None, True, {"rng": None}),
        (None, False, {}),
        ([3, -1, 20, 2**62], True, {}),
        (
            ["3", "x", "20", "003"],
            True,
            {"counts": counted(labels=["3", "x", "20", "003"], unit=Unit(9, "user"))},
        ),
        (NASTY, True, {}),
        (NASTY, False, {"delta": 0.5}),
    ],
)
def test_a_release_read_back_equals_the_one_written(
    tmp_path: Path,
    labels: list[object] | None,
    declared: bool,
    settings: dict[str, object],
) -> None:
    chain, trips = released(labels, declared, **settings)
    assert written(chain, tmp_path / "out", trips) == PUBLISHED
    back = release.load(tmp_path / "out")
    assert back == chain and repr(back) == repr(chain)
    assert list(map(type, back.labels)) == list(map(type, chain.labels))
    states = pd.read_csv(
        tmp_path / "out" / "states.csv", dtype=str, keep_default_na=False
    )
    assert states["label"].tolist() == list(map(str, back.labels)), (
        "never changed in the tables"
    )
    for name in ("report.html", "statement.json"):
        text = (tmp_path / "out" / name).read_text(encoding="utf-8")
        assert not any(bad in text for bad in ("<script>x", "\u202e", "x" * 100)), name
    pd.testing.assert_frame_equal(back.counts, chain.counts)
    pd.testing.assert_frame_equal(back.matrix, chain.matrix)
    (tmp_path / "again").mkdir()
    release_folder.write_public(back, tmp_path / "again")
    for name in PUBLISHED:
        assert (tmp_path / "again" / name).read_bytes() == (
            tmp_path / "out" / name
        ).read_bytes()


def test_a_release_of_nothing(tmp_path: Path) -> None:
    for declared in (True, False):
        chain, counts = released(declared=declared, counts=counted(0), rng=None)
        written(chain, tmp_path / str(declared), counts)
        assert release.load(tmp_path / str(declared)) == chain
        for name, column in (
            ("counts", "origin"),
            ("chain", "destination"),
            ("states", "label"),
        ):  # text, as ever
            schema = pyarrow.parquet.read_schema(
                tmp_path / str(declared) / f"{name}.parquet"
            )
            assert str(schema.field(column).type) == "large_string"
        facts = json.loads(
            (tmp_path / f"{declared}_OWNER_ONLY" / "owner.json").read_text()
        )
        assert facts["mean_row_total_variation"] is None


def test_the_tables_say_what_the_chain_says(tmp_path: Path) -> None:
    chain, trips = released()
    written(chain, tmp_path / "out", trips)
    for ending, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        counts, table, states = (
            read(tmp_path / "out" / f"{name}.{ending}")
            for name in ("counts", "chain", "states")
        )
        assert counts["noisy_count"].tolist() == chain.noisy.tolist()
        matrix = table.pivot(
            index="origin", columns="destination", values="probability"
        )
        np.testing.assert_allclose(
            matrix.loc[list(chain.labels), list(chain.labels)], chain.matrix, rtol=1e-12
        )
        np.testing.assert_allclose(states["stationary"], chain.stationary(), rtol=1e-12)
        assert (
            set(counts["note"])
            == set(table["note"])
            == set(states["note"])
            == {dpsim.private.SIMULATION}
        )
    schema = pyarrow.parquet.read_schema(tmp_path / "out" / "counts.parquet")
    assert schema.metadata[b"status"].decode() == chain.statement["status"]
    assert "SIMULATION" in (tmp_path / "out" / "report.html").read_text()


# --- what is for the owner alone ------------------------------------------------------


@pytest.mark.parametrize("mask", [0o022, 0o000, 0o077])
def test_the_owners_part_lies_apart_and_is_closed(tmp_path: Path, mask: int) -> None:
    old = os.umask(mask)
    try:
        assert written(*released()[:1], tmp_path / "out", released()[1]) == PUBLISHED
    finally:
        os.umask(old)
    owners = tmp_path / "out_OWNER_ONLY"
    assert stat.S_IMODE(owners.stat().st_mode) == 0o700
    assert [path.name for path in owners.iterdir()] == ["owner.json"]
    assert stat.S_IMODE((owners / "owner.json").stat().st_mode) == 0o600
    public = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert (
        b"3000" not in public
        and b"3,000" not in public
        and b"total_variation" not in public
    )


def test_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain, counts = released()
    for module, name in (
        (release_folder, "write_public"),
        (owner, "utility"),
        (report, "page"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(
                module, name, lambda *_: (_ for _ in ()).throw(OSError("full"))
            )
            with pytest.raises(
                ValueError, match=r"output: full.* what it spent of a budget is spent"
            ):
                written(chain, tmp_path / "out", counts)
        assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match=r"output: .* \(No such file"):
        written(chain, tmp_path / "new" / "out", counts)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name",
    ["folder", "file", "link", "dangling", "file/out", "n" * 250, "n" * 245, "mine"],
)
def test_nothing_is_overwritten_or_spent_for_nothing(tmp_path: Path, name: str) -> None:
    for folder in ("folder", "mine_OWNER_ONLY"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    before = sorted(tmp_path.rglob("*"))
    with (
        pytest.raises(ValueError, match="output"),
        release_folder.prepare(tmp_path / name),
    ):
        raise AssertionError("prepared")  # a release would be spent and drawn here
    assert sorted(tmp_path.rglob("*")) == before


def test_the_longest_name_that_is_taken_can_be_written(tmp_path: Path) -> None:
    """The name of the owner's folder is longer than that of the output: moved after all
    is spent, it must fit too.
    """
    chain, counts = released()
    assert (
        written(chain, tmp_path / ("n" * 243), counts) == PUBLISHED
        and len(list(tmp_path.iterdir())) == 2
    )


@pytest.mark.parametrize("name", ["out", "out/budget", "out_OWNER_ONLY/deep/budget"])
def test_the_budget_lies_outside(tmp_path: Path, name: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / name)
    for file in (tmp_path / name, tmp_path / "link"):
        with (
            pytest.raises(ValueError, match="budget"),
            release_folder.prepare(tmp_path / "out", budget=file),
        ):
            raise AssertionError("prepared")
    with release_folder.prepare(tmp_path / "out", budget=tmp_path / "budget"):
        pass


def test_what_can_be_refused_is_refused_before_it_is_spent(tmp_path: Path) -> None:
    """Inside the block both folders are there and writable, closed to others, and
    moving them needs no more.
    """
    (tmp_path / "deep").mkdir()
    with release_folder.prepare(tmp_path / "deep" / "out") as place:
        for folder in (place.public, place.private):
            assert (
                folder.is_dir() and stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
            )
            (folder / "file").write_text("")
            (folder / "file").unlink()
        with (
            pytest.raises(ValueError, match=r"output: .*temporarily unavailable"),
            release_folder.prepare(tmp_path / "deep" / "out"),
        ):
            raise AssertionError("prepared")
        chain, counts = released()
        place.write(chain, counts)
    assert release.load(tmp_path / "deep" / "out") == chain
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == [
        "out",
        "out_OWNER_ONLY",
    ]
    with (
        pytest.raises(OSError, match="no entropy"),
        release_folder.prepare(tmp_path / "new"),
    ):
        raise OSError("no entropy")
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]


HANGS = """
import os, sys, time
from dpsim_release import release_folder
with release_folder.prepare(sys.argv[1]) as place:
    (place.public / "counts.csv").write_text("half")
    (place.private / "owner.json").write_text("half")
    print("there", flush=True)
    time.sleep(600)
"""


def test_what_a_killed_run_leaves_is_closed_and_swept_by_the_next(
    tmp_path: Path,
) -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", HANGS, str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None and run.stdout.readline() == "there\n"
    run.kill()
    run.communicate(timeout=60)
    left = sorted(tmp_path.iterdir())
    assert left and all(stat.S_IMODE(path.stat().st_mode) == 0o700 for path in left)
    assert written(*released()[:1], tmp_path / "out", released()[1]) == PUBLISHED
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out_OWNER_ONLY"]


def test_a_million_pairs_are_parquet_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_folder, "MOST_ROWS_OF_CSV", 15)
    chain, counts = released()
    assert written(chain, tmp_path / "out", counts) == sorted(
        set(PUBLISHED) - {"counts.csv", "chain.csv"}
    )
    assert release.load(tmp_path / "out") == chain


def test_utility_is_measured_against_the_whole_table() -> None:
    """Nearly all events were left out: the release is far from the table, though near
    what was counted.
    """
    names = ["a", "b", "c"]
    ends = {"origin": ["a", "a", "b", "c"], "destination": ["b", "c", "a", "a"]}
    counted, before = (
        pd.DataFrame(ends | {"trips": [first, 20, 20, 20]}) for first in (1, 3000)
    )
    counts = Counts(counted, Unit(1, "who"), before=before)
    chain = release.release_chain(
        counts, epsilon=1e4, support=release.all_pairs(names), rng=1
    )
    facts = owner.utility(chain, counts)
    assert facts["mean_row_total_variation"] > 0.9
    truth = markov.transition_matrix([[0, 3000, 20], [20, 0, 0], [20, 0, 0]])
    moved = (
        0.5
        * np.abs(
            markov.stationary_distribution(truth) - chain.stationary().to_numpy()
        ).sum()
    )
    assert facts["stationary_total_variation"] == pytest.approx(moved)


def test_states_that_were_not_released_count_as_lost() -> None:
    counts = counted()
    rare = pd.DataFrame(
        {"origin": ["rare", "home"], "destination": ["home", "rare"], "trips": 1}
    )
    trips = pd.concat([counts.trips, rare])
    chain, counts = released(declared=False, counts=Counts(trips, before=trips))
    facts = owner.utility(chain, counts)
    assert (
        facts["rows_whose_state_was_not_released"] == 1
        and facts["largest_row_total_variation"] == 1.0
    )


# --- labels are text ------------------------------------------------------------------


class Tags(html.parser.HTMLParser):
    """The tags, attributes and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text: list[str] = []
        self.depth: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not any(name.startswith("on") or name == "src" for name, _ in attrs)
        assert all(
            (value or "").startswith(("#", "data:image/png;base64,"))
            for name, value in attrs
            if "href" in name
        )
        if tag not in ("meta",):
            self.depth.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.depth.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


KNOWN = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "strong",
    "figure", "figcaption", "ul", "li", "code", "pre", "svg", "g", "defs", "path",
    "use", "text", "tspan", "rect", "clippath", "image", "metadata", "rdf:rdf",
    "cc:work", "dc:type", "dc:format", "dc:creator", "cc:agent", "dc:title",
}  # fmt: skip


def test_labels_are_never_code() -> None:
    chain, _ = released(NASTY)
    page = Tags()
    page.feed(report.page(chain, report.stationary(chain)))
    assert page.tags <= KNOWN and not page.depth
    parts = pd.DataFrame(
        {"origin": NASTY, "destination": NASTY, "trips": 500}
    )  # whose classes a sentence names
    chain, _ = released(declared=False, counts=Counts(parts))
    named = report.page(chain, report.stationary(chain))
    assert (
        "There is no single stationary distribution" in named
        and "<script>x" not in named
    )
    assert "<script>x</script>" in "".join(page.text) and "\\u202eabc" in "".join(
        page.text
    )
    text = "".join(page.text)
    assert "\u202e" not in text and "\u2028" not in text and "x" * 100 not in text
    assert max(map(len, page.text)) < 4000


def drawn(page: str) -> list[np.ndarray]:
    """Return of each picture of a report what its bars show, a row each: value, low and
    high, in units of the axis.
    """
    pictures = []
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        bars = re.findall(
            r'<g id="patch_\d+">\s*<path d="M ([\d.]+) [\d.]+ \s*L ([\d.]+)[^"]*"'
            "[^>]*fill: #0072b2",
            svg,
        )
        ends = re.findall(
            r'<path d="M ([\d.]+) [\d.]+ \s*L ([\d.]+) [\d.]+ \s*"[^>]*stroke: #d55e00',
            svg,
        )
        pictures.append(
            np.array(
                [(*bar, *end) for bar, end in zip(bars, ends, strict=True)], dtype=float
            )
        )
    return pictures


def test_the_bars_that_are_drawn_are_those_that_the_captions_name() -> None:
    """Of the largest counts each has the two-sided level 1 - 0.1 / m, and one event
    less on each side would not.
    """
    chain, _ = released(["a", "b", "c", "d", "e", "f"], epsilon=0.1)
    m = chain.noisy.size
    q = np.exp(-1.0 / chain.noise.scale)
    page = report.page(chain, report.stationary(chain))
    assert f"two-sided level 1 - 0.1 / {m}" in page
    counts, matrix, shares = drawn(page)
    assert not matrix.size
    top = np.sort(chain.noisy)[::-1][: len(counts)]
    unit = (counts[:, 1] - counts[:, 0])[0] / top[0]  # of the picture, for one event
    np.testing.assert_allclose((counts[:, 1] - counts[:, 0]) / unit, top, atol=0.01)
    low, high = ((counts[:, i] - counts[:, 0]) / unit for i in (2, 3))
    half = round(high[0] - top[0])
    np.testing.assert_allclose(high - top, half, atol=0.01)
    np.testing.assert_allclose(low, np.maximum(top - half, 0), atol=0.01)
    outside = (
        2 * q ** np.arange(half, half + 2) / (1 + q)
    )  # P(|Z| >= half), P(|Z| > half)
    assert outside[1] <= 0.1 / m < outside[0]
    bars = chain.intervals("stationary", level=0.9).sort_values(
        "stationary", ascending=False
    )
    unit = (shares[:, 1] - shares[:, 0])[0] / bars["stationary"].iloc[0]
    for name, column in (("stationary", 1), ("low", 2), ("high", 3)):
        np.testing.assert_allclose(
            (shares[:, column] - shares[:, 0]) / unit, bars[name], atol=1e-4
        )


@pytest.mark.parametrize(
    "bad", ["who\nGuarantee: none", "\x1b[2J", "\u202ewho", "\ud800", "w" * 500]
)
def test_a_column_cannot_write_lines_of_its_own(tmp_path: Path, bad: str) -> None:
    """The name of the unit's column reached report.html and the output as it is."""
    chain, counts = released(counts=counted(unit=Unit(9, bad)))
    written(chain, tmp_path / "out", counts)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert (
        len(re.findall(r"^Guarantee: ", chain.text, re.MULTILINE))
        == page.count("<li>Guarantee: ")
        == 1
    )
    for text in (chain.text, page):
        assert (
            bad not in text
            and "\x1b" not in text
            and "\u202e" not in text
            and "w" * 100 not in text
        )
    assert release.load(tmp_path / "out") == chain  # the name itself is kept


@pytest.mark.parametrize("field", ["randomness", "estimate", "empty_rows"])
@pytest.mark.parametrize(
    "bad", ["x\nGuarantee: epsilon 0", "\x1b[2J", "\u2028", "x" * 1001]
)
def test_a_folder_cannot_write_lines_into_a_statement(
    out: Path, field: str, bad: str
) -> None:
    file = out / "statement.json"
    facts = json.loads(file.read_text())
    file.write_text(json.dumps(facts | {field: bad}))
    with pytest.raises(ValueError, match=rf"statement\.json: {field} must be one line"):
        release.load(out)
    chain = released()[0]
    by_hand = release.PrivateChain(
        chain.support, chain.noisy, chain.statement | {field: bad}
    )
    assert (
        by_hand.text.count("\n") == chain.text.count("\n")
        and "\x1b" not in by_hand.text
    )


# --- reading --------------------------------------------------------------------------


def test_folders_that_hold_no_release(tmp_path: Path, out: Path) -> None:
    with pytest.raises(ValueError, match="holds no release"):
        release.load(tmp_path)
    for text in (
        "{",
        "[]",
        "null",
        "[" * 100_000,
        '{"simulation": true, "simulation": true}',
    ):
        (out / "statement.json").write_text(text)
        with pytest.raises(ValueError, match=r"holds no release: statement\.json: "):
            release.load(out)


STATED = [("scale", value) for value in (-1.0, 0, "1", None, float("nan"), 1e300, 0.5)]
STATED += [("epsilon", value) for value in (0.0, -1.0, 1e7, True, [1.0])] + [
    ("delta", 1.0),
    ("delta", -0.1),
]
STATED += [
    ("unit", value) for value in ({"events": 0}, {"events": 2.5}, {"who": 1}, None, 3)
]
STATED += [
    ("status", "private release"),
    ("simulation", 1),
    ("simulation", False),
    ("mechanism", "none"),
]
STATED += [("support", value) for value in ("all", "a declared graph" * 2)]
STATED += [("moves", None), ("threshold", 3), ("versions", []), ("estimate", 3)]


@pytest.mark.parametrize(("field", "value"), STATED)
def test_a_statement_that_is_none_is_refused_by_file_and_field(
    out: Path, field: str, value: object
) -> None:
    """Such a folder was read, and ended in a ZeroDivisionError, a TypeError or a
    KeyError later.
    """
    file = out / "statement.json"
    facts = json.loads(file.read_text())
    for changed in (
        {**facts, field: value},
        {name: fact for name, fact in facts.items() if name != field},
    ):
        file.write_text(json.dumps(changed))
        with pytest.raises(
            ValueError, match=r"holds no release: statement\.json: "
        ) as refusal:
            release.load(out)
        named = {
            "unit": "unit|events|who",
            "simulation": "simulation|status",
            "status": "status",
        }.get(field, field)
        assert re.search(named, str(refusal.value))


def test_tables_that_are_of_no_release_are_refused_by_file_column_and_value(
    out: Path,
) -> None:
    for name, column in (
        ("counts", "noisy_count"),
        ("counts", "origin"),
        ("states", "label"),
    ):
        file = out / f"{name}.parquet"
        good = pd.read_parquet(file)
        wrong = [
            good[1:],
            good.drop(columns=column),
            pd.concat([good, good[:1]]),
            good.assign(**{column: None}),
        ]
        numbers = (0.5, float("nan"), float("inf"), 2**62, -(2**62), True)
        wrong += [
            good.assign(**{column: [value] * len(good)})
            for value in (*numbers, "nowhere", [1], b"x")
        ]
        for table in wrong:
            table.to_parquet(file)
            with pytest.raises(
                ValueError, match=r"holds no release: (states|counts)\.parquet: "
            ):
                release.load(out)
        good.to_parquet(file)
    assert release.load(out) == released()[0]


def test_a_count_that_a_threshold_cannot_have_let_pass_is_refused(
    tmp_path: Path,
) -> None:
    chain, counts = released(declared=False)
    written(chain, tmp_path / "out", counts)
    file = tmp_path / "out" / "counts.parquet"
    stated = tmp_path / "out" / "statement.json"
    good = pd.read_parquet(file)
    facts = json.loads(stated.read_text())
    good[::-1].to_parquet(file)
    assert release.load(tmp_path / "out") == chain  # whatever the order of its rows
    good.assign(noisy_count=facts["threshold"]).to_parquet(file)
    assert release.load(tmp_path / "out").noisy.max() == facts["threshold"]
    good.assign(noisy_count=facts["threshold"] - 1).to_parquet(file)
    with pytest.raises(ValueError, match=r"counts\.parquet: noisy_count"):
        release.load(tmp_path / "out")
    for threshold in (1, 0, None):  # which a single event passes
        stated.write_text(json.dumps(facts | {"threshold": threshold}))
        with pytest.raises(ValueError, match=r"statement\.json: threshold"):
            release.load(tmp_path / "out")


PARQUET = [f"{name}.parquet" for name in ("states", "counts")]


@pytest.mark.parametrize("name", ["statement.json", *PARQUET])
def test_a_pipe_or_a_folder_is_refused_and_not_waited_for(out: Path, name: str) -> None:
    """It waited for ever; a link to a file is a file."""
    (out / name).rename(out / "kept")
    for make in (os.mkfifo, os.mkdir):
        make(out / name)
        with pytest.raises(
            ValueError, match=rf"holds no release: {name}: there is no ordinary file"
        ):
            release.load(out)
        (os.rmdir if make is os.mkdir else os.unlink)(out / name)
    (out / name).symlink_to("kept")
    assert release.load(out) == released()[0]


@pytest.mark.parametrize(
    ("name", "column", "most"),
    [("states.parquet", "label", 1), ("counts.parquet", "origin", 0)],
)
def test_of_many_equal_rows_one_part_is_read_at_most(
    out: Path, monkeypatch: pytest.MonkeyPatch, name: str, column: str, most: int
) -> None:
    """Thirty million equal labels in 126 KB of Parquet took 1.1 GiB."""
    monkeypatch.setattr(dpsim.released, "ROWS", 4)
    iterate = pyarrow.parquet.ParquetFile.iter_batches
    parts = []

    def counted_parts(
        table: pyarrow.parquet.ParquetFile, rows: int, columns: list[str]
    ) -> Iterator[object]:
        for part in iterate(table, rows, columns=columns):
            parts.append(columns)
            yield part

    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "iter_batches", counted_parts)
    pd.concat([pd.read_parquet(out / name)[:1]] * 100).to_parquet(out / name)
    if name == "counts.parquet":
        facts = json.loads((out / "statement.json").read_text())
        (out / "statement.json").write_text(json.dumps(facts | {"pairs": 100}))
    with pytest.raises(ValueError, match=f"holds no release: {name}: "):
        release.load(out)
    assert sum(column in columns for columns in parts) == most


def test_pairs_that_occur_twice_far_apart_are_refused(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dpsim.released, "ROWS", 4)
    table = pd.read_parquet(out / "counts.parquet")
    assert release.load(out) == released()[0]
    table.iloc[15] = table.iloc[0]
    table.to_parquet(out / "counts.parquet")
    with pytest.raises(
        ValueError, match=r"each pair must be there once, got \('home', 'home'\)"
    ):
        release.load(out)


@pytest.mark.parametrize("name", ["/", "a\0b", "", "/..", "a\ud800", 5])
def test_an_output_without_a_name_is_refused_by_its_argument(name: str | int) -> None:
    with (
        pytest.raises(ValueError, match="output must be the name of a new folder, got"),
        release_folder.prepare(name),
    ):
        raise AssertionError("prepared")
