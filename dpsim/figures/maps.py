"""Maps: the taxi zones of Manhattan coloured, the road network of Gainesville and walks on it.

All are drawn in metres of the local UTM zone, so that shapes and scale bars are true, on given axes, which are hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import geopandas
import matplotlib.patheffects as effects
import numpy as np
import shapely
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.transforms import Bbox
from numpy.typing import ArrayLike

from dpsim.checks import Array
from dpsim.datasets.roads import RoadChain
from dpsim.figures.house_style import SMALL

MANHATTAN_CRS, GAINESVILLE_CRS = "EPSG:32618", "EPSG:32617"  # UTM zones 18N and 17N, metres
ROADS_SOURCE = "© OpenStreetMap contributors, FDOT AADT 2022"
ROAD_GREY = "0.78"
WIDEST = 5.0  # points, the segment with most traffic
HALO = (effects.withStroke(linewidth=1.5, foreground="white"),)


def zone_shapes(zones: Any, group: ArrayLike | None = None, rotation: float = 0.0) -> Any:
    """Return the outlines of zones in metres, or of the groups 0..m-1 that each is in.

    They are turned by so many degrees counter-clockwise about their centre: 29 sets Manhattan's avenues upright.
    """
    shapes = zones.geometry.to_crs(MANHATTAN_CRS)
    if group is not None:
        # Neighbouring outlines were simplified apart from each other: closing gaps below 40 m joins them.
        joined = shapes.buffer(20).groupby(np.asarray(group)).agg(lambda part: part.union_all())
        shapes = geopandas.GeoSeries(joined, crs=MANHATTAN_CRS).buffer(-20)
    centre = Bbox.from_extents(*shapes.total_bounds)
    return shapes.rotate(rotation, origin=((centre.x0 + centre.x1) / 2, (centre.y0 + centre.y1) / 2))


def choropleth(
    ax: Any,
    zones: Any,
    values: ArrayLike,
    *,
    group: ArrayLike | None = None,
    cmap: Any = "YlGnBu",
    norm: Any = None,
    rotation: float = 0.0,
    marks: bool = True,
) -> Any:
    """Draw one value for each zone or group (as in `zone_shapes`) and return the outlines, for a colour bar.

    marks: a scale bar and an arrow to the north; in a row of maps one has them.
    """
    shapes = zone_shapes(zones, group, rotation)
    look = {"cmap": cmap, "norm": norm, "edgecolor": "0.45", "linewidth": 0.25}
    patches = [_patch(shape) for shape in shapes]
    outlines = ax.add_collection(PatchCollection(patches, array=np.asarray(values, float), **look))
    ax.autoscale_view()
    ax.set_aspect("equal")
    ax.set_axis_off()
    if marks:
        drawn = shapes.get_coordinates().to_numpy()
        _scale_bar(ax, 2000, drawn)
        _north_arrow(ax, rotation, drawn)
    return outlines


def _patch(shape: Any) -> PathPatch:
    """Return an outline with its holes; GeoPandas' own plot would draw the whole figure anew for every map."""
    rings = [ring for part in shapely.get_parts(shape) for ring in (part.exterior, *part.interiors)]
    return PathPatch(Path.make_compound_path(*(Path(ring.coords, closed=True) for ring in rings)))


def draw_network(ax: Any, chain: RoadChain) -> None:
    """Draw the segments of the chain as straight grey lines, as wide as their traffic."""
    ends = _segment_ends(chain)
    traffic = chain.segments["aadt_2022"].to_numpy(float)
    widths = WIDEST * traffic / traffic.max()
    ax.add_collection(LineCollection(list(ends), linewidths=widths, colors=ROAD_GREY, capstyle="round", zorder=1))
    crossings = np.unique(ends.reshape(-1, 2), axis=0)
    ax.plot(*crossings.T, "o", ms=2.2, mfc="white", mec="0.5", mew=0.5, zorder=5)
    ax.set_aspect("equal")
    ax.margins(0.06)
    ax.set_axis_off()
    _scale_bar(ax, 1000, crossings)


def draw_walk(ax: Any, chain: RoadChain, states: ArrayLike, *, names: Sequence[str], colour: str = "black") -> None:
    """Draw a walk from midpoint to midpoint of its segments through the intersections, on a map of the network.

    An open circle marks the start, a filled square the end; `names` of the n segments stand beside those visited.
    states: (steps + 1,), in 0..n-1, consecutive ones equal or with a common intersection.
    """
    visited = np.asarray(states).tolist()
    ends = _segment_ends(chain)
    middle = ends.mean(axis=1)
    corners = [middle[visited[0]]]
    for before, after in pairwise(visited):
        if before == after:
            continue
        shared = [end for end in ends[before] if (end == ends[after]).all(axis=1).any()]
        corners += [shared[0], middle[after]]
        _arrow_head(ax, shared[0], middle[after], colour)
    line = np.array(corners)
    ax.plot(*line.T, color=colour, lw=1.4, solid_joinstyle="round", zorder=4, label="walk")
    ax.plot(*line[0], "o", ms=5.5, mfc="white", mec=colour, mew=1.2, zorder=7)
    ax.plot(*line[-1], "s", ms=3.2, color=colour, zorder=8)
    places = list(dict.fromkeys(visited))
    _write(ax, middle[places], [names[place] for place in places], colour)


def _segment_ends(chain: RoadChain) -> Array:
    """Return (n, 2, 2): the two ends of each segment, in metres."""
    table = chain.intersections
    points = geopandas.GeoSeries(geopandas.points_from_xy(table["lon"], table["lat"]), crs="EPSG:4326")
    places = points.to_crs(GAINESVILLE_CRS).set_axis(table["node"]).get_coordinates()
    return np.stack([places.loc[chain.segments[end]].to_numpy() for end in ("from_node", "to_node")], axis=1)


def _arrow_head(ax: Any, tail: Array, head: Array, colour: str) -> None:
    """Draw the head of an arrow short of its end, so that heads do not pile up at the nodes."""
    style = {
        "arrowstyle": "-|>,head_length=0.35,head_width=0.18",
        "color": colour,
        "lw": 0,
        "shrinkA": 0,
        "shrinkB": 0,
    }
    ax.annotate("", xy=tail + 0.72 * (head - tail), xytext=tail, arrowprops=style, zorder=5)


def _write(ax: Any, anchors: Array, words: Sequence[str], colour: str) -> None:
    """Write each text near its anchor, at the place that covers least of the texts and lines drawn so far."""
    figure = ax.figure
    figure.draw_without_rendering()  # the layout decides how far apart things are in points
    renderer = figure.canvas.get_renderer()
    frame = ax.get_window_extent(renderer)
    ink = _ink(ax)
    taken = [text.get_window_extent(renderer) for text in ax.texts if text.get_text()]
    for anchor, word in zip(anchors, words):
        text = ax.annotate(word, anchor, (0, 0), textcoords="offset points", fontsize=SMALL, color=colour, zorder=9)
        text.set(path_effects=HALO, linespacing=1.15)
        places = _places(text, renderer, figure.dpi / 72)
        offset, (ha, va), box = min(
            places, key=lambda place: _cost(place[2], taken, ink, frame) + np.hypot(*place[0]) / 2
        )
        text.set(position=offset, ha=ha, va=va)
        taken.append(box)


def _places(text: Any, renderer: Any, point: float) -> list[tuple[tuple[float, float], tuple[str, str], Bbox]]:
    """Return 8 places round the anchor at three distances: offset (points), alignment, box (pixels)."""
    sides = {-1: ("right", "top"), 0: ("center", "center"), 1: ("left", "bottom")}
    places = []
    for distance in (4.0, 8.0, 14.0):
        for dx, dy in ((1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1)):
            reach = distance * (0.7 if dx and dy else 1.0)
            offset, aligned = (reach * dx, reach * dy), (sides[dx][0], sides[dy][1])
            text.set(position=offset, ha=aligned[0], va=aligned[1])
            places.append((offset, aligned, text.get_window_extent(renderer).padded(0.7 * point)))
    return places


def _ink(ax: Any) -> Array:
    """Return points (pixels), 3 pixels apart, along all lines drawn on the axes."""
    pieces = [line.get_xydata() for line in ax.lines]
    pieces += [piece for lines in ax.collections for piece in lines.get_segments()]
    dense = []
    for piece in map(ax.transData.transform, pieces):
        reach = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(piece, axis=0).T))])
        steps = np.linspace(0.0, reach[-1], 1 + int(np.ceil(reach[-1] / 3)))
        dense.append(np.column_stack([np.interp(steps, reach, piece[:, axis]) for axis in (0, 1)]))
    return np.concatenate(dense)


def _cost(box: Bbox, taken: list[Bbox], ink: Array, frame: Bbox) -> float:
    """Return what a text there would hide, another text weighing most, and the penalty of leaving the map."""
    outside = not (frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1)
    return 400.0 * outside + 400.0 * sum(map(box.overlaps, taken)) + float(box.count_contains(ink))


def _scale_bar(ax: Any, bar: float, drawn: Array) -> None:
    """Add a scale bar of so many metres in the emptier lower corner."""
    ax.autoscale_view()
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    level, edge = low + 0.03 * (high - low), 0.02 * (right - left)
    spans = [(right - edge - bar, right - edge), (left + edge, left + edge + bar)]
    near = drawn[drawn[:, 1] < low + 0.12 * (high - low), 0]
    start, end = min(spans, key=lambda span: int(((near > span[0]) & (near < span[1])).sum()))
    ax.plot([start, end], [level, level], color="black", lw=1.5, solid_capstyle="butt", zorder=3)
    place = {"textcoords": "offset points", "annotation_clip": False, "ha": "center", "fontsize": SMALL}
    ax.annotate(f"{bar / 1000:g} km", ((start + end) / 2, level), (0, 2), **place)
    ax.set(xlim=(left, right), ylim=(low, high))


def _north_arrow(ax: Any, rotation: float, drawn: Array) -> None:
    """Draw an arrow to the north in the emptier upper corner."""
    place = ax.transAxes.inverted().transform(ax.transData.transform(drawn))
    right = (place[:, 1] > 0.7) @ np.sign(place[:, 0] - 0.5) <= 0
    angle = np.deg2rad(90.0 + rotation)
    tip = 26.0 * np.array([np.cos(angle), np.sin(angle)])  # points
    style = {"arrowstyle": "<|-", "lw": 0.8, "color": "black"}
    words = {"fontsize": SMALL, "ha": "center", "va": "center"}
    ax.annotate("N", (0.92 if right else 0.08, 0.84), tip, "axes fraction", "offset points", style, **words)
