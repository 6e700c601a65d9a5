"""Releases against what else could be released, and releases at scale.

python tools/bench/release.py                              # the table: errors of four ways, in one run
python tools/bench/release.py --events FILE --columns A,B  # the same for another table of events (csv or Parquet)
python tools/bench/release.py --unseen --draws 20          # two tables that were not used for choosing the estimate
python tools/bench/release.py --scale                      # 100,000 states, 5 million declared pairs, both noises
python tools/bench/release.py --scale --pairs private      # pairs chosen privately, 10 million events
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpsim import accounting, datasets, dirichlet, markov, release
from dpsim.accounting import GAUSSIAN, LAPLACE, Unit

FLOOR = 1e-6  # of the released probability in the divergence, before rows are normalised again
DRAWS = 3
RESULTS = Path(__file__).parent / "results" / "release.csv"
SCALE = RESULTS.with_name("release_scale.csv")


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


UNSEEN: dict[str, Callable[[], np.ndarray]] = {
    "clicks, 300 pages, 40,000 events": lambda: clicks(300, 40_000, 5),
    "grid walk, 144 squares, 20,000 events": lambda: steps_on_a_grid(12, 20_000, 5),
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


def at_scale(states: int, out: int, total: int, pairs: str, mechanism: str) -> dict[str, Any]:
    """Return what each step takes, counting, releasing and estimating the chain: time by the clock and of processors.

    On a machine that is shared, the seconds of processors divided by its cores are what an idle one would need, where
    a step is threaded: the draws and the estimate are. The peak is that of this process, which has no children.
    """
    rng = np.random.default_rng(1)
    steps = np.append(1, rng.choice(np.arange(2, states), out - 1, replace=False))
    ends = (np.arange(states)[:, None] + steps) % states
    start = rng.integers(0, states, total)
    table = pd.DataFrame({"origin": start, "destination": ends[start, (out * rng.random(total) ** 3).astype(int)]})
    found: dict[str, Any] = {"mechanism": mechanism, "pairs": pairs, "states": states, "events": total}
    times = [(time.perf_counter(), time.process_time())]

    def lap(name: str) -> None:
        times.append((time.perf_counter(), time.process_time()))
        found[f"{name}_s"], found[f"{name}_cpu_s"] = (round(b - a, 1) for a, b in zip(*times[-2:]))

    trips = datasets.count_transitions(table, "origin", "destination", categories=range(states))
    del table, start
    lap("count")
    support: Any = release.private_pairs(range(states))
    if pairs == "declared":
        graph = pd.DataFrame({"origin": np.repeat(np.arange(states), out), "destination": ends.ravel()})
        support = release.declared_graph(graph, range(states))
        del graph
    lap("support")
    chain = release.release_chain(trips, epsilon=1.0, delta=1e-6, support=support, mechanism=mechanism)
    lap("release")
    assert chain.estimate.matrix.shape == (states, states)
    lap("estimate")
    found["total_s"], found["total_cpu_s"] = (round(b - a, 1) for a, b in zip(times[0], times[-1]))
    found |= {"counted_pairs": len(trips), "released_pairs": chain.noisy.size}
    return found | {"peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)}


def written(table: pd.DataFrame, path: Path, kind: list[str]) -> None:
    """Put rows into a table, in the place of earlier ones of the same kind."""
    if path.exists():
        table = pd.concat([pd.read_csv(path), table]).drop_duplicates(kind, keep="last").sort_values(kind)
    table.round(6).to_csv(path, index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS, help="releases of each line")
    parser.add_argument("--events", help="a table of events to measure with instead")
    parser.add_argument("--columns", default="origin,destination")
    parser.add_argument("--write", action="store_true", help="write tools/bench/results/release*.csv")
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--states", type=int, default=100_000)
    parser.add_argument("--out", type=int, default=50, help="allowed destinations of a state")
    parser.add_argument("--pairs", choices=("declared", "private"), default="declared")
    parser.add_argument("--mechanism", choices=("laplace", "gaussian"))
    a = parser.parse_args()
    if a.scale:
        total = 10_000_000 if a.pairs == "private" else 5_000_000
        for word, mechanism in (("laplace", LAPLACE), ("gaussian", GAUSSIAN)):
            if a.mechanism in (None, word):
                found = at_scale(a.states, a.out, total, a.pairs, mechanism)
                print(", ".join(f"{name} {value}" for name, value in found.items()), flush=True)
                if a.write:
                    written(pd.DataFrame([found]), SCALE, ["mechanism", "pairs", "states"])
        return
    if a.unseen:
        for name, make in UNSEEN.items():
            counts = make()
            table = pd.concat([unseen(name, counts, epsilon, a.draws) for epsilon in (0.1, 1.0, 4.0)])
            if a.write:
                written(table, RESULTS.with_name("release_unseen.csv"), ["table", "epsilon", "way"])
        return
    tables = known_tables()
    if a.events:
        tables = {Path(a.events).name: dense(datasets.count_transitions(a.events, *a.columns.split(",")))}
    table = lines(tables, a.draws)
    if a.write:
        RESULTS.parent.mkdir(exist_ok=True)
        table.round(6).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
