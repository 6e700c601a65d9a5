"""The checks of `tools.verify.precision`: special functions where the usual formulas
fail, and inverses.

Each has a reference of its own in many digits. An inverse is put back: its result, in
the reference, gives the target. What is the same formula in NumPy and in mpmath has no
row: the functions it is made of have theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betainc

from dpsim import accounting, boltzmann, dirichlet, markov, mdp, words
from dpsim.checks import Integers
from dpsim.numerics import hockey_stick, special
from tools.verify.many_digits import (
    beta_tail,
    gaussian_profile,
    log_add_remove,
    log_replace,
    permute_and_flip,
    sum_of_laplace,
)

DIGITS = 60
SIDE_SLACK = 1e-11  # what the rounding of a value to one side may itself be wrong by


@dataclass(frozen=True)
class Check:
    """A function of the package, its reference, the grid of arguments and the error
    allowed."""

    function: str
    ours: Callable[..., Any]
    reference: Callable[..., Any]
    grid: Sequence[tuple[Any, ...]]
    tolerance: float
    log: bool = False
    side: int = 0
    """1: a value below the truth is wrong, -1: one above it, both but for roundings of
    SIDE_SLACK."""


def log_target(delta: Any, *rest: Any) -> Any:
    """Return log delta: what an inverse is put back to."""
    return mp.log(delta)


def in_digits(reference: Callable[..., Any], *arguments: Any) -> float:
    """Return a reference at what an inverse gives."""
    with mp.workdps(DIGITS):
        return float(reference(*map(mp.mpf, arguments)))


def back(
    function: str,
    ours: Callable[..., Any],
    points: Sequence[tuple[Any, ...]],
    side: int = -1,
) -> Check:
    """Return the check of an inverse, put back into a reference: log delta of its
    result against that of the target."""
    return Check(
        f"{function}, back to log delta",
        ours,
        log_target,
        points,
        1e-9,
        log=True,
        side=side,
    )


def grid(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return all combinations of the axes."""
    return list(product(*axes))


def powers(low: int, high: int, step: float = 1.0) -> list[float]:
    """Return powers of ten, times 1.1 so that few are round."""
    return [1.1 * 10.0**e for e in np.arange(low, high + step / 2, step)]


def log_beta(a: Any, b: Any) -> Any:
    """Return log B(a, b)."""
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def log_kernel(x: Any, p: Any, k: Any) -> Any:
    """Return log(x^(kp) (1-x)^(k-kp) / B(kp, k-kp))."""
    return k * p * mp.log(x) + k * (1 - p) * mp.log1p(-x) - log_beta(k * p, k - k * p)


# --- special functions ----------------------------------------------------------------


def stirling_rest(x: Any) -> Any:
    """Return log Gamma less Stirling's leading terms."""
    return mp.loggamma(x) - ((x - 0.5) * mp.log(x) - x + mp.log(2 * mp.pi) / 2)


def log_gamma_ratio(a: Any, t: Any) -> Any:
    """Return log(Gamma(a + t) / Gamma(a))."""
    return mp.loggamma(a + t) - mp.loggamma(a)


def log_minus_psi(x: Any) -> Any:
    """Return log x less the digamma function."""
    return mp.log(x) - mp.digamma(x)


def log_beta_tail(x: Any, p: Any, k: Any) -> Any:
    """Return log I_x(k p, k - k p)."""
    return mp.log(beta_tail(k * p, k - k * p, x))


def special_checks() -> list[Check]:
    """Return the checks of dpsim.special and of the quadrature's Stirling error."""
    wide = powers(-8, 12)
    means = [1e-4, 0.02, 0.25, 0.5, 0.9]
    sizes = powers(-3, 6)
    far = [*powers(-12, -1, 0.3), *powers(0, 12, 0.3)]
    left = [
        (p * part, p, k)
        for p, part, k in grid(means, [1e-3, 0.1, 0.7, 0.99, 1.05], sizes)
        if p * part < 1
    ]
    return [
        Check(
            "numerics.stirling_rest",
            special.stirling_rest,
            stirling_rest,
            grid(powers(-8, 12, 0.1)),
            1e-11,
        ),
        Check(
            "numerics.log_beta",
            special.log_beta,
            log_beta,
            grid(wide, wide),
            1e-14,
            log=True,
        ),
        Check(
            "numerics.log_gamma_ratio",
            special.log_gamma_ratio,
            log_gamma_ratio,
            grid(wide, wide),
            1e-13,
            log=True,
        ),
        Check(
            "numerics.log_minus_psi",
            special.log_minus_psi,
            log_minus_psi,
            grid(powers(-8, 12, 0.1)),
            1e-13,
        ),
        Check(
            "numerics.minus_log1p",
            lambda ratio: special.minus_log1p(ratio - 1.0, ratio),
            lambda ratio: ratio - 1 - mp.log(ratio),
            grid([*far, 1 - 2.0**-20, 1 + 2.0**-20, 1.1875, 0.8125]),
            1e-13,
        ),
        Check(
            "numerics.log_beta_kernel",
            special.log_beta_kernel,
            log_kernel,
            left,
            1e-13,
            log=True,
        ),
        Check(
            "numerics.log_beta_tail",
            special.log_beta_tail,
            log_beta_tail,
            left,
            1e-9,
            log=True,
        ),
    ]


# --- Dirichlet mechanism --------------------------------------------------------------


def sharing_epsilon(k: Any, shift: Any, eta: Any, gamma: Any, m: int, rest: Any) -> Any:
    """Return Theorem 1's epsilon for two coordinates that share `rest`."""
    ratio = log_beta(k * eta, k * (rest - eta)) - log_beta(
        k * (eta + shift), k * (rest - eta - shift)
    )
    return max(ratio + k * shift * mp.log((1 - (m - 1) * gamma) / gamma), mp.mpf(0))


def log_sum_of_tails(k: Any, eta: Any, gamma: Any, n: int) -> Any:
    """Return the logarithm of the union bound on delta at the worst vertex, at most
    0."""
    tail = beta_tail(k * eta, k - k * eta, gamma)
    large = 1 - (n - 1) * eta
    return min(
        mp.log((n - 1) * tail + beta_tail(k * large, k - k * large, gamma)), mp.mpf(0)
    )


def dirichlet_checks() -> list[Check]:
    """Return the checks of Theorem 1."""

    def upper(k: float, eta: float, gamma: float, n: int) -> float:
        bounds = dirichlet.theorem1_delta_bounds(k, eta=eta, gamma=gamma, n=n)
        return float(bounds[1])

    def of_matrix(k: float, b: float, eta: float, gamma: float, m: int) -> float:
        return dirichlet.theorem1_matrix_epsilon(
            k, b=b, eta=eta, eta_bar=0.051, gamma=gamma, protected=m
        )

    return [
        Check(
            "dirichlet.theorem1_delta_bounds, upper",
            upper,
            lambda *at: mp.exp(log_sum_of_tails(*at)),
            grid([5.0, 110.6, 1e3], [0.02, 0.073], [1e-3, 0.01, 0.05], [3, 5]),
            1e-9,
        ),
        Check(
            "dirichlet.theorem1_matrix_epsilon",
            of_matrix,
            lambda k, b, eta, gamma, m: sharing_epsilon(
                k, b / 2, eta, gamma, m, 1 - mp.mpf(0.051)
            ),
            grid(
                [1e-3, 1.0, 98.7, 1e6],
                [0.001, 0.025, 0.1],
                [0.01, 0.1],
                [1e-12, 1e-3],
                [2, 5],
            ),
            1e-10,
        ),
    ]


# --- accounting -----------------------------------------------------------------------


def accounting_checks() -> list[Check]:
    """Return the checks of dpsim.accounting."""
    shapes = grid(powers(-6, 4), powers(-6, 4))
    profiles = [
        (ratio * t, a, t)
        for ratio, (a, t) in grid([0.0, 0.01, 1.0, 20.0, 700.0], shapes)
    ]
    gammas = [
        (r * t, a, t) for r, a, t in grid([0.0, 0.3, 3.0], powers(-2, 2), powers(-5, 2))
    ]
    deltas = grid([0.3, 1e-2, 1e-6, 1e-30, 1e-250], powers(-3, 3), powers(-3, 3))

    replaced = partial(hockey_stick.log_delta, pair=hockey_stick.REPLACE)
    added = partial(hockey_stick.log_delta, pair=hockey_stick.ADD_REMOVE)

    def round_trip(delta: float, a: float, t: float) -> Any:
        k = 2.0 ** math.ceil(math.log2(2 * a + t) + 0.01)  # so that k eta is exactly a
        epsilon = accounting.exact_epsilon(delta, k, shift=t / k, eta=a / k)
        return replaced(epsilon, a, t) if epsilon > 0 else math.log(delta)

    def at_calibrated(delta: float, epsilon: float, eta: float, shift: float) -> float:
        k = float(accounting.calibrate_k(epsilon, delta, shift=shift, eta=eta))
        return in_digits(log_replace, epsilon, k * eta, k * shift)

    def at_kappa(delta: float, epsilon: float, alpha: float) -> float:
        kappa = float(
            accounting.calibrate_kappa(
                epsilon, delta, alpha=alpha, adjacency="add-remove"
            )
        )
        return in_digits(log_add_remove, epsilon, kappa * alpha, kappa)

    def at_posterior(delta: float, kappa: float, alpha: float) -> float:
        epsilon = hockey_stick.epsilon_for(
            math.log(delta), kappa * alpha, kappa, hockey_stick.ADD_REMOVE
        )
        return in_digits(log_add_remove, epsilon, kappa * alpha, kappa)

    def floor(delta: float, alpha: float) -> float:
        return float(
            accounting.posterior_floor(delta, alpha=alpha, adjacency="add-remove")
        )

    small = [1e-2, 1e-6, 1e-30, 1e-250]
    return [
        back(
            "accounting.calibrate_k",
            at_calibrated,
            [
                (d, x * float(accounting.privacy_floor(d, shift=s, eta=e)) + 0.01, e, s)
                for d, x, (e, s) in grid(
                    small, [1.01, 3.0], [(0.1, 0.01), (0.01, 0.005), (0.2, 0.1)]
                )
            ],
        ),
        back(
            "accounting.calibrate_kappa",
            at_kappa,
            [
                (d, x * floor(d, a) + 0.01, a)
                for d, x, a in grid([1e-2, 1e-6, 1e-30], [1.01, 3.0], [0.5, 10.0])
            ],
        ),
        back(
            "hockey_stick.epsilon_for, add-remove",
            at_posterior,
            grid([1e-2, 1e-6, 1e-30], powers(-2, 2), [0.5, 10.0]),
        ),
        Check(
            "hockey_stick.log_delta, replace",
            replaced,
            log_replace,
            profiles,
            1e-10,
            log=True,
        ),
        Check(
            "hockey_stick.log_delta, add-remove",
            added,
            log_add_remove,
            gammas,
            1e-10,
            log=True,
        ),
        back("accounting.exact_epsilon", round_trip, deltas, side=0),
    ]


# --- chains, radii --------------------------------------------------------------------


def random_chain(n: int, spread: float) -> np.ndarray:
    """Return a transition matrix whose entries differ by many orders of magnitude."""
    raw = 10.0 ** (-spread * np.random.default_rng([n, int(spread)]).random((n, n)))
    return raw / raw.sum(axis=1, keepdims=True)


def stationary(chain: np.ndarray) -> Any:
    """Return the stationary distribution of a chain, whose off-diagonal entries define
    it, by elimination."""
    A = mp.matrix(chain.tolist())
    for row in range(A.rows):
        A[row, row] = 1 - mp.fsum(A[row, j] for j in range(A.cols) if j != row)
    system = mp.eye(A.rows) - A.T
    for j in range(A.cols):
        system[A.rows - 1, j] = 1
    return mp.lu_solve(system, mp.matrix([0] * (A.rows - 1) + [1]))


def worst_scaled_tail(k: float, beta: float, complement: Any) -> Any:
    """Return sup over x of g_r(x) / (beta x) at r = 1 - complement: found in floats,
    evaluated in many digits.

    x below 1 - r has an upper tail, x above r a lower one, so the search runs over
    shares of either.
    """
    radius = 1 - complement
    c = float(complement)

    def exactly(share: float, high: bool) -> Any:
        part = complement * mp.mpf(share)
        rest = complement * (1 - mp.mpf(share))
        x, other = (radius + part, rest) if high else (part, radius + rest)
        # 1 - r - x and x - r
        above, below = (0, part) if high else (rest, part - radius)
        upper = beta_tail(k * other, k * x, above) if above > 0 else 0
        lower = beta_tail(k * x, k * other, below) if below > 0 else 0
        return (upper + lower) / x / beta

    def roughly(share: float, high: bool) -> float:
        x = float(radius) + c * share if high else c * share
        above = 0.0 if high else c * (1.0 - share)
        below = c * share if high else x - float(radius)
        # at 0 and below, the tail is 0
        upper = betainc(k * (1 - x), k * x, max(above, 0.0))
        return float(upper + betainc(k * x, k * (1 - x), max(below, 0.0))) / x

    best = mp.mpf(0)
    for high in (False, True):
        shares = np.concatenate(
            [np.geomspace(1e-9, 0.01, 60), np.linspace(0.011, 1 - 1e-9, 400)]
        )
        top = int(np.argmax([roughly(share, high) for share in shares]))
        ends = shares[max(top - 1, 0)], shares[min(top + 1, shares.size - 1)]
        inner = minimize_scalar(
            lambda share, high=high: -roughly(share, high),
            bounds=ends,
            method="bounded",
            options={"xatol": 1e-9},
        )
        best = max(
            best, exactly(float(inner.x), high), exactly(float(shares[top]), high)
        )
    return best


def exact_radius(k: Any, beta: Any) -> Any:
    """Return the smallest radius in many digits, by bisection for log(1 - r) around the
    package's."""
    k = float(k)
    beta = float(beta)
    near = 1 - float(mdp.concentration_radius(k, beta, 2, "exact"))
    with mp.workdps(30):
        # the tail is above beta where 1 - r is large
        low = mp.log(max(mp.mpf(near), mp.mpf(10) ** -60))
        high = mp.log(1 - (1 - mp.mpf(near)) / mp.mpf(1.01))

        def excess(y: Any) -> Any:
            return mp.log(worst_scaled_tail(k, beta, mp.exp(y)))

        root = mp.findroot(
            excess, (low, high), solver="anderson", tol=1e-9, maxsteps=60, verify=False
        )
        return 1 - mp.exp(root)


def chain_checks() -> list[Check]:
    """Return the checks of the stationary distribution and of the exact radius."""
    chains = grid([2, 5, 9], [0.0, 4.0, 12.0], [0, 1])
    return [
        Check(
            "markov.stationary_distribution",
            lambda n, spread, i: markov.stationary_distribution(
                random_chain(n, spread)
            )[i],
            lambda n, spread, i: stationary(random_chain(n, float(spread)))[i],
            chains,
            1e-13,
        ),
        Check(
            "mdp.concentration_radius, exact",
            lambda k, beta: mdp.concentration_radius(k, beta, 2, "exact"),
            exact_radius,
            grid([0.5, 2.0, 10.0, 50.0, 700.0, 1e4], [0.5, 0.1, 1e-3, 1e-8]),
            1.01e-4,  # it is rounded outward by as much
            side=1,
        ),
    ]


# --- words, histograms ----------------------------------------------------------------


COUNTS = (
    (1, 1),
    (1, 0, 1),
    (1, 2, 1),
    (1, 0, 0, 7, 3),
    tuple(words.alphabet_counts(8, 3).tolist()),
    tuple(words.alphabet_counts(30, 5).tolist()),
    (1, 10**40, 10**300, 10**1000),
)
SPACE = boltzmann.configurations(7, 3)


def cost(z: Integers, x: Integers) -> Any:
    """Return c_x(z) for W = I."""
    return -mp.mpf(int(((z - x) ** 2).sum()))


def largest_delta(t: Any, epsilon: float) -> Any:
    """Return the largest delta at epsilon over the neighbours among histograms of 7 in
    3 bins."""
    laws = []
    for x in SPACE:
        terms = [mp.exp(cost(z, x) / t) for z in SPACE]
        laws.append([term / mp.fsum(terms) for term in terms])
    pairs = np.argwhere(np.abs(SPACE[:, None] - SPACE).sum(axis=-1) == 2).tolist()
    factor = mp.exp(mp.mpf(epsilon))
    return max(
        mp.fsum(max(p - factor * q, mp.mpf(0)) for p, q in zip(laws[x], laws[y]))
        for x, y in pairs
    )


def least_epsilon(delta: Any, t: Any) -> Any:
    """Return where the same falls to delta, for the identity, near where the package
    says it does."""
    near = float(boltzmann.epsilon_at_delta(7, 3, float(t), float(delta)))

    def excess(epsilon: Any) -> Any:
        return largest_delta(t, epsilon) - delta

    ends = (near * (1 - 1e-7), near * (1 + 1e-7))
    return mp.findroot(
        excess, ends, solver="anderson", tol=delta * mp.mpf(10) ** -14, verify=False
    )


def discrete_checks() -> list[Check]:
    """Return the checks of permute-and-flip's law and of the histograms' exact
    privacy."""
    laws = [
        (counts, epsilon, b, distance)
        for counts, epsilon, b in grid(COUNTS, [0.0, 1e-6, 0.5, 5.0, 60.0], [1, 3])
        for distance in {0, 1, len(counts) - 1}
        if counts[distance]
    ]

    def flip(counts: Sequence[int], epsilon: float, b: int, distance: int) -> Any:
        logs = words.automaton.log_integers(np.array(counts, dtype=object))
        return words.permute_and_flip.Mechanism("permute-and-flip", epsilon, b).log_f(
            logs
        )[distance]

    return [
        Check(
            "words.permute_and_flip.Mechanism.log_f, permute-and-flip",
            flip,
            permute_and_flip,
            laws[::3],
            1e-10,
            log=True,
        ),
        Check(
            "boltzmann.epsilon_at_delta",
            lambda delta, t: boltzmann.epsilon_at_delta(7, 3, t, delta),
            least_epsilon,
            grid([1e-9, 1e-3], powers(-1, 2)),
            1.1e-9,  # it is rounded up by as much
            side=1,
        ),
    ]


# --- noise ----------------------------------------------------------------------------


def at_scale(delta: float, epsilon: float, b: float, rows: int) -> float:
    """Return delta of Gaussian noise in many digits at the scale the package finds."""
    scale = accounting.gaussian_scale(epsilon, delta, b=b, rows=rows)
    return in_digits(gaussian_profile, epsilon, scale, b, rows)


def laplace_profile(epsilon: Any, scale: Any, b: Any, rows: int) -> Any:
    """Return delta of Laplace noise on 2 rows entries, each moved by b/2, from the law
    of the sum of their losses.

    With D = b / (2 scale) a loss is D with probability 1/2, -D with e^-D / 2, and in
    between D (2 u - 1) with density e^(-D (1-u)) D / 2 in u: the sum of j of those has
    the density of Irwin and Hall times e^(-D (j-v)) (D/2)^j.
    """
    with mp.workdps(25):
        return sum_of_laplace(epsilon, b / (2 * scale), 2 * rows)


def largest_private_scale(delta: Any, epsilon: Any, b: Any) -> Any:
    """Return the scale of Laplace noise on one row at which 1 - (1 + v/2) e^-v, v =
    (b/scale - epsilon)/2, is delta."""
    v = 2 * delta  # the root for small v; Newton's steps after it
    for _ in range(8):
        v -= (-mp.expm1(-v) - v / 2 * mp.exp(-v) - delta) / ((1 + v) / 2 * mp.exp(-v))
    return b / (epsilon + 2 * v)


def tail_at_bound(upper: int, hits: int, draws: int, alpha: float) -> float:
    """Return P(at least `hits` successes), or at most, in many digits at a
    Clopper-Pearson bound: alpha."""
    bound = mp.mpf(float(accounting.audit.clopper_pearson(hits, draws, alpha)[upper]))
    with mp.workdps(DIGITS):
        tail = beta_tail(mp.mpf(hits + upper), mp.mpf(draws - hits + 1 - upper), bound)
        return float(1 - tail if upper else tail)


def noise_checks() -> list[Check]:
    """Return the checks of the noise to compare with and of the audit's bounds."""
    rows = [
        (share * r * b / s, s, b, r)
        for share, s, b, r in grid([0.0, 0.1, 0.5], [0.02, 0.4], [0.1], [2, 3])
    ]
    counts = grid([0, 1, 30, 4000], [30, 10**4, 10**6], [0.3, 1e-3, 1e-9])
    single = grid([0.3, 1e-6, 1e-30, 1e-300], [1e-3, 1.0, 30.0], [0.05, 1.0])
    scales = grid([0.3, 1e-6, 1e-30, 1e-290], [1.0, 100.0], [0.05], [1, 10_000])
    bound = "accounting.clopper_pearson, tail at the"
    return [
        # an upper bound, losses rounded up to a grid
        Check(
            "accounting.noise_scales, Laplace, more rows",
            accounting.noise_scales.laplace_delta,
            laplace_profile,
            rows,
            1e-3,
            side=1,
        ),
        Check(
            "accounting.gaussian_scale, back to delta",
            at_scale,
            lambda *of: of[0],
            scales,
            1e-5,
            side=-1,
        ),
        # it is rounded up by 1e-10
        Check(
            "accounting.laplace_scale, one row",
            lambda delta, epsilon, b: accounting.laplace_scale(epsilon, delta, b=b),
            largest_private_scale,
            single,
            2e-10,
            side=1,
        ),
        Check(
            f"{bound} lower bound",
            partial(tail_at_bound, 0),
            lambda *of: of[-1],
            [at for at in counts if 0 < at[0] <= at[1]],
            1e-9,
        ),
        Check(
            f"{bound} upper bound",
            partial(tail_at_bound, 1),
            lambda *of: of[-1],
            [at for at in counts if at[0] < at[1]],
            1e-9,
        ),
    ]


def checks() -> list[Check]:
    """Return every check."""
    return [
        *special_checks(),
        *dirichlet_checks(),
        *accounting_checks(),
        *chain_checks(),
        *discrete_checks(),
        *noise_checks(),
    ]
