"""Files of a release: whole or not at all, read back equal, nothing of the owner's among them, labels as text."""

from __future__ import annotations

import html.parser
import json
import os
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

import dpsim
from dpsim import datasets, markov, release
from dpsim.accounting import Unit
from dpsim.release import files, owner, report

TABLES = ("chain", "counts", "states")
PUBLISHED = sorted([f"{name}.{ending}" for name in TABLES for ending in ("csv", "parquet")]
                   + ["report.html", "statement.json"])  # fmt: skip
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


def events(rows: int = 3000, labels: list[object] | None = None, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    labels = ["home", "shop", "cart", "help"] if labels is None else labels
    places = rng.integers(0, len(labels), (2, rows))
    named = pd.Series(labels, dtype=object)
    return pd.DataFrame({"from": named.take(places[0]).array, "to": named.take(places[1]).array})


def released(
    labels: list[object] | None = None, declared: bool = True, **settings: object
) -> tuple[object, pd.DataFrame]:
    table = events(labels=labels)
    names = labels or ["home", "shop", "cart", "help"]
    trips = datasets.count_transitions(table, "from", "to", categories=names if declared else None)
    support = release.all_pairs(names) if declared else None
    chosen = {"epsilon": 1.0, "delta": 0.0 if declared else 1e-6, "support": support, "rng": 1} | settings
    return release.release_chain(trips, **chosen), trips  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("labels", "declared", "settings"),
    [
        (None, True, {}),
        (None, True, {"rng": None}),
        (None, False, {}),
        ([3, -1, 20, 2**62], True, {"totals": {3: 5, -1: 0, 20: 10**9, 2**62: 1}}),
        (["3", "x", "20", "003"], True, {"mechanism": "discrete Gaussian", "delta": 1e-6}),
        (NASTY, True, {}),
        (NASTY, False, {"delta": 0.5}),
    ],
)
def test_a_release_read_back_equals_the_one_written(
    tmp_path: Path, labels: list[object] | None, declared: bool, settings: dict[str, object]
) -> None:
    chain, trips = released(labels, declared, **settings)
    assert sorted(path.name for path in files.write_release(chain, tmp_path / "out", trips)) == PUBLISHED
    back = dpsim.load_release(tmp_path / "out")
    assert back == chain and repr(back) == repr(chain)
    assert list(map(type, back.labels)) == list(map(type, chain.labels))
    pd.testing.assert_frame_equal(back.counts, chain.counts)
    pd.testing.assert_frame_equal(back.matrix, chain.matrix)
    files.write_release(back, tmp_path / "again")
    for name in PUBLISHED:
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_a_release_of_nothing(tmp_path: Path) -> None:
    table = events()[:0]
    for declared in (True, False):
        labels = ["a", "b"] if declared else None
        trips = datasets.count_transitions(table, "from", "to", categories=labels)
        support = release.all_pairs(labels) if labels else None
        chain = release.release_chain(trips, epsilon=1.0, delta=0.0 if labels else 1e-6, support=support)
        files.write_release(chain, tmp_path / str(declared), trips)
        assert dpsim.load_release(tmp_path / str(declared)) == chain
        facts = json.loads((tmp_path / f"{declared}_OWNER_ONLY" / "owner.json").read_text())
        assert facts["mean_row_total_variation"] is None


def test_the_tables_say_what_the_chain_says(tmp_path: Path) -> None:
    chain, trips = released()
    files.write_release(chain, tmp_path / "out", trips)
    for ending, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        counts, table, states = (read(tmp_path / "out" / f"{name}.{ending}") for name in ("counts", "chain", "states"))
        assert counts["noisy_count"].tolist() == chain.noisy.tolist()
        matrix = table.pivot(index="origin", columns="destination", values="probability")
        np.testing.assert_allclose(matrix.loc[list(chain.labels), list(chain.labels)], chain.matrix, rtol=1e-12)
        np.testing.assert_allclose(states["stationary"], chain.stationary(), rtol=1e-12)
        assert set(counts["note"]) == set(table["note"]) == set(states["note"]) == {dpsim.private.SIMULATION}
    schema = pyarrow.parquet.read_schema(tmp_path / "out" / "counts.parquet")
    assert schema.metadata[b"status"].decode() == chain.statement["status"]
    assert "SIMULATION" in (tmp_path / "out" / "report.html").read_text()


# --- what is for the owner alone --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [0o022, 0o000, 0o077])
def test_the_owners_part_lies_apart_and_is_closed(tmp_path: Path, mask: int) -> None:
    old = os.umask(mask)
    try:
        chain, trips = released()
        files.write_release(chain, tmp_path / "out", trips)
        files.write_release(chain, tmp_path / "other", trips, tmp_path / "mine" / "deep")
    finally:
        os.umask(old)
    for folder in (tmp_path / "out_OWNER_ONLY", tmp_path / "mine" / "deep"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [path.name for path in folder.iterdir()] == ["owner.json"]
        assert stat.S_IMODE((folder / "owner.json").stat().st_mode) == 0o600
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == PUBLISHED
    public = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert b"3000" not in public and b"3,000" not in public and b"total_variation" not in public


@pytest.mark.parametrize("place", ["out", "out/mine", "."])
def test_the_owners_part_is_never_inside(tmp_path: Path, place: str) -> None:
    chain, trips = released()
    with pytest.raises(ValueError, match=r"owner must be a folder outside|must be a new or empty folder"):
        files.write_release(chain, tmp_path / "out", trips, tmp_path / place)
    assert not (tmp_path / "out").exists()
    (tmp_path / "link").symlink_to(tmp_path / "out")
    with pytest.raises(ValueError, match="owner must be a folder outside"):
        files.write_release(chain, tmp_path / "out", trips, tmp_path / "link" / "mine")


def test_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain, trips = released()
    for module, name in ((files, "_write_public"), (files, "_write_owner"), (report, "page")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, lambda *_: (_ for _ in ()).throw(OSError("full")))
            with pytest.raises(OSError, match="full"):
                files.write_release(chain, tmp_path / "out", trips)
        assert not list(tmp_path.iterdir())
    moved = []

    def failing(partial: Path, target: Path) -> None:
        moved.append(target)
        if len(moved) == 2:
            raise OSError("full")
        os.replace(partial, target)

    monkeypatch.setattr(files, "_replace", failing)
    with pytest.raises(OSError, match="full"):
        files.write_release(chain, tmp_path / "out", trips)
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    chain, trips = released()
    (tmp_path / "out").mkdir()
    files.write_release(chain, tmp_path / "out", trips)
    with pytest.raises(ValueError, match="must be a new or empty folder"):
        files.write_release(chain, tmp_path / "out")


def test_utility_is_measured_against_the_whole_table() -> None:
    """Nearly all events were truncated: the release is far from the table, though near what was counted."""
    table = pd.DataFrame({"who": ["p"] * 3000, "from": "a", "to": "b"})
    table = pd.concat([table, pd.DataFrame({"who": [f"q{i}" for i in range(60)], "from": ["a", "b", "c"] * 20,
                                            "to": ["c", "a", "a"] * 20})])  # fmt: skip
    names = ["a", "b", "c"]
    trips = datasets.count_transitions(table, "from", "to", unit="who", events=1, categories=names)
    chain = release.release_chain(trips, epsilon=1e4, support=release.all_pairs(names), unit=Unit(events=1), rng=1)
    facts = owner.compared(chain, trips)
    assert facts["truncated"] == 2999
    assert facts["mean_row_total_variation"] > 0.9
    truth = markov.transition_matrix([[0, 3000, 20], [20, 0, 0], [20, 0, 0]])
    moved = 0.5 * np.abs(markov.stationary_distribution(truth) - chain.stationary().to_numpy()).sum()
    assert facts["stationary_total_variation"] == pytest.approx(moved)


def test_states_that_were_not_released_count_as_lost() -> None:
    table = pd.concat([events(), pd.DataFrame({"from": ["rare", "home"], "to": ["home", "rare"]})])
    trips = datasets.count_transitions(table, "from", "to")
    chain = release.release_chain(trips, epsilon=1.0, delta=1e-6, rng=1)
    facts = owner.compared(chain, trips)
    assert facts["rows_whose_state_was_not_released"] == 1 and facts["largest_row_total_variation"] == 1.0


def test_a_reducible_table_is_said_to_be_one() -> None:
    table = pd.DataFrame({"from": ["a", "b", "c"] * 500, "to": ["b", "a", "a"] * 500})
    table = pd.concat([table, pd.DataFrame({"from": ["d"], "to": ["a"]})])
    for names in (["a", "b", "c", "d"], ["a", "b"]):
        trips = datasets.count_transitions(table, "from", "to", categories=names)
        chain = release.release_chain(trips, epsilon=1.0, support=release.all_pairs(names), rng=1)
        said = owner.compared(chain, trips)["stationary_total_variation"]
        assert (said == owner.REDUCIBLE) == (len(names) == 4), said


# --- labels are text --------------------------------------------------------------------------------------------------


class Tags(html.parser.HTMLParser):
    """The tags, attributes and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text: list[str] = []
        self.depth: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not any(name.startswith("on") or name in ("href", "src") for name, _ in attrs)
        if tag not in ("meta",):
            self.depth.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.depth.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


KNOWN = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "strong", "figure", "figcaption", "svg",
         "text", "tspan", "rect", "path", "circle", "polygon", "ul", "li", "code", "pre"}  # fmt: skip


def test_labels_are_never_code() -> None:
    chain, _ = released(NASTY)
    page = Tags()
    page.feed(report.page(chain))
    assert page.tags <= KNOWN and not page.depth
    assert "<script>x</script>" in page.text and "\\u202eabc" in page.text
    text = "".join(page.text)
    assert "\u202e" not in text and "\u2028" not in text and "x" * 100 not in text
    assert max(map(len, page.text)) < 4000


def test_values_are_never_changed_in_the_tables(tmp_path: Path) -> None:
    chain, _ = released(NASTY)
    files.write_release(chain, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == PUBLISHED
    read = pd.read_csv(tmp_path / "out" / "states.csv", dtype=str, keep_default_na=False)
    assert read["label"].tolist() == NASTY


def test_error_bars_of_counts() -> None:
    for settings in ({"epsilon": 0.01}, {"epsilon": 1.0}, {"epsilon": 50.0},
                     {"epsilon": 0.5, "delta": 1e-6, "mechanism": "discrete Gaussian"}):  # fmt: skip
        chain, _ = released(**settings)
        half = report.half_width(chain)
        assert 2 * np.exp(chain.noise.log_tail(half + 1)) <= 1 - report.COVERAGE
        assert half == 0 or 2 * np.exp(chain.noise.log_tail(half)) > 1 - report.COVERAGE


# --- reading ----------------------------------------------------------------------------------------------------------


def test_folders_that_hold_no_release(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no release"):
        dpsim.load_release(tmp_path)
    chain, _ = released()
    files.write_release(chain, tmp_path / "out")
    counts = pd.read_parquet(tmp_path / "out" / "counts.parquet")
    counts[1:].to_parquet(tmp_path / "out" / "counts.parquet")
    with pytest.raises(ValueError, match="do not belong together"):
        dpsim.load_release(tmp_path / "out")
    counts.replace("home", "house").to_parquet(tmp_path / "out" / "counts.parquet")
    with pytest.raises(ValueError, match="do not belong together"):
        dpsim.load_release(tmp_path / "out")
    (tmp_path / "out" / "statement.json").write_text("{")
    with pytest.raises(ValueError, match="holds no release"):
        dpsim.load_release(tmp_path / "out")
