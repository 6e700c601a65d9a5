"""Exact privacy accounting of the Dirichlet mechanism and of the tempered Dirichlet posterior.

Simplex release, Dir(k p). Neighbours are p and q = p - s e_i + s e_j with every entry at least eta. The likelihood
ratio depends only on X_i / X_j, and X_i / (X_i + X_j) is a Beta variable. Merging coordinates is post-processing, and
the divergence grows with s, because the best event, {X_i / X_j > const}, becomes likelier under p and rarer under q.
So with a = k eta and t = k s every pair is dominated by Beta(a+t, a) against Beta(a, a+t), whose privacy loss is
t logit(Y), and

    delta(epsilon) = I_w(a, a+t) - e^epsilon I_w(a+t, a),    w = 1 / (1 + e^(epsilon/t))

which is attained when there are n >= 3 categories with n eta + s <= 1, and is an upper bound for n = 2. It needs
neither a gamma nor an assumption on k. The shift s describes the neighbours. Two entries of one vector move by b/2 if
neighbours are b apart in 1-norm, or by 1/N if one of N records is replaced. Rows that move together compose
(`accounting.compose`).

Many entries may move at once. For a person with c records s is c/N, and the vector may then move anywhere within total
variation s. For k eta >= 1/2 the profile above at shift s is an upper bound whatever entries move, and it is attained
when two entries move. For k eta < 1/2 this is false: at eta 0.002, N 16, k 5 and epsilon 143.7, ten records have a
delta of 0.639 if they move between two categories, and of 0.9715 if they move between ten pairs. Then group composition
is a proven upper bound: if one record has delta_1 at epsilon_1, c records have at most delta_1 (e^(c epsilon_1) - 1) /
(e^epsilon_1 - 1) at c epsilon_1.

Proof for a = k eta >= 1/2. Normalised independent Gammas of shapes k p_j are Dir(k p), so the products of Gammas
dominate. Take the entries that grow, by d_j > 0 in k p_j with sum d_j <= t; those that shrink are mirrored. Let v in
[0, 1] parametrise the path from p (at v = 0) to q (at v = 1). The logarithm of Gamma(b + u) is infinitely divisible,
its jumps -y having intensity e^(-(b+u) y) / (y (1 - e^-y)) (the Frullani form of log Gamma); so the jumps x of t log X,
X ~ Gamma(a + t v), have intensity e^(-v x) h(t) / x, with h(d) = e^(-a x/d) / (1 - e^(-x/d)), and those of S = sum d_j
log G_j, G_j ~ Gamma(k p_j + d_j v), k p_j >= a, at most e^(-v x) sum_j h(d_j) / x. With y = x/d, h(d)/d = y e^(-a y) /
((1 - e^-y) x), whose logarithm falls in y at rate a - (1/y - 1/(e^y - 1)) >= a - 1/2 >= 0. So h(d)/d rises with d and
sum_j h(d_j) <= h(t): the second process is a thinning of the first, with a probability free of v. v tilts both laws
exponentially in t log X and in S, so the jumps given t log X, and (G_j) given S, have laws free of v. Hence X -> jumps
-> thinned jumps -> S -> (G_j) is a random map that knows nothing of v and carries the pair of X to that of (G_j). Both
halves together are a pair of Gammas whose total is independent of their ratio and equal on both sides: the Beta pair.
The proof never uses which row an entry is in. So any m events in any rows of Dir(kappa (c + alpha)) with kappa alpha >=
1/2 together have at most the delta of a single pair that moves by m.

Posterior release, Dir(kappa (c + alpha)), where c are the counts and alpha > 0 is public. For replacing a record of a
row it has the same profile with a = kappa alpha and t = kappa, for all databases, zero counts included. When a record
is added or removed, X_i is Beta(a', r) or Beta(a'+t, r) with a' >= a. Its odds are G/G_r, and multiplying G_r by an
independent Beta(r', r-r') makes it G_r' for any r' < r. So the pair is worse for larger r and smaller a'. It is
dominated by Gamma(a) against Gamma(a+t), in both directions, and approaches that as the row's other counts grow.

delta grows with k (and kappa). Proof: let k' = m k, 0 < m < 1. Given X ~ Dir(k p) draw Y from the Pitman-Yor
process with discount m, concentration k' and base X; then E[(sum u_i Y_i)^(-k') | X] = (sum X_i u_i^m)^(-k)
for u > 0, whose mean over X is prod (u_i^m)^(-k p_i) = prod u_i^(-k' p_i): the transform that characterises
Dir(k' p) (Markov-Krein). So Dir(k' p) comes from Dir(k p) by a random map that does not know p, and no
divergence can grow. As k -> 0, delta falls to

    s / (2 eta + s) * exp(-epsilon eta / s):    the privacy floor, below which delta does not fall for any k.

For a and t in [1e-9, 1e10] the error of log delta is at most 1e-10, or 1e-12 relative where log delta is huge. Every
epsilon and k is rounded to the safe side by this error. Compositions give upper bounds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks, private
from dpsim.checks import Array
from dpsim.numerics import hockey_stick, search

PARAMETER_RANGE = (
    1e-9,
    1e10,
)  # of a and t, where the quadrature was compared with 40 to 90 digits
_ONE = np.asarray(1.0)
LARGEST_EPSILON = 1e30
SMALLEST_DELTA = float(
    np.finfo(float).tiny
)  # no delta is 0, so a smaller one is rounded up to this
_SMALLEST_SHARE = (
    1e-18  # of eta, shift, alpha and 1/alpha, so that some k or kappa is in range
)
_PAIRS = {"replace": hockey_stick.REPLACE, "add-remove": hockey_stick.ADD_REMOVE}


def exact_delta(
    epsilon: ArrayLike, k: ArrayLike, *, shift: ArrayLike, eta: ArrayLike
) -> Array:
    """Return the exact delta(epsilon) of Dir(k p) over all vectors p with entries of at least eta (rounded up to
    2.3e-308 if it is smaller).

    Parameters
    ----------
    epsilon : array_like, at least 0 (at 0: the total variation distance); arguments broadcast
    k : array_like, above 0, with k eta and k shift in `PARAMETER_RANGE`
    shift : array_like, in [1e-18, 1 - 2 eta]
        The amount by which neighbours differ in two entries of p: 1/N for one record of N.
    eta : array_like, in [1e-18, 1/2); the public minimum

    Examples
    --------
    >>> float(exact_delta(0.629, 20.6, shift=1 / 98, eta=0.073).round(4))
    0.0026
    """
    eta, shift = minimum_and_shift(eta, shift)
    return _delta(epsilon, *beta_parameters("k", k, eta, shift), hockey_stick.REPLACE)


def exact_epsilon(
    delta: ArrayLike, k: ArrayLike, *, shift: ArrayLike, eta: ArrayLike
) -> Array:
    """Return the exact epsilon, the smallest one >= 0 with exact_delta(epsilon) <= delta, rounded up.

    Parameters
    ----------
    delta : array_like, in (0, 1]; arguments broadcast
    k, shift, eta : as in `exact_delta`

    Examples
    --------
    >>> exact_epsilon([1e-3, 1e-6], 20.6, shift=1 / 98, eta=0.073).round(3)
    array([0.767, 1.737])
    """
    eta, shift = minimum_and_shift(eta, shift)
    a, t = beta_parameters("k", k, eta, shift)
    return hockey_stick.epsilon_for(
        np.log(_probability(delta)), a, t, hockey_stick.REPLACE
    )


def privacy_floor(delta: ArrayLike, *, shift: ArrayLike, eta: ArrayLike) -> Array:
    """Return the limit of the exact epsilon at delta as k -> 0, a lower limit for every k. With s the shift it is
    exactly
    max(0, (s/eta) log(s / ((2 eta + s) delta))).

    Parameters
    ----------
    delta, shift, eta : as in `exact_epsilon`

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
    """Return the largest k in range, rounded down, whose release is (epsilon, delta)-private. The condition was
    evaluated at the returned k itself.

    If epsilon is at or below the privacy floor, the ValueError says which public minimum eta would reach the target.

    Parameters
    ----------
    epsilon : array_like, above 0; arguments broadcast
    delta, shift, eta : as in `exact_epsilon`

    Examples
    --------
    >>> float(calibrate_k(2.0, 1e-6, shift=1 / 98, eta=0.073).round(2))
    41.19
    """
    eta, shift = minimum_and_shift(eta, shift)
    return _calibrate(
        "k", epsilon, delta, eta, shift, hockey_stick.REPLACE, _minimum_hint
    )


def posterior_delta(
    epsilon: ArrayLike,
    *,
    kappa: ArrayLike,
    alpha: ArrayLike,
    adjacency: str = "replace",
) -> Array:
    """Return the exact delta(epsilon) of Dir(kappa (counts + alpha)) over all databases (rounded up to 2.3e-308 if it
    is smaller).

    Parameters
    ----------
    epsilon : array_like, at least 0; arguments broadcast
    kappa : array_like, above 0, with kappa and kappa alpha in `PARAMETER_RANGE`
    alpha : array_like, in [1e-18, 1e18]; prior pseudo-count of each category
    adjacency : {"replace", "add-remove"}
        How neighbours differ. With "replace" one record is replaced, and delta is attained with n >= 3 categories. With
        "add-remove" one record is added or removed, and delta is the larger of its values in the two directions, and
        the supremum over all rows.

    Examples
    --------
    >>> float(posterior_delta(0.0, kappa=1.0, alpha=1.0).round(3))
    0.5
    """
    return _delta(
        epsilon,
        *beta_parameters("kappa", kappa, _pseudo_count(alpha), _ONE),
        _pair(adjacency),
    )


def posterior_floor(
    delta: ArrayLike, *, alpha: ArrayLike, adjacency: str = "replace"
) -> Array:
    """Return the limit of the exact epsilon at delta as kappa -> 0, a lower limit for every kappa. For "replace" it is
    exactly log(1 / ((2 alpha + 1) delta)) / alpha, and for "add-remove" it follows from the removal of a record.

    Parameters
    ----------
    delta : array_like, in (0, 1]; arguments broadcast
    alpha, adjacency : as in `posterior_delta`

    Examples
    --------
    >>> float(posterior_floor(1e-6, alpha=10.0).round(3))
    1.077
    """
    delta = _probability(delta)
    alpha = _pseudo_count(alpha)
    return _FLOORS[_pair(adjacency)](delta, alpha, _ONE)


def calibrate_kappa(
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    alpha: ArrayLike,
    adjacency: str = "replace",
) -> Array:
    """Return the largest kappa whose release is (epsilon, delta)-private, as `calibrate_k` returns the largest k. If
    epsilon is at or below the floor, the ValueError says which alpha would reach the target.

    Parameters
    ----------
    epsilon, delta : as in `calibrate_k`
    alpha, adjacency : as in `posterior_delta`

    Examples
    --------
    >>> float(calibrate_kappa(2.0, 1e-6, alpha=10.0).round(3))
    0.834
    """
    alpha = _pseudo_count(alpha)
    pair = _pair(adjacency)
    return _calibrate("kappa", epsilon, delta, alpha, _ONE, pair, _pseudo_count_hint)


# --- the shared core: (a, t) and one of the two pairs -----------------------------------------------------


def _delta(epsilon: ArrayLike, a: Array, t: Array, pair: int) -> Array:
    epsilon = checks.real("epsilon", epsilon, 0.0, LARGEST_EPSILON)
    delta = np.exp(np.minimum(hockey_stick.log_delta(epsilon, a, t, pair), 0.0))
    return np.maximum(delta, SMALLEST_DELTA)


def _replace_floor(delta: Array, eta: Array, shift: Array) -> Array:
    return np.maximum(
        0.0, shift / eta * (np.log(shift) - np.log(2.0 * eta + shift) - np.log(delta))
    )


def _remove_floor(delta: Array, alpha: Array, _one: Array) -> Array:
    """Return the floor under add-remove, which is the limit for the removal of a record as kappa -> 0.

    With y = e^epsilon and K = alpha^alpha / (alpha+1)^(alpha+1), delta tends to K y^-alpha for a removal. For an
    addition it tends to 1 - y + K y^(alpha+1) up to y = 1 + 1/alpha, and to 0 beyond. Up to that point, the difference
    between the two is concave, zero at y = 1 and positive at the end.
    """
    return np.maximum(
        0.0, -np.log1p(1.0 / alpha) - (np.log1p(alpha) + np.log(delta)) / alpha
    )


def _calibrate(
    name: str,
    epsilon: ArrayLike,
    delta: ArrayLike,
    eta: Array,
    shift: Array,
    pair: int,
    hint: Callable[[float, float, float, int], str],
) -> Array:
    """Return the largest scale that is (epsilon, delta)-private. Below the floor, the ValueError gives the floor and a
    change that would reach the target."""
    epsilon = checks.real("epsilon", epsilon, 0.0, LARGEST_EPSILON, open_low=True)
    delta = _probability(delta)
    lowest, highest = _scale_range(eta, shift)
    scale = hockey_stick.scale_for(
        np.log(delta), epsilon, eta, shift, pair, lowest, highest
    )
    if np.any(scale == 0.0):
        bad = np.argmax(scale == 0.0)
        e, d, border, step = (
            float(x.flat[bad]) for x in np.broadcast_arrays(epsilon, delta, eta, shift)
        )
        floor = _floor(d, border, step, pair)
        which = f"no {name}" if floor >= e else f"so little above it no {name} in range"
        raise ValueError(
            f"epsilon must be above the privacy floor {private.round_up(floor, '.6g')} at delta {d:g}, "
            f"got {e:g}: {which} reaches it; {hint(e, d, step, pair)}"
        )
    return scale


_FLOORS = {hockey_stick.REPLACE: _replace_floor, hockey_stick.ADD_REMOVE: _remove_floor}


def _floor(delta: float, eta: float, shift: float, pair: int) -> float:
    """Return the lower limit of epsilon for all scales, for one minimum and one shift."""
    return float(_FLOORS[pair](*map(np.asarray, (delta, eta, shift))))


def _minimum_hint(epsilon: float, delta: float, shift: float, pair: int) -> str:
    """Return the part of an error message that says which public minimum eta would reach epsilon."""
    widest = 0.5 * (1.0 - shift)
    if widest <= 0.0 or _floor(delta, widest, shift, pair) >= epsilon:
        return f"no public minimum eta does at shift {shift:g}"
    reaching = private.round_up(_reaching(epsilon, delta, shift, pair, widest), ".4g")
    return f"a public minimum eta above {reaching} would"


def _pseudo_count_hint(epsilon: float, delta: float, shift: float, pair: int) -> str:
    """Return the part of an error message that says which pseudo-count would reach epsilon."""
    largest = 1.0 / _SMALLEST_SHARE
    if _floor(delta, largest, shift, pair) >= epsilon:
        return f"no pseudo-count alpha up to {largest:g} does"
    reaching = private.round_up(_reaching(epsilon, delta, shift, pair, largest), ".4g")
    return f"a pseudo-count alpha above {reaching} would"


def _reaching(
    epsilon: float, delta: float, shift: float, pair: int, high: float
) -> float:
    """Return the minimum or pseudo-count at which the floor, which falls as it grows, is epsilon."""
    low = high
    while _floor(delta, low, shift, pair) <= epsilon:
        low, high = 0.5 * low, low
    return search.last_kept(
        lambda border: _floor(delta, border, shift, pair) - epsilon,
        high,
        low,
        1e-9 * high,
    )


# --- arguments --------------------------------------------------------------------------------------------


def minimum_and_shift(eta: ArrayLike, shift: ArrayLike) -> tuple[Array, Array]:
    """Return eta and shift, and raise ValueError unless they are in range and no neighbour has an entry below eta."""
    eta = checks.real("eta", eta, _SMALLEST_SHARE, 0.5, open_high=True)
    shift = checks.real("shift", shift, _SMALLEST_SHARE, 1.0)
    outside = shift > (1.0 - 2.0 * eta) * (1.0 + 1e-12)
    if np.any(outside):
        bad = np.argmax(outside)
        eta_at, shift_at = (
            array.flat[bad] for array in np.broadcast_arrays(eta, shift)
        )
        raise ValueError(
            f"shift must be at most 1 - 2 eta = {1.0 - 2.0 * eta_at:g}, got {shift_at:g}: "
            "a neighbour would have an entry below eta"
        )
    return eta, shift


def _scale_range(eta: Array, shift: Array) -> tuple[Array, Array]:
    low, high = PARAMETER_RANGE
    return low / np.minimum(eta, shift), high / np.maximum(eta, shift)


def beta_parameters(
    name: str, scale: ArrayLike, eta: Array, shift: Array
) -> tuple[Array, Array]:
    """Return a = scale eta and t = scale shift, and raise ValueError unless both are in PARAMETER_RANGE."""
    scale = checks.real(name, scale, 0.0, open_low=True)
    lowest, highest = _scale_range(eta, shift)
    outside = (scale < lowest) | (scale > highest)
    if np.any(outside):
        bad = np.argmax(outside)
        value, low, high = (
            array.flat[bad] for array in np.broadcast_arrays(scale, lowest, highest)
        )
        raise ValueError(f"{name} must be in [{low:g}, {high:g}] here, got {value:g}")
    return scale * eta, scale * shift


def _pseudo_count(alpha: ArrayLike) -> Array:
    return checks.real("alpha", alpha, _SMALLEST_SHARE, 1.0 / _SMALLEST_SHARE)


def _probability(delta: ArrayLike) -> Array:
    return checks.real("delta", delta, 0.0, 1.0, open_low=True)


def _pair(adjacency: str) -> int:
    return _PAIRS[checks.choice("adjacency", adjacency, tuple(_PAIRS))]
