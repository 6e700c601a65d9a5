"""Drawn graphs: the modified Hamming automaton with its policy, and the transitions of a small chain.

The layout follows the meaning of the states, with letters written from left to right. The functions draw on given
matplotlib axes, which are hidden and get equal scales.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea
from matplotlib.patches import FancyArrowPatch
from numpy.typing import ArrayLike

from dpsim.checks import Array
from dpsim.figures import house_style

State = tuple[int, int, Hashable]
Policy = Mapping[State, Mapping[tuple[State, Hashable], float]]

NODE, INNER = 25.0, 21.0  # diameters of a state and of the second circle of an accepting one, in points
WIDTH, HEIGHT = 1.6, 0.65  # distance between neighbouring states, in units of the axes
ASIDE = 1.5  # the height, as a multiple of HEIGHT, where states have last letters, because arrows cross there
BEND = 0.13  # bow of arrows that join the same two states, as a share of their length


def draw_automaton(
    ax: Any, V: Mapping[State, int], mu: Policy, start: State, *, highlight: Sequence[Hashable] = ()
) -> pd.DataFrame:
    """Return the transitions that a policy reaches from the start state, from the first letter on, and draw them.

    Their columns are position, mismatches, state, letter, next_mismatches, next_state, probability, words, next_words.
    Each circle is a state. In it are the numbers of letters written and of mismatches, separated by a bar, and below
    them the last letter if it matters. The accepting states have two circles. Beside each circle, in grey, is V, the
    number of words that are still open. Each arrow is a letter, with its probability in vermilion.

    Parameters
    ----------
    ax : Axes
    V : mapping
        The number of words still open in each state (letters written, mismatches, last letter; "" over an alphabet).
    mu : mapping, the probability of each (next state, letter) in each state that is not accepting
    start : state
    highlight : sequence of letters, a word whose path is drawn thick, in blue
    """
    edges = _reached(mu, start)
    nodes = list(dict.fromkeys([start, *(edge[2] for edge in edges)]))
    places = _columns(nodes)
    followed = _path(edges, start, highlight)
    for source, target in dict.fromkeys((source, target) for source, _, target, _ in edges):
        arrows = [edge for edge in edges if (edge[0], edge[2]) == (source, target)]
        bends = BEND * (np.arange(len(arrows)) - (len(arrows) - 1) / 2) * 2
        for bend, edge in zip(bends, arrows):
            chance = Fraction(edge[3]).limit_denominator(V[source])
            label = (f"{edge[1]}", f"{chance}")
            _arrow(ax, places[source], places[target], bend, label, 0.26 if target[2] else 0.5, edge in followed)
    last = max(node[0] for node in nodes)
    for node, place in places.items():
        _circle(ax, place, node[0] == last)
        name = f"${node[0]}|{node[1]}$" + (f"\n{node[2]}" if node[2] else "")
        ax.text(*place, name, ha="center", va="center", fontsize=house_style.SMALL, linespacing=1.05, zorder=6)
        aside = {"textcoords": "offset points", "ha": "center", "va": "top", "fontsize": house_style.SMALL}
        ax.annotate(f"{V[node]}", place, (0, -NODE / 2 - 1), zorder=6, color="0.4", **aside)
    _frame(ax, np.array(list(places.values())), 0.5 * HEIGHT)
    rows = [(*a[:2], a[2], y, b[1], b[2], p, V[a], V[b]) for a, y, b, p in edges]
    columns = "position mismatches state letter next_mismatches next_state probability words next_words"
    return pd.DataFrame(rows, columns=columns.split())


def draw_chain(ax: Any, adjacency: ArrayLike, places: ArrayLike, labels: Sequence[str]) -> None:
    """Draw the feasible transitions of a chain as arrows between circles.

    Parameters
    ----------
    ax : Axes
    adjacency : array_like, shape (m, m), non-zero where the row may be followed by the column, except by itself
    places, labels : array_like, shape (m, 2), and m str: centres of the circles, and short names
    """
    feasible, centres = np.asarray(adjacency) > 0, np.asarray(places)
    for source, target in np.argwhere(feasible):
        _arrow(ax, centres[source], centres[target], BEND if feasible[target, source] else 0.0, None, 0.5)
    for place, label in zip(centres, labels):
        _circle(ax, place, False)
        ax.text(*place, label, ha="center", va="center", fontsize=house_style.SMALL, zorder=6)
    _frame(ax, centres, 0.35 * float(np.ptp(centres, axis=0).max()))


def _reached(mu: Policy, start: State) -> list[tuple[State, Hashable, State, float]]:
    """Return the edges (state, letter, next state, probability) that lead on from the start."""
    edges: list[tuple[State, Hashable, State, float]] = []
    states = [start]
    while states:
        found = [(state, letter, after, p) for state in states for (after, letter), p in mu.get(state, {}).items()]
        edges += found
        states = sorted({after for _, _, after, _ in found}, key=str)
    return edges


def _path(edges: list[Any], start: State, word: Sequence[Hashable]) -> list[Any]:
    """Return the edges of a word; ValueError where there is none for one of its letters."""
    state, taken = start, []
    for letter in word:
        options = [edge for edge in edges if edge[0] == state and edge[1] == letter]
        if not options:
            raise ValueError(f"highlight must be a word that the automaton writes, got {word!r}")
        taken += options
        state = options[0][2]
    return taken


def _columns(nodes: list[State]) -> dict[State, Array]:
    """Return the places of the states. The number of letters written grows to the right. In each column the fewest
    mismatches are on top; the states are spaced evenly, or over an alphabet by the number of mismatches."""
    places = {}
    for position in {node[0] for node in nodes}:
        column = [node for node in nodes if node[0] == position]
        column.sort(key=lambda node: (node[1], str(node[2])))
        for rank, node in enumerate(column):
            level = ASIDE * ((len(column) - 1) / 2 - rank) if node[2] else -node[1]
            places[node] = np.array([WIDTH * position, HEIGHT * level])
    return places


def _arrow(
    ax: Any,
    tail: Array,
    head: Array,
    bend: float,
    label: tuple[str, str] | None,
    along: float,
    thick: bool = False,
) -> None:
    """Draw an arrow between two states, bowed by `bend`, with (letter, probability) at a share `along` of it."""
    style: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 7, "lw": 0.7, "color": "0.25", "zorder": 2}
    if thick:
        style |= {"lw": 2.0, "color": house_style.PAPER, "mutation_scale": 9}
    style |= {"connectionstyle": f"arc3,rad={bend}", "shrinkA": NODE / 2, "shrinkB": NODE / 2 + 0.5}
    ends = (float(tail[0]), float(tail[1])), (float(head[0]), float(head[1]))
    ax.add_patch(FancyArrowPatch(*ends, **style))
    if label is None:
        return
    reach = head - tail
    control = (tail + head) / 2 + bend * np.array([reach[1], -reach[0]])
    x, y = (1 - along) ** 2 * tail + 2 * along * (1 - along) * control + along**2 * head
    looks: list[dict[str, Any]] = [
        {"fontsize": house_style.SMALL},
        {"fontsize": house_style.SMALL, "color": house_style.OURS},
    ]
    parts: list[Any] = [TextArea(text, textprops=look) for text, look in zip(label, looks) if text]
    around = {"facecolor": "white", "edgecolor": "none"}
    packed = HPacker(children=parts, pad=0, sep=2)
    ax.add_artist(AnnotationBbox(packed, (float(x), float(y)), bboxprops=around, pad=0.1, zorder=4))


def _circle(ax: Any, place: Array, accepting: bool) -> None:
    ax.plot(*place, "o", ms=NODE, mfc="white", mec="black", mew=0.8, zorder=5)
    if accepting:
        ax.plot(*place, "o", ms=INNER, mfc="none", mec="black", mew=0.6, zorder=5)


def _frame(ax: Any, places: Array, margin: float) -> None:
    low, high = places.min(axis=0) - margin, places.max(axis=0) + margin
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.set_axis_off()
