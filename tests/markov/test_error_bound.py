import numpy as np
from scipy import sparse

from dpsim import markov


def test_the_bound_covers_a_residual_lost_to_rounding():
    """A slow chain of powers of two: pi P rounds to pi although pi is 2^-28 off in each state."""
    slow = 2.0**-30
    P = np.array([[1 - slow, slow], [3 * slow, 1 - 3 * slow]])
    exact = np.array([0.75, 0.25])
    wrong = exact + np.array([2.0**-28, -(2.0**-28)])
    assert (wrong @ P == wrong).all()
    residual, bound = markov.stationary_error(sparse.csr_array(P), wrong)
    assert residual == 0.0 and np.abs(wrong - exact).sum() <= bound < 1e-5
