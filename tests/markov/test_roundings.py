from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dpsim import markov
from dpsim.markov import sparse as markov_sparse


def test_the_bound_covers_a_residual_lost_to_rounding():
    """A slow chain of powers of two: pi P rounds to pi although pi is 2^-28 off in each state."""
    slow = 2.0**-30
    P = np.array([[1 - slow, slow], [3 * slow, 1 - 3 * slow]])
    exact = np.array([0.75, 0.25])
    wrong = exact + np.array([2.0**-28, -(2.0**-28)])
    assert (wrong @ P == wrong).all()
    residual, bound = markov_sparse._error_bound(sparse.csr_array(P), wrong)
    assert residual == 0.0 and np.abs(wrong - exact).sum() <= bound < 1e-5


def test_a_pivot_below_the_normal_floats_loses_no_digits():
    """The way from 1 to 0 over 2 has a probability of 2e-320, which a float holds to four digits."""
    tiny = 1e-160
    P = np.array([[1.0, 3e-320, 0.0], [0.0, 1.0, tiny], [tiny, 0.5, 0.5]])
    back = Fraction(tiny) * Fraction(tiny) / (Fraction(tiny) + Fraction(1, 2))
    pi = markov.stationary_distribution(P)
    assert pi[1] / pi[0] == pytest.approx(float(Fraction(P[0, 1]) / back), rel=1e-11)
