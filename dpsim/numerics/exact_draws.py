"""Draws whose probabilities are right to a relative precision, however small they are.

A uniform number of 53 bits is a multiple of 2^-53, so an event of a smaller probability would never happen, and the
output that it leads to would reveal the secret. Here a comparison takes further bits only when the first 53 leave it
open, which happens once in 2^53 draws. So the first number decides as it does in `rng.random() < p`.

Let u = 2^-53. A computed probability e^-y has a relative error of at most (2 + y) u, which comes from the rounding of y
and of the exponential function. Each function states the relative error of its own result.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dpsim.checks import Array

UNIT = 2.0**-53
LARGEST_EXPONENT = 700.0  # exp(-700) is a normal double


@njit(cache=True)
def happens(rng, p, reverse=False):  # type: ignore[no-untyped-def]
    """Return True with probability p, which is exact for every double p in [0, 1].

    With `reverse` it is the large uniform numbers that return True, and not the small ones.
    """
    rest = p
    while True:
        scaled = rest * 9007199254740992.0
        whole = math.floor(scaled)
        drawn = rng.random() * 9007199254740992.0
        if reverse:
            drawn = 9007199254740991.0 - drawn
        if drawn != whole:
            return drawn < whole
        rest = scaled - whole
        if rest == 0.0:
            return False


@njit(cache=True)
def survives(rng, y):  # type: ignore[no-untyped-def]
    """Return True with probability exp(-y), y >= 0.

    Both results have relative errors of at most (3 + y) u. For y up to 700 one uniform number is drawn, except once in
    2^53 draws, and True is returned if it is below exp(-y).
    """
    while y > LARGEST_EXPONENT:
        if not happens(rng, math.exp(-LARGEST_EXPONENT)):
            return False
        y -= LARGEST_EXPONENT
    if y < 0.5:
        return not happens(rng, -math.expm1(-y), True)
    return happens(rng, math.exp(-y))


def weight_tree(logs: Array) -> Array:
    """Return the binary tree of the logarithms of weights. Its leaves are `logs`, padded with minus infinity, and each
    inner node is the logarithm of the sum of the weights below it."""
    leaves = 1 << max(logs.size - 1, 0).bit_length()
    tree = np.full(2 * leaves, -np.inf)
    tree[leaves : leaves + logs.size] = logs
    while leaves > 1:
        leaves //= 2
        tree[leaves : 2 * leaves] = np.logaddexp(
            tree[2 * leaves :: 2][:leaves], tree[2 * leaves + 1 :: 2][:leaves]
        )
    return tree


@njit(cache=True)
def descend(rng, tree):  # type: ignore[no-untyped-def]
    """Return the number of a leaf of a `weight_tree`, drawn in proportion to the weights; see `relative_error`."""
    node = 1
    leaves = tree.size // 2
    while node < leaves:
        node *= 2
        small = node if tree[node] <= tree[node + 1] else node + 1
        large = 2 * node + 1 - small
        node = large
        if tree[small] > -np.inf:
            apart = tree[large] - tree[small]
            if survives(rng, apart + math.log1p(math.exp(-apart))):
                node = small
    return node - leaves


def relative_error(leaves: int, spread: float) -> float:
    """Return a bound on the relative error of every probability of `descend`, from the number of leaves and the largest
    difference L of two logarithms, of which the largest is within L of 0.

    A logarithm of a sum of two weights is computed with an error of at most 4 u (L + 2), because that function does not
    enlarge the errors of its arguments, and the sum itself adds at most log 2 to a level. At a node with the computed
    logarithms s <= l, the small side is taken with a relative error of at most (3 + y) u + 4 u (L + 2), y <= L + 1, and
    the large side, whose probability is at least 1/2, with at most the same. The computed weights of the nodes cancel
    along the way to a leaf, except for the 4 u (L + 2) of each sum. So each level adds at most 16 u (L + 2).
    """
    levels = max(leaves - 1, 0).bit_length()
    return 16.0 * UNIT * levels * (spread + 2.0 + levels)


def draw_index(rng: np.random.Generator, logs: Array) -> int:
    """Return an index drawn with probabilities proportional to exp(logs); see `relative_error`.

    Examples
    --------
    >>> draw_index(np.random.default_rng(1), np.array([-np.inf, 0.0]))
    1
    """
    return int(descend(rng, weight_tree(logs - logs.max())))
