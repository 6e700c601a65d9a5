"""Private words: the permute-and-flip mechanism for symbolic trajectories, and the mechanisms it is set against.

Benvenuti, Rao, Hale 2026, "Differential Privacy for Symbolic Trajectories via the Permute-and-Flip Mechanism".
A private word is drawn in two steps, its distance to the word and then a word uniformly at that distance:
`dpsim.selection` has the laws of the distance, `dpsim.automaton` the words at a distance, `dpsim.word_epsilon`
what a mechanism really spends, `dpsim.word_optimum` the error none can beat. This module joins them and is the
one to import.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from dpsim import checks
from dpsim.words.automaton import HammingAutomaton
from dpsim.words.selection import (
    MECHANISMS,
    draw_distances,
)


def privatize_word(
    word: Sequence[Hashable] | ArrayLike,
    epsilon: float,
    *,
    mechanism: str = "permute-and-flip",
    b: int = 1,
    letters: int | Sequence[Hashable] | None = None,
    adjacency: ArrayLike | sp.sparray | None = None,
    start: Hashable | None = None,
    offset: int | None = None,
    size: int | None = None,
    rng: np.random.Generator | None = None,
) -> NDArray[Any]:
    """Return private words (n,) or (size, n), word epsilon-differentially private for words up to b letters apart.

    word, letters, adjacency, start: as for `HammingAutomaton`; on a chain every private word is feasible from
    the start state, which is public. epsilon >= 0; b >= 1. mechanism: "permute-and-flip" (Mechanisms 1 and 2 of
    Benvenuti et al. 2026), "exponential" (Chen et al. 2023; cost length times transitions, so fit for long
    words), "staircase" (see `log_word_probability`; on a chain its offset must be given, as the best one
    depends on the secret word). The draw is exact up to rounding. Raises ValueError.
    """
    epsilon = checks.scalar("epsilon", epsilon, 0.0)
    b = checks.integer("b", b, 1)
    checks.choice("mechanism", mechanism, MECHANISMS)
    if offset is not None and mechanism != "staircase":
        raise ValueError(f"offset must be None for the mechanism {mechanism!r}, got {offset!r}")
    if offset is None and mechanism == "staircase" and adjacency is not None and b > 1:
        raise ValueError(f"offset must be an integer from 0 to {b - 1} on a chain, chosen publicly, got None")
    rng = checks.generator(rng)
    automaton = HammingAutomaton(word, letters=letters, adjacency=adjacency, start=start)
    if mechanism == "exponential":
        return automaton.sample_tilted(epsilon / (2.0 * b), size, rng)
    distances = draw_distances(
        automaton.log_counts,
        epsilon,
        b,
        mechanism=mechanism,
        offset=offset,
        log=True,
        size=1 if size is None else checks.integer("size", size, 0),
        rng=rng,
    )
    return automaton.sample(distances[0] if size is None else distances, rng=rng)
