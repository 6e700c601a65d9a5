"""Chains estimated from the same noisy counts: the release's rule beside twelve others,
on tables of many kinds.

python -m release.tools.estimates            # the kinds of tables that the rule was
chosen on, drawn anew python -m release.tools.estimates --fresh    # kinds that had no
part in the choice

With --write the numbers go to release/tools/results: estimates*.csv, estimates.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import dpsim_release
from dpsim import datasets, markov
from dpsim.checks import Array, Integers
from dpsim.ledger.table_formats import markdown_table
from dpsim_release import Support, estimate
from dpsim_release import support as supports
from dpsim_release.discrete_laplace import Noise, laplace_noise
from tools.bench.compare import machine

RESULTS = Path(__file__).parent / "results" / "estimates.csv"
FRESH_RESULTS = RESULTS.with_name("estimates_fresh.csv")
EPSILONS = (0.1, 0.3, 1.0, 3.0)
Table = tuple[Support, Integers]


# --- rules: of the pairs of a support, before rows are normalised ---------------------


def offset(noisy: Array) -> Array:
    """Return what stays positive less one offset, so that it adds up to the total (at
    least 1).
    """
    falling = np.sort(noisy)[::-1]
    total = max(float(noisy.sum()), 1.0)
    offsets = (np.cumsum(falling) - total) / np.arange(1, noisy.size + 1)
    return np.maximum(noisy - offsets[np.flatnonzero(falling > offsets)[-1]], 0.0)


def privtrace(row: Array) -> Array:
    """Return the rule of PrivTrace's code: in each row the smallest positive counts pay
    for the negative ones.
    """
    order = np.argsort(row)
    sums = np.cumsum(row[order])
    if sums[-1] <= 0.0:
        return np.zeros(row.size)
    pays = int(np.argmax(sums > 0.0))
    kept = np.where(
        np.arange(row.size) < pays,
        0.0,
        np.where(np.arange(row.size) == pays, sums, row[order]),
    )
    return kept[np.argsort(order)]


def by_row(rule: Callable[[Array], Array]) -> Callable[[Support, Array, Noise], Array]:
    """Return the rule that does the same in each row."""
    return lambda support, noisy, _: np.concatenate(
        [rule(row) for row in np.split(noisy, support.indptr[1:-1])]
    )


def threshold(scales: float) -> Callable[[Support, Array, Noise], Array]:
    """Return the rule that keeps what is above so many scales of the noise."""
    return lambda _, noisy, noise: np.where(noisy > scales * noise.scale, noisy, 0.0)


def james_stein(support: Support, noisy: Array, noise: Noise) -> Array:
    """Return counts moved to what the margins make one expect."""
    expected = estimate.expected_counts(support, noisy, noise)
    spread = float(((noisy - expected) ** 2).sum())
    return expected + max(0.0, 1.0 - noise.variance * noisy.size / spread) * (
        noisy - expected
    )


def bayes(loss: str, slab: bool = False) -> Callable[[Support, Array, Noise], Array]:
    """Return empirical Bayes with one prior for the table: free, or a share of zeros
    beside a geometric law (slab).

    loss: mean; median; row, the quantile of each row that adds up to its mean.
    """

    def rule(support: Support, noisy: Array, noise: Noise) -> Array:
        seen, place, numbers = np.unique(
            np.maximum(noisy, 0.0), return_inverse=True, return_counts=True
        )
        bins = estimate.count_bins(float(seen[-1]))
        likelihood = estimate.bin_likelihood(seen, bins, noise)
        if slab:
            priors = [
                slab_prior(bins, share, mean)
                for share in SHARES
                for mean in np.geomspace(0.5, seen[-1] + 2, 25)
            ]
            prior = max(
                priors,
                key=lambda prior: float(
                    numbers @ np.log(np.maximum(likelihood @ prior, 1e-300))
                ),
            )
        else:
            prior = estimate.bin_shares(likelihood, numbers, np.ones(bins[0].size), 0.0)
        joint = np.maximum(likelihood * prior, np.finfo(float).tiny)
        below = np.cumsum(joint, axis=1) / joint.sum(axis=1, keepdims=True)
        mean = (
            (joint * np.clip(seen[:, None], *bins)).sum(axis=1) / joint.sum(axis=1)
        )[place]
        if loss == "mean":
            return mean
        levels = np.array([0.5]) if loss == "median" else np.arange(1, 32) / 32
        moved = (
            noise.scale
            * np.sign(levels - 0.5)
            * -np.log(1.0 - np.abs(2.0 * levels - 1.0))
        )
        at = [
            np.minimum((below < level).sum(axis=1), bins[0].size - 1)
            for level in levels
        ]
        values = [
            np.clip(seen + move, bins[0][each], bins[1][each])[place]
            for move, each in zip(moved, at)
        ]
        sums = np.stack([estimate.row_sums(v, support) for v in values])
        wanted = estimate.row_sums(mean, support)
        chosen = np.abs(sums - wanted).argmin(axis=0)[support.rows]
        kept = np.take_along_axis(np.stack(values), chosen[None], axis=0)[0]
        return np.where(
            estimate.row_sums(kept, support)[support.rows] > 0.0, kept, mean
        )

    return rule


SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99)  # of the pairs with events


def slab_prior(bins: tuple[Array, Array], share: float, mean: float) -> Array:
    """Return the shares of the bins: a geometric law from 1 on, with weight `share`,
    and zeros.
    """
    q = mean / (1.0 + mean)
    law = np.append(0.0, q ** (bins[0][1:] - 1.0) - q ** bins[1][1:])
    return share * law / law.sum() + (1.0 - share) * (bins[0] == 0.0)


RULES: dict[str, Callable[[Support, Array, Noise], Array]] = {
    "clip": lambda support, noisy, noise: noisy,
    "norm-sub": lambda support, noisy, noise: offset(noisy),
    "norm-sub by row": by_row(offset),
    **{f"threshold {scales}": threshold(scales) for scales in (1, 2, 3)},
    "PrivTrace": by_row(privtrace),
    "James-Stein": james_stein,
    **{f"Bayes, {loss}": bayes(loss) for loss in ("mean", "median", "row")},
    "spike and slab": bayes("median", slab=True),
}


def estimates(support: Support, noisy: Integers, noise: Noise) -> dict[str, Array]:
    """Return the probabilities of the pairs by each rule."""
    found = {"ours": dpsim_release.estimate_chain(support, noisy, noise).probabilities}
    for name, rule in RULES.items():
        kept = np.maximum(rule(support, noisy.astype(float), noise), 0.0)
        totals = estimate.row_sums(kept, support)[support.rows]
        found[name] = np.where(
            totals > 0.0,
            kept / np.where(totals > 0.0, totals, 1.0),
            1.0 / support.sizes[support.rows],
        )
    return found


# --- errors ---------------------------------------------------------------------------


def errors(
    support: Support, counts: Integers, probabilities: Array
) -> tuple[float, float]:
    """Return the total variation of rows (mean by events) and of the stationary
    distribution.

    In the table's own chain a state without departures goes on as the events arrive.
    """
    totals = estimate.row_sums(counts.astype(float), support)
    own = np.where(
        totals[support.rows] > 0.0,
        counts,
        np.bincount(support.indices, counts)[support.indices],
    )
    own = own / estimate.row_sums(own.astype(float), support)[support.rows]
    moved = 0.5 * estimate.row_sums(np.abs(probabilities - own), support)
    chains = (long_run(support, each) for each in (own, probabilities))
    return float(totals @ moved / totals.sum()), float(markov.total_variation(*chains))


def long_run(support: Support, probabilities: Array) -> Array:
    """Return the stationary distribution with one jump in a million to anywhere, so
    that every chain has one.
    """
    n = len(support.labels)
    P = np.full((n, n), 1e-6 / n)
    P[support.rows, support.indices] += (1.0 - 1e-6) * probabilities
    return markov.stationary_distribution(P / P.sum(axis=1, keepdims=True))


# --- tables: flows between states, of which so many events are drawn ------------------


def drawn(
    events: int, flows: Callable[[np.random.Generator], Array], graph: bool = False
) -> Callable[[int], Table]:
    """Return the tables by seed: between all states, or on the pairs with a flow."""

    def table(seed: int) -> Table:
        rng = np.random.default_rng(seed)
        flow = flows(rng)
        counts = rng.multinomial(events, (flow / flow.sum()).ravel())
        if not graph:
            return dpsim_release.all_pairs(range(len(flow))), counts
        rows, columns = np.nonzero(flow)
        support, _ = supports.from_pairs(
            range(len(flow)), rows, columns, supports.GRAPH
        )
        return support, counts[flow.ravel() > 0.0]

    return table


def apart(n: int) -> Array:
    """Return how far states on a line are apart, shape (n, n)."""
    return np.abs(np.subtract.outer(np.arange(n), np.arange(n)))


def sizes(rng: np.random.Generator, n: int, spread: float) -> Array:
    """Return log-normal sizes of rows, shape (n, 1)."""
    return rng.lognormal(0.0, spread, (n, 1))


def gravity(rng: np.random.Generator, n: int, spread: float) -> Array:
    """Return trips between places of unlike sizes, fewer between distant ones."""
    at = rng.random((n, 2))
    size = sizes(rng, n, spread)
    return (
        size * size.T * np.exp(-5.0 * np.hypot(*(at[:, None] - at).transpose(2, 0, 1)))
    )


def some(rng: np.random.Generator, n: int, each: int, rows: float) -> Array:
    """Return rows with a few destinations, at random."""
    kept = rng.random((n, n)).argsort(axis=1) < each
    return sizes(rng, n, rows) * np.where(kept, rng.gamma(1.0, size=(n, n)), 0.0)


def grid(rng: np.random.Generator, side: int, diagonals: bool) -> Array:
    """Return the moves of a walker on a square grid who stays or goes to a neighbour,
    uphill more readily.
    """
    at = np.stack(np.divmod(np.arange(side * side), side), axis=1)
    steps = np.abs(at[:, None] - at)
    near = steps.max(axis=2) <= 1 if diagonals else steps.sum(axis=2) <= 1
    height = rng.normal(0.0, 1.0, side * side)
    flow = np.where(near, np.exp(height[None, :] - height[:, None]), 0.0)
    return sizes(rng, side * side, 1.0) * flow / flow.sum(axis=1, keepdims=True)


def hub(rng: np.random.Generator, n: int) -> Array:
    """Return rows that go to one state for the most part, and that state's own, as many
    as all others'.
    """
    flow = 0.3 * rng.dirichlet(np.full(n, 0.3), n)
    flow[:, 0] += 0.7
    flow[0] = n * rng.dirichlet(np.ones(n))
    return sizes(rng, n, 0.5) * flow


def tree(rng: np.random.Generator, depth: int) -> Array:
    """Return moves between the nodes of a binary tree and their children."""
    n = 2**depth - 1
    flow = np.zeros((n, n))
    child = np.arange(1, n)
    flow[child, (child - 1) // 2] = rng.lognormal(0.0, 1.0, n - 1)
    return flow + flow.T * rng.uniform(0.5, 1.5, (n, n))


def clicks(rng: np.random.Generator, n: int) -> Array:
    """Return clicks between pages: popularity by Zipf's law, a few links on a page,
    some jumps to any page.
    """
    popular = 1.0 / np.arange(1, n + 1) ** 1.1
    links = np.where(
        rng.random((n, n)).argsort(axis=1) < 7,
        popular * rng.gamma(0.5, size=(n, n)),
        0.0,
    )
    return popular[:, None] * (
        0.9 * links / links.sum(axis=1, keepdims=True) + 0.1 * popular / popular.sum()
    )


def stars(rng: np.random.Generator, number: int, size: int) -> Array:
    """Return moves between the centres of stars and their leaves, and along the ring of
    the centres.
    """
    star = np.zeros((size, size))
    star[0], star[:, 0] = 1.0, 1.0
    flow = np.kron(np.eye(number), star) + np.kron(
        np.roll(np.eye(number), 1, axis=1), np.eye(1, size).T @ np.eye(1, size)
    )
    return flow * rng.gamma(1.0, size=flow.shape)


def nearest(rng: np.random.Generator, n: int, each: int) -> Array:
    """Return moves from each place to the places nearest to it."""
    at = rng.random((n, 2))
    far = (
        np.hypot(*(at[:, None] - at).transpose(2, 0, 1)).argsort(axis=1).argsort(axis=1)
    )
    return (
        sizes(rng, n, 0.7) * ((far > 0) & (far <= each)) * rng.gamma(1.0, size=(n, n))
    )


def steps(n: int, factor: int) -> Array:
    """Return how many steps on, round a circle, each state is from `factor` times
    another, shape (n, n).
    """
    return np.asarray(
        (np.arange(n)[None, :] - factor * np.arange(n)[:, None]) % n, dtype=float
    )


def torus(side: int) -> Array:
    """Return the pairs of neighbours on a torus of three dimensions."""
    ring = np.roll(np.eye(side), 1, axis=1) + np.roll(np.eye(side), -1, axis=1)
    one = np.eye(side)
    flat = np.eye(side**2)
    return np.asarray(
        np.kron(np.kron(ring, one) + np.kron(one, ring), one) + np.kron(flat, ring)
    )


def overlapping(n: int, each: int, apart_by: int) -> Array:
    """Return how many groups of neighbouring states hold both, the groups beginning so
    far apart.
    """
    at = np.arange(n)
    inside = [(at >= first) & (at < first + each) for first in range(0, n, apart_by)]
    return np.asarray(sum(np.outer(group, group) for group in inside), dtype=float)


def taxis(seed: int) -> Table:
    """Return the stand-in of a year's trips between taxi zones; a seed changes
    nothing.
    """
    trips = datasets.load_taxi_trips("surrogate")
    support = dpsim_release.all_pairs(
        np.union1d(trips["origin"], trips["destination"]).tolist()
    )
    return support, dpsim_release.counts_on(trips, support)[0]


KNOWN: dict[str, Callable[[int], Table]] = {
    "gravity, 40": drawn(5_000, lambda rng: gravity(rng, 40, 1.0)),
    "gravity, 63": drawn(30_000, lambda rng: gravity(rng, 63, 1.5)),
    "gravity, 120": drawn(20_000, lambda rng: gravity(rng, 120, 1.5)),
    "gravity, 500": drawn(300_000, lambda rng: gravity(rng, 500, 2.0)),
    "sparse graph, 150": drawn(10_000, lambda rng: some(rng, 150, 4, 1.0)),
    "few destinations, 60": drawn(6_000, lambda rng: some(rng, 60, 4, 0.0)),
    "Zipf rows, 60": drawn(
        20_000,
        lambda rng: (
            sizes(rng, 60, 0.7) / (1.0 + rng.random((60, 60)).argsort(axis=1)) ** 1.2
        ),
    ),
    "hub, 60": drawn(10_000, lambda rng: hub(rng, 60)),
    "band, 80": drawn(
        10_000,
        lambda rng: (
            sizes(rng, 80, 0.5) * (apart(80) <= 3) * rng.gamma(1.0, size=(80, 80))
        ),
    ),
    "blocks, 80": drawn(
        20_000,
        lambda rng: (
            np.kron(np.eye(10), np.ones((8, 8))) + np.eye(80, k=1) + np.eye(80, k=-79)
        ),
    ),
    "dense rows, 40": drawn(
        20_000, lambda rng: sizes(rng, 40, 0.5) * rng.gamma(2.0, size=(40, 40))
    ),
    "staying, 60": drawn(
        10_000,
        lambda rng: (
            sizes(rng, 60, 0.8)
            * (rng.dirichlet(np.full(60, 0.2), 60) + 4.0 * np.eye(60))
        ),
    ),
    "empty rows, 40": drawn(
        20_000, lambda rng: gravity(rng, 40, 1.5) * (np.arange(40) % 2)[:, None]
    ),
    "3 states": drawn(100, lambda rng: rng.gamma(0.3, size=(3, 3))),
    "5 states": drawn(100, lambda rng: rng.gamma(0.3, size=(5, 5))),
    "declared grid, 400": drawn(20_000, lambda rng: grid(rng, 20, False), graph=True),
    "declared grid, 225": drawn(10_000, lambda rng: grid(rng, 15, True), graph=True),
    "63 taxi zones": taxis,
    "two sides, 80": drawn(
        20_000, lambda rng: (apart(80) % 2) * rng.lognormal(0.0, 1.5, (80, 80))
    ),
    "five profiles, 70": drawn(
        15_000,
        lambda rng: (
            sizes(rng, 70, 1.0)
            * rng.dirichlet(np.full(70, 0.15), 5)[rng.integers(0, 5, 70)]
        ),
    ),
    "up and down, 200": drawn(
        20_000, lambda rng: (apart(200) <= 1) * rng.uniform(0.1, 0.6, (200, 200))
    ),
    "tree, 127": drawn(8_000, lambda rng: tree(rng, 7)),
    "all alike, 50": drawn(5_000, lambda rng: np.ones((50, 50))),
    "two lumps, 60": drawn(
        12_000,
        lambda rng: (
            np.where(np.arange(60) < 30, 1.0, 0.02)[:, None]
            * rng.gamma(0.3, size=(60, 60))
        ),
    ),
    "power law, 90": drawn(
        25_000,
        lambda rng: (
            np.outer(*(rng.pareto(1.2, (2, 90)) + 0.1)) * rng.gamma(0.5, size=(90, 90))
        ),
    ),
    "cycle with jumps, 100": drawn(
        10_000,
        lambda rng: (
            0.001
            + np.tensordot(
                (0.5, 0.25, 0.15),
                [np.roll(np.eye(100), k, axis=1) for k in (1, 2, 3)],
                1,
            )
        ),
    ),
    "clicks, 200": drawn(30_000, lambda rng: clicks(rng, 200)),
    "grid walk, 100": drawn(15_000, lambda rng: grid(rng, 10, False)),
    "random rows, 30": drawn(6_000, lambda rng: rng.dirichlet(np.full(30, 0.3), 30)),
    "few neighbours, 150": drawn(9_000, lambda rng: some(rng, 150, 3, 0.5)),
    "falling from the diagonal, 90": drawn(
        15_000, lambda rng: sizes(rng, 90, 0.5) * 0.7 ** apart(90)
    ),
    "Pareto pairs, 60": drawn(20_000, lambda rng: rng.pareto(1.0, (60, 60))),
    "chequered, 50": drawn(
        10_000, lambda rng: (apart(50) % 2 == 0) * rng.gamma(0.7, size=(50, 50))
    ),
    "three levels, 64": drawn(
        12_000, lambda rng: rng.choice([0.0, 1.0, 20.0], (64, 64), p=[0.7, 0.2, 0.1])
    ),
    "five stars, 105": drawn(12_000, lambda rng: stars(rng, 5, 21)),
    "upwards or home, 60": drawn(
        8_000, lambda rng: np.triu(np.exp(-0.2 * apart(60)), 1) + 0.5 * np.eye(1, 60)
    ),
    "one main destination, 100": drawn(
        10_000,
        lambda rng: (
            sizes(rng, 100, 0.7) * (0.8 * np.eye(100)[rng.permutation(100)] + 0.002)
        ),
    ),
    "blocks with background, 80": drawn(
        12_000,
        lambda rng: sizes(rng, 80, 0.5) * np.kron(np.eye(4) + 0.1, np.ones((20, 20))),
    ),
    "six nearest places, 120": drawn(15_000, lambda rng: nearest(rng, 120, 6)),
    "queue, 40": drawn(
        6_000, lambda rng: 0.8 ** np.arange(40)[:, None] * (apart(40) == 1)
    ),
    "product, 70": drawn(
        15_000, lambda rng: np.outer(*rng.lognormal(0.0, 1.2, (2, 70)))
    ),
    "declared graph, 300": drawn(
        15_000, lambda rng: some(rng, 300, 12, 1.0), graph=True
    ),
}
FRESH: dict[str, Callable[[int], Table]] = {
    "doubling map, 96": drawn(
        10_000, lambda rng: (steps(96, 2) <= 2) * rng.gamma(1.0, size=(96, 96))
    ),
    "ladder, 100": drawn(
        12_000,
        lambda rng: (
            (
                np.kron(np.eye(2), apart(50) == 1)
                + np.eye(100, k=50)
                + np.eye(100, k=-50)
            )
            * sizes(rng, 100, 1.0)
        ),
    ),
    "a third of the pairs, 75": drawn(
        15_000,
        lambda rng: (
            sizes(rng, 75, 1.0) * sizes(rng, 75, 1.0).T * (rng.random((75, 75)) < 0.3)
        ),
    ),
    "both ways alike, 55": drawn(
        15_000, lambda rng: (lambda one: one + one.T)(rng.pareto(1.3, (55, 55)))
    ),
    "one dense row, 90": drawn(
        9_000, lambda rng: np.vstack([np.ones((1, 90)), some(rng, 90, 2, 0.5)[1:]])
    ),
    "shift register, 128": drawn(
        14_000,
        lambda rng: np.where(steps(128, 2) <= 1, rng.beta(1.0, 1.0, (128, 128)), 0.0),
    ),
    "overlapping groups, 111": drawn(
        15_000, lambda rng: overlapping(111, 12, 9) * sizes(rng, 111, 0.5)
    ),
    "torus, 64": drawn(8_000, lambda rng: torus(4) * rng.gamma(2.0, size=(64, 64))),
    "few events, 45": drawn(1_500, lambda rng: rng.dirichlet(np.full(45, 0.1), 45)),
    "five steps on, 72": drawn(
        12_000,
        lambda rng: sizes(rng, 72, 0.4) * np.exp(-(((steps(72, 1) - 5) / 4.0) ** 2)),
    ),
}


# --- pages ----------------------------------------------------------------------------


def measured(kinds: dict[str, Callable[[int], Table]], seeds: range) -> pd.DataFrame:
    """Return a row for each table, epsilon and rule: mean errors over the seeds, with
    the same noise for all rules.
    """
    rows = []
    for name, make in kinds.items():
        made = [make(seed) for seed in seeds]
        for epsilon in EPSILONS:
            noise = laplace_noise(epsilon)
            found: dict[str, list[tuple[float, float]]] = {}
            for seed, (support, counts) in zip(seeds, made):
                noisy = dpsim_release.noisy_counts(
                    counts, noise, np.random.default_rng([seed, round(1000 * epsilon)])
                )
                for rule, probabilities in estimates(support, noisy, noise).items():
                    found.setdefault(rule, []).append(
                        errors(support, counts, probabilities)
                    )
            rows += [
                (name, epsilon, rule, *np.mean(each, axis=0))
                for rule, each in found.items()
            ]
        print(name, flush=True)
    return pd.DataFrame(rows, columns=["table", "epsilon", "rule", "rows", "long_run"])


def page() -> str:
    """Return estimates.md: ours beside the best of the twelve, which differs from table
    to table.
    """
    parts = [
        "# Chains estimated from the same noisy counts",
        f"By `python -m release.tools.estimates --write` and `--fresh --write` "
        f"({machine()}).",
        "Total variation of rows (mean by events) and of the stationary distribution, "
        "as a multiple of the error of "
        f"the best of {len(RULES)} other rules at the same table and epsilon: above 1 "
        f"ours errs more. The best "
        "is another one from table to table; the second table of each part has what "
        "each of them would have.",
    ]
    sections = {
        "Kinds of tables that the rule was chosen on": RESULTS,
        "Kinds that had no part in it": FRESH_RESULTS,
    }
    for section, path in sections.items():
        if not path.exists():
            continue
        shares = ratios(pd.read_csv(path))
        ours = shares.xs("ours", level="rule").unstack("epsilon")
        head = [
            "table",
            *(f"{what}, {e:g}" for what in ("rows", "long run") for e in EPSILONS),
        ]
        parts += [
            f"## {section}",
            markdown_table(
                head,
                [
                    (name, *(f"{x:.2f}" for x in row))
                    for name, *row in ours.itertuples()
                ],
            ),
        ]
        of_rules = shares.groupby("rule").agg(
            [lambda x: float(np.exp(np.log(x).mean())), "max"]
        )
        of_rules = of_rules.sort_values(of_rules.columns[0])
        head = [
            "rule",
            "rows: geometric mean",
            "worst",
            "long run: geometric mean",
            "worst",
        ]
        parts.append(
            markdown_table(
                head,
                [
                    (name, *(f"{x:.2f}" for x in row))
                    for name, *row in of_rules.itertuples()
                ],
            )
        )
    return "\n\n".join(parts) + "\n"


def ratios(table: pd.DataFrame) -> pd.DataFrame:
    """Return errors over those of the best other rule, by table, epsilon and rule."""
    found = table.set_index(["table", "epsilon", "rule"])
    best = (
        found.drop("ours", level="rule").groupby(["table", "epsilon"], sort=False).min()
    )
    return found / best.reindex(found.index.droplevel("rule")).to_numpy().clip(1e-12)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=4, help="tables of each kind")
    parser.add_argument("--seed", type=int, default=1, help="of the first table")
    parser.add_argument(
        "--write", action="store_true", help="write release/tools/results/estimates*"
    )
    parser.add_argument("--fresh", action="store_true")
    a = parser.parse_args()
    table = measured(FRESH if a.fresh else KNOWN, range(a.seed, a.seed + a.draws))
    of_ours = ratios(table).xs("ours", level="rule")
    print(
        np.exp(np.log(of_ours).mean()).to_string(), of_ours.max().to_string(), sep="\n"
    )
    if a.write:
        table.round(6).to_csv(
            FRESH_RESULTS if a.fresh else RESULTS, index=False, lineterminator="\n"
        )
        RESULTS.with_suffix(".md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
