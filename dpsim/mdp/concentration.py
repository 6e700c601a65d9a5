"""Bounds on the distance between a probability vector and its Dirichlet draw."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dpsim import checks
from dpsim.checks import Array

# At this k, the exact radius takes seconds to compute; the time grows like sqrt(k).
LARGEST_EXACT_K = 1e5


def concentration_radius(
    k: ArrayLike, beta: ArrayLike, n: int, kind: str = "paper"
) -> Array:
    """Return a radius for the distance between a vector p and its Dirichlet draw p~.

    The probability P(``||p~ - p||_inf`` >= r) should be at most beta for the radius r
    in [0, 1]. The kinds "union" and "exact" guarantee this, but "paper" does not. To
    cover m vectors at once, divide beta by m. A policy that is chosen after the release
    favours vectors whose draws happen to be high. So m must be the number of all
    vectors that the policy could have used, `MDP.random_vectors`, and not only of those
    that it uses.

    Parameters
    ----------
    k : array_like, above 0, the parameter of the mechanism; at most 1e5 for "exact"
    beta : array_like, in (0, 1); broadcasts against k
    n : int, the number of entries of the vector, at least 1 (used only by "union")
    kind : {"paper", "union", "exact"}
        "paper" is sqrt(log(1/beta) / (2 (k+1))), Lemma 2 of Gohari, Hale, Topcu 2020 as
        its Appendix A derives it. It is not a bound, because the proof treats the
        largest coordinate as if it were known in advance. For uniform p, n = 20, k = 2
        and beta = 0.2, the probability is 0.32.

        "union" is sqrt(log(2 n/beta) / (2 (k+1))). It is a bound, by the sub-Gaussian
        tail of a Beta variable (Marchal and Arbel 2017), summed over coordinates and
        signs.

        "exact" is the smallest r with g_r(x) <= beta x for all x in (0, 1], where
        g_r(x) = P(``|X - x|`` >= r) is the tail of X ~ Beta(k x, k (1-x)). It is a
        bound for all n and p, because the p_i sum to one. It is rounded up to a value
        that is proven, usually by less than 1e-4 of it.

    Returns
    -------
    float or ndarray, the shape to which k and beta broadcast

    Examples
    --------
    >>> from dpsim import mdp
    >>> kinds = ("paper", "union", "exact")
    >>> radii = [mdp.concentration_radius(50.0, 0.05, 7, kind) for kind in kinds]
    >>> [round(float(radius), 3) for radius in radii]
    [0.171, 0.235, 0.158]
    """
    n = checks.integer("n", n, 1)
    kind = checks.choice("kind", kind, ("paper", "union", "exact"))
    largest = LARGEST_EXACT_K if kind == "exact" else math.inf
    k = checks.real("k", k, 0.0, largest, open_low=True)
    beta = checks.real("beta", beta, 0.0, 1.0, open_low=True, open_high=True)
    if kind == "exact":
        return checks.plain(np.vectorize(_exact_radius, otypes=[float])(k, beta))
    events = 2 * n if kind == "union" else 1
    log_failure = np.log(events / beta)
    radius = np.sqrt(log_failure / (2 * (k + 1)))
    return checks.plain(np.minimum(radius, 1.0))


def _exact_radius(k: float, beta: float) -> float:
    """Return a certified radius that is at most 1e-4 of its value above another one.

    The other one could not be certified. No two probability vectors are further apart
    than 1.
    """
    low = 0.0
    high = 1.0
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        if _is_certified(k, beta, middle):
            high = middle
        else:
            low = middle
    return high


def _scaled_tail(k: float, x: Array, radius: float) -> Array:
    """Return g_r(x)/x for 0 < x < 1."""
    return (_upper_tail(k, x, x, radius) + _lower_tail(k, x, x, radius)) / x


def _is_certified(k: float, beta: float, radius: float) -> bool:
    """Return whether g_r(x) <= beta x is proven on (0, 1].

    The proof halves cells of x, with slack for SciPy's rounding.
    """
    slack = 1e-9 + 1e-13 * k
    # the tails start at the radius and at 1 - radius
    edges = np.unique([*np.linspace(0.0, 1.0, 65), radius, 1 - radius])
    low = edges[:-1]
    high = edges[1:]
    for _ in range(50):
        if not 0 < low.size <= 2**16:
            break
        unsettled = scaled_tail_bound(k, low, high, radius) * (1 + slack) > beta
        low = low[unsettled]
        high = high[unsettled]
        middle = (low + high) / 2
        if (_scaled_tail(k, middle, radius) > beta).any():
            return False
        low = np.concatenate([low, middle])
        high = np.concatenate([middle, high])
    return low.size == 0


def _upper_tail(k: float, low: Array, high: Array, radius: float) -> Array:
    """Return a bound on P(X - x >= radius) for low <= x <= high.

    Here X ~ Beta(k x, k (1-x)). The bound is exact if low = high. X grows
    stochastically with x, so the bound takes the distribution at `high` and the
    threshold at `low`.
    """
    beyond = np.maximum(1 - (low + radius), 0.0)
    tail = _beta_tail(k * high, np.maximum(k * (1 - high), 1e-300), beyond)
    return np.where(beyond > 0, np.where(high < 1, tail, 1.0), 0.0)


def _beta_tail(a: Array, b: Array, beyond: Array) -> Array:
    """Return P(X >= 1 - beyond) for X ~ Beta(a, b), but at least 1e-250.

    Below 1e-259 SciPy may return 0.
    """
    # betaincc takes ten times as long
    return np.maximum(special.betainc(b, a, beyond), 1e-250)


def _lower_tail(k: float, low: Array, high: Array, radius: float) -> Array:
    """Return a bound on P(x - X >= radius) for low <= x <= high.

    Here X ~ Beta(k x, k (1-x)). The bound is exact if low = high.
    """
    return _upper_tail(k, 1 - high, 1 - low, radius)


def scaled_tail_bound(k: float, low: Array, high: Array, radius: float) -> Array:
    """Return a bound on g_r(x)/x over x in (low, high].

    The bound is close even for low = 0.

    Write 1/B(k x, k (1-x)) = k x c(x) with c(x) = Gamma(k) / (Gamma(1 + k x) Gamma(k
    (1-x))). Then the upper tail over x is k c(x) times the integral of u^(k x - 1)
    (1-u)^(k (1-x) - 1) over u > x + r. Both factors of the integrand are bounded by
    their values at the ends of the cell, and log c, which is concave, by its tangent at
    `low`. A power of u that is too small for the beta function is replaced with 1e-9.
    The result is still a bound, because u > r.
    """
    a = np.maximum(k * low, 1e-9)
    b = np.maximum(k * (1 - high), 1e-300)
    both = special.gammaln(k) - special.gammaln(1 + k * low)
    log_c = both - special.gammaln(k * (1 - low))
    slope = k * (special.digamma(k * (1 - low)) - special.digamma(1 + k * low))
    tangent = log_c + np.maximum(slope, 0.0) * (high - low)
    log_factor = tangent + special.betaln(a, b) + (k * low - a) * math.log(radius)
    tail = _beta_tail(a, b, np.maximum(1 - (low + radius), 0.0))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        refined = k * np.exp(log_factor + np.log(tail))
        above = np.fmin(refined, _upper_tail(k, low, high, radius) / low)
        below = _lower_tail(k, low, high, radius)
        above = np.where(low + radius < 1, above, 0.0)
        return above + np.where(below > 0, below / low, 0.0)
