"""Drawings of two kinds of graphs: the modified Hamming automaton, and small chains."""

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

NODE = 25.0
"""The diameter of a state, in points."""
INNER = 21.0
"""The diameter of the second circle of an accepting state, in points."""
WIDTH = 1.6
"""The distance between columns of states."""
HEIGHT = 0.65
"""The distance between the states of a column."""
ASIDE = 1.5
"""The factor of HEIGHT for states with a last letter, because their arrows cross."""
BEND = 0.13
"""How far arrows between the same two states are bent, as a share of their length."""


def draw_automaton(
    ax: Any,
    V: Mapping[State, int],
    mu: Policy,
    start: State,
    *,
    highlight: Sequence[Hashable] = (),
) -> pd.DataFrame:
    """Return the transitions that a policy can make from the start, and draw them.

    Each state is a circle, or two circles if it is accepting. The circle contains the
    number of letters written, a bar, the number of mismatches and, if it matters, the
    last letter. Below the circle, V is written in grey. Each arrow stands for a letter,
    whose probability is written in vermilion beside it.

    The columns of the returned table are position, mismatches, state, letter,
    next_mismatches, next_state, probability, words and next_words.

    Parameters
    ----------
    ax : Axes, which is hidden and gets equal scales
    V : mapping
        The number of words that can still be written from each state. A state consists
        of the letters written, the mismatches and the last letter ("" over an
        alphabet).
    mu : mapping
        The probability of each (next state, letter), for each state that is not
        accepting.
    start : state
    highlight : sequence of letters, a word whose path is plotted in thick blue arrows
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
    for state, letter, after, p in edges:
        beside = [edge[1] for edge in edges if (edge[0], edge[2]) == (state, after)]
        bend = BEND * (2 * beside.index(letter) - len(beside) + 1)
        tail = places[state]
        head = places[after]
        _arrow(ax, tail, head, bend, (state, letter) in path)
        probability = Fraction(p).limit_denominator(V[state])
        along = 0.26 if after[2] else 0.5
        _label(ax, tail, head, bend, along, f"{letter}", f"{probability}")
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
    columns = "position mismatches state letter next_mismatches next_state probability"
    return pd.DataFrame(rows, columns=[*columns.split(), "words", "next_words"])


def draw_chain(
    ax: Any, adjacency: ArrayLike, places: ArrayLike, labels: Sequence[str]
) -> None:
    """Draw the feasible transitions of a chain as arrows between circles.

    Parameters
    ----------
    ax : Axes, which is hidden and gets equal scales
    adjacency : array_like, shape (m, m)
        It is 0 on the diagonal, and positive where the chain may go from row to column.
    places : array_like, shape (m, 2), the centres of the circles
    labels : sequence of m str, the short names of the states
    """
    feasible = np.asarray(adjacency) > 0
    centres = np.asarray(places)
    for source, target in np.argwhere(feasible):
        bend = BEND if feasible[target, source] else 0.0
        _arrow(ax, centres[source], centres[target], bend)
    for place, label in zip(centres, labels):
        _circle(ax, place, label)
    _frame(ax, centres, 0.35 * float(np.ptp(centres, axis=0).max()))


def _edges_from(mu: Policy, start: State) -> list[tuple[State, Hashable, State, float]]:
    """Return all edges (state, letter, next state, probability) that can be reached.

    They are in the order of their positions.
    """
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
    """Return the positions of the states, with a column for each number of letters.

    In each column, the states with the fewest mismatches are at the top. Over an
    alphabet, the height of a state is given by its number of mismatches.
    """
    places = {}
    for position in {state[0] for state in states}:
        column = [state for state in states if state[0] == position]
        column.sort(key=lambda state: (state[1], str(state[2])))
        for rank, state in enumerate(column):
            level = ASIDE * ((len(column) - 1) / 2 - rank) if state[2] else -state[1]
            places[state] = np.array([WIDTH * position, HEIGHT * level])
    return places


def _arrow(ax: Any, tail: Any, head: Any, bend: float, thick: bool = False) -> None:
    """Draw an arrow, bent by `bend`, between two states."""
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
    probability: str,
) -> None:
    """Write a letter and its probability at the fraction `along` of an arrow."""
    reach = head - tail
    control = (tail + head) / 2 + bend * np.array([reach[1], -reach[0]])
    x, y = (1 - along) ** 2 * tail + 2 * along * (1 - along) * control + along**2 * head
    texts: list[Any] = [
        TextArea(letter, textprops={"fontsize": SMALL}),
        TextArea(probability, textprops={"fontsize": SMALL, "color": OURS}),
    ]
    packed = HPacker(children=texts, pad=0, sep=2)
    around = {"facecolor": "white", "edgecolor": "none"}
    ax.add_artist(AnnotationBbox(packed, (x, y), bboxprops=around, pad=0.1, zorder=4))


def _circle(
    ax: Any,
    place: Array,
    name: str,
    accepting: bool = False,
    linespacing: float | None = None,
) -> None:
    """Draw a state, with a second circle if it is accepting."""
    ax.plot(*place, "o", ms=NODE, mfc="white", mec="black", mew=0.8, zorder=5)
    if accepting:
        ax.plot(*place, "o", ms=INNER, mfc="none", mec="black", mew=0.6, zorder=5)
    ax.text(
        *place,
        name,
        ha="center",
        va="center",
        fontsize=SMALL,
        linespacing=linespacing,
        zorder=6,
    )


def _frame(ax: Any, places: Array, margin: float) -> None:
    """Hide the axes, and give them equal scales and limits around these positions."""
    low = places.min(axis=0) - margin
    high = places.max(axis=0) + margin
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.set_axis_off()
