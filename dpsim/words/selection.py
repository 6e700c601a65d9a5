"""Laws of the distance between a word and its private version, from the number of words at each distance.

Every mechanism here gives the N_l words at distance l one common probability f(l), so its law needs the counts
N_0, ..., N_n alone; N_0 >= 1 counts the word itself. Formulas use q_l = exp(-epsilon l / (2 b)) and
Z = sum_l N_l q_l. Throughout: counts (..., n + 1), non-negative integers of any size (Python integers
too), or their natural logarithms with log=True (minus infinity for none); epsilon >= 0, the nominal
parameter, of a shape that broadcasts against the leading axes; b >= 1, the distance of adjacent words.
Outside these ranges every function raises ValueError.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.special import logsumexp

from dpsim import checks
from dpsim.checks import Array
from dpsim.numerics.special import NODES, WEIGHTS
from dpsim.words.automaton import alphabet_counts, log_integers

MECHANISMS = ("permute-and-flip", "exponential", "staircase")

# The integrals over t = (1 + Z) u: six Gauss-Legendre panels of sixteen nodes, up to t = 48. See
# `log_integrals` for why this is exact to double precision.
PANEL, PANELS = 8.0, 6


def log_word_probability(
    counts: ArrayLike,
    epsilon: ArrayLike,
    b: int = 1,
    *,
    mechanism: str = "permute-and-flip",
    offset: int | None = None,
    log: bool = False,
) -> Array:
    """Return log f, the log-probability of each single word at distance 0 to n.

    Parameters
    ----------
    counts : array_like of int, shape (..., n + 1)
        Numbers of words at distance 0 to n, N_0 >= 1; their natural logarithms with `log`.
    epsilon : array_like, shape (...)
        Nominal epsilon, at least 0; q_l = exp(-epsilon l / (2 b)).
    b : int
        Distance of adjacent words, at least 1.
    mechanism : {"permute-and-flip", "exponential", "staircase"}
    offset : int, optional
        Of the staircase, in 0..b - 1; None: `best_offset`, which reads the counts, so use it only where they are no
        secret (on all words of an alphabet).
    log : bool
        Whether counts are natural logarithms.

    Returns
    -------
    ndarray, shape (..., n + 1)
        Values where N_l = 0 are formal.

    Raises
    ------
    ValueError
        For arguments outside these ranges.

    Notes
    -----
    "exponential": f(l) = q_l / Z. "permute-and-flip": f(l) = q_l * integral_0^1 prod_j (1 - u q_j)^(N_j - [j = l]) du,
    which has no cancellation. "staircase": proportional to exp(-epsilon / 2 * ceil((l + offset) / b)), the exponential
    mechanism of a utility of sensitivity one.

    References
    ----------
    Benvenuti, Rao, Hale 2026, Definition 4.

    Examples
    --------
    >>> from dpsim import words
    >>> words.log_word_probability([1, 2, 1], 2.0).round(3)
    array([-0.449, -1.867, -2.945])
    """
    log_counts, epsilon, b, rate = _arguments(counts, epsilon, b, log)
    checks.choice("mechanism", mechanism, MECHANISMS)
    distance = np.arange(log_counts.shape[-1])
    if mechanism == "staircase":
        steps = _steps(log_counts, epsilon, b, offset)
        log_weight = -epsilon[..., None] / 2.0 * steps
    else:
        if offset is not None:
            raise ValueError(f"offset must be None for the mechanism {mechanism!r}, got {offset!r}")
        log_weight = -rate[..., None] * distance
    if mechanism == "permute-and-flip":
        return log_weight + log_integrals(log_counts, log_weight)
    return log_weight - logsumexp(log_counts + log_weight, axis=-1, keepdims=True)


def permute_and_flip_pmf(counts: ArrayLike, epsilon: ArrayLike, b: int = 1, *, log: bool = False) -> Array:
    """Return the probabilities of the distances 0 to n under permute-and-flip.

    Parameters
    ----------
    counts, epsilon, b, log
        As in `log_word_probability`.

    Returns
    -------
    ndarray, shape (..., n + 1)
        Relative error below 1e-10 for counts up to 1e1000.

    Raises
    ------
    ValueError
        As `log_word_probability` does.

    References
    ----------
    Benvenuti, Rao, Hale 2026, equation (4), without its alternating sum.

    Examples
    --------
    >>> from dpsim import words
    >>> words.permute_and_flip_pmf([1, 2, 1], 2.0).round(3)
    array([0.638, 0.309, 0.053])
    """
    return _pmf(counts, epsilon, b, "permute-and-flip", None, log)


def exponential_pmf(counts: ArrayLike, epsilon: ArrayLike, b: int = 1, *, log: bool = False) -> Array:
    """Return the probabilities of the distances under the exponential mechanism, N_l q_l / Z.

    Parameters
    ----------
    counts, epsilon, b, log
        As in `log_word_probability`.

    Returns
    -------
    ndarray, shape (..., n + 1)

    Raises
    ------
    ValueError
        As `log_word_probability` does.

    Examples
    --------
    >>> from dpsim import words
    >>> words.exponential_pmf([1, 2, 1], 2.0).round(3)
    array([0.534, 0.393, 0.072])
    """
    return _pmf(counts, epsilon, b, "exponential", None, log)


def best_offset(counts: ArrayLike, epsilon: float, b: int = 1, *, log: bool = False) -> int:
    """Return the staircase's offset of least expected distance, for one vector of counts.

    Parameters
    ----------
    counts : array_like, shape (n + 1,)
        As in `log_word_probability`.
    epsilon : float
        Nominal epsilon, at least 0.
    b, log
        As in `log_word_probability`.

    Returns
    -------
    int
        In 0..b - 1.

    Raises
    ------
    ValueError
        As `log_word_probability` does.

    Notes
    -----
    The choice reads the counts: it is private only where they are the same for every word, as on all words of
    an alphabet; on a chain, choose the offset without looking at the word.

    Examples
    --------
    >>> from dpsim import words
    >>> words.best_offset(words.alphabet_counts(6, 4), 4.0, 3)
    0
    """
    b = checks.integer("b", b, 1)
    errors = [expected_error(counts, epsilon, b, mechanism="staircase", offset=offset, log=log) for offset in range(b)]
    return int(np.argmin(errors))


def expected_error(
    counts: ArrayLike,
    epsilon: ArrayLike,
    b: int = 1,
    *,
    mechanism: str = "permute-and-flip",
    offset: int | None = None,
    log: bool = False,
) -> Array:
    """Return the expected distance between the word and its private version, exact.

    Parameters
    ----------
    counts, epsilon, b, mechanism, offset, log
        As in `log_word_probability`.

    Returns
    -------
    float or ndarray, shape (...)
        In letters.

    Raises
    ------
    ValueError
        As `log_word_probability` does.

    Examples
    --------
    >>> from dpsim import words
    >>> float(words.expected_error([1, 2, 1], 2.0).round(4))
    0.4144
    """
    pmf = _pmf(counts, epsilon, b, mechanism, offset, log)
    return checks.plain(pmf @ np.arange(pmf.shape[-1], dtype=float))


def expected_error_bounds(
    counts: ArrayLike, epsilon: ArrayLike, b: int = 1, *, log: bool = False
) -> tuple[Array, Array]:
    """Return Theorem 2's bounds on the expected error of permute-and-flip.

    Parameters
    ----------
    counts, epsilon, b, log
        As in `log_word_probability`.

    Returns
    -------
    lower, upper : float or ndarray, shape (...)
        In letters. upper is the expected error of the exponential mechanism, n C / (1 + C) with
        C = (m - 1) exp(-epsilon/(2b)) on all words of an alphabet; lower = upper - n (Phi(0) - Phi(n)) / (4
        E_Exp[Phi]), E_Exp[Phi] = 1 / Z, which may be negative.

    Raises
    ------
    ValueError
        As `log_word_probability` does.

    Notes
    -----
    The proof (Chebyshev's and Gruess's inequalities) uses nothing of the counts, so both hold for the words of a chain
    too.

    References
    ----------
    Benvenuti, Rao, Hale 2026, Theorem 2.

    Examples
    --------
    >>> from dpsim import words
    >>> [float(bound.round(3)) for bound in words.expected_error_bounds([1, 2, 1], 2.0)]
    [0.304, 0.538]
    """
    log_counts, epsilon, b, rate = _arguments(counts, epsilon, b, log)
    log_weight = -rate[..., None] * np.arange(log_counts.shape[-1])
    upper = expected_error(log_counts, epsilon, b, mechanism="exponential", log=True)
    log_normaliser = logsumexp(log_counts + log_weight, axis=-1)
    scaled = np.exp(log_integrals(log_counts, log_weight) + log_normaliser[..., None])
    n = log_counts.shape[-1] - 1
    return checks.plain(upper - n * (scaled[..., 0] - scaled[..., -1]) / 4.0), upper


def expected_error_floor(counts: ArrayLike, epsilon: ArrayLike, b: int = 1, *, log: bool = False) -> Array:
    """Return a lower bound on the expected error of permute-and-flip, at least half the exponential's.

    Parameters
    ----------
    counts, epsilon, b, log
        As in `log_word_probability`.

    Returns
    -------
    float or ndarray, shape (...)
        In letters.

    Raises
    ------
    ValueError
        As `log_word_probability` does.

    Notes
    -----
    As 1 - u q >= (1 - u)^q, a word at distance l has f(l) >= q_l * integral (1 - u)^(Z - q_l) du
    = q_l / (1 + Z - q_l), and its probability under the exponential mechanism is q_l / Z.

    Examples
    --------
    >>> from dpsim import words
    >>> float(words.expected_error_floor([1, 2, 1], 2.0).round(4))
    0.3929
    """
    log_counts, epsilon, b, rate = _arguments(counts, epsilon, b, log)
    distance = np.arange(log_counts.shape[-1])
    log_weight = -rate[..., None] * distance
    log_normaliser = logsumexp(log_counts + log_weight, axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        log_scale = np.logaddexp(log_normaliser, np.log(-np.expm1(log_weight)))
    return checks.plain(np.exp(log_counts + log_weight - log_scale) @ distance)


def reduction_limit(epsilon: ArrayLike, n: int, b: int = 1) -> Array:
    """Return the largest share by which permute-and-flip can lower the exponential's expected error, over all counts.

    Parameters
    ----------
    epsilon : array_like, shape (...)
        Nominal epsilon, at least 0.
    n : int
        Letters, at least 1.
    b : int
        Distance of adjacent words, at least 1.

    Returns
    -------
    float or ndarray, shape (...)
        (1 - exp(-epsilon n / (2 b))) / 2, below one half always.

    Raises
    ------
    ValueError
        For arguments outside these ranges.

    Notes
    -----
    Over all counts N_0 = 1, N_1, ..., N_n >= 0. Proof: Z >= 1 + q_l where N_l > 0, so the ratio Z / (1 + Z - q_l) of
    `expected_error_floor` is at least (1 + q_l) / 2 >= (1 + q_n) / 2. A word with one alternative, at distance n,
    attains it.

    The paper's Section V has 25 % at epsilon 3 next to an exponential error of 0.62 at epsilon 5. No counts allow that
    for b = 1: the error makes Z at 3 at least 1 + 0.62 min_l e^l / (l - 0.62), so the reduction is at most
    1 / (1 + Z) < 0.189. For a larger b it is possible: 17 words at distance 6 of 14 letters, b = 3, have 28.2 %.

    Examples
    --------
    >>> from dpsim import words
    >>> float(words.reduction_limit(5.0, 2).round(6))
    0.496631
    """
    epsilon = checks.real("epsilon", epsilon, 0.0)
    n, b = checks.integer("n", n, 1), checks.integer("b", b, 1)
    return checks.plain(-np.expm1(-epsilon * n / (2.0 * b)) / 2.0)


def error_reduction(counts: ArrayLike, epsilon: ArrayLike, b: int = 1, *, log: bool = False) -> Array:
    """Return the share by which permute-and-flip lowers the exponential mechanism's expected error, exact.

    Parameters
    ----------
    counts : array_like of int, shape (..., n + 1)
        Numbers of words at distance 0 to n, N_0 >= 1; their logarithms with `log`.
    epsilon : array_like, shape (...)
        Nominal epsilon, at least 0.
    b : int
        Distance of adjacent words, at least 1.
    log : bool
        Whether counts are natural logarithms.

    Returns
    -------
    ndarray, shape (...)
        1 - E_PF / E_EM in [0, 1/2]; 0 where no word but the true one is feasible.

    Raises
    ------
    ValueError
        For arguments outside these ranges.

    Notes
    -----
    The difference of the two errors cancels where they nearly agree. Instead, with p the exponential mechanism's
    law, equation (11) of Benvenuti, Rao, Hale 2026 is a sum over pairs of distances, all terms of one sign:
    Z / E_EM * sum_{l < k} p_l p_k (k - l) (q_l - q_k) J_lk with
    J_lk = integral_0^1 u prod_j (1 - u q_j)^(N_j) / ((1 - u q_l) (1 - u q_k)) du, by the nodes of
    `log_integrals`: the factor u adds derivatives of the first order alone, so its error bounds grow by less than 100.

    Examples
    --------
    >>> print(f"{error_reduction([1, 0, 1], 5.0):.6f}, {reduction_limit(5.0, 2):.6f}")
    0.496631, 0.496631
    """
    log_counts, epsilon, b, rate = _arguments(counts, epsilon, b, log)
    rows = np.array(log_counts, order="C").reshape(-1, log_counts.shape[-1])
    return checks.plain(_error_reductions(rows, np.ascontiguousarray(rate.ravel())).reshape(epsilon.shape))


def tail_bound(deviation: ArrayLike, n: int) -> Array:
    """Return Theorem 2's bound on the probability that a distance is far from its mean.

    Parameters
    ----------
    deviation : array_like, shape (...)
        In letters, above 0.
    n : int
        Letters, at least 1.

    Returns
    -------
    float or ndarray, shape (...)
        min(1, 2 exp(-2 deviation^2 / n^2)), on P(``|l - E[l]|`` >= deviation).

    Raises
    ------
    ValueError
        For arguments outside these ranges.

    Notes
    -----
    Holds for any law on [0, n] (Hoeffding).

    References
    ----------
    Benvenuti, Rao, Hale 2026, Theorem 2.

    Examples
    --------
    >>> from dpsim import words
    >>> float(words.tail_bound(14, 14).round(4))
    0.2707
    """
    deviation = checks.real("deviation", deviation, 0.0, open_low=True)
    n = checks.integer("n", n, 1)
    return checks.plain(np.minimum(1.0, 2.0 * np.exp(-2.0 * (deviation / n) ** 2)))


def draw_distances(
    counts: ArrayLike,
    epsilon: float,
    b: int = 1,
    *,
    mechanism: str = "permute-and-flip",
    offset: int | None = None,
    log: bool = False,
    size: int | Sequence[int] | None = None,
    rng: np.random.Generator | int | None = None,
) -> NDArray[np.int64]:
    """Return distances drawn exactly, for one vector of counts.

    Parameters
    ----------
    counts : array_like, shape (n + 1,)
        As in `log_word_probability`.
    epsilon : float
        Nominal epsilon, at least 0.
    b, mechanism, offset, log
        As in `log_word_probability`.
    size : int or sequence of int, optional
    rng : Generator, int or None

    Returns
    -------
    int or array of int, of shape `size`

    Raises
    ------
    ValueError
        As `log_word_probability` does.

    Notes
    -----
    Permute-and-flip is report-noisy-max with exponential noise: word w scores -epsilon d(w) / (2 b) + Exp(1). The best
    of N words at one distance is drawn at once by the quantile function of the maximum of N exponentials, one variate
    per distance, no integral. The other mechanisms likewise with Gumbel noise.

    References
    ----------
    Ding et al. 2021.

    Examples
    --------
    >>> from dpsim import words
    >>> words.draw_distances(words.alphabet_counts(14, 4), 6.0, size=5, rng=1).shape
    (5,)
    """
    log_counts, _, b, rate = _arguments(counts, checks.scalar("epsilon", epsilon, 0.0), b, log)
    if log_counts.ndim != 1:
        raise ValueError(f"counts must be one vector (n + 1,), got shape {log_counts.shape}")
    checks.choice("mechanism", mechanism, MECHANISMS)
    rng = checks.generator(rng)
    shape = (*checks.size("size", size), len(log_counts))
    possible = np.isfinite(log_counts)
    safe = np.where(possible, log_counts, 0.0)
    if mechanism == "permute-and-flip":
        if offset is not None:
            raise ValueError(f"offset must be None for the mechanism {mechanism!r}, got {offset!r}")
        # U^(1/N) with -log U = E: the maximum is -log(1 - exp(-E / N)), and E / N may underflow.
        log_share = np.log(rng.standard_exponential(shape)) - safe
        small = log_share < -40.0
        share = np.exp(np.where(small, 0.0, log_share))
        best = np.where(small, -log_share, -np.log(-np.expm1(-share)))
        score = best - rate * np.arange(len(log_counts))
    else:
        log_f = log_word_probability(log_counts, epsilon, b, mechanism=mechanism, offset=offset, log=True)
        score = rng.gumbel(size=shape) + safe + log_f
    return checks.plain(np.argmax(np.where(possible, score, -np.inf), axis=-1))


def _plain_permute_and_flip(distances: ArrayLike, rate: float, rng: np.random.Generator) -> int:
    """Return the index of a word drawn by permutations and flips, as the paper has it: the twin of the laws above."""
    distances = np.asarray(distances)
    for index in rng.permutation(distances.size):
        if rng.random() < math.exp(-rate * distances[index]):
            return int(index)
    raise AssertionError("the word itself, at distance 0, always succeeds")


def _pmf(counts: ArrayLike, epsilon: ArrayLike, b: int, mechanism: str, offset: int | None, log: bool) -> Array:
    """Return the law of the distance: how many words there are at each, times the probability of one."""
    log_counts, epsilon, b, _ = _arguments(counts, epsilon, b, log)
    log_f = log_word_probability(log_counts, epsilon, b, mechanism=mechanism, offset=offset, log=True)
    pmf = np.exp(log_counts + log_f)
    return np.asarray(pmf / pmf.sum(axis=-1, keepdims=True))


def _arguments(counts: ArrayLike, epsilon: ArrayLike, b: int, log: bool) -> tuple[Array, Array, int, Array]:
    """Return log-counts (..., n + 1), epsilon (...), b and the rate epsilon / (2 b) (...), checked."""
    epsilon = checks.real("epsilon", epsilon, 0.0)
    b = checks.integer("b", b, 1)
    log_counts = _checked_logs(counts) if log else _logs_of_counts(counts)
    if log_counts.ndim == 0 or log_counts.shape[-1] == 0 or (log_counts[..., 0] < 0.0).any():
        raise ValueError("counts must have a last axis 0 to n and counts[..., 0] >= 1, the word itself")
    lead = np.broadcast_shapes(log_counts.shape[:-1], epsilon.shape)
    epsilon = np.broadcast_to(epsilon, lead)
    return np.broadcast_to(log_counts, (*lead, log_counts.shape[-1])), epsilon, b, epsilon / (2.0 * b)


def _checked_logs(counts: ArrayLike) -> Array:
    """Return logarithms of counts as floats; minus infinity stands for no word."""
    logs = np.asarray(counts)
    if isinstance(counts, np.ma.MaskedArray) or logs.dtype.kind not in "iuf":
        logs = checks.real("counts", counts, 0.0)
    checks.real("counts", np.where(np.isneginf(logs), 0.0, logs), 0.0)
    return logs.astype(float)


def _logs_of_counts(counts: ArrayLike) -> Array:
    """Return the logarithms of counts of any size; ValueError for what is no count."""
    values = np.asarray(counts)
    if values.dtype != object or isinstance(counts, np.ma.MaskedArray):
        values = checks.real("counts", counts, 0.0)
        if (values != np.floor(values)).any():
            raise ValueError(f"counts must be integers, got {values[values != np.floor(values)].flat[0]:g}")
    elif not all(_is_count(value) for value in values.ravel().tolist()):
        raise ValueError("counts must be integers in [0, inf), got another type or a negative one")
    return log_integers(values)


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 0)


def _steps(log_counts: Array, epsilon: Array, b: int, offset: int | None) -> Array:
    """Return the stair of each distance; without an offset the best one for a single law."""
    if offset is None:
        if log_counts.ndim != 1:
            raise ValueError(f"offset must be given for counts and epsilon of shape {log_counts.shape[:-1]}")
        offset = best_offset(log_counts, float(epsilon), b, log=True)
    offset = checks.integer("offset", offset, 0, b - 1)
    return np.ceil((np.arange(log_counts.shape[-1]) + offset) / b)


def log_integrals(log_counts: Array, log_weight: Array) -> Array:
    """Return log integral_0^1 prod_j (1 - u q_j)^(N_j - [j = l]) du for each l: (..., n + 1), log_weight = log q.

    In t = (1 + Z) u the integrand is a product of factors 1 - c t, c >= 0, whose c sum to at most one: each
    derivative is at most one in absolute value where the factors are, on [0, 1 + Z]. So the error of a
    panel is below 8^33 16!^4 / (33 32!^3) < 1e-24; the part left out beyond t = 48 is below 1e-20; the integral is
    at least one (it bounds the integral of (1 - t / (1 + Z))^Z). What remains is rounding.
    """
    shape = log_counts.shape
    rows = _integrals(
        np.array(log_counts, order="C").reshape(-1, shape[-1]),
        np.array(log_weight, order="C").reshape(-1, shape[-1]),
    )
    return rows.reshape(shape)


@njit(cache=True)
def _integrals(log_counts: Array, log_weight: Array) -> Array:
    """Return the logarithms of permute-and-flip's integrals, a row at a time; `log_integrals` bounds the error."""
    rows, width = log_counts.shape
    result = np.empty((rows, width))
    x, log_total = np.empty(width), np.empty(width)
    for row in range(rows):
        top = 0.0
        for j in range(width):
            result[row, j] = 0.0
            log_total[j] = log_counts[row, j] + log_weight[row, j]
            top = max(top, log_total[j])
        scaled = math.exp(-top)
        for j in range(width):
            scaled += math.exp(log_total[j] - top)
        log_scale = top + math.log(scaled)
        end = math.exp(min(log_scale, math.log(PANEL * PANELS)))
        panels = math.ceil(end / PANEL)
        half = end / panels / 2.0
        for panel in range(panels):
            for node, weight in zip(NODES, WEIGHTS):
                log_u = math.log(half * (2.0 * panel + 1.0 + node)) - log_scale
                exponent = 0.0
                for j in range(width):
                    x[j] = math.exp(log_weight[row, j] + log_u)
                    ratio = -math.log1p(-x[j]) / x[j] if x[j] > 1e-300 else 1.0
                    exponent += math.exp(log_total[j] + log_u) * ratio
                value = weight * half * math.exp(-exponent)
                for j in range(width):
                    result[row, j] += value / (1.0 - x[j])
        for j in range(width):
            result[row, j] = math.log(result[row, j]) - log_scale
    return result


@njit(cache=True)
def _error_reductions(log_counts: Array, rates: Array) -> Array:
    """Return the sum over pairs of distances that `error_reduction` writes out, a row at a time."""
    rows, width = log_counts.shape
    result = np.zeros(rows)
    q, p, near, gap = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    for row in range(rows):
        rate = rates[row]
        top = -np.inf
        for j in range(width):
            p[j] = log_counts[row, j] - rate * j
            top = max(top, p[j])
        scaled = 0.0
        for j in range(width):
            scaled += math.exp(p[j] - top)
        log_z = top + math.log(scaled)
        log_scale = log_z + math.log1p(math.exp(-log_z))  # of 1 + Z; Z >= 1
        error = 0.0
        for j in range(width):
            q[j], p[j] = math.exp(-rate * j), math.exp(p[j] - log_z)
            gap[j] = -j * math.expm1(-rate * j)
            error += p[j] * j
        end = math.exp(min(log_scale, math.log(PANEL * PANELS)))
        panels = math.ceil(end / PANEL)
        half = end / panels / 2.0
        share = 0.0
        for panel in range(panels):
            for node, weight in zip(NODES, WEIGHTS):
                t = half * (2.0 * panel + 1.0 + node)
                u = t * math.exp(-log_scale)
                exponent = 0.0
                for j in range(width):
                    x = u * q[j]
                    exponent += p[j] * (-math.log1p(-x) / x if x > 1e-300 else 1.0)
                    near[j] = p[j] / (1.0 - x)
                pairs = 0.0
                for k in range(1, width):
                    for j in range(k):
                        pairs += near[j] * near[k] * q[j] * gap[k - j]
                share += weight * half * t * math.exp(-t * math.exp(log_z - log_scale) * exponent) * pairs
        if error > 0.0:
            result[row] = share * math.exp(log_z - 2.0 * log_scale) / error
    return result


def least_expected_error(n: int, m: int, epsilon: float, b: int = 1) -> float:
    """Return the least worst-case expected distance of any epsilon-differentially private mechanism on m**n words.

    Parameters
    ----------
    n : int
        Letters, in 1..60.
    m : int
        Size of the alphabet, at least 2, m**n <= 1e280.
    epsilon : float
        The epsilon really spent, in [0, 30].
    b : int
        Distance of adjacent words, at least 1.

    Returns
    -------
    float
        In letters, up to the solver's 1e-7.

    Raises
    ------
    ValueError
        For arguments outside these ranges.

    Notes
    -----
    A linear programme. Averaging a mechanism over the isometries of the Hamming distance keeps its epsilon and raises
    no worst-case error, so it may be taken to depend on the distance alone: probabilities x_l = N_l f(l) with
    f(k) <= exp(epsilon) f(j) for ``|k - j| <= b``, all of which occur.

    Examples
    --------
    >>> from dpsim import words
    >>> round(words.least_expected_error(3, 4, 2.0), 4)
    0.8663
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
