"""Theorem 1 of both Dirichlet papers: epsilon and delta of one probability vector."""

from __future__ import annotations

import math
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
    """Return the promised epsilon of Theorem 1 for one probability vector.

    The formula is equation 6 of Benvenuti et al. 2026 or, with `eta_bar`, that of
    Fallin et al. 2023. Let neighbours be p and p - shift e_i + shift e_j. As long as
    every protected entry of the release is at least gamma, epsilon is an upper bound on
    the log-likelihood ratio. `theorem1_delta_bounds` bounds the probability of the
    other releases.

    Parameters
    ----------
    k : array_like, in (0, 1e300]; the k of Dir(k p); arguments broadcast
    shift : array_like, above 0, and small enough that neighbours exist
        1/N if one of N records is replaced, and b/2 for the neighbours of Fallin et al.
    eta : array_like, above 0; the public minimum of the protected entries
    gamma : array_like, in (0, 1/(n-1))
    n : int, at least 2
        The number of protected entries. In Benvenuti et al. all entries are protected,
        and in Fallin et al. those in W.
    eta_bar : array_like, in (0, 1), optional
        In Fallin et al. the other entries sum to at least eta_bar. None selects the
        formula of Benvenuti et al., which uses eta instead.

    Returns
    -------
    float or ndarray
        The promised epsilons, in the common shape of the arguments.

    Examples
    --------
    >>> bound = theorem1_vector_epsilon(20.6, shift=1 / 98, eta=0.073, gamma=4e-4, n=5)
    >>> round(float(bound), 3)
    2.212
    """
    n = checks.integer("n", n, 2)
    k = checks.real("k", k, 0.0, LARGEST_K, open_low=True)
    gamma = _inner_minimum(gamma, n)
    if eta_bar is None:
        # Two entries sum to at most 1 - (n-2) eta, so the paper's 1 - eta is wrong for
        # n = 2.
        outside: Array | float = 0.0
        others = min(n - 2, 1)
    else:
        outside = checks.real("eta_bar", eta_bar, 0, 1, open_low=True, open_high=True)
        others = 0
    eta = _minimum(eta, (1.0 - outside) / n, k)
    shared = 1.0 - outside - others * eta
    shift = _at_most("shift", shift, shared - 2.0 * eta)
    # if it were rounded to less than eta, the bound would be too small
    left = np.maximum(shared - eta - shift, eta)
    at_left = log_gamma_ratio(k * left, k * shift)
    at_eta = log_gamma_ratio(k * eta, k * shift)
    log_odds = np.log1p(-(n - 1) * gamma) - np.log(gamma)
    epsilon = at_left - at_eta + k * shift * log_odds
    # It is negative only for gamma > 1/n, where no release has all entries above gamma.
    return checks.plain(np.maximum(epsilon, 0.0))


def _inner_minimum(gamma: ArrayLike, m: int) -> Array:
    high = 1.0 / max(m - 1, 1)
    return checks.real("gamma", gamma, 0.0, high, open_low=True, open_high=True)


def _minimum(eta: ArrayLike, most: ArrayLike, k: Array) -> Array:
    """Return eta; raise ValueError if it is above `most` or if k eta underflows."""
    eta = _at_most("eta", eta, most)
    if (k * eta < SMALLEST_PARAMETER).any():
        raise ValueError(
            f"eta must be at least {SMALLEST_PARAMETER:g} / k, got {eta.min():g}"
        )
    return eta


def _at_most(name: str, value: ArrayLike, most: ArrayLike) -> Array:
    """Return positive numbers that are at most `most`, up to a few rounding errors.

    Otherwise raise ValueError.
    """
    array = checks.real(name, value, 0.0, open_low=True)
    above = array > np.asarray(most) + 8 * np.finfo(float).eps
    if above.any():
        offender, limit = (float(x[above][0]) for x in np.broadcast_arrays(array, most))
        where = checks.interval(0.0, limit, open_low=True)
        raise ValueError(f"{name} must be in {where}, got {offender:g}")
    return array


def theorem1_delta_bounds(
    k: ArrayLike,
    *,
    eta: ArrayLike,
    gamma: ArrayLike,
    n: int,
    protected: int | None = None,
) -> tuple[Array, Array]:
    """Return proven (lower, upper) bounds on the delta of Theorem 1.

    This delta is the largest probability that a protected entry of Dir(k p) is below
    gamma, over all p whose protected entries are at least eta (Benvenuti et al. 2026,
    equation 7; Fallin et al. 2023, Lemma 2). The relative gap between the bounds is
    about delta / 2. Each bound has a relative error of at most 1e-9, but if delta is
    below 1e-300, the lower bound may be 0, and the upper bound is at least 2.3e-308.

    Proof: let q_i = I_gamma(k p_i, k - k p_i) be the probability for one entry at the
    worst p. The upper bound is sum q_i (a union bound), and the lower bound is
    1 - prod(1 - q_i), because the entries are negatively associated. If all entries are
    protected, the worst p has n-1 entries equal to eta and one equal to 1 - (n-1) eta,
    because P(min >= gamma) is Schur-concave in p for every k > 0 (Marshall and Olkin
    1979, section 11.E). Otherwise all protected entries of the worst p are eta, because
    a coupling of the Gamma variables shows that moving mass from outside W to a
    protected entry never increases the probability.

    Parameters
    ----------
    k : array_like, in [1e-290, 1e12]; arguments broadcast
    eta : array_like, in (0, 1/m], where m is the number of protected entries
        The public minimum.
    gamma : array_like, in (0, 1/(m-1))
    n : int, at least 2; the number of entries
    protected : int, in 1..n-1, optional
        The number ``|W|`` of protected entries. None means all n.

    Returns
    -------
    lower, upper : float or ndarray
        The bounds, in the common shape of the arguments.

    Examples
    --------
    >>> bounds = theorem1_delta_bounds(9.87, eta=0.1, gamma=1e-3, n=32, protected=2)
    >>> [float(bound.round(4)) for bound in bounds]
    [0.0188, 0.0189]
    """
    n = checks.integer("n", n, 2)
    m = n if protected is None else checks.integer("protected", protected, 1, n - 1)
    k = checks.real("k", k, SMALLEST_PARAMETER, LARGEST_K_OF_DELTA)
    gamma = _inner_minimum(gamma, m)
    eta = _minimum(eta, 1.0 / m, k)
    if (eta >= 1.0).any():
        raise ValueError(
            f"eta must be in (0, 1) for one protected coordinate, got {eta.max():g}"
        )
    at_eta = n - 1 if protected is None else m
    with np.errstate(divide="ignore"):  # log 0 = -inf is right for q_i = 1
        log_tail = log_beta_tail(gamma, eta, k)
        log_sum = np.log(at_eta) + log_tail
        log_none = at_eta * np.log1p(-np.exp(log_tail))
        if protected is None:
            log_rest = log_beta_tail(gamma, np.maximum(1.0 - (n - 1) * eta, eta), k)
            log_sum = np.logaddexp(log_sum, log_rest)
            log_none = log_none + np.log1p(-np.exp(log_rest))
    upper = np.minimum(log_sum, 0.0)
    tiny = log_sum < -40.0  # where both bounds are the same float
    some = np.where(tiny, 1.0, -np.expm1(log_none))
    lower = np.minimum(np.where(tiny, log_sum, np.log(some)), upper)
    certain = m * gamma >= 1.0  # no vector has all protected entries above gamma
    lower = np.where(certain, 0.0, lower)
    upper = np.where(certain, 0.0, upper)
    above_zero = np.maximum(np.exp(upper), np.finfo(float).tiny)
    return checks.plain(np.exp(lower)), checks.plain(above_zero)


def leaving_probability(p: ArrayLike, k: float, *, gamma: float) -> float:
    """Return the probability that a protected entry of Dir(k p) is below gamma.

    It is 1 minus the integral in Lemma 2 of Fallin et al. 2023, for any number of
    protected entries. The relative error is at most 1e-6 if the result is above 1e-100.

    Independent Gamma variables of shapes k p_j all exceed gamma s with probability prod
    Q(k p_j, gamma s), where Q is the regularised upper incomplete gamma function. The
    entries of Dir(k p) are these variables divided by their total, which is independent
    of the entries. So the product is the Laplace transform of Lemma 2's integral as a
    function of the total. The inverse transform is a single contour integral, that of
    e^s s^(-k) (1 - prod Q(k p_j, gamma s)), times Gamma(k) / (2 pi i).

    Parameters
    ----------
    p : array_like, shape (m,)
        The means of the m protected entries, each above 0, with a sum of at most 1.
    k : float, in [1e-3, 1000]
    gamma : float, in [1e-20, 1 / (2 m)]

    Returns
    -------
    float
        The probability.

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
    below = gammainc(k * means, gamma * peaks[:, None]).sum(axis=1)
    log_below = np.log(np.clip(below, 1e-300, 1.0))
    # near the saddle point of the integrand
    peak = float(peaks[np.argmin(peaks - k * np.log(peaks) + log_below)])
    # where the integrand is below e^-40 of its peak
    end = math.sqrt(40.0 / (peak * (1.0 - means.size * gamma)))
    step = min(0.15, 0.3 / math.sqrt(peak))
    root = 1.0 + 1j * step * (np.arange(math.ceil(end / step)) + 0.5)
    # on this parabola around the cut, the trapezoidal rule converges exponentially
    s = peak * root**2
    leaving = np.zeros(s.shape)
    for shape in k * means:
        leaving = leaving + _lower_gamma(shape, gamma * s) * (1.0 - leaving)
    weights = np.exp(s - k * np.log(s) + math.lgamma(k)) * root
    total = float((weights * leaving).real.sum()) * 2.0 * peak * step / math.pi
    return min(max(total, 0.0), 1.0)


def _lower_gamma(a: float, z: Any) -> Any:
    """Return the regularised lower incomplete gamma function P(a, z) for complex z.

    Of its two series (DLMF 8.7.1), the one in which nothing cancels is summed.
    """
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
    """Return the vertices of the set of probability vectors >= eta, shape (n, n).

    Parameters
    ----------
    n : int, at least 2; the number of entries
    eta : float, in (0, 1/n]; the public minimum

    Returns
    -------
    ndarray, shape (n, n)
        A vertex in each row.

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
) -> Any:
    """Return the papers' estimate of delta by sampling, with the shape of draws.

    For each row of p, it is the share of draws from Dir(k p) that have an entry below
    gamma. The largest share over the rows is returned, so the estimate is biased
    upwards. `theorem1_delta_bounds` gives proven bounds.

    Parameters
    ----------
    p : array_like, shape (vertices, n) or (n,)
        Probability vectors, for example those of `extreme_points`.
    k : float, above 0
    gamma : float, in (0, 1)
    draws : int or array_like of int, at least 1
        The number of draws for each row. An increasing array gives an estimate from the
        first draws[0] draws, one from the first draws[1] draws, and so on.
    rng : numpy.random.Generator or int, optional
        None means a new generator, seeded by the operating system.

    Returns
    -------
    float or ndarray
        The estimates, in the shape of draws.

    Examples
    --------
    >>> estimate = delta_monte_carlo([0.5, 0.5], 2.0, gamma=0.25, draws=1000, rng=1)
    >>> round(float(estimate), 1)
    0.5
    """
    rng = checks.generator(rng)
    k = checks.scalar("k", k, 0.0, LARGEST_K, open_low=True)
    vertices = dirichlet_parameters(p, k)[0]
    gamma = checks.scalar("gamma", gamma, 0.0, 1.0, open_low=True, open_high=True)
    n = vertices.shape[-1]
    numbers = checks.integers("draws", draws, 1)
    checkpoints = numbers.reshape(-1)
    if not checkpoints.size or (np.diff(checkpoints) <= 0).any():
        raise ValueError(f"draws must increase, got {checkpoints.tolist()}")
    left = np.empty((vertices[..., 0].size, checkpoints.size))
    for parameters, counts in zip(k * vertices.reshape(-1, n), left):
        offset, scale, in_logs = gamma_constants(parameters)
        count_below(
            rng, parameters, offset, scale, bool(in_logs), gamma, checkpoints, counts
        )
    return checks.plain((np.max(left, axis=0) / checkpoints).reshape(numbers.shape))
