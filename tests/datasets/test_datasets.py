import hashlib
import itertools
import re
import shutil

import numpy as np
import pandas as pd
import pytest

from dpsim import datasets, ledger, paths, words
from dpsim.datasets import taxi
from dpsim.notebook import load
from dpsim.numerics import simplex

ZONES = datasets.load_taxi_zones()
ADJACENCY = datasets.load_zone_adjacency()
COUNTS = datasets.counts_matrix(datasets.load_taxi_trips(), ZONES["zone"])


@pytest.fixture
def own_data(tmp_path, monkeypatch):
    """A copy of data/ that a test may damage."""
    copy = shutil.copytree(paths.data(), tmp_path / "data")
    monkeypatch.setattr(paths, "data", lambda: copy)
    return copy


# --- files and checksums ----------------------------------------


def test_every_file_of_the_folder_has_a_checksum_and_a_source():
    present = {
        str(path.relative_to(paths.data()))
        for path in paths.data().rglob("*")
        if path.is_file()
    }
    about = {
        "README.md",
        "LEDGER.md",
        "checksums.txt",
        ".gitattributes",
        "papers.csv",
        "published.csv",
        "findings.csv",
        "ledger.sha256",
    }
    assert set(datasets.csv_files.checksums()) == present - about
    sources = datasets.csv_files.load_sources()
    assert set(sources["file"]) == present - about - {"sources.csv"}
    assert sources.notna().all(axis=None)
    readme = (paths.data() / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in readme for name in sources["file"])
    for name, digest in sources.set_index("file")["sha256"].items():
        assert digest == hashlib.sha256((paths.data() / name).read_bytes()).hexdigest()


LOADERS = {
    "nyc/od_surrogate_2025-01.csv": datasets.load_taxi_trips,
    "nyc/zones.geojson": datasets.load_taxi_zones,
    "nyc/zone_adjacency.csv": datasets.load_zone_adjacency,
    "gainesville/segments.csv": datasets.load_gainesville,
    "gainesville/intersections.csv": datasets.load_gainesville,
    "grades/calculus_1.csv": datasets.load_grades,
}


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("harm", ["is damaged", "cannot be read"])
def test_a_flipped_bit_or_a_missing_file_is_named_with_the_remedy(own_data, name, harm):
    contents = bytearray((own_data / name).read_bytes())
    contents[len(contents) // 2] ^= 1
    if harm == "is damaged":
        (own_data / name).write_bytes(contents)
    else:
        (own_data / name).unlink()
    with pytest.raises(
        ValueError, match=f"data/{name} {harm} .*git checkout -- data/{name}"
    ):
        LOADERS[name]()
    status = datasets.csv_files.load_sources().set_index("file")["status"]
    assert harm in status[name] and (status.drop(name) == "intact").all()


def test_without_the_folder_the_way_to_install_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "data", lambda: tmp_path / "data")
    with pytest.raises(ValueError, match=r"pip install -e \."):
        datasets.load_grades()


def test_a_name_without_checksum_is_refused():
    with pytest.raises(
        ValueError, match=r"name must be one of .*, got '\.\./pyproject\.toml'"
    ):
        datasets.csv_files.read_bytes("../pyproject.toml")


def test_grades():
    grades = datasets.load_grades()
    assert list(grades["grade"]) == ["A", "B", "C", "D", "F"]
    assert list(grades["students"]) == [28, 22, 24, 12, 12]
    assert grades["students"].min() / grades["students"].sum() >= 0.073


# --- taxi trips ----------------------------------------


def test_surrogate_trips_zones_and_adjacency_fit_together():
    trips = datasets.load_taxi_trips()
    assert list(trips.columns) == list(taxi.TRIP_COLUMNS)
    assert (len(trips), trips["trips"].sum(), len(ZONES)) == (3842, 2_931_688, 63)
    assert COUNTS.sum() == 2_931_688 and (COUNTS == 0).sum() == 63 * 63 - 3842
    assert ZONES["zone"].is_monotonic_increasing and ZONES["zone"].is_unique
    assert ZONES.geometry.is_valid.all() and ZONES.crs.to_epsg() == 4326
    assert (ADJACENCY == ADJACENCY.T).all() and not ADJACENCY.diagonal().any()
    assert ADJACENCY.sum() == 2 * 162


def test_zones_that_touch_lie_within_the_simplification_of_each_other():
    shapes = ZONES.to_crs("EPSG:32618").geometry
    i, j = np.nonzero(ADJACENCY)
    assert (
        shapes.iloc[i].distance(shapes.iloc[j], align=False).max() < 2 * 40
    )  # metres, 40 for each outline


def merge_by_hand(counts, adjacency, target, rule):
    """The merging rule on dictionaries of frozensets, sharing nothing with the
    arrays."""
    n = len(counts)
    groups = [frozenset([i]) for i in range(n)]

    def total(a, b):
        return sum(int(counts[i, j]) for i in a for j in b)

    def near(a, b):
        return a != b and any(adjacency[i, j] for i in a for j in b)

    while len(groups) > target:
        departures = {g: sum(total(g, h) for h in groups) for g in groups}
        rarest = {}
        for g in groups:
            ends = [total(g, h) for h in groups]
            if rule == "one by one":
                ends += [total(h, g) for h in groups]
            rarest[g] = min(filter(None, ends), default=10**9)
        sign = -1 if rule == "busiest neighbour" else 1
        linked = [g for g in groups if any(near(g, h) for h in groups)]
        if rule == "one by one":
            linked = [g for g in linked if len(g) == min(map(len, linked))]
        by_rarest = rule in ("rarest trip", "one by one")
        leaving = min(
            (rarest[g] * by_rarest, departures[g], min(g), g) for g in linked
        )[-1]
        held = -1 if rule == "one by one" else 0
        joined = min(
            (held * len(h), sign * departures[h], min(h), h)
            for h in groups
            if near(leaving, h)
        )[-1]
        groups = [g for g in groups if g not in (leaving, joined)] + [leaving | joined]
    groups.sort(key=min)
    return np.array([[total(a, b) for b in groups] for a in groups]), groups


@pytest.mark.parametrize("rule", taxi.MERGE_RULES)
@pytest.mark.parametrize("seed", range(6))
def test_merging_agrees_with_the_rule_done_by_hand(rule, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, (9, 9))  # small numbers: many ties
    components = 1 + seed % 3
    block = np.arange(9) % components
    adjacency = np.triu((block[:, None] == block) & (rng.random((9, 9)) < 0.3), 1)
    adjacency |= (
        np.abs(np.subtract.outer(np.arange(9), np.arange(9))) == components
    )  # each block is connected
    adjacency |= adjacency.T
    counts.flags.writeable = adjacency.flags.writeable = (
        False  # what is the caller's stays as it is
    )
    for target in range(components, 10):
        merged, group = datasets.merge_zones(counts, adjacency, target, rule=rule)
        expected, members = merge_by_hand(counts, adjacency, target, rule)
        np.testing.assert_array_equal(merged, expected)
        assert [frozenset(np.flatnonzero(group == g)) for g in range(target)] == members
    with pytest.raises(
        ValueError,
        match=f"target must be an integer from {components} to 9, got {components - 1}",
    ):
        datasets.merge_zones(counts, adjacency, components - 1, rule=rule)


def test_the_parameter_of_the_notebook_names_its_choices():
    rule = load("data_driven_markov").parameters["rule"]
    assert {rule.default, *re.findall(r'"([^"]+)"', rule.help)} == set(taxi.MERGE_RULES)


WRONG = [
    ("target", {"target": 4}),
    ("rule", {"rule": "largest"}),
    ("counts", {"counts": [[1, 2, 3]]}),
]
WRONG += [
    ("adjacency", {"adjacency": value})
    for value in (np.eye(3), np.triu(np.ones((3, 3), bool)))
]
WRONG += [("adjacency", {"counts": [[1, 2], [3, 4]]})]


@pytest.mark.parametrize("name, changes", WRONG)
def test_refusals_of_merging(name, changes):
    arguments = {
        "counts": np.ones((3, 3), int),
        "adjacency": np.ones((3, 3), bool),
        "target": 2,
    } | changes
    with pytest.raises(ValueError, match=f"^{name} "):
        datasets.merge_zones(**arguments)


def test_counts_matrix_refuses_strangers_and_repeated_zones():
    trips = pd.DataFrame(
        {"origin": ["a", "b"], "destination": ["b", "c"], "trips": [3, 4]}
    )
    np.testing.assert_array_equal(
        datasets.counts_matrix(trips, ["c", "b", "a"]),
        [[0, 0, 0], [4, 0, 0], [0, 3, 0]],
    )
    with pytest.raises(ValueError, match=r"^trips must be"):
        datasets.counts_matrix(trips, ["a", "b"])
    with pytest.raises(ValueError, match=r"^zones must be"):
        datasets.counts_matrix(trips, ["a", "b", "c", "a"])
    assert (
        datasets.counts_matrix(trips.replace("c", np.nan), ["a", "b", np.nan]).sum()
        == 7
    )


# --- a user's own table ----------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    "labels", [[1, 2, 30], [-99, 0, 10**15], ["N/A", "NA", "Midtown"]]
)
def test_a_table_of_ones_own_comes_back(tmp_path, suffix, labels):
    a, b, c = labels
    table = pd.DataFrame(
        {
            "trips": [3, 0, 2**53],
            "origin": [a, a, c],
            "note": [0.5] * 3,
            "destination": [a, b, a],
        }
    )
    path = tmp_path / f"trips.{suffix}"
    if suffix == "csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path)
    for source in (path, str(path)):
        loaded = datasets.load_taxi_trips(source)
        assert list(loaded.columns) == list(taxi.TRIP_COLUMNS)
        assert loaded.to_dict("list") == table[list(taxi.TRIP_COLUMNS)].to_dict("list")
        assert loaded["trips"].dtype == np.int64


@pytest.mark.parametrize("index", ["origin", ["origin", "destination"], "note"])
def test_the_index_of_a_parquet_file_is_a_column(tmp_path, index):
    table = pd.DataFrame(
        {"origin": [1, 2], "destination": [2, 2], "trips": [3, 4], "note": [8, 9]}
    )
    table.set_index(index).to_parquet(tmp_path / "trips.parquet")
    pd.testing.assert_frame_equal(
        datasets.load_taxi_trips(tmp_path / "trips.parquet"), table[taxi.TRIP_COLUMNS]
    )


@pytest.mark.parametrize(
    "words, rows",
    [
        ("No columns", ""),
        ("no rows", "origin,destination,trips\n"),
        ("'destination'", "origin,trips\n1,2\n"),
        *[
            ("column trips", f"origin,destination,trips\n1,2,{trips}\n")
            for trips in ("-3", "2.5", "many", "", "1e300")
        ],
        ("column origin", "origin,destination,trips\n,2,1\n"),
        ("origin and destination", "origin,destination,trips\n1,2,1\n1,2,4\n"),
        ("Expected 3 fields", "origin,destination,trips\n1,2\n1,2,3,4,5\n"),
        ("Parquet", "PAR1 and nothing else"),
    ],
)
def test_refused_tables_name_the_file_and_the_column(tmp_path, words, rows):
    path = tmp_path / ("trips.parquet" if words == "Parquet" else "trips.csv")
    path.write_text(rows, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"{path.name}.*{words}"):
        datasets.load_taxi_trips(path)


def test_zones_that_are_not_all_numbers_are_words(tmp_path):
    path = tmp_path / "trips.csv"
    path.write_text("origin,destination,trips\n1,N/A,1\n2.0,1.5,3\n", encoding="utf-8")
    table = datasets.load_taxi_trips(path)
    assert table["origin"].tolist() == ["1", "2"] and table["destination"].tolist() == [
        "N/A",
        "1.5",
    ]
    with pytest.raises(ValueError, match=r"between the 63 zones, got \['1', "):
        datasets.known_trips(str(path))


@pytest.mark.parametrize(
    "source, words",
    [
        ("official", "not available yet"),
        ("surogate", "'surogate'"),
        ("nowhere.csv", "nowhere.csv"),
    ],
)
def test_refused_sources(source, words):
    with pytest.raises(ValueError, match=words):
        datasets.load_taxi_trips(source)


# --- Gainesville ----------------------------------------


@pytest.mark.parametrize(
    "core, n, neighbours", [(False, 43, (2, 6)), (True, 32, (3, 7))]
)
def test_the_road_chain_follows_the_traffic(core, n, neighbours):
    chain = datasets.load_gainesville(core=core)
    degree = chain.adjacency.sum(axis=1)
    assert (
        chain.traffic_matrix.shape == (n, n)
        and (degree.min(), degree.max()) == neighbours
    )
    assert (chain.adjacency.diagonal() == core).all() and (
        chain.adjacency == chain.adjacency.T
    ).all()
    ends = [
        set(pair)
        for pair in chain.segments[["from_node", "to_node"]].itertuples(
            index=False, name=None
        )
    ]
    shares = np.array([[bool(a & b) for b in ends] for a in ends])
    np.testing.assert_array_equal(chain.adjacency | np.eye(n, dtype=bool), shares)
    traffic = chain.adjacency * chain.segments["aadt_2022"].to_numpy()
    np.testing.assert_allclose(
        chain.traffic_matrix, traffic / traffic.sum(axis=1, keepdims=True), rtol=1e-14
    )
    nodes = set(chain.intersections["node"])
    assert set(chain.segments["from_node"]) | set(chain.segments["to_node"]) <= nodes


@pytest.mark.parametrize("core, letters", [(False, 14), (True, 13)])
def test_the_trip_can_be_driven(core, letters):
    chain = datasets.load_gainesville(core=core)
    assert len(chain.trip) == letters + 1 and len(set(chain.trip)) == letters + 1
    assert chain.segments["street"][chain.trip[0]] == "SW 34th St"
    assert chain.adjacency[chain.trip[:-1], chain.trip[1:]].all()


def test_the_core_chain_lies_in_the_bordered_simplex():
    chain = datasets.load_gainesville(core=True)
    matrix = chain.transition_matrix
    raw = chain.traffic_matrix
    protected = simplex.protected_entries(raw)
    assert (protected.sum(axis=1).min(), protected.sum(axis=1).max()) == (2, 6)
    np.testing.assert_array_equal(
        protected.sum(axis=1), chain.adjacency.sum(axis=1) - 1
    )
    assert (matrix[protected] >= datasets.roads.ETA).all()
    assert (
        np.where(protected, matrix, 0).sum(axis=1).max()
        <= 1 - datasets.roads.ETA_BAR + 1e-15
    )
    assert (matrix[~chain.adjacency] == 0).all() and (
        matrix[chain.adjacency] >= datasets.roads.ETA_BAR
    ).all()
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-15)
    moved = np.abs(matrix - raw).max(axis=1)
    assert moved.max() == pytest.approx(0.018873, abs=1e-6)
    assert (moved > 1e-12).sum() == 9


def test_without_the_border_nothing_is_moved():
    chain = datasets.load_gainesville()
    np.testing.assert_array_equal(chain.transition_matrix, chain.traffic_matrix)


@pytest.mark.parametrize("through, drives", [(False, 47_492_957), (True, 40_526)])
def test_onward_drives_never_turn_back_on_the_spot(through, drives):
    chain = datasets.load_gainesville()
    network = datasets.onward_drives(chain, chain.trip[0], through=through)
    trip = words.HammingAutomaton(chain.trip[1:], **network)
    assert sum(trip.counts) == drives
    ends = chain.segments[["from_node", "to_node"]].apply(set, axis=1)
    for walk in all_walks(chain.adjacency, chain.trip[0], 5):
        back = any(a == c for a, c in zip(walk, walk[2:]))
        if through:  # the two ends of each segment are those that it shares
            meet = [ends[a] & ends[b] for a, b in itertools.pairwise(walk)]
            back = any(a == b for a, b in itertools.pairwise(meet))
        if back:
            with pytest.raises(ValueError, match="word must follow"):
                words.HammingAutomaton(walk[1:], **network)
        else:
            assert words.HammingAutomaton(walk[1:], **network).counts[0] == 1


def all_walks(adjacency, start, length):
    walks = [(start,)]
    for _ in range(length):
        walks = [
            (*walk, other)
            for walk in walks
            for other in np.flatnonzero(adjacency[walk[-1]]).tolist()
        ]
    return walks


@pytest.mark.parametrize("epsilon, row", [(0.5, "em_05"), (5.0, "em_5")])
def test_the_trip_gives_the_recorded_errors_of_the_exponential_mechanism(epsilon, row):
    chain = datasets.load_gainesville()
    trip = words.HammingAutomaton(
        chain.trip[1:], adjacency=chain.adjacency, start=chain.trip[0]
    )
    expected = ledger.published().loc[f"benvenuti2026pf.fig5.{row}"]
    error = words.expected_error(trip.counts, epsilon, mechanism="exponential")
    assert error == pytest.approx(expected["expected"], abs=expected["expected_unit"])
