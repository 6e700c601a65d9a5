"""The cases of the audit: every mechanism of the package at worst-case neighbours, with
its claim and how to draw.

Where a mechanism and the law behind another are one, it stands here once: the rows of
Benvenuti et al. 2026's Algorithm 2 are draws of Dir(k p), and projections are
post-processing of what is audited. Releases of one's own data are audited from the
table of events to what is published in release/tools/release_audit.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

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
    breakable: bool = False
    """The parameter is far enough above the privacy floor for 20 % to show."""
    pair_bounds: tuple[Array, Array] | None = None
    """Bounds of the pair's delta where it is not known exactly."""
    inputs: str = ""
    """Which neighbours, where a setting has several."""


def levels(claim: Callable[[Array], Array], most: float = math.inf) -> Array:
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


# --- Dirichlet mechanisms -------------------------------------------------------------


def published_profile(
    epsilon: Array,
    k: float,
    *,
    shift: float,
    eta: float,
    n: int,
    eta_bar: float | None = None,
    m: int | None = None,
) -> Array:
    """Return the least delta that Theorem 1 implies at each epsilon, over a grid of
    gammas."""
    count = n if m is None else m
    gamma = np.geomspace(1e-8, 0.999 / n, 200)
    spent = dirichlet.theorem1_vector_epsilon(
        k, shift=shift, eta=eta, gamma=gamma, n=count, eta_bar=eta_bar
    )
    delta = dirichlet.theorem1_delta_bounds(k, eta=eta, gamma=gamma, n=n, protected=m)[
        1
    ]
    return measures.implied_delta(epsilon[:, None], spent, delta).min(axis=1)


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


def simplex_cases() -> Iterator[Case]:
    """Yield the simplex release at the grades' border, and below the log-space
    threshold."""
    yield simplex_case(20.6, 0.073, 1 / 98, breakable=False)
    yield simplex_case(110.6, 0.073, 1 / 98, breakable=True)
    yield simplex_case(0.9, 0.1, 0.05, breakable=False)


def simplex_case(k: float, eta: float, shift: float, *, breakable: bool) -> Case:
    """Return the release of one vector of five shares."""
    pair = swapped(eta + shift, eta, ((1 - 2 * eta - shift) / 3,) * 3)

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        x = dirichlet.dirichlet_mechanism(pair[side], factor * k, size=size, rng=rng)
        return factor * k * shift * log_ratio(x)

    def claim(epsilon: Array) -> Array:
        return accounting.exact_delta(epsilon, k, shift=shift, eta=eta)

    epsilon = levels(claim)
    published = published_profile(epsilon, k, shift=shift, eta=eta, n=5)
    exact = claim(epsilon)
    return Case(
        "Dirichlet",
        f"n 5, k {k:g}, eta {eta:g}",
        epsilon,
        exact,
        exact,
        losses,
        published=published,
        breakable=breakable,
    )


def matrix_cases() -> Iterator[Case]:
    """Yield the matrix release of Fallin et al. 2023 when one row changes, and when all
    32 do (Definition 4)."""
    for k, changed in product((9.87, 98.7), (1, 32)):
        yield matrix_case(k, changed)


def matrix_case(k: float, changed: int) -> Case:
    """Return the release of a matrix of which some rows change."""
    eta, eta_bar, shift = 0.10, 0.051, 0.0125
    row = swapped(eta + shift, eta, ((1 - 2 * eta - shift) / 2,) * 2)
    first = np.stack([row[0]] * max(changed, 3))
    second = first.copy()
    second[:changed] = row[1]
    pair = (first, second)
    composed = accounting.compose(
        k, shift=shift, eta=eta, count=changed, interval=k * shift / 100
    )

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        x = dirichlet.dirichlet_mechanism(pair[side], factor * k, size=size, rng=rng)
        return factor * k * shift * log_ratio(x[:, :changed]).sum(axis=-1)

    def claim(epsilon: Array) -> Array:
        one = changed == 1
        return (
            accounting.exact_delta(epsilon, k, shift=shift, eta=eta)
            if one
            else composed.delta(epsilon)
        )

    epsilon = levels(claim)
    published = published_profile(
        epsilon, k, shift=shift, eta=eta, n=4, eta_bar=eta_bar, m=3
    )
    setting = f"k {k:g}, {'one row changes' if changed == 1 else 'all 32 rows change'}"
    bounds = composed.delta_bounds(epsilon) if changed > 1 else None
    exact = claim(epsilon)
    return Case(
        "matrix Dirichlet",
        setting,
        epsilon,
        exact,
        exact,
        losses,
        published=published,
        breakable=k > 50,
        pair_bounds=bounds,
    )


def posterior_cases() -> Iterator[Case]:
    """Yield the data-free release for both adjacencies."""
    yield replace_case(1.0, 1.0, breakable=False)
    yield replace_case(10.0, 5.0, breakable=True)
    yield replace_case(5.0, 0.3, breakable=False)
    for direction, events in (("add", 1), ("remove", 1), ("remove", 3)):
        yield add_remove_case(10.0, 5.0, direction, events)
    yield unit_case()


def posterior_release(
    counts: Array, kappa: float, alpha: float, size: int, rng: np.random.Generator
) -> Array:
    """Return draws from Dir(kappa (counts + alpha))."""
    weights = counts + alpha
    total = weights.sum(axis=-1)
    mean = weights / total[..., None]
    return dirichlet.dirichlet_mechanism(mean, kappa * total, size=size, rng=rng)


def replace_case(alpha: float, kappa: float, *, breakable: bool) -> Case:
    """Return the release of a row of five events, one of which ends elsewhere."""
    pair = (np.array([1, 0, 4]), np.array([0, 1, 4]))

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        x = posterior_release(
            pair[side], kappa=factor * kappa, alpha=alpha, size=size, rng=rng
        )
        return factor * kappa * log_ratio(x)

    def claim(epsilon: Array) -> Array:
        return accounting.exact.posterior_delta(epsilon, kappa=kappa, alpha=alpha)

    epsilon = levels(claim)
    exact = claim(epsilon)
    setting = f"replace one, alpha {alpha:g}, kappa {kappa:g}"
    return Case(
        "posterior release",
        setting,
        epsilon,
        exact,
        exact,
        losses,
        breakable=breakable,
    )


def add_remove_case(alpha: float, kappa: float, direction: str, events: int) -> Case:
    """Return the release of a row of many events that gains or loses some in its first
    category, all of one unit."""
    others = 10_000
    pair = (np.array([events, others]), np.array([0, others]))
    pair = pair if direction == "remove" else pair[::-1]

    def shapes(factor: float) -> tuple[float, float, float]:
        first, second = (factor * kappa * (float(row[0]) + alpha) for row in pair)
        return first, second, factor * kappa * (others + alpha)

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        x = posterior_release(
            pair[side], kappa=factor * kappa, alpha=alpha, size=size, rng=rng
        )
        return beta_loss(np.log(x[:, 0]), *shapes(factor))

    def claim(epsilon: Array) -> Array:
        return accounting.exact.posterior_delta(
            epsilon, kappa=kappa * events, alpha=alpha / events, adjacency="add-remove"
        )

    epsilon = levels(claim)
    setting = f"{direction} {events} of one unit, alpha {alpha:g}, kappa {kappa:g}"
    exact = beta_profile(epsilon, *shapes(1.0))
    return Case(
        "posterior release",
        setting,
        epsilon,
        claim(epsilon),
        exact,
        losses,
        breakable=True,
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
    pair = np.array([[[events, 0, 4]] * rows, [[0, events, 4]] * rows])

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        x = posterior_release(
            pair[side], kappa=factor * kappa, alpha=alpha, size=size, rng=rng
        )
        return factor * kappa * events * log_ratio(x).sum(axis=-1)

    composed = accounting.compose(
        100.0, eta=kappa * alpha / 100.0, shift=kappa * events / 100.0, count=rows
    )
    epsilon = levels(composed.delta)
    claim = composed.delta(epsilon)
    bounds = composed.delta_bounds(epsilon)
    setting = (
        f"replace {events} in each of {rows} rows, alpha {alpha:g}, kappa {kappa:g}"
    )
    return Case(
        "posterior release",
        setting,
        epsilon,
        claim,
        claim,
        losses,
        breakable=True,
        pair_bounds=bounds,
    )


def decision_cases() -> Iterator[Case]:
    """Yield the release of the transition vectors of a decision process, of which one
    changes."""
    k, eta, shift = 60.0, 0.1, 0.05
    vectors = swapped(eta + shift, eta, (1 - 2 * eta - shift,))
    models = []
    for vector in vectors:
        transitions = np.full((3, 2, 3), 1 / 3)
        transitions[0, 1] = vector
        models.append(model.MDP(transitions, np.zeros((3, 2)), horizon=1))

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        released = mdp.perturb(models[side], factor * k, rng, size=size)
        return factor * k * shift * log_ratio(released.transitions[:, 0, 1])

    def claim(epsilon: Array) -> Array:
        return accounting.exact_delta(epsilon, k, shift=shift, eta=eta)

    epsilon = levels(claim)
    setting = f"S 3, A 2, k {k:g}, eta {eta:g}, one vector changes"
    yield Case(
        "decision process",
        setting,
        epsilon,
        claim(epsilon),
        claim(epsilon),
        losses,
        breakable=True,
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

    def claim(epsilon: Array) -> Array:
        if noise == "laplace":
            return np.array(
                [
                    accounting.noise_scales.laplace_delta(level, scale, b, rows)
                    for level in epsilon
                ]
            )
        normal = privacy_loss_mechanism.GaussianPrivacyLoss(
            scale, sensitivity=b * math.sqrt(rows / 2)
        )
        return np.array(
            [normal.get_delta_for_epsilon(float(level)) for level in epsilon]
        )

    epsilon = levels(claim)
    exact = claim(epsilon)
    bounds = None
    if (
        noise == "laplace" and rows > 1
    ):  # there the claim is a bound: the same losses, rounded down, are another
        one = privacy_loss_distribution.from_laplace_mechanism(
            scale,
            sensitivity=b / 2,
            value_discretization_interval=1e-4,
            pessimistic_estimate=False,
            use_connect_dots=False,
        )
        bounds = (
            np.array(one.self_compose(2 * rows).get_delta_for_epsilon(epsilon)),
            exact,
        )
    setting = (
        f"scale {scale:g}, b {b:g}, "
        f"{'one row changes' if rows == 1 else f'{rows} rows change'}"
    )
    name = f"{noise.title()} noise on a matrix"
    return Case(
        name,
        setting,
        epsilon,
        exact,
        exact,
        losses,
        breakable=True,
        pair_bounds=bounds,
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

    def claim(epsilon: Array) -> Array:
        return measures.implied_delta(epsilon, spent)

    epsilon = levels(claim)
    grid = np.arange(-reach, reach + 1)
    noise = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    noise = np.column_stack([noise, -noise.sum(axis=1)])
    norm = np.abs(noise).sum(axis=1)
    shifted = np.abs(noise + NEAR[0] - NEAR[1]).sum(axis=1)
    mass = np.exp(-spent / 2 * norm)
    loss = spent / 2 * (shifted - norm)
    exact = -np.expm1(np.minimum(epsilon[:, None] - loss, 0.0)) @ mass / mass.sum()
    setting = f"n 3, epsilon {spent:g}"
    name = "zero-sum discrete Laplace noise"
    return Case(
        name,
        setting,
        epsilon,
        claim(epsilon),
        exact,
        losses,
        breakable=True,
    )


# --- discrete mechanisms --------------------------------------------------------------


@dataclass(frozen=True)
class Finite:
    """A mechanism on a finite space: laws(factor) (inputs, outputs), neighbours, draws
    as numbers of outputs."""

    mechanism: str
    setting: str
    laws: Callable[[float], Array]
    neighbours: list[tuple[int, int]]
    draw: Callable[[int, float, int, np.random.Generator], Integers]
    claim: Callable[[Array], Array]
    published: Callable[[Array], Array]
    most: float = math.inf
    """Largest epsilon, for claims that do not fall below SMALLEST_CLAIM."""


def profile(
    laws: Array, neighbours: list[tuple[int, int]], epsilon: Array
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
    epsilon = levels(mechanism.claim, mechanism.most)
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
            breakable=True,
            inputs=f"{pair[0]} and {pair[1]}",
        )


def finite_losses(mechanism: Finite, pair: tuple[int, int]) -> Losses:
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

    def law(x: Integers, t: float) -> Array:
        return np.exp(boltzmann.log_stationary(x, t))

    def sample(x: Integers, t: float, size: int, rng: np.random.Generator) -> Integers:
        return boltzmann.sample_exact(x, t, size=size, rng=rng)

    def claim(epsilon: Array) -> Array:
        deltas = [
            [boltzmann.epsilon.hockey_stick_sums(loss, mass, e).max() for e in epsilon]
            for loss, mass in boltzmann.epsilon.losses(total, bins, t)
        ]
        return np.max(deltas, axis=0)

    setting = f"N {total}, n {bins}, t {t:g}"
    return boltzmann_mechanism(
        "Boltzmann, exact draws", setting, total, bins, t, law, sample, claim
    )


def boltzmann_chain() -> Finite:
    """Return the Metropolis chain after a few steps."""
    total, bins, t, steps = 4, 3, 5.0, 12

    def law(x: Integers, t: float) -> Array:
        return boltzmann.k_step_distribution(x, t, steps)

    def sample(x: Integers, t: float, size: int, rng: np.random.Generator) -> Integers:
        return boltzmann.metropolis(x, t, steps, chains=size, rng=rng)

    def claim(epsilon: Array) -> Array:
        return np.array(
            [boltzmann.mixing_delta(total, bins, t, steps, epsilon=e) for e in epsilon]
        )

    setting = f"N {total}, n {bins}, t {t:g}, {steps} steps"
    return boltzmann_mechanism(
        "Boltzmann, chain", setting, total, bins, t, law, sample, claim
    )


def boltzmann_mechanism(
    mechanism: str,
    setting: str,
    total: int,
    bins: int,
    t: float,
    law: Callable[[Integers, float], Array],
    sample: Callable[[Integers, float, int, np.random.Generator], Integers],
    claim: Callable[[Array], Array],
) -> Finite:
    """Return a mechanism on all histograms, whose broken version is colder: t / factor.

    Histograms are neighbours if one person moved from one bin to another.
    """
    states = boltzmann.configurations(total, bins)
    apart = np.abs(states[:, None] - states).sum(axis=-1)
    neighbours = [(int(x), int(y)) for x, y in np.argwhere(apart == 2)]

    def laws(factor: float) -> Array:
        return np.array([law(x, t / factor) for x in states])

    def draw(x: int, factor: float, size: int, rng: np.random.Generator) -> Integers:
        return boltzmann.configuration_index(
            sample(states[x], t / factor, size, rng), total
        )

    def published(epsilon: Array) -> Array:
        return measures.implied_delta(
            epsilon, 2 * boltzmann.sensitivity(total, bins) / t
        )

    return Finite(mechanism, setting, laws, neighbours, draw, claim, published)


RING = np.array(
    [[0, 1, 1, 0], [1, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 0]]
)  # a chain whose words differ in their counts


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
    neighbours = [(int(w), int(v)) for w, v in np.argwhere(apart)]

    def claim(level: Array) -> Array:
        return profile(laws(1.0), neighbours, level)[0]

    def published(level: Array) -> Array:
        return measures.implied_delta(level, epsilon)

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
        *decision_cases(),
        *(case for mechanism in finite for case in finite_cases(mechanism)),
        *releases,
        *matrix_noise_cases(),
        zero_sum_laplace_case(),
    ]
