"""The release: what is drawn, what it costs, and that it depends on nothing unpaid."""

import itertools
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpsim_release as release
from dpsim_release import statement
from dpsim_release import support as supports
from dpsim_release.discrete_laplace import Noise, laplace_noise, pair_threshold
from dpsim_release.unit import EVENT, Unit

PAGES = ["cart", "help", "home", "shop"]


def counts(rows: int = 4000, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "origin": rng.choice(PAGES, rows),
            "destination": rng.choice(PAGES, rows, p=[0.1, 0.2, 0.3, 0.4]),
        }
    )
    return table.value_counts().rename("trips").reset_index()


def released(
    trips: pd.DataFrame | None = None, unit: Unit = EVENT, **settings: object
) -> release.PrivateChain:
    chosen = {"epsilon": 1.0, "support": release.all_pairs(PAGES), "rng": 1} | settings
    table = release.Counts(counts() if trips is None else trips, unit)
    return release.release_chain(table, **chosen)  # type: ignore[arg-type]


# --- noise ----------------------------------------------------------------------------


def probabilities(noise: Noise, edges: np.ndarray) -> np.ndarray:
    weights = np.exp(-np.abs(np.arange(-2000, 2001)) / noise.scale)
    inside = (weights / weights.sum())[edges + 2000]
    return np.append(inside, 1.0 - inside.sum())


@pytest.mark.parametrize("scale", [0.4, 3.0])
@pytest.mark.parametrize("seed", [1, None])
def test_the_noise_has_the_stated_law(scale: float, seed: int | None) -> None:
    number = 20_000 if seed is None else 200_000
    rng = None if seed is None else np.random.default_rng(seed)
    drawn = release.noisy_counts(np.full(number, 7), Noise(scale, 2.0 / scale), rng) - 7
    edges = np.arange(-math.ceil(3 * scale), math.ceil(3 * scale) + 1)
    seen = np.array([(drawn == e).sum() for e in edges])
    seen = np.append(seen, number - seen.sum())
    for factor, agrees in ((1.0, True), (1.2, False)):
        expected = number * probabilities(Noise(factor * scale, 1.0), edges)
        assert (stats.chisquare(seen, expected).pvalue > 1e-7) == agrees


def test_noise_is_independent_between_counts_and_between_releases() -> None:
    noise = laplace_noise(0.1)
    first, second = (
        release.noisy_counts(np.zeros(60_000, dtype=int), noise) for _ in range(2)
    )
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.03


def test_noise_is_independent_between_the_chunks_of_a_release(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two counts with the same noise would show their difference."""
    monkeypatch.setattr(release.discrete_laplace, "_CHUNK", 5_000)
    drawn = release.noisy_counts(np.zeros(20_000, dtype=int), laplace_noise(0.1))
    parts = np.array_split(drawn, 20_000 // 5_000 + 1)
    for i, j in itertools.combinations(range(5), 2):
        assert (
            abs(np.corrcoef(parts[i], parts[j])[0, 1]) < 0.1
            and (parts[i] != parts[j]).any()
        )


# --- what it costs --------------------------------------------------------------------


@pytest.mark.parametrize("events", [1, 7])
def test_the_noise_of_a_release_is_that_of_its_unit(events: int) -> None:
    unit = Unit(events, "user")
    s = released(unit=unit, delta=1e-6).statement
    assert events / s["scale"] == pytest.approx(1.0, rel=1e-12)
    assert (
        s["delta"] == 0.0 and s["epsilon"] <= 1.0
    )  # a declared support spends no delta
    large = released(counts().iloc[:0], unit=unit, support=release.all_pairs(range(60)))
    spread = large.noisy.std() / math.sqrt(Noise(s["scale"], 1.0).variance)
    assert spread == pytest.approx(1.0, abs=0.1)  # what is drawn is what is stated


def test_private_pairs_use_the_threshold_of_their_unit() -> None:
    trips = pd.DataFrame(
        {"origin": ["a", "b"], "destination": ["b", "a"], "trips": [500, 90]}
    )
    for support, labels in (
        (release.private_pairs(["a", "b", "c"]), ("a", "b", "c")),
        (None, ("a", "b")),
    ):
        chain = released(trips, unit=Unit(3, "user"), delta=1e-3, support=support)
        s = chain.statement
        assert (s["threshold"], s["delta"]) == pair_threshold(
            laplace_noise(1.0, 3), 3, 1e-3
        )
        assert chain.labels == labels
        assert (chain.noisy >= s["threshold"]).all() and 0.0 < s["delta"] <= 1e-3
    nothing = released(counts().iloc[:0], delta=1e-3, support=None)
    assert nothing.labels == () and nothing.noisy.size == 0
    assert "pairs that have a noisy count is 0" in nothing.text


def test_events_from_or_to_undeclared_labels_count_for_no_pair() -> None:
    """They have no place among the declared labels, and -1 must not stand for the last
    one.
    """
    ends = [("x", "a"), ("x", "b"), ("a", "x"), ("b", "x"), ("x", "x"), ("a", "b")]
    trips = pd.DataFrame(ends, columns=["origin", "destination"]).assign(trips=10_000)
    _, rows, columns, numbers = supports.pair_counts(trips, ("a", "b"))
    assert (rows.tolist(), columns.tolist(), numbers.tolist()) == ([0], [1], [10_000])
    chain = released(trips, delta=1e-6, support=release.private_pairs(["a", "b"]))
    assert chain.noisy.size == 1 and chain.support.rows.tolist() == [0]


def test_a_pair_that_nobody_has_never_shows() -> None:
    """Rows of no event (trips 0) are no pairs: with half the noise above the threshold
    they would pass often.
    """
    zeros = pd.DataFrame(
        {"origin": [f"{i}" for i in range(2000)], "destination": "x", "trips": 0}
    )
    for support in (None, release.private_pairs([*(f"{i}" for i in range(2000)), "x"])):
        assert released(zeros, delta=0.5, support=support, epsilon=0.01).noisy.size == 0


@pytest.mark.parametrize(
    ("chosen", "said"),
    [(False, "this epsilon is exact"), (True, "both are proven upper bounds")],
)
def test_exact_is_said_where_a_table_reaches_it(chosen: bool, said: str) -> None:
    """All of a unit's events on one pair lose epsilon to the last digit; with pairs
    chosen privately nothing does.
    """
    support = release.private_pairs(PAGES) if chosen else release.all_pairs(PAGES)
    chain = released(unit=Unit(5, "user"), support=support, delta=1e-6)
    assert said in chain.text and ("is exact" in chain.text) != chosen
    z = np.arange(-400, 401)
    noise = chain.noise
    loss = (
        np.abs(z) - np.abs(z - 5)
    ) / noise.scale  # log P(z | the unit's 5 events) - log P(z | without them)
    assert loss.max() <= chain.statement["epsilon"] and loss.max() == pytest.approx(
        1.0, rel=1e-12
    )


def test_a_pair_passes_from_the_threshold_on_and_not_before() -> None:
    n = 3000
    table = pd.DataFrame({"origin": [f"{i}" for i in range(n)], "destination": "x"})
    threshold = released(table.assign(trips=1), delta=1e-6, support=None).statement[
        "threshold"
    ]
    chain = released(table.assign(trips=threshold), delta=1e-6, support=None)
    q = math.exp(-1.0)
    assert (
        stats.binomtest(chain.noisy.size, n, 1.0 / (1.0 + q)).pvalue > 1e-6
    )  # P(Z >= 0)
    assert chain.noisy.min() == threshold


@pytest.mark.parametrize(
    "support", ["observed", pd.DataFrame({"origin": ["a"]}), PAGES]
)
def test_a_support_is_never_read_from_the_data(support: object) -> None:
    with pytest.raises(TypeError, match="no pair is read from the data"):
        released(support=support)
    with pytest.raises(TypeError, match="counts must be Counts"):
        release.release_chain(counts(), epsilon=1.0)  # type: ignore[arg-type]
    for bad in (
        PAGES,
        counts().drop(columns="trips"),
        counts().assign(trips=-1),
        counts().assign(trips=1.5),
    ):
        with pytest.raises(ValueError, match="trips must be"):
            release.Counts(bad)


# --- the result -----------------------------------------------------------------------


def test_a_chain_is_determined_by_what_is_released() -> None:
    for support in (release.all_pairs(PAGES), None):
        chain = released(support=support, delta=1e-6)
        statement = json.loads(json.dumps(chain.statement))
        order = np.random.default_rng(1).permutation(chain.noisy.size)
        found, sort = supports.from_pairs(
            chain.labels,
            chain.support.rows[order],
            chain.support.indices[order],
            statement["support"],
        )
        back = release.PrivateChain(found, chain.noisy[order][sort], statement)
        assert back == chain
        pd.testing.assert_frame_equal(back.matrix, chain.matrix)
        assert back.text == chain.text


def test_real_releases_differ_and_say_so() -> None:
    chains = [released(rng=None) for _ in range(2)]
    assert not np.array_equal(chains[0].noisy, chains[1].noisy)
    assert (
        chains[0].statement["status"] == statement.RELEASED
        and not chains[0].statement["simulation"]
    )
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
    shares = trips[trips["origin"] == "shop"]["destination"].value_counts(
        normalize=True
    )
    np.testing.assert_allclose(shares.reindex(PAGES), matrix.loc["shop"], atol=0.03)
    with pytest.raises(
        ValueError, match="start must be one of the 4 labels, got 'nowhere'"
    ):
        chain.walk(3, start="nowhere")
    assert chain.intervals().index.equals(chain.stationary().index)
    assert (
        repr(chain)
        == "PrivateChain(4 labels, 16 pairs, epsilon 1, delta 0, SIMULATION)"
    )
    assert chain.pairs["probability"].groupby(
        chain.pairs["origin"]
    ).sum().to_numpy() == pytest.approx(np.ones(4))


def test_departures_are_shares_of_the_noisy_totals_of_rows() -> None:
    """Of the signed counts: those of pairs that are clipped at 0 are too many in rows
    of many pairs that nobody has.
    """
    table = pd.DataFrame({"origin": ["a"], "destination": ["b"], "trips": [9]})
    chain = released(table, support=release.all_pairs(["a", "b"]))
    noisy = np.array([10, -6, 0, 12])
    made = release.PrivateChain(chain.support, noisy, chain.statement)
    assert made.departures().tolist() == [0.25, 0.75]
    assert (made.synthetic(5000, rng=1)["origin"] == "a").mean() == pytest.approx(
        0.25, abs=0.03
    )
    assert release.PrivateChain(
        chain.support, -noisy, chain.statement
    ).departures().tolist() == [0.5, 0.5]


def test_a_state_may_be_named_by_its_number_or_its_word() -> None:
    trips = pd.DataFrame(
        {"origin": ["1", "2"], "destination": ["2", "1"], "trips": [500, 400]}
    )
    for labels in (["1", "2"], [1, 2]):
        chain = released(trips, support=release.all_pairs(labels))
        for start in (2, "2"):
            assert chain.walk(3, start=start, rng=1)[0] == labels[1]


def test_declared_graph() -> None:
    graph = pd.DataFrame({"origin": list("aabbc"), "destination": list("bcaca")})
    trips = pd.DataFrame(
        {"origin": list("aabc"), "destination": list("bccb"), "trips": [50, 70, 80, 3]}
    )
    support = release.declared_graph(graph)
    P = released(trips, support=support).matrix.to_numpy()
    allowed = np.array([[0, 1, 1], [1, 0, 1], [1, 0, 0]], dtype=bool)
    assert (
        not P[~allowed].any() and (P[allowed] > 0).sum() >= 4
    )  # one pair did not occur
    assert release.counts_on(trips, support)[1] == 3
    for bad, words in (
        (pd.DataFrame({"origin": ["a"]}), "graph must be a table with the columns"),
        (
            pd.DataFrame({"origin": ["a"], "destination": ["b"]}),
            "none from b: add a self-loop",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            release.declared_graph(bad)
    with pytest.raises(ValueError, match="categories must be at most 3000"):
        release.all_pairs(range(3001))


def test_labels_that_read_alike_are_one_where_none_is_declared() -> None:
    mixed = pd.DataFrame(
        {"origin": [1, "1", 2], "destination": ["2", 2, 1], "trips": [300, 200, 400]}
    )
    chain = released(mixed, support=None, delta=1e-6)
    assert chain.labels == ("1", "2")
    assert abs(int(chain.noisy[0]) - 500) < 40


@pytest.mark.parametrize("events", [1, 3])
def test_what_is_stated_of_a_unit_with_other_events(events: int) -> None:
    """Its events go from one pair to another: by the law of the noise, summed, all of
    twice epsilon is lost.
    """
    noise = laplace_noise(1.0, events)
    stated = 2.0 * noise.epsilon
    weights = np.exp(-np.abs(np.arange(-150, 151)) / noise.scale)
    p = (
        np.outer(
            np.append(weights, np.zeros(events)), np.append(np.zeros(events), weights)
        )
        / weights.sum() ** 2
    )
    inside = (p > 0) & (p.T > 0)

    def leaked(epsilon: float) -> float:
        return float(np.maximum(p - math.exp(epsilon) * p.T, 0.0)[inside].sum())

    assert (
        leaked(stated * (1 + 1e-12)) <= p[~inside].sum() + 1e-15
        and leaked(0.999 * stated) > 0.0
    )
    assert (
        "the guarantee is twice epsilon and (1 + e^epsilon) times delta"
        in released(unit=Unit(events, "user")).text
    )


@pytest.mark.parametrize("epsilon", [1 / 3, 0.1, 2 / 3, 1.0, 12.3456789])
def test_no_number_of_a_statement_is_rounded_down(epsilon: float) -> None:
    chain = released(epsilon=epsilon, delta=1e-6 / 3, support=None)
    ((e, d),) = (
        map(float, pair)
        for pair in re.findall(r"epsilon ([\d.e+-]+), delta ([\d.e+-]+\d)", chain.text)
    )
    least_e = chain.statement["epsilon"]
    least_d = chain.statement["delta"]
    assert least_e <= e < least_e * 1.00002 and least_d <= d < least_d * 1.02


def test_the_statement_names_what_is_public_and_what_was_left_out() -> None:
    text = released(unit=Unit(3, "user")).text
    assert (
        "everything that the table holds about one user, of which at most 3 events are "
        "counted" in text
    )
    assert (
        "the longest time between two visits and the largest number of events of a unit"
        in text
        and "left out before counting" in text
    )
    nothing = released(support=None, delta=1e-6).text
    assert "a pair is released although only one unit has it" in nothing
    assert (
        "would have (epsilon, delta)-differential privacy" in text
        and "would have" not in released(rng=None).text
    )
    moves = release.Counts(counts(), Unit(3, "user"), moves=True)
    assert (
        "An event is a move"
        in release.release_chain(
            moves, epsilon=1.0, support=release.all_pairs(PAGES)
        ).text
    )


def test_how_far_a_release_can_be_trusted_is_said_first() -> None:
    first = released(epsilon=0.5).text.splitlines()[1]
    assert (
        f"changes each count by {laplace_noise(0.5).mean_absolute:.3g} events on "
        f"average" in first
    )
    assert first.endswith("4 of 4 rows stand out from the noise.")
    few = released(counts(30), epsilon=0.1)
    assert f"{4 - len(few.weak)} of 4 rows stand out" in few.text and few.weak


def test_a_large_epsilon_is_warned_of() -> None:
    assert "gives little protection" in released(epsilon=11.0).text
    assert "gives little protection" not in released(epsilon=10.0).text


# --- the stationary distribution ------------------------------------------------------


def only(
    pairs: dict[tuple[str, str], int],
    labels: list[str] | None = None,
    **settings: object,
) -> release.PrivateChain:
    """Return a release of only these pairs, private or declared as a graph."""
    trips = pd.DataFrame(
        [(*pair, count) for pair, count in pairs.items()],
        columns=["origin", "destination", "trips"],
    )
    support = release.declared_graph(trips, labels) if labels else None
    return released(
        trips,
        **{"support": support, "delta": 0.0 if labels else 1e-6, "epsilon": 5.0}
        | settings,
    )


def test_a_transient_state_has_no_share_of_the_long_run() -> None:
    """One closed class, {b, c}: its law is that of the chain on it, and everything
    agrees about the rest.
    """
    from quantecon import MarkovChain

    graph = {("a", "b"): 900, ("b", "c"): 800, ("b", "b"): 400, ("c", "b"): 700}
    for chain in (only(graph, list("abc")), only(graph)):
        pi = chain.stationary()
        P = chain.matrix.to_numpy()
        assert pi["a"] == 0.0 and pi.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(pi @ P, pi, atol=1e-15)
        np.testing.assert_allclose(
            MarkovChain(P).stationary_distributions[0], pi, atol=1e-12
        )
        assert (
            "The stationary distribution is 0 on states to which the chain never "
            "returns (1): a" in chain.text
        )
    bars = only(graph, list("abc")).intervals()
    assert bars["stationary"].tolist() == only(graph, list("abc")).stationary().tolist()
    assert bars.loc["a"].tolist() == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)


def test_a_chain_in_two_parts_is_refused_by_label() -> None:
    ends = {
        ("a", "b"): 3000,
        ("b", "a"): 3000,
        ("a", "a"): 3000,
        ("c", "d"): 3000,
        ("d", "c"): 3000,
    }
    for chain in (only(ends), only(ends, list("abcd"))):
        with pytest.raises(
            ValueError,
            match="one class of states that is never left, got those of 'a', 'c'",
        ):
            chain.stationary()
        assert (
            "There is no single stationary distribution" in chain.text
            and "for example those of a, c." in chain.text
        )
        with pytest.raises(ValueError, match=r"of must be|one class of states"):
            chain.intervals("stationary")


def test_the_share_of_the_long_run_on_rows_of_noise_is_said() -> None:
    """A state that many enter and nobody leaves: its row is noise, and much of the time
    is spent there.
    """
    table = counts()
    table = table[table["origin"] != "shop"]
    chain = released(table, epsilon=0.5)
    assert chain.weak == ["shop"]
    share = (
        f"{chain.stationary()['shop']:.1%} of the stationary distribution lies on "
        "states whose rows may be noise alone"
    )
    assert (
        share in chain.text
        and "of the stationary distribution lies on" not in released().text
    )
