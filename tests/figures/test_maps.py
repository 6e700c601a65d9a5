import itertools

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.path import Path

from dpsim import datasets
from dpsim.figures import maps

MILE = 1609.344
OUTLINES = datasets.load_taxi_zones()
SHAPES = maps.zone_shapes(OUTLINES, np.arange(63))
CHAIN = datasets.load_gainesville()


def bar_metres(ax, words):
    """The length of the line right under the text of the scale bar."""
    text = next(text for text in ax.texts if text.get_text() == words)
    level = [
        line.get_xdata()
        for line in ax.lines
        if np.allclose(line.get_ydata(), text.xy[1])
    ]
    (bar,) = (ends for ends in level if len(ends) == 2)
    assert np.mean(bar) == pytest.approx(text.xy[0])
    return np.ptp(bar)


# --- Manhattan ----------------------------------------


def test_choropleth_shows_each_value_on_its_zone(ax):
    values = np.linspace(0, 1, 63)
    shown = maps.choropleth(ax, SHAPES, values, Normalize(0, 2), "Greys")
    np.testing.assert_array_equal(shown.get_array(), values)
    drawn = np.array([path.get_extents().size for path in shown.get_paths()])
    bounds = SHAPES.bounds.to_numpy()
    np.testing.assert_allclose(drawn, bounds[:, 2:] - bounds[:, :2])
    assert shown.norm.vmax == 2
    assert not ax.axison and ax.get_aspect() == 1
    maps.scale_bar(ax, 2000, left=True)
    assert bar_metres(ax, "2 km") == pytest.approx(2000)


def test_distances_are_metres():
    # Two ends of Central Park (zone 43), 59th to 110th street: 51 blocks of 80.5 m on
    # average.
    park = SHAPES.set_axis(OUTLINES["zone"])[
        43
    ].minimum_rotated_rectangle.exterior.coords
    sides = sorted(np.hypot(*np.diff(np.array(park), axis=0).T))
    assert sides[-1] == pytest.approx(4060, rel=0.03) and sides[0] == pytest.approx(
        840, rel=0.06
    )


def test_merged_zones_are_dissolved(ax):
    counts = datasets.counts_matrix(datasets.load_taxi_trips(), OUTLINES["zone"])
    merged, group = datasets.merge_zones(counts, datasets.load_zone_adjacency(), 45)
    together = maps.zone_shapes(OUTLINES, group)
    assert len(together) == 45
    assert together.area.sum() == pytest.approx(
        OUTLINES.to_crs("EPSG:32618").area.sum(), rel=0.01
    )
    for label in range(45):
        inside = np.flatnonzero(group == label)
        assert together[label].buffer(30).contains(SHAPES.iloc[inside].union_all())
        # No border is left within a group: one large outline, beside piers and islets.
        pieces = sorted(
            piece.area for piece in getattr(together[label], "geoms", [together[label]])
        )
        assert pieces[-1] > 0.95 * sum(pieces)
    shown = maps.choropleth(ax, together, merged.sum(axis=1), Normalize(), "Greys")
    assert set(shown.get_array()) == set(merged.sum(axis=1))


def test_the_island_stands_upright():
    width, height = np.diff(SHAPES.total_bounds.reshape(2, 2), axis=0)[0]
    assert height > 3.5 * width


# --- Gainesville ----------------------------------------


@pytest.mark.parametrize("core", [False, True])
def test_the_network_shows_length_and_traffic(ax, core):
    chain = datasets.load_gainesville(core=core)
    maps.draw_network(ax, chain)
    (roads,) = [lines for lines in ax.collections if isinstance(lines, LineCollection)]
    length = np.array(
        [np.hypot(*(piece[1] - piece[0])) for piece in roads.get_segments()]
    )
    driven = chain.segments["miles"].to_numpy() * MILE
    assert np.median(length / driven) == pytest.approx(1, abs=0.03)
    assert np.abs(length / driven - 1).max() < 0.25  # see data/README.md
    np.testing.assert_allclose(
        roads.get_linewidths() / chain.segments["aadt_2022"],
        maps.WIDEST / 49_500,
        rtol=1e-12,
    )
    assert not ax.axison and ax.get_aspect() == 1


def middles(ax):
    (roads,) = [lines for lines in ax.collections if isinstance(lines, LineCollection)]
    return np.array([piece.mean(axis=0) for piece in roads.get_segments()])


def test_a_walk_runs_through_the_midpoints_in_order(ax):
    maps.draw_network(ax, CHAIN)
    line = maps.draw_walk(ax, CHAIN, CHAIN.trip, colour="black")
    middle = middles(ax)[CHAIN.trip]
    places = [np.flatnonzero(np.hypot(*(line - point).T) < 1e-6)[0] for point in middle]
    assert places[0] == 0 and places[-1] == len(line) - 1 and places == sorted(places)


def test_the_segments_that_a_walk_visits_are_named(ax):
    core = datasets.load_gainesville(core=True)
    a, b = core.trip[:2]
    maps.draw_network(ax, core)
    maps.draw_walk(ax, core, [a, a, b, b, a], colour="black")
    ax.figure.draw_without_rendering()
    maps.name_segments(ax, core, [a, a, b, b, a], colour="black")
    assert {text.get_text() for text in ax.texts} - {""} == {f"{a}", f"{b}"}


def test_names_cover_neither_each_other_nor_the_walk(ax):
    maps.draw_network(ax, CHAIN)
    walk = maps.draw_walk(ax, CHAIN, CHAIN.trip, colour="black")
    ax.figure.draw_without_rendering()
    maps.name_segments(ax, CHAIN, CHAIN.trip, colour="black")
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text().isdigit()]
    assert len(boxes) == len(set(CHAIN.trip.tolist()))
    assert not any(
        one.overlaps(other) for one, other in itertools.combinations(boxes, 2)
    )
    line = Path(ax.transData.transform(walk))
    assert not any(line.intersects_bbox(box, filled=False) for box in boxes)


def test_a_walk_that_stays_is_a_point(ax):
    core = datasets.load_gainesville(core=True)
    maps.draw_network(ax, core)
    line = maps.draw_walk(ax, core, [5, 5, 5], colour="black")
    np.testing.assert_allclose(line, middles(ax)[[5]])
