"""Drawn graphs: the modified Hamming automaton with its policy, and the transitions of a small chain.

Everything is laid out by the meaning of the states, letters written from left to right, and drawn with
matplotlib on the axes that are given; the axes are hidden and get equal scales.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea
from matplotlib.patches import FancyArrowPatch
from numpy.typing import ArrayLike, NDArray

from dpsim import checks
from dpsim.figures import house_style
from dpsim.words.automaton import HammingAutomaton

Array = NDArray[np.float64]

# Words up to which the number of words behind each state follows exactly from the policy, and a drawing is legible.
LARGEST = 10**6
NODE, INNER = 21.0, 17.5  # diameters of a state and of the second circle of an accepting one, in points
BEND = 0.13  # bow of arrows that join the same two states, as a share of their length
TEXT, SMALL = 7.0, 6.0  # points


def transitions(automaton: HammingAutomaton, distance: int) -> pd.DataFrame:
    """Return the transitions that some word at this distance takes, one row each, from the first letter to the last.

    Parameters
    ----------
    automaton : HammingAutomaton
    distance : int
        In 0..n.

    Returns
    -------
    DataFrame
        Columns: position and mismatches (letters and mismatches written), state (the last letter, the start state
        before the first; "" over an alphabet), letter (the one to write), next_mismatches, next_state, probability
        (the policy's, mu), words and next_words (V: how many words are still open before and after, integers).

    Raises
    ------
    ValueError
        Where no word or more than a million words have the distance.

    Examples
    --------
    >>> from dpsim import figures, words
    >>> len(figures.transitions(words.HammingAutomaton("ab", letters="abc"), 1))
    6
    """
    policy = automaton.policy(distance)
    total = checks.integer("number of words at the distance", automaton.counts[distance], 1, LARGEST)
    labels, chain = automaton.space.labels, automaton.space.chain
    names = [""] if chain is None else labels
    open_words = {(0, 0 if chain is None else chain.start): total}
    rows = []
    for position, correct in enumerate(automaton.codes.tolist()):
        reached = {}
        for (mismatches, state), words in sorted(open_words.items()):
            for letter in np.flatnonzero(policy[position, mismatches, state]).tolist():
                probability = policy[position, mismatches, state, letter]
                target = (mismatches + (letter != correct), 0 if chain is None else letter)
                reached[target] = round(probability * words)
                step = (names[state], labels[letter], target[0], names[target[1]])
                rows.append((position, mismatches, *step, probability, words, reached[target]))
        open_words = reached
    columns = "position mismatches state letter next_mismatches next_state probability words next_words"
    return pd.DataFrame(rows, columns=columns.split())


def draw_automaton(
    ax: Any,
    automaton: HammingAutomaton,
    distance: int,
    *,
    width: float,
    height: float,
    highlight: Sequence[Hashable] | None = None,
) -> pd.DataFrame:
    """Draw the automaton of the words at a distance, with its policy on the arrows, and return its `transitions`.

    Parameters
    ----------
    ax : Axes
    automaton : HammingAutomaton
    distance : int
        In 0..n.
    width, height : float
        Distance of neighbouring states, in units of the axes.
    highlight : sequence of letters, optional
        A word at the distance whose path is drawn thick, in blue.

    Returns
    -------
    DataFrame
        As `transitions`.

    Raises
    ------
    ValueError
        Where `highlight` has another distance or is infeasible, and as `transitions` does.

    Notes
    -----
    A circle is a state: letters written, mismatches as superscript, on a chain the last letter below; the
    accepting states have two circles. Beside each circle in grey the words still open, V. An arrow is a letter, its
    probability in vermilion.
    """
    table = transitions(automaton, distance)
    followed = set() if highlight is None else _path(automaton, distance, highlight)
    first = table[["position", "mismatches", "state", "words"]].to_numpy(object)
    following = table[["position", "next_mismatches", "next_state", "next_words"]].to_numpy(object)
    nodes = {tuple(row[:3]): row[3] for row in first}
    nodes |= {(row[0] + 1, *row[1:3]): row[3] for row in following}
    places = _columns(list(nodes), width, height)
    on_chain = automaton.space.chain is not None
    for (source, target), arrows in _grouped(table).items():
        bends = BEND * (np.arange(len(arrows)) - (len(arrows) - 1) / 2) * 2
        for bend, arrow in zip(bends, arrows):
            chance = Fraction(arrow.probability).limit_denominator(arrow.words)
            along = 0.23 if on_chain else 0.5
            label = ("" if on_chain else f"{arrow.letter}", f"{chance}")
            thick = (*source, arrow.letter) in followed
            _arrow(ax, places[source], places[target], bend, label, along, thick)
    for node, words in nodes.items():
        place, accepting = places[node], node[0] == automaton.length
        _circle(ax, place, accepting)
        name = f"${node[0]}^{{{node[1]}}}$" + (f"\n{node[2]}" if on_chain else "")
        ax.text(*place, name, ha="center", va="center", fontsize=TEXT, linespacing=0.95, zorder=6)
        aside = {"textcoords": "offset points", "ha": "center", "va": "top", "fontsize": SMALL, "color": "0.45"}
        ax.annotate(f"{words}", place, (0, -NODE / 2 - 1), zorder=6, **aside)
    _frame(ax, np.array(list(places.values())), 0.45 * height)
    return table


def draw_chain(ax: Any, adjacency: ArrayLike, places: ArrayLike, labels: Sequence[str]) -> None:
    """Draw the feasible transitions of a chain as arrows between circles.

    Parameters
    ----------
    ax : Axes
    adjacency : array_like, shape (m, m)
        Non-zero where the row may be followed by the column, other than itself.
    places : array_like, shape (m, 2)
        Centres of the circles.
    labels : sequence of m str
        Short names.

    Raises
    ------
    ValueError
        Where the shapes do not fit.
    """
    feasible, centres = checks.real("adjacency", adjacency, 0.0) > 0, checks.real("places", places)
    m = len(labels)
    if feasible.shape != (m, m) or centres.shape != (m, 2):
        raise ValueError(
            f"adjacency and places must have shapes ({m}, {m}) and ({m}, 2), got {feasible.shape}, {centres.shape}"
        )
    if feasible.diagonal().any():
        raise ValueError(
            f"adjacency must have no transition of a state to itself, got {labels[int(feasible.diagonal().argmax())]!r}"
        )
    for source, target in np.argwhere(feasible):
        _arrow(ax, centres[source], centres[target], BEND if feasible[target, source] else 0.0, None, 0.5)
    for place, label in zip(centres, labels):
        _circle(ax, place, False)
        ax.text(*place, label, ha="center", va="center", fontsize=TEXT, zorder=6)
    _frame(ax, centres, 0.35 * float(np.ptp(centres, axis=0).max()))


def _columns(nodes: list[tuple[Any, ...]], width: float, height: float) -> dict[tuple[Any, ...], Array]:
    """Return where states go: letters written to the right; the states of a column spread evenly, fewest mismatches
    on top, and over an alphabet at the height of their mismatches.
    """
    places = {}
    for position in {node[0] for node in nodes}:
        column = [node for node in nodes if node[0] == position]
        column.sort(key=lambda node: (node[1], str(node[2])))
        for rank, node in enumerate(column):
            level = (len(column) - 1) / 2 - rank if node[2] else -node[1]
            places[node] = np.array([width * position, height * level])
    return places


def _grouped(table: pd.DataFrame) -> dict[tuple[Any, Any], list[Any]]:
    """Return the edges of an automaton by their two ends: edges that share both are drawn as one."""
    groups: dict[tuple[Any, Any], list[Any]] = {}
    for row in table.itertuples():
        source = (row.position, row.mismatches, row.state)
        target = (row.position + 1, row.next_mismatches, row.next_state)
        groups.setdefault((source, target), []).append(row)
    return groups


def _path(automaton: HammingAutomaton, distance: int, word: Sequence[Hashable]) -> set[tuple[Any, ...]]:
    """Return the arrows (position, mismatches, state, letter) that a word at the distance takes."""
    codes, labels, chain = automaton.space.encode(word), automaton.space.labels, automaton.space.chain
    if len(codes) != automaton.length or (codes != automaton.codes).sum() != distance:
        raise ValueError(f"highlight must have {automaton.length} letters and distance {distance}, got {word!r}")
    wrong = codes != automaton.codes
    states = [""] * len(codes) if chain is None else [labels[code] for code in (chain.start, *codes[:-1])]
    written = np.cumsum(wrong) - wrong
    return {(i, int(written[i]), states[i], labels[code]) for i, code in enumerate(codes)}


def _arrow(
    ax: Any,
    tail: Array,
    head: Array,
    bend: float,
    label: tuple[str, str] | None,
    along: float,
    thick: bool = False,
) -> None:
    """Draw an arrow between two states, bowed by `bend`, with (letter, probability) on a share `along` of it."""
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
    looks: list[dict[str, Any]] = [{"fontsize": TEXT}, {"fontsize": TEXT, "color": house_style.OURS}]
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
