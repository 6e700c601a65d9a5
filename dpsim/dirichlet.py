"""The Dirichlet mechanism: exact draws, the published epsilon and delta in closed form, and its accuracy.

The mechanism releases x ~ Dir(k p) in place of a probability vector p; its mean is p, and a larger k means
less noise and less privacy. Papers: Gohari et al. 2021; Fallin et al. 2023 (matrices); Benvenuti et al.
2026 (data).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import binom

from dpsim import checks
from dpsim.checks import Array
from dpsim.special import log_beta, log_beta_kernel, log_beta_tail, log_gamma_ratio, log_minus_psi

SMALLEST_PARAMETER = 1e-290  # below it the logarithms of a draw would overflow
LARGEST_K = 1e300
LARGEST_K_OF_DELTA = 1e12  # the tail's series takes up to 10 sqrt(k) terms
LOG_SPACE_BELOW = 0.1  # Gamma(a) leaves the range of a float with probability about exp(-745 a)


# ---------------------------------------------------------------------------------------------- draws


def dirichlet_mechanism(
    p: ArrayLike,
    k: ArrayLike,
    *,
    size: int | tuple[int, ...] | None = None,
    rng: np.random.Generator | None = None,
) -> Array:
    """Return independent draws of Dir(k p), shape (*size, ..., n), for probability vectors p of shape (...,
    n).

    k: positive, a number or an array that broadcasts with the leading axes of p (one k per row of a matrix).
    Zero entries of p stay exactly zero. Each draw sums to one within n roundings. A row with a parameter k
    p_i below 0.1 is drawn in log space, so that its left tail is right down to the smallest float; an entry
    below that (5e-324) is returned as 0.0, which no float can avoid: `log_dirichlet` gives its logarithm.
    Raises ValueError for p off the simplex, k outside (0, 1e300], or a positive k p_i below 1e-290. Source:
    Benvenuti et al. 2026, Definition 5; Fallin et al. 2023, Definition 6 (one row per leading index).
    """
    return _draws(p, k, size, rng, logs=False)


def log_dirichlet(
    p: ArrayLike,
    k: ArrayLike,
    *,
    size: int | tuple[int, ...] | None = None,
    rng: np.random.Generator | None = None,
) -> Array:
    """Return logarithms of draws of Dir(k p), shape (*size, ..., n): finite wherever p is positive, else
    -inf.

    For parameters so small that the draws themselves underflow: at k p_i = 1e-6 most logarithms are below
    -1e5. Arguments and errors: as `dirichlet_mechanism`.
    """
    return _draws(p, k, size, rng, logs=True)


def _draws(
    p: ArrayLike,
    k: ArrayLike,
    size: int | tuple[int, ...] | None,
    rng: np.random.Generator | None,
    *,
    logs: bool,
) -> Array:
    rng = checks.generator(rng)
    parameters = np.ascontiguousarray(_parameters(p, k)[2])
    rows = parameters.reshape(-1, parameters.shape[-1])
    sizes = () if size is None else (size if isinstance(size, tuple) else (size,))
    sizes = tuple(checks.integer("size", length, 0) for length in sizes)
    out = np.empty((math.prod(sizes), *rows.shape))
    offset, scale = _marsaglia_tsang(rows)
    in_logs = np.where(rows > 0.0, rows, np.inf).min(axis=-1) < LOG_SPACE_BELOW
    _fill(rng, rows, offset, scale, in_logs | logs, logs, out)
    return out.reshape(sizes + parameters.shape)


def _parameters(p: ArrayLike, k: ArrayLike) -> tuple[Array, Array, Array]:
    """Return p, k[..., None] and k p, checked, the last one broadcast."""
    p = checks.simplex("p", p)
    k = checks.real("k", k, 0.0, LARGEST_K, open_low=True)
    try:
        parameters = k[..., None] * p
    except ValueError:
        raise ValueError(f"k must broadcast with the rows of p, got {k.shape} and {p.shape[:-1]}") from None
    if ((parameters < SMALLEST_PARAMETER) & (p > 0.0)).any():
        raise ValueError(f"k must be at least {SMALLEST_PARAMETER:g} / p_i at positive p_i, got {k.min():g}")
    return p, k[..., None], parameters


def _marsaglia_tsang(parameters: Array) -> tuple[Array, Array]:
    """Return the two constants of `_gamma`; parameters below 1 are raised by 1, which the caller undoes."""
    offset = np.where(parameters < 1.0, parameters + 1.0, parameters) - 1.0 / 3.0
    return offset, 1.0 / np.sqrt(9.0 * offset)


@njit(inline="always")  # a call would count references to the generator, as long as the draw itself
def _gamma(rng, offset, scale):  # type: ignore[no-untyped-def]
    """Return a draw of Gamma(offset + 1/3) by Marsaglia and Tsang (2000), exact for offset >= 2/3."""
    while True:
        x = rng.standard_normal()
        v = 1.0 + scale * x
        if v > 0.0:
            v = v * v * v
            u = 1.0 - rng.random()
            squeeze = 1.0 - 0.0331 * x * x * x * x
            if u < squeeze or math.log(u) < 0.5 * x * x + offset * (1.0 - v + math.log(v)):
                break
    return offset * v


@njit(cache=True, nogil=True)
def _fill(rng, parameters, offset, scale, in_logs, logs, out):  # type: ignore[no-untyped-def]
    """Fill out (draws, rows, n) with Dirichlet draws, or with their logarithms when logs is true.

    A parameter a below 1 uses G(a) = G(a + 1) U^(1/a), with -log U an exponential: exact however small a is.
    """
    draws, rows, n = out.shape
    for draw in range(draws):
        for row in range(rows):
            x = out[draw, row]
            top = -np.inf
            total = 0.0
            for j in range(n):
                a = parameters[row, j]
                x[j] = -np.inf if in_logs[row] else 0.0
                if a > 0.0:
                    g = _gamma(rng, offset[row, j], scale[row, j])
                    power = rng.standard_exponential() / a if a < 1.0 else 0.0
                    if in_logs[row]:
                        x[j] = math.log(g) - power
                    else:
                        x[j] = g if a >= 1.0 else g * math.exp(-power)
                    top = max(top, x[j])
                    total += x[j]
            if in_logs[row]:
                total = 0.0
                for j in range(n):
                    x[j] -= top
                    total += math.exp(x[j])
            for j in range(n):
                if logs:
                    x[j] -= math.log(total)
                else:
                    x[j] = (math.exp(x[j]) if in_logs[row] else x[j]) / total


# ---------------------------------------------------------------------------------- epsilon and delta


def smallest_k(eta: ArrayLike) -> Array:
    """Return 3 / (2 eta), the smallest k that Benvenuti et al. 2026 allow (Assumption 4), for eta in (0,
    1/4).

    The bounds below hold for every k > 0: the assumption is the paper's, not a condition of their proofs
    here.
    """
    return 1.5 / checks.real("eta", eta, SMALLEST_PARAMETER, 0.25, open_high=True)


def epsilon_bound(
    k: ArrayLike,
    *,
    shift: ArrayLike,
    eta: ArrayLike,
    gamma: ArrayLike,
    m: int,
    eta_bar: ArrayLike | None = None,
    tight: bool = False,
) -> Array:
    """Return the epsilon of Theorem 1 of Benvenuti et al. 2026 (equation 6) and of Fallin et al. 2023.

    A proven upper bound on the log-likelihood ratio of neighbours p and p - shift e_i + shift e_j while every
    protected coordinate of the release is at least gamma; `delta_bounds` is the probability that one is not.
    k > 0; shift: 1/N for one record of N, b/2 for Fallin's b-adjacency; eta > 0: border of the simplex;
    m: number of protected coordinates (all n of Benvenuti, |W| of Fallin); gamma in (0, 1/(m-1));
    eta_bar: mass that Fallin leaves outside W; None for Benvenuti, whose formula has eta in its place.
    tight: the two coordinates that differ can share at most 1 - (n-2) eta (Benvenuti) or
    1 - eta_bar - (m-2) eta (Fallin), because the others are at the border or above it; the papers use 1 - eta
    and 1 - eta_bar, which is the same for n = 3 and m = 2 and looser beyond.
    Arrays broadcast. Raises ValueError naming an argument out of range; shift must leave room for neighbours.
    """
    m = checks.integer("m", m, 2)
    k = checks.real("k", k, 0.0, LARGEST_K, open_low=True)
    gamma = _inner_border(gamma, m)
    outside = 0.0 if eta_bar is None else checks.real("eta_bar", eta_bar, 0.0, 1.0, open_low=True, open_high=True)
    eta = _border(eta, (1.0 - np.asarray(outside)) / m, k)
    others = m - 2 if tight else (min(m - 2, 1) if eta_bar is None else 0)  # 1 - eta is no bound for n = 2
    shared = 1.0 - outside - others * eta
    shift = _at_most("shift", shift, shared - 2.0 * eta)
    beta_ratio = log_gamma_ratio(k * (shared - eta - shift), k * shift) - log_gamma_ratio(k * eta, k * shift)
    # gamma above 1/m leaves no release with every coordinate above it: any epsilon >= 0 holds there.
    return np.maximum(beta_ratio + k * shift * (np.log1p(-(m - 1) * gamma) - np.log(gamma)), 0.0)


def _inner_border(gamma: ArrayLike, m: int) -> Array:
    return checks.real("gamma", gamma, 0.0, 1.0 / max(m - 1, 1), open_low=True, open_high=True)


def _border(eta: ArrayLike, most: ArrayLike, k: Array) -> Array:
    """Return eta once m coordinates can be at least eta and k eta has a logarithm."""
    eta = _at_most("eta", eta, most)
    if (k * eta < SMALLEST_PARAMETER).any():
        raise ValueError(f"eta must be at least {SMALLEST_PARAMETER:g} / k, got {eta.min():g}")
    return eta


def _at_most(name: str, value: ArrayLike, most: ArrayLike) -> Array:
    """Return the value once it is positive and, entry by entry, at most `most` within a few roundings."""
    array = checks.real(name, value, 0.0, open_low=True)
    above = array > np.asarray(most) + 8 * np.finfo(float).eps
    if above.any():
        offender, limit = (float(x[above][0]) for x in np.broadcast_arrays(array, most))
        raise ValueError(f"{name} must be in {checks.interval(0.0, limit, open_low=True)}, got {offender:g}")
    return array


def delta_bounds(
    k: ArrayLike, *, eta: ArrayLike, gamma: ArrayLike, n: int, protected: int | None = None
) -> tuple[Array, Array]:
    """Return (lower, upper) with lower <= delta <= upper, delta the worst probability to leave Omega_1.

    delta = max over p in the bordered simplex of P(some protected coordinate of Dir(k p) < gamma)
    (Benvenuti et al. 2026, equation 7; Fallin et al. 2023, Lemma 2). With q_i = I_gamma(k p_i, k - k p_i)
    at the worst point, upper = sum q_i (union) and lower = 1 - prod(1 - q_i) (Dirichlet coordinates are
    negatively associated): proven bounds, apart by about delta / 2 relative, computed within 1e-9 relative.
    protected None: all n coordinates, worst with n-1 of them at eta and one at 1 - (n-1) eta (P(min >=
    gamma) is Schur-concave in p for every k > 0: Marshall and Olkin 1979, section 11.E).
    protected = W in 1..n-1: W coordinates, worst with all of them at eta (moving mass from outside W to a
    protected coordinate can only help, by coupling the Gamma variables).
    k in [1e-290, 1e12], eta in (0, 1/n] (or (0, 1/W]), gamma in (0, 1/(m-1)), m = n or W. Arrays broadcast;
    raises ValueError outside these ranges. Below 1e-300 the bounds fade to 0: use `log_delta_bounds`.
    """
    lower, upper = log_delta_bounds(k, eta=eta, gamma=gamma, n=n, protected=protected)
    return np.exp(lower), np.exp(upper)


def log_delta_bounds(
    k: ArrayLike, *, eta: ArrayLike, gamma: ArrayLike, n: int, protected: int | None = None
) -> tuple[Array, Array]:
    """Return the logarithms of `delta_bounds`, finite (or as far as -1e300) where the bounds underflow."""
    n = checks.integer("n", n, 2)
    m = n if protected is None else checks.integer("protected", protected, 1, n - 1)
    k = checks.real("k", k, SMALLEST_PARAMETER, LARGEST_K_OF_DELTA)
    gamma = _inner_border(gamma, m)
    eta = _border(eta, 1.0 / m, k)
    if (eta >= 1.0).any():
        raise ValueError(f"eta must be in (0, 1) for one protected coordinate, got {eta.max():g}")
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
    return np.where(certain, 0.0, np.minimum(lower, upper)), np.where(certain, 0.0, upper)


def best_epsilon_bound(
    delta: ArrayLike, k: float, *, shift: float, eta: float, n: int, eta_bar: float | None = None
) -> Array:
    """Return the epsilon of Theorem 1 at each delta with its best gamma, (...) for delta (...) in (0, 1).

    A proven upper bound: gamma is the largest for which the upper end of `delta_bounds` stays at most delta, within
    1e-12 relative, from below. k in [1e-290, 1e12], shift, eta, eta_bar as in `epsilon_bound`, n >= 2 categories.
    Raises ValueError outside these ranges, and when no gamma in [1e-300, 1/n) will do.
    """
    n = checks.integer("n", n, 2)
    k = checks.scalar("k", k, SMALLEST_PARAMETER, LARGEST_K_OF_DELTA)
    deltas = checks.real("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    low, high = math.log(1e-300), math.log((1.0 - 1e-9) / n)

    def excess(log_gamma: float, target: float) -> float:
        return float(log_delta_bounds(k, eta=eta, gamma=math.exp(log_gamma), n=n)[1]) - math.log(target)

    best = []
    for target in np.ravel(deltas):
        if excess(low, target) > 0:
            raise ValueError(f"delta must be above {math.exp(excess(low, 1.0)):.3g} at k = {k:g}, got {target:g}")
        root = high if excess(high, target) <= 0 else brentq(excess, low, high, args=(target,), xtol=1e-13)
        gamma = math.exp(root - (1e-12 if root < high else 0.0))
        best.append(float(epsilon_bound(k, shift=shift, eta=eta, gamma=gamma, m=n, eta_bar=eta_bar)))
    return np.reshape(best, deltas.shape)


def extreme_points(n: int, eta: float) -> Array:
    """Return the n vertices of the bordered simplex, (n, n): 1 - (n-1) eta on the diagonal, eta elsewhere.

    n >= 2, eta in (0, 1/n]; raises ValueError otherwise.
    """
    n = checks.integer("n", n, 2)
    eta = checks.scalar("eta", eta, 0.0, 1.0 / n, open_low=True)
    return np.full((n, n), eta) + (1.0 - n * eta) * np.eye(n)


def delta_monte_carlo(
    p: ArrayLike,
    k: float,
    *,
    gamma: float,
    draws: int | ArrayLike,
    rng: np.random.Generator | None = None,
    protected: int | None = None,
) -> Array:
    """Return the papers' estimate of delta: the worst share, over the rows of p, of draws outside Omega_1.

    p (vertices, n): probability vectors, `extreme_points` for instance; every row gets its own draws of
    Dir(k p). draws: a number, or an increasing array of numbers: one estimate each, from the same draws
    (the first 100 of them, the first 1000, ...). protected: Omega_1 asks the first W coordinates alone to
    be at least gamma (None: all). An estimate, biased upwards by the maximum over vertices: `delta_bounds`
    is the proven bracket. k > 0, gamma in (0, 1), draws >= 1; raises ValueError otherwise. It holds no
    draws in memory, and releases the interpreter, so that several may run in threads.
    """
    rng = checks.generator(rng)
    k = checks.scalar("k", k, 0.0, LARGEST_K, open_low=True)
    parameters = np.ascontiguousarray(np.atleast_2d(_parameters(p, k)[2]))
    gamma = checks.scalar("gamma", gamma, 0.0, 1.0, open_low=True, open_high=True)
    n = parameters.shape[-1]
    m = n if protected is None else checks.integer("protected", protected, 1, n)
    checkpoints = np.array([checks.integer("draws", count, 1) for count in np.ravel(draws)])
    if (np.diff(checkpoints) <= 0).any():
        raise ValueError(f"draws must increase, got {checkpoints.tolist()}")
    left = np.zeros((len(parameters), len(checkpoints)))
    _count_left(rng, parameters, *_marsaglia_tsang(parameters), gamma, m, checkpoints, left)
    return (left.max(axis=0) / checkpoints).reshape(np.shape(draws))


@njit(cache=True, nogil=True)
def _count_left(rng, parameters, offset, scale, gamma, m, checkpoints, left):  # type: ignore[no-untyped-def]
    """Set left[v, c] to how many of the first checkpoints[c] draws at vertex v have a coordinate below
    gamma."""
    for v in range(parameters.shape[0]):
        outside = 0
        drawn = 0
        for c in range(len(checkpoints)):
            for _ in range(drawn, checkpoints[c]):
                total = 0.0
                smallest = np.inf
                for j in range(parameters.shape[1]):
                    a = parameters[v, j]
                    if a > 0.0:
                        g = _gamma(rng, offset[v, j], scale[v, j])
                        if a < 1.0:
                            g *= math.exp(-rng.standard_exponential() / a)
                        total += g
                        if j < m:
                            smallest = min(smallest, g)
                outside += smallest <= gamma * total  # also true when all of them underflow
            drawn = checkpoints[c]
            left[v, c] = outside


# ------------------------------------------------------------------------------------------- accuracy


def expected_kl(p: ArrayLike, k: ArrayLike) -> Array:
    """Return E KL(p || x) for x ~ Dir(k p), shape (...) for p (..., n): exact, in nats, relative error 1e-13.

    Source: Benvenuti et al. 2026, Theorem 2; zero entries contribute nothing. Errors: as
    `dirichlet_mechanism`.
    """
    p, k, parameters = _parameters(p, k)
    terms = p * log_minus_psi(np.where(p > 0.0, parameters, 1.0))
    return terms.sum(axis=-1) - log_minus_psi(k[..., 0])


def expected_kl_bound(n: ArrayLike, N: ArrayLike, k: ArrayLike) -> Array:
    """Return the bound of Corollary 1 of Benvenuti et al. 2026 on E KL over all databases of N records.

    n categories (>= 1), each with at least one of the N >= n records; k > 0. Arrays broadcast. It is the
    exact value at n-1 counts of 1 and one of N-n+1, the worst database: x (log x - psi(k x)) is convex.
    """
    n = checks.real("n", n, 1.0)
    N = checks.real("N", N, float(np.max(n)) if np.ndim(N) == 0 else 1.0)
    k = checks.real("k", k, SMALLEST_PARAMETER, LARGEST_K)
    if (n > N).any():
        raise ValueError(f"N must be at least n, got {np.broadcast_to(N, np.broadcast(N, n).shape)[n > N][0]:g}")
    rare, common = 1.0 / N, (N - n + 1.0) / N
    rest = common * log_minus_psi(k * common)
    return (n - 1.0) * rare * log_minus_psi(k * rare) + rest - log_minus_psi(k)


def expected_absolute_error(p: ArrayLike, k: ArrayLike) -> Array:
    """Return E|x_i - p_i| for x ~ Dir(k p), shape (..., n): exact, for k up to 1e300.

    Source: Benvenuti et al. 2026, Lemma 7 (equation 95), as 2 p^(kp) (1-p)^(k-kp) / (k B(kp, k-kp)).
    """
    p, k, _ = _parameters(p, k)
    inner = (p > 0.0) & (p < 1.0)
    mean = np.where(inner, p, 0.5)
    return np.where(inner, 2.0 * np.exp(log_beta_kernel(mean, mean, k)) / k, 0.0)


def expected_absolute_error_bound(k: ArrayLike) -> Array:
    """Return the bound Gamma(k) 2^(1-k) / (k Gamma(k/2)^2) on E|x_i - p_i| for every p: its value at p_i =
    1/2.

    Source: Fallin et al. 2023, Theorem 2; Benvenuti et al. 2026, Lemma 7.
    """
    k = checks.real("k", k, SMALLEST_PARAMETER, LARGEST_K)
    half = np.full(k.shape, 0.5)
    return 2.0 * np.exp(log_beta_kernel(half, half, k)) / k


def expected_squared_error(p: ArrayLike, k: ArrayLike) -> Array:
    """Return E|x_i - p_i|^2 = p_i (1 - p_i) / (k + 1), exact, shape (..., n) (Benvenuti et al. 2026, eq.
    96)."""
    p, k, _ = _parameters(p, k)
    return p * (1.0 - p) / (k + 1.0)


def expected_squared_error_bound(k: ArrayLike) -> Array:
    """Return the bound 1 / (4 (k + 1)) on E|x_i - p_i|^2 for every p (Fallin et al. 2023, Theorem 2)."""
    return 0.25 / (checks.real("k", k, 0.0, LARGEST_K, open_low=True) + 1.0)


def log_absolute_error_lower_bound(n: int, N: ArrayLike, k: ArrayLike) -> Array:
    """Return the logarithm of Lemma 8's lower bound on E|x_i - p_i| (Benvenuti et al. 2026, equation 97).

    n >= 2 categories, N > n - 1 records, k > 0. Valid, but far below the truth for the k of the paper.
    """
    n = checks.integer("n", n, 2)
    N = checks.real("N", N, float(n))
    k = checks.real("k", k, SMALLEST_PARAMETER, LARGEST_K)
    one, others = 1.0 / N, (n - 1.0) / N
    powers = k * (1.0 - others) * np.log(one) + k * (1.0 - one) * np.log(others)
    return np.log(2.0) + powers - np.log(k) - log_beta(k * one, k * others)


def monte_carlo_error(delta: float, draws: ArrayLike, *, vertices: int = 1) -> Array:
    """Return the exact E|delta_hat - delta| / delta of `delta_monte_carlo` with `draws` draws per vertex.

    delta in (0, 1): the probability at each of `vertices` equal vertices, whose largest estimate is taken; draws: one
    number or an array. The estimates are binomial, so their maximum has the distribution function of one to the power
    of `vertices`. For one vertex and many draws this is about sqrt(2 (1 - delta) / (pi delta draws)).
    Raises ValueError outside these ranges.
    """
    delta = checks.scalar("delta", delta, 0, 1, open_low=True, open_high=True)
    vertices = checks.integer("vertices", vertices, 1)
    numbers = [checks.integer("draws", count, 1) for count in np.ravel(draws)]
    return np.reshape([_mean_deviation(delta, count, vertices) for count in numbers], np.shape(draws))


def _mean_deviation(delta: float, draws: int, vertices: int) -> float:
    """Return the relative mean absolute deviation from delta of the largest M of some binomial counts.

    E|M - m|, m = draws delta, is the sum of P(M < j) over j up to m and of P(M >= j) over j beyond m, the first term
    of each weighted by its distance to m: terms of one sign, right to the last digits for the smallest delta.
    """
    mean = draws * delta
    first, reach = int(mean) + 1, 12.0 * np.sqrt(mean) + 60.0  # counts further out weigh less than 1e-16
    above = np.arange(first, int(min(mean + reach, draws)) + 1)
    below = np.arange(int(max(mean - reach, 0)), first)
    with np.errstate(divide="ignore"):  # P(count >= j) = 1 gives log 0 = -inf, as it should
        reached = -np.expm1(vertices * np.log1p(-binom.sf(above - 1, draws, delta)))
    missed = binom.cdf(below, draws, delta) ** vertices
    ahead = reached[1:].sum() + (first - mean) * reached[:1].sum()
    behind = missed[:-1].sum() + (mean - (first - 1)) * missed[-1]
    return float((ahead + behind) / mean)
