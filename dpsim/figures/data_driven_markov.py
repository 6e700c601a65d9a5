"""The figures of the notebook `data_driven_markov` (Benvenuti et al. 2026)."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from numpy.typing import ArrayLike

from dpsim.figures.house_style import (
    OURS,
    PAPER,
    PUBLISHED,
    SMALL,
    draw_band,
    mark_published,
    mark_source,
    size,
)
from dpsim.figures.maps import choropleth, scale_bar, zone_shapes

WRONG = LogNorm(0.1, 20)
"""The scale of the trips that a release sends to a wrong zone, in per cent."""
CHANGES = Normalize(-20, 20)
"""The scale of the change of a share, in per cent of itself."""


def draw_two_cities(zones: Any, wrong: pd.DataFrame) -> Figure:
    """Return the thumbnail: two maps of the trips that are sent to a wrong zone.

    Parameters
    ----------
    zones : GeoDataFrame, from `datasets.load_taxi_zones`
    wrong : DataFrame, two columns, whose names are the titles
        For each zone, the percentage of its trips that end in a wrong zone.
    """
    fig, axes = plt.subplots(2, 1, figsize=(3.5, 2.4), layout="constrained")
    lying = zone_shapes(zones, zones.index).rotate(-90, origin=(0, 0))
    for ax, name in zip(axes, wrong):
        outlines = choropleth(ax, lying, wrong[name], WRONG, "YlOrRd")
        outlines.set(edgecolor="0.3", linewidth=0.5)
        ax.set_title(name, fontsize=13, pad=2)
    scale = fig.colorbar(outlines, ax=axes, aspect=14, extend="both")
    scale.set_label("trips in a wrong zone", fontsize=10)
    scale.set_ticks([0.1, 1, 10], labels=["0.1 %", "1 %", "10 %"], fontsize=10)
    scale.ax.minorticks_off()
    return fig


def draw_cities(
    zones: Any,
    group: ArrayLike,
    taxis: ArrayLike,
    others: pd.DataFrame,
    source: str,
    *,
    changes: bool = False,
) -> Figure:
    """Return a map of where taxis gather, and maps of what releases do.

    Parameters
    ----------
    zones : GeoDataFrame, from `datasets.load_taxi_zones`
    group : array_like of int, the group 0..m-1 of each zone
    taxis : array_like, shape (m,), the percentage of the taxis in each group of zones
    others : DataFrame, m rows, one column for each release, whose name is the title
        For each group, the percentage of its trips that end in a wrong one.
    source : str, the text under the figure, from `datasets.trips_label`
    changes : bool
        Whether the percentages say by how much the share of the taxis has changed.
    """
    fig, axes = plt.subplots(1, 1 + others.shape[1], figsize=size(2, 4.4))
    shapes = zone_shapes(zones, group)
    norm, colours, label = (
        (CHANGES, "PuOr_r", "change of the share of taxis, %")
        if changes
        else (WRONG, "YlOrRd", "trips sent to a wrong zone, %")
    )
    known = choropleth(axes[0], shapes, taxis, LogNorm(0.01, 6), "YlGnBu")
    released = [
        choropleth(ax, shapes, others[name], norm, colours)
        for ax, name in zip(axes[1:], others)
    ]
    for ax, name in zip(axes, ["where taxis gather", *others]):
        ax.set_title(name, fontsize=SMALL)
    scale_bar(axes[0], 2000, left=True)
    for maps, outlines, words in (
        (axes[:1], known, "taxis in the zone, %"),
        (axes[1:], released[0], label),
    ):
        how = {"location": "bottom", "fraction": 0.03, "aspect": 16 * len(maps)}
        scale = fig.colorbar(outlines, ax=maps, label=words, extend="both", **how)
        scale.ax.xaxis.set(major_formatter="{x:g}", minor_formatter=NullFormatter())
    mark_source(fig, f"{source}; zone outlines: NYC TLC")
    return fig


def draw_grades(values: pd.DataFrame, source: str, published: pd.Series) -> Figure:
    """Return Figure 1: the divergence of private grades, and the promised delta.

    Parameters
    ----------
    values : DataFrame, sorted by epsilon
        The columns are epsilon, delta_upper, kl_theorem2, kl_corollary1, kl_empirical
        and kl_standard_error.
    source : str, the source of the data
    published : Series, the numbers of the paper by the ids of their rows
    """
    epsilon, divergence, delta, later = published[
        [
            f"benvenuti2026.fig1.{id}"
            for id in ("eps_min", "kl_max", "delta_min", "delta_331")
        ]
    ]
    fig, (left, right) = plt.subplots(1, 2, figsize=size(2, 2.9))
    x = values["epsilon"]
    mean = values["kl_empirical"]
    left.plot(
        x, values["kl_corollary1"], "--", color=PAPER, label="Corollary 1 (bound)"
    )
    left.plot(x, values["kl_theorem2"], color=OURS, label="Theorem 2 (exact)")
    left.plot(x, mean, ".", ms=3, color=PAPER, label="mean of releases")
    draw_band(left, x, mean, values["kl_standard_error"], PAPER)
    label = f"({epsilon:g}, {divergence:g})"
    mark_published(left, epsilon, divergence, label, offset=(30, 22))
    left.set(xlabel=r"promised $\epsilon$", ylim=(0, None))
    left.set_ylabel(r"$\mathbb{E}\,\mathcal{K}(C\,\|\,\tilde C)$ (nats)")
    left.legend()
    near = values[x <= max(4.0, x[0] + 1)]
    right.plot(
        near["epsilon"], near["delta_upper"], "--", color=PAPER, label="Theorem 1"
    )
    mark_published(right, epsilon, delta, f"{delta:g}", offset=(8, 2))
    mark_published(right, 3.31, later, f"{later:g}", offset=(8, 2))
    right.set(xlabel=r"promised $\epsilon$", ylabel=r"promised $\delta$", yscale="log")
    right.legend()
    mark_source(fig, source)
    return fig


def draw_stationary(table: pd.DataFrame, source: str, published: pd.Series) -> Figure:
    """Return Figure 3: the error of the stationary distribution, and Theorem 4's bound.

    Parameters
    ----------
    table : DataFrame, sorted by epsilon
        The columns are epsilon, tv_mean, tv_standard_error and tv_theorem4.
    source : str, the source of the data
    published : Series, the numbers of the paper by the ids of their rows
    """
    smallest, error = published[["benvenuti2026.table1.40", "benvenuti2026.fig3.tv"]]
    fig, (left, right) = plt.subplots(1, 2, figsize=size(2, 2.7))
    epsilon = table["epsilon"]
    mean = table["tv_mean"]
    label = "total variation of the\nstationary distribution"
    for ax in (left, right):
        ax.plot(epsilon, mean, color=PAPER)
        ax.set(xlabel=r"promised $\epsilon$", ylabel=label)
    draw_band(left, epsilon, mean, table["tv_standard_error"], PAPER)
    point = f"({smallest:g}, {error:g})"
    mark_published(left, smallest, error, point, offset=(18, 10))
    left.set_ylim(min(0.01, 0.97 * mean.min()), max(0.0185, 1.03 * mean.max()))
    right.plot(epsilon, table["tv_theorem4"], "--", color=PAPER)
    x, low, high = table.loc[len(table) // 2, ["epsilon", "tv_mean", "tv_theorem4"]]
    arrow = {"arrowstyle": "<->", "color": "0.4"}
    right.annotate("", (x, high), (x, low), arrowprops=arrow)
    right.text(
        x, np.sqrt(low * high), f"  {high / low:.0f} times", color="0.3", va="center"
    )
    right.text(x, 1.6 * high, "Theorem 4's bound", ha="center")
    right.text(x, low / 1.3, "mean of private chains", ha="center", va="top")
    right.set(yscale="log", ylim=(0.3 * mean.min(), 3 * table["tv_theorem4"].max()))
    mark_source(fig, source)
    return fig


def draw_sampled_delta(
    table: pd.DataFrame, names: dict[str, str], published: pd.Series
) -> Figure:
    """Return Figure 4: the relative error of a sampled delta.

    Parameters
    ----------
    table : DataFrame
        The columns are delta, draws, error_mean, error_standard_error and error_exact.
    names : dict, the words of the legend for each of the two values of delta
    published : Series, the numbers of the paper by the ids of their rows
    """
    limit = published["benvenuti2026.fig4.err"]
    fig, ax = plt.subplots(figsize=size(2, 2.9))
    styles = ("o", "-", PAPER), ("s", "--", "0.35")
    for (delta, name), (marker, dashes, colour) in zip(names.items(), styles):
        part = table[table["delta"] == delta]
        ax.errorbar(
            part["draws"],
            part["error_mean"],
            2 * part["error_standard_error"],
            fmt=marker,
            ms=3,
            color=colour,
            label=f"sampled, δ = {name}",
        )
        ax.plot(
            part["draws"],
            part["error_exact"],
            dashes,
            color=OURS,
            label=f"exact, δ = {name}",
        )
    ax.axhline(limit, color=PUBLISHED, lw=0.8)
    ax.text(110, 0.92 * limit, "published: below this at $10^6$", va="top", color="0.3")
    ax.set(
        xscale="log", yscale="log", xlabel="draws at each point, $M$", ylim=(0.003, 20)
    )
    ax.set_ylabel(r"$\mathbb{E}\,|\hat\delta-\delta|\,/\,\delta$")
    ax.legend()
    return fig
