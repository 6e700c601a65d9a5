"""The published epsilon and delta of the Dirichlet mechanism in closed form (Theorem 1 of both Dirichlet papers)."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc

from dpsim import checks
from dpsim.checks import Array
from dpsim.dirichlet.mechanism import (
    LARGEST_K,
    LARGEST_K_OF_DELTA,
    SMALLEST_PARAMETER,
    count_below,
    dirichlet_parameters,
    gamma_constants,
)
from dpsim.numerics import search
from dpsim.numerics.special import log_beta_tail, log_gamma_ratio


def theorem1_vector_epsilon(
    k: ArrayLike,
    *,
    shift: ArrayLike,
    eta: ArrayLike,
    gamma: ArrayLike,
    n: int,
    eta_bar: ArrayLike | None = None,
) -> Any:
    """Return the epsilon of Theorem 1 of Benvenuti et al. 2026 (equation 6) and of Fallin et al. 2023.

    It is a proven upper bound on the log-likelihood ratio of neighbours p and p - shift e_i + shift e_j while every
    protected coordinate of the release is at least gamma. `theorem1_delta_bounds` bounds the probability that one of them is
    not.

    Parameters
    ----------
    k : array_like, in (0, 1e300], the k of Dir(k p); arrays broadcast
    shift : array_like
        1/N for one record of N, b/2 for the neighbours of Fallin et al.; positive, and small enough that neighbours
        exist.
    eta : array_like, above 0; the public minimum of the protected entries
    gamma : array_like, in (0, 1/(n-1))
    n : int
        The number of protected categories, at least 2. In Benvenuti et al. all categories are protected, and in Fallin
        et al. only those in W.
    eta_bar : array_like, optional
        Mass in (0, 1) that Fallin et al. leave to the other categories; None for Benvenuti et al., whose formula has
        eta in its place.

    Examples
    --------
    >>> round(float(theorem1_vector_epsilon(20.6, shift=1 / 98, eta=0.073, gamma=4e-4, n=5)), 3)
    2.212
    """
    n = checks.integer("n", n, 2)
    k = checks.real("k", k, 0.0, LARGEST_K, open_low=True)
    gamma = _inner_minimum(gamma, n)
    outside = (
        0.0
        if eta_bar is None
        else checks.real("eta_bar", eta_bar, 0.0, 1.0, open_low=True, open_high=True)
    )
    eta = _minimum(eta, (1.0 - outside) / n, k)
    # Two coordinates share at most 1 - (n-2) eta. The paper has 1 - eta, which is not a bound for n = 2.
    shared = 1.0 - outside - (min(n - 2, 1) * eta if eta_bar is None else 0.0)
    shift = _at_most("shift", shift, shared - 2.0 * eta)
    left = np.maximum(
        shared - eta - shift, eta
    )  # a rounding below eta would make the bound too small
    beta_ratio = log_gamma_ratio(k * left, k * shift) - log_gamma_ratio(
        k * eta, k * shift
    )
    # No release has every coordinate above a gamma of more than 1/n, so any epsilon >= 0 holds there.
    return checks.plain(
        np.maximum(
            beta_ratio + k * shift * (np.log1p(-(n - 1) * gamma) - np.log(gamma)), 0.0
        )
    )


def _inner_minimum(gamma: ArrayLike, m: int) -> Array:
    return checks.real(
        "gamma", gamma, 0.0, 1.0 / max(m - 1, 1), open_low=True, open_high=True
    )


def _minimum(eta: ArrayLike, most: ArrayLike, k: Array) -> Array:
    """Return eta, and raise ValueError unless eta is at most `most` and k eta does not underflow."""
    eta = _at_most("eta", eta, most)
    if (k * eta < SMALLEST_PARAMETER).any():
        raise ValueError(
            f"eta must be at least {SMALLEST_PARAMETER:g} / k, got {eta.min():g}"
        )
    return eta


def _at_most(name: str, value: ArrayLike, most: ArrayLike) -> Array:
    """Return the value if each entry is positive and at most `most`, up to a few rounding errors; otherwise raise
    ValueError."""
    array = checks.real(name, value, 0.0, open_low=True)
    above = array > np.asarray(most) + 8 * np.finfo(float).eps
    if above.any():
        offender, limit = (float(x[above][0]) for x in np.broadcast_arrays(array, most))
        raise ValueError(
            f"{name} must be in {checks.interval(0.0, limit, open_low=True)}, got {offender:g}"
        )
    return array


def theorem1_delta_bounds(
    k: ArrayLike,
    *,
    eta: ArrayLike,
    gamma: ArrayLike,
    n: int,
    protected: int | None = None,
) -> tuple[Array, Array]:
    """Return proven (lower, upper) bounds around delta, the largest probability that a protected entry is below gamma
    (Benvenuti et al. 2026, equation 7; Fallin et al. 2023, Lemma 2; Marshall and Olkin 1979, section 11.E).

    The relative gap between the bounds is about delta / 2, and each bound is computed to within a relative error of
    1e-9 (below 1e-300 the lower bound may become 0, and the upper bound is at least 2.3e-308). Here delta is the
    maximum, over all p whose protected entries are at least eta, of P(some protected coordinate of Dir(k p) < gamma).
    With q_i = I_gamma(k p_i, k - k p_i) at the worst p, upper
    = sum q_i (a union bound) and lower = 1 - prod(1 - q_i) (Dirichlet coordinates are negatively associated). The worst
    p has n-1 coordinates at eta and one at 1 - (n-1) eta, because P(min >= gamma) is Schur-concave in p for every k >
    0. When only W is protected, all of W is at eta in the worst case. A coupling of the Gamma variables shows that
    moving mass from outside W to a protected coordinate never increases the probability.

    Parameters
    ----------
    k : array_like, in [1e-290, 1e12]; arrays broadcast
    eta : array_like, in (0, 1/n] (or (0, 1/W]); the public minimum
    gamma : array_like, in (0, 1/(m-1)), m = n or W
    n : int; categories
    protected : int, optional
        W, in 1..n-1: how many coordinates are protected (Omega_1 requires these to be at least gamma). None means all
        n.

    Examples
    --------
    >>> [float(bound.round(4)) for bound in theorem1_delta_bounds(9.87, eta=0.1, gamma=1e-3, n=32, protected=2)]
    [0.0188, 0.0189]
    """
    lower, upper = _log_delta_bounds(k, eta, gamma, n, protected)
    return np.exp(lower), np.maximum(np.exp(upper), np.finfo(float).tiny)


def _log_delta_bounds(
    k: ArrayLike, eta: ArrayLike, gamma: ArrayLike, n: int, protected: int | None = None
) -> tuple[Array, Array]:
    """Return the logarithms of `theorem1_delta_bounds`, which stay finite (down to -1e300) if the bounds underflow."""
    n = checks.integer("n", n, 2)
    m = n if protected is None else checks.integer("protected", protected, 1, n - 1)
    k = checks.real("k", k, SMALLEST_PARAMETER, LARGEST_K_OF_DELTA)
    gamma = _inner_minimum(gamma, m)
    eta = _minimum(eta, 1.0 / m, k)
    if (eta >= 1.0).any():
        raise ValueError(
            f"eta must be in (0, 1) for one protected coordinate, got {eta.max():g}"
        )
    at_border = n - 1 if protected is None else m
    with np.errstate(divide="ignore"):  # q_i = 1 gives log 0 = -inf, as it should
        log_tail = log_beta_tail(gamma, eta, k)
        log_sum = np.log(at_border) + log_tail
        log_none = at_border * np.log1p(-np.exp(log_tail))
        if protected is None:
            log_rest = log_beta_tail(gamma, np.maximum(1.0 - (n - 1) * eta, eta), k)
            log_sum = np.logaddexp(log_sum, log_rest)
            log_none = log_none + np.log1p(-np.exp(log_rest))
    upper = np.minimum(log_sum, 0.0)
    # below e^-40 the two bounds agree to the last digit
    some = np.where(log_sum < -40.0, 1.0, -np.expm1(log_none))
    lower = np.where(log_sum < -40.0, log_sum, np.log(some))
    certain = m * gamma >= 1.0  # Omega_1 has no interior
    lower = np.minimum(lower, upper)
    return checks.plain(np.where(certain, 0.0, lower)), checks.plain(
        np.where(certain, 0.0, upper)
    )


def best_epsilon_bound(
    delta: ArrayLike, k: float, *, shift: float, eta: float, n: int
) -> Any:
    """Return the epsilon of Theorem 1 at each delta with the best gamma. The best gamma is the largest one, to within a
    relative error of 1e-12, for which the upper end of `theorem1_delta_bounds` is at most delta. So the result is a proven upper
    bound.

    Parameters
    ----------
    delta : array_like, in (0, 1), and large enough that some gamma in [1e-300, 1/n) reaches it
    k : float, in [1e-290, 1e12]
    shift, eta : float, as in `theorem1_vector_epsilon`
    n : int, at least 2; categories

    Examples
    --------
    >>> float(best_epsilon_bound(0.0026, 20.6, shift=1 / 98, eta=0.073, n=5).round(3))
    2.175
    """
    n = checks.integer("n", n, 2)
    k = checks.scalar("k", k, SMALLEST_PARAMETER, LARGEST_K_OF_DELTA)
    deltas = checks.real("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    low, high = math.log(1e-300), math.log((1.0 - 1e-9) / n)

    def excess(log_gamma: float, target: float) -> float:
        return float(_log_delta_bounds(k, eta, math.exp(log_gamma), n)[1]) - target

    best = []
    for target in np.log(np.ravel(deltas)):
        if excess(low, target) > 0.0:
            raise ValueError(
                f"delta must be above {math.exp(excess(low, 0.0)):.3g} at k = {k:g}, got {deltas.min():g}"
            )
        log_gamma = search.last_kept(partial(excess, target=target), low, high, 1e-12)
        best.append(
            float(
                theorem1_vector_epsilon(
                    k, shift=shift, eta=eta, gamma=math.exp(log_gamma), n=n
                )
            )
        )
    return checks.plain(np.reshape(best, deltas.shape))


def leaving_probability(p: ArrayLike, k: float, *, gamma: float) -> float:
    """Return the probability that at least one of the given entries of Dir(k p) is below gamma, which is 1 minus the
    integral of Lemma 2 of Fallin et al. 2023, for any number of entries. Its relative error is at most 1e-6 if it is
    above 1e-100.

    Independent Gamma variables of shapes k p_j all exceed gamma s with probability prod Q(k p_j, gamma s), where Q is
    the regularised incomplete gamma function. Dirichlet variables are the shares of these Gamma variables in their
    total, which is independent of the shares. So this product is the Laplace transform of the integral as a function of
    the total. Its inverse is one contour integral, Gamma(k) / (2 pi i) times that of e^s s^(-k) (1 - prod Q(k p_j,
    gamma s)).

    Parameters
    ----------
    p : array_like, shape (m,); means of the m protected entries, each above 0, with a sum of at most 1
    k : float, in [1e-3, 1000]
    gamma : float, in [1e-20, 1 / (2 m)]

    Examples
    --------
    >>> round(leaving_probability([0.1] * 6, 10.0, gamma=1e-3), 5)
    0.05272
    """
    means = checks.real("p", p, 0.0, 1.0, open_low=True)
    if means.ndim != 1 or not means.size or means.sum() > 1.0 + 1e-12:
        raise ValueError(
            f"p must be one vector with a sum of at most 1, got {means.tolist()}"
        )
    k = checks.scalar("k", k, 1e-3, 1e3)
    gamma = checks.scalar("gamma", gamma, 1e-20, 0.5 / means.size)
    peaks = np.maximum(np.linspace(k * (1.0 - means.max()), k, 64), 3.0)
    below = np.clip(
        gammainc(k * means, gamma * peaks[:, None]).sum(axis=1), 1e-300, 1.0
    )
    peak = float(
        peaks[np.argmin(peaks - k * np.log(peaks) + np.log(below))]
    )  # near the saddle of the integrand
    end = math.sqrt(
        40.0 / (peak * (1.0 - means.size * gamma))
    )  # where the integrand is below e^-40 of its peak
    step = min(0.15, 0.3 / math.sqrt(peak))
    root = 1.0 + 1j * step * (np.arange(math.ceil(end / step)) + 0.5)
    s = (
        peak * root**2
    )  # a parabola round the cut; the trapezoidal rule on it converges exponentially
    leaving = np.zeros(s.shape)
    for shape in k * means:
        leaving = leaving + _lower_gamma(shape, gamma * s) * (1.0 - leaving)
    weights = np.exp(s - k * np.log(s) + math.lgamma(k)) * root
    return min(
        max(float((weights * leaving).real.sum()) * 2.0 * peak * step / math.pi, 0.0),
        1.0,
    )


def _lower_gamma(a: float, z: Any) -> Any:
    """Return the regularised lower incomplete gamma function P(a, z) of complex z, from that one of its two series in
    which nothing cancels (DLMF 8.7.1)."""
    right = z.real >= 0.0
    term = np.where(right, 1.0 / a, 1.0 + 0j)
    total = added = np.full(z.shape, 1.0 / a, complex)
    n = 0
    while (np.abs(added) > 1e-17 * np.abs(total)).any():
        n += 1
        term = term * np.where(right, z / (a + n), -z / n)
        added = np.where(right, term, term / (a + n))
        total = total + added
    return np.exp(a * np.log(z) - np.where(right, z, 0.0) - math.lgamma(a)) * total


def extreme_points(n: int, eta: float) -> Array:
    """Return the n vertices (n, n) of the set of probability vectors whose entries are all at least eta, one in each
    row.

    Parameters
    ----------
    n : int, at least 2; categories
    eta : float, in (0, 1/n]; the public minimum

    Examples
    --------
    >>> extreme_points(3, 0.25)
    array([[0.5 , 0.25, 0.25],
           [0.25, 0.5 , 0.25],
           [0.25, 0.25, 0.5 ]])
    """
    n = checks.integer("n", n, 2)
    eta = checks.scalar("eta", eta, 0.0, 1.0 / n, open_low=True)
    return np.full((n, n), eta) + (1.0 - n * eta) * np.eye(n)


def delta_monte_carlo(
    p: ArrayLike,
    k: float,
    *,
    gamma: float,
    draws: ArrayLike,
    rng: np.random.Generator | int | None = None,
    protected: int | None = None,
) -> Any:
    """Return the papers' estimate of delta, in the shape of draws: the largest share, over the rows of p, of draws with
    an entry below gamma.

    The maximum over the rows biases the estimate upwards; `theorem1_delta_bounds` gives proven bounds.

    Parameters
    ----------
    p : array_like, shape (vertices, n)
        Probability vectors, for example those of `extreme_points`; each row gets its own draws of Dir(k p).
    k : float, above 0
    gamma : float, in (0, 1)
    draws : int or array_like of int
        At least 1; an increasing array gives one estimate for each number, from the same draws (the first 100, first
        1000, ...).
    rng : Generator, int or None
    protected : int, optional
        W. A draw counts if one of its first W coordinates is below gamma, or with None, if any coordinate is.

    Examples
    --------
    >>> float(delta_monte_carlo([0.5, 0.5], 2.0, gamma=0.25, draws=1000, rng=1).round(1))
    0.5
    """
    rng = checks.generator(rng)
    k = checks.scalar("k", k, 0.0, LARGEST_K, open_low=True)
    vertices = dirichlet_parameters(p, k)[0]
    gamma = checks.scalar("gamma", gamma, 0.0, 1.0, open_low=True, open_high=True)
    n = vertices.shape[-1]
    m = n if protected is None else checks.integer("protected", protected, 1, n)
    numbers = checks.integers("draws", draws, 1)
    checkpoints = numbers.reshape(-1)
    if not checkpoints.size or (np.diff(checkpoints) <= 0).any():
        raise ValueError(f"draws must increase, got {checkpoints.tolist()}")
    left = np.empty((vertices[..., 0].size, checkpoints.size))
    for parameters, counts in zip(k * vertices.reshape(-1, n), left):
        offset, scale, in_logs = gamma_constants(parameters)
        count_below(
            rng, parameters, offset, scale, bool(in_logs), gamma, m, checkpoints, counts
        )
    return checks.plain((np.max(left, axis=0) / checkpoints).reshape(numbers.shape))
