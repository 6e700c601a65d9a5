"""Drawings of histograms that wander: the toy's walks, the candidate move, releases, and pairs of chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from dpsim.figures.explore import Moving, embedded, note, slider
from dpsim.figures.house_style import (
    DASHES,
    OTHER,
    OURS,
    PAPER,
    PUBLISHED,
    TRUE,
    mark_source,
    plain_ticks,
    size,
)

WALKS = {
    "bins": (PAPER, -0.12, "o", "walk that draws pairs of bins"),
    "individual": (OTHER, 0.12, "^", "walk that draws people"),
}
"""The colour, the shift, the marker and the label of the walks that differ in who
moves."""
STEPS = (1, 10, 100, 1000, 10_000)
MISSING = "Our copy of the slides lacks this picture, so it is plotted from their text."


def walk_chart(
    table: pd.DataFrame, laws: Sequence[str], t: float, sensitivity: float
) -> Moving:
    """Return the chart of two walks from neighbouring histograms, step by step.

    Parameters
    ----------
    table : DataFrame
        The columns t, k, z, those named in laws (the probabilities of z from each
        start), odds (the largest factor, 0 if there is none), and delta at epsilon 2 s / t.
    laws : sequence of str, the two columns of probabilities
    t : float, the temperature that is shown first
    sensitivity : float, s
    """
    law = {"field": "law", "type": "nominal"}
    look = {"domain": list(laws), "range": [PAPER, OTHER]}
    bars = {
        "transform": [{"fold": list(laws), "as": ["law", "probability"]}],
        "mark": "bar",
        "encoding": {
            "x": {
                "field": "z",
                "sort": None,
                "title": "published histogram",
                "axis": {"labelAngle": 0},
            },
            "y": {
                "field": "probability",
                "type": "quantitative",
                "scale": {"domain": [0, 1]},
            },
            "xOffset": law,
            "color": law
            | {"scale": look, "legend": {"title": None, "orient": "right"}},
        },
    }
    told = (
        "'after ' + datum.k + ' steps at t = ' + datum.t + ', x and y only: ' + "
        "(datum.odds > 0 ? 'a release changes the odds by a factor of at most ' + "
        "format(datum.odds, '.3~r') : 'some releases prove that the truth is x, or y')"
    )
    cost = (
        "'for all neighbours: δ = ' + format(datum.delta, '.2~g') + "
        f"' at ε = 2s/t = ' + format({2 * sensitivity:g} / datum.t, '.3~r')"
    )
    last = int(table["k"].max())
    radio = {
        "input": "radio",
        "options": table["t"].unique().tolist(),
        "name": "temperature t ",
    }
    spec = {
        "params": [
            slider("k", "steps k ", last, 0, last, 1),
            {"name": "t", "value": t, "bind": radio},
        ],
        **embedded(table),
        "transform": [{"filter": "datum.k == k && datum.t == t"}],
        "layer": [
            bars,
            note(told, ["k", "t"], ["odds"], x=0, y=-28),
            note(cost, ["t"], ["delta"], x=0, y=-11),
        ],
        "width": 520,
        "height": 170,
    }
    alt = (
        "Bars show the probabilities of the six histograms for walks from two "
        "neighbouring histograms. After many steps the bars of both walks are close to "
        "each other if the temperature is high."
    )
    return Moving(spec, alt)


def draw_candidates(truth: ArrayLike, table: pd.DataFrame) -> Figure:
    """Return a candidate move, and the stationary distributions of two ways to choose it.

    Parameters
    ----------
    truth : array_like of int (bins,), the histogram before the move
    table : DataFrame, columns z, "pair of bins" and "individual"
    """
    counts = np.asarray(truth)
    fig, (left, right) = plt.subplots(1, 2, figsize=size(2, 2.6), width_ratios=[1.2, 1])
    target, *_, origin = np.argsort(counts, stable=True)
    left.bar(range(counts.size), counts, color=TRUE, alpha=0.25, width=0.7)
    left.bar(
        [origin, target],
        [1, 1],
        bottom=[counts[origin] - 1, counts[target]],
        ls="--",
        color="none",
        edgecolor=OURS,
        width=0.7,
    )
    left.annotate(
        "",
        (target, counts[target] + 1.2),
        (origin - 0.36, counts[origin] - 0.5),
        arrowprops={
            "arrowstyle": "->",
            "color": OURS,
            "connectionstyle": "arc3,rad=0.35",
        },
    )
    left.set_xticks(range(counts.size), [f"bin {i + 1}" for i in range(counts.size)])
    left.set(ylabel="people", ylim=(0, counts.max() * 1.2), title="one person moves")
    tidy = table.rename(columns={"individual": "person"})
    tidy = tidy.melt("z", var_name="drawn", value_name="probability")
    sns.barplot(
        tidy,
        y="z",
        x="probability",
        hue="drawn",
        palette=[PAPER, OTHER],
        saturation=1,
        ax=right,
    )
    right.legend(loc="lower right", title="drawn is a")
    right.set(ylabel="", xlabel="probability at $t=10$", xlim=(0, 0.55))
    right.set_title("stationary distributions")
    return fig


def draw_samples(
    truth: ArrayLike,
    table: pd.DataFrame,
    printed: Mapping[float, ArrayLike] | None = None,
) -> Figure:
    """Return the means and nine tenths of the releases of each walk beside the truth.

    Parameters
    ----------
    truth : array_like of int (n,)
    table : DataFrame
        The columns t, "who moves", bin, mean, quantile_05 and quantile_95.
    printed : mapping of t to array_like (releases, n), optional: published releases
    """
    counts = np.asarray(truth)
    bins = np.arange(counts.size)
    fig, axes = plt.subplots(1, 2, figsize=size(2, 2.9), sharey=True)
    for ax, (t, part) in zip(axes, table.groupby("t")):
        ax.bar(bins, counts, color=TRUE, alpha=0.12, width=0.94, label="truth")
        for who, rows in part.groupby("who moves"):
            colour, shift, marker, label = WALKS[who]
            ax.vlines(
                bins + shift, rows.quantile_05, rows.quantile_95, color=colour, lw=1.5
            )
            ax.plot(bins + shift, rows["mean"], marker, ms=4, color=colour, label=label)
        if printed is not None:
            samples = np.asarray(printed[t])
            ax.plot(
                np.tile(bins + 0.34, len(samples)),
                samples.ravel(),
                "D",
                ms=4,
                mew=1,
                label="printed",
                mfc="w",
                mec=PUBLISHED,
            )
        ax.set_xticks(bins, [f"bin {i + 1}" for i in bins])
        ax.set_title(f"$t={t:g}$")
    axes[0].set_ylabel("people")
    fig.legend(
        *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4
    )
    return fig


def draw_two_chains(table: pd.DataFrame) -> Figure:
    """Return the running means of two chains, their difference, and the step at which
    a rule stops them.

    Parameters
    ----------
    table : DataFrame, columns t, k, mean_1, mean_2, expected, Y and stop
    """
    fig, axes = plt.subplots(
        2, 2, figsize=size(2, 3.6), sharex=True, height_ratios=[1.5, 1]
    )
    lines = {
        "mean_1": (PAPER, "chain 1"),
        "mean_2": (OTHER, "chain 2"),
        "expected": (OURS, "expected (exact)"),
    }
    for (top, bottom), (t, part) in zip(axes.T, table.groupby("t")):
        for name, (colour, label) in lines.items():
            dashes = DASHES[colour] or (None, None)
            top.plot(part.k, part[name], color=colour, dashes=dashes, label=label)
        bottom.axhline(0, color="0.6", lw=0.8)
        bottom.plot(part.k, part.Y, color=TRUE)
        for ax in (top, bottom):
            ax.axvline(part.stop.iloc[0], color="0.3", lw=0.8, label="the rule stops")
        bottom.set(xlabel="steps $k$", xscale="log")
        plain_ticks(bottom.xaxis, STEPS)
        top.set(title=f"$t={t:g}$")
    axes[0, 0].set(ylabel="running mean of $c_x$")
    axes[1, 0].set(ylabel="$Y^{(k)}$")
    fig.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4
    )
    mark_source(fig, MISSING)
    return fig


def draw_replications(
    table: pd.DataFrame, tolerance: float, drawn: Mapping[str, str]
) -> Figure:
    """Return the differences of many pairs of chains, and how many are close at the end.

    Parameters
    ----------
    table : DataFrame
        The columns "who moves", t, k, replication and share_sampled, the difference as
        a share of the expected objective.
    tolerance : float, the share up to which two chains are close
    drawn : mapping, what each walk draws, in words
    """
    fig, axes = plt.subplots(2, 2, figsize=size(2, 3.8), sharex=True, sharey=True)
    for ax, ((who, t), part) in zip(axes.flat, table.groupby(["who moves", "t"])):
        lines = part.pivot(index="k", columns="replication", values="share_sampled")
        close = lines.iloc[-1].abs() <= tolerance
        ax.axhspan(-tolerance, tolerance, color="0.88", lw=0)
        for kept, label, marker in ((True, "close", "o"), (False, "not close", "^")):
            some = lines.loc[:, close == kept]
            look: dict[str, Any] = {"color": "#56a0d8" if kept else PAPER}
            ax.plot(some.index, some, lw=0.6 if kept else 0.9, **look)
            ax.plot(
                [lines.index[-1]] * some.shape[1],
                some.iloc[-1],
                marker,
                label=label,
                ms=5,
                mec="w",
                mew=0.5,
                zorder=4,
                clip_on=False,
                **look,
            )
        ax.set(xscale="log", ylim=(-0.8, 0.8))
        ax.set_title(
            f"$t={t:g}$, {drawn[who]}: {close.sum()} of {close.size} are close"
        )
        plain_ticks(ax.xaxis, STEPS)
    for ax in axes[1]:
        ax.set_xlabel("steps $k$")
    for ax in axes[:, 0]:
        ax.set_ylabel("$Y^{(k)}$, share of the\nexpected objective")
    fig.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2
    )
    mark_source(fig, MISSING)
    return fig
