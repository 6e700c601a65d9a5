"""Drawn graphs: the modified Hamming automaton with its policy, and the transitions of
a small chain.

The layout follows the meaning of the states, with letters written from left to right.
The functions draw on given matplotlib axes, which are hidden and get equal scales.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea
from matplotlib.patches import FancyArrowPatch
from numpy.typing import ArrayLike

from dpsim.checks import Array
from dpsim.figures.house_style import OURS, PAPER, SMALL

State = tuple[int, int, Hashable]
Policy = Mapping[State, Mapping[tuple[State, Hashable], float]]

NODE, INNER = (
    25.0,
    21.0,
)  # diameters of a state and of the second circle of an accepting one, in points
WIDTH, HEIGHT = 1.6, 0.65  # distance between neighbouring states, in units of the axes
ASIDE = 1.5  # the height, as a multiple of HEIGHT, where states have last letters, because arrows cross there
BEND = 0.13  # bow of arrows that join the same two states, as a share of their length


def draw_automaton(
    ax: Any,
    V: Mapping[State, int],
    mu: Policy,
    start: State,
    *,
    highlight: Sequence[Hashable] = (),
) -> pd.DataFrame:
    """Return the transitions that a policy reaches from the start state, beginning with
    the first letter, and draw them.

    Their columns are position, mismatches, state, letter, next_mismatches, next_state,
    probability, words, next_words. Each circle is a state. It contains the numbers of
    letters written and of mismatches, separated by a bar, and below them the last
    letter if it matters. The accepting states have two circles. The grey number below
    each circle is V, the number of words that are still open. Each arrow is a letter,
    with its probability in vermilion.

    Parameters
    ----------
    ax : Axes
    V : mapping
        The number of words still open in each state (letters written, mismatches, last
        letter; "" over an alphabet).
    mu : mapping, the probability of each (next state, letter) in each state that is not
        accepting
    start : state
    highlight : sequence of letters, a word whose path is drawn thick, in blue
    """
    edges = _edges_from(mu, start)
    places = _places({start, *(after for _, _, after, _ in edges)})
    following = {edge[:2]: edge[2] for edge in edges}
    path = []
    state = start
    for letter in highlight:
        path.append((state, letter))
        if path[-1] not in following:
            raise ValueError(
                f"highlight must be a word that the automaton writes, got {highlight!r}"
            )
        state = following[path[-1]]
    for state, letter, after, probability in edges:
        beside = [edge[1] for edge in edges if (edge[0], edge[2]) == (state, after)]
        bend = BEND * (2 * beside.index(letter) - len(beside) + 1)
        _arrow(ax, places[state], places[after], bend, (state, letter) in path)
        chance = Fraction(probability).limit_denominator(V[state])
        _label(
            ax,
            places[state],
            places[after],
            bend,
            0.26 if after[2] else 0.5,
            f"{letter}",
            f"{chance}",
        )
    for node, place in places.items():
        name = f"${node[0]}|{node[1]}$" + (f"\n{node[2]}" if node[2] else "")
        _circle(ax, place, name, accepting=node not in mu, linespacing=1.05)
        ax.annotate(
            f"{V[node]}",
            place,
            (0, -NODE / 2 - 1),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=SMALL,
            color="0.4",
            zorder=6,
        )
    _frame(ax, np.array(list(places.values())), 0.5 * HEIGHT)
    rows = [(*a, y, b[1], b[2], p, V[a], V[b]) for a, y, b, p in edges]
    columns = "position mismatches state letter next_mismatches next_state probability words next_words"
    return pd.DataFrame(rows, columns=columns.split())


def draw_chain(
    ax: Any, adjacency: ArrayLike, places: ArrayLike, labels: Sequence[str]
) -> None:
    """Draw the feasible transitions of a chain as arrows between circles.

    Parameters
    ----------
    ax : Axes
    adjacency : array_like, shape (m, m), 0 on the diagonal, and non-zero where the
        chain may go from row to column
    places, labels : array_like, shape (m, 2), the centres of the circles, and m str,
        their short names
    """
    feasible = np.asarray(adjacency) > 0
    centres = np.asarray(places)
    for source, target in np.argwhere(feasible):
        _arrow(
            ax,
            centres[source],
            centres[target],
            BEND if feasible[target, source] else 0.0,
        )
    for place, label in zip(centres, labels):
        _circle(ax, place, label)
    _frame(ax, centres, 0.35 * float(np.ptp(centres, axis=0).max()))


def _edges_from(mu: Policy, start: State) -> list[tuple[State, Hashable, State, float]]:
    """Return the edges (state, letter, next state, probability) that lead on from the
    start."""
    edges: list[tuple[State, Hashable, State, float]] = []
    states = [start]
    while states:
        found = [
            (state, letter, after, p)
            for state in states
            for (after, letter), p in mu.get(state, {}).items()
        ]
        edges += found
        states = sorted({after for _, _, after, _ in found}, key=str)
    return edges


def _places(states: Collection[State]) -> dict[State, Array]:
    """Return the places of the states. The number of letters written grows to the
    right. In each column the states with the fewest mismatches are at the top; the
    states are spaced evenly or, over an alphabet, according to their number of
    mismatches."""
    places = {}
    for position in {state[0] for state in states}:
        column = [state for state in states if state[0] == position]
        for rank, state in enumerate(
            sorted(column, key=lambda state: (state[1], str(state[2])))
        ):
            level = ASIDE * ((len(column) - 1) / 2 - rank) if state[2] else -state[1]
            places[state] = np.array([WIDTH * position, HEIGHT * level])
    return places


def _arrow(ax: Any, tail: Any, head: Any, bend: float, thick: bool = False) -> None:
    """Draw an arrow between two states, bowed by `bend`."""
    arrow = FancyArrowPatch(
        tail,
        head,
        arrowstyle="-|>",
        connectionstyle=f"arc3,rad={bend}",
        mutation_scale=9 if thick else 7,
        lw=2.0 if thick else 0.7,
        color=PAPER if thick else "0.25",
        shrinkA=NODE / 2,
        shrinkB=NODE / 2 + 0.5,
        zorder=2,
    )
    ax.add_patch(arrow)


def _label(
    ax: Any,
    tail: Array,
    head: Array,
    bend: float,
    along: float,
    letter: str,
    chance: str,
) -> None:
    """Write a letter and its probability on a bowed arrow, at the fraction `along` of
    the way to its head."""
    reach = head - tail
    control = (tail + head) / 2 + bend * np.array([reach[1], -reach[0]])
    x, y = (1 - along) ** 2 * tail + 2 * along * (1 - along) * control + along**2 * head
    texts: list[Any] = [
        TextArea(letter, textprops={"fontsize": SMALL}),
        TextArea(chance, textprops={"fontsize": SMALL, "color": OURS}),
    ]
    packed = HPacker(children=texts, pad=0, sep=2)
    around = {"facecolor": "white", "edgecolor": "none"}
    ax.add_artist(AnnotationBbox(packed, (x, y), bboxprops=around, pad=0.1, zorder=4))


def _circle(
    ax: Any, place: Array, name: str, accepting: bool = False, **look: Any
) -> None:
    """Draw a state, with a second circle if it is accepting, and with keywords of its
    text."""
    ax.plot(*place, "o", ms=NODE, mfc="white", mec="black", mew=0.8, zorder=5)
    if accepting:
        ax.plot(*place, "o", ms=INNER, mfc="none", mec="black", mew=0.6, zorder=5)
    ax.text(*place, name, ha="center", va="center", fontsize=SMALL, zorder=6, **look)


def _frame(ax: Any, places: Array, margin: float) -> None:
    low, high = places.min(axis=0) - margin, places.max(axis=0) + margin
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.set_axis_off()
