"""Checks of the closed forms for words, histograms, noise and labels, and of the audit's bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise, product
from typing import Any

import mpmath as mp
import numpy as np

from dpsim import accounting, boltzmann, release, words
from dpsim.checks import Integers
from tools.verify import bounds
from tools.verify.precision_reference import DIGITS, Check, beta_tail, grid, powers


def weights(epsilon: Any, b: int, width: int) -> list[Any]:
    """Return q_l = exp(-epsilon l / (2 b))."""
    return [mp.exp(-epsilon * distance / (2 * b)) for distance in range(width)]


def exponential(counts: Sequence[int], epsilon: Any, b: int, distance: int) -> Any:
    """Return the exponential mechanism's log-probability of one word at a distance."""
    q = weights(epsilon, b, len(counts))
    return mp.log(q[distance] / sum(N * x for N, x in zip(counts, q)))


def permute_and_flip(counts: Sequence[int], epsilon: Any, b: int, distance: int) -> Any:
    """Return log f(l) = log(q_l integral_0^1 prod_j (1 - u q_j)^(N_j - [j = l]) du)."""
    q = weights(epsilon, b, len(counts))
    scale = 1 + sum(N * x for N, x in zip(counts, q))
    others = [N - (j == distance) for j, N in enumerate(counts)]

    def integrand(t: Any) -> Any:
        u = t / scale
        return mp.exp(sum(N * mp.log1p(-u * x) for N, x in zip(others, q) if N))

    cuts = [mp.mpf(0), *[mp.mpf(c) for c in (1, 3, 7, 15, 30, 60, 120) if c < scale], min(scale, mp.mpf(240))]
    with mp.workdps(30):
        return mp.log(q[distance] * mp.quad(integrand, cuts) / scale)


def staircase(counts: Sequence[int], epsilon: Any, b: int, distance: int, offset: int = 0) -> Any:
    """Return the staircase's log-probability of one word at a distance."""
    q = [mp.exp(-epsilon / 2 * ((d + offset + b - 1) // b)) for d in range(len(counts))]
    return mp.log(q[distance] / sum(N * x for N, x in zip(counts, q)))


LAWS = {"exponential": exponential, "permute-and-flip": permute_and_flip, "staircase": staircase}


def mean_distance(kind: str, counts: Sequence[int], epsilon: Any, b: int) -> Any:
    """Return the expected distance."""
    masses = [N * mp.exp(LAWS[kind](counts, epsilon, b, d)) if N else mp.mpf(0) for d, N in enumerate(counts)]
    return sum(d * mass for d, mass in enumerate(masses)) / sum(masses)


def least_mean_distance(counts: Sequence[int], epsilon: Any, b: int) -> Any:
    """Return Theorem 2's lower bound on the expected distance of permute-and-flip."""
    n, q = len(counts) - 1, weights(epsilon, b, len(counts))
    near, far = (mp.exp(permute_and_flip(counts, epsilon, b, d)) / q[d] for d in (0, n))
    of_exponential = sum(N * x for N, x in zip(counts, q))
    return mean_distance("exponential", counts, epsilon, b) - n * (near - far) * of_exponential / 4


def floor_of_mean_distance(counts: Sequence[int], epsilon: Any, b: int) -> Any:
    """Return sum_l l N_l q_l / (1 + Z - q_l)."""
    q = weights(epsilon, b, len(counts))
    Z = sum(N * x for N, x in zip(counts, q))
    return sum(d * N * x / (1 + Z - x) for d, (N, x) in enumerate(zip(counts, q)))


COUNTS = (
    (1, 1),
    (1, 0, 1),
    (1, 2, 1),
    (1, 0, 0, 7, 3),
    tuple(words.alphabet_counts(8, 3).tolist()),
    tuple(words.alphabet_counts(30, 5).tolist()),
    (1, 10**40, 10**300, 10**1000),
)


def log_normaliser(x: int, t: Any, weight: Any) -> Any:
    """Return the log-normaliser of the x-th histogram of 7 in 3 bins."""
    return mp.log(mp.fsum(mp.exp(cost(z, SPACE[x], weight) / t) for z in SPACE))


def cost(z: Integers, x: Integers, weight: Any) -> Any:
    """Return c_x(z) for W = diag(1, weight, 1)."""
    return -mp.mpf(sum(w * (int(a) - int(b)) ** 2 for a, b, w in zip(z, x, (1, weight, 1))))


SPACE = boltzmann.configurations(7, 3)


def limit_epsilon(t: Any, weight: Any) -> Any:
    """Return the largest log-likelihood ratio over neighbours and outputs."""
    normalisers = [log_normaliser(x, t, weight) for x in range(len(SPACE))]
    pairs = [(x, y) for x, y in np.argwhere(np.abs(SPACE[:, None] - SPACE).sum(axis=-1) == 2).tolist()]
    return max(
        max((cost(z, SPACE[x], weight) - cost(z, SPACE[y], weight)) / t for z in SPACE)
        - normalisers[x]
        + normalisers[y]
        for x, y in pairs
    )


def tail_at_bound(hits: int, draws: int, alpha: float) -> Any:
    """Return P(at least `hits` successes) in many digits at the lower Clopper-Pearson bound: alpha."""
    lower = float(accounting.clopper_pearson(hits, draws, alpha)[0])
    with mp.workdps(DIGITS):
        return float(beta_tail(mp.mpf(hits), mp.mpf(draws - hits + 1), mp.mpf(lower)))


def logs_of(counts: Sequence[int]) -> Any:
    """Return the logarithms of exact counts."""
    return words.automaton.log_integers(np.array(counts, dtype=object))


def word_checks() -> list[Check]:
    """Return the checks of dpsim.words.laws and of the counts it takes."""
    laws = [
        (counts, epsilon, b, distance)
        for counts, epsilon, b in grid(COUNTS, [0.0, 1e-6, 0.5, 5.0, 60.0], [1, 3])
        for distance in {0, 1, len(counts) - 1}
        if counts[distance]
    ]
    short = [counts for counts in COUNTS if len(counts) < 9 and counts[-1] < 10**30]
    settings = grid(short, [0.0, 1e-6, 0.5, 5.0, 60.0], [1, 3])
    stairs = [(*law, offset) for law in laws for offset in range(law[2])]
    long = tuple(words.alphabet_counts(10_000, 3).tolist())
    lengths = grid([1e-12, 1e-3, 0.5, 5.0, 300.0], [1, 30, 10_000], [1, 3])

    def word(kind: str) -> Callable[..., Any]:
        def ours(counts: Sequence[int], epsilon: float, b: int, distance: int) -> Any:
            return words.laws.Law(kind, epsilon, b).log_f(logs_of(counts))[distance]

        return ours

    return [
        Check("words.laws.Law.log_f, exponential", word("exponential"), exponential, laws, 1e-12, log=True),
        Check(
            "words.laws.Law.log_f, permute-and-flip",
            word("permute-and-flip"),
            permute_and_flip,
            laws[::3],
            1e-10,
            log=True,
        ),
        Check(
            "words.laws.Law.log_f, staircase",
            lambda counts, epsilon, b, distance, offset: words.laws.Law("staircase", epsilon, b, offset).log_f(
                logs_of(counts)
            )[distance],
            staircase,
            stairs,
            1e-12,
            log=True,
        ),
        Check(
            "words.laws.Law.log_f, 10,000 letters",
            lambda epsilon, distance: words.laws.Law("exponential", epsilon, 1).log_f(logs_of(long))[distance],
            lambda epsilon, distance: -epsilon / 2 * distance - 10_000 * mp.log1p(2 * mp.exp(-epsilon / 2)),
            grid([0.0, 0.5, 5.0, 60.0], [0, 1, 10_000]),
            1e-12,
            log=True,
        ),
        *(
            Check(
                f"words.expected_error, {kind}",
                lambda counts, epsilon, b, kind=kind: words.expected_error(
                    np.array(counts, dtype=object),
                    epsilon,
                    b,
                    mechanism=kind,
                    offset=0 if kind == "staircase" else None,
                ),
                lambda counts, epsilon, b, kind=kind: mean_distance(kind, counts, epsilon, b),
                settings[::4] if kind == "permute-and-flip" else settings,
                1e-10,
            )
            for kind in LAWS
        ),
        Check(
            "words.expected_error_bounds, lower",
            lambda counts, epsilon, b: words.expected_error_bounds(np.array(counts, dtype=object), epsilon, b)[0],
            least_mean_distance,
            settings[::4],
            1e-10,
            log=True,
        ),
        Check(
            "words.expected_error_floor",
            lambda counts, epsilon, b: words.expected_error_floor(np.array(counts, dtype=object), epsilon, b),
            floor_of_mean_distance,
            grid(COUNTS, [0.0, 1e-6, 0.5, 5.0, 60.0], [1, 3]),
            1e-10,
        ),
        Check(
            "words.reduction_limit",
            words.reduction_limit,
            lambda epsilon, n, b: -mp.expm1(-epsilon * n / (2 * b)) / 2,
            lengths,
            1e-14,
        ),
        Check(
            "words.alphabet_counts, logarithms",
            lambda n, m, d: words.automaton.log_integers(words.alphabet_counts(n, m))[min(d, n)],
            lambda n, m, d: mp.log(mp.binomial(n, min(d, n)) * mp.mpf(m - 1) ** min(d, n)),
            grid([1, 30, 10_000], [2, 5, 10**6], [0, 1, 17, 10_000]),
            1e-14,
            log=True,
        ),
    ]


SMALL = boltzmann.configurations(3, 3)
FULL = np.array([[2.0, 0.7, -0.3], [0.7, 1.5, 0.2], [-0.3, 0.2, 0.9]])
WEIGHTS = {"identity": None, "diagonal": np.array([1.0, 0.3, 7.5]), "full": FULL}


def full_cost(z: Integers, x: Integers, W: np.ndarray) -> Any:
    """Return -(z - x)' W (z - x) for floats W."""
    d = [int(a) - int(b) for a, b in zip(z, x)]
    return -mp.fsum(mp.mpf(float(W[i, j])) * d[i] * d[j] for i, j in product(range(len(d)), repeat=2))


def square(kind: str) -> np.ndarray:
    """Return W as a matrix."""
    given = WEIGHTS[kind]
    return np.eye(3) if given is None else (np.diag(given) if given.ndim == 1 else given)


def largest_change(kind: str) -> Any:
    """Return the largest change of the objective over all neighbours and outputs of 3 individuals in 3 bins."""
    W = square(kind)
    pairs = [(x, y) for x, y in product(SMALL, repeat=2) if np.abs(x - y).sum() == 2]
    return max(abs(full_cost(z, x, W) - full_cost(z, y, W)) for x, y in pairs for z in SMALL)


def proven_epsilon(kind: str, total: int, t: Any) -> Any:
    """Return the bound on epsilon that `boltzmann.epsilon_bound` proves."""
    W = mp.matrix(square(kind).tolist())
    if kind == "identity":
        return (2 * total - 1) * mp.mpf(2) / t
    steps = [[W[k, j] - W[k, i] for k in range(3)] for i, j in product(range(3), repeat=2) if i != j]
    return 2 * total * max(max(g) - min(g) for g in steps) / t


@cache
def our_level(t: float, weight: float, share: float) -> float:
    """Return an epsilon that far towards the largest loss of histograms of 7 in 3 bins."""
    return share * boltzmann.exact_epsilon_limit(7, 3, t, [1.0, weight, 1.0])


def largest_delta(t: Any, weight: Any, epsilon: float) -> Any:
    """Return the largest delta at epsilon over the neighbours among histograms of 7 in 3 bins."""
    laws = []
    for x in SPACE:
        terms = [mp.exp(cost(z, x, weight) / t) for z in SPACE]
        laws.append([term / mp.fsum(terms) for term in terms])
    pairs = np.argwhere(np.abs(SPACE[:, None] - SPACE).sum(axis=-1) == 2).tolist()
    factor = mp.exp(mp.mpf(epsilon))
    return max(mp.fsum(max(p - factor * q, mp.mpf(0)) for p, q in zip(laws[x], laws[y])) for x, y in pairs)


def least_epsilon(delta: Any, t: Any) -> Any:
    """Return where the same falls to delta, for the identity, near where the package says it does."""
    near = float(boltzmann.epsilon_at_delta(7, 3, float(t), float(delta)))

    def excess(epsilon: Any) -> Any:
        return largest_delta(t, mp.mpf(1), epsilon) - delta

    ends = (near * (1 - 1e-7), near * (1 + 1e-7))
    return mp.findroot(excess, ends, solver="anderson", tol=delta * mp.mpf(10) ** -14, verify=False)


def diagonal(weight: float) -> list[float]:
    """Return W = diag(1, weight, 1)."""
    return [1.0, weight, 1.0]


def histogram_checks() -> list[Check]:
    """Return the checks of the Boltzmann mechanism's closed forms."""
    rows = grid([0, 5, 20, 35], powers(-3, 6), [1.0, 0.0, 7.5])

    def normaliser(x: int, t: float, weight: float) -> Any:
        return boltzmann.epsilon.log_normalisers(SPACE[[x]], t, np.array([1.0, weight, 1.0]))[0]

    return [
        Check("boltzmann.log_normalisers", normaliser, log_normaliser, rows, 1e-13, log=True),
        Check(
            "boltzmann.log_stationary",
            lambda x, t, w: boltzmann.log_stationary(SPACE[x], t, diagonal(w))[11],
            lambda x, t, w: cost(SPACE[11], SPACE[x], w) / t - log_normaliser(x, t, w),
            rows,
            1e-13,
            log=True,
        ),
        Check(
            "boltzmann.exact_epsilon_limit",
            lambda t, w: boltzmann.exact_epsilon_limit(7, 3, t, diagonal(w)),
            limit_epsilon,
            grid(powers(-2, 4), [1.0, 0.0, 7.5]),
            1e-9,
        ),
        Check(
            "boltzmann.log_normalisers, full W",
            lambda x, t: boltzmann.epsilon.log_normalisers(SMALL, t, FULL)[x],
            lambda x, t: mp.log(mp.fsum(mp.exp(full_cost(z, SMALL[x], FULL) / t) for z in SMALL)),
            grid([0, 3, 9], powers(-2, 6)),
            1e-13,
            log=True,
        ),
        Check(
            "boltzmann.objective, full W",
            lambda z, x: boltzmann.objective(SMALL[z], SMALL[x], FULL),
            lambda z, x: full_cost(SMALL[z], SMALL[x], FULL),
            grid([0, 2, 5, 9], [0, 3, 7]),
            1e-14,
        ),
        Check(
            "boltzmann.sensitivity",
            lambda kind: boltzmann.sensitivity(3, 3, WEIGHTS[kind]),
            largest_change,
            grid(list(WEIGHTS)),
            1e-13,
        ),
        Check(
            "boltzmann.epsilon_bound",
            lambda kind, total, t: boltzmann.epsilon_bound(total, 3, t, WEIGHTS[kind]),
            proven_epsilon,
            grid(list(WEIGHTS), [1, 3, 10**6], powers(-9, 9, 3)),
            1e-13,
        ),
        Check(
            "boltzmann.epsilon.delta_at_epsilon",
            lambda t, share: boltzmann.epsilon.delta_at_epsilon(7, 3, t, our_level(t, 1.0, share)),
            lambda t, share: largest_delta(t, mp.mpf(1), our_level(float(t), 1.0, float(share))),
            grid(powers(-1, 4), [0.0, 0.3, 0.9]),
            1e-9,
        ),
        Check(
            "boltzmann.epsilon_at_delta",
            lambda delta, t: boltzmann.epsilon_at_delta(7, 3, t, delta),
            least_epsilon,
            [(d, t) for d, t in grid([1e-9, 1e-3], powers(-1, 2))],
            1.1e-9,  # it is rounded up by as much
            side=1,
        ),
    ]


# ------------------------------------------------------------------------------------------------ noise, labels, audit


def gaussian_profile(epsilon: Any, sigma: Any, b: Any, rows: int) -> Any:
    """Return delta of Gaussian noise by Balle and Wang 2018, Theorem 8, as printed."""
    ratio = b * mp.sqrt(mp.mpf(rows) / 2) / sigma

    def below(x: Any) -> Any:
        return mp.erfc(-x / mp.sqrt(2)) / 2

    return below(ratio / 2 - epsilon / ratio) - mp.exp(epsilon) * below(-ratio / 2 - epsilon / ratio)


def laplace_profile(epsilon: Any, scale: Any, b: Any, rows: int) -> Any:
    """Return delta of Laplace noise on 2 rows entries, each moved by b/2, from the law of the sum of their losses.

    With D = b / (2 scale) a loss is D with probability 1/2, -D with e^-D / 2, and in between D (2 u - 1) with density
    e^(-D (1-u)) D / 2 in u: the sum of j of those has the density of Irwin and Hall times e^(-D (j-v)) (D/2)^j.
    """
    with mp.workdps(25):
        return sum_of_laplace(epsilon, b / (2 * scale), 2 * rows)


def sum_of_laplace(epsilon: Any, D: Any, m: int) -> Any:
    """Return delta of m losses of at most D each."""
    total = mp.mpf(0)

    def hall(v: Any, j: int) -> Any:
        terms = ((-1) ** i * mp.binomial(j, i) * (v - i) ** (j - 1) for i in range(int(mp.floor(v)) + 1))
        return mp.fsum(terms) / mp.factorial(j - 1)

    for up, down in product(range(m + 1), repeat=2):
        j = m - up - down
        if j < 0:
            continue
        ways = mp.factorial(m) / (mp.factorial(up) * mp.factorial(down) * mp.factorial(j))
        weight, start = ways * mp.mpf(2) ** -(up + down) * mp.exp(-D * down), (up - down - j) * D
        low = max(mp.mpf(0), (epsilon - start) / (2 * D))
        if j == 0:
            total += weight * max(mp.mpf(0), -mp.expm1(epsilon - start))
        elif low < j:
            cuts = [low, *range(int(mp.floor(low)) + 1, j + 1)]
            for left, right in pairwise(cuts):
                total += weight * mp.quad(
                    lambda v, j=j, start=start: (D / 2) ** j * mp.exp(-D * (j - v)) * hall(v, j)
                    * -mp.expm1(epsilon - start - 2 * D * v),
                    [left, right],
                )  # fmt: skip
    return total


def at_scale(delta: float, epsilon: float, b: float, rows: int) -> float:
    """Return delta of Gaussian noise in many digits at the scale the package finds."""
    scale = accounting.gaussian_scale(epsilon, delta, b=b, rows=rows)
    with mp.workdps(DIGITS):
        return float(gaussian_profile(mp.mpf(epsilon), mp.mpf(scale), mp.mpf(b), rows))


def largest_private_scale(delta: Any, epsilon: Any, b: Any) -> Any:
    """Return the scale of Laplace noise on one row at which 1 - (1 + v/2) e^-v, v = (b/scale - epsilon)/2, is delta."""
    v = 2 * delta  # the root for small v; Newton's steps after it
    for _ in range(8):
        v -= (-mp.expm1(-v) - v / 2 * mp.exp(-v) - delta) / ((1 + v) / 2 * mp.exp(-v))
    return b / (epsilon + 2 * v)


def pair_rule(epsilon: float, delta: float, events: int) -> tuple[float, float]:
    """Return the package's threshold and log delta of private pairs with discrete Laplace noise."""
    threshold, spent = release.pair_threshold(release.laplace_noise(epsilon, events), events, delta)
    return float(threshold), math.log(spent)


def log_pair_delta(threshold: Any, epsilon: Any, events: int) -> Any:
    """Return log max(q^(T - M), M q^(T - 1)) / (1 + q)."""
    log_q = -epsilon / events
    worst = max((threshold - events) * log_q, mp.log(events) + (threshold - 1) * log_q)
    return worst - mp.log1p(mp.exp(log_q))


def least_threshold(epsilon: Any, delta: Any, events: int) -> Any:
    """Return the least T > M whose delta is small enough."""
    log_q = epsilon / events
    alike = -mp.log1p(mp.exp(-log_q)) - mp.log(delta)
    above = max(mp.ceil(alike / log_q) + events, mp.ceil((alike + mp.log(events)) / log_q) + 1)
    return max(above, mp.mpf(events + 1))


def hits_at_bound(hits: int, draws: int, alpha: float) -> float:
    """Return P(at most `hits` successes) in many digits at the upper Clopper-Pearson bound: alpha."""
    upper = float(accounting.clopper_pearson(hits, draws, alpha)[1])
    with mp.workdps(DIGITS):
        return float(1 - beta_tail(mp.mpf(hits + 1), mp.mpf(draws - hits), mp.mpf(upper)))


def implied(epsilon: Any, spent: Any, delta: Any) -> Any:
    """Return delta at epsilon of randomised response that is (spent, delta)-private."""
    return delta + (1 - delta) * max(mp.exp(spent) - mp.exp(epsilon), mp.mpf(0)) / (1 + mp.exp(spent))


def noise_checks() -> list[Check]:
    """Return the checks of the noise to compare with, of the choice of labels and of the audit's bounds."""
    one = [
        (share * b / s, s, b, 1) for share, s, b in grid([0.0, 1e-6, 0.3, 0.99], [0.003, 0.05, 1.0, 1e6], [0.05, 1.0])
    ]
    more = [(share * r * b / s, s, b, r) for share, s, b, r in grid([0.0, 0.1, 0.5], [0.02, 0.4], [0.1], [2, 3])]
    pairs = grid([0.3, 1.0, 2.7], [1e-3, 1e-6, 1e-12], [1, 2, 20])
    hits = [(h, d, a) for h, d, a in grid([0, 1, 30, 4000], [30, 10**4, 10**6], [0.3, 1e-3, 1e-9]) if h < d]

    def ours(profile: Callable[..., float]) -> Callable[..., float]:
        return lambda epsilon, scale, b, rows: profile(epsilon, scale, b=b, rows=rows)

    return [
        Check("accounting.laplace_delta, one row", ours(accounting.noise.laplace_delta), laplace_profile, one, 1e-12),
        Check(
            "accounting.laplace_delta, more rows",
            ours(accounting.noise.laplace_delta),
            laplace_profile,
            more,
            1e-3,  # an upper bound, losses rounded up to a grid
            side=1,
        ),
        Check(
            "accounting.gaussian_scale, back to delta",
            at_scale,
            lambda delta, *rest: delta,
            grid([0.3, 1e-6, 1e-30, 1e-290], [1.0, 100.0], [0.05], [1, 10_000]),
            1e-5,
            side=-1,
        ),
        Check(
            "accounting.laplace_scale, one row",
            lambda delta, epsilon, b: accounting.laplace_scale(epsilon, delta, b=b),
            largest_private_scale,
            grid([0.3, 1e-6, 1e-30, 1e-300], [1e-3, 1.0, 30.0], [0.05, 1.0]),
            2e-10,  # it is rounded up by 1e-10
            side=1,
        ),
        Check(
            "release.pair_threshold, threshold",
            lambda *point: pair_rule(*point)[0],
            least_threshold,
            pairs,
            1e-15,
        ),
        Check(
            "release.pair_threshold, log delta",
            lambda *point: pair_rule(*point)[1],
            lambda e, d, m: log_pair_delta(least_threshold(e, d, m), e, m),
            pairs,
            1e-8,
            log=True,
        ),
        Check(
            "accounting.clopper_pearson, tail at the bound",
            tail_at_bound,
            lambda hits, draws, alpha: mp.mpf(alpha),
            [(h, d, a) for h, d, a in grid([1, 30, 4000], [30, 10**4, 10**6], [0.3, 1e-3, 1e-9]) if h <= d],
            1e-9,
        ),
        Check(
            "accounting.clopper_pearson, tail at the upper bound", hits_at_bound, lambda h, d, alpha: alpha, hits, 1e-9
        ),
        Check(
            "accounting.implied_delta",
            bounds.implied_delta,
            implied,
            grid([0.0, 1e-9, 0.3, 2.0, 50.0], [0.0, 1e-9, 0.31, 3.0, 400.0], [0.0, 1e-300, 1e-6, 0.9]),
            1e-14,
        ),
    ]


def discrete_checks() -> list[Check]:
    """Return every check of this module."""
    return [*word_checks(), *histogram_checks(), *noise_checks()]
