"""The estimate from noisy counts, and its error bars: no worse than the plain way, and
right as often as they say.
"""

from __future__ import annotations

import numpy as np
import pytest

import dpsim_release as release
from dpsim import markov
from dpsim_release import estimate
from dpsim_release import support as supports
from dpsim_release.discrete_laplace import Noise, laplace_noise


def gravity(n: int, total: int, seed: int) -> np.ndarray:
    """Return counts of trips between places of very different sizes, fewer between
    distant ones.
    """
    rng = np.random.default_rng(seed)
    place = rng.random((n, 2))
    size = rng.lognormal(0.0, 1.5, n)
    far = np.hypot(*(place[:, None] - place).transpose(2, 0, 1))
    share = size[:, None] * size * np.exp(-4.0 * far)
    return rng.multinomial(total, (share / share.sum()).ravel()).reshape(n, n)


def row_error(P: np.ndarray, counts: np.ndarray) -> float:
    totals = counts.sum(axis=1)
    seen = totals > 0
    return float(
        totals[seen]
        @ (0.5 * np.abs(P[seen] - counts[seen] / totals[seen, None]).sum(axis=1))
        / totals.sum()
    )


def plain(noisy: np.ndarray) -> np.ndarray:
    kept = np.maximum(noisy, 0.0)
    sums = kept.sum(axis=1, keepdims=True)
    return np.where(sums > 0, kept / np.where(sums > 0, sums, 1.0), 1.0 / len(noisy))


def clearly_above(first: np.ndarray, second: np.ndarray | float) -> float:
    """Return the mean of first - second, paired, less three standard errors: above 0
    where first is larger.
    """
    apart = np.asarray(first - second).ravel()
    return float(apart.mean() - 3.0 * apart.std(ddof=1) / np.sqrt(apart.size))


def both_errors(counts: np.ndarray, noise: Noise, draws: int) -> np.ndarray:
    """Return the errors of ours and of the plain way over releases of a table."""
    support = release.all_pairs(range(len(counts)))
    found = []
    for seed in range(draws):
        noisy = release.noisy_counts(counts.ravel(), noise, np.random.default_rng(seed))
        ours = release.estimate_chain(support, noisy, noise).matrix.toarray()
        np.testing.assert_allclose(ours.sum(axis=1), 1.0)
        found.append(
            [row_error(P, counts) for P in (ours, plain(noisy.reshape(counts.shape)))]
        )
    return np.array(found).T


@pytest.mark.parametrize("scale", [0.25, 1.0, 10.0, 100.0])
@pytest.mark.parametrize(("n", "total"), [(40, 200_000), (60, 4_000)])
def test_never_much_worse_than_the_plain_way_nor_than_uniform_rows(
    scale: float, n: int, total: int
) -> None:
    counts = gravity(n, total, 1)
    ours, theirs = both_errors(counts, Noise(scale, 1.0), 4)
    uniform = row_error(np.full((n, n), 1.0 / n), counts)
    assert ours.mean() <= 1.2 * theirs.mean() + 1e-12
    assert clearly_above(ours, uniform) <= 1e-12


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_most_counts_are_zero_and_the_prior_that_is_learned_says_so(seed: int) -> None:
    """Five of forty pairs of a row have 200 events, ten scales of the noise: the
    others' positive noises move mass.

    Their share is known: 35 E|Z| / 2 against 1,000 events. The posterior mean sees that
    they are 0.
    """
    n = 40
    rng = np.random.default_rng(seed)
    counts = np.zeros((n, n), dtype=int)
    for row in counts:
        row[rng.choice(n, 5, replace=False)] = 200
    noise = Noise(20.0, 1.0)
    moved = 35 * noise.mean_absolute / 2.0 / 1000.0
    (ours,), (theirs,) = both_errors(counts, noise, 1)
    assert (
        theirs == pytest.approx(moved / (1.0 + moved), rel=0.15) and ours < 0.6 * theirs
    )


def test_few_pairs_are_taken_as_they_are() -> None:
    """Nothing can be learned from a few pairs: margins alone would make the rows of a
    small table alike.
    """
    noise = laplace_noise(0.5)
    for counts in (
        np.array([[25, 25], [50, 0]]),
        np.array([[10, 0], [0, 10]]),
        30 * np.eye(19, dtype=int),
    ):
        support = release.all_pairs(range(len(counts)))
        assert estimate.rule(support) == estimate.PLAIN_RULE
        noisy = release.noisy_counts(counts.ravel(), noise, np.random.default_rng(1))
        found = release.estimate_chain(support, noisy, noise)
        full = np.setdiff1d(np.arange(len(counts)), found.empty)
        np.testing.assert_allclose(
            found.matrix.toarray()[full], plain(noisy.reshape(counts.shape))[full]
        )
    assert estimate.rule(release.all_pairs(range(20))) == estimate.RULE


@pytest.mark.parametrize(("n", "total"), [(20, 5_000), (20, 20_000), (30, 5_000)])
@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_rows_at_random_are_not_made_alike(n: int, total: int, epsilon: float) -> None:
    """Margins say nothing of such rows: where the noisy counts refute them the estimate
    goes to the counts.
    """
    rng = np.random.default_rng(5)
    shares = rng.dirichlet(np.full(n, 2.0))[:, None] * rng.dirichlet(np.full(n, 0.5), n)
    counts = rng.multinomial(total, shares.ravel()).reshape(n, n)
    ours, theirs = both_errors(counts, laplace_noise(epsilon), 8)
    assert ours.mean() <= 1.1 * theirs.mean()


@pytest.mark.parametrize("scale", [0.02, 0.5, 3.0, 40.0])
def test_the_likelihood_is_that_of_counts_spread_over_a_bin(scale: float) -> None:
    noise = Noise(scale, 1.0)
    noisy = np.array([0.0, 1.0, 7.0, 30.0, 200.0])
    first, last = bins = estimate.count_bins(250.0)
    assert (
        first[0] == 0.0 and (first[1:] == last[:-1] + 1.0).all() and last[-1] >= 250.0
    )
    found = estimate.bin_likelihood(noisy, bins, noise)
    for column, (low, high) in enumerate(zip(first, last)):
        apart = np.abs(noisy[:, None] - np.arange(low, high + 1.0))
        law = np.tanh(0.5 / scale) * np.exp(-apart / scale)
        np.testing.assert_allclose(
            found[:, column], law.mean(axis=1), rtol=1e-9, atol=1e-300
        )


def test_the_shares_go_to_the_likeliest_and_lean_as_told() -> None:
    """Of a mixture the likeliest shares are where no bin's mean ratio is above 1
    (Lindsay 1983).
    """
    noise = Noise(1.0, 1.0)
    rng = np.random.default_rng(1)
    true = rng.choice([0, 4, 60], 20_000, p=[0.8, 0.15, 0.05])
    seen, numbers = np.unique(
        np.maximum(release.noisy_counts(true, noise, rng), 0).astype(float),
        return_counts=True,
    )
    bins = estimate.count_bins(seen.max())
    likelihood = estimate.bin_likelihood(seen, bins, noise)
    even = np.ones(len(bins[0]))
    shares = estimate.bin_shares(likelihood, numbers, even, 0.0)
    held = [float(shares[(bins[0] <= c) & (c <= bins[1])][0]) for c in (0, 4, 60)]
    np.testing.assert_allclose(held, [0.8, 0.15, 0.05], atol=0.02)
    ratios = (numbers / (likelihood @ shares)) @ likelihood / numbers.sum()
    assert ratios.max() < 1.01 and shares @ ratios == pytest.approx(1.0)
    leaning = estimate.bin_shares(likelihood, numbers, even, 1e9)
    np.testing.assert_allclose(leaning, 1.0 / even.size, rtol=1e-3)


def test_a_row_adds_up_half_way_between_its_medians_and_its_mean() -> None:
    """Quantiles are 0 to 6: a row that wants 15 has level 5 beside medians of 3; a row
    without any has its means.
    """
    support = release.all_pairs(list("abc"))
    quantiles = np.tile(np.arange(7.0)[:, None], (1, 9))
    quantiles[:, 6:] = 0.0
    mean = np.array([5.0, 5.0, 5.0, 3.5, 3.5, 3.5, 0.1, 0.3, 0.2])
    found = estimate.rows_estimate(quantiles, mean, support)
    np.testing.assert_allclose(found, [4.0] * 3 + [3.25] * 3 + [0.1, 0.3, 0.2])


def test_margins_are_recovered_where_the_noise_is_small_and_even_where_it_is_not() -> (
    None
):
    rows = np.array([1.0, 3.0, 6.0])
    columns = np.array([20.0, 30.0, 50.0])
    counts = np.outer(rows, columns).ravel()
    support = release.all_pairs(list("abc"))
    np.testing.assert_allclose(
        estimate.expected_counts(support, counts, Noise(0.02, 1.0)), counts, rtol=1e-9
    )
    np.testing.assert_allclose(
        estimate.expected_counts(support, counts, Noise(1e6, 1.0)),
        counts.mean(),
        rtol=1e-3,
    )


def test_counts_that_tell_no_more_than_the_margins_have_what_these_expect() -> None:
    """All pairs are alike and far below the noise: rows are alike too, and nearer than
    the noisy counts are.
    """
    (ours,), (theirs,) = both_errors(np.full((40, 40), 3), Noise(20.0, 0.05), 1)
    assert ours < 0.25 * theirs


def test_more_budget_is_no_worse_where_rows_are_pure_noise() -> None:
    """Half of the states have no departures: their rows must not count as data (green
    taxis, February 2025).
    """
    n = 40
    counts = gravity(n, 30_000, 3)
    counts[::2] = 0
    arrivals = counts.sum(axis=0)
    truth = markov.stationary_distribution(
        markov.transition_matrix(
            np.where(counts.sum(axis=1, keepdims=True) > 0, counts, arrivals) + 1e-9
        )
    )
    errors = []
    for epsilon in (0.1, 0.3, 1.0, 3.0):
        noise = laplace_noise(epsilon)
        found = []
        for seed in range(8):
            noisy = release.noisy_counts(
                counts.ravel(), noise, np.random.default_rng(seed)
            )
            P = release.estimate_chain(
                release.all_pairs(range(n)), noisy, noise
            ).matrix.toarray()
            moved = [
                0.5 * np.abs(markov.stationary_distribution(Q + 1e-12) - truth).sum()
                for Q in (P, plain(noisy.reshape(n, n)))
            ]
            found.append(moved)
        errors.append(np.mean(found, axis=0))
    ours, theirs = np.array(errors).T
    assert (ours[1:] < 0.8 * ours[0]).all() and ours[-1] < 0.8 * ours[1:-1].max()
    assert (ours < 0.7 * theirs).all()


def test_empty_rows_are_named_and_filled() -> None:
    noise = Noise(0.25, 4.0)
    support = release.all_pairs(list("abc"))
    found = release.estimate_chain(
        support, np.array([0, 300, 100, -1, 0, 0, 50, 50, 0]), noise
    )
    assert found.empty.tolist() == [1]
    arrivals = found.matrix.toarray()[1]
    assert arrivals[1] > arrivals[2] > arrivals[
        0
    ] * 0.9 and arrivals.sum() == pytest.approx(1.0)
    nothing = release.estimate_chain(support, np.zeros(9, dtype=int), noise)
    np.testing.assert_allclose(nothing.matrix.toarray(), 1.0 / 3.0)
    bare, _ = supports.from_pairs(
        "abc",
        np.array([0]),
        np.array([1]),
        "pairs chosen privately among the declared labels",
    )
    np.testing.assert_allclose(
        release.estimate_chain(bare, np.array([40]), noise).matrix.toarray(),
        [[0, 1, 0], [0, 1, 0], [0, 1, 0]],
    )


def test_the_rule_of_filled_rows_is_true_of_a_small_table() -> None:
    """It spoke of counts twice as probable without events, which these are not."""
    noise = laplace_noise(0.1)
    noisy = np.array([40, 60, 0, -1])
    found = release.estimate_chain(release.all_pairs(["a", "b"]), noisy, noise)
    assert found.empty.tolist() == [1] and np.exp(1.0 / noise.scale) < 2.0
    np.testing.assert_allclose(found.matrix.toarray()[1], [0.4, 0.6])
    assert "twice" not in estimate.EMPTY_RULE and "all 0" in estimate.EMPTY_RULE


def test_a_row_is_filled_from_twice_as_likely_without_events_on() -> None:
    """Rows just below and just above the threshold, and rows that are likelier with
    events than without.
    """
    n = 20
    noise = laplace_noise(0.3)
    counts = np.zeros((n, n), dtype=int)
    support = release.all_pairs(range(n))
    counts[::2] = np.random.default_rng(2).gamma(
        0.3, 100.0, (n // 2, n)
    )  # no margins tell these apart
    counts[1, :2] = 9
    found = []
    for seed in range(60):
        noisy = release.noisy_counts(
            counts.ravel(), noise, np.random.default_rng(seed)
        ).astype(float)
        _, _, evidence = estimate.posterior_of(
            noisy, estimate.expected_counts(support, noisy, noise), noise
        )
        weak = estimate.weak_rows(support, noisy, noise)
        filled = np.isin(range(n), release.estimate_chain(support, noisy, noise).empty)
        assert not filled[~weak].any()
        found += zip(estimate.row_sums(evidence, support)[weak], filled[weak])
    evidence, filled = map(np.array, zip(*found))
    np.testing.assert_array_equal(filled, evidence <= -np.log(2.0))
    near = np.abs(evidence + np.log(2.0)) < 0.1
    assert 0 < filled[near].sum() < near.sum() and (evidence > 0.0).any()


def test_the_evidence_is_the_ratio_of_two_probabilities() -> None:
    """Of noisy counts whose prior is known, 0 or 30 with equal shares: by the law of
    the noise alone.
    """
    noise = laplace_noise(1.0)
    rng = np.random.default_rng(3)
    noisy = release.noisy_counts(np.repeat([0, 30], 20_000), noise, rng).astype(float)
    _, _, evidence = estimate.posterior_of(noisy, np.full(noisy.size, 15.0), noise)
    for seen in (0.0, 3.0, 6.0):
        law = np.exp(-np.abs(seen - np.array([0.0, 30.0])) / noise.scale)
        assert evidence[noisy == seen][0] == pytest.approx(
            np.log(law.mean() / law[0]), abs=0.1
        )
    assert (evidence[noisy >= 28] > 20.0).all()


def test_a_row_that_stands_out_of_the_noise_is_never_filled() -> None:
    """Sixty events beside rows of thousands, whose pairs make one expect more: its own
    counts still say more.
    """
    counts = gravity(63, 3_000_000, 5)
    counts[7] = np.random.default_rng(1).multinomial(60, np.full(63, 1.0 / 63.0))
    support = release.all_pairs(range(63))
    noise = laplace_noise(1.0)
    for seed in range(10):
        noisy = release.noisy_counts(counts.ravel(), noise, np.random.default_rng(seed))
        weak = estimate.weak_rows(support, noisy, noise)
        assert (
            weak[release.estimate_chain(support, noisy, noise).empty].all()
            and not weak[7]
        )


def test_where_everything_is_noise_rows_are_uniform() -> None:
    """The counts must exceed what their margins make one expect by three standard
    deviations of noise alone.
    """
    n = 30
    noise = laplace_noise(1e-3)
    draws = 100
    counts = gravity(n, 4_000, 1).ravel()
    support = release.all_pairs(range(n))
    told = 0
    for draw in range(draws):
        noisy = release.noisy_counts(counts, noise, np.random.default_rng(draw))
        P = release.estimate_chain(support, noisy, noise).probabilities
        told += bool(np.abs(P - 1.0 / n).max() > 1e-9)
    assert told <= 1


def test_a_row_of_zeros_is_filled_where_the_noise_hides_nothing() -> None:
    """Two allowed pairs of 0 are no evidence against a row, and leave nothing to
    normalise.
    """
    n = 300
    rows = np.repeat(np.arange(n), 2)
    columns = (rows + np.tile([1, 2], n)) % n
    support, _ = supports.from_pairs(range(n), rows, columns, supports.GRAPH)
    counts = np.where(rows == 7, 0, 5)
    found = release.estimate_chain(support, counts, laplace_noise(1e3))
    assert found.empty.tolist() == [7]
    np.testing.assert_allclose(found.probabilities, 0.5)


@pytest.mark.parametrize("epsilon", [0.3, 0.5, 1.0])
def test_rows_whose_totals_drown_in_noise_are_not_made_alike(epsilon: float) -> None:
    """Twenty events to one destination, one of twenty: the total tells nothing, the one
    large noisy count does.
    """
    counts = 20 * np.eye(20, dtype=int)[np.random.default_rng(20).integers(0, 20, 20)]
    ours, theirs = both_errors(counts, laplace_noise(epsilon), 40)
    assert clearly_above(0.8 * theirs, ours) > 0.0
