"""The Boltzmann machine mechanism for histograms (Fleischer 2024): noise that evolves from the true counts.

A histogram x of N individuals in n bins is the best of all histograms z with the same total for the objective
c_x(z) = -(z - x)' W (z - x). The mechanism releases a draw of pi(z | x), proportional to exp(c_x(z) / t), or
the state after k steps of the Metropolis chain that starts at x: totals and non-negativity hold by
construction. Neighbours are two histograms between which ONE individual changed bin (L1 distance 2). Choices
that the slide deck leaves open are stated where they are made. It writes W_x; here W is public, the same for
all x, as its sensitivity needs.

`dpsim.boltzmann_exact` has the exact privacy of the limit and of k steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from dpsim import checks

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

LARGEST_TABLE = 50_000_000  # numbers in one array: 400 MB
LARGEST_TOTAL = 10**9
SCALE = 1e100  # weights up to here and temperatures from its inverse: no exponent overflows
TILT_POINTS = 10_000  # terms of a bin that the choice of the tilt looks at; the draws are exact for any tilt
CUT = 100.0  # a bin's terms below exp(-CUT) of its largest are left out of the tables of exact draws


def histogram(x: ArrayLike) -> Integers:
    """Return x as integers; raises ValueError unless 1-D with >= 2 bins, counts >= 0 and a total >= 1."""
    counts = checks.real("x", x, 0.0, LARGEST_TOTAL)
    if counts.ndim != 1 or counts.size < 2:
        raise ValueError(f"x must be one histogram with at least 2 bins, got shape {counts.shape}")
    if (counts != np.floor(counts)).any():
        raise ValueError(f"x must have integer counts, got {counts[counts != np.floor(counts)][0]:g}")
    if not 1 <= counts.sum() <= LARGEST_TOTAL:
        raise ValueError(f"x must count from 1 to {LARGEST_TOTAL} individuals, got {counts.sum():g}")
    return counts.astype(np.int64)


def weight_matrix(weights: ArrayLike | None, bins: int) -> Array:
    """Return W for n bins: (n,) when it is diagonal (ones for None), else (n, n).

    Raises ValueError unless W is None, n numbers in [0, 1e100] or a symmetric positive semidefinite (n, n)
    matrix. Symmetry and the smallest eigenvalue are checked within n * 8 roundings of the largest entry.
    """
    if weights is None:
        return np.ones(bins)
    w = checks.real("weights", weights, -SCALE, SCALE)
    if w.shape not in ((bins,), (bins, bins)):
        raise ValueError(f"weights must have shape ({bins},) or ({bins}, {bins}), got {w.shape}")
    if w.ndim == 2:
        slack = 8 * bins * np.finfo(float).eps * np.abs(w).max()
        if np.abs(w - w.T).max() > slack:
            raise ValueError(f"weights must be symmetric, got an asymmetry of {np.abs(w - w.T).max():g}")
        w = (w + w.T) / 2
        if np.any(w - np.diag(np.diag(w))):
            smallest = float(np.linalg.eigvalsh(w)[0])
            if smallest < -slack:
                raise ValueError(f"weights must be positive semidefinite, eigenvalues in [0, inf), got {smallest:g}")
            return w
        w = np.diag(w)
    return checks.real("weights", w, 0.0, SCALE)


def temperature(t: ArrayLike) -> Array:
    """Return the temperatures as an array of any shape; raises ValueError outside [1e-100, 1e100]."""
    return checks.real("t", t, 1 / SCALE, SCALE)


def diagonal_exponents(weights: ArrayLike | None, bins: int, t: float) -> Array:
    """Return w_i / t of a diagonal W, (n,); raises ValueError for other W and t not in [1e-100, 1e100]."""
    w = weight_matrix(weights, bins)
    if w.ndim == 2:
        raise ValueError(f"weights must be diagonal here, None or {bins} numbers in [0, inf), got a full matrix")
    return w / checks.scalar("t", t, 1 / SCALE, SCALE)


def configurations(total: int, bins: int) -> Integers:
    """Return all histograms z with this total, (binom(N + n - 1, n - 1), n), in the deck's order.

    The order is decreasing lexicographic: (N, 0, ..., 0) is row 0, (0, ..., 0, N) the last one.
    Raises ValueError unless total >= 0, bins >= 1 and the result has at most 50,000,000 numbers.
    """
    total = checks.integer("total", total, 0, LARGEST_TOTAL)
    bins = checks.integer("bins", bins, 1, LARGEST_TABLE)
    count = _count(total, bins)
    if count * bins > LARGEST_TABLE:
        raise ValueError(
            f"total {total} and bins {bins} must give at most {LARGEST_TABLE} numbers, got {count} histograms"
        )
    return _enumerate(total, bins, count)


def _count(total: int, bins: int) -> int:
    """Return binom(N + n - 1, n - 1), or some number above LARGEST_TABLE once it is known to be larger."""
    small, result = min(total, bins - 1), 1
    for i in range(1, small + 1):
        result = result * (total + bins - 1 - small + i) // i
        if result > LARGEST_TABLE:
            break
    return result


@njit(cache=True, nogil=True)
def _enumerate(total: int, bins: int, count: int) -> Integers:
    out = np.zeros((count, bins), np.int64)
    out[0, 0] = total
    for row in range(1, count):
        out[row] = out[row - 1]
        last = out[row, bins - 1]
        out[row, bins - 1] = 0
        i = bins - 2
        while out[row, i] == 0:  # the last bin that can give one to its right
            i -= 1
        out[row, i] -= 1
        out[row, i + 1] = last + 1
    return out


def configuration_index(z: ArrayLike, total: int) -> Integers:
    """Return the rows in `configurations` of histograms z (..., n), all with this total: shape (...).

    Raises ValueError when z is not of integers >= 0 that sum to the total, or the space is beyond 64 bits.
    """
    total = checks.integer("total", total, 0, LARGEST_TOTAL)
    states = np.asarray(z)
    if states.ndim == 0 or not np.issubdtype(states.dtype, np.integer) or (states.size and states.min() < 0):
        raise ValueError("z must be histograms (..., n) of integers >= 0")
    if (states.sum(axis=-1) != total).any():
        raise ValueError(f"z must be histograms with the total {total}")
    bins = states.shape[-1]
    if math.comb(total + bins - 1, bins - 1) * (total + bins) >= 2**63:
        raise ValueError(f"total {total} and bins {bins} must give a space that 64-bit integers can number")
    left = np.full(states.shape[:-1], total, np.int64)
    index = np.zeros(states.shape[:-1], np.int64)
    for i in range(bins - 1):
        left = left - states[..., i]
        ahead = np.ones_like(left)  # histograms that agree before bin i and have more in it
        # binom(left + r - 1, r) with r bins after i, by a product that is whole at every step
        for k in range(bins - 1 - i):
            ahead = ahead * (left + k) // (k + 1)
        index += ahead
    return index


def objective(z: ArrayLike, x: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """Return c_x(z) = -(z - x)' W (z - x) of histograms z (..., n), shape (...), all <= 0.

    weights: W of every function here: None the identity, (n,) a diagonal, (n, n) symmetric positive
    semidefinite. Raises ValueError when x is not a histogram (1-D, at least 2 bins, integers >= 0, at least
    one individual), z has other bins or W is not one of these.
    """
    centre = histogram(x)
    w = weight_matrix(weights, centre.size)
    states = checks.real("z", z)
    if states.ndim == 0 or states.shape[-1] != centre.size:
        raise ValueError(f"z must have {centre.size} bins on its last axis, got shape {states.shape}")
    d = states - centre
    if w.ndim == 1:
        return -(d * d) @ w
    return -np.maximum(np.einsum("...i,...i->...", d @ w, d), 0.0)


def log_stationary(x: ArrayLike, t: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """Return log pi(z | x) at temperature t for every row z of `configurations`, (..., rows) for t (...).

    pi is proportional to exp(c_x(z) / t), the deck's stationary distribution; t in [1e-100, 1e100].
    Raises ValueError as `objective` and `configurations` do, and for t outside its range.
    """
    centre = histogram(x)
    warm = temperature(t)
    cost = objective(configurations(int(centre.sum()), centre.size), centre, weights)
    exponent = cost / warm[..., None]
    # the largest exponent is 0, at z = x
    return exponent - np.log(np.exp(exponent).sum(axis=-1, keepdims=True))


def sensitivity(total: int, bins: int, weights: ArrayLike | None = None) -> float:
    """Return s, the exact maximum of |c_x(z) - c_y(z)| over histograms z and neighbours x, y.

    With y = x + m, m = e_j - e_i and g = W m: c_y(z) - c_x(z) = 2 g.(z - x) - (g_j - g_i), linear in z and in
    x. So the maximum is at z = N e_k and x = e_i + (N - 1) e_l, and s is the maximum over i != j of

        2 N max(g) - 2 (N - 1) min(g) - g_i - g_j;

    exchanging x and y gives the other sign. For a diagonal W it is (2 N - 1) times the sum of the two largest
    weights, for the identity 4 N - 2. Deck, definition of the global sensitivity, d being the L1 distance.
    Raises ValueError unless total >= 1 and bins >= 2, and as `objective` does for W.
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
    """Return a proven bound on the epsilon of one exact draw of pi(. | x), never above the deck's 2 s / t.

    Let y = x + m, m = e_j - e_i, g = W m as in `sensitivity`, and E_h the mean under the Boltzmann law
    centred at the real point x + h m. Integrating the derivative of the normaliser along the way from x to y,

        log pi(z | x) - log pi(z | y) = 2 / t * (mean over h in [0, 1] of E_h[g.Z], less g.z),

    which is at most 2 N (max(g) - min(g)) / t: for a diagonal W, 2 N times the sum of the two largest weights
    / t.

    For W = w times the identity the bound is s / t. Take w = 1: g.Z = N - S with S = 2 Z_i + (all but bins i,
    j), and min g = -1, so this says that S has a mean of at least 1 over h. Under E_h, S is in 0..2N with
    weights q(S) exp(-(S - b + 2 h)^2 / (2 t)), where b = 2 x_i + (x but for i, j) >= 2, and q(0) <= q(2),
    since the splits that make S = 0 also make S = 2. Lowering b to 2 only lowers the mean; then S -> 2 - S
    exchanges h and 1 - h on {0, 1, 2}, and the average over both is at least 1, as q(2) and S > 2 only add to
    it. For unequal weights s / t can fail.

    Raises ValueError as `sensitivity` does, and for t outside [1e-100, 1e100].
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
    rng: np.random.Generator | None = None,
) -> Integers:
    """Return the states of Metropolis chains after `steps` steps from x: (..., chains, n) for t (...).

    The chains are independent. Proposal: one individual moves from a bin to another, an ordered pair of
    distinct bins drawn uniformly, refused when the first is empty. That is symmetric, so pi(. | x) is
    stationary; drawing the individual uniformly is not. Accepted with probability min(1, exp(change of c_x /
    t)).
    Bins listed in `invariant` keep their counts, which are then public: the chain, and its privacy, are those
    of the other bins alone, with their total and their block of W.

    Raises ValueError as `log_stationary` does, unless steps >= 0, chains >= 1, and at least 2 bins can
    change.
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
    rng: np.random.Generator | None = None,
) -> Array:
    """Return the running means of c_x along the chains of `metropolis`: (..., chains, steps) for t (...).

    Entry k - 1 is the mean over X^0 = x, ..., X^(k - 1), which tends to the expected objective (deck, the
    ergodic theorem). Raises ValueError as `metropolis` does.
    """
    return _run(x, t, steps, chains, weights, invariant, rng, recorded=1)[1]


def _run(
    x: ArrayLike,
    t: ArrayLike,
    steps: int,
    chains: int,
    weights: ArrayLike | None,
    invariant: Sequence[int],
    rng: np.random.Generator | None,
    recorded: int,
) -> tuple[Integers, Array]:
    start, warm = histogram(x), temperature(t)
    w = weight_matrix(weights, start.size)
    steps = checks.integer("steps", steps, 0)
    chains = checks.integer("chains", chains, 1)
    fixed = [checks.integer("invariant", i, 0, start.size - 1) for i in invariant]
    free = np.setdiff1d(np.arange(start.size), fixed)
    if free.size < 2:
        raise ValueError(f"invariant must leave from 2 to {start.size} bins free, got {list(invariant)}")
    states = np.empty((warm.size, chains, start.size), np.int64)
    means = np.empty((warm.size, chains, steps * recorded))
    _metropolis(checks.generator(rng), start, warm.ravel(), w, free, steps, states, means)
    return states.reshape(*warm.shape, chains, -1), means.reshape(*warm.shape, chains, steps * recorded)


@njit(cache=True, nogil=True)
def _metropolis(rng, start, warm, w, free, steps, states, means):  # type: ignore[no-untyped-def]
    m = free.size
    for a in range(warm.size):
        for chain in range(states.shape[1]):
            z = states[a, chain]
            z[:] = start
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


def stopping_times(means: ArrayLike, tolerance: float, *, hold: int) -> Integers:
    """Return the first step at which running means (..., p, steps) of p chains agree: (...), 0 if never.

    They agree at k when their range is at most `tolerance` (in units of c_x) at each of the last `hold` steps
    up to k. For two chains the range is |Y^(k)|, the deck's difference, and for p chains its corollary's
    metric. The deck gives neither number; `hold` is needed because all chains start at x, where Y^(1) = 0.
    Stacking one chain with the expected objective gives the true time, that of M^(k).

    Raises ValueError unless there are at least 2 chains and 1 step, tolerance >= 0 and hold >= 1.
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
    return np.where(held.any(axis=-1), held.argmax(axis=-1) + 1, 0)


def sample_exact(
    x: ArrayLike,
    t: float,
    *,
    weights: ArrayLike | None = None,
    size: int | tuple[int, ...] | None = None,
    rng: np.random.Generator | None = None,
) -> Integers:
    """Return independent draws of pi(. | x) itself for a diagonal W, (*size, n): no chain, no burn-in.

    Given the total, the bins are independent discrete Gaussians exp(-w (z - x)^2 / t) on 0..N, and tilting
    all of them by exp(lambda z) changes nothing. So: draw all bins but the widest from the tilted laws, give
    it what is left, accept with its weight relative to its mode. lambda makes the expected total N, so that a
    share A of proposals, about 1 / sqrt(n), is accepted.

    What keeps a draw from the exact law, in total variation (count it as delta): terms below exp(-100) of a
    bin's largest are left out of its table, at most n (N + 1) exp(-100) over the chance of the total N; and
    double precision (53-bit uniforms, rounded sums), about 2 K 2^-53 / A for K table terms. Memory: 8 bytes
    per term, about 20 sqrt(t / w) terms and at most N + 1 for each bin.

    Raises ValueError as `log_stationary` does, for W not diagonal, and when the tables exceed 50,000,000
    terms.
    """
    centre = histogram(x)
    a = diagonal_exponents(weights, centre.size, t)
    shape = () if size is None else (size,) if isinstance(size, int | np.integer) else tuple(size)
    shape = tuple(checks.integer("size", s, 0) for s in shape)
    tilt, low, offset, table, variance = tilted_tables(centre, a)
    last = int(np.argmax(variance))
    order = np.append(np.delete(np.arange(centre.size), last), last)
    cumulative = table.copy()
    for i in range(centre.size):
        part = cumulative[offset[i] : offset[i + 1]]
        np.cumsum(part, out=part)
        part /= part[-1]
    out = np.empty((math.prod(shape), centre.size), np.int64)
    _sample(checks.generator(rng), centre, a, tilt, low, offset, cumulative, order, out)
    return out.reshape(*shape, centre.size)


@njit(cache=True, nogil=True)
def _mode(x, a, tilt, total):  # type: ignore[no-untyped-def]
    """Return the z in 0..N that maximises -a (z - x)^2 + tilt z."""
    if tilt >= 2 * a * (total - x):
        return total
    if tilt <= -2 * a * x:
        return 0
    return round(x + tilt / (2 * a))


@njit(cache=True, nogil=True)
def _relative(z, mode, x, a, tilt):  # type: ignore[no-untyped-def]
    """Return the log weight of z less that of the mode."""
    return (z - mode) * (tilt - a * (z + mode - 2 * x))


@njit(cache=True, nogil=True)
def _window(x, a, tilt, total):  # type: ignore[no-untyped-def]
    """Return the first and last z whose term is at least exp(-CUT) of the largest (logs are concave)."""
    mode = _mode(x, a, tilt, total)
    low, high = 0, total
    inside = mode
    while low < inside:
        middle = (low + inside) // 2
        if _relative(middle, mode, x, a, tilt) >= -CUT:
            inside = middle
        else:
            low = middle + 1
    inside = mode
    while inside < high:
        middle = (inside + high + 1) // 2
        if _relative(middle, mode, x, a, tilt) >= -CUT:
            inside = middle
        else:
            high = middle - 1
    return low, high


@njit(cache=True, nogil=True)
def _moments(centre, a, tilt, total, mean, variance):  # type: ignore[no-untyped-def]
    """Fill the means and variances of the tilted bins, approximate for wide ones."""
    for i in range(centre.size):
        mode = _mode(centre[i], a[i], tilt, total)
        low, high = _window(centre[i], a[i], tilt, total)
        mass, first, second = 0.0, 0.0, 0.0
        for z in range(low, high + 1, 1 + (high - low) // TILT_POINTS):
            p = math.exp(_relative(z, mode, centre[i], a[i], tilt))
            mass += p
            first += p * (z - mode)
            second += p * (z - mode) ** 2
        mean[i] = mode + first / mass
        variance[i] = second / mass - (first / mass) ** 2


@njit(cache=True, nogil=True)
def _tilt(centre, a, total, mean, variance):  # type: ignore[no-untyped-def]
    """Return lambda with an expected total near N, by Newton steps in a bracket; fills the moments."""
    low, high, tilt = -math.inf, math.inf, 0.0
    for _ in range(200):
        _moments(centre, a, tilt, total, mean, variance)
        excess, spread = mean.sum() - total, variance.sum()
        if abs(excess) <= 0.1 * max(1.0, math.sqrt(spread)):
            break
        if excess > 0:
            high = tilt
        else:
            low = tilt
        following = tilt - excess / spread if spread > 0 else math.nan
        if not low < following < high:
            if math.isinf(low) or math.isinf(high):
                break  # any tilt is right, a better one only accepts more
            following = (low + high) / 2
        tilt = following
    return tilt


def tilted_tables(centre: Integers, a: Array) -> tuple[float, Integers, Integers, Array, Array]:
    """Return lambda, first z (n,), offsets (n + 1,), terms and variances (n,) of the tilted bins.

    The term of z in bin i is exp(-a_i (z - x_i)^2 + lambda z), scaled so that the bins' largest terms are 1.
    Raises ValueError when there would be more than 50,000,000 terms.
    """
    total = int(centre.sum())
    mean, variance = np.empty(centre.size), np.empty(centre.size)
    tilt = _tilt(centre, a, total, mean, variance)
    windows = np.array([_window(x, e, tilt, total) for x, e in zip(centre, a)])
    offset = np.concatenate([[0], np.cumsum(windows[:, 1] - windows[:, 0] + 1)])
    if offset[-1] > LARGEST_TABLE:
        raise ValueError(f"x and t must need at most {LARGEST_TABLE} table terms, got {offset[-1]}")
    return tilt, windows[:, 0], offset, _terms(centre, a, tilt, total, windows, offset), variance


@njit(cache=True, nogil=True)
def _terms(centre, a, tilt, total, windows, offset):  # type: ignore[no-untyped-def]
    terms = np.empty(offset[-1])
    for i in range(centre.size):
        mode = _mode(centre[i], a[i], tilt, total)
        for z in range(windows[i, 0], windows[i, 1] + 1):
            terms[offset[i] + z - windows[i, 0]] = math.exp(_relative(z, mode, centre[i], a[i], tilt))
    return terms


@njit(cache=True, nogil=True)
def _sample(rng, centre, a, tilt, low, offset, cumulative, order, out):  # type: ignore[no-untyped-def]
    total = centre.sum()
    last = order[-1]
    mode = _mode(centre[last], a[last], tilt, total)
    for draw in range(out.shape[0]):
        while True:
            left = total
            for i in order[:-1]:
                part = cumulative[offset[i] : offset[i + 1]]
                out[draw, i] = low[i] + np.searchsorted(part, rng.random(), side="right")
                left -= out[draw, i]
                if left < 0:
                    break
            if left >= 0 and rng.random() < math.exp(_relative(left, mode, centre[last], a[last], tilt)):
                out[draw, last] = left
                break
