"""Maps of the road network of Gainesville, and walks on it, in metres of the local UTM zone, on given axes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import geopandas
import matplotlib.patheffects as effects
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.transforms import Bbox
from numpy.typing import ArrayLike

from dpsim.checks import Array
from dpsim.datasets.roads import RoadChain
from dpsim.figures.house_style import SMALL

GAINESVILLE_CRS = "EPSG:32617"  # UTM zone 17N, metres
ROADS_SOURCE = "© OpenStreetMap contributors, FDOT AADT 2022"
ROAD_GREY = "0.78"
WIDEST = 5.0  # points, for the segment with the most traffic
HALO = (effects.withStroke(linewidth=1.5, foreground="white"),)
SIDES = ((1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1))


def draw_network(ax: Any, chain: RoadChain) -> None:
    """Draw the segments of the chain as straight grey lines, as wide as their traffic."""
    ends = _segment_ends(chain)
    traffic = chain.segments["aadt_2022"].to_numpy(float)
    widths = WIDEST * traffic / traffic.max()
    ax.add_collection(LineCollection(list(ends), linewidths=widths, colors=ROAD_GREY, capstyle="round", zorder=1))
    ax.plot(*np.unique(ends.reshape(-1, 2), axis=0).T, "o", ms=2.2, mfc="white", mec="0.5", mew=0.5, zorder=5)
    ax.set_aspect("equal")
    ax.margins(0.08)
    ax.set_axis_off()
    scale_bar(ax, 1000)


def draw_walk(ax: Any, chain: RoadChain, states: ArrayLike, *, colour: str = "black", aside: float = 0.0) -> None:
    """Draw a walk from midpoint to midpoint of its segments through the intersections, on a map of the network.

    An open circle marks the start, a filled square the end.
    states: (steps + 1,), in 0..n-1, consecutive ones equal or with a common intersection.
    aside: metres by which each further pass along a road is moved to the right of its direction.
    """
    visited = np.asarray(states).tolist()
    ends = _segment_ends(chain)
    middle = ends.mean(axis=1)
    shape = "-|>,head_length=0.35,head_width=0.18"
    style = {"arrowstyle": shape, "color": colour, "lw": 0, "shrinkA": 0, "shrinkB": 0}
    corners, passes = [middle[visited[0]]], dict[tuple[int, float], list[bool]]()

    def half(segment: int, tail: Array, head: Array) -> Array:  # moved aside where it was passed before
        outward = bool((tail == middle[segment]).all())
        before = passes.setdefault((segment, float((head if outward else tail)[0])), [])
        lane = before.count(outward) + (outward not in before[:1] and bool(before))
        before.append(outward)
        reach = head - tail
        moved = aside * lane * np.array([reach[1], -reach[0]]) / max(float(np.hypot(*reach)), 1e-9)
        return np.array([tail + moved, head + moved])

    for before, after in pairwise(visited):
        if before == after:
            continue
        shared = [end for end in ends[before] if (end == ends[after]).all(axis=1).any()]
        leave, (tail, tip) = half(before, middle[before], shared[0]), half(after, shared[0], middle[after])
        corners += [*leave, tail, tip]
        head = tail + 0.72 * (tip - tail)  # the heads end early, so that they do not overlap at the nodes
        ax.annotate("", head, tail, arrowprops=style, zorder=5)
    line = np.array(corners)
    ax.plot(*line.T, color=colour, lw=1.4, solid_joinstyle="round", zorder=4, label="walk")
    ax.plot(*line[0], "o", ms=5.5, mfc="white", mec=colour, mew=1.2, zorder=7)
    ax.plot(*line[-1], "s", ms=3.2, color=colour, zorder=8)


def name_segments(ax: Any, chain: RoadChain, states: ArrayLike, *, colour: str = "black") -> None:
    """Write the number of each segment that a walk visits near the middle of the segment, where it covers as little as
    possible of texts and lines.

    The layout of the figure must have been made, because it determines the distances in points.
    """
    point, ink = ax.figure.dpi / 72, _ink(ax)
    taken = [text.get_window_extent() for text in ax.texts if text.get_text()]
    visited = list(dict.fromkeys(np.asarray(states).tolist()))
    middle = _segment_ends(chain)[visited].mean(axis=1)
    for state, place, anchor in zip(visited, middle, ax.transData.transform(middle)):
        text = ax.annotate(f"{state}", place, (0, 0), textcoords="offset points", ha="center", va="center")
        text.set(fontsize=SMALL, color=colour, path_effects=HALO, zorder=9)
        half = text.get_window_extent().size / 2
        costs = {}
        for distance in (4.0, 8.0, 14.0, 20.0):
            for side in SIDES:
                reach = distance * (0.7 if all(side) else 1.0)
                moved = np.array(side) * (point * reach + half)
                box = Bbox([anchor + moved - half, anchor + moved + half]).padded(0.7 * point)
                costs[tuple(moved / point)] = _cost(box, taken, ink, ax.bbox) + distance / 2, box
        best = min(costs, key=lambda moved: costs[moved][0])
        text.set_position(best)
        taken.append(costs[best][1])


def _segment_ends(chain: RoadChain) -> Array:
    """Return (n, 2, 2): the two ends of each segment, in metres."""
    table = chain.intersections
    points = geopandas.GeoSeries(geopandas.points_from_xy(table["lon"], table["lat"]), crs="EPSG:4326")
    places = points.to_crs(GAINESVILLE_CRS).set_axis(table["node"]).get_coordinates()
    return np.stack([places.loc[chain.segments[end]].to_numpy() for end in ("from_node", "to_node")], axis=1)


def _ink(ax: Any) -> Array:
    """Return points (pixels), 3 pixels apart, along all lines drawn on the axes."""
    pieces = [line.get_xydata() for line in ax.lines if line.get_linestyle() != "None"]
    pieces += [piece for lines in ax.collections for piece in lines.get_segments()]
    dense = []
    for piece in map(ax.transData.transform, pieces):
        reach = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(piece, axis=0).T))])
        steps = np.linspace(0.0, reach[-1], 1 + int(np.ceil(reach[-1] / 3)))
        dense.append(np.column_stack([np.interp(steps, reach, piece[:, axis]) for axis in (0, 1)]))
    return np.concatenate(dense)


def _cost(box: Bbox, taken: list[Bbox], ink: Array, frame: Bbox) -> float:
    """Return a cost of a text in this box, which counts what it would hide (above all other texts) and any part outside
    the map."""
    outside = not (frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1)
    return 400.0 * outside + 400.0 * sum(map(box.overlaps, taken)) + float(box.count_contains(ink))


def scale_bar(ax: Any, bar: float, *, left: bool = False) -> None:
    """Add a scale bar of this number of metres in a lower corner."""
    ax.autoscale_view()
    (west, east), (low, high) = ax.get_xlim(), ax.get_ylim()
    level, edge = low + 0.03 * (high - low), 0.02 * (east - west)
    start = west + edge if left else east - edge - bar
    ax.plot([start, start + bar], [level, level], color="black", lw=1.5, solid_capstyle="butt", zorder=3)
    place = {"textcoords": "offset points", "annotation_clip": False, "ha": "center", "fontsize": SMALL}
    ax.annotate(f"{bar / 1000:g} km", (start + bar / 2, level), (0, 2), **place)
    ax.set(xlim=(west, east), ylim=(low, high))
