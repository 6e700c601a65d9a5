"""The six histograms of two individuals in three bins, at the temperature where every weight is a power of one half."""

import math

import numpy as np
import pytest

from dpsim import boltzmann

WARM = 2 / math.log(2)


def test_the_two_laws_are_the_fractions_of_the_notebook():
    assert boltzmann.configurations(2, 3).tolist() == [[2, 0, 0], [1, 1, 0], [1, 0, 1], [0, 2, 0], [0, 1, 1], [0, 0, 2]]
    for centre, law in (((1, 0, 1), [4, 4, 8, 1, 4, 4]), ((0, 1, 1), [1, 4, 4, 4, 8, 4])):
        assert np.exp(boltzmann.log_stationary(centre, WARM)) == pytest.approx(np.array(law) / 25, rel=1e-12)


def test_the_worst_pair_has_an_end_in_a_corner():
    corner, beside = (np.exp(boltzmann.log_stationary(x, WARM)) for x in ((2, 0, 0), (1, 1, 0)))
    assert (beside / corner).max() == pytest.approx(5.76, rel=1e-12)  # 4 / 25 against 1 / 36, at 020
    assert boltzmann.exact_epsilon_limit(2, 3, WARM) == pytest.approx(math.log(5.76), rel=1e-12)
    assert 2 * boltzmann.sensitivity(2, 3) / WARM == pytest.approx(math.log(64), rel=1e-12)


def test_chains_that_agree_are_not_likelier_at_the_optimum():
    law = np.exp(boltzmann.log_stationary((1, 0, 1), WARM))
    objective = boltzmann.objective(boltzmann.configurations(2, 3), (1, 0, 1))
    levels = np.array([law[objective == c].sum() for c in np.unique(objective)])[::-1]
    assert levels == pytest.approx([0.32, 0.64, 0.04])
    given = [levels[0] ** p / (levels**p).sum() for p in (1, 2, 3)]
    assert given[0] > 1.5 * given[1] > 1.5 * given[2]
