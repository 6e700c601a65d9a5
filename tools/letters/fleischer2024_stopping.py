"""The first move tells two neighbours apart: one step of the walk, two people."""

from itertools import permutations
from math import exp

t = 2.885  # exp(-2 / t) = 1/2


def moves(x):
    """Return the probability that the walk from x, with W the identity, leaves x."""
    probability = 0.0
    for i, _ in permutations(range(3), 2):  # a pair of bins, drawn evenly
        if x[i] > 0:  # otherwise the candidate has a negative count
            probability += exp(-2 / t) / 6  # the objective falls from 0 to -2
    return probability


first = moves((1, 0, 1))
second = moves((2, 0, 0))
print(f"t = {t}: the first step moves from (1, 0, 1) with probability {first:.2f},")
print(f"  from (2, 0, 0) with probability {second:.2f}")
assert abs(first - 2 * second) < 1e-12
