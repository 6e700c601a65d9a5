"""A private word in one call, by the best of three mechanisms.

The mechanisms are permute-and-flip (Benvenuti, Rao, Hale 2026), the exponential
mechanism and the staircase. A private word is sampled in two steps: first its distance
from the word, and then a uniformly random word at that distance. Neither step leaves
out improbable outcomes, because a word that can never occur would give the secret away.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from dpsim import checks, private
from dpsim.words.automaton import HammingAutomaton, draw_error
from dpsim.words.candidates import WordSpace, word_space
from dpsim.words.exact_epsilon import calibrated
from dpsim.words.permute_and_flip import MECHANISMS

SMALLEST_EPSILON, LARGEST_EPSILON = 1e-6, 1e6
# The smallest margin of epsilon for rounding.
LEAST_MARGIN = 1e-9


def privatize(
    word: Sequence[Hashable] | ArrayLike,
    *,
    epsilon: float,
    b: int,
    letters: int | Sequence[Hashable] | None = None,
    adjacency: ArrayLike | sp.sparray | None = None,
    start: Hashable | None = None,
    mechanism: str | None = None,
    public_labels: bool = False,
    rng: np.random.Generator | int | None = None,
) -> private.Private:
    """Return a private word whose exact epsilon is at most the given one.

    The promised epsilon of the mechanism may be larger. The `private.Private` holds the
    word, in the type of the input, and a statement of its epsilon, which is exact or a
    proven upper bound. Neighbours are those of Benvenuti, Rao, Hale 2026, Definition 2.

    Parameters
    ----------
    word : str, list, tuple, array or Series, n letters
        The secret, one of the words that `letters`, `adjacency` and `start` describe.
        Its length is public, because neighbours have the same length. For any other
        word, a ValueError is raised after all other checks. This error is not private,
        but its message shows no letter. The labels of a Series, such as the times of
        visits, are secret too, unless `public_labels` is given.
    epsilon : float in [1e-6, 1e6]
    b : int >= 1
        The number of letters in which two neighbours may differ. With b = n, everything
        about the word except its length is protected.
    letters, adjacency, start
        As in `HammingAutomaton`. They are public, and private words follow the
        adjacency too. With `candidates.ANYWHERE` nothing about the first letter is
        public.
    mechanism : {"staircase", "exponential", "permute-and-flip"}, optional
        None means the mechanism with the smallest known error at the same guarantee
        (see Notes).
    public_labels : bool
        Whether the index and the name of a Series are public. By default the release
        has a fresh index and no name. With True it has the same labels, and the
        statement says that they are public.
    rng : Generator, int or None
        None uses the operating system's entropy; anything else makes a simulation.

    Returns
    -------
    private.Private
        The word, in the type of the input, its epsilon and its statement.

    Notes
    -----
    The mechanism is calibrated to an epsilon that is smaller by the margin that
    rounding may cost (1e-9, or more for long words and huge epsilons; see
    `automaton.draw_error`). So the stated epsilon covers the rounding, and delta is 0.

    On all words of an alphabet with b = 1, randomised response letter by letter (which
    is what the exponential mechanism and the staircase then do) has the smallest
    worst-case expected distance of all epsilon-private mechanisms. The exact epsilon of
    permute-and-flip is more than half of its promised epsilon, and at the same exact
    epsilon its error is never smaller. (For words of one letter it is the same.)
    For b > 1 the error of the staircase with its best offset equals the smallest
    possible error (`least_expected_error`) in every case that was tried, but this is
    not proved in general. On a network with b = 1, the
    exponential mechanism never had the larger mean error in any case that was tried. If
    nothing better than the promised epsilon can be proved, and for b > 1,
    permute-and-flip is chosen, because its error is never larger than that of the
    exponential mechanism at the same promised epsilon.

    For up to 1,000 words on a network the epsilon is exact and found by enumeration.
    For more words it is the promised epsilon or, for the exponential mechanism with
    b = 1, a better proven upper bound, whose computation takes about a second
    for each promised epsilon that is tried.

    Examples
    --------
    >>> from dpsim import words
    >>> release = words.privatize("cabbage", epsilon=3.0, b=1, letters="abcdefg", rng=1)
    >>> len(release.value), release.epsilon, release.simulation
    (7, 3.0, True)
    """
    epsilon = checks.scalar("epsilon", epsilon, SMALLEST_EPSILON, LARGEST_EPSILON)
    b = checks.integer("b", b, 1)
    if mechanism is not None:
        checks.choice("mechanism", mechanism, MECHANISMS)
    space = word_space(letters, adjacency, start)
    checks.generator(rng)  # refused before the word is read
    public_labels = checks.flag("public_labels", public_labels)
    bare, labelled = _strip_labels(word, public_labels)
    automaton = HammingAutomaton(bare, letters=space)
    length = len(automaton.codes)
    tried = mechanism or _best_known(space, min(b, length))
    margin = max(LEAST_MARGIN, 2.0 * draw_error(space, length, 2.0 * epsilon))
    chosen, spent, exact = calibrated(space, length, epsilon - margin, b, tried)
    only_promised = not exact and chosen.epsilon <= epsilon - margin
    if mechanism is None and space.chain and only_promised:
        chosen = chosen._replace(name="permute-and-flip")
        spent = epsilon - margin  # by the theorem: it is at most the promised epsilon
    spent = epsilon if spent >= epsilon - margin else spent + margin
    kind = "exact" if exact else "a proven upper bound"
    place = "network" if space.chain else "alphabet"
    public = f"The length and the {place}"
    if public_labels:
        public += ", the index and the name"
    statement = (
        f"Neighbours are words of {length} letters {_described(space)} that differ in "
        f"at most {b} letters: epsilon {spent!r} ({kind}), delta 0, "
        f"by the mechanism {chosen.name} at the promised epsilon "
        f"{private.round_up(chosen.epsilon, '.6g')}. {public} are public."
    )

    def draw(automaton: HammingAutomaton, rng: np.random.Generator) -> Any:
        log_distances = automaton.log_counts + chosen.log_f(automaton.log_counts)
        return labelled(automaton.draw_word(log_distances, rng))

    parameters = {
        "mechanism": chosen.name,
        "promised_epsilon": chosen.epsilon,
        "b": chosen.b,
        "offset": chosen.offset,
    }
    guarantee = private.Mechanism(
        epsilon=spent,
        delta=0.0,
        statement=statement,
        draw=draw,
        parameters=parameters,
    )
    return guarantee.release(automaton, rng)


def _best_known(space: WordSpace, b: int) -> str:
    """Return the mechanism with the smallest known error at an equal exact epsilon."""
    if b == 1:
        return "exponential"
    return "staircase" if space.chain is None else "permute-and-flip"


def _described(space: WordSpace) -> str:
    """Describe the space of a word, for its statement."""
    if space.chain is None:
        return f"over an alphabet of {len(space.labels)}"
    states = space.chain.states
    first = space.chain.letters[space.chain.start]
    origin = f"the public state {space.labels[first]!r}"
    if first < 0:
        states -= 1
        origin = "a secret first state"
    return f"along a network of {states} states, from {origin}"


def _strip_labels(word: Any, public_labels: bool) -> tuple[Any, Any]:
    """Return the letters of a word, and a function that restores the type of the word.

    The type is text, list, tuple or Series.
    """
    if isinstance(word, str):
        return word, lambda letters: "".join(letters.tolist())
    if isinstance(word, list | tuple):
        return word, lambda letters: type(word)(letters.tolist())
    return private.strip_labels(word, keep=public_labels)
