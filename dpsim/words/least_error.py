"""The smallest error of any private mechanism on words, by linear programming."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from dpsim import checks
from dpsim.checks import Array
from dpsim.words.automaton import alphabet_counts


def least_expected_error(n: int, m: int, epsilon: float, b: int = 1) -> float:
    """Return the smallest worst-case error of any epsilon-private mechanism.

    The error is the expected distance in letters, and the worst case is over all words
    of an alphabet. The result is the optimum of a linear programme and is accurate to
    within 1e-7. Averaging a mechanism over the isometries of the Hamming distance
    raises neither its epsilon nor its worst-case error, so we may assume that the
    mechanism depends only on the distance. Its probabilities are x_l = N_l f(l) with
    f(k) <= exp(epsilon) f(j) for ``|k - j| <= b``. All these pairs of distances occur.

    Parameters
    ----------
    n, m : int
        Words of n in 1..60 letters over an alphabet of m >= 2 letters, with
        m**n <= 1e280.
    epsilon : float in [0, 30], the exact epsilon
    b : int, the largest distance between neighbours, at least 1

    Returns
    -------
    float, in letters

    Examples
    --------
    >>> from dpsim import words
    >>> round(words.least_expected_error(5, 2, 2.0), 4)  # 5 / (1 + exp(2))
    0.596
    """
    n = checks.integer("n", n, 1, 60)
    m = checks.integer("m", m, 2)
    if m**n > 10**280:  # the numbers of words stay within the range of floats
        raise ValueError(
            f"m**n must be at most 1e280, got n {n} and m of {m.bit_length()} bits"
        )
    epsilon = checks.scalar("epsilon", epsilon, 0.0, 30.0)
    b = checks.integer("b", b, 1)
    counts = alphabet_counts(n, m)
    ell = np.arange(n + 1.0)
    apart = abs(ell[:, None] - ell)
    k, j = np.nonzero((apart > 0) & (apart <= b))
    ratio = (counts[k] / counts[j]).astype(float)
    loss = math.exp(epsilon) * ratio[:, None]
    unit = np.eye(n + 1)
    limits = (unit[k] - loss * unit[j]) / np.maximum(loss, 1.0)
    return _least(ell, limits, np.ones((1, n + 1)))


def least_mean_error(apart: ArrayLike, epsilon: float) -> float:
    """Return the smallest mean error of any epsilon-private mechanism on a few words.

    The error is the expected distance, and the mean is over these words. The result is
    the optimum of a linear programme in all probabilities, which takes a second for
    about twenty words.

    Parameters
    ----------
    apart : array_like of int (words, words)
        The distance between each pair of words; neighbours are at distance 1.
    epsilon : float in [0, 20], because the solver fails for larger values

    Returns
    -------
    float, in letters

    Examples
    --------
    >>> from dpsim import words
    >>> round(words.least_mean_error([[0, 1], [1, 0]], 2.0), 4)  # 1 / (1 + exp(2))
    0.1192
    """
    apart = checks.integers("apart", apart, 0)
    if apart.ndim != 2 or apart.shape[0] != apart.shape[1] or not apart.size:
        raise ValueError(
            f"apart must be a square matrix of distances, got shape {apart.shape}"
        )
    epsilon = checks.scalar("epsilon", epsilon, 0.0, 20.0)
    size = len(apart)
    w, v = np.nonzero(apart == 1)
    pairs = sp.eye_array(size, format="csr")
    limits = sp.kron(pairs[w] - math.exp(epsilon) * pairs[v], pairs)
    sums = sp.kron(pairs, np.ones((1, size)))
    return _least(apart.ravel() / size, limits, sums)


def _least(cost: Array, limits: Array | sp.sparray, sums: Array | sp.sparray) -> float:
    """Return the least cost of x >= 0 with limits @ x <= 0 and sums @ x = 1."""
    found = linprog(
        cost,
        A_ub=limits,
        b_ub=np.zeros(limits.shape[0]),
        A_eq=sums,
        b_eq=np.ones(sums.shape[0]),
        method="highs",
    )
    if found.status != 0:
        raise ValueError(
            "the numbers of words and epsilon must be smaller for the solver: "
            f"{found.message}"
        )
    return float(found.fun)
