"""Maps of Manhattan's taxi zones, and of the roads of Gainesville with walks on them,
in metres of the UTM zones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import geopandas
import matplotlib.patheffects as effects
import matplotlib.pyplot as plt
import numpy as np
import shapely
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.path import Path
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import ArrayLike

from dpsim.checks import Array
from dpsim.datasets.roads import RoadChain
from dpsim.figures.house_style import SMALL, size

UPRIGHT = 29.0
"""The rotation, in degrees, that sets Manhattan's avenues upright."""
PER_CENT = 20.0
"""The largest difference on the scale, in both directions. A larger one has the colour
of the nearer end."""

WIDEST = 5.0  # points, for the segment with the most traffic
ASIDE = 60.0  # metres by which each further pass along a road is moved to the right of its direction
HALO = (effects.withStroke(linewidth=1.5, foreground="white"),)
SIDES = ((1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1))


def compare_zones(
    zones: Any,
    true: ArrayLike,
    others: ArrayLike,
    labels: Sequence[str],
    *,
    group: ArrayLike,
    source: str,
) -> Any:
    """Return a figure of the true distribution and, beside it, the difference of each
    of the others from it.

    Parameters
    ----------
    zones, group : outlines, as in `datasets.load_taxi_zones`, and the group 0..m-1 of
        each
    true : array_like, shape (m,), positive: a probability of each group, drawn on a
        logarithmic scale
    others : array_like, shape (r, m)
        Distributions to compare with it. Their differences from `true` are drawn in per
        cent of it, on a linear scale from -20 % to 20 %.
    labels : sequence of r str
    source : str, the text under the figure, from `datasets.trips_label`
    """
    truth = np.asarray(true)
    rows = np.asarray(others)
    fig, axes = plt.subplots(1, 1 + len(rows), figsize=size(2, 5.0))
    fig.get_layout_engine().set(
        rect=(0.0, 0.19, 1.0, 0.76), w_pad=0.0
    )  # room for the colour bars
    shapes = zone_shapes(zones, group)
    changes = 100 * (rows / truth - 1)
    colours = choropleth(
        axes[0], shapes, truth, norm=LogNorm(truth.min(), truth.max()), cmap="YlGnBu"
    )
    for ax, change, label in zip(axes[1:], changes, labels):
        differences = choropleth(
            ax, shapes, change, norm=Normalize(-PER_CENT, PER_CENT), cmap="PuOr_r"
        )
        ax.text(0.5, 1.02, label, ha="center", transform=ax.transAxes)
    scale_bar(axes[0], 2000, left=True)
    north = np.deg2rad(90.0 + UPRIGHT)
    arrow = {"arrowstyle": "<|-", "lw": 0.8, "color": "black"}
    axes[0].annotate(
        "N",
        (0.92, 0.84),
        (26 * np.cos(north), 26 * np.sin(north)),
        "axes fraction",
        textcoords="offset points",
        arrowprops=arrow,
        fontsize=SMALL,
        ha="center",
        va="center",
    )
    share = 1.0 / len(axes)
    middle = (1 + share) / 2
    fig.text(share / 2, 0.97, "true", ha="center")
    fig.text(middle, 0.97, "private minus true", ha="center")
    # 0.0302: at 0.03 an edge of a colour lies half-way between pixels, where processors differ
    below = fig.colorbar(
        colours,
        cax=fig.add_axes((0.0302, 0.145, share - 0.04, 0.016)),
        orientation="horizontal",
        label="probability",
    )
    below.ax.xaxis.set(
        major_formatter="{x:g}",
        major_locator=LogLocator(subs=(1.0, 5.0)),
        minor_formatter=NullFormatter(),
    )
    fig.colorbar(
        differences,
        cax=fig.add_axes((middle - 0.2, 0.145, 0.4, 0.016)),
        orientation="horizontal",
        label="difference, per cent of the true value",
        extend="both" if np.abs(changes).max() > PER_CENT else "neither",
    )
    fig.text(0.01, 0.005, f"{source}; zone outlines: NYC TLC", color="0.35")
    return fig


def zone_shapes(zones: Any, group: ArrayLike) -> Any:
    """Return the outlines, in metres, of the groups 0..m-1 of the zones, turned by
    UPRIGHT about their centre."""
    # In metres of UTM zone 18N. Each outline was simplified by itself, which left gaps between neighbours; closing gaps
    # below 40 m joins them.
    wide = geopandas.GeoDataFrame(
        geometry=zones.geometry.to_crs("EPSG:32618").buffer(20)
    )
    shapes = wide.dissolve(np.asarray(group)).buffer(-20)
    west, south, east, north = shapes.total_bounds
    return shapes.rotate(UPRIGHT, origin=((west + east) / 2, (south + north) / 2))


def choropleth(ax: Any, shapes: Any, values: ArrayLike, **look: Any) -> Any:
    """Draw one value for each outline of `zone_shapes`, with norm and cmap, and return
    the input of a colour bar."""
    paths = []  # because GeoPandas' own plot would draw the whole figure again for every map
    for shape in shapes:
        rings = [
            ring
            for part in shapely.get_parts(shape)
            for ring in (part.exterior, *part.interiors)
        ]
        paths.append(
            Path.make_compound_path(*(Path(ring.coords, closed=True) for ring in rings))
        )
    drawn = PathCollection(
        paths,
        array=np.asarray(values, float),
        edgecolor="0.45",
        linewidth=0.25,
        **look,
    )
    outlines = ax.add_collection(drawn)
    ax.autoscale_view()
    ax.set_aspect("equal")
    ax.set_axis_off()
    return outlines


def draw_network(ax: Any, chain: RoadChain) -> None:
    """Draw the segments of the chain as straight grey lines, as wide as their
    traffic."""
    ends = segment_ends(chain)
    traffic = chain.segments["aadt_2022"].to_numpy(float)
    widths = WIDEST * traffic / traffic.max()
    ax.add_collection(
        LineCollection(
            list(ends), linewidths=widths, colors="0.78", capstyle="round", zorder=1
        )
    )
    ax.plot(
        *np.unique(ends.reshape(-1, 2), axis=0).T,
        "o",
        ms=2.2,
        mfc="white",
        mec="0.5",
        mew=0.5,
        zorder=5,
    )
    ax.set_aspect("equal")
    ax.margins(0.08)
    ax.set_axis_off()
    scale_bar(ax, 1000)


def draw_walk(ax: Any, chain: RoadChain, states: ArrayLike, *, colour: str) -> None:
    """Draw a walk from midpoint to midpoint of its segments through the intersections,
    on a map of the network.

    An open circle marks the start, and a filled square marks the end. Each further pass
    along a road is moved aside. The states have shape (steps + 1,) and lie in 0..n-1.
    Consecutive states are equal or share an intersection.
    """
    stops = walk_stops(chain, states)
    passes = list[tuple[float, ...]]()
    corners = stops[:1]
    for tail, head in pairwise(stops):
        there, back = (*tail, *head), (*head, *tail)
        earlier = [one for one in passes if one in (there, back)]
        passes.append(there)
        lane = earlier.count(there) + (earlier[:1] == [back])
        reach = head - tail
        aside = ASIDE * lane * np.array([reach[1], -reach[0]]) / np.hypot(*reach)
        corners += [tail + aside, head + aside]
    style = {
        "arrowstyle": "-|>,head_length=0.35,head_width=0.18",
        "color": colour,
        "lw": 0,
        "shrinkA": 0,
        "shrinkB": 0,
    }
    for tail, head in zip(
        corners[3::4], corners[4::4]
    ):  # the heads end early, so that they do not overlap at the nodes
        ax.annotate("", tail + 0.72 * (head - tail), tail, arrowprops=style, zorder=5)
    line = np.array(corners)
    ax.plot(
        *line.T, color=colour, lw=1.4, solid_joinstyle="round", zorder=4, label="walk"
    )
    ax.plot(*line[0], "o", ms=5.5, mfc="white", mec=colour, mew=1.2, zorder=7)
    ax.plot(*line[-1], "s", ms=3.2, color=colour, zorder=8)


def walk_stops(chain: RoadChain, states: ArrayLike) -> list[Array]:
    """Return the points that a walk passes: the middle of each segment, and in between the
    intersection that it shares with the next one."""
    visited = np.asarray(states).tolist()
    ends = segment_ends(chain)
    middle = ends.mean(axis=1)
    stops = [middle[visited[0]]]
    for before, after in pairwise(visited):
        if before != after:
            shared = [
                end for end in ends[before] if (end == ends[after]).all(axis=1).any()
            ]
            stops += [shared[0], middle[after]]
    return stops


def name_segments(
    ax: Any, chain: RoadChain, states: ArrayLike, *, colour: str, repeats: bool = False
) -> None:
    """Write the number of each segment that a walk visits near the middle of the
    segment, where it covers as little as possible of the texts and lines. With
    `repeats` it is followed by how often the walk visits the segment, if this is more
    than once.

    The layout of the figure must have been made, because it determines the distances in
    points.
    """
    point = ax.figure.dpi / 72
    frame = shapely.box(*ax.bbox.extents)
    lines = [line.get_xydata() for line in ax.lines if line.get_linestyle() != "None"]
    lines += [piece for roads in ax.collections for piece in roads.get_segments()]
    ink = [
        shapely.LineString(ax.transData.transform(line))
        for line in lines
        if len(line) > 1
    ]
    taken = [
        shapely.box(*text.get_window_extent().extents)
        for text in ax.texts
        if text.get_text()
    ]
    visits = Counter(np.asarray(states).tolist())
    visited = list(visits)
    middle = segment_ends(chain)[visited].mean(axis=1)
    for state, place, anchor in zip(visited, middle, ax.transData.transform(middle)):
        name = (
            f"{state} ({visits[state]}×)"
            if repeats and visits[state] > 1
            else f"{state}"
        )
        text = ax.annotate(
            name, place, (0, 0), textcoords="offset points", ha="center", va="center"
        )
        text.set(fontsize=SMALL, color=colour, path_effects=HALO, zorder=9)
        half = text.get_window_extent().size / 2
        choices = []
        for distance, side in product((4.0, 8.0, 14.0, 20.0), SIDES):
            moved = np.array(side) * (
                point * distance * (0.7 if all(side) else 1.0) + half
            )
            low, high = (
                anchor + moved - half - 0.7 * point,
                anchor + moved + half + 0.7 * point,
            )
            box = shapely.box(*low, *high)
            clashes = shapely.intersects(taken, box).sum() + (not frame.contains(box))
            hidden = shapely.length(
                shapely.clip_by_rect(ink, *low, *high)
            ).sum()  # pixels of lines
            choices.append(
                (400.0 * clashes + hidden / 3 + distance / 2, *moved / point, box)
            )
        _, *best, box = min(choices, key=lambda choice: choice[0])
        text.set_position(best)
        taken.append(box)


def segment_ends(chain: RoadChain) -> Array:
    """Return the two ends of each segment in metres, shape (n, 2, 2)."""
    lon, lat, nodes = (chain.intersections[name] for name in ("lon", "lat", "node"))
    points = geopandas.GeoSeries.from_xy(lon, lat, index=nodes, crs="EPSG:4326")
    places = points.to_crs("EPSG:32617").get_coordinates()  # UTM zone 17N
    return np.stack(
        [
            places.loc[chain.segments[end]].to_numpy()
            for end in ("from_node", "to_node")
        ],
        axis=1,
    )


def scale_bar(ax: Any, bar: float, *, left: bool = False) -> None:
    """Add a scale bar of this number of metres in a lower corner."""
    ax.autoscale_view()
    west, east = ax.get_xlim()
    low, high = ax.get_ylim()
    level = low + 0.03 * (high - low)
    edge = 0.02 * (east - west)
    start = west + edge if left else east - edge - bar
    ax.plot(
        [start, start + bar],
        [level, level],
        color="black",
        lw=1.5,
        solid_capstyle="butt",
        zorder=3,
    )
    ax.annotate(
        f"{bar / 1000:g} km",
        (start + bar / 2, level),
        (0, 2),
        textcoords="offset points",
        annotation_clip=False,
        ha="center",
        fontsize=SMALL,
    )
    ax.set(xlim=(west, east), ylim=(low, high))
