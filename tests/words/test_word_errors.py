"""The declared error of a private word against the terms of its proof, added up
anew."""

import math

import numpy as np
import pytest

from dpsim.numerics import exact_draws
from dpsim.words.automaton import draw_error
from dpsim.words.candidates import word_space

RING = (np.eye(5) + np.roll(np.eye(5), 1, 1) + np.roll(np.eye(5), 2, 1)).astype(int)
SPACES = {
    "two letters": word_space(letters=2),
    "many letters": word_space(letters=1000),
    "a chain": word_space(adjacency=RING, start=0),
}


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("n, promised", [(1, 0.1), (20, 5.0), (400, 300.0)])
def test_the_error_of_a_word_covers_every_term_of_its_proof(space, n, promised):
    space = SPACES[space]
    unit = 2.0**-53
    letters = n * math.log(len(space.labels))
    largest = promised * (n + 1) / 2 + letters + 1
    terms = [1e-10, 8 * unit * (largest + n)]
    terms.append(exact_draws.relative_error(n + 1, largest))
    if space.chain is not None:
        additions = n * 3  # of three successors
        of_counts = additions * 4 * unit * (letters + 2)
        terms += [of_counts, of_counts, of_counts]  # the distance; the letters, twice
        terms += [exact_draws.relative_error(3, letters)] * n
    assert draw_error(space, n, promised) >= sum(terms) * (1 - 1e-12)
