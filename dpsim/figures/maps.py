"""Maps of Manhattan's taxi zones, and of Gainesville's roads with walks on them."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import geopandas
import matplotlib.patheffects as effects
import numpy as np
import shapely
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import Normalize
from matplotlib.path import Path
from numpy.typing import ArrayLike

from dpsim.checks import Array
from dpsim.datasets.roads import RoadChain
from dpsim.figures.house_style import SMALL

UPRIGHT = 29.0
"""The rotation of the map, in degrees, after which Manhattan's avenues are vertical."""

WIDEST = 5.0
"""The width, in points, of the segment with the most traffic."""
ASIDE = 60.0
"""The distance, in metres, between the lines of two passes along the same road."""
HALO = (effects.withStroke(linewidth=1.5, foreground="white"),)
"""The white edge around the names of segments."""
SIDES = ((1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1))
"""The directions from a segment in which its name may be written."""


def zone_shapes(zones: Any, group: ArrayLike) -> Any:
    """Return the outlines of the groups 0..m-1 of the zones as a GeoSeries.

    They are in metres of UTM zone 18N and rotated by UPRIGHT about their common centre.
    """
    # Each outline in data/ was simplified by itself, which left gaps between zones that
    # touch. Gaps of less than 40 m are closed here.
    wide = geopandas.GeoDataFrame(
        geometry=zones.geometry.to_crs("EPSG:32618").buffer(20)
    )
    shapes = wide.dissolve(np.asarray(group)).buffer(-20)
    west, south, east, north = shapes.total_bounds
    return shapes.rotate(UPRIGHT, origin=((west + east) / 2, (south + north) / 2))


def choropleth(
    ax: Any, shapes: Any, values: ArrayLike, norm: Normalize, cmap: str
) -> PathCollection:
    """Fill each outline of `zone_shapes` with the colour of its value.

    Return the outlines, from which ``fig.colorbar`` can make a colour bar. GeoPandas'
    own method would render the whole figure for each map.
    """
    paths = []
    for shape in shapes:
        rings = [
            ring
            for part in shapely.get_parts(shape)
            for ring in (part.exterior, *part.interiors)
        ]
        paths.append(
            Path.make_compound_path(*(Path(ring.coords, closed=True) for ring in rings))
        )
    outlines = PathCollection(
        paths,
        array=np.asarray(values, float),
        norm=norm,
        cmap=cmap,
        edgecolor="0.45",
        linewidth=0.25,
    )
    ax.add_collection(outlines)
    ax.autoscale_view()
    ax.set_aspect("equal")
    ax.set_axis_off()
    return outlines


def draw_network(ax: Any, chain: RoadChain) -> None:
    """Plot the segments as straight grey lines whose widths are proportional to their
    traffic."""
    ends = segment_ends(chain)
    traffic = chain.segments["aadt_2022"].to_numpy(float)
    roads = LineCollection(
        list(ends),
        linewidths=WIDEST * traffic / traffic.max(),
        colors="0.78",
        capstyle="round",
        zorder=1,
    )
    ax.add_collection(roads)
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


def draw_walk(ax: Any, chain: RoadChain, states: ArrayLike, *, colour: str) -> Array:
    """Plot a walk from midpoint to midpoint of its segments, and return its line.

    Each repeated pass along a road is shifted to the right. Arrows show the direction.

    Parameters
    ----------
    ax : Axes, with the map of `draw_network`
    chain : RoadChain
    states : array_like of int, shape (steps + 1,), in 0..n-1
        Consecutive states are equal or share an intersection.
    colour : str
    """
    stops = walk_stops(chain, states)
    passes = list[tuple[float, ...]]()
    corners = [stops[0]]
    for tail, head in pairwise(stops):
        there = (*tail, *head)
        back = (*head, *tail)
        earlier = [one for one in passes if one in (there, back)]
        passes.append(there)
        lane = earlier.count(there) + (earlier[:1] == [back])
        reach = head - tail
        aside = ASIDE * lane * np.array([reach[1], -reach[0]]) / np.hypot(*reach)
        corners += [tail + aside, head + aside]
    # An arrow ends before the intersection, so that arrows do not overlap there.
    for tail, head in zip(corners[3::4], corners[4::4]):
        ax.annotate(
            "",
            tail + 0.72 * (head - tail),
            tail,
            arrowprops={
                "arrowstyle": "-|>,head_length=0.35,head_width=0.18",
                "color": colour,
                "lw": 0,
                "shrinkA": 0,
                "shrinkB": 0,
            },
            zorder=5,
        )
    line = np.array(corners)
    ax.plot(*line.T, color=colour, lw=1.4, solid_joinstyle="round", zorder=4)
    mark_ends(ax, line, colour, 3.2)
    return line


def mark_ends(ax: Any, line: Array, colour: str, end_size: float) -> None:
    """Mark the start of a line with an open circle, and the end with a square."""
    ax.plot(*line[0], "o", ms=5.5, mfc="white", mec=colour, mew=1.2, zorder=7)
    ax.plot(*line[-1], "s", ms=end_size, color=colour, zorder=8)


def walk_stops(chain: RoadChain, states: ArrayLike) -> Array:
    """Return the points that a walk passes, in metres, shape (points, 2).

    They are the midpoints of the segments and, between two midpoints, the intersection
    that both segments share.
    """
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
    return np.array(stops)


def name_segments(ax: Any, chain: RoadChain, states: ArrayLike, *, colour: str) -> None:
    """Write the number of each segment that a walk visits near the segment's midpoint.

    Each number is written where it hides as little as possible of the texts and lines.
    The figure must already be laid out, because the distances depend on its layout.

    Parameters
    ----------
    ax : Axes, with the map of `draw_network` and its walk
    chain, states, colour : as in `draw_walk`
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
    visited = list(dict.fromkeys(np.asarray(states).tolist()))
    middle = segment_ends(chain)[visited].mean(axis=1)
    anchors = ax.transData.transform(middle)
    for state, place, anchor in zip(visited, middle, anchors):
        text = ax.annotate(
            f"{state}",
            place,
            (0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=SMALL,
            color=colour,
            path_effects=HALO,
            zorder=9,
        )
        half = text.get_window_extent().size / 2
        choices = []
        for distance, side in product((4.0, 8.0, 14.0, 20.0), SIDES):
            reach = point * distance * (0.7 if all(side) else 1.0)
            moved = np.array(side) * (reach + half)
            low = anchor + moved - half - 0.7 * point
            high = anchor + moved + half + 0.7 * point
            box = shapely.box(*low, *high)
            clashes = shapely.intersects(taken, box).sum() + (not frame.contains(box))
            hidden = shapely.length(shapely.clip_by_rect(ink, *low, *high)).sum()
            badness = 400.0 * clashes + hidden / 3 + distance / 2
            choices.append((badness, moved / point, box))
        _, offset, box = min(choices, key=lambda choice: choice[0])
        text.set_position(offset)
        taken.append(box)


def segment_ends(chain: RoadChain) -> Array:
    """Return the two ends of each segment, in metres of UTM 17N, shape (n, 2, 2)."""
    lon, lat, nodes = (chain.intersections[name] for name in ("lon", "lat", "node"))
    points = geopandas.GeoSeries.from_xy(lon, lat, index=nodes, crs="EPSG:4326")
    places = points.to_crs("EPSG:32617").get_coordinates()
    start = places.loc[chain.segments["from_node"]].to_numpy()
    end = places.loc[chain.segments["to_node"]].to_numpy()
    return np.stack([start, end], axis=1)


def scale_bar(ax: Any, bar: float, *, left: bool = False) -> None:
    """Plot a scale bar of `bar` metres at the lower right, or lower left if `left`."""
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
