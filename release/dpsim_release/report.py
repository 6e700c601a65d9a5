"""The report of a release, an HTML page made from nothing but the release.

Labels come from data, so the page shows each label only as text: markup is escaped,
characters that are invisible or change the direction of writing are replaced with their
codes, and long labels are shortened. (The tables contain the full labels.)
"""

from __future__ import annotations

import html
import io
import math
import warnings
from collections.abc import Iterable
from pathlib import Path
from string import Template

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from dpsim.figures import OURS, PAPER
from dpsim_release import intervals, statement
from dpsim_release.chain import PrivateChain
from dpsim_release.labels import short_label, visible

BARS = 15  # the number of rows in a picture
COVERAGE = 0.9  # the level of the error bars
GREY = "#888888"  # of lines, which can be seen on white and on black
COLOURS = dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), GREY)
# a probability of 0 has the colour of the page
SHADES = LinearSegmentedColormap.from_list("shades", [f"{PAPER}00", PAPER])

_PAGE = Template(Path(__file__).with_name("report.html").read_text(encoding="utf-8"))


def page(chain: PrivateChain, bars: pd.DataFrame | str) -> str:
    """Return the report as HTML, with the error bars from `stationary`."""
    sentences = "".join(
        f"<li>{html.escape(visible(line))}</li>" for line in chain.text.splitlines()
    )
    title = (
        "A simulated release: do not publish it"
        if chain.statement["simulation"]
        else "A private Markov chain"
    )
    with matplotlib.rc_context(COLOURS):
        pictures = _pictures(chain, bars)
    return _PAGE.substitute(title=title, pictures=pictures, sentences=sentences)


def stationary(chain: PrivateChain) -> pd.DataFrame | str:
    """Return the columns stationary, low and high by label, or the reason why there
    are no error bars."""
    if not chain.labels or len(chain.closed_classes[0]) > 1:
        return "there is no single stationary distribution"
    try:
        return chain.intervals("stationary", level=COVERAGE)
    # whether the error is raised is public, because it follows from the release
    except ValueError as error:
        return str(error).partition(": ")[2]


def _pictures(chain: PrivateChain, bars: pd.DataFrame | str) -> str:
    """Return the page's pictures with their captions."""
    counts = chain.counts.sort_values("noisy_count", ascending=False, kind="stable")
    if not len(counts) or counts["noisy_count"].iloc[0] <= 0:
        return "<p>No pair has a positive noisy count, so there is nothing to plot.</p>"
    m = len(counts)
    ends = intervals.count_intervals(chain, 1.0 - (1.0 - COVERAGE) / m)
    largest = ends.loc[counts.index[:BARS]]
    names = [
        f"{short_label(a)} → {short_label(b)}"
        for a, b in zip(largest["origin"], largest["destination"])
    ]
    caption = (
        f"The largest of {m:,} noisy counts, with red intervals. The intervals have "
        f"the two-sided level 1 - {1 - COVERAGE:.1g} / {m:,}, because these counts "
        f"were chosen as the largest. In at least {COVERAGE:.0%} of all releases, all "
        f"{m:,} intervals contain the table's own counts (after any limit on a unit's "
        "events)."
    )
    texts = [
        f"{count:,} ({low:,.0f} to {high:,.0f})"
        for count, low, high in zip(
            largest["noisy_count"], largest["low"], largest["high"]
        )
    ]
    pictures = _bars(names, largest["noisy_count"], texts, largest, "events", caption)
    return pictures + matrix_table(chain) + _long_run(chain, bars)


def matrix_table(chain: PrivateChain) -> str:
    """Return a picture of the transition matrix, with the busiest states first."""
    order = np.argsort(-chain.departures(), kind="stable")[:BARS]
    P = chain.transitions[order][:, order].toarray()
    names = [short_label(chain.labels[i]) for i in order]
    size = 1.6 + 0.3 * len(names)
    figure = Figure(figsize=(size, size), layout="constrained")
    axes = figure.subplots()
    axes.pcolormesh(
        P, cmap=SHADES, vmin=0.0, vmax=P.max() or 1.0, edgecolors=f"{GREY}40"
    )
    place = np.arange(len(names)) + 0.5
    axes.set_xticks(place, names, rotation=90, parse_math=False)
    axes.set_yticks(place, names, parse_math=False)
    axes.set(aspect="equal", xlabel="to", ylabel="from")
    axes.invert_yaxis()
    which = "the" if len(names) == len(chain.labels) else "the busiest of the"
    caption = (
        f"The transition probabilities between {which} {len(chain.labels):,} states. "
        f"The strongest blue is {P.max():.2g}, and a probability of 0 has no colour. "
        f"{' '.join(map(html.escape, statement.arrivals(chain)))}"
    )
    return _figure(figure, caption)


def _long_run(chain: PrivateChain, bars: pd.DataFrame | str) -> str:
    """Return a picture of the stationary distribution, or the reason why there is
    none."""
    if len(chain.closed_classes[0]) > 1:
        return f"<p>There is no picture of the long run, because {bars}.</p>"
    reason = ""
    if isinstance(bars, str):
        reason = bars
        bars = chain.stationary().to_frame()
    top = bars.sort_values("stationary", ascending=False, kind="stable").head(BARS)
    caption = "The stationary distribution in the busiest states"
    texts = [f"{share:.1%}" for share in top["stationary"]]
    if reason:
        caption += f". It has no intervals, because {reason}."
    else:
        caption += (
            ", with red intervals from the delta method. For each state, at most "
            f"about {1 - COVERAGE:.0%} of all releases have an interval that does not "
            "contain the table's own value. Some releases have no intervals."
        )
        width = float((top["high"] - top["low"]).min())
        digits = min(max(1, math.ceil(-math.log10(100.0 * width or 1.0))), 9)
        texts = [
            f"{share:.{digits}%} ({low:.{digits}%} to {high:.{digits}%})"
            for share, low, high in top.itertuples(index=False)
        ]
    names = map(short_label, top.index)
    return _bars(names, top["stationary"], texts, top, "share of time", caption)


def _bars(
    names: Iterable[str],
    values: pd.Series,
    texts: list[str],
    ends: pd.DataFrame,
    unit: str,
    caption: str,
) -> str:
    """Return a picture of horizontal bars with a caption.

    Each bar has its text, because an interval may be too short to be seen. If
    `ends` has the columns low and high, the bars have error bars.
    """
    figure = Figure(figsize=(7.2, 0.6 + 0.26 * len(values)), layout="constrained")
    axes = figure.subplots()
    place = np.arange(len(values))
    axes.barh(place, values, color=PAPER)
    end = np.maximum(values.to_numpy(float), 0.0)
    if "low" in ends:
        middle = 0.5 * (ends["low"] + ends["high"])
        half = ends["high"] - middle
        axes.errorbar(middle, place, xerr=half, fmt="none", ecolor=OURS, capsize=3)
        end = np.maximum(end, ends["high"])
    for x, y, text in zip(end, place, texts):
        axes.annotate(
            text, (x, y), (6, 0), textcoords="offset points", va="center", fontsize=9
        )
    axes.set_xlim(right=1.4 * max(end))
    axes.set_yticks(place, list(names), parse_math=False)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.spines[["top", "right"]].set_visible(False)
    return _figure(figure, caption)


def _figure(figure: Figure, caption: str) -> str:
    """Return a picture with its caption.

    The text in the picture is set in the fonts and the colour of the reader's page.
    """
    stream = io.StringIO()
    fonts = {"svg.fonttype": "none", "svg.hashsalt": "release"}
    with matplotlib.rc_context(fonts), warnings.catch_warnings():
        # a label may contain characters that matplotlib's own font lacks
        warnings.simplefilter("ignore")
        metadata = {"Date": None, "Creator": None}
        figure.savefig(stream, format="svg", metadata=metadata, transparent=True)
    svg = stream.getvalue()
    return (
        f"<figure>{svg[svg.index('<svg') :]}<figcaption>{caption}</figcaption></figure>"
    )
