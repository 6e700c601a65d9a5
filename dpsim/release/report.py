"""The report of a release: one HTML page with its pictures, made from what is released alone.

Labels come from data, so each is written as text: markup escaped, marks that are invisible or turn the direction of
writing spelled out, long words cut (the tables hold them whole).
"""

from __future__ import annotations

import html
import io
import unicodedata
import warnings
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpsim.private import SIMULATION
from dpsim.release import intervals
from dpsim.release.chain import PrivateChain

LONGEST = 22  # characters of a label that are shown: its ends, which tell "North" from "South"
BARS = 15  # rows of a picture
COVERAGE = 0.9  # of the error bars
BLUE, ORANGE = "#0072B2", "#D55E00"

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #222;
  background: #fff; }}
h1, h2 {{ line-height: 1.2; }} figure {{ margin: 1.5rem 0; }} svg {{ width: 100%; height: auto; }}
figcaption {{ color: #444; font-size: 0.9rem; }} .warning {{ border: 2px solid #D55E00; padding: 0.5rem 1rem; }}
pre {{ background: #f4f4f4; padding: 0.7rem; overflow-x: auto; }}
</style></head>
<body>
<h1>{title}</h1>
{warning}
<p>Released are noisy counts of transitions between {states:,} states, on {pairs:,} pairs. All else is computed from
these counts and from public choices.</p>
{pictures}
<h2>What is protected, and how</h2>
<ul>{sentences}</ul>
<h2>The files</h2>
<p><code>counts</code>: the noisy counts, which may be negative. <code>chain</code>: the probabilities estimated from
them. <code>states</code>: the labels in the order of the matrix, the share of departures, whether the row was filled,
and the stationary distribution with error bars where there are any. <code>statement.json</code>: the guarantee, for
programs. A spreadsheet may take a label such as <code>=A1</code> for a formula: open a csv as text there.</p>
<pre>import dpsim
chain = dpsim.load_release("this_folder")
chain.matrix; chain.stationary(); chain.walk(10); chain.synthetic(1000)</pre>
</body>
</html>
"""


def page(chain: PrivateChain, bars: pd.DataFrame | None) -> str:
    """Return the report as HTML, with the error bars of `stationary`."""
    simulation = chain.statement["simulation"]
    return _PAGE.format(
        title="A simulated release" if simulation else "A private Markov chain",
        warning=f'<p class="warning"><strong>{html.escape(SIMULATION)}</strong></p>' if simulation else "",
        states=len(chain.labels),
        pairs=chain.noisy.size,
        pictures=_pictures(chain, bars),
        sentences="".join(f"<li>{html.escape(_seen(s))}</li>" for s in chain.text.splitlines() if s != SIMULATION),
    )


def shown(label: Any) -> str:
    """Return a label as text for a picture: invisible marks spelled out, long words cut.

    >>> print(shown(chr(0x202E) + "x"), shown("a very long label of a place"))
    \\u202ex a very long …f a place
    """
    word = str(label)
    return _seen(word if len(word) <= LONGEST else f"{word[: LONGEST - 10]}…{word[-9:]}")


def _seen(text: str) -> str:
    """Return a text with its control and format characters, and halves of pairs, as codes."""
    hidden = ("Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn")
    codes = (mark.encode("unicode_escape", "surrogatepass").decode() for mark in text)
    return "".join(code if unicodedata.category(mark) in hidden else mark for mark, code in zip(text, codes))


def stationary(chain: PrivateChain) -> pd.DataFrame | None:
    """Return stationary, low, high by label; None where there are no such error bars."""
    try:
        return chain.intervals("stationary", level=COVERAGE)
    except ValueError:  # public, for it follows from what is released
        return None


def _pictures(chain: PrivateChain, bars: pd.DataFrame | None) -> str:
    """Return the page's pictures with their captions."""
    counts = chain.counts.sort_values("noisy_count", ascending=False, kind="stable")
    if not len(counts) or counts["noisy_count"].iloc[0] <= 0:
        return "<p>No pair has a positive noisy count: there is nothing to draw.</p>"
    m = len(counts)
    largest = intervals.count_intervals(chain, 1.0 - (1.0 - COVERAGE) / m).loc[counts.index[:BARS]]
    ends = zip(largest["origin"], largest["destination"])
    found = [
        _figure(
            _bars([f"{shown(a)} → {shown(b)}" for a, b in ends], largest["noisy_count"], largest, "events"),
            f"The largest of {m:,} noisy counts. They were picked for being large, so each red interval has the "
            f"two-sided level 1 - {1 - COVERAGE:.1g} / {m:,}: in {COVERAGE:.0%} of releases all {m:,} such intervals "
            "hold the true counts, after any limit on a unit.",
        ),
    ]
    if bars is not None:
        top = bars.sort_values("stationary", ascending=False, kind="stable").head(BARS)
        picture = _bars([shown(label) for label in top.index], top["stationary"], top, "share of time")
        words = f"each red interval, by the delta method, holds the value of the table's own chain in {COVERAGE:.0%} of"
        found.append(_figure(picture, f"The stationary distribution in the busiest states ({words} releases)."))
    return "\n".join(found)


def _bars(names: list[str], values: pd.Series, ends: pd.DataFrame, unit: str) -> Figure:
    """Return horizontal bars with error bars."""
    figure = Figure(figsize=(7.2, 0.6 + 0.24 * len(names)), layout="constrained")
    axes = figure.subplots()
    place, middle = np.arange(len(names)), 0.5 * (ends["low"] + ends["high"])
    axes.barh(place, values, color=BLUE)
    axes.errorbar(middle, place, xerr=ends["high"] - middle, fmt="none", ecolor=ORANGE, capsize=3)
    axes.set_yticks(place, names, parse_math=False)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    return figure


def _figure(picture: Figure, caption: str) -> str:
    """Return a picture and its caption, its words as text in the reader's own fonts."""
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "release"}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a label's marks that matplotlib's own font lacks
        picture.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    svg = stream.getvalue()
    return f"<figure>{svg[svg.index('<svg') :]}<figcaption>{caption}</figcaption></figure>"
