"""Drawn automata: the transitions are those of all words at the distance, every state and arrow is drawn."""

import itertools
from collections import Counter

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from dpsim.figures import draw_automaton, draw_chain, transitions
from dpsim.words import HammingAutomaton

matplotlib.use("agg")

FOUR = np.array([[0, 1, 1, 1], [1, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]])
PLACES = [(0, 1), (1, 1), (1, 0), (0, 0)]
CASES = {
    "abc": (HammingAutomaton("abc", letters="abc"), 2, None),
    "binary": (HammingAutomaton((0, 1, 1, 0), letters=2), 3, None),
    "chain": (HammingAutomaton((1, 2, 3), adjacency=FOUR, start=0), 2, FOUR),
    "far": (HammingAutomaton((1, 2, 3), adjacency=FOUR, start=0), 3, FOUR),
}


def words_at(automaton, distance, adjacency):
    for codes in itertools.product(range(len(automaton.space.labels)), repeat=automaton.length):
        path = (0, *codes)
        allowed = adjacency is None or all(adjacency[a, b] for a, b in itertools.pairwise(path))
        if allowed and (np.array(codes) != automaton.codes).sum() == distance:
            yield codes


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


@pytest.mark.parametrize("name", CASES)
def test_transitions_are_those_of_all_words(name):
    automaton, distance, adjacency = CASES[name]
    labels, on_chain = automaton.space.labels, adjacency is not None
    passing = Counter()  # words through each transition
    reaching = Counter()
    for word in words_at(automaton, distance, adjacency):
        mismatches, last = 0, 0 if on_chain else ""
        for position, code in enumerate(word):
            reaching[position, mismatches, last] += 1
            passing[position, mismatches, last, labels[code]] += 1
            mismatches += code != automaton.codes[position]
            last = labels[code] if on_chain else ""
    table = transitions(automaton, distance)
    found = {(row.position, row.mismatches, row.state, row.letter): row for row in table.itertuples()}
    assert set(found) == set(passing)
    for key, row in found.items():
        assert row.probability == pytest.approx(passing[key] / reaching[key[:3]], rel=1e-14)
    starts = table[table.position == 0]
    assert set(starts.words) == {automaton.counts[distance]}
    assert (table[table.position == automaton.length - 1].next_words == 1).all()
    np.testing.assert_allclose(table.groupby(["position", "mismatches", "state"]).probability.sum(), 1.0)
    exact = table.next_words / table.words
    np.testing.assert_allclose(table.probability, exact, rtol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_every_state_and_transition_is_drawn(name, ax):
    automaton, distance, _ = CASES[name]
    table = draw_automaton(ax, automaton, distance, width=1.6, height=0.6)
    states = {(row.position, row.mismatches, row.state) for row in table.itertuples()}
    last = {(row.next_mismatches, row.next_state) for row in table.itertuples() if row.position == automaton.length - 1}
    assert len(ax.lines) == len(states) + 2 * len(last)  # accepting states have a second circle
    assert len(ax.patches) == len(table)
    names = [text for text in ax.texts if "$" in text.get_text()]
    assert len(names) == len(states) + len(last)
    places = [tuple(text.get_position()) for text in names]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("name", CASES)
def test_the_path_of_a_highlighted_word_is_drawn_thick(name, ax):
    automaton, distance, adjacency = CASES[name]
    for word in list(words_at(automaton, distance, adjacency))[:3]:
        ax.clear()
        letters = [automaton.space.labels[code] for code in word]
        table = draw_automaton(ax, automaton, distance, width=1.6, height=0.6, highlight=letters)
        thick = [patch for patch in ax.patches if patch.get_linewidth() > 1]
        assert len(thick) == automaton.length
        followed = table[[width > 1 for width in (patch.get_linewidth() for patch in ax.patches)]]
        assert followed.letter.tolist() == letters
        assert np.prod(followed.probability) == pytest.approx(1 / automaton.counts[distance])


@pytest.mark.parametrize("word", ["abc", "ab", "cab"])
def test_highlights_that_are_refused(word, ax):
    with pytest.raises(ValueError, match="highlight must have 3 letters and distance 2, got"):
        draw_automaton(ax, CASES["abc"][0], 2, width=1.6, height=0.6, highlight=word)


def test_figure_1_has_its_probabilities(ax):
    draw_automaton(ax, CASES["abc"][0], 2, width=1.6, height=0.6)
    written = Counter(
        part.get_text() for box in ax.artists for part in box.findobj(matplotlib.text.Text) if "/" in part.get_text()
    )
    assert written == {"1/3": 3, "1/2": 5, "1/4": 2}


def test_every_transition_of_a_chain_is_drawn(ax):
    draw_chain(ax, FOUR, PLACES, ["a", "b", "c", "d"])
    assert len(ax.patches) == FOUR.sum()
    assert [text.get_text() for text in ax.texts] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("adjacency", "places", "message"),
    [
        (FOUR[:3], PLACES, r"adjacency and places must have shapes \(4, 4\) and \(4, 2\), got \(3, 4\)"),
        (FOUR, PLACES[:3], r"got \(4, 4\), \(3, 2\)"),
        (-FOUR, PLACES, r"adjacency must be in \[0, inf\)"),
        (FOUR + np.eye(4), PLACES, "adjacency must have no transition of a state to itself, got 'a'"),
    ],
)
def test_chains_that_are_refused(adjacency, places, message, ax):
    with pytest.raises(ValueError, match=message):
        draw_chain(ax, adjacency, places, ["a", "b", "c", "d"])


def test_distances_that_are_refused():
    with pytest.raises(ValueError, match="distance must be an integer from 0 to 3, got 4"):
        transitions(CASES["abc"][0], 4)
    with pytest.raises(ValueError, match="number of words at the distance must be an integer from 1 to 1000000"):
        transitions(HammingAutomaton(np.zeros(14, dtype=int), letters=9), 14)
