"""A private word in one call: permute-and-flip (Benvenuti, Rao, Hale 2026), the exponential mechanism and the
staircase.

A private word is drawn in two steps, first its distance to the word and then a word uniformly at that distance.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from dpsim import checks, private
from dpsim.words.automaton import HammingAutomaton
from dpsim.words.exact_epsilon import calibrate_law
from dpsim.words.laws import MECHANISMS, sample_distances
from dpsim.words.space import WordSpace, word_space

LARGEST_EPSILON = 1e6


def privatize(
    word: Sequence[Hashable] | ArrayLike,
    *,
    epsilon: float,
    b: int,
    letters: int | Sequence[Hashable] | None = None,
    adjacency: ArrayLike | sp.sparray | None = None,
    start: Hashable | None = None,
    mechanism: str | None = None,
    rng: np.random.Generator | int | None = None,
) -> private.Private:
    """Return a private word whose exact epsilon is at most the given one, whatever epsilon the mechanism's theorem
    promises.

    The `private.Private` holds the word, in the type of the input, and a statement of its epsilon, which is exact or a
    proven upper bound (Benvenuti, Rao, Hale 2026, Mechanisms 1 and 2, with the neighbours of Definition 2).

    Parameters
    ----------
    word : str, list, tuple, array or Series, n letters
        The secret, one of the words that `letters`, `adjacency` and `start` describe. Its length is public, because
        neighbours have the same length. Other words are refused after all other checks. This refusal is not private,
        but its message shows no letter.
    epsilon : float in (0, 1e6]
    b : int >= 1
        The number of letters in which two neighbours may differ; n protects the whole word except for its length.
    letters, adjacency, start
        As in `HammingAutomaton`. They are public, and private words follow the adjacency too. With ANYWHERE nothing
        about the first letter is public.
    mechanism : {"staircase", "exponential", "permute-and-flip"}, optional
        None takes the one with the smallest known error at the same exact epsilon (see Notes).
    rng : Generator, int or None; None uses the operating system's entropy, anything else makes a simulation

    Notes
    -----
    On all words of an alphabet with b = 1, randomised response letter by letter (which the exponential mechanism and
    the staircase both are) has the smallest worst-case expected distance of all epsilon-private mechanisms. The exact
    epsilon of permute-and-flip is more than half of its promised epsilon, and at the same exact epsilon its error is
    larger. For b > 1 the staircase with its best offset equals the smallest possible error (`least_expected_error`) in
    every case that was tried, but this is not proved in general. On a network with b = 1, the exponential mechanism had
    the smaller mean error in every case that was tried. Where nothing better than its promise
    can be proved, and for b > 1, permute-and-flip is chosen, because its error is never larger
    at the same promised epsilon. For up to 1,000 words on a network the epsilon is exact and
    found by enumeration. For more words it is a proven upper bound, whose computation takes
    some seconds.

    Examples
    --------
    >>> from dpsim import words
    >>> release = words.privatize("cabbage", epsilon=3.0, b=1, letters="abcdefg", rng=1)
    >>> len(release.value), release.epsilon, release.simulation
    (7, 3.0, True)
    """
    epsilon, b = checks.scalar("epsilon", epsilon, 0.0, LARGEST_EPSILON, open_low=True), checks.integer("b", b, 1)
    if mechanism is not None:
        checks.choice("mechanism", mechanism, MECHANISMS)
    space = word_space(letters, adjacency, start)
    generator, simulation = private.source(rng)
    bare, labelled = _strip_labels(word)
    automaton = HammingAutomaton(bare, letters=space)
    length = len(automaton.codes)
    tried = mechanism or _best_known(space, min(b, length))
    law, spent, exact = calibrate_law(space, length, epsilon, b, tried)
    if mechanism is None and space.chain and not exact and law.epsilon <= epsilon:
        law, spent = law._replace(mechanism="permute-and-flip"), epsilon  # by its theorem
    released = automaton.sample(sample_distances(law, automaton.log_counts, (), generator), generator)
    kind, place = "exact" if exact else "a proven upper bound", "network" if space.chain else "alphabet"
    statement = (
        f"Neighbours are words of {length} letters {_described(space)} that differ in at most {b} letters: "
        f"epsilon {spent!r} ({kind}), delta 0, by the mechanism {law.mechanism} "
        f"at the promised epsilon {law.epsilon!r}. The length and the {place} are public."
    )
    return private.result(
        labelled(released),
        statement,
        epsilon=spent,
        delta=0.0,
        simulation=simulation,
        **{"mechanism": law.mechanism, "promised_epsilon": law.epsilon, "b": law.b, "offset": law.offset},
    )


def _best_known(space: WordSpace, b: int) -> str:
    """Return the mechanism with the smallest known error at an equal exact epsilon."""
    if b == 1:
        return "exponential"
    return "staircase" if space.chain is None else "permute-and-flip"


def _described(space: WordSpace) -> str:
    """Describe the space of a word, for its statement."""
    if space.chain is None:
        return f"over an alphabet of {len(space.labels)}"
    states, first = len(space.labels), space.chain.start
    origin = "a secret first state" if first == states else f"the public state {space.labels[first]!r}"
    return f"along a network of {states} states, from {origin}"


def _strip_labels(word: Any) -> tuple[Any, Any]:
    """Return the letters of a word, and the function that converts private letters to the type of the word: text, list,
    tuple or Series."""
    if isinstance(word, str):
        return word, lambda letters: "".join(letters.tolist())
    if isinstance(word, list | tuple):
        return word, lambda letters: type(word)(letters.tolist())
    return private.strip_labels(word)
