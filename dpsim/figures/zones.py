"""Maps of the Manhattan zones, which show one distribution and the differences of others from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import geopandas
import matplotlib.pyplot as plt
import numpy as np
import shapely
from matplotlib.collections import PatchCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import ArrayLike

from dpsim.figures.house_style import SMALL, size
from dpsim.figures.maps import scale_bar

MANHATTAN_CRS = "EPSG:32618"  # UTM zone 18N, metres
UPRIGHT = 29.0
"""Degrees that set Manhattan's avenues upright."""
PER_CENT = 20.0
"""The scale of differences runs from minus to plus this; what is beyond has the colour of its end."""


def compare_zones(
    zones: Any, true: ArrayLike, others: ArrayLike, labels: Sequence[str], *, group: ArrayLike, source: str
) -> Any:
    """Return a figure of the true distribution and, beside it, the difference of each of the others from it.

    Parameters
    ----------
    zones, group : outlines, as in `datasets.load_taxi_zones`, and the group 0..m-1 of each
    true : array_like, shape (m,), positive: a probability of each group, drawn on a logarithmic scale
    others : array_like, shape (r, m)
        Distributions to compare with it. Their differences from `true` are drawn in per cent of it, on a linear scale
        of plus and minus 20 %.
    labels : sequence of r str
    source : str, the text under the figure, from `datasets.trips_label`
    """
    truth, rows = np.asarray(true), np.asarray(others)
    fig, axes = plt.subplots(1, 1 + len(rows), figsize=size(2, 5.0))
    fig.get_layout_engine().set(rect=(0.0, 0.19, 1.0, 0.76), w_pad=0.0)  # room for the colour bars
    shapes = zone_shapes(zones, group)
    level, change = LogNorm(truth.min(), truth.max()), Normalize(-PER_CENT, PER_CENT)
    colours = choropleth(axes[0], shapes, truth, norm=level, cmap="YlGnBu")
    for ax, row in zip(axes[1:], rows):
        differences = choropleth(ax, shapes, 100 * (row / truth - 1), norm=change, cmap="PuOr_r")
    scale_bar(axes[0], 2000, left=True)
    _north_arrow(axes[0])
    for ax, label in zip(axes[1:], labels):
        ax.text(0.5, 1.02, label, ha="center", transform=ax.transAxes)
    share = 1.0 / len(axes)
    for x, heading in ((share / 2, "true"), ((1 + share) / 2, "private minus true")):
        fig.text(x, 0.97, heading, ha="center")
    bar: dict[str, Any] = {"orientation": "horizontal"}
    levels = fig.colorbar(colours, cax=fig.add_axes((0.03, 0.145, share - 0.04, 0.016)), label="probability", **bar)
    ticks = {"major_locator": LogLocator(subs=(1.0, 5.0)), "minor_formatter": NullFormatter()}
    levels.ax.xaxis.set(major_formatter="{x:g}", **ticks)
    bar |= {"extend": "both" if np.abs(100 * (rows / truth - 1)).max() > PER_CENT else "neither"}
    middle = (1 + share) / 2
    bar |= {"cax": fig.add_axes((middle - 0.2, 0.145, 0.4, 0.016)), "label": "difference, per cent of the true value"}
    fig.colorbar(differences, **bar)
    fig.text(0.01, 0.005, f"{source}; zone outlines: NYC TLC", color="0.35")
    return fig


def zone_shapes(zones: Any, group: ArrayLike) -> Any:
    """Return the outlines, in metres, of the groups 0..m-1 of the zones, turned by UPRIGHT about their centre."""
    # Each outline was simplified by itself, which left gaps between neighbours; closing gaps below 40 m joins them.
    wide = zones.geometry.to_crs(MANHATTAN_CRS).buffer(20)
    joined = wide.groupby(np.asarray(group)).agg(lambda part: part.union_all())
    shapes = geopandas.GeoSeries(joined, crs=MANHATTAN_CRS).buffer(-20)
    west, south, east, north = shapes.total_bounds
    return shapes.rotate(UPRIGHT, origin=((west + east) / 2, (south + north) / 2))


def choropleth(ax: Any, shapes: Any, values: ArrayLike, **look: Any) -> Any:
    """Draw one value for each outline of `zone_shapes`, with norm and cmap, and return the input of a colour bar."""
    patches = [_patch(shape) for shape in shapes]
    look |= {"array": np.asarray(values, float), "edgecolor": "0.45", "linewidth": 0.25}
    outlines = ax.add_collection(PatchCollection(patches, **look))
    ax.autoscale_view()
    ax.set_aspect("equal")
    ax.set_axis_off()
    return outlines


def _patch(shape: Any) -> PathPatch:
    """Return an outline with its holes, because GeoPandas' own plot would draw the whole figure again for every map."""
    rings = [ring for part in shapely.get_parts(shape) for ring in (part.exterior, *part.interiors)]
    return PathPatch(Path.make_compound_path(*(Path(ring.coords, closed=True) for ring in rings)))


def _north_arrow(ax: Any) -> None:
    """Draw an arrow to the north in the upper right corner, which is empty."""
    angle = np.deg2rad(90.0 + UPRIGHT)
    tip = 26.0 * np.array([np.cos(angle), np.sin(angle)])  # points
    style = {"arrowstyle": "<|-", "lw": 0.8, "color": "black"}
    words = {"fontsize": SMALL, "ha": "center", "va": "center"}
    ax.annotate("N", (0.92, 0.84), tip, "axes fraction", "offset points", style, **words)
