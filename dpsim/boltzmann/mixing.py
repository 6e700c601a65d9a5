"""The Boltzmann machine after k steps of its Markov chain (Fleischer 2024).

The module computes the distribution after k steps and its delta, which are exact up to
double precision, and a proven upper bound on delta for any N. Distributions over all
histograms are arrays in the order of `boltzmann.configurations`. The arguments x, t and
weights are those of `objective`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh_tridiagonal
from scipy.sparse import csr_array
from scipy.special import gammaln

from dpsim import checks
from dpsim.boltzmann.distribution import objective
from dpsim.boltzmann.epsilon import sensitivity
from dpsim.boltzmann.histograms import (
    LARGEST_TABLE,
    configurations,
    histogram,
    index,
    neighbours,
    size,
    temperature,
)
from dpsim.boltzmann.sampling import CANDIDATES, RULES
from dpsim.checks import Array

# The largest number of people for which computing the eigenvalues of a line takes at
# most a tenth of a second.
LARGEST_LINE = 100_000
# The largest possible error of an eigenvalue, for matrices of norm 1.
ROUNDING = 1e-14


def metropolis_matrix(
    x: ArrayLike,
    t: float,
    *,
    weights: ArrayLike | None = None,
    candidate: str = "bins",
    rule: str = "metropolis",
) -> csr_array:
    """Return the transition matrix of the Markov chain of `metropolis`.

    Its states are the rows of `configurations`.

    Parameters
    ----------
    x : array_like of int (n,), the true histogram; the histograms of its total may have
        at most 50,000,000 moves
    t : float in [1e-100, 1e100], the temperature
    weights : array_like (n,), optional, as in `objective`
    candidate, rule : as in `metropolis`

    Returns
    -------
    sparse array (rows, rows)

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.metropolis_matrix([1, 1], 1e9).toarray().round(2).tolist()
    [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]]
    """
    centre = histogram(x)
    t = temperature(t)
    checks.choice("candidate", candidate, CANDIDATES)
    checks.choice("rule", rule, RULES)
    total = int(centre.sum())
    bins = centre.size
    states = configurations(total, bins)
    moves = states.shape[0] * bins * (bins - 1)
    if moves > LARGEST_TABLE:
        raise ValueError(f"x must give at most {LARGEST_TABLE} moves, got {moves}")
    cost = objective(states, centre, weights)
    there = neighbours(states)
    here = np.arange(len(states))[:, None]
    proposed: float | Array = 1 / (bins * (bins - 1))
    if candidate == "individual":
        proposed = np.repeat(states, bins - 1, axis=1) / (total * (bins - 1))
    change = (cost[there] - cost[here]) / t
    if rule == "metropolis":
        accepted = np.exp(np.minimum(change, 0.0))
    else:
        with np.errstate(over="ignore"):
            accepted = 1 / (1 + np.exp(-change))
    moved = np.where(there == here, 0.0, proposed * accepted)
    stayed = 1.0 - moved.sum(axis=1)
    probability = np.column_stack([moved, stayed])
    columns = np.column_stack([there, here])
    starts = np.arange(0, columns.size + 1, columns.shape[1])
    matrix = csr_array((probability.ravel(), columns.ravel(), starts))
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def k_step_distribution(
    x: ArrayLike,
    t: float,
    steps: int | Sequence[int],
    *,
    weights: ArrayLike | None = None,
    candidate: str = "bins",
    rule: str = "metropolis",
) -> Array:
    """Return the distribution after each number of steps from x.

    Parameters
    ----------
    x, t, weights, candidate, rule : as in `metropolis_matrix`, whose chain is run
    steps : int or sequence of int (...), at least 0

    Returns
    -------
    array of float (..., rows)

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.k_step_distribution([1, 1], 1e9, [0, 1]).round(2).tolist()
    [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]
    """
    wanted = checks.integers("steps", steps, 0)
    centre = histogram(x)
    matrix = metropolis_matrix(
        centre, t, weights=weights, candidate=candidate, rule=rule
    )
    backwards = matrix.T.tocsr()
    present = np.zeros(backwards.shape[0])
    present[index(centre)] = 1.0
    found = np.empty((wanted.size, present.size))
    done = 0
    for position in np.argsort(wanted.ravel()):
        for _ in range(wanted.flat[position] - done):
            present = backwards @ present
        found[position] = present
        done = int(wanted.flat[position])
    return found.reshape(*wanted.shape, present.size)


def mixing_delta(
    total: int,
    bins: int,
    t: float,
    steps: int | Sequence[int],
    *,
    weights: ArrayLike | None = None,
    epsilon: float | None = None,
) -> Array:
    """Return the exact delta after k Metropolis steps from the true histogram.

    For each number k of steps, it is the sum over z of (P_x^k(z) - e^epsilon
    P_y^k(z))_+, maximised over neighbours x and y.

    Parameters
    ----------
    total, bins, t, weights : as in `epsilon_bound`; the steps times the square of the
        number of histograms may be at most 50,000,000
    steps : int or sequence of int (...), at least 0
    epsilon : float, optional
        At least 0; None means 2 s / t, where s is the `sensitivity`. A value above 700
        is replaced with 700, which can only raise delta.

    Returns
    -------
    array of float (...)

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.mixing_delta(5, 3, 18.0, [1, 3, 100]).round(3)
    array([0.447, 0.037, 0.   ])
    """
    wanted = checks.integers("steps", steps, 0)
    total, bins = size(total, bins)
    t = temperature(t)
    if epsilon is None:
        epsilon = 2 * sensitivity(total, bins, weights) / t
    epsilon = checks.scalar("epsilon", epsilon, 0)
    states = configurations(total, bins)
    if wanted.size * len(states) ** 2 > LARGEST_TABLE:
        raise ValueError(
            f"total, bins and steps must need at most {LARGEST_TABLE} numbers, "
            f"got {len(states)} squared"
        )
    counts = wanted.ravel().tolist()
    found = [k_step_distribution(x, t, counts, weights=weights) for x in states]
    after = np.stack(found, axis=1)  # (steps, starts, rows)
    factor = math.exp(min(epsilon, 700.0))
    largest = np.zeros(wanted.size)
    for y in neighbours(states).T:
        excess = np.maximum(after - factor * after[:, y], 0.0)
        delta = excess.sum(axis=2).max(axis=1)
        largest = np.maximum(largest, delta)
    return checks.plain(np.minimum(largest, 1.0).reshape(wanted.shape))


def convergence_rate(total: int, bins: int, t: float) -> float:
    """Return a proven upper bound on alpha for the Metropolis chain of every start x.

    Here W is the identity, and alpha is the largest modulus of an eigenvalue of the
    chain on all histograms, other than the eigenvalue 1.

    Parameters
    ----------
    total, bins : int, N from 1 to 100,000 people and n >= 2 bins
    t : float in [1e-100, 1e100], the temperature

    Notes
    -----
    1. A step chooses one of b = n (n - 1) / 2 pairs of bins and moves on the line of
    histograms that have the same counts in all other bins. On each line the chain is a
    walk that is reversible for pi given the line. So the Dirichlet form of the chain is
    at least (the smallest gap of a line) times that of the chain R, which chooses a
    pair and then samples a point of its line from pi.

    2. R has a gap of at least 1 / b. Let z' = z + e_i - e_j. If R chooses the pair {i,
    j}, it can move both histograms to the same point. If it chooses a pair without i
    and j, it can change both in the same way. For a pair {i, k}, the sums of z and z'
    differ by one. Because the weights of the bins are log-concave, there is a coupling
    in which one of the two counts is larger by one in z' and the other is equal, so the
    histograms are still one move apart. Therefore each step multiplies the mean
    distance between any two histograms by at most 1 - 1 / b, so only constant functions
    are multiplied by more than 1 - 1 / b in modulus.

    3. On a line with the sum M the weights are exp(-2 (z_i - c)^2 / t) with
    c = (M + x_i - x_j) / 2. The values z_i - c are some of the integers -N..N or of the
    half-integers between them. Cutting a line makes no gap smaller, because a function
    that stays constant beyond the cut has the same Dirichlet form and at least the same
    variance. So the smallest gap is at least the smaller gap of these two lines, which
    are found numerically and lowered by 1e-14.

    4. No eigenvalue of a line's walk is below minus its second largest, so no
    eigenvalue of the chain is below minus the bound. To see this, let the walk go up or
    down with probabilities u, d <= 1/2. It multiplies the differences f(v) - f(v - 1)
    by a matrix with the diagonal 1 - d(v) - u(v - 1) >= 0 and otherwise the entries u
    and d, which are not negative. The largest eigenvalue of this matrix is the walk's
    second one. If the signs of f alternate, minus the walk multiplies the sums of
    neighbouring moduli by the same matrix with the sign of the diagonal changed, whose
    largest eigenvalue is no larger (Perron).

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> round(boltzmann.mixing.convergence_rate(50, 5, 10.0), 4)
    0.9857
    """
    total, bins, t = _checked(total, bins, t)
    # the line of integers had the smaller gap in every case tried, but this is not
    # proven, so both are computed
    gap = min(_gap(total, t, 0.0), _gap(total, t, 0.5))
    return 1.0 - gap * 2 / (bins * (bins - 1))


def _checked(total: int, bins: int, t: float) -> tuple[int, int, float]:
    total = checks.integer("total", total, 1, LARGEST_LINE)
    return total, checks.integer("bins", bins, 2), temperature(t)


def _gap(total: int, t: float, half: float) -> float:
    """Return a lower bound on the gap of the line whose values begin at -N + half."""
    v = np.arange(-total + half, total + 0.25)
    fall = (v[:-1] + v[1:]) * 2 / t  # of the exponent, from a point to the next
    up = 0.5 * np.exp(np.minimum(-fall, 0.0))
    down = 0.5 * np.exp(np.minimum(fall, 0.0))
    stay = 1.0 - np.append(up, 0.0) - np.append(0.0, down)
    last = v.size - 2
    second = eigh_tridiagonal(
        stay,
        np.sqrt(up * down),
        eigvals_only=True,
        select="i",
        select_range=(last, last),
    )
    return 1.0 - float(second[0]) - ROUNDING


def mixing_bound(
    total: int, bins: int, t: float, steps: ArrayLike, epsilon: float
) -> Array:
    """Return a proven upper bound on delta after k steps from the true histogram.

    Here W is the identity, and the steps are those of the Metropolis chain. The result
    is an upper bound on
    (1 + e^epsilon) alpha^k / (2 sqrt(pi_x(x))) over all x, clipped to [1e-300, 1].
    Fleischer 2024's theorem on the mechanism leaves this delta(k) unspecified.

    Parameters
    ----------
    total, bins, t : as in `convergence_rate`
    steps : array_like of int (...), k >= 0
    epsilon : float
        At least the exact epsilon of one sample from the stationary distribution, for
        example `epsilon_bound` or `exact_epsilon_limit`.

    Returns
    -------
    array of float (...)

    Notes
    -----
    A reversible chain that starts at x is within alpha^k / (2 sqrt(pi_x(x))) of its
    stationary distribution in total variation. Suppose that a sample from the
    stationary distribution is epsilon-private, and that both chains are within d of
    their stationary distributions. Then P_x(S) <= pi_x(S) + d <= e^epsilon
    pi_y(S) + d <= e^epsilon P_y(S) + (1 + e^epsilon) d. The factor alpha is at most
    `convergence_rate`. The normaliser 1 / pi_x(x) of x is at most the number of
    histograms. It is also at most the (n - 1)-th power of the sum of exp(-u^2 / t) over
    ``|u|`` <= N, because the last bin follows from the others.

    Examples
    --------
    >>> from dpsim import boltzmann
    >>> boltzmann.mixing_bound(50, 5, 10.0, [3000, 4000], 39.6).round(3)
    array([0.413, 0.   ])
    """
    k = checks.integers("steps", steps, 0)
    first, rate = log_distance_bound(total, bins, t, epsilon)
    delta = np.exp(np.minimum(first + k * rate, 0.0))
    return checks.plain(np.clip(delta, 1e-300, 1.0))


def enough_steps(total: int, bins: int, t: float, epsilon: float, delta: float) -> int:
    """Return the first k whose `mixing_bound` is at most delta, for delta in (0, 1]."""
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True)
    first, rate = log_distance_bound(total, bins, t, epsilon)
    return max(0, math.ceil((math.log(delta) - first) / rate))


def log_distance_bound(
    total: int, bins: int, t: float, epsilon: float
) -> tuple[float, float]:
    """Return the logarithms of the bound before any step and of its factor per step."""
    total, bins, t = _checked(total, bins, t)
    epsilon = checks.scalar("epsilon", epsilon, 0.0)
    alpha = max(convergence_rate(total, bins, t), 1e-300)
    if alpha >= 1.0:
        raise ValueError(
            f"total, bins and t must leave a gap of more than {ROUNDING:g}, got t {t:g}"
        )
    u = np.arange(-total, total + 1)
    one = np.exp(-(u**2.0) / t).sum()
    log_histograms = gammaln(total + bins) - gammaln(bins) - gammaln(total + 1)
    normaliser = min(float(log_histograms), (bins - 1) * math.log(one))
    first = float(np.logaddexp(0.0, epsilon)) + normaliser / 2 - math.log(2)
    return first, math.log(alpha)
