"""What a release says of its rows, and the plain estimate, which may be chosen."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dpsim
import dpsim_release as release
from dpsim import cli
from dpsim_release import Counts, estimate, release_folder, report
from dpsim_release.discrete_laplace import Noise
from dpsim_release.estimate import clear_rows
from dpsim_release.unit import Unit

CARD = Unit(20, "card")
STOPS = [f"s{stop:02d}" for stop in range(80)]


def trips(tail: float, width: float) -> Counts:
    """Return 300,000 trips between 80 stops, more of them between near stops."""
    rng = np.random.default_rng(3)
    places = rng.random((80, 2))
    sizes = rng.pareto(tail, 80) + 0.5
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    gravity = np.outer(sizes, sizes) * np.exp(-apart / width)
    np.fill_diagonal(gravity, 0.0)
    numbers = rng.multinomial(300_000, gravity.ravel() / gravity.sum()).reshape(80, 80)
    origin, destination = np.nonzero(numbers)
    names = np.array(STOPS)
    table = {"origin": names[origin], "destination": names[destination]}
    return Counts(pd.DataFrame(table | {"trips": numbers[origin, destination]}), CARD)


def released(counts: Counts, **settings: object) -> release.PrivateChain:
    chosen = {"epsilon": 0.1, "support": release.all_pairs(STOPS), "rng": 1}
    settings = chosen | settings
    return release.release_chain(counts, **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def alike() -> release.PrivateChain:
    return released(trips(3.0, 0.3))


def test_a_release_of_shares_of_arrivals_says_so(
    alike: release.PrivateChain, tmp_path: Path
) -> None:
    """All 80 rows were the same, and the report said that 10 of them stood out."""
    matrix = alike.estimate.matrix.toarray()
    np.testing.assert_allclose(matrix, np.tile(matrix[0], (80, 1)), atol=1e-12)
    assert len(alike.weak) == 70 and not alike.empty
    release_folder.write_public(alike, tmp_path)
    facts = json.loads((tmp_path / "statement.json").read_text())
    assert facts["rows_of_arrivals_only"] == {"number": 80, "labels": STOPS}
    assert facts["rows_that_stand_out"] == 0
    said = "All 80 rows hold nothing but shares of arrivals"
    for text in (alike.text, dpsim.load_release(tmp_path).text):
        assert "0 of 80 rows stand out from the noise." in text and said in text
        assert "10 of 80" not in text
    assert said in report.matrix_table(alike)
    states = pd.read_csv(tmp_path / "states.csv")
    assert states["arrivals_only"].all() and not states["filled"].any()
    assert states["stationary_low"].isna().all()
    page = (tmp_path / "report.html").read_text()
    assert "It has no intervals, because the noise is so large" in page


@pytest.mark.parametrize(("tail", "width"), [(1.5, 0.15), (1.5, 0.5), (3.0, 0.15)])
def test_the_rows_that_equal_the_shares_of_arrivals_are_named(
    tail: float, width: float
) -> None:
    chain = released(trips(tail, width))
    matrix = chain.estimate.matrix.toarray()
    common = matrix[chain.estimate.empty[0]]
    equal = np.flatnonzero(np.abs(matrix - common).max(axis=1) < 1e-12)
    assert chain.arrivals_only == [STOPS[i] for i in equal]
    assert 0 < len(equal) < 80 and not {*chain.clear} & {*chain.arrivals_only}
    told = chain.statement["rows_of_arrivals_only"]
    assert told == {"number": len(equal), "labels": chain.arrivals_only}
    said = f"{len(equal)} of 80 rows hold nothing but shares of arrivals"
    assert said in chain.text and chain.arrivals_only[0] in chain.text
    assert f"{len(chain.clear)} of 80 rows stand out from the noise; " in chain.text


def test_a_row_stands_out_if_noise_explains_neither_its_total_nor_its_squares() -> None:
    """With 3 standard deviations of the total, and of the squares, of 16 counts."""
    support = release.all_pairs(range(16))
    noise = Noise(10.0, 1.0)
    deviation = np.sqrt(noise.variance)
    squares = deviation * np.sqrt(16.0 + 3.0 * np.sqrt(5.0 * 16.0))
    noisy = np.zeros((16, 16))
    for row, share in enumerate((0.999, 1.001)):
        noisy[row] = share * squares / 4.0  # a total of more than 12 deviations
        noisy[2 + row, 0] = share * 12.0 * deviation  # larger squares
    noisy[4, :2] = 100.0 * deviation, -100.0 * deviation
    clear = clear_rows(support, noisy.ravel(), noise)
    assert np.flatnonzero(clear).tolist() == [1, 3]


def test_rows_of_pure_noise_rarely_stand_out() -> None:
    support = release.all_pairs(range(40))
    noise = Noise(5.0, 1.0)
    empty = np.zeros(1600, dtype=int)
    found = [
        clear_rows(
            support,
            release.noisy_counts(empty, noise, np.random.default_rng(seed)),
            noise,
        ).mean()
        for seed in range(50)
    ]
    assert np.mean(found) < 0.003


def test_the_plain_estimate_is_the_counts_without_what_is_negative(
    alike: release.PrivateChain, tmp_path: Path
) -> None:
    chain = released(trips(3.0, 0.3), estimate="plain")
    np.testing.assert_array_equal(chain.noisy, alike.noisy)
    weights = np.maximum(chain.noisy.reshape(80, 80), 0)
    expected = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(chain.matrix, expected, rtol=1e-12)
    assert chain.arrivals_only == [] and "negative noisy counts are set" in chain.text
    release_folder.write_public(chain, tmp_path)
    back = release.load(tmp_path)
    assert back == chain
    np.testing.assert_array_equal(back.matrix, chain.matrix)
    np.testing.assert_allclose(dpsim.load_release(tmp_path).matrix, expected)


def test_each_door_takes_the_plain_estimate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.choice(STOPS[:20], (2000, 2)), columns=["from", "to"])
    table.to_csv("moves.csv", index=False)
    Path("stops.txt").write_text("\n".join(STOPS[:20]))
    ends = {"origin": "from", "destination": "to", "categories": STOPS[:20]}
    plain, learned = (
        release.privatize(table, **ends, epsilon=1, rng=1, estimate=kind)
        for kind in estimate.KINDS[::-1]
    )
    assert plain.statement["estimate"] == estimate.PLAIN_RULE
    assert learned.statement["estimate"] == estimate.RULE
    words = "release moves.csv --origin from --destination to --categories stops.txt"
    words += " --epsilon 1 --seed 1 --output out --estimate"
    done = CliRunner().invoke(cli.main, [*words.split(), "plain"])
    assert done.exit_code == 0, done.output
    assert release.load("out").counts.equals(plain.counts)
    np.testing.assert_array_equal(release.load("out").matrix, plain.matrix)
    for read in (
        lambda: release.Options(**ends, estimate="best"),
        lambda: release.privatize("none.csv", **ends, epsilon=1, estimate="best"),
        lambda: released(trips(3.0, 0.3), estimate="best"),
    ):
        with pytest.raises(ValueError, match="estimate must be one of 'learned', 'pl"):
            read()


def test_the_owner_is_told_of_rows_of_arrivals(
    alike: release.PrivateChain, tmp_path: Path
) -> None:
    """By the command, on standard error; standard output says little."""
    kept = trips(3.0, 0.3).trips
    kept.to_csv(tmp_path / "trips.csv", index=False)
    (tmp_path / "stops.txt").write_text("\n".join(STOPS))
    words = f"release {tmp_path}/trips.csv --origin origin --destination destination"
    words += f" --count trips --categories {tmp_path}/stops.txt --epsilon 0.005"
    done = CliRunner().invoke(
        cli.main, [*words.split(), "--output", f"{tmp_path}/out", "--seed", "1"]
    )
    assert "All 80 rows hold nothing but shares of arrivals" in done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(":")[0].split(",")[0] for line in lines] == [
        "SIMULATION",
        "Guarantee",
        "Neighbours",
        f"written to {tmp_path}/out; the whole statement is in {tmp_path}/out/report."
        "html",
    ]
    assert "Do not publish" in lines[0] and "may be published" not in done.stdout
    assert "epsilon 0.005, delta 0" in lines[1] and "one event" in lines[2]


def test_the_matrix_is_plotted_as_it_is() -> None:
    """The opacity of each square is its probability, as a share of the largest."""
    rng = np.random.default_rng(1)
    origin, destination = np.divmod(np.arange(64), 8)
    table = {"origin": origin, "destination": destination}
    numbers = rng.integers(0, 500, 64)
    chain = release.release_chain(
        Counts(pd.DataFrame(table | {"trips": numbers})),
        epsilon=1.0,
        support=release.all_pairs(range(8)),
        rng=1,
    )
    page = report.page(chain, report.stationary(chain))
    squares = re.search(r'<g id="QuadMesh_1">(.*?)</g>', page, re.DOTALL)
    assert squares is not None
    shades = np.array(
        [
            float((re.findall(r"fill-opacity: ([\d.]+)", style) or ["1"])[0])
            if "fill: none" not in style
            else 0.0
            for style in re.findall(r'style="([^"]*)"', squares[1])
        ]
    ).reshape(8, 8)
    order = np.argsort(-chain.departures(), kind="stable")
    matrix = chain.matrix.to_numpy()[order][:, order]
    np.testing.assert_allclose(shades, matrix / matrix.max(), atol=0.01)
    assert "prefers-color-scheme: dark" in page
    assert f"The strongest blue is {matrix.max():.2g}" in page


def test_a_chain_without_a_single_long_run_has_its_matrix() -> None:
    ends = {"origin": list("abcd"), "destination": list("badc"), "trips": [900] * 4}
    counts = Counts(pd.DataFrame(ends))
    chain = release.release_chain(counts, epsilon=1.0, delta=1e-6, rng=1)
    page = report.page(chain, report.stationary(chain))
    assert page.count("<svg") == 2 and "QuadMesh_1" in page
    assert "because there is no single stationary distribution" in page
