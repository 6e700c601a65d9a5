"""Exact epsilon and delta of the Dirichlet mechanism and of the tempered posterior.

**The Dirichlet mechanism** releases a draw X from Dir(k p). Let neighbours be p and
q = p - s e_i + s e_j, where all entries are at least eta. The likelihood ratio depends
only on X_i / X_j, and X_i / (X_i + X_j) is a Beta variable. The two entries that change
are enough, because merging entries is post-processing and delta grows with s (the best
event, X_i / X_j > const, becomes more probable under p and less probable under q). So
with a = k eta and t = k s, all neighbours are dominated by Beta(a+t, a) against
Beta(a, a+t), whose privacy loss is t logit(Y), and

    delta(epsilon) = I_w(a, a+t) - e^epsilon I_w(a+t, a),    w = 1 / (1 + e^(epsilon/t))

This is attained for n >= 3 categories with n eta + s <= 1, and it is an upper bound for
n = 2. It requires neither a gamma nor an assumption about k. The shift s is b/2 if
neighbours are b apart in 1-norm, and 1/N if one of N records is replaced. If neighbours
differ in several rows, the rows compose (`accounting.compose`).

**If many entries change at once,** for example because a person has c records and s is
c/N, the vector may move anywhere within total variation s. For k eta >= 1/2 the profile
above is an upper bound whichever entries change, and it is attained if two entries
change. For k eta < 1/2 this is false: for eta 0.002, N 16, k 5 and epsilon 143.7, the
delta of ten records is 0.639 if they move between two categories, but 0.9715 if they
move between ten pairs of categories. Then group privacy gives a proven upper bound: if
one record has delta_1 at epsilon_1, then c records have at most delta_1 (e^(c
epsilon_1) - 1) / (e^epsilon_1 - 1) at c epsilon_1.

Proof for a = k eta >= 1/2. Independent Gamma variables of shapes k p_j, when
normalised, have the distribution Dir(k p), so it suffices to dominate their joint
distributions. Consider the entries that grow, by d_j > 0 in k p_j with sum d_j <= t;
those that shrink are the mirror image. Let v in [0, 1] parametrise the path from p
(v = 0) to q (v = 1). The logarithm of Gamma(b + u) is infinitely divisible, and its
jumps -y have the intensity e^(-(b+u) y) / (y (1 - e^-y)) (the Frullani form of log
Gamma). So the jumps x of t log X, where X ~ Gamma(a + t v), have the intensity e^(-v x)
h(t) / x with h(d) = e^(-a x/d) / (1 - e^(-x/d)). Those of S = sum d_j log G_j, where
G_j ~ Gamma(k p_j + d_j v) and k p_j >= a, have at most e^(-v x) sum_j h(d_j) / x. With
y = x/d, h(d)/d = y e^(-a y) / ((1 - e^-y) x), whose logarithm falls in y at the rate
a - (1/y - 1/(e^y - 1)) >= a - 1/2 >= 0. So h(d)/d rises with d, and sum_j
h(d_j) <= h(t): the jumps of S are a thinning of those of t log X, with a probability
that does not depend on v. Since v tilts both distributions exponentially, in t log X
and in S, neither the jumps given t log X nor the (G_j) given S depend on v. Hence
X -> jumps -> thinned jumps -> S -> (G_j) is a random map that does not depend on v, and
it maps the pair of X to that of (G_j). Together, the entries that grow and those that
shrink give a pair of Gamma variables; their total is independent of their ratio and has
the same distribution on both sides. What remains is the Beta pair. The proof does not
use the row of an entry. So any m events in any rows of Dir(kappa (c + alpha)) with
kappa alpha >= 1/2 together have at most the delta of a single pair that moves by m.

**The tempered posterior** releases a draw from Dir(kappa (c + alpha)), where c are the
counts and alpha > 0 is public. If a record of a row is replaced, its profile is the one
above with a = kappa alpha and t = kappa, for all databases, even those with zero
counts. If a record is added or removed, X_i is Beta(a', r) or Beta(a'+t, r) with
a' >= a. Its odds are G/G_r, and multiplying G_r by an independent Beta(r', r-r')
variable makes it G_r' for any r' < r. So the pair is worse for larger r and smaller a'.
It is dominated by Gamma(a) against Gamma(a+t), in both directions, and approaches that
pair as the other counts of the row grow.

**delta grows with k (and kappa).** Proof: let k' = m k with 0 < m < 1. Given
X ~ Dir(k p), sample Y from the Pitman-Yor process with discount m, concentration k' and
base X. Then E[(sum u_i Y_i)^(-k') | X] = (sum X_i u_i^m)^(-k) for u > 0. Its mean over
X is prod (u_i^m)^(-k p_i) = prod u_i^(-k' p_i), the transform that characterises
Dir(k' p) (Markov-Krein). So Dir(k' p) is the image of Dir(k p) under a random map that
does not depend on p, and no divergence can grow. As k -> 0, delta falls to the privacy
floor

    s / (2 eta + s) * exp(-epsilon eta / s)

so no k gives a smaller delta.

**Errors.** For a and t in [1e-9, 1e10], the error of log delta is at most 1e-10, or
1e-12 relative where log delta is huge. Every epsilon and every k is rounded to the safe
side by this error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks, private
from dpsim.checks import Array
from dpsim.numerics import hockey_stick, search

# of a and t; there the quadrature was compared with computations in 40 to 90 digits
PARAMETER_RANGE = (1e-9, 1e10)
LARGEST_EPSILON = 1e30
SMALLEST_DELTA = float(
    np.finfo(float).tiny
)  # smaller ones are rounded up, as none is 0
# the smallest eta, shift, alpha and 1/alpha, for which some k or kappa is in range
_SMALLEST_SHARE = 1e-18
_ONE = np.asarray(1.0)
_PAIRS = {"replace": hockey_stick.REPLACE, "add-remove": hockey_stick.ADD_REMOVE}


def exact_delta(
    epsilon: ArrayLike, k: ArrayLike, *, shift: ArrayLike, eta: ArrayLike
) -> Array:
    """Return the exact delta of Dir(k p) over all p whose entries are at least eta.

    A delta below 2.3e-308 is rounded up to it.

    Parameters
    ----------
    epsilon : array_like, at least 0; arguments broadcast
        At 0, delta is the total variation distance.
    k : array_like, above 0, with k eta and k shift in [1e-9, 1e10]
    shift : array_like, in [1e-18, 1 - 2 eta]
        The amount by which two entries of p differ between neighbours; 1/N if one of N
        records is replaced.
    eta : array_like, in [1e-18, 1/2); the public minimum

    Returns
    -------
    float or ndarray
        The deltas, in the common shape of the arguments.

    Examples
    --------
    >>> float(exact_delta(0.629, 20.6, shift=1 / 98, eta=0.073).round(4))
    0.0026
    """
    eta, shift = minimum_and_shift(eta, shift)
    a, t = beta_parameters("k", k, eta, shift)
    return _delta(epsilon, a, t, hockey_stick.REPLACE)


def exact_epsilon(
    delta: ArrayLike, k: ArrayLike, *, shift: ArrayLike, eta: ArrayLike
) -> Array:
    """Return the smallest epsilon >= 0 with exact_delta(epsilon) <= delta, rounded up.

    Parameters
    ----------
    delta : array_like, in (0, 1]; arguments broadcast
    k, shift, eta : as in `exact_delta`

    Returns
    -------
    float or ndarray
        The epsilons, in the common shape of the arguments.

    Examples
    --------
    >>> exact_epsilon([1e-3, 1e-6], 20.6, shift=1 / 98, eta=0.073).round(3)
    array([0.767, 1.737])
    """
    eta, shift = minimum_and_shift(eta, shift)
    a, t = beta_parameters("k", k, eta, shift)
    log_delta = np.log(_probability(delta))
    checks.together("delta and the parameters of the mechanism", log_delta, a, t)
    return hockey_stick.epsilon_for(log_delta, a, t, hockey_stick.REPLACE)


def privacy_floor(delta: ArrayLike, *, shift: ArrayLike, eta: ArrayLike) -> Array:
    """Return the limit of the exact epsilon as k -> 0, its infimum over all k.

    It is max(0, (s/eta) log(s / ((2 eta + s) delta))), where s is the shift.

    Parameters
    ----------
    delta, shift, eta : as in `exact_epsilon`

    Returns
    -------
    float or ndarray
        The limits, in the common shape of the arguments.

    Examples
    --------
    >>> float(privacy_floor(1e-6, shift=1 / 98, eta=0.073).round(3))
    1.55
    """
    eta, shift = minimum_and_shift(eta, shift)
    return _replace_floor(_probability(delta), eta, shift)


def calibrate_k(
    epsilon: ArrayLike, delta: ArrayLike, *, shift: ArrayLike, eta: ArrayLike
) -> Array:
    """Return the largest (epsilon, delta)-private k in range, rounded down.

    If epsilon is not above the privacy floor, a ValueError says for which public
    minimum eta it would be.

    Parameters
    ----------
    epsilon : array_like, above 0; arguments broadcast
    delta, shift, eta : as in `exact_epsilon`

    Returns
    -------
    float or ndarray
        The scales k, in the common shape of the arguments.

    Examples
    --------
    >>> float(calibrate_k(2.0, 1e-6, shift=1 / 98, eta=0.073).round(2))
    41.19
    """
    eta, shift = minimum_and_shift(eta, shift)
    pair = hockey_stick.REPLACE
    return _calibrate("k", epsilon, delta, eta, shift, pair)


def posterior_delta(
    epsilon: ArrayLike,
    *,
    kappa: ArrayLike,
    alpha: ArrayLike,
    adjacency: str = "replace",
) -> Array:
    """Return the exact delta of Dir(kappa (counts + alpha)) over all databases.

    A delta below 2.3e-308 is rounded up to it.

    Parameters
    ----------
    epsilon : array_like, at least 0; arguments broadcast
    kappa : array_like, above 0, with kappa and kappa alpha in [1e-9, 1e10]
    alpha : array_like, in [1e-18, 1e18]; the prior pseudo-count of each category
    adjacency : {"replace", "add-remove"}
        How neighbours differ. With "replace", one record is replaced, and delta is
        attained for n >= 3 categories. With "add-remove", one record is added or
        removed, and delta is the supremum over all counts for the worse of these two
        cases.

    Returns
    -------
    float or ndarray
        The deltas, in the common shape of the arguments.

    Examples
    --------
    >>> float(posterior_delta(0.0, kappa=1.0, alpha=1.0).round(3))
    0.5
    """
    a, t = beta_parameters("kappa", kappa, _pseudo_count(alpha), _ONE)
    return _delta(epsilon, a, t, _pair(adjacency))


def posterior_floor(
    delta: ArrayLike, *, alpha: ArrayLike, adjacency: str = "replace"
) -> Array:
    """Return the limit of the exact epsilon as kappa -> 0, its infimum over all kappa.

    For "replace" it is max(0, log(1 / ((2 alpha + 1) delta)) / alpha). For "add-remove"
    it is the limit for the removal of a record.

    Parameters
    ----------
    delta : array_like, in (0, 1]; arguments broadcast
    alpha, adjacency : as in `posterior_delta`

    Returns
    -------
    float or ndarray
        The limits, in the common shape of delta and alpha.

    Examples
    --------
    >>> float(posterior_floor(1e-6, alpha=10.0).round(3))
    1.077
    """
    delta = _probability(delta)
    alpha = _pseudo_count(alpha)
    checks.together("delta and alpha", delta, alpha)
    return _FLOORS[_pair(adjacency)](delta, alpha, _ONE)


def calibrate_kappa(
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    alpha: ArrayLike,
    adjacency: str = "replace",
) -> Array:
    """Return the largest (epsilon, delta)-private kappa in range, rounded down.

    If epsilon is not above `posterior_floor`, a ValueError says for which alpha it
    would be.

    Parameters
    ----------
    epsilon, delta : as in `calibrate_k`
    alpha, adjacency : as in `posterior_delta`

    Returns
    -------
    float or ndarray
        The scales kappa, in the common shape of the arguments.

    Examples
    --------
    >>> float(calibrate_kappa(2.0, 1e-6, alpha=10.0).round(3))
    0.834
    """
    alpha = _pseudo_count(alpha)
    pair = _pair(adjacency)
    return _calibrate("kappa", epsilon, delta, alpha, _ONE, pair)


# --- what both mechanisms share: (a, t) and one of the two pairs of distributions ---


def _delta(epsilon: ArrayLike, a: Array, t: Array, pair: int) -> Array:
    epsilon = checks.real("epsilon", epsilon, 0.0, LARGEST_EPSILON)
    checks.together("epsilon and the parameters of the mechanism", epsilon, a, t)
    delta = np.exp(np.minimum(hockey_stick.log_delta(epsilon, a, t, pair), 0.0))
    return np.maximum(delta, SMALLEST_DELTA)


def _replace_floor(delta: Array, eta: Array, shift: Array) -> Array:
    log_ratio = np.log(shift) - np.log(2.0 * eta + shift) - np.log(delta)
    return np.maximum(0.0, shift / eta * log_ratio)


def _remove_floor(delta: Array, alpha: Array, _one: Array) -> Array:
    """Return the privacy floor if a record is added or removed.

    Let y = e^epsilon and K = alpha^alpha / (alpha+1)^(alpha+1). As kappa -> 0, delta
    tends to K y^-alpha for a removal. For an addition it tends to 1 - y + K y^(alpha+1)
    if y <= 1 + 1/alpha, and otherwise to 0. The second limit is never larger than the
    first, because for y <= 1 + 1/alpha the first minus the second is concave, zero at
    y = 1 and positive at y = 1 + 1/alpha.
    """
    per_count = (np.log1p(alpha) + np.log(delta)) / alpha
    return np.maximum(0.0, -np.log1p(1.0 / alpha) - per_count)


def _calibrate(
    name: str,
    epsilon: ArrayLike,
    delta: ArrayLike,
    eta: Array,
    shift: Array,
    pair: int,
) -> Array:
    """Return the largest k or kappa that is (epsilon, delta)-private.

    If there is none, a ValueError gives the privacy floor and a hint.
    """
    epsilon = checks.real("epsilon", epsilon, 0.0, LARGEST_EPSILON, open_low=True)
    delta = _probability(delta)
    lowest, highest = _scale_range(eta, shift)
    log_delta = np.log(delta)
    scale = hockey_stick.scale_for(
        log_delta, epsilon, eta, shift, pair, lowest, highest
    )
    if np.any(scale == 0.0):
        bad = np.argmax(scale == 0.0)
        given = np.broadcast_arrays(epsilon, delta, eta, shift)
        e, d, minimum, step = (float(x.flat[bad]) for x in given)
        floor = _floor(d, minimum, step, pair)
        reached = private.round_up(floor, ".6g")
        which = f"no {name}" if floor >= e else f"so little above it no {name} in range"
        raise ValueError(
            f"epsilon must be above the privacy floor {reached} at delta {d:g}, "
            f"got {e:g}: {which} reaches it; {_hint(name, e, d, step, pair)}"
        )
    return scale


_FLOORS = {hockey_stick.REPLACE: _replace_floor, hockey_stick.ADD_REMOVE: _remove_floor}


def _floor(delta: float, eta: float, shift: float, pair: int) -> float:
    """Return the privacy floor for one delta, one public minimum and one shift."""
    return float(_FLOORS[pair](*map(np.asarray, (delta, eta, shift))))


def _hint(name: str, epsilon: float, delta: float, shift: float, pair: int) -> str:
    """Return the part of a message that says which eta or alpha would reach epsilon."""
    needed, largest = "public minimum eta", 0.5 * (1.0 - shift)
    if name == "kappa":
        needed, largest = "pseudo-count alpha", 1.0 / _SMALLEST_SHARE
    if largest <= 0.0 or _floor(delta, largest, shift, pair) >= epsilon:
        return f"no {needed} does"
    reaching = private.round_up(_reaching(epsilon, delta, shift, pair, largest), ".4g")
    return f"a {needed} above {reaching} would"


def _reaching(
    epsilon: float, delta: float, shift: float, pair: int, high: float
) -> float:
    """Return the public minimum or the pseudo-count for which the floor is epsilon.

    The floor falls as either of them grows, and at `high` it is at most epsilon.
    """
    low = high
    while _floor(delta, low, shift, pair) <= epsilon:
        high = low
        low = 0.5 * low

    def excess(minimum: float) -> float:
        return _floor(delta, minimum, shift, pair) - epsilon

    return search.last_kept(excess, high, low, 1e-9 * high)


# --- arguments ---


def minimum_and_shift(eta: ArrayLike, shift: ArrayLike) -> tuple[Array, Array]:
    """Return eta and shift as arrays.

    Raises ValueError if one is out of range or if a neighbour would have an entry below
    eta.
    """
    eta = checks.real("eta", eta, _SMALLEST_SHARE, 0.5, open_high=True)
    shift = checks.real("shift", shift, _SMALLEST_SHARE, 1.0)
    checks.together("eta and shift", eta, shift)
    outside = shift > (1.0 - 2.0 * eta) * (1.0 + 1e-12)
    if np.any(outside):
        bad = np.argmax(outside)
        eta_at, shift_at = (x.flat[bad] for x in np.broadcast_arrays(eta, shift))
        raise ValueError(
            f"shift must be at most 1 - 2 eta = {1.0 - 2.0 * eta_at:g}, "
            f"got {shift_at:g}: a neighbour would have an entry below eta"
        )
    return eta, shift


def _scale_range(eta: Array, shift: Array) -> tuple[Array, Array]:
    """Return the smallest and the largest scale at which a and t are in their range."""
    low, high = PARAMETER_RANGE
    return low / np.minimum(eta, shift), high / np.maximum(eta, shift)


def beta_parameters(
    name: str, scale: ArrayLike, eta: Array, shift: Array
) -> tuple[Array, Array]:
    """Return a = scale eta and t = scale shift.

    Raises ValueError unless both are in `PARAMETER_RANGE`.
    """
    scale = checks.real(name, scale, 0.0, open_low=True)
    checks.together(f"{name} and the minimum and shift", scale, eta, shift)
    lowest, highest = _scale_range(eta, shift)
    outside = (scale < lowest) | (scale > highest)
    if np.any(outside):
        bad = np.argmax(outside)
        given = np.broadcast_arrays(scale, lowest, highest)
        value, low, high = (x.flat[bad] for x in given)
        raise ValueError(f"{name} must be in [{low:g}, {high:g}] here, got {value:g}")
    return scale * eta, scale * shift


def _pseudo_count(alpha: ArrayLike) -> Array:
    return checks.real("alpha", alpha, _SMALLEST_SHARE, 1.0 / _SMALLEST_SHARE)


def _probability(delta: ArrayLike) -> Array:
    return checks.real("delta", delta, 0.0, 1.0, open_low=True)


def _pair(adjacency: str) -> int:
    return _PAIRS[checks.choice("adjacency", adjacency, tuple(_PAIRS))]
