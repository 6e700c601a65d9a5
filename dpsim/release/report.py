"""The report of a release: one HTML page with its pictures, made from what is released alone.

Labels come from data, so every one of them is written as text: markup is escaped, marks that cannot be seen or that
turn the direction of writing are spelled out, and long words are cut (the tables hold them whole).
"""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpsim.private import SIMULATION
from dpsim.release import intervals
from dpsim.release.chain import PrivateChain

LONGEST = 22  # characters of a label that are shown: its ends, which tell "North" from "South"
IN_MAP, FLOWS, BARS = 12, 30, 15  # states and flows in the map, rows of the other pictures
COVERAGE = 0.9  # of the error bars
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #222;
  background: #fff; }
h1, h2 { line-height: 1.2; } figure { margin: 1.5rem 0; } svg { width: 100%; height: auto; }
figcaption { color: #444; font-size: 0.9rem; } .warning { border: 2px solid #D55E00; padding: 0.5rem 1rem; }
code, pre { background: #f4f4f4; } pre { padding: 0.7rem; overflow-x: auto; } bdi { overflow-wrap: anywhere; }
"""

_USE = """import dpsim
chain = dpsim.load_release("this_folder")
chain.matrix; chain.stationary(); chain.walk(10); chain.synthetic(1000)"""


def page(chain: PrivateChain) -> str:
    """Return the report as HTML: what was released, how it is protected, pictures, how to read it."""
    s = chain.statement
    title = "A simulated release" if s["simulation"] else "A private Markov chain"
    warning = f'<p class="warning"><strong>{html.escape(SIMULATION)}</strong></p>' if s["simulation"] else ""
    sentences = [line for line in chain.text.splitlines() if line != SIMULATION]
    return f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{_STYLE}</style></head>
<body>
<h1>{title}</h1>
{warning}
<p>Released are noisy counts of transitions between {len(chain.labels):,} states, on {chain.noisy.size:,} pairs. The
chain, its pictures and everything else on this page are computed from these counts and from public choices; none of it
looks at the data again.</p>
{_pictures(chain)}
<h2>What is protected, and how</h2>
<ul>{"".join(f"<li>{_sentence(line)}</li>" for line in sentences)}</ul>
<h2>The files</h2>
<ul>
<li><code>counts</code>: origin, destination, noisy_count. Noisy counts may be negative.</li>
<li><code>chain</code>: origin, destination, probability, estimated from the noisy counts.</li>
<li><code>states</code>: the labels in the order of the matrix, the estimated share of departures, whether the row had
to be filled, and the stationary distribution with its error bars where the chain has one.</li>
<li><code>statement.json</code>: the guarantee and everything it rests on, for programs.</li>
</ul>
<p>Tables come as csv and as Parquet. Labels are written unchanged; a spreadsheet may take a label such as
<code>=A1</code> for a formula, so open the csv as text there.</p>
<pre>{html.escape(_USE)}</pre>
</body>
</html>
"""


def shown(label: Any) -> str:
    """Return a label as text for a page: invisible marks spelled out, long words cut, markup escaped.

    Examples
    --------
    >>> shown("<b>"), shown(chr(0x202E) + "x")
    ('&lt;b&gt;', '\\\\u202ex')
    """
    word = str(label)
    if len(word) > LONGEST:
        word = f"{word[: LONGEST - 10]}…{word[-9:]}"
    text = "".join(_visible(mark) for mark in word)
    return html.escape(text)


def _visible(mark: str) -> str:
    """Return a character, or its code where it is a control or format character or half of a pair."""
    if unicodedata.category(mark)[0] == "C" or unicodedata.category(mark) in ("Zl", "Zp"):
        return mark.encode("unicode_escape", "surrogatepass").decode("ascii")
    return mark


def _sentence(line: str) -> str:
    """Return a sentence of the statement as text; it may hold labels."""
    return "".join(html.escape(_visible(mark)) for mark in line)


# --- pictures ---------------------------------------------------------------------------------------------------------


def _pictures(chain: PrivateChain) -> str:
    """Return the page's pictures: flows, largest counts and, where there is one, the stationary law."""
    if not chain.counts["noisy_count"].gt(0).any():
        return "<p>No pair has a positive noisy count: there is nothing to draw.</p>"
    largest = _largest(chain)
    often = f"each red interval holds the true value in {COVERAGE:.0%} of releases; after any limits on a unit"
    pictures = [
        _figure(
            _map(chain),
            f"The largest flows: the {min(IN_MAP, len(chain.labels))} busiest states, and the largest noisy counts "
            "between them. An arrow's width is its count; a ring is the flow from a state to itself.",
        ),
        _figure(_bars(largest, "{:,.0f}"), f"The largest noisy counts ({often})."),
    ]
    pi = stationary(chain)
    if pi is not None:
        busiest = pi.sort_values("value", ascending=False, kind="stable").head(BARS)
        pictures.append(
            _figure(
                _bars(busiest[["name", "value", "low", "high"]], "{:.2%}"),
                "The stationary distribution: the share of time in the busiest states in the long run, under the "
                f"table's own chain ({often}, by the delta method).",
            )
        )
    return "\n".join(pictures)


def _figure(picture: str, caption: str) -> str:
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


def half_width(chain: PrivateChain, coverage: float = COVERAGE) -> int:
    """Return the least integer that the noise of a count exceeds, in either direction, at most 1 - coverage often."""
    most = math.log((1.0 - coverage) / 2.0)
    high = 1
    while chain.noise.log_tail(high + 1) > most:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chain.noise.log_tail(middle + 1) <= most else (middle, high)
    return 0 if high == 1 and chain.noise.log_tail(1) <= most else high


def stationary(chain: PrivateChain) -> pd.DataFrame | None:
    """Return name (as text for a page), value, low, high; None where the chain has no error bars of it."""
    try:
        table = chain.intervals("stationary", level=COVERAGE)
        value = chain.stationary().to_numpy()
    except (ValueError, np.linalg.LinAlgError):  # reducible, too large, or nothing was released: public
        return None
    names = [shown(label) for label in table.index]
    return pd.DataFrame({"name": names, "value": value, "low": table["low"].array, "high": table["high"].array})


def _largest(chain: PrivateChain) -> pd.DataFrame:
    """Return name, value, low, high of the largest noisy counts."""
    counts = chain.counts.sort_values("noisy_count", ascending=False, kind="stable").head(BARS)
    names = [_pair(origin, destination) for origin, destination in zip(counts["origin"], counts["destination"])]
    noisy, threshold = counts["noisy_count"].to_numpy(), chain.statement["threshold"]
    if threshold is None:
        low, high = noisy - half_width(chain), noisy + half_width(chain)
    else:  # they were chosen for being large
        low, high = intervals.conditional_interval(noisy, threshold, chain.noise, COVERAGE)
    return pd.DataFrame({"name": names, "value": noisy, "low": low, "high": high})


def _bars(table: pd.DataFrame, form: str) -> str:
    """Return horizontal bars with error bars."""
    longest = float(table["high"].max()) or 1.0
    rows = []
    for place, (name, *numbers) in enumerate(table.itertuples(index=False)):
        y = 14 + 22 * place
        end, low, high = (308 + 310 * max(float(x), 0.0) / longest for x in numbers)
        rows.append(
            f'<text x="300" y="{y + 4}" text-anchor="end" font-size="11">{name}</text>'
            f'<rect x="308" y="{y - 7}" width="{end - 308:.1f}" height="14" fill="{BLUE}"/>'
            f'<path d="M{low:.1f} {y}H{high:.1f}M{low:.1f} {y - 4}v8M{high:.1f} {y - 4}v8" stroke="{ORANGE}" '
            'stroke-width="1.5" fill="none"/>'
            f'<text x="{high + 6:.1f}" y="{y + 4}" font-size="11" fill="{GREY}">{form.format(numbers[0])}</text>'
        )
    return _svg(680, 14 + 22 * len(rows), "Bars with error bars", rows)


def _pair(origin: Any, destination: Any) -> str:
    return " → ".join(f'<tspan unicode-bidi="isolate">{shown(label)}</tspan>' for label in (origin, destination))


def _map(chain: PrivateChain) -> str:
    """Return the busiest states on a circle and the largest flows between them."""
    flows = chain.counts
    flows = flows[flows["noisy_count"] > 0]
    busy = flows.groupby("origin")["noisy_count"].sum().add(
        flows.groupby("destination")["noisy_count"].sum(), fill_value=0
    )  # fmt: skip
    order = {label: place for place, label in enumerate(chain.labels)}
    states = sorted(busy.index, key=lambda label: (-busy[label], order[label]))[:IN_MAP]
    inside = flows[flows["origin"].isin(states) & flows["destination"].isin(states)]
    inside = inside.sort_values("noisy_count", ascending=False, kind="stable").head(FLOWS)
    angles = 2 * np.pi * np.arange(len(states)) / len(states) - np.pi / 2
    places = dict(zip(states, np.column_stack([340 + 150 * np.cos(angles), 205 + 150 * np.sin(angles)])))
    widest = float(inside["noisy_count"].max()) if len(inside) else 1.0
    drawn = [_arrow(places[o], places[d], 1 + 9 * n / widest) for o, d, n in inside.itertuples(index=False)]
    for label, (x, y) in places.items():
        side = "end" if x < 335 else "start" if x > 345 else "middle"
        away = np.array([x - 340, y - 205]) / 150
        drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="#fff" stroke="#222" stroke-width="1.5"/>')
        drawn.append(
            f'<text x="{x + 24 * away[0]:.1f}" y="{y + 24 * away[1] + 4:.1f}" text-anchor="{side}" font-size="12" '
            f'unicode-bidi="isolate">{shown(label)}</text>'
        )
    return _svg(680, 410, "Map of the largest flows between the busiest states", drawn)


def _arrow(start: Any, end: Any, width: float) -> str:
    """Return a curved arrow, bent to its right so that both directions are seen; a ring for a state itself."""
    colour = f'stroke="{BLUE}" stroke-opacity="0.55" fill="none"'
    if np.array_equal(start, end):
        x, y = start + 16 * (np.array([340.0, 205.0]) - start) / 150
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="13" stroke-width="{width:.1f}" {colour}/>'
    along = end - start
    across = np.array([-along[1], along[0]])
    bend = 0.5 * (start + end) + 0.12 * across
    tip = end - 9 * (end - bend) / np.hypot(*(end - bend))
    head = 4 + 1.2 * width
    back = tip - head * (end - bend) / np.hypot(*(end - bend))
    wing = 0.5 * head * np.array([-(end - bend)[1], (end - bend)[0]]) / np.hypot(*(end - bend))
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (tip, back + wing, back - wing))
    (x0, y0), (x1, y1), (x2, y2) = start, bend, back
    return (
        f'<path d="M{x0:.1f} {y0:.1f}Q{x1:.1f} {y1:.1f} {x2:.1f} {y2:.1f}" stroke-width="{width:.1f}" {colour}/>'
        f'<polygon points="{points}" fill="{BLUE}" fill-opacity="0.8"/>'
    )


def _svg(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    """Return a picture that screen readers can name."""
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{title}" font-family="system-ui, sans-serif">'
        f"{''.join(parts)}</svg>"
    )
