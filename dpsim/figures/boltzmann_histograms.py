"""The figures of the notebook `boltzmann_histograms`: walks, candidate moves, releases
and pairs of chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from dpsim.figures.explore import Moving, embedded, encode, note, radio
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
    "bins": (PAPER, -0.12, "o", "walk that samples pairs of bins"),
    "individual": (OTHER, 0.12, "^", "walk that samples people"),
}
"""The colour, the horizontal shift, the marker and the label of each kind of walk."""
STEPS = (1, 10, 100, 1000, 10_000)
"""The ticks of the axes of steps."""
MISSING = (
    "This picture is missing from our copy of the slides, and is plotted from their "
    "text."
)
"""What figures say in place of a source."""


def walk_chart(table: pd.DataFrame, laws: Sequence[str], t: float) -> Moving:
    """Return a chart of two walks from neighbouring histograms, a row for each k.

    Parameters
    ----------
    table : DataFrame
        The columns are t, k (the number of steps), z (a histogram), those named in
        laws, and odds (the largest factor by which a release changes the odds, or 0 if
        there is none).
    laws : sequence of str
        The two columns with the probabilities of z, one for each start.
    t : float, the temperature that is selected initially
    """
    law = encode("law", "nominal")
    colours = {"domain": list(laws), "range": [PAPER, OTHER]}
    bars = {
        "transform": [{"fold": list(laws), "as": ["law", "probability"]}],
        "mark": "bar",
        "encoding": {
            "x": encode(
                "z",
                "nominal",
                sort=None,
                title="published histogram",
                axis={"labelAngle": 0},
            ),
            "y": encode("probability", scale={"domain": [0, 1]}),
            "xOffset": law,
            "color": {**law, "scale": colours, "legend": {"title": None}},
        },
    }
    told = (
        "datum.k + (datum.k == 1 ? ' step: ' : ' steps: ') + (datum.odds > 0 ? "
        "'a release changes the odds by a factor of at most ' + "
        "format(datum.odds, '.3~r') : 'some releases prove that the truth is x, or y')"
    )
    spec = {
        "params": [radio("t", "temperature t ", t, table["t"].unique().tolist())],
        **embedded(table),
        "transform": [{"filter": "datum.t == t"}],
        "facet": {"row": encode("k", "ordinal", header=None)},
        "spec": {
            "layer": [bars, note(told, ["k", "t"], ["odds"], x=0, y=-11)],
            "width": 520,
            "height": 95,
        },
        "spacing": 32,
    }
    alt = (
        "Bars show the probabilities of the six histograms for walks from two "
        "neighbouring histograms, after 1, 5 and 30 steps. After many steps the bars "
        "of both walks are close to each other if the temperature is high."
    )
    return Moving(spec, alt)


def draw_candidates(truth: ArrayLike, table: pd.DataFrame) -> Figure:
    """Return Figure 2: a candidate move, and the two stationary distributions.

    Parameters
    ----------
    truth : array_like of int, shape (bins,), the histogram before the move
    table : DataFrame
        The columns are z (a histogram), "pair of bins" and "individual" (its
        probabilities, depending on how the candidate is chosen).
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
    tidy = table.rename(columns={"individual": "person"}).melt("z")
    sns.barplot(
        tidy,
        y="z",
        x="value",
        hue="variable",
        palette=[PAPER, OTHER],
        saturation=1,
        ax=right,
    )
    right.legend(loc="lower right", title="the walk samples a")
    right.set(ylabel="", xlabel="probability at $t=10$", xlim=(0, 0.55))
    right.set_title("stationary distributions")
    return fig


def draw_samples(
    truth: ArrayLike,
    table: pd.DataFrame,
    printed: Mapping[float, ArrayLike] | None = None,
) -> Figure:
    """Return Figure 3: the releases of each walk, beside the truth.

    Parameters
    ----------
    truth : array_like of int, shape (n,)
    table : DataFrame
        The columns are t, "who moves", bin, mean, quantile_05 and quantile_95.
    printed : mapping, optional
        For each t, the releases that the slides report, shape (releases, n).
    """
    counts = np.asarray(truth)
    bins = np.arange(counts.size)
    fig, axes = plt.subplots(1, 2, figsize=size(2, 2.9), sharey=True)
    for ax, (t, part) in zip(axes, table.groupby("t")):
        ax.bar(bins, counts, color=TRUE, alpha=0.12, width=0.94, label="truth")
        for who, rows in part.groupby("who moves"):
            colour, shift, marker, label = WALKS[who]
            x = bins + shift
            ax.vlines(x, rows.quantile_05, rows.quantile_95, color=colour, lw=1.5)
            ax.plot(x, rows["mean"], marker, ms=4, color=colour, label=label)
        if printed is not None:
            samples = np.asarray(printed[t])
            ax.plot(
                np.tile(bins + 0.34, len(samples)),
                samples.ravel(),
                "D",
                ms=4,
                mew=1,
                label="reported",
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
    """Return Figure 4: the running means of two chains, and their difference Y.

    Parameters
    ----------
    table : DataFrame
        The columns are t, k, mean_1, mean_2, expected, Y and stop (the step at which
        the rule stops the chains).
    """
    fig, axes = plt.subplots(
        2, 2, figsize=size(2, 3.6), sharex=True, height_ratios=[1.5, 1]
    )
    lines = (
        ("mean_1", PAPER, "chain 1"),
        ("mean_2", OTHER, "chain 2"),
        ("expected", OURS, "expected (exact)"),
    )
    for (top, bottom), (t, part) in zip(axes.T, table.groupby("t")):
        for column, colour, label in lines:
            dashes = DASHES[colour]
            top.plot(part.k, part[column], color=colour, dashes=dashes, label=label)
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
    """Return Figure 5: the differences of many pairs of chains.

    Parameters
    ----------
    table : DataFrame
        The columns are "who moves", t, k, replication and share_sampled (the difference
        as a share of the expected objective).
    tolerance : float, the largest share at which two chains count as close
    drawn : mapping, the words for each kind of walk, used in the titles
    """
    fig, axes = plt.subplots(2, 2, figsize=size(2, 3.8), sharex=True, sharey=True)
    for ax, ((who, t), part) in zip(axes.flat, table.groupby(["who moves", "t"])):
        lines = part.pivot(index="k", columns="replication", values="share_sampled")
        close = lines.iloc[-1].abs() <= tolerance
        ax.axhspan(-tolerance, tolerance, color="0.88", lw=0)
        for label, chosen, colour, width, marker in (
            ("close", close, "#56a0d8", 0.6, "o"),
            ("not close", ~close, PAPER, 0.9, "^"),
        ):
            some = lines.loc[:, chosen]
            ax.plot(some.index, some, lw=width, color=colour)
            ax.plot(
                np.full(some.shape[1], lines.index[-1]),
                some.iloc[-1],
                marker,
                label=label,
                color=colour,
                ms=5,
                mec="w",
                mew=0.5,
                zorder=4,
                clip_on=some.empty,  # an empty line has no box of its own
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
