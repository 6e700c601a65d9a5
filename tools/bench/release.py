"""Releases against what else could be released, and releases at scale.

python -m tools.bench.release                              # the table: errors of six ways, in one run
python -m tools.bench.release --events FILE --columns A,B  # the same for another table of events (csv or Parquet)
python -m tools.bench.release --unseen                     # tables that were not used for choosing the estimate
python -m tools.bench.release --scale                      # 100,000 states: 5 million declared pairs, private pairs

With --write the numbers go to tools/bench/results: release*.csv, release.md and release_scale.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpsim import accounting, datasets, dirichlet, markov, release
from dpsim.accounting import GAUSSIAN, LAPLACE, Unit
from tools.bench.compare import machine

FLOOR = 1e-6  # of the released probability in the divergence, before rows are normalised again
DRAWS = 3
UNSEEN_DRAWS = 20
RESULTS = Path(__file__).parent / "results" / "release.csv"
UNSEEN_RESULTS = RESULTS.with_name("release_unseen.csv")
SCALE = RESULTS.with_name("release_scale.csv")
STATES, OUT = 100_000, 50  # at scale: states, and allowed destinations of each
EVENTS = {"declared": 5_000_000, "private": 10_000_000}


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


def ours(counts: np.ndarray, noise: accounting.Noise, rng: np.random.Generator) -> np.ndarray:
    """Return the chain of one release."""
    support = release.all_pairs(range(len(counts)))
    noisy = release.noisy_counts(counts.ravel(), noise, rng)
    return release.estimated(support, noisy, noise).matrix.toarray()


def textbook(counts: np.ndarray, noise: accounting.Noise, rng: np.random.Generator) -> np.ndarray:
    """Return noisy counts with the negative ones at 0 and rows normalised; a row of zeros is uniform."""
    return normalised(release.noisy_counts(counts.ravel(), noise, rng).reshape(counts.shape))


def independent(counts: np.ndarray, epsilon: float, sensitivity: int, rng: np.random.Generator) -> np.ndarray:
    """Return the textbook's chain in a dozen lines of OpenDP, with nothing of this package."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    mechanism = dp.m.make_laplace(*space, scale=sensitivity / epsilon)
    assert mechanism.map(sensitivity) <= epsilon * (1 + 1e-12)
    noisy = np.maximum(np.array(mechanism(counts.ravel().tolist())).reshape(counts.shape), 0)
    totals = noisy.sum(axis=1, keepdims=True)
    return np.where(totals > 0, noisy / np.where(totals > 0, totals, 1), 1 / len(counts))


def uniform_rows(counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the chain that knows nothing of the counts, and draws nothing."""
    return np.full(counts.shape, 1.0 / len(counts))


def tempered(counts: np.ndarray, epsilon: float, delta: float, events: int, rng: np.random.Generator) -> np.ndarray:
    """Return one tempered Dirichlet draw, alpha the best of a grid for the error it has in the mean on these counts.

    A unit of m events in all with kappa alpha >= 1/2: Gamma(kappa alpha) against Gamma(kappa (alpha + m)). The grid is
    judged by the data themselves, which flatters this way.
    """
    best: tuple[float, np.ndarray] | None = None
    for alpha in events * np.geomspace(2.0, 2000.0, 9) / min(epsilon, 1.0):
        floor = accounting.posterior_floor(delta, alpha=alpha / events, adjacency="add-remove")
        if floor >= epsilon:
            continue
        kappa = float(accounting.calibrate_kappa(epsilon, delta, alpha=alpha / events, adjacency="add-remove")) / events
        if events > 1 and kappa * alpha < 0.5:
            continue
        drawn = np.stack([dirichlet.posterior_release(row, kappa=kappa, alpha=alpha, rng=rng) for row in counts])
        error = errors(counts, drawn)["row_tv"]
        best = (error, drawn) if best is None or error < best[0] else best
    return np.full(counts.shape, 1.0 / len(counts)) if best is None else best[1]


def normalised(noisy: np.ndarray) -> np.ndarray:
    kept = np.maximum(noisy, 0).astype(float)
    totals = kept.sum(axis=1, keepdims=True)
    return np.where(totals > 0, kept / np.where(totals > 0, totals, 1.0), 1.0 / len(noisy))


def errors(counts: np.ndarray, P: np.ndarray) -> dict[str, float]:
    """Return the errors of a chain beside the table's own: of rows with events, and of the stationary distribution."""
    totals = counts.sum(axis=1)
    seen = totals > 0
    shares = counts[seen] / totals[seen, None]
    moved = 0.5 * np.abs(shares - P[seen]).sum(axis=1)
    floored = np.maximum(P[seen], FLOOR)
    floored /= floored.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.where(shares > 0, shares * np.log(shares / floored), 0.0).sum(axis=1)
    return {
        "row_tv": float(totals[seen] @ moved / totals.sum()),
        "row_tv_unweighted": float(moved.mean()),
        "pi_tv": float(markov.total_variation(stationary(normalised(counts)), stationary(P))),
        "row_kl": float(totals[seen] @ divergence / totals.sum()),
    }


def stationary(P: np.ndarray) -> np.ndarray:
    """Return the stationary distribution with one jump in a million to anywhere, so that every chain has one."""
    return markov.stationary_distribution((1.0 - 1e-6) * P + 1e-6 / len(P))


def lines(tables: dict[str, np.ndarray], draws: int) -> pd.DataFrame:
    """Return a row for each table, unit and epsilon, and each way: mean errors over the draws."""
    settings = [(name, e, Unit()) for name in tables for e in (0.1, 1.0, 3.0, 4.0)]
    if "63 zones" in tables:
        settings.append(("63 zones", 1.0, Unit(2, 5)))
    rows = []
    for name, epsilon, unit in settings:
        counts, delta = tables[name], 1e-6
        noise = {m: accounting.chosen_noise(epsilon, delta, unit, mechanism=m) for m in (LAPLACE, GAUSSIAN, None)}
        events = unit.sensitivities()[0]
        ways: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
            "ours": partial(ours, counts, noise[None]),
            "textbook": partial(textbook, counts, noise[LAPLACE]),
            "textbook, Gaussian": partial(textbook, counts, noise[GAUSSIAN]),
            "OpenDP alone": partial(independent, counts, epsilon, events),
            "tempered Dirichlet": partial(tempered, counts, epsilon, delta, events),
            "uniform rows": partial(uniform_rows, counts),
        }
        for way, make in ways.items():
            found = pd.DataFrame([errors(counts, make(np.random.default_rng(seed))) for seed in range(draws)]).mean()
            rows.append({"table": name, "unit": unit.short, "epsilon": epsilon, "way": way, **found})
        print(shown(pd.DataFrame(rows[-len(ways) :])), flush=True)
    return pd.DataFrame(rows)


def shown(table: pd.DataFrame) -> str:
    return table.to_string(index=False, header=False, float_format=lambda x: f"{x:.5f}")


def known_tables() -> dict[str, np.ndarray]:
    """Return the zones, and stand-ins for a day of taxis and for bike stations."""
    return {
        "63 zones": dense(datasets.load_taxi_trips("surrogate")),
        "266 places, 308,000 trips": gravity(266, 308_000, 2.0, 3),
        "69 stations, 5,000 trips": gravity(69, 5_000, 1.0, 3),
    }


# --- tables not used for choosing -------------------------------------------------------------------------------------


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


UNSEEN: dict[str, Callable[[], np.ndarray]] = {
    "clicks, 200 pages, 30,000 events": lambda: clicks(200, 30_000, 11),
    "grid walk, 100 squares, 15,000 events": lambda: steps_on_a_grid(10, 15_000, 11),
    "random rows, 30 states, 6,000 events": lambda: random_rows(30, 6_000, 11),
    "4 destinations of 60, 6,000 events": lambda: few_destinations(60, 4, 100, 11),
}


def unseen(name: str, counts: np.ndarray, epsilon: float, draws: int) -> pd.DataFrame:
    """Return errors on a table that had no part in choosing the estimate's rule, and their ratios to the textbook's.

    A seed gives ours and the textbook the same noisy counts; a ratio's standard error is that of a ratio of means.
    """
    noise = accounting.chosen_noise(epsilon, 0.0)
    ways: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
        "ours": lambda rng: ours(counts, noise, rng),
        "textbook": lambda rng: textbook(counts, noise, rng),
        "OpenDP alone": lambda rng: independent(counts, epsilon, 1, rng),
        "uniform rows": lambda rng: np.full(counts.shape, 1.0 / len(counts)),
    }
    found = {
        way: pd.DataFrame([errors(counts, make(np.random.default_rng(seed))) for seed in range(draws)])
        for way, make in ways.items()
    }
    rows = []
    for way, each in found.items():
        row: dict[str, Any] = {"table": name, "used_for_choosing": "no", "epsilon": epsilon, "way": way, "draws": draws}
        for measure in ("row_tv", "row_tv_unweighted"):
            mine, plain = each[measure], found["textbook"][measure]
            ratio = mine.mean() / plain.mean()
            error = (mine - ratio * plain).std() / (plain.mean() * draws**0.5)
            row |= {measure: mine.mean(), f"{measure}_ratio": ratio, f"{measure}_ratio_se": error}
        rows.append(row)
    print(shown(pd.DataFrame(rows)), flush=True)
    return pd.DataFrame(rows)


# --- scale ------------------------------------------------------------------------------------------------------------


def at_scale(states: int, out: int, pairs: str, mechanism: str) -> dict[str, Any]:
    """Return what each step of `dpsim release` takes, from a file on: by the clock, and of processors (`_cpu_s`).

    In a process of its own, whose peak of memory is that of the release: another one has written the files.
    """
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        for work, arguments in ((_write_events, (states, out, EVENTS[pairs])), (_measure, (pairs, mechanism))):
            here, there = context.Pipe()
            process = context.Process(target=work, args=(Path(folder), there, *arguments))
            process.start()
            there.close()
            found = here.recv()
            process.join()
    return {"mechanism": mechanism, "pairs": pairs, "states": states, "events": EVENTS[pairs], **found}


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


def _measure(folder: Path, pipe: Any, pairs: str, mechanism: str) -> None:
    found: dict[str, Any] = {}
    times = [(time.perf_counter(), time.process_time())]

    def lap(name: str) -> None:
        times.append((time.perf_counter(), time.process_time()))
        found[f"{name}_s"], found[f"{name}_cpu_s"] = (round(b - a, 1) for a, b in zip(*times[-2:]))

    if pairs == "declared":
        support: Any = release.declared_graph(release.read_graph(str(folder / "graph.parquet")))
    else:
        support = release.private_pairs(release.read_categories(str(folder / "states.txt")))
    lap("support")
    trips = datasets.count_transitions(
        str(folder / "events.parquet"), "origin", "destination", categories=support.labels
    )
    lap("count")
    chain = release.release_chain(trips, epsilon=1.0, delta=1e-6, support=support, mechanism=mechanism)
    lap("release")
    found |= {"counted_pairs": len(trips), "released_pairs": chain.noisy.size}
    assert chain.estimate.matrix.shape[0] == len(support.labels)
    lap("estimate")
    release.write_release(chain, folder / "out", trips)
    lap("write")
    found["total_s"], found["total_cpu_s"] = (round(b - a, 1) for a, b in zip(times[0], times[-1]))
    pipe.send(found | {"peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)})


# --- pages ------------------------------------------------------------------------------------------------------------


def page_of_errors() -> str:
    """Return release.md: ours in units of the textbook's way and of uniform rows, on every line of both tables."""
    parts = [
        "# Errors of releases",
        f"By `python -m tools.bench.release --write` and `--unseen --write` ({machine()}).",
    ]
    parts += [
        "Total variation between a row of the table and of the chain, mean over rows (weighted: by events) and over "
        "releases. The textbook's way: two-sided geometric noise, negative counts to 0, rows normalised. Ratios above "
        "1 are lines on which ours errs more."
    ]
    sections = {"Tables that the estimate was chosen on": RESULTS, "Tables that had no part in it": UNSEEN_RESULTS}
    for name, table in ((name, pd.read_csv(path)) for name, path in sections.items() if path.exists()):
        if "unit" not in table:
            table["unit"] = "event"
        lines = ["| table | unit | epsilon | ours | textbook | ours / textbook | unweighted | ours / uniform |"]
        lines += ["| --- | --- |" + " ---: |" * 6]
        worst = []
        for (data, unit, epsilon), part in table.groupby(["table", "unit", "epsilon"], sort=False):
            e, u = (part.set_index("way")[measure] for measure in ("row_tv", "row_tv_unweighted"))
            ratios = [e["ours"] / e["textbook"], u["ours"] / u["textbook"], e["ours"] / e["uniform rows"]]
            worst.append(ratios)
            lines.append(
                f"| {data} | {unit} | {epsilon:g} | {e['ours']:.2g} | {e['textbook']:.2g} | {ratios[0]:.3f} "
                f"| {ratios[1]:.3f} | {ratios[2]:.3f} |"
            )
        most = np.max(worst, axis=0)
        parts += [f"## {name}", "\n".join(lines)]
        parts += [
            f"The largest ratios: {most[0]:.3f} weighted, {most[1]:.3f} unweighted; {most[2]:.3f} of uniform rows."
        ]
    return "\n\n".join(parts) + "\n"


def page_of_scale(table: pd.DataFrame) -> str:
    """Return release_scale.md."""
    rows = ["| noise | pairs | events | released pairs | draws, s | in all, s | of processors, s | peak, MiB |"]
    rows += ["| --- | --- |" + " ---: |" * 6]
    rows += [
        f"| {r.mechanism} | {r.pairs} | {r.events:,} | {r.released_pairs:,} | {r.release_s:.0f} | {r.total_s:.0f} "
        f"| {r.total_cpu_s:.0f} | {r.peak_mib:,} |"
        for r in table.itertuples()
    ]
    return (
        "# Releases at scale\n\n"
        f"By `python -m tools.bench.release --scale --write` ({machine()}): `dpsim release` from a Parquet file to the "
        f"written folder, {int(table['states'].iloc[0]):,} states. Declared: a public graph of 5 million pairs. "
        "Private: pairs chosen by their noisy counts among the declared states. Draws are OpenDP's, in threads. "
        "[Each step](release_scale.csv).\n\n" + "\n".join(rows) + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, help=f"releases of each line ({DRAWS}; unseen tables: {UNSEEN_DRAWS})")
    parser.add_argument("--events", help="a table of events to measure with instead")
    parser.add_argument("--columns", default="origin,destination")
    parser.add_argument("--write", action="store_true", help="write tools/bench/results/release*")
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--states", type=int, default=STATES)
    a = parser.parse_args()
    if a.scale:
        found = []
        for pairs in EVENTS:
            for mechanism in (LAPLACE, GAUSSIAN):
                found.append(at_scale(a.states, OUT, pairs, mechanism))
                print(", ".join(f"{name} {value}" for name, value in found[-1].items()), flush=True)
        table = pd.DataFrame(found)
        if a.write:
            table.to_csv(SCALE, index=False)
            SCALE.with_suffix(".md").write_text(page_of_scale(table), encoding="utf-8")
        return
    if a.unseen:
        counted = {name: make() for name, make in UNSEEN.items()}
        settings = [(name, epsilon) for name in UNSEEN for epsilon in (0.1, 1.0, 4.0)]
        table = pd.concat([unseen(name, counted[name], e, a.draws or UNSEEN_DRAWS) for name, e in settings])
    else:
        tables = known_tables()
        if a.events:
            tables = {Path(a.events).name: dense(datasets.count_transitions(a.events, *a.columns.split(",")))}
        table = lines(tables, a.draws or DRAWS)
    if a.write:
        table.round(6).to_csv(UNSEEN_RESULTS if a.unseen else RESULTS, index=False)
        RESULTS.with_suffix(".md").write_text(page_of_errors(), encoding="utf-8")


if __name__ == "__main__":
    main()
