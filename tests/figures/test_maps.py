import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize

from dpsim import datasets
from dpsim.figures import maps

MILE = 1609.344


@pytest.fixture(scope="module")
def zones():
    return datasets.load_taxi_zones()


@pytest.fixture(scope="module")
def chain():
    return datasets.load_gainesville()


@pytest.fixture
def ax():
    figure, axes = plt.subplots(figsize=(7.2, 7.0), layout="constrained")
    yield axes
    plt.close(figure)


def texts(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


def bar_metres(ax, words):
    """The length of the line right under the text of the scale bar."""
    text = next(text for text in ax.texts if text.get_text() == words)
    bars = [
        line.get_xdata()
        for line in ax.lines
        if np.allclose(line.get_ydata(), text.xy[1]) and len(line.get_xdata()) == 2
    ]
    (bar,) = bars
    assert np.mean(bar) == pytest.approx(text.xy[0])
    return np.ptp(bar)


# --- Manhattan ----------------------------------------


@pytest.mark.parametrize("rotation", [0.0, 29.0, -61.0])
def test_choropleth_shows_each_value_on_its_zone(ax, zones, rotation):
    values = np.linspace(0, 1, 63)
    shown = maps.choropleth(ax, zones, values, norm=Normalize(0, 2), rotation=rotation)
    np.testing.assert_array_equal(shown.get_array(), values)
    drawn = np.array([path.get_extents().size for path in shown.get_paths()])
    shapes = maps.zone_shapes(zones, rotation=rotation).bounds.to_numpy()
    np.testing.assert_allclose(drawn, shapes[:, 2:] - shapes[:, :2])
    assert shown.norm.vmax == 2
    assert {"2 km", "N"} <= set(texts(ax))
    assert not ax.axison and ax.get_aspect() == 1
    assert bar_metres(ax, "2 km") == pytest.approx(2000)
    bounds = zones.to_crs("EPSG:32618").total_bounds
    low, high = ax.get_ylim()
    if not rotation:
        assert low < bounds[1] and bounds[3] < high < bounds[3] + 0.2 * (high - low)


def test_distances_are_metres(zones):
    shapes = maps.zone_shapes(zones).set_axis(zones["zone"])
    # Two ends of Central Park (zone 43), 59th to 110th street: 51 blocks of 80.5 m on average.
    park = shapes[43].minimum_rotated_rectangle.exterior.coords
    sides = sorted(np.hypot(*np.diff(np.array(park), axis=0).T))
    assert sides[-1] == pytest.approx(4060, rel=0.03) and sides[0] == pytest.approx(840, rel=0.06)


def test_merged_zones_are_dissolved(ax, zones):
    counts = datasets.counts_matrix(datasets.load_taxi_trips(), zones["zone"])
    merged, group = datasets.merge_zones(counts, datasets.load_zone_adjacency(), 45)
    apart, together = maps.zone_shapes(zones), maps.zone_shapes(zones, group)
    assert len(together) == 45
    assert together.area.sum() == pytest.approx(apart.area.sum(), rel=0.01)
    for label in range(45):
        inside = np.flatnonzero(group == label)
        assert together[label].buffer(30).contains(apart.iloc[inside].union_all())
        # No border is left within a group: one large outline, beside piers and islets.
        pieces = sorted(piece.area for piece in getattr(together[label], "geoms", [together[label]]))
        assert pieces[-1] > 0.95 * sum(pieces)
    shown = maps.choropleth(ax, zones, merged.sum(axis=1), group=group)
    assert set(shown.get_array()) == set(merged.sum(axis=1))


def test_rotation_keeps_shapes_and_centre(zones):
    straight, turned = maps.zone_shapes(zones), maps.zone_shapes(zones, rotation=29)
    np.testing.assert_allclose(turned.area, straight.area, rtol=1e-9)
    width, height = np.diff(turned.total_bounds.reshape(2, 2), axis=0)[0]
    assert height > 3.5 * width  # the island stands upright


# --- Gainesville ----------------------------------------


@pytest.mark.parametrize("core", [False, True])
def test_the_network_shows_length_and_traffic(ax, core):
    chain = datasets.load_gainesville(core=core)
    maps.draw_network(ax, chain)
    (roads,) = [lines for lines in ax.collections if isinstance(lines, LineCollection)]
    length = np.array([np.hypot(*(piece[1] - piece[0])) for piece in roads.get_segments()])
    driven = chain.segments["miles"].to_numpy() * MILE
    assert np.median(length / driven) == pytest.approx(1, abs=0.03)
    assert np.abs(length / driven - 1).max() < 0.25  # see data/README.md
    np.testing.assert_allclose(roads.get_linewidths() / chain.segments["aadt_2022"], maps.WIDEST / 49_500, rtol=1e-12)
    assert bar_metres(ax, "1 km") == pytest.approx(1000)
    assert not ax.axison and ax.get_aspect() == 1


def walk_line(ax):
    return next(line.get_xydata() for line in ax.lines if line.get_label() == "walk")


def middles(ax):
    (roads,) = [lines for lines in ax.collections if isinstance(lines, LineCollection)]
    return np.array([piece.mean(axis=0) for piece in roads.get_segments()])


def test_a_walk_runs_through_the_midpoints_in_order(ax, chain):
    maps.draw_network(ax, chain)
    maps.draw_walk(ax, chain, chain.trip, names=[""] * 43)
    line, middle = walk_line(ax), middles(ax)[chain.trip]
    places = [np.flatnonzero(np.hypot(*(line - point).T) < 1e-6)[0] for point in middle]
    assert places[0] == 0 and places[-1] == len(line) - 1 and places == sorted(places)


def test_the_segments_that_a_walk_visits_are_named(ax):
    core = datasets.load_gainesville(core=True)
    a, b = core.trip[:2]
    maps.draw_network(ax, core)
    maps.draw_walk(ax, core, [a, a, b, b, a], names=[f"s{n}" for n in range(len(core.segments))])
    assert {text for text in texts(ax) if text[0] == "s"} == {f"s{a}", f"s{b}"}


def test_a_walk_that_stays_is_a_point(ax):
    core = datasets.load_gainesville(core=True)
    maps.draw_network(ax, core)
    maps.draw_walk(ax, core, [5, 5, 5], names=[""] * 43)
    np.testing.assert_allclose(walk_line(ax), middles(ax)[[5]])
