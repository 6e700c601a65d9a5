"""The Boltzmann machine mechanism for histograms (Fleischer 2024): noise that evolves from the true counts.

A histogram x of N individuals in n bins is the best of all histograms z with the same total for the objective
c_x(z) = -(z - x)' W (z - x). The mechanism releases a draw of pi(z | x), proportional to exp(c_x(z) / t), or
the state after k steps of the Metropolis chain that starts at x: totals and non-negativity hold by
construction. Neighbours are two histograms between which ONE individual changed bin (L1 distance 2). Choices
that the slide deck leaves open are stated where they are made. It writes W_x; here W is public, the same for
all x, as its sensitivity needs.

`limit` has the exact epsilon and delta of one draw of the limit, `mixing` those of k steps, `exact_sampling` the
draw, `noise` what the mechanism is set against.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from dpsim import checks, private
from dpsim.boltzmann import exact_sampling, noise
from dpsim.boltzmann.space import (
    LARGEST_TOTAL,
    SCALE,
    configurations,
    histogram,
    weight_matrix,
)
from dpsim.checks import Array, Integers


def privatize(
    histogram: ArrayLike,
    *,
    epsilon: float,
    total: int,
    bins: int,
    weights: ArrayLike | None = None,
    mechanism: str = "boltzmann",
    rng: np.random.Generator | int | None = None,
) -> private.Private:
    """Return a private histogram of the same total, epsilon-differentially private with delta 0.

    Parameters
    ----------
    histogram : array_like or Series (bins,) of int
        The secret counts. It must have the public total and number of bins; anything else is no input of the
        mechanism, and its refusal is not private.
    epsilon : float in (0, 1000]
        What may be spent when one individual changes bin.
    total : int >= 1
        N, the public number of individuals.
    bins : int >= 2
        The public number of bins.
    weights : array_like (bins,), optional
        The public diagonal of W, positive in at least one bin; ones by default. For the mechanism "boltzmann" alone.
    mechanism : {"boltzmann", "laplace"}
        "boltzmann": an exact draw of the Boltzmann machine's stationary distribution, whose temperature follows from
        epsilon. "laplace": discrete Laplace noise on the lattice of zero sums and the nearest valid histogram, which
        errs less unless N is a few individuals, as its noise does not grow with N.
    rng : Generator, int or None
        None draws from the operating system's entropy; anything else makes a simulation.

    Returns
    -------
    Private
        The histogram, with the labels of a Series; the statement says what is spent.

    Raises
    ------
    ValueError
        For arguments outside their ranges, and when the tables of the draw could exceed 50,000,000 terms for some
        histogram of this total. What is public is checked first and alone decides the temperature.

    Notes
    -----
    The temperature is t = c / epsilon, where c / t is the bound that `epsilon_bound` proves: s / t for equal weights.
    One draw spends no more; `exact_epsilon_limit` says how much less. Both draws are exact up to double precision
    (`sample_exact`, `add_zero_sum_laplace`).

    References
    ----------
    Fleischer 2024; Ghosh, Roughgarden and Sundararajan 2009 for the geometric noise.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> release = boltzmann.privatize([30, 15, 5], epsilon=1.0, total=50, bins=3, rng=1)
    >>> int(release.value.sum()), release.parameters
    (50, {'t': 198.0})
    """
    epsilon = checks.scalar("epsilon", epsilon, 0.0, 1000.0, open_low=True)
    total = checks.integer("total", total, 1, LARGEST_TOTAL)
    bins = checks.integer("bins", bins, 2)
    checks.choice("mechanism", mechanism, ("boltzmann", "laplace"))
    parameters = {}
    if mechanism == "boltzmann":
        parameters["t"] = _temperature(epsilon, total, bins, weights)
    elif weights is not None:
        raise ValueError("weights must be None for the mechanism 'laplace'")
    generator, simulation = private.source(rng)
    bare, labelled = private.unlabelled(histogram)
    counts = checks.integers("histogram", bare, 0, LARGEST_TOTAL)
    if counts.shape != (bins,) or counts.sum() != total:
        raise ValueError(
            f"histogram must have {bins} bins and the total {total}, as declared, got other ones, which are not shown: "
            "they are secret"
        )
    if mechanism == "boltzmann":
        drawn = exact_sampling.sample_exact(counts, parameters["t"], weights=weights, rng=generator)
        spent, law = epsilon_bound(total, bins, parameters["t"], weights), f"Boltzmann machine at t {parameters['t']!r}"
    else:
        noisy = noise.add_zero_sum_laplace(counts, epsilon, rng=generator)
        drawn, spent = noise.nearest_histogram(noisy, total, rng=generator), epsilon
        law = "discrete Laplace noise of sum zero and projection"
    statement = (
        f"Adjacent are histograms of {total} individuals in {bins} bins between which one individual changed bin: "
        f"epsilon {spent!r} (a proven bound), delta 0, by {law}. "
        "The total, the bins and the weights are public."
    )
    return private.made(labelled(drawn), statement, epsilon=spent, delta=0.0, simulation=simulation, **parameters)


def _temperature(epsilon: float, total: int, bins: int, weights: ArrayLike | None) -> float:
    """Return the least t whose `epsilon_bound` is at most epsilon, of public arguments alone."""
    w = weight_matrix(weights, bins)
    if w.ndim == 2 or not w.any():
        raise ValueError(f"weights must be {bins} numbers in [0, inf), one of them positive")
    t = epsilon_bound(total, bins, 1.0, weights) / epsilon
    while epsilon_bound(total, bins, t, weights) > epsilon:  # by a rounding
        t = math.nextafter(t, math.inf)
    exact_sampling.refuse_large_tables(total, w / t)
    return t


def objective(z: ArrayLike, x: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """Return c_x(z) = -(z - x)' W (z - x), the objective of the Boltzmann machine, at most 0.

    Parameters
    ----------
    z : array_like of float, shape (..., n)
        Histograms to score.
    x : array_like of int, shape (n,)
        The true histogram: n >= 2 bins, counts >= 0, at least one individual.
    weights : array_like, optional
        W in every function here: None the identity, (n,) a diagonal, (n, n) symmetric positive semidefinite.

    Returns
    -------
    float or ndarray, shape (...)

    Raises
    ------
    ValueError
        When x is not a histogram, z has other bins or W is not one of these.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.objective([[30, 15, 5], [29, 16, 5]], [30, 15, 5])
    array([ 0., -2.])
    """
    centre = histogram(x)
    w = weight_matrix(weights, centre.size)
    states = checks.real("z", z)
    if states.ndim == 0 or states.shape[-1] != centre.size:
        raise ValueError(f"z must have {centre.size} bins on its last axis, got shape {states.shape}")
    d = states - centre
    if w.ndim == 1:
        return checks.plain(-(d * d) @ w)
    return checks.plain(-np.maximum(np.einsum("...i,...i->...", d @ w, d), 0.0))


def log_stationary(x: ArrayLike, t: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """Return log pi(z | x) at temperature t for every row z of `configurations`.

    Parameters
    ----------
    x : array_like of int, shape (n,)
        The true histogram.
    t : array_like, shape (...)
        Temperatures in [1e-100, 1e100].
    weights : array_like, optional
        W, as in `objective`.

    Returns
    -------
    ndarray, shape (..., rows)
        pi is proportional to exp(c_x(z) / t), Fleischer 2024's stationary distribution.

    Raises
    ------
    ValueError
        As `objective` and `configurations` do, and for t outside its range.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsim import boltzmann
    >>> np.exp(boltzmann.log_stationary([1, 1], 2.0)).round(3)
    array([0.212, 0.576, 0.212])
    """
    centre = histogram(x)
    warm = checks.real("t", t, 1 / SCALE, SCALE)
    cost = objective(configurations(int(centre.sum()), centre.size), centre, weights)
    exponent = cost / warm[..., None]
    # the largest exponent is 0, at z = x
    return exponent - np.log(np.exp(exponent).sum(axis=-1, keepdims=True))


def sensitivity(total: int, bins: int, weights: ArrayLike | None = None) -> float:
    """Return s, the exact maximum of the change of c_x(z) over histograms z and neighbours of x.

    Parameters
    ----------
    total : int
        N >= 1 individuals.
    bins : int
        n >= 2.
    weights : array_like, optional
        W, as in `objective`.

    Returns
    -------
    float
        The maximum of ``|c_x(z) - c_y(z)|``.

    Raises
    ------
    ValueError
        Unless total and bins are in their ranges, and as `objective` does for W.

    Notes
    -----
    With y = x + m, m = e_j - e_i and g = W m: c_y(z) - c_x(z) = 2 g.(z - x) - (g_j - g_i), linear in z and in
    x. So the maximum is at z = N e_k and x = e_i + (N - 1) e_l, and s is the maximum over i != j of
    2 N max(g) - 2 (N - 1) min(g) - g_i - g_j; exchanging x and y gives the other sign. For a diagonal W it is
    (2 N - 1) times the sum of the two largest weights, for the identity 4 N - 2.

    References
    ----------
    Fleischer 2024, definition of the global sensitivity, d being the L1 distance.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.sensitivity(50, 3)
    198.0
    """
    total = checks.integer("total", total, 1, LARGEST_TOTAL)
    bins = checks.integer("bins", bins, 2)
    w = weight_matrix(weights, bins)
    if w.ndim == 1:
        return float((2 * total - 1) * np.sort(w)[-2:].sum())
    largest = 0.0
    for i in range(bins):
        g = np.delete(w - w[i], i, axis=0)  # one row for each j
        ends = np.delete(np.diag(w), i) - w[i, i]  # g_i + g_j
        values = 2 * total * g.max(axis=1) - 2 * (total - 1) * g.min(axis=1) - ends
        largest = max(largest, float(values.max()))
    return largest


def epsilon_bound(total: int, bins: int, t: float, weights: ArrayLike | None = None) -> float:
    """Return a proven bound on the epsilon of one exact draw of pi(z | x), never above Fleischer 2024's 2 s / t.

    Parameters
    ----------
    total : int
        N >= 1 individuals.
    bins : int
        n >= 2.
    t : float
        Temperature in [1e-100, 1e100].
    weights : array_like, optional
        W, as in `objective`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As `sensitivity` does, and for t outside its range.

    Notes
    -----
    Let y = x + m, m = e_j - e_i, g = W m as in `sensitivity`, and E_h the mean under the Boltzmann law
    centred at the real point x + h m. Integrating the derivative of the normaliser along the way from x to y,
    log pi(z | x) - log pi(z | y) = 2 / t * (mean over h in [0, 1] of E_h[g.Z], less g.z), which is at most
    2 N (max(g) - min(g)) / t: for a diagonal W, 2 N times the sum of the two largest weights / t.

    For W = w times the identity the bound is s / t. Take w = 1: g.Z = N - S with S = 2 Z_i + (all but bins i,
    j), and min g = -1, so this says that S has a mean of at least 1 over h. Under E_h, S is in 0..2N with
    weights q(S) exp(-(S - b + 2 h)^2 / (2 t)), where b = 2 x_i + (x but for i, j) >= 2, and q(0) <= q(2),
    since the splits that make S = 0 also make S = 2. Lowering b to 2 only lowers the mean; then S -> 2 - S
    exchanges h and 1 - h on {0, 1, 2}, and the average over both is at least 1, as q(2) and S > 2 only add to
    it. For unequal weights s / t can fail.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.epsilon_bound(50, 3, 198.0)
    1.0
    """
    total = checks.integer("total", total, 1, LARGEST_TOTAL)
    bins = checks.integer("bins", bins, 2)
    w = weight_matrix(weights, bins)
    t = checks.scalar("t", t, 1 / SCALE, SCALE)
    if w.ndim == 1:
        moved = 2 * total - 1 if np.ptp(w) == 0 else 2 * total
        return moved * float(np.sort(w)[-2:].sum()) / t
    return 2 * total * max(float(np.ptp(w - w[i], axis=1).max()) for i in range(bins)) / t


def metropolis(
    x: ArrayLike,
    t: ArrayLike,
    steps: int,
    *,
    chains: int = 1,
    weights: ArrayLike | None = None,
    invariant: Sequence[int] = (),
    rng: np.random.Generator | int | None = None,
) -> Integers:
    """Return the states of Metropolis chains after `steps` steps from x.

    Parameters
    ----------
    x : array_like of int, shape (n,)
        The true histogram, where every chain starts.
    t : array_like, shape (...)
        Temperatures in [1e-100, 1e100].
    steps : int
        At least 0.
    chains : int
        Independent chains at each temperature, at least 1.
    weights : array_like, optional
        W, as in `objective`.
    invariant : sequence of int
        Bins that keep their counts, which are then public: the chain, and its privacy, are those of the other bins
        alone (at least 2), with their total and their block of W.
    rng : Generator, int or None

    Returns
    -------
    array of int, shape (..., chains, n)

    Raises
    ------
    ValueError
        As `log_stationary` does, and for steps, chains or invariant outside their ranges.

    Notes
    -----
    Proposal: one individual moves from a bin to another, an ordered pair of distinct bins drawn uniformly, refused
    when the first is empty. That is symmetric, so pi(z | x) is stationary; drawing the individual uniformly is not.
    Accepted with probability min(1, exp(change of c_x / t)).

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.metropolis([30, 15, 5], 10.0, 1000, chains=2, rng=1).sum(axis=-1)
    array([50, 50])
    """
    return _run(x, t, steps, chains, weights, invariant, rng, recorded=0)[0]


def running_objective(
    x: ArrayLike,
    t: ArrayLike,
    steps: int,
    *,
    chains: int = 1,
    weights: ArrayLike | None = None,
    invariant: Sequence[int] = (),
    rng: np.random.Generator | int | None = None,
) -> Array:
    """Return the running means of c_x along the chains of `metropolis`.

    Parameters
    ----------
    x, t, steps, chains, weights, invariant, rng
        As in `metropolis`.

    Returns
    -------
    ndarray, shape (..., chains, steps)
        Entry k - 1 is the mean over X^0 = x, ..., X^(k - 1), which tends to the expected objective.

    Raises
    ------
    ValueError
        As `metropolis` does.

    References
    ----------
    Fleischer 2024, the ergodic theorem.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.running_objective([30, 15, 5], 10.0, 3, rng=1).shape
    (1, 3)
    """
    return _run(x, t, steps, chains, weights, invariant, rng, recorded=1)[1]


def _run(
    x: ArrayLike,
    t: ArrayLike,
    steps: int,
    chains: int,
    weights: ArrayLike | None,
    invariant: Sequence[int],
    rng: np.random.Generator | int | None,
    recorded: int,
) -> tuple[Integers, Array]:
    """Check the arguments, run the chains, and return last states and, if recorded, running means."""
    start, warm = histogram(x), checks.real("t", t, 1 / SCALE, SCALE)
    w = weight_matrix(weights, start.size)
    steps = checks.integer("steps", steps, 0)
    chains = checks.integer("chains", chains, 1)
    fixed = checks.integers("invariant", invariant, 0, start.size - 1)
    free = np.setdiff1d(np.arange(start.size), fixed)
    if free.size < 2:
        raise ValueError(f"invariant must leave from 2 to {start.size} bins free, got {fixed.tolist()}")
    states = np.empty((warm.size, chains, start.size), np.int64)
    means = np.empty((warm.size, chains, steps * recorded))
    _metropolis(checks.generator(rng), start, warm.ravel(), w, free, steps, states, means)
    return states.reshape(*warm.shape, chains, -1), means.reshape(*warm.shape, chains, steps * recorded)


@njit(cache=True, nogil=True)
def _metropolis(rng, start, warm, w, free, steps, states, means):  # type: ignore[no-untyped-def]
    """Run every chain; a proposal's change of the objective is updated, never summed anew."""
    m = free.size
    for a in range(warm.size):
        for chain in range(states.shape[1]):
            z = states[a, chain]
            for b in range(z.size):
                z[b] = start[b]
            cost, total = 0.0, 0.0
            for k in range(steps):
                if means.shape[2]:
                    total += cost
                    means[a, chain, k] = total / (k + 1)
                pair = rng.integers(0, m * (m - 1))
                i, j = pair // (m - 1), pair % (m - 1)
                if j >= i:
                    j += 1
                i, j = free[i], free[j]
                if z[i] == 0:
                    continue
                if w.ndim == 1:
                    pull = w[j] * (z[j] - start[j]) - w[i] * (z[i] - start[i])
                    own = w[i] + w[j]
                else:
                    pull = 0.0
                    for b in range(z.size):
                        pull += (w[j, b] - w[i, b]) * (z[b] - start[b])
                    own = w[i, i] + w[j, j] - 2 * w[i, j]
                change = -2 * pull - own
                if change >= 0 or rng.random() < math.exp(change / warm[a]):
                    z[i] -= 1
                    z[j] += 1
                    cost += change


def _plain_metropolis(x: Integers, t: float, w: Array, steps: int, rng: np.random.Generator) -> Integers:
    """Return one state of `metropolis`, from the same random numbers, with the objective computed anew at each step."""
    w = np.diag(w) if w.ndim == 1 else w
    z, n = np.array(x), len(x)
    for _ in range(steps):
        pair = rng.integers(0, n * (n - 1))
        i, j = pair // (n - 1), pair % (n - 1)
        moved = z.copy()
        moved[i] -= 1
        moved[j + (j >= i)] += 1
        if z[i] == 0:
            continue
        change = (z - x) @ w @ (z - x) - (moved - x) @ w @ (moved - x)
        if change >= 0 or rng.random() < math.exp(change / t):
            z = moved
    return z


def stopping_times(means: ArrayLike, tolerance: float, *, hold: int) -> Integers:
    """Return the first step at which the running means of several chains agree.

    Parameters
    ----------
    means : array_like, shape (..., p, steps)
        Running means of p >= 2 chains over at least 1 step, as `running_objective` returns them.
    tolerance : float
        Largest range of means that agree, in units of c_x, at least 0.
    hold : int
        They must agree at each of so many steps, at least 1, up to the one returned.

    Returns
    -------
    int or array of int, shape (...)
        Counted from 1; 0 if they never agree.

    Raises
    ------
    ValueError
        For arguments outside these ranges.

    Notes
    -----
    For two chains the range is ``|Y^(k)|``, Fleischer 2024's difference, and for p chains its corollary's metric. The
    slides give neither number; `hold` is needed because all chains start at x, where Y^(1) = 0. Stacking one chain
    with the expected objective gives the true time, that of M^(k).

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> int(boltzmann.stopping_times([[0, -4, -3, -3], [0, -1, -3, -3]], 0.5, hold=2))
    4
    """
    paths = checks.real("means", means)
    tolerance = checks.scalar("tolerance", tolerance, 0.0)
    hold = checks.integer("hold", hold, 1)
    if paths.ndim < 2 or paths.shape[-2] < 2 or paths.shape[-1] < 1:
        raise ValueError(f"means must have shape (..., chains >= 2, steps >= 1), got {paths.shape}")
    apart = np.ptp(paths, axis=-2) > tolerance
    step = np.arange(1, paths.shape[-1] + 1)
    last_apart = np.maximum.accumulate(np.where(apart, step, 0), axis=-1)
    held = step - last_apart >= hold
    return checks.plain(np.where(held.any(axis=-1), held.argmax(axis=-1) + 1, 0))
