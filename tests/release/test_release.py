"""Releases: the right law, the stated budget, nothing unpaid, whole files, clear refusals, and an audit of it all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from scipy import stats

from dpsim import accounting, cli, datasets, markov, release
from dpsim.accounting import Unit
from dpsim.release import Source
from dpsim.release import files as release_files

PAGES = ["cart", "help", "home", "shop"]


def visits(rows: int = 4000, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    origin, destination = rng.choice(PAGES, rows), rng.choice(PAGES, rows, p=[0.1, 0.2, 0.3, 0.4])
    return pd.DataFrame({"user": rng.integers(0, 500, rows), "page_from": origin, "page_to": destination})


def counted(rows: int = 4000, seed: int = 1) -> pd.DataFrame:
    return datasets.count_transitions(visits(rows, seed), "page_from", "page_to")


def seeded(trips: pd.DataFrame, **settings: object) -> release.PrivateChain:
    return release.release_chain(trips, **({"epsilon": 1.0, "delta": 1e-6, "seed": 1} | settings))  # type: ignore[arg-type]


# --- draws ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 3.7, 200.0])
@pytest.mark.parametrize("seed", [1, None])
def test_gamma_law(shape: float, seed: int | None) -> None:
    draws = np.exp(release.log_gamma(np.full(60_000, shape), Source(seed)))
    assert stats.kstest(draws, stats.gamma(shape).cdf).pvalue > 1e-6
    if shape != 0.05:  # there the scale hardly shows: the shape is what is compared
        assert stats.kstest(draws * 1.1, stats.gamma(shape).cdf).pvalue < 1e-6
    assert stats.kstest(draws, stats.gamma(shape * 1.1).cdf).pvalue < 1e-6


def test_small_shapes_keep_their_left_tail() -> None:
    logs = release.log_gamma(np.full(20_000, 1e-3), Source(1))
    assert np.isfinite(logs).all()
    assert stats.kstest(logs * 1e-3, stats.expon.cdf, alternative="two-sided").pvalue < 1e-6  # not of the wrong sign
    assert stats.kstest(-logs * 1e-3, stats.expon.cdf).pvalue > 1e-6  # -a log G(a) is nearly exponential


def test_rows_are_dirichlet() -> None:
    row = np.array([2.0, 0.7, 5.0])
    indptr = np.arange(0, 3 * 40_000 + 1, 3)
    draws = release.dirichlet_rows(np.tile(row, 40_000), indptr, Source(1)).reshape(-1, 3)
    np.testing.assert_allclose(draws.sum(axis=1), 1.0, rtol=1e-14)
    for i in range(3):
        assert stats.kstest(draws[:, i], stats.beta(row[i], row.sum() - row[i]).cdf).pvalue > 1e-6
        assert stats.kstest(draws[:, i], stats.beta(1.1 * row[i], 1.1 * (row.sum() - row[i])).cdf).pvalue < 1e-6


@pytest.mark.parametrize("seed", [1, None])
def test_noise_of_totals(seed: int | None) -> None:
    noisy, spent = release.noisy_totals(np.full(30_000, 1000), 0.5, 2, Source(seed))
    assert 0.5 * (1 - 1e-9) < spent <= 0.5
    z = np.exp(-0.25)
    for scale, agrees in ((1.0, True), (1.1, False)):
        law = z ** (1 / scale)
        edges = np.arange(-12, 13)
        inside = (1 - law) / (1 + law) * law ** np.abs(edges)
        expected = 30_000 * np.append(inside, 1 - inside.sum())
        seen = np.array([(noisy - 1000 == e).sum() for e in edges])
        p = stats.chisquare(np.append(seen, 30_000 - seen.sum()), expected).pvalue
        assert (p > 1e-7) == agrees


@pytest.mark.parametrize("seed", [1, None])
def test_chosen_labels(seed: int | None) -> None:
    counts = {f"often {i}": 5000 for i in range(20)} | {f"once {i}": 1 for i in range(2000)}
    labels, threshold, epsilon, delta = release.chosen_labels(counts, 0.5, 1e-6, (2, 2, 1), Source(seed))
    assert set(labels) == {f"often {i}" for i in range(20)}
    assert epsilon <= 0.5
    assert 1e-7 < delta <= 1e-6
    z = np.exp(-0.25)  # two labels that one unit alone has: both pass with P(noise >= threshold - 1)
    assert delta == pytest.approx(2 * z ** (threshold - 1) / (1 + z), rel=1e-9)
    assert 2 * z ** (threshold - 2) / (1 + z) > 1e-6
    borderline = {f"{i}": threshold for i in range(4000)}
    passed = len(release.chosen_labels(borderline, 0.5, 1e-6, (2, 2, 1), Source(seed))[0])
    assert stats.binomtest(passed, 4000, 1 / (1 + z)).pvalue > 1e-6  # P(noise >= 0)


# --- the release ------------------------------------------------------------------------------------------------------


def test_budget_adds_up() -> None:
    trips = counted()
    for settings, parts in (
        ({"categories": PAGES, "totals": "public"}, ["matrix"]),
        ({"categories": PAGES}, ["row totals", "matrix"]),
        ({}, ["categories", "row totals", "matrix"]),
    ):
        chain = seeded(trips, **settings)
        s = chain.statement
        assert [share["what"] for share in s["budget"]] == parts
        assert 1.0 - 1e-6 < s["epsilon"] == sum(share["epsilon"] for share in s["budget"]) <= 1.0
        assert s["delta"] <= 1e-6 * (1 + 1e-12)
        adjacency = "replace" if len(parts) == 1 else "add-remove"
        matrix = s["budget"][-1]
        cost = accounting.unit_epsilon(matrix["delta"], kappa=s["kappa"], alpha=s["alpha"], adjacency=adjacency)
        assert cost == matrix["epsilon"]
        assert chain.support.categories == PAGES
        assert chain.matrix.shape == (4, 4)
        markov.stationary_distribution(chain.matrix)


def test_matrix_follows_the_stated_law() -> None:
    row = np.array([7, 0, 3])
    for totals in ("public", "released"):
        draws, chain = release.released_rows([row], 60_000, epsilon=2.0, delta=1e-2, seed=1, totals=totals)
        draws = draws[:, 0]
        c = chain.statement["kappa"] * (row + chain.statement["alpha"])
        for i in range(3):
            assert stats.kstest(draws[:, i], stats.beta(c[i], c.sum() - c[i]).cdf).pvalue > 1e-6
            assert stats.kstest(draws[:, i], stats.beta(1.1 * c[i], 1.1 * (c.sum() - c[i])).cdf).pvalue < 1e-6


def test_a_real_release_is_never_the_same_twice() -> None:
    chains = [seeded(counted(), categories=PAGES, seed=None) for _ in range(2)]
    assert (chains[0].matrix.data != chains[1].matrix.data).all()
    assert chains[0].status == "private release"
    assert seeded(counted(), categories=PAGES).status == "simulation: not a private release"
    np.testing.assert_array_equal(
        seeded(counted(), categories=PAGES).matrix.data, seeded(counted(), categories=PAGES).matrix.data
    )


def test_nothing_unpaid_is_stated() -> None:
    """With the row totals public, tables that differ elsewhere give the same side-car, support and bounds."""
    one, other = counted(), counted()
    other.loc[0, "trips"], other.loc[1, "trips"] = other.loc[0, "trips"] + other.loc[1, "trips"] - 1, 1
    assert other.loc[0, "origin"] == other.loc[1, "origin"]
    one, other = (seeded(t, categories=PAGES, totals="public", seed=None) for t in (one, other))
    assert release.side_car(one) == release.side_car(other)
    pd.testing.assert_frame_equal(release.utility_table(one), release.utility_table(other))
    np.testing.assert_array_equal(one.matrix.indices, other.matrix.indices)


def test_unseen_transitions_stay_possible() -> None:
    trips = pd.DataFrame({"origin": ["a", "b"], "destination": ["b", "a"], "trips": [500, 500]})
    assert (seeded(trips, categories=list("abc")).matrix.toarray() > 0).all()


def test_declared_graph() -> None:
    graph = pd.DataFrame({"origin": list("aabbc"), "destination": list("bcaca")})
    trips = pd.DataFrame({"origin": list("aab"), "destination": list("bcc"), "trips": [50, 70, 80]})
    P = seeded(trips, graph=graph).matrix.toarray()
    np.testing.assert_array_equal(P > 0, [[0, 1, 1], [1, 0, 1], [1, 0, 0]])
    assert P[2, 0] == 1.0
    stray = pd.concat([trips, pd.DataFrame({"origin": ["c"], "destination": ["b"], "trips": [3]})])
    with pytest.raises(ValueError, match=r"3 are on pairs that are not allowed .c -> b.; allow them"):
        seeded(stray, graph=graph)
    assert seeded(stray, graph=graph, outside="drop").matrix.shape == (3, 3)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": 0}, "epsilon must be in [1e-05, 1e+30], got 0"),
        ({"epsilon": 1e-9}, "epsilon must be in [1e-05, 1e+30], got 1e-09"),
        ({"delta": 0}, "delta must be in (0, 1), got 0"),
        ({"delta": 1}, "delta must be in (0, 1), got 1"),
        ({"categories": ["home"]}, "categories must be a list of at least 2 labels"),
        ({"categories": ["home", "shop"]}, "on pairs that are not allowed"),
        ({"categories": range(3001)}, "categories must be at most 3000 when all pairs are allowed"),
        ({"graph": "observed"}, "must not be read from the data"),
        ({"graph": pd.DataFrame({"origin": ["a"]})}, "graph must have the columns origin and destination"),
        ({"graph": pd.DataFrame({"origin": ["a"], "destination": ["b"]})}, "none from b"),
        ({"graph": pd.DataFrame({"origin": list("aab"), "destination": list("bba")})}, "a, b must occur once"),
        ({"totals": "secret"}, "totals must be one of 'released', 'public'"),
        ({"categories": None, "totals": "public"}, 'totals must be "released" when the categories are not declared'),
        ({"unit": Unit(0, 1)}, "events_per_row must be an integer"),
        ({"seed": -1}, "seed must be an integer of at least 0"),
        ({"categories": None, "epsilon": 0.001}, "passed the threshold"),
    ],
)
def test_refusals(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError) as refusal:
        seeded(counted(), **({"categories": PAGES} if "graph" not in settings else {}) | settings)
    assert words in str(refusal.value)


def test_papers_mechanism_names_what_fails() -> None:
    trips = counted()

    def papers(eta: float, table: pd.DataFrame = trips) -> release.PrivateChain:
        return release.release_papers_chain(table, epsilon=2.0, delta=1e-6, eta=eta, categories=PAGES, seed=1)

    chain = papers(0.05)
    assert "Assumption 4" in chain.statement["assumptions"]
    assert "holds" in chain.statement["assumptions"]
    assert 2.0 * 0.999 < chain.statement["epsilon"] <= 2.0
    with pytest.raises(ValueError, match=r"Definition 2 .* does not hold row"):
        papers(0.2)
    with pytest.raises(ValueError, match="Assumption 3"):
        papers(0.3)
    with pytest.raises(ValueError, match="Definition 2"):
        papers(0.05, trips[trips["destination"] != "cart"])


# --- files ------------------------------------------------------------------------------------------------------------


def test_files(tmp_path: Path) -> None:
    trips = counted()
    chain = seeded(trips, categories=PAGES, seed=None)
    release.write_release(chain, tmp_path / "out", trips)
    table = pd.read_csv(tmp_path / "out" / "matrix.csv")
    assert list(table.columns) == ["origin", "destination", "probability"]
    P = table.pivot(index="origin", columns="destination", values="probability").to_numpy()
    np.testing.assert_array_equal(P, chain.matrix.toarray())  # every digit survives
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out" / "matrix.parquet"), table)
    states = pd.read_csv(tmp_path / "out" / "states.csv")
    np.testing.assert_allclose(states["stationary"], markov.stationary_distribution(P), rtol=1e-12)
    card = json.loads((tmp_path / "out" / "release.json").read_text())
    assert {"mechanism", "epsilon", "delta", "unit", "categories", "versions", "floating_point"} <= set(card)
    text = (tmp_path / "out" / "report.md").read_text()
    assert "# Private release" in text
    assert "last bits of the floats" in text
    owner = json.loads((tmp_path / "out" / release_files.OWNER_FOLDER / "utility.json").read_text())
    assert "FOR THE DATA OWNER ONLY" in owner
    assert 0 < owner["mean_row_total_variation"] < chain.statement["mean_row_error_bound"]
    with pytest.raises(ValueError, match="output must be a new or empty folder"):
        release.write_release(chain, tmp_path / "out")


def test_every_file_of_a_simulation_says_so(tmp_path: Path) -> None:
    release.write_release(seeded(counted(), categories=PAGES), tmp_path / "out", counted())
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(files) == 6
    for path in files:
        if path.suffix == ".parquet":
            assert set(pd.read_parquet(path)["note"]) == {release.SIMULATION}
            assert pyarrow.parquet.read_schema(path).metadata[b"status"].decode() == release.SIMULATION
        else:
            assert release.SIMULATION.lower() in path.read_text().lower()


def test_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(release_files.pa.parquet, "write_table", full_disk)
    with pytest.raises(OSError, match="no space"):
        release.write_release(seeded(counted(), categories=PAGES), tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_mostly_prior_is_said(tmp_path: Path) -> None:
    trips = pd.DataFrame({"origin": ["a", "b"], "destination": ["b", "a"], "trips": [50, 50]})
    chain = seeded(trips, categories=[chr(97 + i) for i in range(26)])
    text = release.report(chain, chain.stationary())
    assert "mostly prior" in text
    assert "A row needs about" in text


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    visits().to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "pages.txt").write_text("\n".join(PAGES) + "\n")
    (tmp_path / "one.txt").write_text("home\n")
    (tmp_path / "empty.csv").write_text("page_from,page_to\n")
    (tmp_path / "not.parquet").write_text("page_from,page_to\n")
    monkeypatch.chdir(tmp_path)

    def run(file: str = "visits.csv", **changes: str) -> tuple[int, str]:
        settings = {"origin": "page_from", "destination": "page_to", "epsilon": "1", "delta": "1e-6", "output": "out"}
        arguments = [f"--{name.replace('_', '-')}={value}" for name, value in (settings | changes).items()]
        result = CliRunner().invoke(cli.main, ["release", file, *arguments])
        return result.exit_code, result.output

    return run


def test_command(command: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    code, text = command(categories="pages.txt")
    assert code == 0, text
    assert "for you only: 4,000 rows" in text
    assert (tmp_path / "out" / "matrix.parquet").is_file()
    code, text = command(output="chosen", epsilon="4")
    assert code == 0, text
    assert "Spent on the categories: epsilon 0.8" in text
    code, text = command(
        output="users", unit="user", events_per_row="1", rows="1", epsilon="3", categories="pages.txt", seed="1"
    )
    assert code == 0, text
    assert "Simulation: not a private release" in text
    code, text = command(
        output="paper", mechanism="paper", eta="0.05", totals="public", categories="pages.txt", epsilon="2"
    )
    assert code == 0, text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"origin": "page_form"},
            "no column 'page_form' among 'user', 'page_from', 'page_to'; did you mean 'page_from'",
        ),
        ({"categories": "one.txt"}, "at least 2 labels"),
        ({"file": "empty.csv"}, "no rows"),
        ({"epsilon": "0"}, "epsilon must be in (0, inf)"),
        ({"delta": "1"}, "delta must be in (0, 1)"),
        ({"delta": "0"}, "delta must be in (0, 1)"),
        ({"file": "not.parquet"}, "not a Parquet file"),
        ({"file": "none.csv"}, "no file 'none.csv'"),
        ({"categories": "none.txt"}, "not a readable text file"),
        ({"graph": "observed"}, "must not be read from the data"),
        ({"graph": "visits.csv"}, "must have the columns origin and destination"),
        ({"output": "."}, "output must be a new or empty folder"),
        ({"mechanism": "paper"}, "mechanism paper needs --eta"),
        ({"eta": "0.1"}, "eta belongs to --mechanism paper"),
    ],
)
def test_command_refuses(command: Callable[..., tuple[int, str]], changes: dict[str, str], words: str) -> None:
    before = sorted(Path(".").iterdir())
    code, text = command(**changes)
    assert code == 2
    assert words in text
    assert sorted(Path(".").iterdir()) == before


# --- scale, audit -----------------------------------------------------------------------------------------------------


def test_sparse_release() -> None:
    n, out = 2000, 6
    rng = np.random.default_rng(1)
    ends = (np.arange(n)[:, None] + np.append(1, rng.choice(np.arange(2, n), out - 1, replace=False))) % n
    graph = pd.DataFrame({"origin": np.repeat(np.arange(n), out), "destination": ends.ravel()})
    trips = graph.assign(trips=rng.integers(0, 300, n * out))
    chain = seeded(trips, graph=graph, totals="public")
    assert chain.matrix.nnz == n * out
    pi = chain.stationary()
    assert abs(pi.sum() - 1) < 1e-12
    assert markov.random_walk(chain.matrix, 0, 50, size=10).shape == (10, 51)
    shares = trips["trips"].to_numpy().reshape(n, out) / trips["trips"].to_numpy().reshape(n, out).sum(axis=1)[:, None]
    order = np.argsort(ends, axis=1)
    moved = 0.5 * np.abs(np.take_along_axis(shares, order, axis=1) - chain.matrix.data.reshape(n, out)).sum(axis=1)
    assert moved.mean() < chain.row_errors.mean()


RISK = 1e-6


def audited(epsilon: float, delta: float, draws: int, rows: list[list[int]], others: list[list[int]]) -> np.ndarray:
    """Return lower bounds of delta, one a pair and one for their mean, simultaneously wrong with probability RISK."""
    sides = [
        release.released_rows(side, draws, epsilon=epsilon, delta=delta, seed=i)[0]
        for i, side in enumerate((rows, others))
    ]
    totals = np.sum(rows, axis=1)
    claim = HONEST(epsilon, delta, len(rows[0]), totals)
    each, pooled = release.audited(
        *sides, rows, others, epsilon=epsilon, alpha=claim.alpha, kappa=claim.kappa, risk=RISK
    )
    return np.append(each, pooled)


HONEST = accounting.plan
ROWS, OTHERS = [[1, 0, 0], [0, 4, 3], [0, 2, 1]], [[0, 1, 0], [1, 3, 3], [0, 1, 2]]


@pytest.mark.parametrize(("epsilon", "delta"), [(0.25, 0.2), (0.5, 0.05), (1.0, 0.02)])
def test_audit_never_exceeds_the_claim(epsilon: float, delta: float) -> None:
    bounds = audited(epsilon, delta, 10_000, ROWS, OTHERS)
    assert (bounds <= delta).all()
    assert bounds.max() > 0.5 * delta - 0.03  # the audit has power


def test_audit_catches_too_large_a_kappa(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (audited(0.5, 0.2, 130_000, ROWS[:1], OTHERS[:1]) <= 0.2).all()
    monkeypatch.setattr(accounting, "plan", lambda *a, **k: (p := HONEST(*a, **k))._replace(kappa=1.2 * p.kappa))
    assert (audited(0.5, 0.2, 130_000, ROWS[:1], OTHERS[:1]) > 0.2).any()


def test_replicated_events() -> None:
    table, graph = release.replicated_events([[2, 0, 1], [0, 0, 0]], 6)
    assert len(table) == 9
    assert len(graph) == 18
    trips = datasets.count_transitions(table, "origin", "destination")
    assert trips["origin"].unique().tolist() == [0, 2, 4]
    assert trips.loc[(trips["origin"] == 4) & (trips["destination"] == 5), "trips"].tolist() == [2]
    assert trips.loc[(trips["origin"] == 4) & (trips["destination"] == 1), "trips"].tolist() == [1]
