"""Maps for the gallery: choropleths of the Manhattan taxi zones, the Gainesville road network, walks on it.

Everything is drawn in metres of the local UTM zone, so that shapes are true and scale bars right. Each
function draws on the axes it is given and changes no global style; the axes are hidden, a scale bar and a
source line are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import geopandas
import matplotlib.patheffects as effects
import numpy as np
import pandas as pd
import shapely
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.transforms import Bbox
from numpy.typing import ArrayLike, NDArray

from dpsim import checks
from dpsim.datasets.roads import RoadChain
from dpsim.figures.house_style import SMALL

Array = NDArray[np.float64]

MANHATTAN_CRS, GAINESVILLE_CRS = "EPSG:32618", "EPSG:32617"  # UTM zones 18N and 17N, metres
ROADS_SOURCE = "© OpenStreetMap contributors, FDOT AADT 2022"
ROAD_GREY, TEXT_GREY = "0.78", "0.35"
WIDEST = 5.0  # points, the segment with most traffic
HALO = (effects.withStroke(linewidth=1.5, foreground="white"),)


def zone_shapes(zones: Any, group: ArrayLike | None = None, rotation: float = 0.0) -> Any:
    """Return the outlines of n zones in metres, or of their groups.

    Parameters
    ----------
    zones : GeoDataFrame
        As `datasets.load_taxi_zones` returns it.
    group : array_like of int, shape (n,), optional
        The group 0..m-1 of each zone, as `datasets.merge_zones` returns it.
    rotation : float
        Degrees counter-clockwise, -360 to 360, about the centre of all zones (29 sets Manhattan's avenues upright, -61
        lays them flat).

    Returns
    -------
    GeoSeries
        Of n zones or m groups.

    Raises
    ------
    ValueError
        When group does not fit.

    Examples
    --------
    >>> from dpsim import datasets, figures
    >>> len(figures.zone_shapes(datasets.load_taxi_zones(), rotation=29))
    63
    """
    shapes = zones.geometry.to_crs(MANHATTAN_CRS)
    if group is not None:
        labels = np.asarray(group)
        if labels.shape != (len(zones),):
            raise ValueError(f"group must have one entry for each of the {len(zones)} zones, got {labels.shape}")
        # Neighbouring outlines were simplified apart from each other: closing gaps below 40 m joins them.
        joined = shapes.buffer(20).groupby(labels).agg(lambda part: part.union_all())
        shapes = geopandas.GeoSeries(joined, crs=MANHATTAN_CRS).buffer(-20)
    centre = Bbox.from_extents(*shapes.total_bounds)
    middle = ((centre.x0 + centre.x1) / 2, (centre.y0 + centre.y1) / 2)
    return shapes.rotate(checks.scalar("rotation", rotation, -360.0, 360.0), origin=middle)


def choropleth(
    ax: Any,
    zones: Any,
    values: ArrayLike,
    *,
    source: str,
    group: ArrayLike | None = None,
    cmap: Any = "YlGnBu",
    norm: Any = None,
    rotation: float = 0.0,
    marks: bool = True,
) -> Any:
    """Draw coloured outlines, one value for each zone or group.

    Parameters
    ----------
    ax : Axes
    zones : GeoDataFrame
        As `datasets.load_taxi_zones` returns it.
    values : array_like, shape (n,) for n zones, or (m,) for m groups
        Finite.
    source : str
        The line under the map, which must say "surrogate" where the values come from surrogate trips (in a row of maps
        one is enough: "" for others).
    group, rotation
        As in `zone_shapes`.
    cmap, norm
        As matplotlib takes them.
    marks : bool
        A scale bar and an arrow to the north; in a row of maps one has them.

    Returns
    -------
    Collection
        The outlines, for figure.colorbar.

    Raises
    ------
    ValueError
        When shapes do not fit.
    """
    shapes = zone_shapes(zones, group, rotation)
    heights = checks.real("values", values)
    if heights.shape != (len(shapes),):
        raise ValueError(f"values must have shape ({len(shapes)},), got {heights.shape}")
    look = {"cmap": cmap, "norm": norm, "edgecolor": "0.45", "linewidth": 0.25}
    outlines = ax.add_collection(PatchCollection([_patch(shape) for shape in shapes], array=heights, **look))
    ax.autoscale_view()
    ax.set_aspect("equal")
    if not marks:
        ax.set_axis_off()
        return outlines
    _finish(ax, source, 2000, shapes.get_coordinates().to_numpy())
    if rotation:
        _north_arrow(ax, rotation, shapes.get_coordinates().to_numpy())
    return outlines


def _patch(shape: Any) -> PathPatch:
    """Return an outline with its holes; GeoPandas' own plot would draw the whole figure anew for every map."""
    rings = [ring for part in shapely.get_parts(shape) for ring in (part.exterior, *part.interiors)]
    return PathPatch(Path.make_compound_path(*(Path(ring.coords, closed=True) for ring in rings)))


def draw_network(
    ax: Any,
    chain: RoadChain,
    *,
    path: ArrayLike | None = None,
    path_colour: str = "black",
    source: bool = True,
) -> None:
    """Draw the segments of the chain as straight grey lines, as wide as their traffic.

    Parameters
    ----------
    ax : Axes
    chain : RoadChain
    path : array_like of int, optional
        States visited in order (chain.trip for instance), drawn by `draw_walk` on top.
    path_colour : str
    source : bool
        False only where a neighbouring map carries the attribution.

    Raises
    ------
    ValueError
        For a path that cannot be driven.
    """
    nodes = _node_positions(chain)
    ends = _segment_ends(chain, nodes)
    traffic = chain.segments["aadt_2022"].to_numpy(float)
    widths = WIDEST * traffic / traffic.max()
    ax.add_collection(LineCollection(list(ends), linewidths=widths, colors=ROAD_GREY, capstyle="round", zorder=1))
    crossings = np.unique(ends.reshape(-1, 2), axis=0)
    ax.plot(*crossings.T, "o", ms=2.2, mfc="white", mec="0.5", mew=0.5, zorder=5)
    ax.set_aspect("equal")
    ax.margins(0.06)
    key = f"{ROADS_SOURCE}\nline width: traffic, up to {traffic.max():,.0f} vehicles per day"
    _finish(ax, key if source else "", 1000, crossings)
    if path is not None:
        draw_walk(ax, chain, path, colour=path_colour)


def draw_walk(
    ax: Any,
    chain: RoadChain,
    states: ArrayLike,
    *,
    colour: str = "black",
    offset: float = 0.0,
    numbers: bool = False,
    names: Sequence[str] | None = None,
    label: str | None = None,
) -> None:
    """Draw a sequence of states (segments): a line from midpoint to midpoint through the intersections.

    Parameters
    ----------
    ax : Axes
    chain : RoadChain
    states : array_like of int, shape (steps + 1,)
        In 0..n-1, consecutive ones equal or with a common intersection. An open circle marks the start, a filled
        square the end.
    colour : str
    offset : float
        Metres to the side of the road (east or north), so that walks can share a map.
    numbers : bool
        Whether to write the steps at which each segment is visited (a stay on a segment shows there alone), where
        there is room among what is drawn already, instead of arrow heads.
    names : sequence of n str, optional
        Written beside the segments that are visited, likewise.
    label : str, optional
        For a legend.

    Raises
    ------
    ValueError
        For states out of range or without a common intersection.
    """
    visited = _drivable(chain, states)
    offset = checks.scalar("offset", offset)
    nodes = _node_positions(chain)
    ends = _segment_ends(chain, nodes)
    along = (ends[:, 1] - ends[:, 0]) / np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1, keepdims=True)
    aside = offset * _across(along)
    middle = ends.mean(axis=1) + aside

    corners = [middle[visited[0]]]
    for before, after in pairwise(visited):
        if before == after:
            continue
        shared = nodes.loc[_shared_node(chain, before, after)].to_numpy(float)
        turn = _turn(shared, aside[before], aside[after], along[before], along[after])
        corners += [*turn, middle[after]]
        if not numbers:
            _arrow_head(ax, turn[-1], middle[after], colour)
    line = np.array(corners)
    ax.plot(*line.T, color=colour, lw=1.4, solid_joinstyle="round", zorder=4, label=label)
    ax.plot(*line[0], "o", ms=5.5, mfc="white", mec=colour, mew=1.2, zorder=7)
    ax.plot(*line[-1], "s", ms=3.2, color=colour, zorder=8)
    places = list(dict.fromkeys(visited))
    if names is not None:
        _write(ax, middle[places], [names[place] for place in places], size=SMALL, colour=colour)
    if numbers:
        words = [", ".join(str(step) for step, seen in enumerate(visited) if seen == place) for place in places]
        _write(ax, middle[places], words, size=SMALL, colour=colour)


def _node_positions(chain: RoadChain) -> Any:
    """Return columns x, y (metres) of the intersections, indexed by node."""
    table = chain.intersections
    points = geopandas.GeoSeries(geopandas.points_from_xy(table["lon"], table["lat"]), crs="EPSG:4326")
    points = points.to_crs(GAINESVILLE_CRS)
    return pd.DataFrame({"x": points.x.to_numpy(), "y": points.y.to_numpy()}, index=table["node"])


def _segment_ends(chain: RoadChain, nodes: Any) -> Array:
    """Return (n, 2, 2): the two ends of each segment, in metres."""
    return np.stack([nodes.loc[chain.segments[end]].to_numpy(float) for end in ("from_node", "to_node")], axis=1)


def _across(along: Array) -> Array:
    """Return (n, 2) unit vectors across each segment, pointing east (north for an east-west street)."""
    across = np.stack([along[:, 1], -along[:, 0]], axis=1)
    main = np.take_along_axis(across, np.abs(across).argmax(axis=1)[:, None], axis=1)
    return across * np.sign(main)


def _turn(shared: Array, aside: Array, aside_after: Array, along: Array, along_after: Array) -> list[Array]:
    """Return where two lines beside the roads meet at an intersection; both ends when near parallel."""
    cross = along[0] * along_after[1] - along[1] * along_after[0]
    if abs(cross) < 0.5:
        return [shared + aside, shared + aside_after]
    gap = aside_after - aside
    reach = (gap[0] * along_after[1] - gap[1] * along_after[0]) / cross
    return [shared + aside + reach * along]


def _drivable(chain: RoadChain, states: ArrayLike) -> list[int]:
    """Return the states as a list of integers; ValueError where two in a row share no intersection."""
    n = len(chain.segments)
    visited = np.atleast_1d(np.asarray(states))
    if visited.ndim != 1 or not visited.size:
        raise ValueError(f"states must be a sequence of at least one state, got shape {visited.shape}")
    path = [checks.integer("states", state, 0, n - 1) for state in visited.tolist()]
    for before, after in pairwise(path):
        if before != after and not chain.adjacency[before, after]:
            one, other = chain.segments["segment"][before], chain.segments["segment"][after]
            raise ValueError(f"states must share an intersection with the next one, {one} and {other} do not")
    return path


def _shared_node(chain: RoadChain, before: int, after: int) -> str:
    ends = chain.segments[["from_node", "to_node"]].to_numpy(object)
    return str(next(node for node in ends[before] if node in ends[after]))


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


def _write(ax: Any, anchors: Array, words: Sequence[str], *, size: float, colour: str) -> None:
    """Write each text near its anchor, at the place that covers least of the texts and lines drawn so far."""
    figure = ax.figure
    figure.draw_without_rendering()  # the layout decides how far apart things are in points
    renderer = figure.canvas.get_renderer()
    frame = ax.get_window_extent(renderer)
    ink = _ink(ax)
    taken = [text.get_window_extent(renderer) for text in ax.texts if text.get_text()]
    for anchor, word in zip(anchors, words):
        text = ax.annotate(word, anchor, (0, 0), textcoords="offset points", fontsize=size, color=colour, zorder=9)
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


def _finish(ax: Any, source: str, bar: float, drawn: Array) -> None:
    """Hide the axes; add a scale bar of `bar` metres in the emptier lower corner, the source line below."""
    ax.set_axis_off()
    ax.autoscale_view()
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    level, edge = low + 0.03 * (high - low), 0.02 * (right - left)
    spans = [(right - edge - bar, right - edge), (left + edge, left + edge + bar)]
    near = drawn[drawn[:, 1] < low + 0.12 * (high - low), 0]
    start, end = min(spans, key=lambda span: int(((near > span[0]) & (near < span[1])).sum()))
    ax.plot([start, end], [level, level], color="black", lw=1.5, solid_capstyle="butt", zorder=3)
    bar_text = f"{bar / 1000:g} km"
    place = {"textcoords": "offset points", "annotation_clip": False}
    ax.annotate(bar_text, ((start + end) / 2, level), (0, 2), ha="center", fontsize=SMALL, **place)
    ax.set(xlim=(left, right), ylim=(low, high))
    style = {"va": "top", "fontsize": SMALL, "color": TEXT_GREY}
    ax.annotate(source, (0, 0), (0, -2), xycoords="axes fraction", **place, **style)


def _north_arrow(ax: Any, rotation: float, drawn: Array) -> None:
    """Draw an arrow to the north in the emptier upper corner."""
    place = ax.transAxes.inverted().transform(ax.transData.transform(drawn))
    right = (place[:, 1] > 0.7) @ np.sign(place[:, 0] - 0.5) <= 0
    angle = np.deg2rad(90.0 + rotation)
    tip = 18.0 * np.array([np.cos(angle), np.sin(angle)])  # points
    style = {"arrowstyle": "<|-", "lw": 0.8, "color": "black"}
    words = {"fontsize": SMALL, "ha": "center", "va": "center"}
    ax.annotate("N", (0.92 if right else 0.08, 0.84), tip, "axes fraction", "offset points", style, **words)
