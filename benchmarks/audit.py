"""Audits every mechanism by draws at worst-case neighbours: `python -m benchmarks.audit` writes build/audit.

For each mechanism the event of the likelihood-ratio test is fixed in advance at each epsilon of a grid where the
claimed delta is at least 0.01, and counted in draws from both neighbours. All bounds of the table hold at once with
probability 1 - 1e-6. Where `broken_lower` is shown, the same mechanism with its parameter 20 % off, and so less
private than it claims, must be proven in violation. Seeds are fixed: equal versions write equal files.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import betaln
from scipy.stats import beta as beta_law

from dpsim import accounting, audit, boltzmann, boltzmann_steps, data_driven, dirichlet, figures, mdp, project, words
from dpsim.checks import Array

DRAWS = 2_000_000  # of each law of each case
FAILURE = 1e-6  # chance that any bound of a whole audit is wrong
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
    published: Array
    """What the paper's theorem allows; NaN where there is none."""
    pair: Array
    """The exact delta of this pair."""
    losses: Losses
    """(side, factor, size, rng): log P/Q of draws from the side, of the mechanism with its parameter times factor."""
    breakable: bool = False
    """The parameter is far enough above the privacy floor for 20 % to show."""
    pair_bounds: tuple[Array, Array] | None = None
    """Bounds of the pair's delta where it is not known exactly."""
    inputs: str = ""
    """Which neighbours, where a setting has several."""


def levels(claim: Callable[[Array], Array]) -> Array:
    """Return LEVELS epsilons from 0 to where the claimed delta falls to SMALLEST_CLAIM."""
    low, high = 0.0, 1.0
    while float(claim(np.array([high]))[0]) > SMALLEST_CLAIM:
        low, high = high, 2.0 * high
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (middle, high) if float(claim(np.array([middle]))[0]) >= SMALLEST_CLAIM else (low, middle)
    return np.linspace(0.0, low, LEVELS)


# ------------------------------------------------------------------------------------- Dirichlet mechanisms


def published_profile(
    epsilon: Array, k: float, *, shift: float, eta: float, n: int, eta_bar: float | None = None, m: int | None = None
) -> Array:
    """Return the least delta that Theorem 1 implies at each epsilon, over a grid of gammas."""
    count = n if m is None else m
    gamma = np.geomspace(1e-8, 0.999 / n, 200)
    spent = dirichlet.epsilon_bound(k, shift=shift, eta=eta, gamma=gamma, m=count, eta_bar=eta_bar)
    delta = dirichlet.delta_bounds(k, eta=eta, gamma=gamma, n=n, protected=m)[1]
    return audit.implied_delta(epsilon[:, None], spent, delta).min(axis=1)


def swapped(high: float, low: float, rest: tuple[float, ...]) -> tuple[Array, Array]:
    """Return neighbours that differ in the order of their first two entries."""
    return np.array([high, low, *rest]), np.array([low, high, *rest])


def log_ratio(x: Array) -> Array:
    """Return log x_1 / x_2; 0 where both underflow, for either law alike."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(np.log(x[..., 0]) - np.log(x[..., 1]), nan=0.0, posinf=np.inf, neginf=-np.inf)


def simplex_cases() -> Iterator[Case]:
    """Yield the simplex release at the grades' border, and below the log-space threshold."""
    for k, eta, shift, breakable in (
        (20.6, 0.073, 1 / 98, False),
        (110.6, 0.073, 1 / 98, True),
        (0.9, 0.1, 0.05, False),
    ):
        pair = swapped(eta + shift, eta, ((1 - 2 * eta - shift) / 3,) * 3)

        def losses(side, factor, size, rng, k=k, shift=shift, pair=pair):  # type: ignore[no-untyped-def]
            x = dirichlet.dirichlet_mechanism(pair[side], factor * k, size=size, rng=rng)
            return factor * k * shift * log_ratio(x)

        def claim(epsilon, k=k, shift=shift, eta=eta):  # type: ignore[no-untyped-def]
            return accounting.exact_delta(epsilon, k, shift=shift, eta=eta)

        epsilon = levels(claim)
        published = published_profile(epsilon, k, shift=shift, eta=eta, n=5)
        exact = claim(epsilon)
        yield Case("Dirichlet", f"n 5, k {k:g}, eta {eta:g}", epsilon, exact, published, exact, losses, breakable)


def matrix_cases() -> Iterator[Case]:
    """Yield the matrix release of Fallin et al. 2023 when one row changes, and when all 32 do (Definition 4)."""
    eta, eta_bar, shift = 0.10, 0.051, 0.0125
    row = swapped(eta + shift, eta, ((1 - 2 * eta - shift) / 2,) * 2)
    for k, changed in product((9.87, 98.7), (1, 32)):
        first = np.stack([row[0]] * max(changed, 3))
        second = first.copy()
        second[:changed] = row[1]

        def losses(side, factor, size, rng, k=k, changed=changed, pair=(first, second)):  # type: ignore[no-untyped-def]
            x = dirichlet.dirichlet_mechanism(pair[side], factor * k, size=size, rng=rng)
            return factor * k * shift * log_ratio(x[:, :changed]).sum(axis=-1)

        composed = accounting.compose(k, shift=shift, eta=eta, count=changed, interval=k * shift / 100)
        claim = composed.delta if changed > 1 else lambda e, k=k: accounting.exact_delta(e, k, shift=shift, eta=eta)
        epsilon = levels(claim)
        published = published_profile(epsilon, k, shift=shift, eta=eta, n=4, eta_bar=eta_bar, m=3)
        setting = f"k {k:g}, {'one row changes' if changed == 1 else 'all 32 rows change'}"
        bounds = composed.delta_bounds(epsilon) if changed > 1 else None
        yield Case(
            "matrix Dirichlet",
            setting,
            epsilon,
            claim(epsilon),
            published,
            claim(epsilon),
            losses,
            k > 50,
            bounds,
        )


def posterior_cases() -> Iterator[Case]:
    """Yield the data-free release for both adjacencies."""
    for alpha, kappa, breakable in ((1.0, 1.0, False), (10.0, 5.0, True), (5.0, 0.3, False)):
        pair = (np.array([1, 0, 4]), np.array([0, 1, 4]))

        def losses(side, factor, size, rng, alpha=alpha, kappa=kappa, pair=pair):  # type: ignore[no-untyped-def]
            x = data_driven.posterior_release(pair[side], kappa=factor * kappa, alpha=alpha, size=size, rng=rng)
            return factor * kappa * log_ratio(x)

        def claim(epsilon, alpha=alpha, kappa=kappa):  # type: ignore[no-untyped-def]
            return accounting.posterior_delta(epsilon, kappa=kappa, alpha=alpha)

        epsilon = levels(claim)
        exact = claim(epsilon)
        setting = f"replace one, alpha {alpha:g}, kappa {kappa:g}"
        yield Case("posterior release", setting, epsilon, exact, nothing(epsilon), exact, losses, breakable)
    for direction in ("add", "remove"):
        yield add_remove_case(10.0, 5.0, direction)


def add_remove_case(alpha: float, kappa: float, direction: str) -> Case:
    """Return the release of a row of many records that gains or loses one in its first category."""
    others = 10_000
    pair = (np.array([1, others]), np.array([0, others]))
    pair = pair if direction == "remove" else pair[::-1]

    def shapes(side: int, factor: float) -> tuple[float, float]:
        return factor * kappa * (float(pair[side][0]) + alpha), factor * kappa * (others + alpha)

    def loss(log_x: Array, factor: float) -> Array:
        (a, b), (c, _) = shapes(0, factor), shapes(1, factor)
        return (a - c) * log_x - betaln(a, b) + betaln(c, b)

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        x = data_driven.posterior_release(pair[side], kappa=factor * kappa, alpha=alpha, size=size, rng=rng)
        return loss(np.log(x[:, 0]), factor)

    def exact(epsilon: Array) -> Array:
        (a, b), (c, _) = shapes(0, 1.0), shapes(1, 1.0)
        edge = np.exp((epsilon + betaln(a, b) - betaln(c, b)) / (a - c))
        tail = beta_law.sf if a > c else beta_law.cdf
        return tail(edge, a, b) - np.exp(epsilon) * tail(edge, c, b)

    def claim(epsilon: Array) -> Array:
        return accounting.posterior_delta(epsilon, kappa=kappa, alpha=alpha, adjacency="add-remove")

    epsilon = levels(claim)
    setting = f"{direction} one, alpha {alpha:g}, kappa {kappa:g}"
    return Case("posterior release", setting, epsilon, claim(epsilon), nothing(epsilon), exact(epsilon), losses, True)


def decision_cases() -> Iterator[Case]:
    """Yield the release of the transition vectors of a decision process, of which one changes."""
    k, eta, shift = 60.0, 0.1, 0.05
    vectors = swapped(eta + shift, eta, (1 - 2 * eta - shift,))
    models = []
    for vector in vectors:
        transitions = np.full((3, 2, 3), 1 / 3)
        transitions[0, 1] = vector
        models.append(mdp.MDP(transitions, np.zeros((3, 2)), horizon=1))

    def losses(side: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        released = mdp.privatize(models[side], factor * k, rng, size=size)
        return factor * k * shift * log_ratio(released.transitions[:, 0, 1])

    def claim(epsilon: Array) -> Array:
        return accounting.exact_delta(epsilon, k, shift=shift, eta=eta)

    epsilon = levels(claim)
    setting = f"S 3, A 2, k {k:g}, eta {eta:g}, one vector changes"
    yield Case("decision process", setting, epsilon, claim(epsilon), nothing(epsilon), claim(epsilon), losses, True)


def nothing(epsilon: Array) -> Array:
    """Return NaNs: no theorem to compare with."""
    return np.full(epsilon.shape, math.nan)


# -------------------------------------------------------------------------------------- discrete mechanisms


@dataclass(frozen=True)
class Finite:
    """A mechanism on a finite space: laws(factor) (inputs, outputs), neighbours, draws as numbers of outputs."""

    mechanism: str
    setting: str
    laws: Callable[[float], Array]
    neighbours: list[tuple[int, int]]
    draw: Callable[[int, float, int, np.random.Generator], Array]
    claim: Callable[[Array], Array]
    published: Callable[[Array], Array]


def profile(laws: Array, neighbours: list[tuple[int, int]], epsilon: Array) -> tuple[Array, list[int]]:
    """Return the largest delta over the neighbours at each epsilon, and which pair has it, few different ones."""
    first, second = np.array(neighbours).T
    deltas = np.array([audit.hockey_stick(laws[first], laws[second], level) for level in epsilon])
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
        pair, own = mechanism.neighbours[index], np.array(worst) == index
        with np.errstate(divide="ignore", invalid="ignore"):
            tables = {f: np.log(mechanism.laws(f)[pair[0]]) - np.log(mechanism.laws(f)[pair[1]]) for f in (1.0, OFF)}

        def losses(side, factor, size, rng, pair=pair, tables=tables):  # type: ignore[no-untyped-def]
            return tables[factor][mechanism.draw(pair[side], factor, size, rng)]

        yield Case(
            mechanism.mechanism,
            mechanism.setting,
            epsilon[own],
            mechanism.claim(epsilon[own]),
            mechanism.published(epsilon[own]),
            exact[own],
            losses,
            True,
            inputs=f"{pair[0]} and {pair[1]}",
        )


def boltzmann_neighbours(states: Array) -> list[tuple[int, int]]:
    """Return the ordered pairs of histograms between which one individual moved."""
    apart = np.abs(states[:, None] - states).sum(axis=-1)
    return [(int(x), int(y)) for x, y in np.argwhere(apart == 2)]


def boltzmann_exact_draws() -> Finite:
    """Return the exact sampler of the stationary law. Off means colder: t / 1.2."""
    total, bins, t = 6, 3, 10.0
    states = boltzmann.configurations(total, bins)

    def laws(factor: float) -> Array:
        return np.exp([boltzmann.log_stationary(x, t / factor) for x in states])

    def draw(x: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        return boltzmann.configuration_index(boltzmann.sample_exact(states[x], t / factor, size=size, rng=rng), total)

    def claim(epsilon: Array) -> Array:
        return np.array([boltzmann_steps.mixing_delta(total, bins, t, [0], epsilon=e).limit for e in epsilon])

    def published(epsilon: Array) -> Array:
        return audit.implied_delta(epsilon, 2 * boltzmann.sensitivity(total, bins) / t)

    setting = f"N {total}, n {bins}, t {t:g}"
    return Finite("Boltzmann, exact draws", setting, laws, boltzmann_neighbours(states), draw, claim, published)


def boltzmann_chain() -> Finite:
    """Return the Metropolis chain after a few steps."""
    total, bins, t, steps = 4, 3, 5.0, 12
    states = boltzmann.configurations(total, bins)

    def laws(factor: float) -> Array:
        return np.array([boltzmann_steps.k_step_law(x, t / factor, steps) for x in states])

    def draw(x: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        return boltzmann.configuration_index(
            boltzmann.metropolis(states[x], t / factor, steps, chains=size, rng=rng), total
        )

    def claim(epsilon: Array) -> Array:
        return np.array([float(boltzmann_steps.mixing_delta(total, bins, t, steps, epsilon=e).exact) for e in epsilon])

    def published(epsilon: Array) -> Array:
        return audit.implied_delta(epsilon, 2 * boltzmann.sensitivity(total, bins) / t)

    setting = f"N {total}, n {bins}, t {t:g}, {steps} steps"
    return Finite("Boltzmann, chain", setting, laws, boltzmann_neighbours(states), draw, claim, published)


RING = np.array([[0, 1, 1, 0], [1, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 0]])  # a chain whose words differ in their counts


def word_mechanisms() -> Iterator[Finite]:
    """Yield the three mechanisms on all words of three letters, and on the trajectories of a small chain."""
    length, epsilon = 4, 3.0
    spaces = (("all words of 3 letters", {"letters": 3}), ("a chain of 4 states", {"adjacency": RING, "start": 0}))
    kinds = (("exponential", 1, None), ("permute-and-flip", 1, None), ("staircase", 2, 1))
    for (space_name, space), (kind, b, offset) in product(spaces, kinds):
        yield word_mechanism(space_name, space, kind, b, offset, length, epsilon)


def word_mechanism(
    space_name: str, space: dict, kind: str, b: int, offset: int | None, length: int, epsilon: float
) -> Finite:
    """Return one mechanism on words, inputs and outputs numbered in lexicographic order."""
    letters = space.get("letters", 4)
    all_words = np.array(list(product(range(letters), repeat=length)))
    if "adjacency" in space:
        before = np.column_stack([np.full(len(all_words), space["start"]), all_words[:, :-1]])
        feasible = (space["adjacency"][before, all_words] > 0).all(axis=1)
    else:
        feasible = np.ones(len(all_words), dtype=bool)
    listed = all_words[feasible]
    code = np.full(letters**length, -1)
    code[np.flatnonzero(feasible)] = np.arange(len(listed))
    place = letters ** np.arange(length - 1, -1, -1)
    distance = (listed[:, None] != listed).sum(axis=-1)
    counts = np.array([words.HammingAutomaton(w, **space).counts for w in listed])

    def laws(factor: float) -> Array:
        log_f = words.log_word_probability(counts, factor * epsilon, b, mechanism=kind, offset=offset)
        law = np.exp(np.take_along_axis(log_f, distance, axis=1))
        return law / law.sum(axis=1, keepdims=True)

    def draw(w: int, factor: float, size: int, rng: np.random.Generator) -> Array:
        settings = {"mechanism": kind, "b": b, "offset": offset, "size": size, "rng": rng}
        return code[words.privatize_word(listed[w], factor * epsilon, **settings, **space) @ place]

    apart = (distance > 0) & (distance <= b)
    if "adjacency" not in space:
        apart[1:] = False  # one input stands for all
    neighbours = [(int(w), int(v)) for w, v in np.argwhere(apart)]

    def claim(level: Array) -> Array:
        return profile(laws(1.0), neighbours, level)[0]

    def published(level: Array) -> Array:
        return audit.implied_delta(level, epsilon)

    setting = f"{space_name}, n {length}, epsilon {epsilon:g}, b {b}"
    return Finite(f"words, {kind}", setting, laws, neighbours, draw, claim, published)


# ---------------------------------------------------------------------------------------------- the audit


def cases() -> list[Case]:
    """Return every case of the audit."""
    finite = [boltzmann_exact_draws(), boltzmann_chain(), *word_mechanisms()]
    return [
        *simplex_cases(),
        *matrix_cases(),
        *posterior_cases(),
        *decision_cases(),
        *(case for mechanism in finite for case in finite_cases(mechanism)),
    ]


def run(audited: list[Case], draws: int = DRAWS, seed: int = 2026) -> pd.DataFrame:
    """Return the table of the audit: one row for each case and epsilon, all bounds right at once with 1 - 1e-6."""
    bounds = sum(case.epsilon.size * (2 + case.breakable) for case in audited)
    alpha = FAILURE / (2 * bounds)
    parts = []
    for case in audited:
        lower, upper = bracket(case, 1.0, draws, seed, alpha)
        broken = bracket(case, OFF, draws, seed, alpha)[0] if case.breakable else nothing(case.epsilon)
        low, high = case.pair_bounds or (case.pair, case.pair)
        parts.append(
            pd.DataFrame(
                {
                    "mechanism": case.mechanism,
                    "setting": case.setting,
                    "inputs": case.inputs,
                    "epsilon": case.epsilon,
                    "claimed_delta": case.claim,
                    "published_delta": case.published,
                    "pair_delta": case.pair,
                    "lower": lower,
                    "upper": upper,
                    "broken_lower": broken,
                    "violates_claim": lower > case.claim,
                    "violates_published": lower > case.published,
                    "agrees_with_pair": (lower <= high) & (low <= upper),
                    "broken_caught": broken > case.claim,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def bracket(case: Case, factor: float, draws: int, seed: int, alpha: float) -> tuple[Array, Array]:
    """Return bounds on delta of the case's pair from draws of both sides."""
    hits = [
        audit.exceedances(
            lambda size, rng, side=side: case.losses(side, factor, size, rng),
            case.epsilon,
            draws,
            seed=seed,
            name=f"{case.mechanism}, {case.setting}, {case.inputs}, side {side}, factor {factor:g}",
        )
        for side in (0, 1)
    ]
    return audit.delta_bounds(case.epsilon, *hits, draws, alpha)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each setting: what was claimed, what held and what was caught."""
    grouped = table.groupby(["mechanism", "setting"], sort=False)
    caught = grouped["broken_caught"].any().where(grouped["broken_lower"].count() > 0)
    return pd.DataFrame(
        {
            "epsilons": grouped.size(),
            "largest_claim": grouped["claimed_delta"].max(),
            "widest_bracket": grouped[["lower", "upper"]].apply(lambda part: (part["upper"] - part["lower"]).max()),
            "claim_holds": ~grouped["violates_claim"].any(),
            "pair_agrees": grouped["agrees_with_pair"].all(),
            "published_refuted": grouped["violates_published"].any(),
            "broken_caught": caught.map({True: "yes", False: "NO"}).fillna(""),
        }
    )


def draw_figure(table: pd.DataFrame) -> plt.Figure:
    """Return the figure: a panel for each setting, claim, published bound, bracket, and the broken version's bound."""
    figures.style()
    panels = list(table.groupby(["mechanism", "setting"], sort=False))
    columns = 4
    rows = math.ceil(len(panels) / columns)
    fig, axes = plt.subplots(rows, columns, figsize=(figures.TWO_COLUMNS, 1.55 * rows))
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax, ((mechanism, setting), rows_of_setting) in zip(axes.flat, panels):
        part = rows_of_setting.sort_values("epsilon")
        x = part["epsilon"]
        middle = (part["lower"] + part["upper"]) / 2
        ax.plot(x, part["published_delta"], "--", color=figures.PAPER, label="published bound")
        ax.plot(x, part["claimed_delta"], color=figures.OURS, label="exact, claimed")
        ax.errorbar(x, middle, (part["upper"] - part["lower"]) / 2, fmt=".", ms=2, color=figures.TRUE, label="audited")
        ax.plot(x, part["broken_lower"], "v", ms=3, color=figures.OTHER, label="20 % off, at least")
        top = max(part["claimed_delta"].max(), part["broken_lower"].max(), part["upper"].max())
        ax.set(ylim=(0, 1.25 * top))
        ax.set_title(f"{mechanism}\n{setting}", fontsize=5)
        ax.tick_params(labelsize=5)
    axes.flat[0].legend(fontsize=5)
    fig.supxlabel(r"$\varepsilon$", fontsize=8)
    fig.supylabel(r"$\delta$", fontsize=8)
    return fig


def main() -> int:
    """Run the audit and write build/audit; exit status 1 when a claim fails or a broken mechanism passes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS, help="draws of each law of each case")
    parser.add_argument("--seed", type=int, default=2026)
    arguments = parser.parse_args()
    begun = time.perf_counter()
    table = run(cases(), arguments.draws, arguments.seed)
    output = str(project.build() / "audit")
    figures.save(draw_figure(table), "audit", table, output)
    shown = summary(table)
    print(shown.to_string(float_format="{:.4f}".format))
    print(f"{len(table)} bounds and {arguments.draws} draws a law: {time.perf_counter() - begun:.0f} s; {output}")
    bad = table["violates_claim"].any() or not table["agrees_with_pair"].all() or (shown["broken_caught"] == "NO").any()
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
