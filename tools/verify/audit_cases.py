"""The cases of the audit: every mechanism of the package at worst-case neighbours, with
its claim and how to draw.

Where a mechanism and the law behind another are one, it stands here once: the rows of
Benvenuti et al. 2026's Algorithm 2 are draws of Dir(k p), and projections are
post-processing of what is audited. Releases of one's own data are audited from the
table of events to what is published in release/tools/release_audit.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from dp_accounting.pld import privacy_loss_distribution, privacy_loss_mechanism
from scipy.special import betaln
from scipy.stats import beta as beta_law

from dpsim import accounting, boltzmann, dirichlet, mdp, words
from dpsim.checks import Array, Integers
from dpsim.mdp import model
from dpsim.words.permute_and_flip import Mechanism
from tools.verify import measures

SMALLEST_CLAIM = 0.01
LEVELS = 8  # epsilons of a case
OFF = 1.2  # factor of a broken mechanism's parameter

Losses = Callable[[int, float, int, np.random.Generator], Array]
Profile = Callable[[Array], Array]
"""Delta at each epsilon."""


@dataclass(frozen=True)
class Case:
    """One mechanism at one pair of neighbours, P (side 0) and Q (side 1)."""

    mechanism: str
    setting: str
    epsilon: Array
    claim: Array
    """What the package says, for all neighbours."""
    pair: Array
    """The exact delta of this pair."""
    losses: Losses
    """(side, factor, size, rng): log P/Q of draws from the side, of the mechanism with
    its parameter times factor."""
    published: Array | float = math.nan
    """What the paper's theorem allows; NaN where there is none."""
    breakable: bool = True
    """The parameter is far enough above the privacy floor for 20 % to show."""
    pair_bounds: tuple[Array, Array] | None = None
    """Bounds of the pair's delta where it is not known exactly."""
    inputs: str = ""
    """Which neighbours, where a setting has several."""


def levels(claim: Profile, most: float = math.inf) -> Array:
    """Return LEVELS epsilons from 0 to where the claimed delta falls to SMALLEST_CLAIM,
    or to `most`."""
    low = 0.0
    high = min(1.0, most)
    while float(claim(np.array([high]))[0]) > SMALLEST_CLAIM:
        if high == most:
            return np.linspace(0.0, most, LEVELS)
        low = high
        high = min(2.0 * high, most)
    for _ in range(16):
        middle = (low + high) / 2
        if float(claim(np.array([middle]))[0]) >= SMALLEST_CLAIM:
            low = middle
        else:
            high = middle
    return np.linspace(0.0, low, LEVELS)


def claimed(
    mechanism: str,
    setting: str,
    claim: Profile,
    losses: Losses,
    pair: Profile | None = None,
    *,
    most: float = math.inf,
    published: Profile = lambda epsilon: np.full(epsilon.shape, math.nan),
    breakable: bool = True,
    pair_bounds: Callable[[Array], tuple[Array, Array]] | None = None,
) -> Case:
    """Return the case of a claim, at its levels; without `pair` the claim is the exact
    delta of the pair."""
    epsilon = levels(claim, most)
    return Case(
        mechanism,
        setting,
        epsilon,
        claim(epsilon),
        (pair or claim)(epsilon),
        losses,
        published=published(epsilon),
        breakable=breakable,
        pair_bounds=pair_bounds and pair_bounds(epsilon),
    )


# --- Dirichlet mechanisms -------------------------------------------------------------


def published_profile(
    k: float,
    *,
    shift: float,
    eta: float,
    n: int,
    eta_bar: float | None = None,
    m: int | None = None,
) -> Profile:
    """Return the least delta that Theorem 1 implies at each epsilon, over a grid of
    gammas."""
    gamma = np.geomspace(1e-8, 0.999 / n, 200)
    spent = dirichlet.theorem1_vector_epsilon(
        k, shift=shift, eta=eta, gamma=gamma, n=m or n, eta_bar=eta_bar
    )
    delta = dirichlet.theorem1_delta_bounds(k, eta=eta, gamma=gamma, n=n, protected=m)
    return lambda epsilon: measures.implied_delta(
        epsilon[:, None], spent, delta[1]
    ).min(axis=1)


def swapped(high: float, low: float, rest: tuple[float, ...]) -> tuple[Array, Array]:
    """Return neighbours that differ in the order of their first two entries."""
    return np.array([high, low, *rest]), np.array([low, high, *rest])


def log_ratio(x: Array) -> Array:
    """Return log x_1 / x_2; 0 where both underflow, for either law alike."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(
            np.log(x[..., 0]) - np.log(x[..., 1]),
            nan=0.0,
            posinf=np.inf,
            neginf=-np.inf,
        )


def ratio_losses(draw: Losses, weight: float) -> Losses:
    """Return the losses of draws (size, ..., n) whose densities have the ratio
    (x_1 / x_2)^weight, in each of the rows."""

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        ratios = log_ratio(draw(side, factor, size, rng))
        return factor * weight * ratios.reshape(size, -1).sum(axis=1)

    return losses


def dirichlet_draws(pair: Sequence[Array], k: float) -> Losses:
    """Return how to draw from Dir(k p)."""
    return lambda side, factor, size, rng: dirichlet.dirichlet_mechanism(
        pair[side], factor * k, size=size, rng=rng
    )


def simplex_cases() -> Iterator[Case]:
    """Yield the simplex release at the grades' border, and below the log-space
    threshold."""
    yield simplex_case(20.6, 0.073, 1 / 98, breakable=False)
    yield simplex_case(110.6, 0.073, 1 / 98)
    yield simplex_case(0.9, 0.1, 0.05, breakable=False)


def simplex_case(k: float, eta: float, shift: float, *, breakable: bool = True) -> Case:
    """Return the release of one vector of five shares."""
    pair = swapped(eta + shift, eta, ((1 - 2 * eta - shift) / 3,) * 3)

    return claimed(
        "Dirichlet",
        f"n 5, k {k:g}, eta {eta:g}",
        partial(accounting.exact_delta, k=k, shift=shift, eta=eta),
        ratio_losses(dirichlet_draws(pair, k), k * shift),
        published=published_profile(k, shift=shift, eta=eta, n=5),
        breakable=breakable,
    )


def matrix_cases() -> Iterator[Case]:
    """Yield the matrix release of Fallin et al. 2023 when one row changes, and when all
    32 do (Definition 4)."""
    for k in (9.87, 98.7):
        yield matrix_case(k, 1)
        yield matrix_case(k, 32)


def matrix_case(k: float, changed: int) -> Case:
    """Return the release of a matrix of which some rows change."""
    eta, eta_bar, shift = 0.10, 0.051, 0.0125
    row = swapped(eta + shift, eta, ((1 - 2 * eta - shift) / 2,) * 2)
    first = np.stack([row[0]] * max(changed, 3))
    second = first.copy()
    second[:changed] = row[1]
    one = partial(accounting.exact_delta, k=k, shift=shift, eta=eta)
    composed = accounting.compose(
        k, shift=shift, eta=eta, count=changed, interval=k * shift / 100
    )

    draw = dirichlet_draws((first, second), k)
    return claimed(
        "matrix Dirichlet",
        f"k {k:g}, {'one row changes' if changed == 1 else 'all 32 rows change'}",
        one if changed == 1 else composed.delta,
        ratio_losses(lambda *of: draw(*of)[:, :changed], k * shift),
        published=published_profile(k, shift=shift, eta=eta, n=4, eta_bar=eta_bar, m=3),
        breakable=k > 50,
        pair_bounds=composed.delta_bounds if changed > 1 else None,
    )


def posterior_cases() -> Iterator[Case]:
    """Yield the data-free release for both adjacencies."""
    yield replace_case(1.0, 1.0, breakable=False)
    yield replace_case(10.0, 5.0)
    yield replace_case(5.0, 0.3, breakable=False)
    for direction, events in (("add", 1), ("remove", 1), ("remove", 3)):
        yield add_remove_case(10.0, 5.0, direction, events)
    yield unit_case()


def posterior_draws(pair: Sequence[Any], kappa: float, alpha: float) -> Losses:
    """Return how to draw from Dir(kappa (counts + alpha))."""

    def draw(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        weights = np.asarray(pair[side]) + alpha
        total = weights.sum(axis=-1)
        return dirichlet.dirichlet_mechanism(
            weights / total[..., None], factor * kappa * total, size=size, rng=rng
        )

    return draw


def replace_case(alpha: float, kappa: float, *, breakable: bool = True) -> Case:
    """Return the release of a row of five events, one of which ends elsewhere."""
    draw = posterior_draws([[1, 0, 4], [0, 1, 4]], kappa, alpha)
    return claimed(
        "posterior release",
        f"replace one, alpha {alpha:g}, kappa {kappa:g}",
        partial(accounting.exact.posterior_delta, kappa=kappa, alpha=alpha),
        ratio_losses(draw, kappa),
        breakable=breakable,
    )


def add_remove_case(alpha: float, kappa: float, direction: str, events: int) -> Case:
    """Return the release of a row of many events that gains or loses some in its first
    category, all of one unit."""
    others = 10_000
    first = (events, 0) if direction == "remove" else (0, events)
    draw = posterior_draws([[count, others] for count in first], kappa, alpha)
    shapes = np.array([count + alpha for count in (*first, others)]) * kappa

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        x = draw(side, factor, size, rng)
        return beta_loss(np.log(x[:, 0]), *factor * shapes)

    return claimed(
        "posterior release",
        f"{direction} {events} of one unit, alpha {alpha:g}, kappa {kappa:g}",
        partial(
            accounting.exact.posterior_delta,
            kappa=kappa * events,
            alpha=alpha / events,
            adjacency="add-remove",
        ),
        losses,
        lambda epsilon: beta_profile(epsilon, *shapes),
    )


def beta_loss(log_x: Array, a: float, c: float, b: float) -> Array:
    """Return the log-likelihood ratio of Beta(a, b) to Beta(c, b) at x."""
    return (a - c) * log_x - betaln(a, b) + betaln(c, b)


def beta_profile(epsilon: Array, a: float, c: float, b: float) -> Array:
    """Return the exact delta at epsilon, of any sign, of Beta(a, b) against Beta(c,
    b)."""
    edge = np.exp(np.minimum((epsilon + betaln(a, b) - betaln(c, b)) / (a - c), 0.0))
    tail = beta_law.sf if a > c else beta_law.cdf
    return tail(edge, a, b) - np.exp(epsilon) * tail(edge, c, b)


def unit_case() -> Case:
    """Return the release of two rows, in each of which two events of one unit end
    elsewhere."""
    alpha, kappa, events, rows = 10.0, 1.0, 2, 2
    pair = [[[events, 0, 4]] * rows, [[0, events, 4]] * rows]
    composed = accounting.compose(
        100.0, eta=kappa * alpha / 100.0, shift=kappa * events / 100.0, count=rows
    )
    return claimed(
        "posterior release",
        f"replace {events} in each of {rows} rows, alpha {alpha:g}, kappa {kappa:g}",
        composed.delta,
        ratio_losses(posterior_draws(pair, kappa, alpha), kappa * events),
        pair_bounds=composed.delta_bounds,
    )


def decision_case() -> Case:
    """Return the release of the transition vectors of a decision process, of which one
    changes."""
    k, eta, shift = 60.0, 0.1, 0.05
    models = []
    for vector in swapped(eta + shift, eta, (1 - 2 * eta - shift,)):
        transitions = np.full((3, 2, 3), 1 / 3)
        transitions[0, 1] = vector
        models.append(model.MDP(transitions, np.zeros((3, 2)), horizon=1))

    def draw(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        released = mdp.perturb(models[side], factor * k, rng, size=size)
        return released.transitions[:, 0, 1]

    return claimed(
        "decision process",
        f"S 3, A 2, k {k:g}, eta {eta:g}, one vector changes",
        partial(accounting.exact_delta, k=k, shift=shift, eta=eta),
        ratio_losses(draw, k * shift),
    )


# --- noise to compare with ------------------------------------------------------------


def matrix_noise_cases() -> Iterator[Case]:
    """Yield Gaussian and Laplace noise on a matrix of which one row changes, or
    three."""
    for (noise, scale), rows in product(
        (("gaussian", 0.05), ("laplace", 0.04)), (1, 3)
    ):
        yield matrix_noise_case(noise, scale, rows)


def matrix_noise_case(noise: str, scale: float, rows: int) -> Case:
    """Return noise of one scale on the entries of a matrix, two of which change in each
    of some rows."""
    b = 0.1
    pair = np.full((2, 3, 3), 1 / 3)
    pair[1, :rows, :2] += 0.5 * b * np.array([1.0, -1.0])

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        noisy = dirichlet.noisy_matrix(
            pair[side], scale / factor, noise, size=size, rng=rng
        )
        near, far = (
            (noisy - centre)[:, :rows, :2] * (factor / scale) for centre in pair
        )
        loss = (
            0.5 * (far**2 - near**2)
            if noise == "gaussian"
            else np.abs(far) - np.abs(near)
        )
        return loss.sum(axis=(1, 2))

    gaussian = privacy_loss_mechanism.GaussianPrivacyLoss(
        scale, sensitivity=b * math.sqrt(rows / 2)
    )

    def claim(epsilon: Array) -> Array:
        deltas = [
            accounting.noise_scales.laplace_delta(level, scale, b, rows)
            if noise == "laplace"
            else gaussian.get_delta_for_epsilon(float(level))
            for level in epsilon
        ]
        return np.array(deltas)

    def bounds(epsilon: Array) -> tuple[Array, Array]:
        """The claim of Laplace noise on more rows is a bound: the same losses, rounded
        down, are another."""
        one = privacy_loss_distribution.from_laplace_mechanism(
            scale,
            sensitivity=b / 2,
            value_discretization_interval=1e-4,
            pessimistic_estimate=False,
            use_connect_dots=False,
        )
        rounded_down = one.self_compose(2 * rows).get_delta_for_epsilon(epsilon)
        return np.array(rounded_down), claim(epsilon)

    changes = "one row changes" if rows == 1 else f"{rows} rows change"
    return claimed(
        f"{noise.title()} noise on a matrix",
        f"scale {scale:g}, b {b:g}, {changes}",
        claim,
        losses,
        pair_bounds=bounds if noise == "laplace" and rows > 1 else None,
    )


NEAR = np.array([[5, 3, 2], [4, 4, 2]])  # one individual of the histogram moves


def zero_sum_laplace_case() -> Case:
    """Return discrete Laplace noise on a histogram that keeps its total."""
    spent, reach = 2.0, 60

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        noisy = boltzmann.add_zero_sum_laplace(
            NEAR[side], factor * spent, size=size, rng=rng
        )
        near, far = (np.abs(noisy - centre).sum(axis=1) for centre in NEAR)
        return factor * spent / 2 * (far - near)

    grid = np.arange(-reach, reach + 1)
    noise = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    noise = np.column_stack([noise, -noise.sum(axis=1)])
    norm = np.abs(noise).sum(axis=1)
    shifted = np.abs(noise + NEAR[0] - NEAR[1]).sum(axis=1)
    mass = np.exp(-spent / 2 * norm)
    loss = spent / 2 * (shifted - norm)

    def exact(epsilon: Array) -> Array:
        gains = -np.expm1(np.minimum(epsilon[:, None] - loss, 0.0))
        return gains @ mass / mass.sum()

    return claimed(
        "zero-sum discrete Laplace noise",
        f"n 3, epsilon {spent:g}",
        partial(measures.implied_delta, spent=spent),
        losses,
        exact,
    )


# --- discrete mechanisms --------------------------------------------------------------


@dataclass(frozen=True)
class Finite:
    """A mechanism on a finite space: laws(factor) (inputs, outputs), neighbours, draws
    as numbers of outputs."""

    mechanism: str
    setting: str
    laws: Callable[[float], Array]
    neighbours: list[list[int]]
    draw: Callable[[int, float, int, np.random.Generator], Integers]
    claim: Profile
    published: Profile


def profile(
    laws: Array, neighbours: list[list[int]], epsilon: Array
) -> tuple[Array, list[int]]:
    """Return the largest delta over the neighbours at each epsilon, and which pair has
    it, few different ones."""
    first, second = np.array(neighbours).T
    deltas = np.array(
        [measures.hockey_stick(laws[first], laws[second], level) for level in epsilon]
    )
    largest = deltas.max(axis=1)
    worst: list[int] = []
    for row, top in zip(deltas, largest):
        known = [index for index in worst if row[index] >= top - 1e-12]
        worst.append(known[0] if known else int(row.argmax()))
    return largest, worst


def finite_cases(mechanism: Finite) -> Iterator[Case]:
    """Yield one case for each pair of neighbours that is the worst at some epsilon."""
    epsilon = levels(mechanism.claim)
    exact, worst = profile(mechanism.laws(1.0), mechanism.neighbours, epsilon)
    for index in dict.fromkeys(worst):
        pair = mechanism.neighbours[index]
        own = np.array(worst) == index
        yield Case(
            mechanism.mechanism,
            mechanism.setting,
            epsilon[own],
            mechanism.claim(epsilon[own]),
            exact[own],
            finite_losses(mechanism, pair),
            published=mechanism.published(epsilon[own]),
            inputs=f"{pair[0]} and {pair[1]}",
        )


def finite_losses(mechanism: Finite, pair: list[int]) -> Losses:
    """Return how to draw log-likelihood ratios of a pair of inputs."""
    with np.errstate(divide="ignore", invalid="ignore"):
        tables = {
            f: np.log(mechanism.laws(f)[pair[0]]) - np.log(mechanism.laws(f)[pair[1]])
            for f in (1.0, OFF)
        }

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        return tables[factor][mechanism.draw(pair[side], factor, size, rng)]

    return losses


def boltzmann_exact_draws() -> Finite:
    """Return the exact sampler of the stationary distribution."""
    total, bins, t = 6, 3, 10.0

    def claim(epsilon: Array) -> Array:
        deltas = [
            [boltzmann.epsilon.hockey_stick_sums(loss, mass, e).max() for e in epsilon]
            for loss, mass in boltzmann.epsilon.losses(total, bins, t)
        ]
        return np.max(deltas, axis=0)

    return boltzmann_mechanism(
        "Boltzmann, exact draws",
        f"N {total}, n {bins}, t {t:g}",
        total,
        bins,
        t,
        lambda x, t: np.exp(boltzmann.log_stationary(x, t)),
        lambda x, t, size, rng: boltzmann.sample_exact(x, t, size=size, rng=rng),
        claim,
    )


def boltzmann_chain() -> Finite:
    """Return the Metropolis chain after a few steps."""
    total, bins, t, steps = 4, 3, 5.0, 12

    def claim(epsilon: Array) -> Array:
        return np.array(
            [boltzmann.mixing_delta(total, bins, t, steps, epsilon=e) for e in epsilon]
        )

    return boltzmann_mechanism(
        "Boltzmann, chain",
        f"N {total}, n {bins}, t {t:g}, {steps} steps",
        total,
        bins,
        t,
        lambda x, t: boltzmann.k_step_distribution(x, t, steps),
        lambda x, t, size, rng: boltzmann.metropolis(x, t, steps, chains=size, rng=rng),
        claim,
    )


def boltzmann_mechanism(
    mechanism: str,
    setting: str,
    total: int,
    bins: int,
    t: float,
    law: Callable[[Integers, float], Array],
    sample: Callable[[Integers, float, int, np.random.Generator], Integers],
    claim: Profile,
) -> Finite:
    """Return a mechanism on all histograms, whose broken version is colder: t / factor.

    Histograms are neighbours if one person moved from one bin to another.
    """
    states = boltzmann.configurations(total, bins)
    apart = np.abs(states[:, None] - states).sum(axis=-1)
    neighbours = np.argwhere(apart == 2).tolist()

    def laws(factor: float) -> Array:
        return np.array([law(x, t / factor) for x in states])

    def draw(x: int, factor: float, size: int, rng: np.random.Generator) -> Integers:
        return boltzmann.configuration_index(
            sample(states[x], t / factor, size, rng), total
        )

    spent = 2 * boltzmann.sensitivity(total, bins) / t
    published = partial(measures.implied_delta, spent=spent)
    return Finite(mechanism, setting, laws, neighbours, draw, claim, published)


# a chain whose words differ in their counts
RING = np.array([[0, 1, 1, 0], [1, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 0]])


def word_mechanisms() -> Iterator[Finite]:
    """Yield the three mechanisms on all words of three letters, and on the trajectories
    of a small chain."""
    spaces: tuple[tuple[str, int, Array | None], ...] = (
        ("all words of 3 letters", 3, None),
        ("a chain of 4 states", 4, RING),
    )
    kinds = (("exponential", 1, 0), ("permute-and-flip", 1, 0), ("staircase", 2, 1))
    for (space, letters, adjacency), (kind, b, offset) in product(spaces, kinds):
        yield word_mechanism(space, letters, adjacency, kind, b, offset)


def word_mechanism(
    space: str,
    letters: int,
    adjacency: Array | None,
    kind: str,
    b: int,
    offset: int,
) -> Finite:
    """Return one mechanism on words, which are numbered in lexicographic order.

    A chain starts in its first state.
    """
    length, epsilon = 4, 3.0
    all_words = np.array(list(product(range(letters), repeat=length)))
    if adjacency is None:
        start = None
        feasible = np.ones(len(all_words), dtype=bool)
    else:
        start = 0
        before = np.pad(all_words[:, :-1], ((0, 0), (1, 0)))
        feasible = (adjacency[before, all_words] > 0).all(axis=1)
    listed = all_words[feasible]
    code = np.full(letters**length, -1)
    code[np.flatnonzero(feasible)] = np.arange(len(listed))
    place = letters ** np.arange(length - 1, -1, -1)
    distance = (listed[:, None] != listed).sum(axis=-1)
    automata = [
        words.HammingAutomaton(w, letters=letters, adjacency=adjacency, start=start)
        for w in listed
    ]
    log_counts = np.array([automaton.log_counts for automaton in automata])

    def laws(factor: float) -> Array:
        log_f = words.permute_and_flip.Mechanism(
            kind, factor * epsilon, b, offset
        ).log_f(log_counts)
        law = np.exp(np.take_along_axis(log_f, distance, axis=1))
        return law / law.sum(axis=1, keepdims=True)

    def draw(w: int, factor: float, size: int, rng: np.random.Generator) -> Integers:
        law = Mechanism(kind, factor * epsilon, b, offset)
        distances = law.draw(log_counts[w], (size,), rng)
        return code[automata[w].sample(distances, rng) @ place]

    apart = (distance > 0) & (distance <= b)
    if adjacency is None:
        apart[1:] = False  # one input stands for all
    neighbours = np.argwhere(apart).tolist()

    def claim(level: Array) -> Array:
        return profile(laws(1.0), neighbours, level)[0]

    published = partial(measures.implied_delta, spent=epsilon)
    setting = f"{space}, n {length}, epsilon {epsilon:g}, b {b}"
    return Finite(f"words, {kind}", setting, laws, neighbours, draw, claim, published)


# --- all ------------------------------------------------------------------------------


def cases(releases: Iterable[Case]) -> list[Case]:
    """Return every case of the audit, those of releases in their place."""
    finite = [boltzmann_exact_draws(), boltzmann_chain(), *word_mechanisms()]
    return [
        *simplex_cases(),
        *matrix_cases(),
        *posterior_cases(),
        decision_case(),
        *(case for mechanism in finite for case in finite_cases(mechanism)),
        *releases,
        *matrix_noise_cases(),
        zero_sum_laplace_case(),
    ]
