"""Chains estimated from the same noisy counts: the release's rule beside twelve others,
on tables of many kinds.

`python -m release.tools.estimates` writes release/tools/results/estimates.csv and
estimates.md. The rule was chosen on 42 kinds of tables. Those on which its error was
more than 1.3 times (rows) or 2.3 times (stationary distribution) that of the best other
rule are here, five others of them, and kinds that had no part in the choice.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import gmean, laplace

import dpsim_release
from dpsim import datasets, markov
from dpsim.checks import Array, Integers
from dpsim.ledger.table_formats import markdown_table
from dpsim.numerics import simplex
from dpsim_release import Support, estimate
from dpsim_release import support as supports
from dpsim_release.discrete_laplace import Noise, laplace_noise
from tools.bench.machine import machine

RESULTS = Path(__file__).parent / "results" / "estimates.csv"
EPSILONS = (0.1, 0.3, 1.0, 3.0)
SEEDS = range(1, 5)  # of the tables of each kind
KEY = ["table", "epsilon", "rule"]
Table = tuple[Support, Integers]
Rule = Callable[[Support, Array, Noise], Array]


# --- rules: of the pairs of a support, before rows are normalised ---------------------


def offset(noisy: Array) -> Array:
    """Return what stays positive less one offset, so that it adds up to the total (at
    least 1).
    """
    return simplex.project_to_simplex(noisy, total=max(float(noisy.sum()), 1.0))


def privtrace(row: Array) -> Array:
    """Return the rule of PrivTrace's code: in each row the smallest positive counts pay
    for the negative ones.
    """
    order = np.argsort(row)
    sums = np.cumsum(row[order])
    if sums[-1] <= 0.0:
        return np.zeros(row.size)
    pays = int(np.argmax(sums > 0.0))
    kept = np.where(np.arange(row.size) < pays, 0.0, row[order])
    kept[pays] = sums[pays]
    return kept[np.argsort(order)]


def by_row(rule: Callable[[Array], Array]) -> Rule:
    """Return the rule that does the same in each row."""
    return lambda support, noisy, _: np.concatenate(
        [rule(row) for row in np.split(noisy, support.indptr[1:-1])]
    )


def threshold(scales: float) -> Rule:
    """Return the rule that keeps what is above so many scales of the noise."""
    return lambda _, noisy, noise: np.where(noisy > scales * noise.scale, noisy, 0.0)


def james_stein(support: Support, noisy: Array, noise: Noise) -> Array:
    """Return counts moved to what the margins make one expect."""
    expected = estimate.expected_counts(support, noisy, noise)
    spread = float(((noisy - expected) ** 2).sum())
    share = max(0.0, 1.0 - noise.variance * noisy.size / spread)
    return expected + share * (noisy - expected)


def bayes(loss: str, slab: bool = False) -> Rule:
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
            fits = [
                numbers @ np.log(np.maximum(likelihood @ prior, 1e-300))
                for prior in priors
            ]
            prior = priors[int(np.argmax(fits))]
        else:
            prior = estimate.bin_shares(likelihood, numbers, np.ones(bins[0].size), 0.0)
        joint = np.maximum(likelihood * prior, np.finfo(float).tiny)
        joint /= joint.sum(axis=1, keepdims=True)
        mean = (joint * np.clip(seen[:, None], *bins)).sum(axis=1)[place]
        if loss == "mean":
            return mean
        below = np.cumsum(joint, axis=1)
        levels = np.array([0.5]) if loss == "median" else np.arange(1, 32) / 32
        moves = laplace.ppf(levels, scale=noise.scale)
        values = []
        for level, move in zip(levels, moves):
            at = np.minimum((below < level).sum(axis=1), bins[0].size - 1)
            values.append(np.clip(seen + move, bins[0][at], bins[1][at])[place])
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


RULES: dict[str, Rule] = {
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
    chosen = rng.random((n, n)).argsort(axis=1) < each
    return sizes(rng, n, rows) * chosen * rng.gamma(1.0, size=(n, n))


def grid(rng: np.random.Generator, side: int) -> Array:
    """Return the moves of a walker on a square grid who stays or goes to a neighbour,
    uphill more readily.
    """
    at = np.stack(np.divmod(np.arange(side * side), side), axis=1)
    near = np.abs(at[:, None] - at).max(axis=2) <= 1
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


def jumps(shares: tuple[float, ...], n: int) -> Array:
    """Return moves by one, two and more states round a circle, and few to anywhere."""
    flow = np.full((n, n), 0.001)
    for by, share in enumerate(shares, 1):
        flow += share * np.roll(np.eye(n), by, axis=1)
    return flow


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


def steps(n: int, factor: int) -> Array:
    """Return how many steps on, round a circle, each state is from `factor` times
    another, shape (n, n).
    """
    at = np.arange(n, dtype=float)
    return (at - factor * at[:, None]) % n


def torus(side: int) -> Array:
    """Return the pairs of neighbours on a torus of three dimensions."""
    ring = np.roll(np.eye(side), 1, axis=1) + np.roll(np.eye(side), -1, axis=1)
    one = np.eye(side)
    flat = np.kron(ring, one) + np.kron(one, ring)
    return np.asarray(np.kron(flat, one) + np.kron(np.eye(side**2), ring))


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
    "gravity, 63": drawn(30_000, lambda rng: gravity(rng, 63, 1.5)),
    "few destinations, 60": drawn(6_000, lambda rng: some(rng, 60, 4, 0.0)),
    "hub, 60": drawn(10_000, lambda rng: hub(rng, 60)),
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
    "declared grid, 225": drawn(10_000, lambda rng: grid(rng, 15), graph=True),
    "63 taxi zones": taxis,
    "tree, 127": drawn(8_000, lambda rng: tree(rng, 7)),
    "cycle with jumps, 100": drawn(10_000, lambda rng: jumps((0.5, 0.25, 0.15), 100)),
    "five stars, 105": drawn(12_000, lambda rng: stars(rng, 5, 21)),
    "one main destination, 100": drawn(
        10_000,
        lambda rng: (
            sizes(rng, 100, 0.7) * (0.8 * np.eye(100)[rng.permutation(100)] + 0.002)
        ),
    ),
}
FRESH: dict[str, Callable[[int], Table]] = {
    "doubling map, 96": drawn(
        10_000, lambda rng: (steps(96, 2) <= 2) * rng.gamma(1.0, size=(96, 96))
    ),
    "ladder, 100": drawn(
        12_000,
        lambda rng: (
            (np.kron(np.eye(2), apart(50) == 1) + (apart(100) == 50))
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


def measured() -> pd.DataFrame:
    """Return a row for each table, epsilon and rule: mean errors over the seeds, with
    the same noise for all rules.
    """
    rows = []
    for name, make in (KNOWN | FRESH).items():
        tables = [(seed, *make(seed)) for seed in SEEDS]
        for epsilon in EPSILONS:
            noise = laplace_noise(epsilon)
            for seed, support, counts in tables:
                rng = np.random.default_rng([seed, round(1000 * epsilon)])
                noisy = dpsim_release.noisy_counts(counts, noise, rng)
                for rule, probabilities in estimates(support, noisy, noise).items():
                    wrong = errors(support, counts, probabilities)
                    rows.append((name, epsilon, rule, *wrong))
        print(name, flush=True)
    table = pd.DataFrame(rows, columns=[*KEY, "rows", "long_run"])
    return table.groupby(KEY, sort=False).mean()


def page(table: pd.DataFrame) -> str:
    """Return estimates.md: ours beside the best of the twelve, which differs from table
    to table.
    """
    parts = [
        "# Chains estimated from the same noisy counts",
        f"By `python -m release.tools.estimates` ({machine()}).",
        "Total variation of rows (mean by events) and of the stationary distribution, "
        "as a multiple of the error of "
        f"the best of {len(RULES)} other rules at the same table and epsilon: above 1 "
        f"ours errs more. The best "
        "is another one from table to table; the second table of each part has what "
        "each of them would have.",
    ]
    best = table.drop("ours", level="rule").groupby(KEY[:2], sort=False).min()
    best = best.reindex(table.index.droplevel("rule")).to_numpy().clip(1e-12)
    sections = {
        "Kinds that the rule was chosen on: the seven with the largest errors of 42, "
        "and five others": KNOWN,
        "Kinds that had no part in it": FRESH,
    }
    each = [f"{what}, {e:g}" for what in ("rows", "long run") for e in EPSILONS]
    over = ["rows: geometric mean", "worst", "long run: geometric mean", "worst"]
    for section, kinds in sections.items():
        ratios = (table / best).loc[list(kinds)]
        ours = ratios.xs("ours", level="rule").unstack("epsilon")
        of_rules = ratios.groupby("rule").agg([gmean, "max"])
        of_rules = of_rules.sort_values(("rows", "gmean"))
        parts += [f"## {section}", markdown(["table", *each], ours)]
        parts += [markdown(["rule", *over], of_rules)]
    return "\n\n".join(parts) + "\n"


def markdown(head: list[str], table: pd.DataFrame) -> str:
    """Return a table in Markdown, with two digits after the point."""
    rows = [(name, *(f"{x:.2f}" for x in row)) for name, *row in table.itertuples()]
    return markdown_table(head, rows)


def main() -> None:
    table = measured()
    table.round(6).to_csv(RESULTS, lineterminator="\n")
    RESULTS.with_suffix(".md").write_text(page(table), encoding="utf-8")


if __name__ == "__main__":
    main()
