"""The Boltzmann machine against enumeration and whole transition matrices."""

import functools
import itertools
import math

import chi_square
import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, gammaln, logsumexp

from dpsim import boltzmann

ALPHA = 1e-6  # of accepting tests; the seeds are fixed
WRONG = 1.1  # a temperature that statistical tests must reject
REJECT = 1e-12  # p-value under the wrong temperature
DRAWS = 60_000


@pytest.mark.parametrize("steps", [1, 2, 99, 100, 101, 102, 257, 1000])
def test_a_chain_makes_all_its_steps(steps):
    """One person in two bins who is never refused changes bin at each step."""
    made = boltzmann.metropolis([1, 0], 1e100, steps, candidate="individual", rng=1)
    assert made[0].tolist() == ([0, 1] if steps % 2 else [1, 0])


def enumerate_histograms(total, bins):
    rows = (
        z
        for z in itertools.product(range(total, -1, -1), repeat=bins)
        if sum(z) == total
    )
    return np.array(list(rows))


def cost(z, x, weights):
    d = np.asarray(z) - np.asarray(x)
    return -float(d**2 @ (np.ones(len(d)) if weights is None else weights))


def brute_law(x, t, weights=None):
    space = enumerate_histograms(sum(x), len(x))
    exponent = [cost(z, x, weights) / t for z in space]
    total = math.fsum(math.exp(e) for e in exponent)
    return np.array([math.exp(e) / total for e in exponent])


def brute_matrix(x, t, weights, candidate="bins", rule="metropolis"):
    space = [tuple(z) for z in enumerate_histograms(sum(x), len(x)).tolist()]
    place = {z: row for row, z in enumerate(space)}
    bins = len(x)
    total = sum(x)
    costs = [cost(z, x, weights) for z in space]
    P = np.zeros((len(space), len(space)))
    for z, row in place.items():
        for i, j in itertools.permutations(range(bins), 2):
            chance = (
                1 / (bins * (bins - 1))
                if candidate == "bins"
                else z[i] / total / (bins - 1)
            )
            moved = list(z)
            moved[i] = z[i] - 1
            moved[j] = z[j] + 1
            to = place.get(tuple(moved), row)
            accept = 0.0
            if z[i]:
                change = (costs[to] - costs[row]) / t
                accept = (
                    math.exp(min(change, 0.0))
                    if rule == "metropolis"
                    else expit(change)
                )
            P[row, to] += chance * accept
            P[row, row] += chance * (1 - accept)
    return P


def p_value(draws, law, total):
    """Chi-square of draws (size, n) against a law."""
    return chi_square.p_value(
        np.bincount(boltzmann.configuration_index(draws, total), minlength=law.size),
        law,
    )


def neighbours(space):
    return [
        (x, y)
        for x, y in itertools.permutations(range(len(space)), 2)
        if np.abs(space[x] - space[y]).sum() == 2
    ]


CASES = [
    # x, t, weights
    ((1, 0, 1), 1.0, None),
    ((1, 0, 1), 10.0, None),
    ((4, 2, 0), 10.0, None),
    ((6, 0, 0), 3.0, [1.0, 0.0, 2.5]),
    ((0, 1, 1, 2), 2.0, [0.3, 1.0, 4.0, 0.0]),
    ((2, 1, 3), 4.0, [0.7, 2.3, 1.1]),
    ((5, 4), 20.0, None),
]
EQUAL = [(x, t) for x, t, weights in CASES if weights is None]
IDS = [f"{x}-t{t:g}-W{np.ndim(w)}" for x, t, w in CASES]


# the space ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "total, bins", [(1, 2), (2, 3), (6, 3), (4, 4), (9, 2), (0, 3), (5, 1), (3, 6)]
)
def test_configurations_are_all_histograms_in_decreasing_order(total, bins):
    space = boltzmann.configurations(total, bins)
    assert np.array_equal(space, enumerate_histograms(total, bins))
    assert len(space) == math.comb(total + bins - 1, bins - 1)
    assert np.array_equal(
        boltzmann.configuration_index(space, total), np.arange(len(space))
    )


def test_index_of_large_and_batched_histograms():
    assert boltzmann.configuration_index(np.array([10**9 - 7, 7]), 10**9) == 7
    assert np.array_equal(
        boltzmann.configuration_index(boltzmann.configurations(50, 5), 50),
        np.arange(316_251),
    )
    space = boltzmann.configurations(4, 3).reshape(5, 3, 3)
    assert np.array_equal(
        boltzmann.configuration_index(space, 4), np.arange(15).reshape(5, 3)
    )


@pytest.mark.parametrize("x, t, weights", CASES, ids=IDS)
def test_stationary_distribution(x, t, weights):
    law = np.exp(boltzmann.log_stationary(x, t, weights))
    np.testing.assert_allclose(law, brute_law(x, t, weights), rtol=1e-12)
    both = boltzmann.log_stationary(x, [t, 2 * t], weights)
    np.testing.assert_allclose(
        np.exp(both), [law, brute_law(x, 2 * t, weights)], rtol=1e-12
    )


# privacy ------------------------------------------------------------------------------


def weights_table(bins):
    rng = np.random.default_rng(bins)
    sparse = rng.exponential(size=bins) * (np.arange(bins) > 0)
    return [
        None,
        np.full(bins, 0.3),
        rng.exponential(size=bins),
        sparse,
        np.zeros(bins),
    ]


@pytest.mark.parametrize("t", [0.05, 2.0, 30.0])
@pytest.mark.parametrize("total", [1, 2, 3, 5])
@pytest.mark.parametrize("bins", [2, 3, 4])
def test_sensitivity_and_epsilon_against_brute_force(total, bins, t):
    space = enumerate_histograms(total, bins)
    x, y = np.array(neighbours(space)).T
    d = space[None] - space[:, None]
    for weights in weights_table(bins):
        c = -(d**2) @ (np.ones(bins) if weights is None else weights)  # c_x(z)
        s = boltzmann.sensitivity(total, bins, weights)
        assert s == pytest.approx(np.abs(c[x] - c[y]).max(), rel=1e-12, abs=1e-14)
        log_law = c / t - logsumexp(c / t, axis=1, keepdims=True)
        loss = (log_law[x] - log_law[y]).max()
        bound = boltzmann.epsilon_bound(total, bins, t, weights)
        assert boltzmann.exact_epsilon_limit(total, bins, t, weights) == pytest.approx(
            loss, rel=1e-11, abs=1e-12
        )
        assert loss <= bound * (1 + 1e-12) + 1e-14
        assert bound <= 2 * s / t * (1 + 1e-12) + 1e-14


@pytest.mark.parametrize("total, bins", [(1, 2), (2, 3), (50, 5), (1000, 40)])
def test_sensitivity_closed_forms(total, bins):
    w = np.random.default_rng(3).exponential(size=bins)
    assert boltzmann.sensitivity(total, bins) == 4 * total - 2
    assert boltzmann.sensitivity(total, bins, w) == pytest.approx(
        (2 * total - 1) * np.sort(w)[-2:].sum()
    )
    assert boltzmann.epsilon_bound(total, bins, 10) == pytest.approx(
        (4 * total - 2) / 10
    )
    assert boltzmann.epsilon_bound(total, bins, 10, w) == pytest.approx(
        2 * total * np.sort(w)[-2:].sum() / 10
    )


# the chain ----------------------------------------------------------------------------


@pytest.mark.parametrize("x, t, weights", CASES, ids=IDS)
@pytest.mark.parametrize("rule", ["metropolis", "logistic"])
@pytest.mark.parametrize("candidate", ["bins", "individual"])
def test_metropolis_matrix_and_k_step_distribution(x, t, weights, candidate, rule):
    P = boltzmann.metropolis_matrix(
        x, t, weights=weights, candidate=candidate, rule=rule
    ).toarray()
    np.testing.assert_allclose(
        P, brute_matrix(x, t, weights, candidate, rule), atol=1e-15
    )
    law = brute_law(x, t, weights)
    space = enumerate_histograms(sum(x), len(x))
    if candidate == "individual":  # its law has the multinomial coefficient too
        coefficients = [
            math.factorial(sum(x)) / math.prod(map(math.factorial, z))
            for z in space.tolist()
        ]
        flow = (law[:, None] * P) - (law[:, None] * P).T
        assert np.abs(flow).max() > 1e-3 or sum(x) == 1
        law = law * coefficients / (law @ coefficients)
    flow = law[:, None] * P
    np.testing.assert_allclose(flow, flow.T, atol=1e-15)
    start = np.all(space == x, axis=1).astype(float)
    steps = [7, 0, 1, 8_000]
    laws = boltzmann.k_step_distribution(
        x, t, steps, weights=weights, candidate=candidate, rule=rule
    )
    for k, ours in zip(steps[:-1], laws):
        np.testing.assert_allclose(
            ours, start @ np.linalg.matrix_power(P, k), atol=1e-14
        )
    np.testing.assert_allclose(laws[-1], law, atol=1e-10)


@pytest.mark.parametrize("x, t", EQUAL)
@pytest.mark.parametrize(
    "steps, candidate, rule",
    [
        (1, "bins", "metropolis"),
        (5, "bins", "logistic"),
        (5, "individual", "metropolis"),
        (3, "individual", "logistic"),
    ],
)
def test_chain_has_the_k_step_distribution(x, t, steps, candidate, rule):
    rng = np.random.default_rng(11)
    kind = {"candidate": candidate, "rule": rule}
    draws = boltzmann.metropolis(x, [t, 3 * t], steps, chains=DRAWS, rng=rng, **kind)
    assert draws.shape == (2, DRAWS, len(x))
    for states, warm in zip(draws, [t, 3 * t]):
        law = boltzmann.k_step_distribution(x, warm, steps, **kind)
        assert p_value(states, law, sum(x)) > ALPHA


def test_chain_at_a_wrong_temperature_is_rejected():
    x, t = (4, 2, 0), 4.0
    draws = boltzmann.metropolis(x, t, 150, chains=DRAWS, rng=np.random.default_rng(13))
    assert p_value(draws, np.exp(boltzmann.log_stationary(x, t)), 6) > ALPHA
    assert p_value(draws, np.exp(boltzmann.log_stationary(x, WRONG * t)), 6) < REJECT


def test_the_running_mean_is_the_mean_along_the_chain():
    x, t, steps = (1, 2, 3, 20, 24), 10.0, 40
    means = boltzmann.metropolis(
        x, t, steps, running_mean=True, rng=np.random.default_rng(15)
    )
    assert means.shape == (1, steps)
    states = [
        boltzmann.metropolis(x, t, k, rng=np.random.default_rng(15))[0]
        for k in range(steps)
    ]
    values = boltzmann.objective(states, x)
    np.testing.assert_allclose(
        means[0], np.cumsum(values) / np.arange(1, steps + 1), atol=1e-12
    )


# exact draws --------------------------------------------------------------------------

SAMPLED = [
    *EQUAL,
    ((3, 0, 0, 0), 1e8),  # uniform over the space
    ((0, 0, 6), 50.0),
    ((2, 3, 1), 1e-3),
]


@pytest.mark.parametrize("x, t", SAMPLED)
def test_exact_sampler_has_the_stationary_distribution(x, t):
    draws = boltzmann.sample_exact(x, t, size=DRAWS, rng=np.random.default_rng(21))
    law = brute_law(x, t)
    if law.max() > 1 - 1e-12:
        assert (draws == x).all()
    else:
        assert p_value(draws, law, sum(x)) > ALPHA


@pytest.mark.parametrize("x, t", [((4, 2, 0), 10.0), ((8, 0, 0), 10.0)])
def test_exact_sampler_at_a_wrong_temperature_is_rejected(x, t):
    for true, claimed in [(t, WRONG * t), (WRONG * t, t)]:
        draws = boltzmann.sample_exact(
            x, true, size=DRAWS, rng=np.random.default_rng(22)
        )
        assert p_value(draws, brute_law(x, claimed), sum(x)) < REJECT


def expected_objective(x, t):
    """The mean of c_x, by convolving the bins' terms near x and their energies."""
    reach = int(12 * math.sqrt(t / 2)) + 2
    u = np.arange(-reach, reach + 1)
    mass = np.ones(1)
    energy = np.zeros(1)
    low = 0
    for count in x:
        own = np.where(u >= -count, np.exp(-(u**2) / t), 0.0)
        energy = np.convolve(energy, own) + np.convolve(mass, own * u**2)
        mass = np.convolve(mass, own)
        low = low - reach
        energy = energy / mass.max()
        mass = mass / mass.max()
    return -energy[-low] / mass[-low]


@pytest.mark.parametrize("t", [10.0, 1000.0, 1e12])
def test_exact_sampler_of_a_large_histogram(t):
    rng = np.random.default_rng(23)
    x = rng.multinomial(100_000, rng.dirichlet(np.full(100, 0.3)))
    draws = boltzmann.sample_exact(x, t, size=400, rng=rng)
    assert (draws.sum(axis=1) == 100_000).all() and (draws >= 0).all()
    if t <= 1000:
        values = boltzmann.objective(draws, x)
        exact = expected_objective(x, t)
        assert abs(values.mean() - exact) < 5 * stats.sem(values)
        assert abs(values.mean() - expected_objective(x, WRONG * t)) > 6 * stats.sem(
            values
        )
    else:  # uniform over the space
        rest = 100_000 - np.arange(
            20_000
        )  # the others fill what the first bin leaves in binom(rest + 98, 98) ways
        ways = np.exp(
            gammaln(rest + 99)
            - gammaln(rest + 1)
            - (gammaln(100_099) - gammaln(100_001))
        )
        median = int(np.searchsorted(np.cumsum(ways), 0.5 * ways.sum()))
        assert (
            stats.binomtest(int((draws[:, 0] <= median).sum()), 400, 0.5).pvalue > ALPHA
        )


@pytest.mark.parametrize(
    "size, shape",
    [(None, (3,)), (4, (4, 3)), ((2, 5), (2, 5, 3)), (0, (0, 3)), ((), (3,))],
)
def test_shapes(size, shape):
    assert boltzmann.sample_exact((1, 2, 3), 5, size=size).shape == shape
    assert boltzmann.metropolis((1, 2, 3), np.ones((2, 2)), 3, chains=5).shape == (
        2,
        2,
        5,
        3,
    )


# k steps ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "total, bins, t, weights, epsilon",
    [
        (6, 3, 10, None, None),
        (3, 4, 2, [1, 2, 0, 1], 1.0),
        (4, 3, 3, [0.7, 2.3, 1.1], 0.3),
        (2, 2, 5, None, 0.0),
        (
            2,
            4,
            0.001,
            [0, 0, 1e-9, 1],
            1.0,
        ),  # a law that sums to more than 1, by rounding
    ],
)
def test_mixing_delta_against_brute_force(total, bins, t, weights, epsilon):
    steps = [[0, 1, 4], [30, 2, 10]]
    deltas = boltzmann.mixing_delta(
        total, bins, t, steps, weights=weights, epsilon=epsilon
    )
    epsilon = (
        2 * boltzmann.sensitivity(total, bins, weights) / t
        if epsilon is None
        else epsilon
    )
    space = enumerate_histograms(total, bins)
    pairs = np.array(neighbours(space))
    for position, k in np.ndenumerate(steps):
        powers = [
            np.linalg.matrix_power(brute_matrix(x, t, weights), k)
            for x in space.tolist()
        ]
        laws = np.array([power[row] for row, power in enumerate(powers)])
        brute = (
            np.maximum(laws[pairs[:, 0]] - math.exp(epsilon) * laws[pairs[:, 1]], 0)
            .sum(axis=1)
            .max()
        )
        assert deltas[position] == pytest.approx(brute, abs=1e-13)
    assert deltas[0, 0] == deltas.max() == 1


# refusals -----------------------------------------------------------------------------

HISTOGRAMS = [[], [5], [0, 0, 0], [1, -2, 3], [1, 2.5, 3], [[1, 2], [3, 4]], [1e9, 1e9]]
WEIGHTS = [
    *([1, 2], [1, -1, 1], np.ones((2, 3)), np.eye(3)),
]
CHAIN = functools.partial(boltzmann.metropolis, steps=3)
LAWS = [
    boltzmann.log_stationary,
    lambda x, t, w: boltzmann.k_step_distribution(x, t, 3, weights=w),
]


@pytest.mark.parametrize("law", LAWS)
def test_histograms_weights_and_temperatures_refused(law):
    cases = [
        *(("x", (x, 1.0, None)) for x in HISTOGRAMS),
        *(("weights", ([1, 2, 3], 1.0, w)) for w in WEIGHTS),
    ]
    for name, arguments in [
        *cases,
        *(("t", ([1, 2, 3], t, None)) for t in (0, 1e-101)),
    ]:
        with pytest.raises(ValueError, match=rf"^{name} "):
            law(*arguments)


@pytest.mark.parametrize("sampler", [boltzmann.sample_exact, CHAIN])
def test_samplers_refuse_histograms_and_temperatures(sampler):
    for x in HISTOGRAMS:
        with pytest.raises(ValueError, match=r"^x "):
            sampler(x, 1.0)
    for t in (0, 1e-101):
        with pytest.raises(ValueError, match=r"^t "):
            sampler([1, 2, 3], t)


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda: boltzmann.configurations(1000, 10), "total 1000 and bins 10"),
        (
            lambda: boltzmann.configurations(10**9, 10**6),
            "total 1000000000 and bins 1000000",
        ),
        (lambda: boltzmann.configuration_index([[1, 2]], 4), "z"),
        (lambda: boltzmann.configuration_index([4, -1], 3), "z"),
        (
            lambda: boltzmann.configuration_index(np.ones(80, int), 80),
            "total 80 and bins 80",
        ),
        (lambda: boltzmann.objective([1, 2], [1, 2, 3]), "z"),
        (lambda: boltzmann.metropolis([1, 2], 1, -1), "steps"),
        (lambda: boltzmann.metropolis([1, 2], 1, 3, chains=0), "chains"),
        (lambda: boltzmann.metropolis([1, 2], 1, 3, rule="greedy"), "rule"),
        (lambda: boltzmann.sample_exact([1, 2], 1, size=-1), "size"),
        (lambda: boltzmann.sample_exact([10**9 - 1, 1], 1e30), "total, bins and t"),
        (
            lambda: boltzmann.metropolis_matrix([1, 2], 1, candidate="pairs"),
            "candidate",
        ),
        (lambda: boltzmann.k_step_distribution([1, 2], 1, [1, -2]), "steps"),
        (lambda: boltzmann.mixing_delta(3, 2, 1, 1, epsilon=-1), "epsilon"),
        (lambda: boltzmann.mixing_delta(50, 5, 1, 1), "total, bins and steps"),
        (lambda: boltzmann.mixing_bound(100_001, 3, 1.0, 1, 1.0), "total"),
        (lambda: boltzmann.epsilon_at_delta(0, 3, 1, 0.1), "total"),
        (lambda: boltzmann.epsilon_at_delta(3, 3, 1, 1), "delta"),
        (lambda: boltzmann.add_zero_sum_laplace([-1, 2], 1), "x"),
        (lambda: boltzmann.add_zero_sum_laplace([1, 2], 0), "epsilon"),
        (lambda: boltzmann.add_zero_sum_laplace([1, 2], 1, size=-1), "size"),
        (lambda: boltzmann.nearest_histogram([1.5, 2], 3), "noisy"),
        (lambda: boltzmann.nearest_histogram([1, 2], 0), "total"),
    ],
)
def test_other_refusals(call, name):
    with pytest.raises(ValueError, match=f"^{name} must"):
        call()
