"""Drawn automata: the transitions are those of all words at the distance, every state
and arrow is drawn."""

import itertools
from collections import Counter

import numpy as np
import pytest
from matplotlib.text import Text

from dpsim.figures import draw_automaton, draw_chain

FOUR = np.array([[0, 1, 1, 1], [1, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]])
PLACES = [(0, 1), (1, 1), (1, 0), (0, 0)]
CHAIN = {"x": "yzw", "y": "xzw", "z": "yw", "w": "yz"}
CASES = {
    "abc": ("abc", 2, "abc", ""),
    "binary": ("0110", 3, "01", ""),
    "chain": ("yzw", 2, "xyzw", "x"),
    "far": ("yzw", 3, "xyzw", "x"),
}


def words_at(w, ell, letters, start):
    """All words at the distance, on the chain those that it allows."""
    for word in itertools.product(letters, repeat=len(w)):
        allowed = not start or all(
            y in CHAIN[x] for x, y in itertools.pairwise((start, *word))
        )
        if allowed and sum(x != y for x, y in zip(word, w)) == ell:
            yield word


def automaton(w, ell, letters, start):
    """V and mu by listing the words: V is the number of ways to go on from a state."""
    suffixes = {}
    steps = {}
    for word in words_at(w, ell, letters, start):
        state = (0, 0, start)
        for i, x in enumerate(word):
            suffixes.setdefault(state, set()).add(word[i:])
            following = (i + 1, state[1] + (x != w[i]), x if start else "")
            steps.setdefault(state, set()).add((following, x))
            state = following
        suffixes.setdefault(state, set()).add(())
    V = {state: len(found) for state, found in suffixes.items()}
    return V, {
        state: {step: V[step[0]] / V[state] for step in found}
        for state, found in steps.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_every_state_and_transition_is_drawn(name, ax):
    w, _, _, start = CASES[name]
    V, mu = automaton(*CASES[name])
    table = draw_automaton(ax, V, mu, (0, 0, start))
    before = zip(table.position, table.mismatches, table.state)
    after = zip(table.position + 1, table.next_mismatches, table.next_state)
    found = set(zip(before, after, table.letter))
    assert found == {(state, *step) for state, steps in mu.items() for step in steps}
    np.testing.assert_allclose(
        table.probability, table.next_words / table.words, rtol=1e-14
    )
    accepting = sum(state[0] == len(w) for state in V)
    assert len(ax.lines) == len(V) + accepting  # accepting states have a second circle
    assert len(ax.patches) == len(table)
    names = [text for text in ax.texts if "$" in text.get_text()]
    assert len(names) == len(V)
    assert len({tuple(text.get_position()) for text in names}) == len(names)


@pytest.mark.parametrize("name", CASES)
def test_the_path_of_a_highlighted_word_is_drawn_thick(name, ax):
    V, mu = automaton(*CASES[name])
    start = (0, 0, CASES[name][3])
    for word in list(words_at(*CASES[name]))[:3]:
        ax.clear()
        table = draw_automaton(ax, V, mu, start, highlight=word)
        assert sum(patch.get_linewidth() > 1 for patch in ax.patches) == len(word)
        assert len(table) == len(ax.patches)


@pytest.mark.parametrize("word", ["abc", "cabd"])
def test_highlights_that_are_refused(word, ax):
    with pytest.raises(ValueError, match="highlight"):
        draw_automaton(ax, *automaton(*CASES["abc"]), (0, 0, ""), highlight=word)


def test_figure_1_has_its_probabilities(ax):
    draw_automaton(ax, *automaton(*CASES["abc"]), (0, 0, ""))
    written = Counter(
        part.get_text()
        for box in ax.artists
        for part in box.findobj(Text)
        if "/" in part.get_text()
    )
    assert written == {"1/3": 3, "1/2": 5, "1/4": 2}


def test_every_transition_of_a_chain_is_drawn(ax):
    draw_chain(ax, FOUR, PLACES, ["a", "b", "c", "d"])
    assert len(ax.patches) == FOUR.sum()
    assert [text.get_text() for text in ax.texts] == ["a", "b", "c", "d"]
