"""Error bars: right as often as they say wherever they are given, and refused by name
elsewhere.
"""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpsim_release as release
from dpsim import markov
from dpsim_release import discrete_laplace, intervals, statement, support
from dpsim_release.discrete_laplace import laplace_noise
from dpsim_release.unit import EVENT


def chain_of(
    counts: np.ndarray, epsilon: float, rng: np.random.Generator
) -> release.PrivateChain:
    """Return a release of a table of counts on all pairs."""
    pairs = support.all_pairs(range(len(counts)))
    noise = laplace_noise(epsilon)
    facts = statement.facts(noise, EVENT, None, 0.0, False, True) | {
        "support": pairs.kind,
        "pairs": counts.size,
    }
    return release.PrivateChain(
        pairs, discrete_laplace.noisy_counts(counts.ravel(), noise, rng), facts
    )


def random_rows(n: int, each: int, alpha: float) -> np.ndarray:
    rng = np.random.default_rng(n)
    return np.array(
        [rng.multinomial(each, p) for p in rng.dirichlet(np.full(n, alpha), n)]
    )


def coverage(
    counts: np.ndarray, epsilon: float, target: str, draws_: int = 60
) -> dict[str, tuple[float, float]]:
    """Return how often each kind was given, and the mean share of true values inside,
    at nominal 0.9.
    """
    rng = np.random.default_rng([len(counts), int(100 * epsilon)])
    rows = counts.sum(axis=1)
    truth = counts / rows[:, None]
    exact = {
        "probabilities": truth.ravel(),
        "stationary": markov.stationary_distribution(truth),
    }
    hits: dict[str, list[float]] = {of: [] for of in exact}
    for _ in range(draws_):
        table = (
            np.array([rng.multinomial(n, p) for n, p in zip(rows, truth)])
            if target == "process"
            else counts
        )
        chain = chain_of(table, epsilon, rng)
        for of, values in exact.items():
            try:
                found = chain.intervals(of, target=target)
            except ValueError as refusal:
                assert re.search(
                    "of must be 'probabilities' or 'counts'|one class of states that",
                    str(refusal),
                )
                continue
            low, high = (found[end].to_numpy() for end in ("low", "high"))
            assert (
                np.isfinite([low, high]).all()
                and (low >= 0).all()
                and (high <= 1).all()
            )
            hits[of].append(float(((low <= values) & (values <= high)).mean()))
    return {
        of: (len(found) / draws_, float(np.mean(found)) if found else np.nan)
        for of, found in hits.items()
    }


SLOW = np.array([[2000, 3, 0], [5, 400, 2], [0, 4, 60]])
TINY = np.array([[3, 2, 1], [1, 4, 2], [2, 2, 2]])


@pytest.mark.parametrize("target", ["table", "process"])
@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [
        (random_rows(5, 1000, 0.8), 0.1),
        (random_rows(5, 1000, 0.8), 1.0),
        (random_rows(20, 3000, 0.5), 1.0),
    ],
)
def test_coverage_where_rows_have_many_events(
    counts: np.ndarray, epsilon: float, target: str
) -> None:
    for given, share in coverage(counts, epsilon, target).values():
        assert given == 1.0
        assert share >= 0.9 - 3.0 * 0.3 / np.sqrt(
            60 * 2
        )  # the entries of one release hang together


@pytest.mark.parametrize("target", ["table", "process"])
@pytest.mark.parametrize("counts", [SLOW, TINY])
@pytest.mark.parametrize("epsilon", [0.5, 1000.0])
def test_coverage_is_not_promised_where_it_fails(
    counts: np.ndarray, epsilon: float, target: str
) -> None:
    """Chains that hardly leave a state, and tables of a few events: what is given too
    rarely holds is refused.
    """
    for of, (given, share) in coverage(counts, epsilon, target, 60).items():
        assert given == 1.0 or of != "probabilities"
        missed = given * (1.0 - share) if given else 0.0
        assert missed <= 0.1 + 3.0 * np.sqrt(0.09 / 60)
        if of != "probabilities" and not (epsilon == 1000.0 and target == "table"):
            assert given <= 0.15
        if epsilon == 1000.0 and target == "table":
            assert (given, share) == (1.0, 1.0)


@pytest.mark.parametrize("target", ["table", "process"])
def test_intervals_are_as_wide_as_what_they_measure(target: str) -> None:
    """Not wider either: half of each is 1.645 standard deviations of the released
    probability, from 4,000 releases.
    """
    shares = np.array([[0.8, 0.1, 0.1], [0.5, 0.3, 0.2], [0.34, 0.33, 0.33]])
    rng = np.random.default_rng(7)
    counts = np.round(20_000 * shares).astype(int)
    rows = counts.sum(axis=1)
    noise = laplace_noise(0.1)
    sample = (
        rng.multinomial(rows, shares, (4000, 3))
        if target == "process"
        else np.broadcast_to(counts, (4000, 3, 3))
    )
    noisy = release.noisy_counts(sample.ravel(), noise, rng).reshape(4000, 3, 3)
    spread = (noisy / noisy.sum(axis=2, keepdims=True)).std(axis=0).ravel()
    bars = chain_of(counts, 0.1, rng).intervals(
        "probabilities", level=0.9, target=target
    )
    half = 0.5 * (bars["high"] - bars["low"]).to_numpy()
    np.testing.assert_allclose(
        half / stats.norm.ppf(0.95), spread, rtol=4.0 / np.sqrt(2 * 4000)
    )


def test_coverage_where_one_counts_own_noise_decides() -> None:
    """Its tails are longer than a normal law's: intervals of 99 % made for that law
    missed 2.3 %.
    """
    n = 60
    rng = np.random.default_rng(11)
    counts = np.full((n, n), 100) + 90_000 * np.eye(n, dtype=int)
    truth = counts / counts.sum(axis=1, keepdims=True)
    others = ~np.eye(n, dtype=bool)
    for epsilon in (0.1, 1.0):
        found = [
            chain_of(counts, epsilon, rng).intervals("probabilities", level=0.99)
            for _ in range(5)
        ]
        low, high = (
            np.array([bars[end].to_numpy().reshape(n, n)[others] for bars in found])
            for end in ("low", "high")
        )
        missed = ((truth[others] < low) | (high < truth[others])).mean()
        assert missed <= 0.01 + 3.0 * np.sqrt(0.01 * 0.99 / low.size)


def test_a_row_that_is_noise_has_the_interval_from_0_to_1() -> None:
    counts = np.array([[4000, 3000, 0], [0, 0, 0], [2000, 0, 5000]])
    for seed in range(20):
        bars = chain_of(counts, 0.5, np.random.default_rng(seed)).intervals(
            "probabilities"
        )
        weak = bars["origin"] == 1
        assert (bars["low"][weak] == 0.0).all() and (bars["high"][weak] == 1.0).all()
        assert (bars["high"] - bars["low"])[~weak].max() < 0.01


def test_points_are_the_estimates_and_lie_inside() -> None:
    rng = np.random.default_rng(3)
    for epsilon in (0.3, 1.0, 1000.0):
        chain = chain_of(random_rows(6, 2000, 0.5), epsilon, rng)
        found = chain.intervals("stationary")
        np.testing.assert_array_equal(found["stationary"], chain.stationary())
        shares = chain.intervals("probabilities")
        np.testing.assert_array_equal(
            shares["probability"], chain.estimate.probabilities
        )
        for table in (found, shares):
            point = table.drop(columns=["low", "high"]).iloc[:, -1]
            assert ((table["low"] <= point) & (point <= table["high"])).all()


@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_intervals_of_chosen_pairs_end_where_a_tail_is_half_of_what_is_left(
    epsilon: float,
) -> None:
    """By summing the law of the noisy count over all that pass, for each true count."""
    noise = laplace_noise(epsilon)
    threshold = 15
    passing = np.arange(threshold, 1000)
    seen = np.arange(threshold, 40)
    law = np.exp(-np.abs(passing - np.arange(1, 300)[:, None]) / noise.scale)
    law /= law.sum(axis=1, keepdims=True)
    above = law[:, ::-1].cumsum(axis=1)[:, ::-1]
    below = law.cumsum(axis=1)
    low, high = intervals.conditional_interval(seen, threshold, noise, 0.9)
    assert low.tolist() == (1 + (above[:, : seen.size] >= 0.05).argmax(axis=0)).tolist()
    assert (
        high.tolist()
        == np.maximum((below[:, : seen.size] >= 0.05).sum(axis=0), 1).tolist()
    )


def test_pairs_chosen_privately_have_the_bars_of_their_counts_alone() -> None:
    ends = {
        "origin": list("aabb"),
        "destination": list("abab"),
        "trips": [900, 400, 40, 700],
    }
    chain = release.release_chain(
        release.Counts(pd.DataFrame(ends)), epsilon=1.0, delta=1e-6, rng=1
    )
    found = chain.intervals("counts")
    low, high = intervals.conditional_interval(
        chain.noisy, chain.statement["threshold"], chain.noise, 0.9
    )
    assert (
        found["low"].tolist() == low.tolist()
        and found["high"].tolist() == high.tolist()
    )
    for of in ("probabilities", "stationary"):
        with pytest.raises(
            ValueError, match="of must be 'counts' for pairs chosen privately"
        ):
            chain.intervals(of)


@pytest.mark.parametrize(
    "wrong", [{"of": "rows"}, {"level": 1.0}, {"target": "sample"}]
)
def test_refusals(wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        chain_of(TINY, 0.5, np.random.default_rng(1)).intervals(**wrong)
