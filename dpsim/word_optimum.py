"""The least error that any mechanism on all words of an alphabet can have at a given exact epsilon."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import linprog

from dpsim import checks
from dpsim.automaton import alphabet_counts


def least_expected_error(n: int, m: int, epsilon: float, b: int = 1) -> float:
    """Return the least worst-case expected distance of any word epsilon-differentially private mechanism on m**n words.

    1 <= n <= 60 letters out of m >= 2, m**n <= 1e280; 0 <= epsilon <= 30, the epsilon really spent; b >= 1. A linear
    programme, up to the solver's 1e-7. Averaging a mechanism over the isometries of the Hamming distance keeps its
    epsilon and raises no worst-case error, so it may be taken to depend on the distance alone: probabilities
    x_l = N_l f(l) with
    f(k) <= exp(epsilon) f(j) for |k - j| <= b, all of which occur. Raises ValueError outside these ranges.
    """
    n = checks.integer("n", n, 1, 60)
    m = checks.integer("m", m, 2)
    if m**n > 10**280:  # the numbers of words stay within the floats
        raise ValueError(f"m**n must be at most 1e280, got n {n} and m of {m.bit_length()} bits")
    epsilon, b = checks.scalar("epsilon", epsilon, 0.0, 30.0), checks.integer("b", b, 1)
    counts = alphabet_counts(n, m)
    rows = []
    for k, j in itertools.permutations(range(n + 1), 2):
        if abs(k - j) <= b:
            row = np.zeros(n + 1)
            row[k], row[j] = 1.0, -math.exp(epsilon) * (counts[k] / counts[j])
            rows.append(row / np.abs(row).max())
    found = linprog(
        np.arange(n + 1),
        A_ub=np.array(rows),
        b_ub=np.zeros(len(rows)),
        A_eq=np.ones((1, n + 1)),
        b_eq=[1.0],
        method="highs",
    )
    if found.status != 0:
        raise ValueError(f"n, m and epsilon must be smaller for the solver, got {n}, {m}, {epsilon:g}")
    return float(found.fun)
