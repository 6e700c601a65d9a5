"""Permute-and-flip and two other mechanisms: the law and draws of their distances.

The distance is that between a word and its private version. Every mechanism gives each
of the N_l words at distance l the same probability f(l). So the distribution of the
distance depends only on the counts N_0, ..., N_n, where N_0 >= 1 because the word
itself is counted. The formulas use q_l = exp(-epsilon l / (2 b)) and
Z = sum_l N_l q_l.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from dpsim import checks
from dpsim.checks import Array, Integers
from dpsim.numerics.special import NODES, WEIGHTS
from dpsim.words.automaton import log_integers

MECHANISMS = ("permute-and-flip", "exponential", "staircase")

# The integrals over t = (1 + Z) u use six Gauss-Legendre panels of sixteen nodes, up to
# t = 48. The nodes are given as fractions of this upper limit.
PANELS, END = 6, 48.0
MIDDLES = 2.0 * np.arange(PANELS)[:, None] + 1.0
SHARES = ((MIDDLES + NODES) / (2.0 * PANELS)).ravel()
SHARE_WEIGHTS = np.tile(WEIGHTS, PANELS) / (2.0 * PANELS)
# The number of doubles that are processed in one step.
BLOCK = 2**20


class Mechanism(NamedTuple):
    """A mechanism and its parameters. Its methods take log-counts (..., n + 1)."""

    name: str
    epsilon: Any  # promised: a number, or an array (...)
    b: int
    offset: int | None = 0  # of the staircase; None for its best offset

    def log_f(self, log_counts: Array) -> Array:
        """Return log f (..., n + 1), the log-probability of each single word.

        The formula is also evaluated at distances where there is no word.
        """
        if self.name == "staircase":
            offset = self.offset
            if offset is None:
                offset = best_offset(log_counts, self.epsilon, self.b)
            stairs = np.ceil((np.arange(log_counts.shape[-1]) + offset) / self.b)
            log_weight = -np.asarray(self.epsilon)[..., None] / 2.0 * stairs
        else:
            log_weight = log_weights_of(log_counts, self.epsilon, self.b)
        if self.name == "permute-and-flip":
            return log_weight + log_integrals(log_counts, log_weight)
        return log_weight - logsumexp(log_counts + log_weight, axis=-1, keepdims=True)

    def pmf(self, log_counts: Array) -> Array:
        """Return the probabilities (..., n + 1) of the distances 0 to n."""
        pmf = np.exp(log_counts + self.log_f(log_counts))
        return np.asarray(pmf / pmf.sum(axis=-1, keepdims=True))

    def draw(
        self, log_counts: Array, shape: tuple[int, ...], rng: np.random.Generator
    ) -> Integers:
        """Return distances in the given shape for one vector of log-counts (n + 1,)."""
        pmf = self.pmf(log_counts)
        return np.asarray(rng.choice(len(pmf), shape, p=pmf))


def pmf(
    counts: ArrayLike,
    epsilon: ArrayLike,
    b: int = 1,
    *,
    mechanism: str = "permute-and-flip",
) -> Array:
    """Return the probabilities (..., n + 1) of the distances 0 to n.

    For permute-and-flip they are equation (4) of Benvenuti, Rao, Hale 2026, computed as
    an integral of positive terms instead of the alternating sum (5). The relative error
    is below 1e-10 for counts up to 1e1000.

    Parameters
    ----------
    counts : array_like of int (..., n + 1)
        The numbers of words at distance 0 to n, of any size, with N_0 >= 1.
    epsilon : array_like (...)
        The promised epsilon, at least 0; broadcasts against the leading axes of the
        counts.
    b : int, the largest distance between neighbours, at least 1
    mechanism : {"permute-and-flip", "exponential", "staircase"}
        For permute-and-flip, f(l) is q_l * integral_0^1 prod_j
        (1 - u q_j)^(N_j - [j = l]) du. For the exponential mechanism it is q_l / Z. For
        the staircase it is proportional to exp(-epsilon / 2 * ceil((l + offset) / b)),
        which is the exponential mechanism for a utility with sensitivity one. The
        staircase takes one vector of counts and the best offset for it. Use it only if
        the counts are not secret, for example for all words over an alphabet.

    Returns
    -------
    array of float (..., n + 1)

    Examples
    --------
    >>> from dpsim import words
    >>> words.pmf([1, 2, 1], 2.0).round(3)
    array([0.638, 0.309, 0.053])
    >>> words.pmf([1, 2, 1], 2.0, mechanism="exponential").round(3)
    array([0.534, 0.393, 0.072])
    """
    log_counts, epsilon, b = _arguments(counts, epsilon, b)
    checks.choice("mechanism", mechanism, MECHANISMS)
    if mechanism == "staircase" and log_counts.ndim > 1:
        raise ValueError(
            "counts must be one vector (n + 1,) for the staircase, "
            f"got shape {log_counts.shape}"
        )
    return Mechanism(mechanism, epsilon, b, offset=None).pmf(log_counts)


def expected_error(
    counts: ArrayLike,
    epsilon: ArrayLike,
    b: int = 1,
    *,
    mechanism: str = "permute-and-flip",
) -> Array:
    """Return the exact expected distance (...) to the private word, in letters.

    Parameters
    ----------
    counts, epsilon, b, mechanism : as in `pmf`

    Returns
    -------
    array of float (...)

    Examples
    --------
    >>> from dpsim import words
    >>> float(words.expected_error([1, 2, 1], 2.0).round(4))
    0.4144
    """
    return checks.plain(_mean(pmf(counts, epsilon, b, mechanism=mechanism)))


@checks.fits_into_memory("size")
def draw_distances(
    counts: ArrayLike,
    epsilon: float,
    b: int = 1,
    *,
    mechanism: str = "permute-and-flip",
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Integers:
    """Return sampled distances for one vector of counts, in the shape `size`.

    Parameters
    ----------
    counts, epsilon, b, mechanism : as in `pmf`, with one epsilon; the staircase takes
        its best offset
    size : int or sequence of int, optional
    rng : Generator, int or None

    Returns
    -------
    array of int, of the shape `size`, or int

    Examples
    --------
    >>> from dpsim import words
    >>> words.draw_distances(words.alphabet_counts(14, 4), 6.0, size=5, rng=1).shape
    (5,)
    """
    epsilon = checks.scalar("epsilon", epsilon, 0.0)
    log_counts, _, b = _arguments(counts, epsilon, b)
    if log_counts.ndim != 1:
        raise ValueError(
            f"counts must be one vector (n + 1,), got shape {log_counts.shape}"
        )
    checks.choice("mechanism", mechanism, MECHANISMS)
    chosen = Mechanism(mechanism, epsilon, b, offset=None)
    shape = checks.size("size", size)
    return checks.plain(chosen.draw(log_counts, shape, checks.generator(rng)))


def best_offset(log_counts: Array, epsilon: ArrayLike, b: int) -> int:
    """Return the offset of the staircase with the smallest expected distance.

    The offset is in 0..b - 1, for one vector of log-counts.
    """
    stairs = [Mechanism("staircase", epsilon, b, offset) for offset in range(b)]
    return int(np.argmin([_mean(each.pmf(log_counts)) for each in stairs]))


def _mean(pmf: Array) -> Array:
    return np.asarray(pmf @ np.arange(pmf.shape[-1], dtype=float))


def log_weights_of(log_counts: Array, epsilon: Any, b: int) -> Array:
    """Return the logarithm of a word's weight at each distance, -epsilon l / (2 b)."""
    rate = np.asarray(epsilon / (2.0 * b))
    return -rate[..., None] * np.arange(log_counts.shape[-1])


def _arguments(
    counts: ArrayLike, epsilon: ArrayLike, b: int
) -> tuple[Array, Array, int]:
    """Return log-counts (..., n + 1), epsilon (...) and b.

    Raise ValueError unless all are in range. A log-count of minus infinity means that
    there is no word at this distance.
    """
    epsilon = checks.real("epsilon", epsilon, 0.0)
    b = checks.integer("b", b, 1)
    values = checks.arrayed("counts", counts)
    masked = isinstance(counts, np.ma.MaskedArray)
    if values.dtype == object and not masked:  # integers of any size
        if not all(_is_count(each) for each in values.ravel().tolist()):
            raise ValueError(
                "counts must be integers in [0, inf), "
                "got another type or a negative one"
            )
    else:
        values = checks.real("counts", counts, 0.0)
        broken = values != np.floor(values)
        if broken.any():
            raise ValueError(f"counts must be integers, got {values[broken].flat[0]:g}")
    log_counts = log_integers(values)
    empty = log_counts.ndim == 0 or log_counts.shape[-1] == 0
    if empty or (log_counts[..., 0] < 0.0).any():
        raise ValueError(
            "counts must have a last axis 0 to n and counts[..., 0] >= 1, "
            "the word itself"
        )
    lead = np.broadcast_shapes(log_counts.shape[:-1], epsilon.shape)
    log_counts = np.broadcast_to(log_counts, (*lead, log_counts.shape[-1]))
    return log_counts, np.broadcast_to(epsilon, lead), b


def _is_count(value: Any) -> bool:
    integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return integer and value >= 0


def log_integrals(log_counts: Array, log_weight: Array) -> Array:
    """Return log integral_0^1 prod_j (1 - u q_j)^(N_j - [j = l]) du for each l.

    The result has the shape (..., n + 1), and log_weight is log q.

    In t = (1 + Z) u the integrand is a product of factors 1 - c t with c >= 0, whose
    coefficients c sum to at most one. On [0, 1 + Z] the factors are at most one in
    absolute value, and therefore so is each derivative. The error of a panel is below
    8^33 16!^4 / (33 32!^3) < 1e-24, and the part left out beyond t = 48 is below 1e-20.
    The integral is at least one, because it is an upper bound on the integral of
    (1 - t / (1 + Z))^Z. So only rounding remains.
    """
    width = log_counts.shape[-1]
    logs = log_counts.reshape(-1, width)
    weights = np.broadcast_to(log_weight, log_counts.shape).reshape(-1, width)
    found = np.zeros(logs.shape)
    step = max(1, BLOCK // (len(SHARES) * width))
    for i in range(0, len(logs), step):
        found[i : i + step] = _integrals(logs[i : i + step], weights[i : i + step])
    return found.reshape(log_counts.shape)


def _integrals(log_counts: Array, log_weight: Array) -> Array:
    """Return the logarithms of the integrals of some rows (rows, n + 1)."""
    log_total = log_counts + log_weight
    log_scale = np.logaddexp(0.0, logsumexp(log_total, axis=-1))  # of 1 + Z
    log_end = np.minimum(log_scale, math.log(END))
    log_u = (log_end - log_scale)[:, None] + np.log(SHARES)
    x = np.exp(log_weight[:, None, :] + log_u[:, :, None])  # u q: (rows, nodes, n + 1)
    ratio = np.divide(-np.log1p(-x), x, out=np.ones_like(x), where=x > 1e-300)
    exponent = np.einsum("rl,rul->ru", np.exp(log_total - log_scale[:, None]), ratio)
    exponent *= np.exp(log_u + log_scale[:, None])
    weights = SHARE_WEIGHTS * np.exp(-exponent)
    integral = np.einsum("ru,rul->rl", weights, 1.0 / (1.0 - x))
    return np.asarray(np.log(integral) + (log_end - log_scale)[:, None])
