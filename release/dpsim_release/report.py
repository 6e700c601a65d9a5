"""The report of a release, an HTML page made from nothing but the release.

Labels come from data, so the page shows each label only as text: markup is escaped,
characters that are invisible or change the direction of writing are replaced with their
codes, and long labels are shortened. (The tables contain the full labels.)
"""

from __future__ import annotations

import html
import io
import warnings
from collections.abc import Iterable
from pathlib import Path
from string import Template

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpsim_release import intervals
from dpsim_release.chain import PrivateChain
from dpsim_release.labels import short_label, visible

BARS = 15  # the number of rows in a picture
COVERAGE = 0.9  # the level of the error bars
BLUE = "#0072B2"
ORANGE = "#D55E00"

_PAGE = Template(Path(__file__).with_name("report.html").read_text(encoding="utf-8"))


def page(chain: PrivateChain, bars: pd.DataFrame | None) -> str:
    """Return the report as HTML, with the error bars from `stationary`."""
    sentences = "".join(
        f"<li>{html.escape(visible(line))}</li>" for line in chain.text.splitlines()
    )
    title = (
        "A simulated release: do not publish it"
        if chain.statement["simulation"]
        else "A private Markov chain"
    )
    return _PAGE.substitute(
        title=title, pictures=_pictures(chain, bars), sentences=sentences
    )


def stationary(chain: PrivateChain) -> pd.DataFrame | None:
    """Return the columns stationary, low and high by label, or None without error
    bars."""
    try:
        return chain.intervals("stationary", level=COVERAGE)
    # whether the error is raised is public, because it follows from the release
    except ValueError:
        return None


def _pictures(chain: PrivateChain, bars: pd.DataFrame | None) -> str:
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
    first = _figure(names, largest["noisy_count"], largest, "events", caption)
    if bars is None:
        return first
    top = bars.sort_values("stationary", ascending=False, kind="stable").head(BARS)
    caption = (
        "The stationary distribution in the busiest states, with red intervals from "
        f"the delta method. For each state, at most about {1 - COVERAGE:.0%} of all "
        "releases have an interval that does not contain the table's own value. Some "
        "releases have no intervals."
    )
    states = map(short_label, top.index)
    second = _figure(states, top["stationary"], top, "share of time", caption)
    return first + second


def _figure(
    names: Iterable[str], values: pd.Series, ends: pd.DataFrame, unit: str, caption: str
) -> str:
    """Return a picture of horizontal bars with error bars and a caption.

    The text in the picture is set in the fonts of the reader's own browser.
    """
    figure = Figure(figsize=(7.2, 0.6 + 0.24 * len(values)), layout="constrained")
    axes = figure.subplots()
    place = np.arange(len(values))
    middle = 0.5 * (ends["low"] + ends["high"])
    axes.barh(place, values, color=BLUE)
    axes.errorbar(
        middle, place, xerr=ends["high"] - middle, fmt="none", ecolor=ORANGE, capsize=3
    )
    axes.set_yticks(place, list(names), parse_math=False)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    stream = io.StringIO()
    with (
        matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "release"}),
        warnings.catch_warnings(),
    ):
        # a label may contain characters that matplotlib's own font lacks
        warnings.simplefilter("ignore")
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    svg = stream.getvalue()
    return (
        f"<figure>{svg[svg.index('<svg') :]}<figcaption>{caption}</figcaption></figure>"
    )
