"""Estimates of a chain from the same noisy counts, and releases at scale.

python -m tools.bench.release            # errors of four rules on the tables they were chosen on
python -m tools.bench.release --fresh    # tables that had no part in the choice
python -m tools.bench.release --scale    # 100,000 states: 5 million declared pairs, private pairs

With --write the numbers go to tools/bench/results: release*.csv, release.md and release_scale.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpsim import datasets, markov, release
from dpsim.release import support as supports
from dpsim.release.noise import Noise, laplace_noise
from tools import tables
from tools.bench.compare import machine

RESULTS = Path(__file__).parent / "results" / "release.csv"
FRESH_RESULTS = RESULTS.with_name("release_fresh.csv")
SCALE = RESULTS.with_name("release_scale.csv")
STATES, OUT = 100_000, 50  # at scale: states, and allowed destinations of each
EVENTS = {"declared": 5_000_000, "private": 10_000_000}
MEASURES = ("row_tv", "row_tv_unweighted", "pi_tv")


# --- rules ------------------------------------------------------------------------------------------------------------


def ours(noisy: np.ndarray, noise: Noise) -> np.ndarray:
    """Return the chain that a release has."""
    support = release.all_pairs(range(len(noisy)))
    return release.estimated(support, noisy.ravel(), noise).matrix.toarray()


def clip(noisy: np.ndarray, noise: Noise) -> np.ndarray:
    """Return noisy counts with the negative ones at 0 and rows normalised; dp_mobility_report's rule too."""
    return normalised(noisy)


def norm_sub(noisy: np.ndarray, noise: Noise) -> np.ndarray:
    """Return the positive parts less one offset, so that they sum to the noisy total of the whole table."""
    return normalised(noisy - offset(noisy.ravel()))


def privtrace(noisy: np.ndarray, noise: Noise) -> np.ndarray:
    """Return the rule of PrivTrace's code: in each row the smallest positive counts pay for the negative ones."""
    order = np.argsort(noisy, axis=1)
    rows = np.take_along_axis(noisy, order, axis=1)
    sums = np.cumsum(rows, axis=1)
    pays = np.argmax(sums > 0, axis=1)[:, None]
    place = np.arange(noisy.shape[1])
    left = np.where(place < pays, 0, np.where(place == pays, sums, rows)) * (sums[:, -1:] > 0)
    kept = np.empty_like(noisy)
    np.put_along_axis(kept, order, left, axis=1)
    return normalised(kept)


def offset(noisy: np.ndarray) -> float:
    """Return theta with sum (y - theta)^+ = max(sum y, 1)."""
    y = np.sort(noisy)[::-1].astype(float)
    theta = (np.cumsum(y) - max(float(y.sum()), 1.0)) / np.arange(1, y.size + 1)
    return float(theta[np.flatnonzero(y > theta)[-1]])


RULES = {"ours": ours, "clip": clip, "norm-sub": norm_sub, "PrivTrace": privtrace}


def normalised(noisy: np.ndarray) -> np.ndarray:
    kept = np.maximum(noisy, 0).astype(float)
    totals = kept.sum(axis=1, keepdims=True)
    return np.where(totals > 0, kept / np.where(totals > 0, totals, 1.0), 1.0 / len(noisy))


def restarted(counts: np.ndarray) -> np.ndarray:
    """Return the chain of counts that goes on from a state without departures as the events arrive."""
    arrivals = counts.sum(axis=0, keepdims=True)
    return normalised(np.where(counts.sum(axis=1, keepdims=True) > 0, counts, arrivals))


def errors(counts: np.ndarray, P: np.ndarray) -> dict[str, float]:
    """Return the errors of a chain beside the table's own.

    Total variation of rows with events, mean by events and by rows, and of the stationary distribution; the
    Jensen-Shannon divergence of all flows (in nats, each row with its own share of events), and which share of the
    pairs that no event has, in rows that have some, is 0.
    """
    totals = counts.sum(axis=1)
    seen = totals > 0
    shares = counts[seen] / totals[seen, None]
    moved = 0.5 * np.abs(shares - P[seen]).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = 0.5 * (shares + P[seen])
        halves = [np.where(p > 0, p * np.log(p / middle), 0.0).sum(axis=1) for p in (shares, P[seen])]
    zeros = counts[seen] == 0
    return {
        "row_tv": float(totals[seen] @ moved / totals.sum()),
        "row_tv_unweighted": float(moved.mean()),
        "pi_tv": float(markov.total_variation(stationary(restarted(counts)), stationary(P))),
        "row_js": float(totals[seen] @ (0.5 * (halves[0] + halves[1])) / totals.sum()),
        "zeros_kept": float((P[seen][zeros] == 0).mean()) if zeros.any() else 1.0,
    }


def stationary(P: np.ndarray) -> np.ndarray:
    """Return the stationary distribution with one jump in a million to anywhere, so that every chain has one."""
    P = (1.0 - 1e-6) * P + 1e-6 / len(P)
    if len(P) <= 1_000:
        return markov.stationary_distribution(P)
    pi = np.full(len(P), 1.0 / len(P))
    for _ in range(300):  # to five digits on chains that mix as fast as these
        pi = 0.5 * (pi + pi @ P)
    return pi / pi.sum()


# --- tables -----------------------------------------------------------------------------------------------------------


def gravity(places: int, trips: int, spread: float, seed: int) -> np.ndarray:
    """Return trips between places of log-normal sizes, fewer between distant ones: a stand-in for tables not held."""
    rng = np.random.default_rng(seed)
    at, size = rng.random((places, 2)), rng.lognormal(0.0, spread, places)
    far = np.hypot(*(at[:, None] - at).transpose(2, 0, 1))
    share = size[:, None] * size * np.exp(-5.0 * far)
    return rng.multinomial(trips, (share / share.sum()).ravel()).reshape(places, places)


def dense(trips: pd.DataFrame) -> np.ndarray:
    """Return the counts between all labels of a table."""
    labels = np.union1d(trips["origin"], trips["destination"])
    support = release.all_pairs(labels.tolist())
    return release.counts_on(trips, support)[0].reshape(len(labels), len(labels))


def clicks(pages: int, total: int, seed: int) -> np.ndarray:
    """Return clicks between pages: popularity by Zipf's law, a few links on a page, some jumps to any page."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, pages + 1) ** 1.1
    popularity /= popularity.sum()
    P = np.tile(0.1 * popularity, (pages, 1))
    for page in range(pages):
        links = rng.choice(pages, 1 + rng.poisson(6), replace=False, p=popularity)
        P[page, links] += 0.9 * rng.dirichlet(np.full(links.size, 0.5))
    return walked(P, total, rng)


def steps_on_a_grid(side: int, total: int, seed: int) -> np.ndarray:
    """Return the moves of a walker on a square grid who stays or goes to a neighbour, uphill more readily."""
    rng = np.random.default_rng(seed)
    height = rng.normal(0.0, 1.0, (side, side)).ravel()
    at = np.stack(np.divmod(np.arange(side * side), side), axis=1)
    near = np.abs(at[:, None] - at).sum(axis=2) <= 1
    P = np.where(near, np.exp(height[None, :] - height[:, None]), 0.0)
    return walked(P / P.sum(axis=1, keepdims=True), total, rng)


def walked(P: np.ndarray, total: int, rng: np.random.Generator) -> np.ndarray:
    """Return the counts of a walk."""
    path = markov.random_walk(P, 0, total, rng=rng)
    counts = np.zeros(P.shape, dtype=np.int64)
    np.add.at(counts, (path[:-1], path[1:]), 1)
    return counts


def random_rows(states: int, total: int, seed: int) -> np.ndarray:
    """Return the counts of a walk whose rows have nothing in common: margins say nothing about them."""
    rng = np.random.default_rng(seed)
    return walked(rng.dirichlet(np.full(states, 0.3), states), total, rng)


def few_destinations(states: int, each: int, total: int, seed: int) -> np.ndarray:
    """Return rows of as many events, each to a few destinations chosen at random: margins say nothing about them."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((states, states), dtype=np.int64)
    for row in counts:
        row[rng.choice(states, each, replace=False)] = rng.multinomial(total, rng.dirichlet(np.ones(each)))
    return counts


def neighbours(states: int, each: int, total: int, seed: int) -> np.ndarray:
    """Return a walk of so many events in which each state has a few neighbours, at random."""
    rng = np.random.default_rng(seed)
    P = np.zeros((states, states))
    for i, row in enumerate(P):
        near = np.append((i + 1) % states, rng.choice(states, each - 1, replace=False))
        np.add.at(row, near, rng.dirichlet(np.ones(each)))
    return walked(P, total, rng)


def blocks(number: int, size: int, each: int, seed: int) -> np.ndarray:
    """Return events within blocks of states and never between them, but for one ring through all."""
    rng = np.random.default_rng(seed)
    n = number * size
    counts = np.zeros((n, n), dtype=np.int64)
    for start in range(0, n, size):
        counts[start : start + size, start : start + size] = rng.poisson(each, (size, size))
    counts[np.arange(n), (np.arange(n) + 1) % n] += each
    return counts


def giant(states: int, seed: int) -> np.ndarray:
    """Return rows of a few thousand events, and one cell of 10^12."""
    counts = random_rows(states, 60_000, seed)
    counts[0, 1] = 10**12
    return counts


KNOWN: dict[str, Callable[[], np.ndarray]] = {
    "63 zones, 2.9 million trips": lambda: dense(datasets.load_taxi_trips("surrogate")),
    "266 places, 308,000 trips": lambda: gravity(266, 308_000, 2.0, 3),
    "69 stations, 5,000 trips": lambda: gravity(69, 5_000, 1.0, 3),
    "30 places, 2,000 trips": lambda: gravity(30, 2_000, 1.5, 3),
    "300 states, 5 neighbours, 6,000 events": lambda: neighbours(300, 5, 6_000, 3),
    "2,000 states, 5 neighbours, 60,000 events": lambda: neighbours(2_000, 5, 60_000, 3),
    "60 states, 4 destinations, 6,000 events": lambda: few_destinations(60, 4, 100, 3),
    "10 blocks of 8 states, 19,000 events": lambda: blocks(10, 8, 30, 3),
    "5 states, 60 events": lambda: random_rows(5, 60, 3),
    "30 states, one cell of 10^12": lambda: giant(30, 3),
}
FRESH: dict[str, Callable[[], np.ndarray]] = {
    "clicks, 200 pages, 30,000 events": lambda: clicks(200, 30_000, 12),
    "grid walk, 100 squares, 15,000 events": lambda: steps_on_a_grid(10, 15_000, 12),
    "random rows, 30 states, 6,000 events": lambda: random_rows(30, 6_000, 12),
    "60 states, 6 destinations, 12,000 events": lambda: few_destinations(60, 6, 200, 12),
    "150 states, 3 neighbours, 9,000 events": lambda: neighbours(150, 3, 9_000, 12),
    "120 places, 20,000 trips": lambda: gravity(120, 20_000, 1.5, 12),
    "6 blocks of 12 states, 9,000 events": lambda: blocks(6, 12, 10, 12),
}


def lines(tables: dict[str, np.ndarray], draws: int) -> pd.DataFrame:
    """Return a row for each table, epsilon and rule: mean errors over the draws, with the same noise for all rules."""
    rows = []
    for name, counts in tables.items():
        for epsilon in (0.1, 0.3, 1.0, 3.0):
            noise, found = laplace_noise(epsilon), []
            for seed in range(draws if counts.size < 10**6 else 1):
                noisy = release.noisy_counts(counts.ravel(), noise, np.random.default_rng(seed)).reshape(counts.shape)
                found += [{"rule": rule, **errors(counts, make(noisy, noise))} for rule, make in RULES.items()]
            means = pd.DataFrame(found).groupby("rule", sort=False).mean().reset_index()
            rows.append(means.assign(table=name, epsilon=epsilon))
            print(shown(rows[-1]), flush=True)
    return pd.concat(rows)[["table", "epsilon", "rule", *MEASURES, "row_js", "zeros_kept"]]


def shown(table: pd.DataFrame) -> str:
    return table.to_string(index=False, header=False, float_format=lambda x: f"{x:.5f}")


# --- scale ------------------------------------------------------------------------------------------------------------


def at_scale(states: int, out: int, pairs: str) -> dict[str, Any]:
    """Return what each step of `dpsim release` takes, from a file on: by the clock, and of processors (`_cpu_s`).

    In a process of its own, whose peak of memory is that of the release: another one has written the files.
    """
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        for work, arguments in ((_write_events, (states, out, EVENTS[pairs])), (_measure, (pairs,))):
            here, there = context.Pipe()
            process = context.Process(target=work, args=(Path(folder), there, *arguments))
            process.start()
            there.close()
            found = here.recv()
            process.join()
    return {"pairs": pairs, "states": states, "events": EVENTS[pairs], **found}


def _write_events(folder: Path, pipe: Any, states: int, out: int, total: int) -> None:
    rng = np.random.default_rng(1)
    steps = np.append(1, rng.choice(np.arange(2, states), out - 1, replace=False))
    ends = (np.arange(states)[:, None] + steps) % states
    start = rng.integers(0, states, total)
    end = ends[start, (out * rng.random(total) ** 3).astype(int)]
    pd.DataFrame({"origin": start, "destination": end}).to_parquet(folder / "events.parquet")
    graph = pd.DataFrame({"origin": np.repeat(np.arange(states), out), "destination": ends.ravel()})
    graph.to_parquet(folder / "graph.parquet")
    (folder / "states.txt").write_text("\n".join(map(str, range(states))), encoding="utf-8")
    pipe.send({})


def _measure(folder: Path, pipe: Any, pairs: str) -> None:
    found: dict[str, Any] = {}
    times = [(time.perf_counter(), time.process_time())]

    def lap(name: str) -> None:
        times.append((time.perf_counter(), time.process_time()))
        found[f"{name}_s"], found[f"{name}_cpu_s"] = (round(b - a, 1) for a, b in zip(*times[-2:]))

    if pairs == "declared":
        support: Any = release.declared_graph(supports.read_graph(str(folder / "graph.parquet")))
    else:
        support = release.private_pairs(supports.read_categories(str(folder / "states.txt")))
    lap("support")
    counts = release.count_transitions(
        str(folder / "events.parquet"), "origin", "destination", categories=support.labels
    )
    lap("count")
    chain = release.release_chain(counts, epsilon=1.0, delta=1e-6, support=support)
    lap("release")
    found |= {"counted_pairs": len(counts.trips), "released_pairs": chain.noisy.size}
    assert chain.estimate.matrix.shape[0] == len(support.labels)
    lap("estimate")
    with release.prepared(folder / "out") as place:
        place.write(chain, counts)
    lap("write")
    found["total_s"], found["total_cpu_s"] = (round(b - a, 1) for a, b in zip(times[0], times[-1]))
    pipe.send(found | {"peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)})


# --- pages ------------------------------------------------------------------------------------------------------------


def page_of_errors() -> str:
    """Return release.md: ours beside the better of two simple rules, by three measures."""
    parts = [
        "# Errors of estimates from the same noisy counts",
        f"By `python -m tools.bench.release --write` and `--fresh --write` ({machine()}).",
        "Total variation of rows (mean by events; mean by rows) and of the stationary distribution. `clip`: negative "
        "counts to 0, rows normalised, as dp_mobility_report does. `norm-sub`: one offset for the whole table. "
        "`PrivTrace`: in each row the smallest positive counts pay for the negative ones. The ratio is ours to the "
        "better of clip and norm-sub; above 1 ours errs more. `JS`: Jensen-Shannon divergence of rows, in nats, mean "
        "by events. `zeros`: which share of the pairs without events is kept at 0.",
    ]
    sections = {"Tables that the rule was chosen on": RESULTS, "Tables that had no part in it": FRESH_RESULTS}
    for section, table in ((name, pd.read_csv(path)) for name, path in sections.items() if path.exists()):
        measured = [f"{m}: {what}" for m in ("rows", "unweighted", "stationary") for what in ("ours", "ratio")]
        head = ["table", "epsilon", *measured, "rows: PrivTrace", "JS: ours", "zeros: ours"]
        lines = []
        worst = []
        for (name, epsilon), part in table.groupby(["table", "epsilon"], sort=False):
            at = part.set_index("rule")
            ratios = [at[m]["ours"] / max(min(at[m]["clip"], at[m]["norm-sub"]), 1e-12) for m in MEASURES]
            worst.append(ratios)
            cells = [text for m, r in zip(MEASURES, ratios) for text in (f"{at[m]['ours']:.2g}", f"{r:.2f}")]
            more = [f"{at['row_tv']['PrivTrace']:.2g}", *(f"{at[m]['ours']:.2g}" for m in ("row_js", "zeros_kept"))]
            lines.append([name, f"{epsilon:g}", *cells, *more])
        most = np.max(worst, axis=0)
        parts += [f"## {section}", tables.markdown(head, lines)]
        parts += [f"The largest ratios: {most[0]:.2f} by events, {most[1]:.2f} by rows, {most[2]:.2f} stationary."]
    return "\n\n".join(parts) + "\n"


def page_of_scale(table: pd.DataFrame) -> str:
    """Return release_scale.md."""
    columns = ["pairs", "events", "released pairs", "draws, s", "in all, s", "of processors, s", "peak, MiB"]
    rows = []
    for r in table.itertuples():
        seconds = (f"{each:.0f}" for each in (r.release_s, r.total_s, r.total_cpu_s))
        rows.append([r.pairs, f"{r.events:,}", f"{r.released_pairs:,}", *seconds, f"{r.peak_mib:,}"])
    return (
        "# Releases at scale\n\n"
        f"By `python -m tools.bench.release --scale --write` ({machine()}): `dpsim release` from a Parquet file to the "
        f"written folder, {int(table['states'].iloc[0]):,} states. Declared: a public graph of 5 million pairs. "
        "Private: pairs chosen by their noisy counts among the declared states. Draws are OpenDP's, in threads. "
        "[Each step](release_scale.csv).\n\n" + tables.markdown(columns, rows) + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=5, help="releases of each line")
    parser.add_argument("--write", action="store_true", help="write tools/bench/results/release*")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--states", type=int, default=STATES)
    a = parser.parse_args()
    if a.scale:
        table = pd.DataFrame([at_scale(a.states, OUT, pairs) for pairs in EVENTS])
        print(shown(table))
        if a.write:
            table.to_csv(SCALE, index=False)
            SCALE.with_suffix(".md").write_text(page_of_scale(table), encoding="utf-8")
        return
    table = lines({name: make() for name, make in (FRESH if a.fresh else KNOWN).items()}, a.draws)
    if a.write:
        table.round(6).to_csv(FRESH_RESULTS if a.fresh else RESULTS, index=False)
        RESULTS.with_suffix(".md").write_text(page_of_errors(), encoding="utf-8")


if __name__ == "__main__":
    main()
