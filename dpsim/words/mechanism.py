"""Private words: permute-and-flip for symbolic trajectories (Benvenuti, Rao, Hale 2026), and what it is set against.

A private word is drawn in two steps, its distance to the word and then a word uniformly at that distance.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from dpsim import checks, private
from dpsim.words.automaton import HammingAutomaton
from dpsim.words.exact_epsilon import calibrated
from dpsim.words.laws import MECHANISMS, drawn
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
    """Return a private word that spends at most epsilon, as it really is and not as a mechanism's nominal parameter.

    The `private.Private` holds the word, of the type given, and a statement of what is spent, exactly or by a proven
    bound. (Benvenuti, Rao, Hale 2026, Mechanisms 1 and 2, Definition 2 for the adjacency.)

    Parameters
    ----------
    word : str, list, tuple, array or Series, n letters
        The secret. Its length is public: adjacent words are as long. One of the words that `letters`, `adjacency` and
        `start` describe; the refusal of others, which comes last, is not private, but shows no letter.
    epsilon : float in (0, 1e6]
    b : int >= 1
        The letters in which two adjacent words may differ; n protects the whole word but for its length.
    letters, adjacency, start
        As in `HammingAutomaton`, all public; private words follow the adjacency too. ANYWHERE hides the first letter.
    mechanism : {"staircase", "exponential", "permute-and-flip"}, optional
        None takes the one that errs least at an equal epsilon as far as is known, see Notes.
    rng : Generator, int or None; anything but None, the operating system's entropy, makes a simulation

    Notes
    -----
    On all words of an alphabet with b = 1, randomised response letter by letter (the exponential mechanism, and the
    staircase) has the least worst-case expected distance of all epsilon-private mechanisms; permute-and-flip spends
    more than half of its nominal epsilon and errs more at an equal one. For b > 1 the staircase with its best offset
    equals the least error (`least_expected_error`) in every case tried; that it always does is not proved. On a network
    the exponential mechanism was better on average in every case tried for b = 1, and permute-and-flip, which never
    errs more at an equal nominal epsilon, is taken for b > 1. What a network costs is exact by enumeration up to 1,000
    words and otherwise a proven bound, which takes some seconds.

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
    bare, labelled = _unlabelled(word)
    automaton = HammingAutomaton(bare, letters=space)
    length = len(automaton.codes)
    mechanism = mechanism or _best_known(space, min(b, length))
    law, spent, exact = calibrated(space, length, epsilon, b, mechanism)
    released = automaton.sample(drawn(law, automaton.log_counts, (), generator), generator)
    statement = (
        f"Adjacent are words of {length} letters {_described(space)} that differ in at most {b} letters: "
        f"epsilon {spent!r} ({'exact' if exact else 'a proven bound'}), delta 0, by the mechanism {law.mechanism} "
        f"of nominal epsilon {law.epsilon!r}. The length and the {'network' if space.chain else 'alphabet'} are public."
    )
    return private.made(
        labelled(released),
        statement,
        epsilon=spent,
        delta=0.0,
        simulation=simulation,
        **{"mechanism": law.mechanism, "nominal_epsilon": law.epsilon, "b": law.b, "offset": law.offset},
    )


def _best_known(space: WordSpace, b: int) -> str:
    """Return the mechanism that errs least at an equal epsilon, as far as is known."""
    if b == 1:
        return "exponential"
    return "staircase" if space.chain is None else "permute-and-flip"


def _described(space: WordSpace) -> str:
    """Say of what space a word is, for the statement it carries."""
    if space.chain is None:
        return f"over an alphabet of {len(space.labels)}"
    states, first = len(space.labels), space.chain.start
    whence = "a secret first one" if first == states else f"the public state {space.labels[first]!r}"
    return f"along a network of {states} states, from {whence}"


def _unlabelled(word: Any) -> tuple[Any, Any]:
    """Return the letters of a word and the function that makes a private one alike: text, list, tuple or Series."""
    if isinstance(word, str):
        return word, lambda letters: "".join(letters.tolist())
    if isinstance(word, list | tuple):
        return word, lambda letters: type(word)(letters.tolist())
    return private.unlabelled(word)
