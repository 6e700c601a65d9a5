"""The Boltzmann machine mechanism against enumeration, full transition matrices and the deck's numbers."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln

from dpsim import boltzmann
from dpsim.boltzmann.limit import log_normalisers
from dpsim.boltzmann.mechanism import _plain_metropolis
from dpsim.boltzmann.space import weight_matrix

ALPHA = 1e-6  # of accepting tests; the seeds are fixed
WRONG = 1.1  # a temperature that statistical tests must reject
REJECT = 1e-12  # p-value under the wrong temperature
DRAWS = 60_000


def enumerate_histograms(total, bins):
    rows = (z for z in itertools.product(range(total, -1, -1), repeat=bins) if sum(z) == total)
    return np.array(list(rows))


def matrix(weights, bins):
    w = np.ones(bins) if weights is None else np.asarray(weights, float)
    return np.diag(w) if w.ndim == 1 else w


def cost(z, x, weights):
    d = np.asarray(z) - np.asarray(x)
    return -float(d @ matrix(weights, len(d)) @ d)


def brute_law(x, t, weights=None):
    space = enumerate_histograms(sum(x), len(x))
    exponent = [cost(z, x, weights) / t for z in space]
    total = math.fsum(math.exp(e) for e in exponent)
    return np.array([math.exp(e) / total for e in exponent])


def brute_matrix(x, t, weights, proposal):
    space = [tuple(z) for z in enumerate_histograms(sum(x), len(x)).tolist()]
    bins, total = len(x), sum(x)
    P = np.zeros((len(space), len(space)))
    for row, z in enumerate(space):
        for i, j in itertools.permutations(range(bins), 2):
            chance = 1 / (bins * (bins - 1)) if proposal == "bins" else z[i] / total / (bins - 1)
            y = list(z)
            y[i] -= 1
            y[j] += 1
            if z[i] == 0:
                P[row, row] += chance
                continue
            accept = min(1.0, math.exp((cost(y, x, weights) - cost(z, x, weights)) / t))
            P[row, space.index(tuple(y))] += chance * accept
            P[row, row] += chance * (1 - accept)
    return P


def semidefinite(bins, rank, seed):
    a = np.random.default_rng(seed).normal(size=(bins, rank))
    return a @ a.T


def p_value(draws, law, total):
    """Chi-square of draws (size, n) against a law; cells with an expectation below 10 are merged."""
    observed = np.bincount(boltzmann.configuration_index(draws, total), minlength=law.size)
    expected = law * len(draws)
    rare = expected < 10
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
        if expected[-1] < 10:
            observed = np.append(observed[:-2], observed[-2:].sum())
            expected = np.append(expected[:-2], expected[-2:].sum())
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


def neighbours(space):
    return [(x, y) for x, y in itertools.permutations(range(len(space)), 2) if np.abs(space[x] - space[y]).sum() == 2]


SPACES = [(1, 2), (2, 3), (6, 3), (4, 4), (9, 2)]
CASES = [
    # x, t, weights
    ((1, 0, 1), 1.0, None),
    ((1, 0, 1), 10.0, None),
    ((4, 2, 0), 10.0, None),
    ((6, 0, 0), 3.0, [1.0, 0.0, 2.5]),
    ((0, 1, 1, 2), 2.0, [0.3, 1.0, 4.0, 0.0]),
    ((2, 1, 3), 4.0, semidefinite(3, 3, 1)),
    ((5, 4), 20.0, None),
]
IDS = [f"{x}-t{t:g}-W{np.ndim(w)}" for x, t, w in CASES]


# the space --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("total, bins", [*SPACES, (0, 3), (5, 1), (3, 6)])
def test_configurations_are_all_histograms_in_decreasing_order(total, bins):
    space = boltzmann.configurations(total, bins)
    assert np.array_equal(space, enumerate_histograms(total, bins))
    assert len(space) == math.comb(total + bins - 1, bins - 1)
    assert np.array_equal(boltzmann.configuration_index(space, total), np.arange(len(space)))


def test_deck_spaces():
    deck = [(2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 1, 1), (0, 0, 2)]
    assert boltzmann.configurations(2, 3).tolist() == [list(z) for z in deck]
    large = boltzmann.configurations(50, 5)
    assert len(large) == 316_251
    assert np.array_equal(boltzmann.configuration_index(large, 50), np.arange(316_251))


def test_index_of_large_and_batched_histograms():
    assert boltzmann.configuration_index(np.array([10**9 - 7, 7]), 10**9) == 7
    space = boltzmann.configurations(4, 3).reshape(5, 3, 3)
    assert np.array_equal(boltzmann.configuration_index(space, 4), np.arange(15).reshape(5, 3))


@pytest.mark.parametrize("x, t, weights", CASES, ids=IDS)
def test_stationary_law(x, t, weights):
    law = np.exp(boltzmann.log_stationary(x, t, weights))
    np.testing.assert_allclose(law, brute_law(x, t, weights), rtol=1e-12)
    both = boltzmann.log_stationary(x, [t, 2 * t], weights)
    np.testing.assert_allclose(np.exp(both), [law, brute_law(x, 2 * t, weights)], rtol=1e-12)


def test_a_diagonal_matrix_is_its_diagonal():
    w = np.array([1.0, 3.0, 0.5])
    assert np.array_equal(boltzmann.log_stationary((2, 1, 0), 2, w), boltzmann.log_stationary((2, 1, 0), 2, np.diag(w)))


# privacy ----------------------------------------------------------------------------------------------------


def weights_table(bins):
    rng = np.random.default_rng(bins)
    sparse = rng.exponential(size=bins) * (np.arange(bins) > 0)
    return [
        None,
        rng.exponential(size=bins),
        sparse,
        *(semidefinite(bins, r, r) for r in (1, 2, bins)),
        np.zeros(bins),
    ]


@pytest.mark.parametrize("total", [1, 2, 3, 5])
@pytest.mark.parametrize("bins", [2, 3, 4])
def test_sensitivity_and_epsilon_against_brute_force(total, bins):
    space = enumerate_histograms(total, bins)
    pairs = np.array(neighbours(space))
    t = 2.0
    for weights in weights_table(bins):
        d = space[None] - space[:, None]
        c = -np.einsum("xzi,ij,xzj->xz", d, matrix(weights, bins), d)  # c_x(z)
        s = boltzmann.sensitivity(total, bins, weights)
        assert s == pytest.approx(np.abs(c[pairs[:, 0]] - c[pairs[:, 1]]).max(), rel=1e-12, abs=1e-14)
        log_law = c / t - np.log(np.exp(c / t).sum(axis=1, keepdims=True))
        loss = (log_law[pairs[:, 0]] - log_law[pairs[:, 1]]).max()
        exact = boltzmann.exact_epsilon_limit(total, bins, t, weights)
        bound = boltzmann.epsilon_bound(total, bins, t, weights)
        assert exact == pytest.approx(loss, rel=1e-11, abs=1e-12)
        assert loss <= bound * (1 + 1e-12) + 1e-14
        assert bound <= 2 * s / t * (1 + 1e-12) + 1e-14


@pytest.mark.parametrize("total, bins", [(1, 2), (2, 3), (50, 5), (1000, 40)])
def test_sensitivity_closed_forms(total, bins):
    w = np.random.default_rng(3).exponential(size=bins)
    assert boltzmann.sensitivity(total, bins) == 4 * total - 2
    assert boltzmann.sensitivity(total, bins, w) == pytest.approx((2 * total - 1) * np.sort(w)[-2:].sum())
    tilted = np.diag(w) + 1e-9 * np.ones((bins, bins))  # a full matrix next to the diagonal one
    assert boltzmann.sensitivity(total, bins, tilted) == pytest.approx(boltzmann.sensitivity(total, bins, w), rel=1e-6)
    assert boltzmann.epsilon_bound(total, bins, 10) == pytest.approx((4 * total - 2) / 10)
    assert boltzmann.epsilon_bound(total, bins, 10, w) == pytest.approx(2 * total * np.sort(w)[-2:].sum() / 10)


@pytest.mark.parametrize("total", [1, 2, 3, 6, 10])
@pytest.mark.parametrize("bins", [2, 3, 5])
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_equal_weights_have_epsilon_at_most_s_over_t(total, bins, weight):
    for t in (0.05, 0.5, 3, 30, 1e4):
        exact = boltzmann.exact_epsilon_limit(total, bins, t, np.full(bins, weight))
        bound = boltzmann.epsilon_bound(total, bins, t, np.full(bins, weight))
        assert exact <= bound * (1 + 1e-12)
        assert bound == pytest.approx(weight * (4 * total - 2) / t)


def test_exact_epsilon_between_s_and_two_s_over_t():
    """For unequal weights s / t is no bound; at low t the epsilon of the identity tends to s / t."""
    weights, t = [4.0, 0.1, 0.1, 0.1, 0.1], 2.0
    exact = boltzmann.exact_epsilon_limit(1, 5, t, weights)
    s = boltzmann.sensitivity(1, 5, weights)
    assert s / t < exact <= boltzmann.epsilon_bound(1, 5, t, weights) <= 2 * s / t
    assert boltzmann.exact_epsilon_limit(6, 3, 0.01) == pytest.approx(boltzmann.sensitivity(6, 3) / 0.01)


@pytest.mark.parametrize("total, bins, weights", [(6, 3, None), (5, 4, [1, 0, 2, 0.4]), (4, 3, semidefinite(3, 2, 5))])
@pytest.mark.parametrize("t", [0.5, 10.0])
def test_log_normalisers(total, bins, weights, t):
    space = enumerate_histograms(total, bins)
    brute = [math.log(math.fsum(math.exp(cost(z, x, weights) / t) for z in space)) for x in space]
    np.testing.assert_allclose(log_normalisers(total, bins, t, weights), brute, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("x, t, weights", CASES, ids=IDS)
def test_expected_objective(x, t, weights):
    c = [cost(z, x, weights) for z in enumerate_histograms(sum(x), len(x))]
    exact = boltzmann.expected_objective(x, t, weights)
    assert exact == pytest.approx(float(brute_law(x, t, weights) @ c), rel=1e-12)


@pytest.mark.parametrize("t", [1e-3, 10.0, 100.0, 1e6])
def test_expected_objective_of_the_deck_example(t):
    x = [1, 2, 3, 20, 24]
    law = np.exp(boltzmann.log_stationary(x, t))
    value = law @ boltzmann.objective(boltzmann.configurations(50, 5), x)
    assert boltzmann.expected_objective(x, t) == pytest.approx(value, rel=1e-11, abs=1e-290)


# the chain --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x, t, weights", CASES, ids=IDS)
@pytest.mark.parametrize("proposal", ["bins", "individual"])
def test_transition_matrix_and_k_step_law(x, t, weights, proposal):
    P = boltzmann.transition_matrix(x, t, weights=weights, proposal=proposal).toarray()
    np.testing.assert_allclose(P, brute_matrix(x, t, weights, proposal), atol=1e-15)
    law = brute_law(x, t, weights)
    space = enumerate_histograms(sum(x), len(x))
    if proposal == "individual":  # its law has the multinomial coefficient too
        coefficients = [math.factorial(sum(x)) / math.prod(map(math.factorial, z)) for z in space.tolist()]
        flow = (law[:, None] * P) - (law[:, None] * P).T
        assert np.abs(flow).max() > 1e-3 or sum(x) == 1
        law = law * coefficients / (law @ coefficients)
    flow = law[:, None] * P
    np.testing.assert_allclose(flow, flow.T, atol=1e-15)
    start = np.all(space == x, axis=1).astype(float)
    steps = [7, 0, 1, 20_000]
    laws = boltzmann.k_step_law(x, t, steps, weights=weights, proposal=proposal)
    for k, ours in zip(steps[:-1], laws):
        np.testing.assert_allclose(ours, start @ np.linalg.matrix_power(P, k), atol=1e-14)
    np.testing.assert_allclose(laws[-1], law, atol=1e-10)


@pytest.mark.parametrize("x, t, weights", CASES, ids=IDS)
def test_the_chain_equals_its_plain_twin(x, t, weights):
    w = weight_matrix(weights, len(x))
    for seed in range(10):
        ours = boltzmann.metropolis(x, t, 60, weights=weights, rng=seed)[0]
        twin = _plain_metropolis(np.array(x), t, w, 60, np.random.default_rng(seed))
        assert ours.tolist() == twin.tolist()


@pytest.mark.parametrize("x, t, weights", CASES, ids=IDS)
@pytest.mark.parametrize("steps", [1, 5])
def test_chain_has_the_k_step_law(x, t, weights, steps):
    rng = np.random.default_rng(11)
    draws = boltzmann.metropolis(x, [t, 3 * t], steps, chains=DRAWS, weights=weights, rng=rng)
    assert draws.shape == (2, DRAWS, len(x))
    for states, warm in zip(draws, [t, 3 * t]):
        law = boltzmann.k_step_law(x, warm, steps, weights=weights)
        assert p_value(states, law, sum(x)) > ALPHA


def spectral_gap(x, t, weights):
    """1 less the second largest modulus of the chain's eigenvalues."""
    return 1 - np.sort(np.abs(np.linalg.eigvals(brute_matrix(x, t, weights, "bins"))))[-2]


@pytest.mark.parametrize("x, t, weights", CASES, ids=IDS)
def test_chain_reaches_the_stationary_law(x, t, weights):
    steps = math.ceil(12 / spectral_gap(x, t, weights))
    draws = boltzmann.metropolis(x, t, steps, chains=DRAWS, weights=weights, rng=np.random.default_rng(12))
    assert p_value(draws, np.exp(boltzmann.log_stationary(x, t, weights)), sum(x)) > ALPHA


@pytest.mark.parametrize("weights", [None, semidefinite(3, 3, 1)], ids=["identity", "full"])
def test_chain_at_a_wrong_temperature_is_rejected(weights):
    x, t = (4, 2, 0), 4.0
    draws = boltzmann.metropolis(x, t, 150, chains=DRAWS, weights=weights, rng=np.random.default_rng(13))
    assert p_value(draws, np.exp(boltzmann.log_stationary(x, t, weights)), 6) > ALPHA
    assert p_value(draws, np.exp(boltzmann.log_stationary(x, WRONG * t, weights)), 6) < REJECT


@pytest.mark.parametrize("weights", [None, [1, 2, 3, 0.5], semidefinite(4, 4, 2)], ids=["identity", "diagonal", "full"])
def test_invariant_bins_keep_their_counts(weights):
    x, free = np.array([3, 2, 4, 1]), [0, 1, 3]
    draws = boltzmann.metropolis(
        x, 3.0, 150, chains=DRAWS, weights=weights, invariant=[2], rng=np.random.default_rng(14)
    )
    assert (draws[:, 2] == 4).all()
    block = matrix(weights, 4)[np.ix_(free, free)]
    assert p_value(draws[:, free], np.exp(boltzmann.log_stationary(x[free], 3.0, block)), 6) > ALPHA
    assert p_value(draws[:, free], np.exp(boltzmann.log_stationary(x[free], 3.0 * WRONG, block)), 6) < 1e-6


def test_running_objective_is_the_mean_along_the_chain():
    x, t, steps = (1, 2, 3, 20, 24), 10.0, 40
    means = boltzmann.running_objective(x, t, steps, rng=np.random.default_rng(15))
    assert means.shape == (1, steps)
    states = [boltzmann.metropolis(x, t, k, rng=np.random.default_rng(15))[0] for k in range(steps)]
    values = boltzmann.objective(states, x)
    np.testing.assert_allclose(means[0], np.cumsum(values) / np.arange(1, steps + 1), atol=1e-12)


def test_running_means_tend_to_the_exact_expectation():
    x, t = (1, 2, 3, 20, 24), np.array([10.0, 50.0])
    last = boltzmann.running_objective(x, t, 5000, chains=120, rng=np.random.default_rng(16))[..., -1]
    for values, warm in zip(last, t):
        error = stats.sem(values)
        assert abs(values.mean() - boltzmann.expected_objective(x, warm)) < 5 * error + 0.01 * warm
        assert abs(values.mean() - boltzmann.expected_objective(x, WRONG * warm)) > 8 * error


def test_stopping_times():
    means = np.array([[0, 4.0, 3, 1, 1, 1], [0, 1.0, 1, 1, 1, 3]])
    assert boltzmann.stopping_times(means, 0.5, hold=1) == 1  # both chains start at x
    assert boltzmann.stopping_times(means, 0.5, hold=2) == 5
    assert boltzmann.stopping_times(means, 0.5, hold=3) == 0
    assert boltzmann.stopping_times(means, 2.0, hold=3) == 5
    batch = boltzmann.running_objective((1, 2, 3, 20, 24), 10, 2000, chains=40, rng=np.random.default_rng(17))
    two = boltzmann.stopping_times(batch.reshape(10, 4, -1)[:, :2], 1.0, hold=50)
    four = boltzmann.stopping_times(batch.reshape(10, 4, -1), 1.0, hold=50)
    assert two.shape == (10,)
    assert ((four >= two) | (four == 0)).all()


# exact draws ------------------------------------------------------------------------------------------------

DIAGONAL = [
    *[case for case in CASES if np.ndim(case[2]) < 2],
    ((3, 0, 0, 0), 1e8, None),  # uniform over the space
    ((3, 0, 1, 0), 5.0, [0, 0, 0, 0]),
    ((0, 0, 6), 50.0, [10.0, 1e-9, 1.0]),
    ((2, 3, 1), 1e-3, None),
    ((1, 1), 0.7, [1.0, 2.0]),
]


@pytest.mark.parametrize("x, t, weights", DIAGONAL)
def test_exact_sampler_has_the_stationary_law(x, t, weights):
    draws = boltzmann.sample_exact(x, t, weights=weights, size=DRAWS, rng=np.random.default_rng(21))
    law = brute_law(x, t, weights)
    if law.max() > 1 - 1e-12:
        assert (draws == x).all()
    else:
        assert p_value(draws, law, sum(x)) > ALPHA


@pytest.mark.parametrize("x, t, weights", [CASES[2], CASES[4], ((8, 0, 0), 10.0, None)])
def test_exact_sampler_at_a_wrong_temperature_is_rejected(x, t, weights):
    for true, claimed in [(t, WRONG * t), (WRONG * t, t)]:
        draws = boltzmann.sample_exact(x, true, weights=weights, size=DRAWS, rng=np.random.default_rng(22))
        assert p_value(draws, brute_law(x, claimed, weights), sum(x)) < REJECT


@pytest.mark.parametrize("t", [10.0, 1000.0, 1e12])
def test_exact_sampler_of_a_large_histogram(t):
    rng = np.random.default_rng(23)
    x = rng.multinomial(100_000, rng.dirichlet(np.full(100, 0.3)))
    draws = boltzmann.sample_exact(x, t, size=400, rng=rng)
    assert (draws.sum(axis=1) == 100_000).all() and (draws >= 0).all()
    if t <= 1000:
        values = boltzmann.objective(draws, x)
        exact = boltzmann.expected_objective(x, t)
        assert abs(values.mean() - exact) < 5 * stats.sem(values)
        assert abs(values.mean() - boltzmann.expected_objective(x, WRONG * t)) > 6 * stats.sem(values)
    else:  # uniform over the space
        rest = 100_000 - np.arange(20_000)  # the others fill what the first bin leaves in binom(rest + 98, 98) ways
        ways = np.exp(gammaln(rest + 99) - gammaln(rest + 1) - (gammaln(100_099) - gammaln(100_001)))
        median = int(np.searchsorted(np.cumsum(ways), 0.5 * ways.sum()))
        assert stats.binomtest(int((draws[:, 0] <= median).sum()), 400, 0.5).pvalue > ALPHA


@pytest.mark.parametrize("size, shape", [(None, (3,)), (4, (4, 3)), ((2, 5), (2, 5, 3)), (0, (0, 3)), ((), (3,))])
def test_shapes_and_seeds(size, shape):
    draws = boltzmann.sample_exact((1, 2, 3), 5, size=size, rng=np.random.default_rng(1))
    assert draws.shape == shape
    assert np.array_equal(draws, boltzmann.sample_exact((1, 2, 3), 5, size=size, rng=np.random.default_rng(1)))
    chains = boltzmann.metropolis((1, 2, 3), np.ones((2, 2)), 3, chains=5, rng=np.random.default_rng(1))
    assert chains.shape == (2, 2, 5, 3)
    again = boltzmann.metropolis((1, 2, 3), np.ones((2, 2)), 3, chains=5, rng=np.random.default_rng(1))
    assert np.array_equal(chains, again)


# k steps ----------------------------------------------------------------------------------------------------


def test_mixing_delta_of_the_checked_example():
    result = boltzmann.mixing_delta(6, 3, 10, 10)
    assert result.epsilon == pytest.approx(2 * 22 / 10)
    assert float(result.bound) == pytest.approx(11.6, abs=0.05)
    assert float(result.exact) == 0
    assert result.limit == 0


@pytest.mark.parametrize(
    "total, bins, t, weights, epsilon",
    [
        (6, 3, 10, None, None),
        (3, 4, 2, [1, 2, 0, 1], 1.0),
        (4, 3, 3, semidefinite(3, 3, 1), 0.3),
        (2, 2, 5, None, 0.0),
    ],
)
def test_mixing_delta_against_brute_force(total, bins, t, weights, epsilon):
    steps = [[0, 1, 4], [30, 2, 10]]
    result = boltzmann.mixing_delta(total, bins, t, steps, weights=weights, epsilon=epsilon)
    epsilon = 2 * boltzmann.sensitivity(total, bins, weights) / t if epsilon is None else epsilon
    space = enumerate_histograms(total, bins)
    limit = np.array([brute_law(x, t, weights) for x in space.tolist()])
    pairs = np.array(neighbours(space))

    def hockey_stick(laws):
        return np.maximum(laws[pairs[:, 0]] - math.exp(epsilon) * laws[pairs[:, 1]], 0).sum(axis=1).max()

    for position, k in np.ndenumerate(steps):
        powers = [np.linalg.matrix_power(brute_matrix(x, t, weights, "bins"), k) for x in space.tolist()]
        laws = np.array([power[row] for row, power in enumerate(powers)])
        distance = 0.5 * np.abs(laws - limit).sum(axis=1).max()
        assert result.exact[position] == pytest.approx(hockey_stick(laws), abs=1e-13)
        assert result.total_variation[position] == pytest.approx(distance, abs=1e-13)
        assert result.bound[position] == pytest.approx(hockey_stick(limit) + (1 + math.exp(epsilon)) * distance)
        assert result.exact[position] <= result.bound[position] + 1e-13
    assert result.limit == pytest.approx(hockey_stick(limit), abs=1e-13)
    assert result.exact[0, 0] == 1


# refusals ---------------------------------------------------------------------------------------------------

ASYMMETRIC = [[1, 2, 0], [0, 1, 0], [0, 0, 1]]
INDEFINITE = [[1, 2, 0], [2, 1, 0], [0, 0, 1]]
HISTOGRAMS = [
    ([], r"x .*at least 2 bins.*\(0,\)"),
    ([5], r"x .*at least 2 bins.*\(1,\)"),
    ([0, 0, 0], "x must count from 1 to 1000000000 individuals, got 0"),
    ([1, -2, 3], "x must be integers from 0 to 1000000000, got -2"),
    ([1, 2.5, 3], "x must be integers from 0 .*got 2.5"),
    ([1, math.nan, 3], "x must be integers .*got nan"),
    ([[1, 2], [3, 4]], r"x .*\(2, 2\)"),
    (["a", "b"], "x must be real numbers"),
    ([1e9, 1e9], "x must count from 1 to 1000000000 individuals, got 2000000000"),
]
WEIGHTS = [
    ([1, 2], r"weights must have shape \(3,\) or \(3, 3\), got \(2,\)"),
    (1.0, r"weights must have shape"),
    ([1, -1, 1], r"weights must be in \[0, .*got -1"),
    ([1, math.inf, 1], r"weights must be in .*got inf"),
    (np.ones((2, 3)), "weights must have shape"),
    (ASYMMETRIC, "weights must be symmetric, got an asymmetry of 2"),
    (INDEFINITE, r"weights must be positive semidefinite, eigenvalues in \[0, inf\), got -1"),
    (np.diag([1.0, -1.0, 1.0]), r"weights must be in \[0, .*got -1"),
]
LAWS = [
    lambda x, t, w: boltzmann.log_stationary(x, t, w),
    lambda x, t, w: boltzmann.metropolis(x, t, 3, weights=w),
    lambda x, t, w: boltzmann.running_objective(x, t, 3, weights=w),
    lambda x, t, w: boltzmann.sample_exact(x, t, weights=w),
    lambda x, t, w: boltzmann.expected_objective(x, t, w),
    lambda x, t, w: boltzmann.transition_matrix(x, t, weights=w),
    lambda x, t, w: boltzmann.k_step_law(x, t, 3, weights=w),
]
SPACE_FUNCTIONS = [
    boltzmann.epsilon_bound,
    log_normalisers,
    boltzmann.exact_epsilon_limit,
    lambda total, bins, t, weights=None: boltzmann.mixing_delta(total, bins, t, 3, weights=weights),
    lambda total, bins, t, weights=None: (
        boltzmann.sensitivity(total, bins, weights) if t > 0 else boltzmann.log_stationary([1, 0], t)
    ),
]


@pytest.mark.parametrize("function", LAWS)
@pytest.mark.parametrize("x, message", HISTOGRAMS)
def test_histograms_refused(function, x, message):
    with pytest.raises(ValueError, match=message):
        function(x, 1.0, None)


@pytest.mark.parametrize("function", LAWS)
@pytest.mark.parametrize("weights, message", WEIGHTS)
def test_weights_refused(function, weights, message):
    with pytest.raises(ValueError, match=message):
        function([1, 2, 3], 1.0, weights)


@pytest.mark.parametrize("t", [0, -1.0, math.inf, math.nan, 1e-101])
def test_temperatures_refused(t):
    for law in LAWS:
        with pytest.raises(ValueError, match=r"t must be in \[1e-100, 1e\+100\], got"):
            law([1, 2, 3], t, None)
    for function in SPACE_FUNCTIONS[:-1]:
        with pytest.raises(ValueError, match=r"t must be in \[1e-100, 1e\+100\], got"):
            function(3, 3, t)


@pytest.mark.parametrize("function", SPACE_FUNCTIONS)
def test_spaces_refused(function):
    for total, message in [
        (0, "total must be .*at least 1|total must be an integer from 1"),
        (2.5, "total must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            function(total, 3, 1.0)
    for bins in (1, 0, -1, "three"):
        with pytest.raises(ValueError, match=r"bins must be an integer .*2"):
            function(3, bins, 1.0)
    for weights, message in WEIGHTS:
        with pytest.raises(ValueError, match=message):
            function(3, 3, 1.0, weights)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: boltzmann.configurations(-1, 3), "total must be an integer from 0 to 1000000000, got -1"),
        (lambda: boltzmann.configurations(3, 0), "bins must be an integer from 1"),
        (lambda: boltzmann.configurations(1000, 10), "total 1000 and bins 10 must give at most 50000000"),
        (lambda: boltzmann.configurations(10**9, 10**6), "must give at most 50000000"),
        (lambda: boltzmann.configuration_index([[1, 2]], 4), "z must be histograms with the total 4"),
        (lambda: boltzmann.configuration_index([1.5, 1.5], 3), "z must be integers of at least 0, got 1.5"),
        (lambda: boltzmann.configuration_index([4, -1], 3), "z must be integers of at least 0, got -1"),
        (lambda: boltzmann.configuration_index(np.ones(80, int), 80), "64-bit"),
        (
            lambda: boltzmann.objective([1, 2], [1, 2, 3]),
            r"z must have 3 bins on its last axis, got shape \(2,\)",
        ),
        (lambda: boltzmann.metropolis([1, 2], 1, -1), "steps must be an integer of at least 0, got -1"),
        (lambda: boltzmann.metropolis([1, 2], 1, 1.5), "steps must be an integer"),
        (
            lambda: boltzmann.metropolis([1, 2], 1, 3, chains=0),
            "chains must be an integer of at least 1, got 0",
        ),
        (
            lambda: boltzmann.metropolis([1, 2, 3], 1, 3, invariant=[3]),
            "invariant must be integers from 0 to 2, got 3",
        ),
        (
            lambda: boltzmann.metropolis([1, 2, 3], 1, 3, invariant=[0, 1]),
            "invariant must leave from 2 to 3 bins free",
        ),
        (lambda: boltzmann.sample_exact([1, 2], 1, size=-1), "size must be integers of at least 0, got -1"),
        (lambda: boltzmann.sample_exact([1, 2], [1, 2]), "t must be one number"),
        (
            lambda: boltzmann.sample_exact([1, 2], 1, weights=[[2, 1], [1, 2]]),
            "weights must be diagonal here",
        ),
        (lambda: boltzmann.sample_exact([10**9 - 1, 1], 1e30), "must need at most 50000000 table terms"),
        (
            lambda: boltzmann.stopping_times(np.zeros((1, 5)), 1, hold=2),
            r"means must have shape .*got \(1, 5\)",
        ),
        (
            lambda: boltzmann.stopping_times(np.zeros((2, 5)), -1, hold=2),
            r"tolerance must be in \[0, inf\), got -1",
        ),
        (
            lambda: boltzmann.stopping_times(np.zeros((2, 5)), 1, hold=0),
            "hold must be an integer of at least 1, got 0",
        ),
        (
            lambda: boltzmann.transition_matrix([1, 2], 1, proposal="pairs"),
            "proposal must be one of 'bins'",
        ),
        (
            lambda: boltzmann.k_step_law([1, 2], 1, [1, -2]),
            "steps must be integers of at least 0, got -2",
        ),
        (
            lambda: boltzmann.mixing_delta(3, 2, 1, 1, epsilon=-1),
            r"epsilon must be in \[0, inf\), got -1",
        ),
        (lambda: boltzmann.mixing_delta(50, 5, 1, 1), "at most 3000 histograms, got 316251"),
        (
            lambda: log_normalisers(50, 5, 1, semidefinite(5, 5, 1)),
            "at most 30000 histograms",
        ),
    ],
)
def test_other_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_generators_refused():
    for call in (boltzmann.sample_exact, lambda x, t, rng: boltzmann.metropolis(x, t, 1, rng=rng)):
        with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator, an integer or None, got str"):
            call([1, 2], 1.0, rng="1")
        assert (call([1, 2], 1.0, rng=1) == call([1, 2], 1.0, rng=np.random.default_rng(1))).all()


@settings(max_examples=150, deadline=None)
@given(
    x=st.lists(st.integers(-1, 6), max_size=4),
    t=st.one_of(st.floats(), st.sampled_from([1e-100, 1e-3, 1.0, 50.0, 1e100])),
    weights=st.one_of(st.none(), st.lists(st.sampled_from([-1.0, 0.0, 1e-9, 1.0, 3.5, 1e100]), max_size=4)),
)
@example([0, 0, 0, 2], 0.001, [0.0, 0.0, 1e-9, 1.0])  # a law that sums to more than 1, by rounding
def test_every_answer_is_finite_or_a_named_refusal(x, t, weights):
    try:
        log_law = boltzmann.log_stationary(x, t, weights)
        draws = boltzmann.sample_exact(x, t, weights=weights, size=3, rng=np.random.default_rng(0))
        states = boltzmann.metropolis(x, t, 5, chains=3, weights=weights, rng=np.random.default_rng(0))
        expected = boltzmann.expected_objective(x, t, weights)
        epsilon = boltzmann.exact_epsilon_limit(sum(x), len(x), t, weights)
        delta = boltzmann.mixing_delta(sum(x), len(x), t, 3, weights=weights)
    except ValueError as error:
        assert str(error).split()[0] in ("x", "t", "weights")
        return
    assert np.isfinite(log_law).all() and np.exp(log_law).sum() == pytest.approx(1)
    for rows in (draws, states):
        assert (rows.sum(axis=1) == sum(x)).all() and (rows >= 0).all()
    assert math.isfinite(expected) and expected <= 0
    assert math.isfinite(epsilon) and epsilon <= boltzmann.epsilon_bound(sum(x), len(x), t, weights) * (1 + 1e-9) + 1e-9
    assert 0 <= delta.exact <= 1 and math.isfinite(delta.bound)
