"""The release: what is drawn, what it costs, which counts and units it takes, and that it depends on nothing unpaid."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpsim import accounting, datasets, markov, release
from dpsim.accounting import GAUSSIAN, LAPLACE, Noise, Unit
from dpsim.release import chain as release_module

PAGES = ["cart", "help", "home", "shop"]


def counts(rows: int = 4000, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {"origin": rng.choice(PAGES, rows), "destination": rng.choice(PAGES, rows, p=[0.1, 0.2, 0.3, 0.4])}
    )
    return table.value_counts().rename("trips").reset_index()


def limited(table: pd.DataFrame, **limits: int) -> pd.DataFrame:
    table = table.copy()
    table.attrs["limits"] = datasets.Limits(int(table["trips"].sum()), **limits)
    return table


def released(trips: pd.DataFrame | None = None, **settings: object) -> release.PrivateChain:
    chosen = {"epsilon": 1.0, "support": release.all_pairs(PAGES), "rng": 1} | settings
    return release.release_chain(counts() if trips is None else trips, **chosen)  # type: ignore[arg-type]


# --- noise ------------------------------------------------------------------------------------------------------------


def probabilities(noise: Noise, edges: np.ndarray) -> np.ndarray:
    z = np.arange(-2000, 2001)
    weights = np.exp(-np.abs(z) / noise.scale if noise.mechanism == LAPLACE else -0.5 * (z / noise.scale) ** 2)
    inside = (weights / weights.sum())[edges + 2000]
    return np.append(inside, 1.0 - inside.sum())


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("scale", [0.4, 3.0])
@pytest.mark.parametrize("seed", [1, None])
def test_the_noise_has_the_stated_law(mechanism: str, scale: float, seed: int | None) -> None:
    draws = 20_000 if seed is None else 200_000
    rng = None if seed is None else np.random.default_rng(seed)
    drawn = release.noisy_counts(np.full(draws, 7), Noise(mechanism, scale, 1.0, 0.0), rng) - 7
    edges = np.arange(-math.ceil(3 * scale), math.ceil(3 * scale) + 1)
    seen = np.array([(drawn == e).sum() for e in edges])
    seen = np.append(seen, draws - seen.sum())
    for factor, agrees in ((1.0, True), (1.2, False)):
        expected = draws * probabilities(Noise(mechanism, factor * scale, 1.0, 0.0), edges)
        assert (stats.chisquare(seen, expected).pvalue > 1e-7) == agrees


def test_noise_is_independent_between_counts_and_between_releases() -> None:
    noise = accounting.laplace_noise(0.1, 1)
    first, second = (release.noisy_counts(np.zeros(60_000, dtype=int), noise) for _ in range(2))  # two chunks each
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.03
    assert not np.array_equal(first[:10_000], first[50_000:])


# --- what it costs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "limits", "adjacency", "first", "squared"),
    [
        (Unit(), None, "add-remove", 1, 1),
        (Unit(2, 5), {"events_per_row": 2, "rows": 5}, "add-remove", 10, 20),
        (Unit(events=7), {"events": 7}, "add-remove", 7, 49),
        (Unit(), None, "replace", 2, 2),
    ],
)
@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN])
def test_the_noise_of_a_release_is_that_of_its_unit(
    unit: Unit, limits: dict[str, int] | None, adjacency: str, first: int, squared: int, mechanism: str
) -> None:
    trips = counts() if limits is None else limited(counts(), **limits)
    totals = dict.fromkeys(PAGES, 1000) if adjacency == "replace" else None
    chain = released(trips, unit=unit, mechanism=mechanism, delta=1e-6, totals=totals)
    s = chain.statement
    assert s["adjacency"] == adjacency
    if mechanism == LAPLACE:
        assert first / s["scale"] == pytest.approx(1.0, rel=1e-12)
        assert s["delta"] == 0.0
    else:
        assert accounting.gaussian_delta_bound(1.0, s["scale"], squared) <= 1e-6
        assert accounting.gaussian_delta_bound(1.0, s["scale"] * 0.999, squared) > 1e-6
        assert s["delta"] <= 1e-6
    assert s["epsilon"] <= 1.0
    large = released(
        trips.assign(trips=0), unit=unit, mechanism=mechanism, delta=1e-6,
        totals=dict.fromkeys(range(60), 1000) if totals else None, support=release.all_pairs(range(60)),
    )  # fmt: skip
    spread = large.noisy.std() / math.sqrt(Noise(mechanism, s["scale"], 1.0, 0.0).variance)
    assert spread == pytest.approx(1.0, abs=0.1)  # what is drawn is what is stated


def test_private_pairs_use_the_threshold_of_their_unit() -> None:
    trips = limited(pd.DataFrame({"origin": ["a", "b"], "destination": ["b", "a"], "trips": [500, 40]}), events=3)
    for support, labels in ((release.private_pairs(["a", "b", "c"]), ("a", "b", "c")), (None, ("a", "b"))):
        chain = released(trips, unit=Unit(events=3), delta=1e-3, support=support)
        s = chain.statement
        noise = accounting.chosen_noise(1.0, 1e-3, Unit(events=3), pairs=True)
        assert s["threshold"] == accounting.pair_threshold(noise, Unit(events=3), 1e-3)[0]
        assert chain.labels == labels
        assert (chain.noisy >= s["threshold"]).all()
        assert [cost["what"] for cost in s["costs"]] == ["counts", "pairs chosen privately"]
        assert 0.0 < s["delta"] <= 1e-3
    nothing = released(counts().iloc[:0], delta=1e-3, support=None)
    assert nothing.labels == () and nothing.noisy.size == 0
    assert "0 have a noisy count" in nothing.text


def test_a_pair_passes_from_the_threshold_on_and_not_before() -> None:
    n = 3000
    table = pd.DataFrame({"origin": [f"{i}" for i in range(n)], "destination": "x"})
    threshold = released(table.assign(trips=1), delta=1e-6, support=None).statement["threshold"]
    chain = released(table.assign(trips=threshold), delta=1e-6, support=None)
    q = math.exp(-1.0)
    assert stats.binomtest(chain.noisy.size, n, 1.0 / (1.0 + q)).pvalue > 1e-6  # P(Z >= 0)
    assert chain.noisy.min() == threshold


# --- units and limits -------------------------------------------------------------------------------------------------


def test_counts_must_hold_the_limits_of_the_unit() -> None:
    two_five = limited(counts(), events_per_row=2, rows=5)
    for unit in (Unit(2, 5), Unit(3, 5), Unit(2, 6), Unit(events=10), Unit(events=11)):
        assert released(two_five, unit=unit).statement["limits"] == "truncated before counting"
    for unit in (Unit(1, 5), Unit(2, 4), Unit(events=9)):
        with pytest.raises(ValueError, match="which is more"):
            released(two_five, unit=unit)
    seven = limited(counts(), events=7)
    for unit in (Unit(events=7), Unit(7, 7)):
        released(seven, unit=unit)
    for unit in (Unit(events=6), Unit(6, 7), Unit(7, 6)):
        with pytest.raises(ValueError, match="which is more"):
            released(seven, unit=unit)


def test_counts_without_limits_need_a_word() -> None:
    for trips in (counts(), limited(counts())):
        with pytest.raises(ValueError, match="needs counts that were truncated"):
            released(trips, unit=Unit(1, 3))
    assert "owner's word" in released(counts(), unit=Unit(1, 3), limited=True).statement["limits"]
    with pytest.raises(ValueError, match="needs counts that were truncated"):
        released(limited(counts()), unit=Unit(1, 3), limited=True)  # the record says that nothing was truncated


def test_one_event_is_no_unit_of_truncated_counts_or_trajectories() -> None:
    with pytest.raises(ValueError, match="brings in others"):
        released(limited(counts(), events=2))
    with pytest.raises(ValueError, match="changes three counts"):
        released(limited(counts(), trajectories=True))
    released(limited(counts()))


def test_a_record_is_not_taken_for_that_of_another_table() -> None:
    month = limited(counts(), events=2)
    both = pd.concat([month, month])
    both.attrs = month.attrs
    with pytest.raises(ValueError, match="record of limits belongs to"):
        released(both, unit=Unit(events=2))
    released(month.iloc[:3], unit=Unit(events=2))


def test_public_totals() -> None:
    totals = dict.fromkeys(PAGES, 1000)
    assert released(totals=totals).statement["adjacency"] == "replace"
    for trips, settings, words in (
        (limited(counts(), events=2), {"unit": Unit(events=2)}, "truncated counts"),
        (counts(), {"support": None, "delta": 1e-6}, "pairs chosen privately"),
        (counts(), {"totals": {"cart": 3}}, "totals must have every label"),
        (counts(), {"totals": dict.fromkeys(PAGES, -1)}, "totals must be integers"),
    ):
        with pytest.raises(ValueError, match=words):
            released(trips, **({"totals": totals} | settings))
    with pytest.raises(TypeError, match="totals must map labels"):
        released(totals="public")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": 0}, "epsilon must be in"),
        ({"epsilon": 1e-9}, "epsilon must be in"),
        ({"delta": 1}, "delta must be in [0, 1), got 1"),
        ({"support": None}, "delta must be in (0, 1), got 0"),
        ({"mechanism": GAUSSIAN}, "delta must be in (0, 1) for discrete Gaussian noise, got 0"),
        ({"mechanism": "best"}, "mechanism must be one of"),
        ({"rng": -1}, "rng must be an integer"),
    ],
)
def test_refusals(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError) as refusal:
        released(**settings)
    assert words in str(refusal.value)


@pytest.mark.parametrize("support", ["observed", pd.DataFrame({"origin": ["a"]}), PAGES])
def test_a_support_is_never_read_from_the_data(support: object) -> None:
    with pytest.raises(TypeError, match="must not be read from the data"):
        released(support=support)


# --- the result -------------------------------------------------------------------------------------------------------


def test_what_is_public_does_not_change_with_one_event() -> None:
    one = counts()
    other = one.copy()
    other.loc[0, "trips"] += 1
    outside = pd.concat([one, pd.DataFrame({"origin": ["clinic"], "destination": ["2"], "trips": [1]})])
    for support in (release.all_pairs(PAGES), release.private_pairs(PAGES), None):
        chains = [released(t, support=support, delta=1e-6) for t in (one, other, outside)]
        assert chains[0].statement == chains[1].statement
        assert {c.labels for c in chains} == {tuple(PAGES)}
        if support is not None:
            assert chains[0] == chains[2] or chains[0].support.kind != release.all_pairs(PAGES).kind


def test_a_chain_is_determined_by_what_is_released() -> None:
    for support in (release.all_pairs(PAGES), None):
        chain = released(support=support, delta=1e-6)
        statement = json.loads(json.dumps(chain.statement))
        order = np.random.default_rng(1).permutation(chain.noisy.size)
        found, sort = release.from_pairs(
            chain.labels, chain.support.rows[order], chain.support.indices[order], statement["support"]
        )
        back = release.PrivateChain(found, chain.noisy[order][sort], statement)
        assert back == chain
        pd.testing.assert_frame_equal(back.matrix, chain.matrix)
        assert back.text == chain.text


def test_real_releases_differ_and_say_so() -> None:
    chains = [released(rng=None) for _ in range(2)]
    assert not np.array_equal(chains[0].noisy, chains[1].noisy)
    assert chains[0].statement["status"] == release.RELEASED and not chains[0].statement["simulation"]
    assert released() == released()
    assert released().statement["simulation"] and "Do not publish" in released().text


def test_uses_of_a_chain() -> None:
    chain = released()
    matrix = chain.matrix
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0)
    pi = chain.stationary()
    np.testing.assert_allclose(pi @ matrix.to_numpy(), pi)
    walk = chain.walk(50, start="home", rng=1)
    assert walk[0] == "home" and len(walk) == 51 and set(walk) <= set(PAGES)
    assert chain.walk(5, rng=2) == chain.walk(5, rng=2)
    trips = chain.synthetic(20_000, rng=1)
    shares = trips[trips["origin"] == "shop"]["destination"].value_counts(normalize=True)
    np.testing.assert_allclose(shares.reindex(PAGES), matrix.loc["shop"], atol=0.03)
    with pytest.raises(ValueError, match=r"start must be one of the 4 labels \('cart', .*\), got 'nowhere'"):
        chain.walk(3, start="nowhere")
    assert chain.intervals().index.equals(chain.stationary().index)
    assert repr(chain) == "PrivateChain(4 labels, 16 pairs, epsilon 1, delta 0, discrete Laplace, SIMULATION)"
    assert chain.pairs["probability"].groupby(chain.pairs["origin"]).sum().to_numpy() == pytest.approx(np.ones(4))


def test_a_state_may_be_named_by_its_number_or_its_word() -> None:
    trips = pd.DataFrame({"origin": ["1", "2"], "destination": ["2", "1"], "trips": [500, 400]})
    for labels in (["1", "2"], [1, 2]):
        chain = release.release_chain(trips, epsilon=1.0, support=release.all_pairs(labels), rng=1)
        for start in (2, "2", 2.0):
            assert chain.walk(3, start=start, rng=1)[0] == labels[1]
            assert chain.intervals("passage", to=start)["mean_steps"].iloc[1] == 0.0


def test_declared_graph() -> None:
    graph = pd.DataFrame({"origin": list("aabbc"), "destination": list("bcaca")})
    trips = pd.DataFrame({"origin": list("aabc"), "destination": list("bccb"), "trips": [50, 70, 80, 3]})
    support = release.declared_graph(graph)
    P = released(trips, support=support).matrix.to_numpy()
    allowed = np.array([[0, 1, 1], [1, 0, 1], [1, 0, 0]], dtype=bool)
    assert not P[~allowed].any() and (P[allowed] > 0).sum() >= 4  # one pair did not occur
    assert release.counts_on(trips, support)[1] == 3
    for bad, words in (
        (pd.DataFrame({"origin": ["a"]}), "must have the columns origin and destination"),
        (pd.DataFrame({"origin": ["a"], "destination": ["b"]}), "none from b: add a self-loop"),
        (pd.DataFrame({"origin": list("aab"), "destination": list("bba")}), "a, b must occur once"),
    ):
        with pytest.raises(ValueError, match=words):
            release.declared_graph(bad)
    with pytest.raises(ValueError, match="categories must be at most 3000"):
        release.all_pairs(range(3001))


def test_labels_that_read_alike_are_one_where_none_is_declared() -> None:
    mixed = pd.DataFrame({"origin": [1, "1", 2], "destination": ["2", 2, 1], "trips": [300, 200, 400]})
    chain = released(mixed, support=None, delta=1e-6)
    assert chain.labels == ("1", "2")
    assert abs(int(chain.noisy[0]) - 500) < 40


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("unit", [Unit(), Unit(events=3)])
def test_what_is_stated_of_a_unit_with_other_events(mechanism: str, unit: Unit) -> None:
    """Its events go from one pair to another: by the law of the noise, summed; with Laplace noise all is lost."""
    delta = 0.0 if mechanism == LAPLACE else 0.01
    noise = accounting.chosen_noise(1.0, delta, unit, mechanism=mechanism)
    stated = release.replaced(noise.epsilon, noise.delta)
    assert stated[0] == 2.0 * noise.epsilon and stated[1] >= (1.0 + math.e) * noise.delta
    z, v = np.arange(-150, 151), unit.most[0]
    weights = np.exp(-np.abs(z) / noise.scale if mechanism == LAPLACE else -0.5 * (z / noise.scale) ** 2)
    p = np.outer(np.append(weights, np.zeros(v)), np.append(np.zeros(v), weights)) / weights.sum() ** 2
    q = p.T
    inside = (p > 0) & (q > 0)
    left_out = p[~inside].sum()

    def leaked(epsilon: float) -> float:
        return float(np.maximum(p - math.exp(epsilon) * q, 0.0)[inside].sum())

    assert leaked(stated[0] * (1 + 1e-12)) <= stated[1] + left_out + 1e-15
    if mechanism == LAPLACE:
        assert leaked(0.999 * stated[0]) > 0.0
    else:
        assert leaked(noise.epsilon) > noise.delta  # less than for two steps would not do
    text = released(
        counts() if unit.is_event else limited(counts(), events=3), unit=unit, mechanism=mechanism, delta=delta
    ).text
    assert "the guarantee is epsilon 2, delta" in text
    moved = released(totals=dict.fromkeys(PAGES, 1000)).text
    assert "taken out, and others put in" not in moved and "is public" in moved


@pytest.mark.parametrize("epsilon", [1 / 3, 0.1, 2 / 3, 1.0, 12.3456789])
def test_no_number_of_a_statement_is_rounded_down(epsilon: float) -> None:
    chain = released(epsilon=epsilon, delta=1e-6 / 3, mechanism=GAUSSIAN)
    found = [tuple(map(float, pair)) for pair in re.findall(r"epsilon ([\d.e+-]+), delta ([\d.e+-]+\d)", chain.text)]
    exact = [(chain.statement["epsilon"], chain.statement["delta"])] * 3
    exact[1] = release.replaced(*exact[0])
    assert len(found) == 3
    for (e, d), (least_e, least_d) in zip(found, exact):
        assert least_e <= e < least_e * 1.00002 and least_d <= d < least_d * 1.02


def test_the_statement_names_what_is_public_and_what_was_left_out() -> None:
    text = released(limited(counts(), events=3), unit=Unit(events=3)).text
    assert "with however many events; at most 3 in all are counted" in text
    assert "the states" in text and "the limits of a unit" in text and "Left out before counting" in text
    nothing = released(support=None, delta=1e-6).text
    assert "the states" not in nothing.split("Taken as public")[1].split("None of it")[0]
    assert "a pair is released which one unit alone has" in nothing
    assert "the row totals" in released(totals=dict.fromkeys(PAGES, 1000)).text
    assert "would have (epsilon, delta)-differential privacy" in text and "would have" not in released(rng=None).text


def test_a_large_epsilon_is_warned_of() -> None:
    assert "protects little" in released(epsilon=11.0).text
    assert "protects little" not in released(epsilon=10.0).text


def test_every_statement_is_made_of_public_things(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the noise the same and the counts those after it, another table states the same, word for word."""
    chain = released()
    monkeypatch.setattr(release_module.draws, "noisy_counts", lambda *_: chain.noisy)
    other = released(pd.DataFrame({"origin": ["home"], "destination": ["help"], "trips": [1]}))
    assert other == chain and other.text == chain.text


def test_sparse_release() -> None:
    n, out = 2000, 6
    rng = np.random.default_rng(1)
    ends = (np.arange(n)[:, None] + np.append(1, rng.choice(np.arange(2, n), out - 1, replace=False))) % n
    graph = pd.DataFrame({"origin": np.repeat(np.arange(n), out), "destination": ends.ravel()})
    trips = graph.assign(trips=rng.integers(0, 300, n * out))
    chain = released(trips, support=release.declared_graph(graph))
    pi = markov.stationary_distribution(chain.estimate.matrix)
    assert pi.sum() == pytest.approx(1.0) and chain.estimate.matrix.nnz <= n * out
    true = release.counts_on(trips, chain.support)[0]
    shares = true / release.row_sums(true.astype(float), chain.support)[chain.support.rows]
    assert 0.5 * np.abs(shares - chain.estimate.probabilities).sum() / n < 0.01


def test_intervals_of_a_chain_in_two_parts_are_refused() -> None:
    ends = [("a", "b"), ("b", "a"), ("a", "a"), ("c", "d"), ("d", "c"), ("d", "d")]
    table = pd.DataFrame([(*pair, 3000) for pair in ends], columns=["origin", "destination", "trips"])
    chain = release.release_chain(table, epsilon=1.0, delta=1e-6, rng=1)
    with pytest.raises(ValueError, match="one class of states that is never left, got those of 'a', 'c'"):
        chain.intervals("stationary")
    with pytest.raises(ValueError, match="to must be a label that every state leads to, got 'a', which 'c' never"):
        chain.intervals("passage", to="a")
