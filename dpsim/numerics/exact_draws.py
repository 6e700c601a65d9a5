"""Samples events and indices whose probabilities may be far below 2^-53.

A uniform number of 53 bits is a multiple of 2^-53. If such a number were compared with
a smaller probability, the event could be impossible for one input and possible for a
neighbour, so an outcome could reveal the secret. Here further bits are sampled if the
first 53 bits do not decide the comparison, which happens once in 2^53 comparisons. In
all other cases, the result is the same as that of `rng.random() < p`.

Let u = 2^-53. A computed probability e^-y has a relative error of at most (2 + y) u,
because y and the exponential function are rounded. Each function states the relative
error of its own result.
"""

from __future__ import annotations

import math

import numpy as np

from dpsim.checks import Array
from dpsim.compiled import njit

UNIT = 2.0**-53
STEPS = 2.0**53  # a uniform number of 53 bits has this many values
LARGEST_EXPONENT = 700.0  # exp(-700) is a normal double


@njit()
def happens(rng, p, reverse=False):  # type: ignore[no-untyped-def]
    """Return True with probability p, exactly, for every double p in [0, 1].

    The event happens if the uniform number is small or, with `reverse`, if it is large.
    """
    rest = p
    while True:
        scaled = rest * STEPS
        whole = math.floor(scaled)
        drawn = rng.random() * STEPS
        if reverse:
            drawn = STEPS - 1.0 - drawn
        if drawn != whole:
            return drawn < whole
        rest = scaled - whole
        if rest == 0.0:
            return False


@njit()
def survives(rng, y):  # type: ignore[no-untyped-def]
    """Return True with probability exp(-y), for y >= 0.

    The probabilities of True and of False both have relative errors of at most
    (3 + y) u.
    """
    while y > LARGEST_EXPONENT:
        if not happens(rng, math.exp(-LARGEST_EXPONENT)):
            return False
        y -= LARGEST_EXPONENT
    if y < 0.5:
        return not happens(rng, -math.expm1(-y), True)
    return happens(rng, math.exp(-y))


def weight_tree(logs: Array) -> Array:
    """Return a binary tree of the logarithms of weights, from which `descend` samples.

    The leaves are `logs`, padded with minus infinity. Each inner node is the logarithm
    of the sum of the weights below it. The children of node i are 2 i and 2 i + 1.
    """
    leaves = 1 << max(logs.size - 1, 0).bit_length()
    tree = np.full(2 * leaves, -np.inf)
    tree[leaves : leaves + logs.size] = logs
    while leaves > 1:
        below = tree[leaves : 2 * leaves]
        leaves //= 2
        tree[leaves : 2 * leaves] = np.logaddexp(below[::2], below[1::2])
    return tree


@njit()
def descend(rng, tree):  # type: ignore[no-untyped-def]
    """Return the index of a leaf of a `weight_tree`.

    The leaf is sampled with a probability proportional to its weight, up to
    `relative_error`.
    """
    node = 1
    leaves = tree.size // 2
    while node < leaves:
        left = 2 * node
        small = left if tree[left] <= tree[left + 1] else left + 1
        large = 2 * left + 1 - small
        node = large
        if tree[small] > -np.inf:
            apart = tree[large] - tree[small]
            if survives(rng, apart + math.log1p(math.exp(-apart))):
                node = small
    return node - leaves


def relative_error(leaves: int, spread: float) -> float:
    """Return a bound on the relative error of every probability of `descend`.

    The tree has `leaves` leaves. Its finite logarithms differ by at most `spread`,
    called L here, and the largest of them is within L of 0.

    Proof: the logarithm of a sum of two weights is computed with an error of at most 4
    u (L + 2), because `logaddexp` does not enlarge the errors of its arguments, and
    each level adds at most log 2 to the logarithms. At a node whose children have the
    computed logarithms s <= l, the small child is chosen with a relative error of at
    most (3 + y) u + 4 u (L + 2), where y <= L + 1. The large child has a probability of
    at least 1/2, so its relative error is no larger than that of the small child. On
    the way to a leaf, the computed weights of the nodes cancel, except for the error 4
    u (L + 2) of each sum. So each level adds at most 16 u (L + 2).
    """
    levels = max(leaves - 1, 0).bit_length()
    return 16.0 * UNIT * levels * (spread + 2.0 + levels)


def draw_index(rng: np.random.Generator, logs: Array) -> int:
    """Return an index, sampled with probabilities proportional to exp(logs).

    `relative_error` bounds the errors of the probabilities.

    Examples
    --------
    >>> draw_index(np.random.default_rng(1), np.array([-np.inf, 0.0]))
    1
    """
    return int(descend(rng, weight_tree(logs - logs.max())))
