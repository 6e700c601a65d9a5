"""From counts to private chains: the published accounting, the exact one, the data-free
release."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import betainc, betaln, expit, polygamma

from dpsim import accounting, datasets, dirichlet, ledger, markov

GRADES = datasets.load_grades()["students"].to_numpy()
ZONES = datasets.load_taxi_zones()["zone"]
TAXIS = datasets.counts_matrix(datasets.load_taxi_trips(), ZONES)
SMALL = np.array([[5000, 5000, 10], [5000, 5000, 10], [6, 6, 13]])
ROWS = ledger.published().query("paper == 'benvenuti2026'")


def test_rows_read_totals_categories_and_borders() -> None:
    row = dirichlet.rows([[3, 1, 0], [2, 2, 4]])
    assert row.total.tolist() == [4, 8] and row.categories.tolist() == [2, 3]
    assert row.eta.tolist() == [0.25, 0.25] and row.k_min.tolist() == [6, 6]
    with pytest.raises(
        ValueError,
        match="counts must be positive somewhere in each row, got none in row",
    ):
        dirichlet.rows([[1, 2], [0, 0]])
    with pytest.raises(ValueError, match=r"counts must be in \[0, inf\), got -1"):
        dirichlet.rows([[1, -1]])
    for empty in (np.zeros((0, 2)), np.zeros((0, 0)), []):
        with pytest.raises(ValueError, match="counts must not be empty, got shape"):
            dirichlet.private_counts(empty, k=20, eta=0.07, gamma=1e-4)


def test_the_spread_of_one_divergence_is_the_recorded_one() -> None:
    row = ROWS.loc["benvenuti2026.fig1.kl_max"]
    C = GRADES / 98
    deviation = np.sqrt((C**2 * polygamma(1, 20.6 * C)).sum() - polygamma(1, 20.6))
    assert deviation == pytest.approx(row["deviation"], abs=5e-5)
    logs = dirichlet.dirichlet_mechanism(C, 20.6, size=100_000, rng=3, log=True)
    drawn = (C * (np.log(C) - logs)).sum(axis=1)
    assert drawn.std() == pytest.approx(deviation, rel=0.02)


def published(counts, factor=1.0, gamma=1e-8):
    """Epsilon and delta of each row at the paper's border and so many times its
    smallest k."""
    row = dirichlet.rows(counts)
    return dirichlet.row_privacy(counts, k=factor * row.k_min, eta=row.eta, gamma=gamma)


def test_algorithm_1_draws_and_states_theorem_1() -> None:
    counts = [20, 30, 48]
    public = {"k": 20.6, "eta": 0.073, "gamma": 4e-4}
    made = dirichlet.private_counts(counts, size=20_000, rng=1, **public)
    assert made.epsilon == dirichlet.theorem1_vector_epsilon(
        20.6, shift=1 / 98, eta=0.073, gamma=4e-4, n=3
    )
    assert (
        made.delta
        == dirichlet.theorem1_delta_bounds(20.6, eta=0.073, gamma=4e-4, n=3)[1]
    )
    shares = np.array(counts) / 98
    spread = np.sqrt(shares * (1 - shares) / 21.6)
    assert (
        np.abs(made.value.mean(axis=0) - shares) < 5 * spread / np.sqrt(20_000)
    ).all()
    np.testing.assert_allclose(
        made.value.std(axis=0), spread, rtol=0.03
    )  # k 10 % off would be 5 %
    with pytest.raises(ValueError, match="eta"):
        dirichlet.private_counts([5, 45, 48], **public)


def test_algorithm_2_is_as_private_as_its_worst_row() -> None:
    row = dirichlet.rows(SMALL)
    public = {"k": 2 * row.k_min, "eta": row.eta, "gamma": [1e-4, 1e-5, 1e-3]}
    made = dirichlet.private_counts(SMALL, size=4, rng=1, **public)
    parts = [
        dirichlet.private_counts(c, k=k, eta=e, gamma=g)
        for c, k, e, g in zip(SMALL, *map(np.asarray, public.values()))
    ]
    assert made.value.shape == (4, 3, 3) and np.allclose(made.value.sum(axis=-1), 1)
    assert made.epsilon == max(part.epsilon for part in parts) and made.delta == max(
        part.delta for part in parts
    )
    assert (
        (
            dirichlet.private_counts(
                [[3, 0, 3], [3, 3, 3], [2, 2, 3]], k=9, eta=0.2, gamma=0.01
            ).value[0, 1]
        )
        == 0
    )


@pytest.mark.parametrize("name", ["k", "eta", "gamma"])
@pytest.mark.parametrize("value", [[1e-4, 2e-4], [[1e-4], [1e-4], [2e-4]], []])
def test_one_number_or_one_a_row_else_the_argument_is_named(name, value) -> None:
    public = {"k": 10.0, "eta": 1e-4, "gamma": 1e-3} | {name: value}
    for release in (dirichlet.private_counts, dirichlet.row_privacy):
        with pytest.raises(ValueError, match=f"^{name} must"):
            release(SMALL, **public)


def test_the_mean_divergence_of_a_chain_is_that_of_draws() -> None:
    P = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    k = np.array([20.0, 40.0, 60.0])
    chains = dirichlet.dirichlet_mechanism(P, k, size=40_000, rng=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = np.where(P > 0, P * np.log(P / chains), 0.0).sum(
            axis=-1
        ) @ markov.stationary_distribution(P)
    error = drawn.std() / np.sqrt(drawn.size)
    assert abs(dirichlet.expected_chain_kl(P, k) - drawn.mean()) < 4 * error
    assert abs(dirichlet.expected_chain_kl(P, 1.1 * k) - drawn.mean()) > 6 * error


def test_a_row_without_neighbours_is_refused() -> None:
    for counts in (7, [7], [3, 3], [2, 2, 2], [[4, 1], [0, 9]]):
        with pytest.raises(ValueError, match="counts must leave each row a neighbour"):
            published(counts, gamma=0.01)
    for counts in ([2, 1], [3, 1, 1]):
        assert published(counts, gamma=0.01)[0] > 0


@pytest.mark.parametrize("zones", [63, 60, 55, 50, 45, 40, 35, 30])
def test_the_smallest_epsilon_of_each_number_of_zones(zones: int) -> None:
    merged, _ = datasets.merge_zones(TAXIS, datasets.load_zone_adjacency(), zones)
    expected = ROWS.loc[f"benvenuti2026.table1.{zones}"]
    epsilon = published(merged)[0].max()
    assert epsilon == pytest.approx(expected["expected"], abs=expected["expected_unit"])


def test_the_exact_epsilon_is_below_the_published_one_at_its_own_delta() -> None:
    for counts in (TAXIS, SMALL):
        for factor in (1.0, 2.0, 3.0):
            row = dirichlet.rows(counts)
            (epsilon, delta) = published(counts, factor)
            exact = accounting.exact_epsilon(
                delta, factor * row.k_min, shift=1 / row.total, eta=row.eta
            )
            assert (exact <= epsilon).all()


def test_the_exact_epsilon_of_a_row_depends_on_its_smallest_count_alone() -> None:
    for smallest, expected in ((1, 14.6), (2, 6.90), (3, 4.45)):
        for others in ([500, 800], [20_000, 31, 77]):
            row = dirichlet.rows([smallest, *others])
            epsilon = accounting.exact_epsilon(
                1e-6, row.k_min, shift=1 / row.total, eta=row.eta
            )
            assert epsilon == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize("vertices", [1, 2, 5])
@pytest.mark.parametrize("delta, draws", [(0.3, 7), (0.02, 200), (0.0026, 5000)])
def test_monte_carlo_error_is_the_mean_deviation_of_the_worst_estimate(
    delta, draws, vertices
) -> None:
    counts = np.arange(draws + 1)
    pmf = stats.binom.pmf(counts, draws, delta)
    law = np.diff(np.cumsum(pmf) ** vertices, prepend=0.0)
    expected = (law * np.abs(counts / draws - delta)).sum() / delta
    assert dirichlet.monte_carlo_error(
        delta, draws, vertices=vertices
    ) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("delta", [1e-300, 1e-30, 1e-9])
def test_the_error_of_a_share_never_seen_is_twice_its_size(delta) -> None:
    draws = np.array([1, 10])
    np.testing.assert_allclose(
        dirichlet.monte_carlo_error(delta, draws),
        2.0 * (1.0 - delta) ** draws,
        rtol=1e-12,
    )


@pytest.mark.parametrize("kappa, alpha", [(0.5, 10.0), (1.0, 1.0), (0.05, 2.0)])
def test_posterior_errors_against_draws_and_another_kappa(
    kappa: float, alpha: float
) -> None:
    exact = dirichlet.posterior_absolute_error(GRADES, kappa=kappa, alpha=alpha)
    shapes = kappa * (GRADES + alpha)
    drawn = np.random.default_rng(5).dirichlet(shapes, size=200_000)
    errors = np.abs(drawn - GRADES / 98)
    band = 6 * errors.std(axis=0) / np.sqrt(len(errors))
    assert (np.abs(errors.mean(axis=0) - exact) < band).all()
    wrong = dirichlet.posterior_absolute_error(
        GRADES, kappa=1.1 * kappa, alpha=1.5 * alpha
    )
    assert (np.abs(errors.mean(axis=0) - wrong) > band).any()


def test_the_error_of_a_release_of_tiny_kappa_is_that_of_one_certain_category():
    """Below 1e-154 SciPy's incomplete beta function gives 1 where 2/3 is meant, and the
    error would be negative."""
    error = dirichlet.posterior_absolute_error([1, 3], kappa=1e-149, alpha=1.0)
    assert error == pytest.approx([2 / 3 * 1 / 4 + 1 / 3 * 3 / 4] * 2)
    with pytest.raises(ValueError, match="kappa"):
        dirichlet.posterior_absolute_error([1, 3], kappa=1e-160, alpha=1.0)


HALF = [0.5, 0.5]
CHAIN = [[0.5, 0.5], [0.2, 0.8]]


@pytest.mark.parametrize(
    ("call", "named"),
    [
        *(
            (
                lambda c=c: dirichlet.ergodicity_bound(HALF, 100, 20.0, categories=c),
                "categories",
            )
            for c in (0, [2, 3, 4], "x", np.nan)
        ),
        (
            lambda: dirichlet.ergodicity_bound(HALF, 100, 20.0, categories=200),
            "N must be at least categories",
        ),
        (lambda: dirichlet.ergodicity_bound(HALF, [3, 4, 5], 20.0), "N"),
        (lambda: dirichlet.mean_kl_bound(HALF, 100, [3, 4, 5]), "k"),
        *(
            (lambda P=P: dirichlet.expected_chain_kl(P, 20.0), "P")
            for P in (
                0.5,
                HALF,
                "x",
                [[0.5, 0.6], [0.2, 0.8]],
                [[1.5, -0.5], [0.2, 0.8]],
                np.zeros((0, 0)),
            )
        ),
        *(
            (lambda k=k: dirichlet.expected_chain_kl(CHAIN, k), "k")
            for k in ([1, 2, 3], 0, "x", np.inf, 1e-295)
        ),
    ],
)
def test_refusals_of_the_chain_name_the_argument(call, named) -> None:
    """They said "p" and "n", which are arguments of functions that the user never
    called."""
    with pytest.raises(ValueError, match=rf"^{named}\b"):
        call()


def delta_of_two_shares(k: float, epsilon: float, p: float, q: float) -> float:
    """The exact delta of Beta(k p, k - k p) against Beta(k q, k - k q)."""
    a, b, c, d = k * p, k - k * p, k * q, k - k * q
    constant = betaln(c, d) - betaln(a, b)
    if a < c:  # the ratio falls: look at the other share
        a, b, c, d = b, a, d, c
    rest = expit((constant - epsilon) / (a - c))
    return float(betainc(b, a, rest) - np.exp(epsilon) * betainc(d, c, rest))


def largest_k_of_two_shares(epsilon: float, delta: float, least: int, N: int) -> float:
    first = np.unique(np.linspace(least, N - least - 1, 9).astype(int)) / N
    pairs = [(p, p + 1 / N) for p in first]

    def excess(log_k: float) -> float:
        k = np.exp(log_k)
        found = (delta_of_two_shares(k, epsilon, *pair) for pair in pairs)
        other = (delta_of_two_shares(k, epsilon, *pair[::-1]) for pair in pairs)
        return max(*found, *other) - delta

    return float(np.exp(brentq(excess, np.log(0.05 * N / least), np.log(1e9))))


TWO_SHARES = [
    (N, least, count, epsilon, delta)
    for N, least, count in (
        (20, 6, 6),
        (100, 5, 5),
        (1000, 333, 333),
        (1000, 333, 500),
        (1000, 50, 400),
    )
    for epsilon in (0.1, 1.0, 3.0)
    for delta in (1e-4, 0.002, 0.0214)
    if accounting.privacy_floor(delta, shift=1 / N, eta=least / N) < epsilon
]


@pytest.mark.parametrize(("N", "least", "count", "epsilon", "delta"), TWO_SHARES)
def test_noise_on_one_of_two_counts_is_better_than_the_largest_k_of_two_shares(
    N: int, least: int, count: int, epsilon: float, delta: float
) -> None:
    """Formula (E) is only an upper bound for two shares, so k may be larger."""
    share = count / N
    k = largest_k_of_two_shares(epsilon, delta, least, N)
    bound = accounting.calibrate_k(epsilon, delta, shift=1 / N, eta=least / N)
    assert bound <= k * (1 + 1e-6)
    by_draw = dirichlet.expected_absolute_error([share, 1 - share], k).sum() / 2
    if delta <= epsilon / 200:
        q = np.exp(-epsilon)
        noise = 2 * q / (1 - q * q)
    else:
        sigma = 2**0.5 * accounting.gaussian_scale(epsilon, delta, b=1.0)
        noise = sigma * (2 / np.pi) ** 0.5
    assert noise / N < by_draw
