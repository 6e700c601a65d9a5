import itertools
import re

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from dpsim import dirichlet
from tools.verify.precision_checks import log_beta_tail

ACCEPT = 1e-6  # chance that a right sampler fails a test, at a fixed seed
REJECT = 1e-9  # largest p-value that a law 10 % off may reach


# --- epsilon: brute force -------------------------------------------------------------


def log_ratio_extreme(a, b, shift, k, gamma, m):
    """Largest log of density over density after a shift from an entry a to an entry b,
    over Omega_1."""
    constant = (
        special.gammaln(k * np.array([a - shift, b + shift])).sum()
        - special.gammaln(k * np.array([a, b])).sum()
    )
    return constant + k * shift * np.log((1 - (m - 1) * gamma) / gamma)


def sharing(k, shift, eta, gamma, m, rest):
    """Theorem 1's epsilon for two coordinates that share `rest`, all others being at
    the border."""
    ratio = special.betaln(k * eta, k * (rest - eta)) - special.betaln(
        k * (eta + shift), k * (rest - eta - shift)
    )
    return ratio + k * shift * np.log((1 - (m - 1) * gamma) / gamma)


BORDERED = [
    (3, None, 20.0, 0.08, 0.05, 0.01),
    (3, None, 4.0, 0.2, 0.1, 0.01),
    (4, None, 30.0, 0.06, 0.03, 0.01),
]
PROTECTED = [(w, 0.06, 12.0, 0.1, 0.0125, 0.002) for w in (2, 3)]


@pytest.mark.parametrize("m, eta_bar, k, eta, shift, gamma", BORDERED + PROTECTED)
def test_epsilon_is_the_maximum_over_the_bordered_or_the_protected_simplex(
    m, eta_bar, k, eta, shift, gamma
):
    room = 1 - (eta_bar or 0.0) - (m - 2) * eta  # for the two entries that move
    grid = np.append(np.linspace(eta, room, 90), [eta + shift, room - eta - shift])
    worst = max(
        log_ratio_extreme(a, b, shift, k, gamma, m)
        for a, b in itertools.product(grid, repeat=2)
        if a - shift >= eta - 1e-12 and b >= eta and a + b <= room + 1e-12
    )
    tight = sharing(k, shift, eta, gamma, m, room)
    assert worst == pytest.approx(tight, rel=1e-3)
    bound = dirichlet.theorem1_vector_epsilon(
        k, shift=shift, eta=eta, gamma=gamma, n=m, eta_bar=eta_bar
    )
    assert worst <= tight + 1e-9 <= bound + 2e-9


def test_epsilon_of_two_categories_covers_every_pair():
    k, shift, eta, gamma = 10.0, 0.05, 0.1, 0.01
    bound = dirichlet.theorem1_vector_epsilon(k, shift=shift, eta=eta, gamma=gamma, n=2)
    for first in np.linspace(eta + shift, 1 - eta, 50):
        assert log_ratio_extreme(first, 1 - first, shift, k, gamma, 2) <= bound + 1e-12


@pytest.mark.parametrize(
    "k, shift", [(1e9, 1e-9), (1e9, 0.01), (20.6, 1 / 98), (1e-6, 0.2), (1e5, 1e-12)]
)
def test_epsilon_keeps_its_digits(k, shift):
    with mpmath.workdps(50):
        eta = mpmath.mpf(0.1)
        gamma = mpmath.mpf(1e-3)
        a = k * eta
        t = mpmath.mpf(k) * mpmath.mpf(shift)
        c = k * (1 - 2 * eta)
        exact = (
            mpmath.loggamma(a)
            + mpmath.loggamma(c)
            - mpmath.loggamma(a + t)
            - mpmath.loggamma(c - t)
        )
        exact += t * mpmath.log((1 - 3 * gamma) / gamma)
    value = dirichlet.theorem1_vector_epsilon(k, shift=shift, eta=0.1, gamma=1e-3, n=4)
    assert value == pytest.approx(float(exact), rel=1e-11)


# --- tails, delta ---------------------------------------------------------------------


def exact_log_tail(x, p, k):
    with mpmath.workdps(50):
        return float(log_beta_tail(*map(mpmath.mpf, (x, p, k))))


def test_delta_down_to_the_smallest_floats():
    lower, upper = dirichlet.theorem1_delta_bounds(1.5e3, eta=0.1, gamma=1e-3, n=5)
    exact = np.log(4) + exact_log_tail(1e-3, 0.1, 1.5e3)
    assert 1e-300 < upper < 1e-200
    assert np.log([lower, upper]) == pytest.approx([exact, exact], rel=1e-13)
    assert dirichlet.theorem1_delta_bounds(20.0, eta=0.1, gamma=0.24, n=5) == (
        1.0,
        1.0,
    ), "nothing is inside"


@settings(max_examples=200, deadline=None)
@given(
    n=st.integers(2, 10_000),
    border=st.floats(1e-6, 1.0),
    inner=st.floats(1e-9, 1.2),
    k=st.floats(-6, 9).map(lambda power: 10.0**power),
    whole=st.booleans(),
)
def test_bounds_are_ordered_probabilities(n, border, inner, k, whole):
    protected = None if whole or n == 2 else n - 1
    m = protected or n
    gamma = min(inner / m, 0.999 / max(m - 1, 1))
    lower, upper = dirichlet.theorem1_delta_bounds(
        k, eta=border / m, gamma=gamma, n=n, protected=protected
    )
    assert 0.0 <= lower <= upper <= 1.0
    assert upper > 0.0, "no delta is 0"
    assert upper > 0.5 or upper < 1e-300 or lower >= upper * (1 - upper) * (1 - 1e-12)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(80)


def probability_inside(p, k, gamma, protected):
    """P(first `protected` coordinates of Dir(k p) all at least gamma), 3 or 4
    categories, by quadrature."""
    p = np.asarray(p, dtype=float)
    mass_after = (protected - 1) * gamma
    low = gamma
    high = 1 - mass_after
    x = low + (high - low) * (NODES + 1) / 2
    weight = WEIGHTS * (high - low) / 2 * stats.beta.pdf(x, k * p[0], k * (1 - p[0]))
    rest = p[1:] / p[1:].sum()
    if len(rest) == 2:
        least = gamma / (1 - x)
        most = (1 - x - gamma) / (1 - x) if protected == 3 else 1.0
        a, b = k * (1 - p[0]) * rest
        return weight @ (
            special.betainc(a, b, most) - special.betainc(a, b, np.minimum(least, most))
        )
    inner = [
        probability_inside(rest, k * (1 - p[0]), gamma / (1 - at), protected - 1)
        for at in x
    ]
    return weight @ inner


LEAVES = [
    (None, 20.0, 0.1, 0.01),
    (None, 6.0, 0.2, 0.05),
    (None, 60.0, 0.08, 0.03),
    (None, 8.0, 0.3, 0.1),
]
LEAVES += [(2, 9.87, 0.1, 0.01), (2, 30.0, 0.1, 0.01), (3, 9.87, 0.1, 0.01)]


@pytest.mark.parametrize("protected, k, eta, gamma", LEAVES)
def test_delta_is_the_maximum_over_the_bordered_or_the_protected_simplex(
    protected, k, eta, gamma
):
    free, rest = (protected, 0.051) if protected else (2, eta)
    grid = np.linspace(eta, 1 - rest - (free - 1) * eta, 6 if protected == 3 else 25)
    outside = [
        1 - probability_inside([*inside, 1 - sum(inside)], k, gamma, protected or 3)
        for inside in itertools.product(grid, repeat=free)
        if sum(inside) <= 1 - rest + 1e-12
    ]
    lower, upper = dirichlet.theorem1_delta_bounds(
        k, eta=eta, gamma=gamma, n=free + 1, protected=protected
    )
    assert lower - 1e-7 <= max(outside) <= upper + 1e-7
    assert outside[0] == pytest.approx(max(outside), rel=1e-8, abs=1e-12)


def test_sampled_draws_that_underflow_as_a_whole_have_an_entry_below_gamma():
    """Of pairs of Gammas of shape 1e-3 more than a fifth are (0, 0); x is between 0.1
    and 0.9 in 0.2 % alone."""
    between = np.diff(special.betainc(1e-3, 1e-3, [0.1, 0.9]))[0]
    estimate = dirichlet.delta_monte_carlo(
        [0.5, 0.5], 2e-3, gamma=0.1, draws=20_000, rng=1
    )
    assert abs(estimate - (1.0 - between)) < 5 * np.sqrt(between / 20_000)


@pytest.mark.parametrize("k", [0.2, 3.0, 20.6])
def test_sampled_delta_counts_the_draws_of_the_mechanism(k):
    p = np.array([[0.3, 0.0, 0.7], [0.1, 0.2, 0.7]])
    counts = [1, 70, 4000]
    rng = np.random.default_rng(7)
    drawn = [
        dirichlet.dirichlet_mechanism(row, k, size=counts[-1], rng=rng) for row in p
    ]
    below = [((x < 0.02) & (row > 0)).any(axis=1) for x, row in zip(drawn, p)]
    worst = [max(each[:count].mean() for each in below) for count in counts]
    for rows in (p, p.reshape(2, 1, 3)):  # leading axes are more rows
        found = dirichlet.delta_monte_carlo(rows, k, gamma=0.02, draws=counts, rng=7)
        np.testing.assert_array_equal(found, worst)


# --- draws ----------------------------------------------------------------------------


def beta_cdf(log_x, a, b):
    """Exact distribution function of Beta(a, b) at exp(log_x), from the logarithm."""
    tail = np.exp(a * log_x - np.log(a) - special.betaln(a, b))
    return np.where(
        log_x < -40.0, tail, special.betainc(a, b, np.exp(np.minimum(log_x, 0.0)))
    )


@pytest.mark.parametrize(
    "alphas",
    [(1e-3, 1e-3), (1e-6, 1e-6), (1e-3, 0.4), (1e-6, 5.0, 2.0), (0.05, 0.5, 1e-3)],
)
def test_left_tail_of_small_parameters(alphas):
    alphas = np.array(alphas)
    k = alphas.sum()
    logs = dirichlet.dirichlet_mechanism(
        alphas / k, k, size=100_000, rng=np.random.default_rng(7), log=True
    )
    a = alphas[0]
    b = k - alphas[0]
    tail = logs[:, 0] < np.log(
        0.5
    )  # ties at the float next to 1 would disturb the comparison
    below = beta_cdf(np.log(0.5), a, b)
    assert stats.binomtest(int(tail.sum()), len(tail), below).pvalue > ACCEPT
    left = logs[tail, 0]
    assert stats.kstest(beta_cdf(left, a, b) / below, "uniform").pvalue > ACCEPT
    off = beta_cdf(left, 1.1 * a, b) / beta_cdf(np.log(0.5), 1.1 * a, b)
    assert stats.kstest(off, "uniform").pvalue < REJECT


def test_values_of_small_parameters_where_normalised_gammas_fail():
    p = np.array([0.5, 0.5])
    k = 2e-3
    size = 20_000
    gammas = np.random.default_rng(8).standard_gamma(k * p, (size, 2))
    assert (gammas.sum(axis=1) == 0.0).mean() > 0.2  # 0 / 0: no draw at all
    x = dirichlet.dirichlet_mechanism(p, k, size=size, rng=np.random.default_rng(8))
    assert np.abs(x.sum(axis=1) - 1.0).max() < 1e-15
    for cut in (1e-200, 1e-50, 1e-3, 0.5):
        below = int((x[:, 0] < cut).sum())
        assert (
            stats.binomtest(below, size, beta_cdf(np.log(cut), 1e-3, 1e-3)).pvalue
            > ACCEPT
        )


def test_an_entry_of_shape_one_beside_a_small_one_is_uniform():
    """In a row with a shape below 0.1, drawn in logarithms: shapes below 1 alone are
    raised by 1 and brought back."""
    x = dirichlet.dirichlet_mechanism(
        [1 / 32, 15 / 32, 1 / 2], 2.0, size=20_000, rng=np.random.default_rng(9)
    )
    assert stats.kstest(x[:, 2], "uniform").pvalue > ACCEPT


@pytest.mark.parametrize(
    "parameters",
    [(1.5, 1.5, 17.6), (0.3, 0.7, 4.0), (0.12, 50.0, 3.0), (1.0, 1.0, 1.0)],
)
def test_marginals_and_ratios(parameters):
    parameters = np.array(parameters)
    k = parameters.sum()
    x = dirichlet.dirichlet_mechanism(
        parameters / k, k, size=60_000, rng=np.random.default_rng(9)
    )
    for i, a in enumerate(parameters):
        assert stats.kstest(x[:, i], stats.beta(a, k - a).cdf).pvalue > ACCEPT
        assert (
            stats.kstest(x[:, i], stats.beta(1.1 * a, 1.1 * (k - a)).cdf).pvalue
            < REJECT
        )
    ratio = x[:, 0] / (x[:, 0] + x[:, 1])
    assert (
        stats.kstest(ratio, stats.beta(parameters[0], parameters[1]).cdf).pvalue
        > ACCEPT
    )
    assert abs(stats.spearmanr(ratio, x[:, 2]).statistic) < 5 / np.sqrt(
        len(x)
    )  # neutrality


def test_shapes_zeros_and_rows():
    P = np.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75], [1.0, 0.0, 0.0]])
    x = dirichlet.dirichlet_mechanism(
        P, [5.0, 0.01, 3.0], size=(7, 2), rng=np.random.default_rng(1)
    )
    assert x.shape == (7, 2, 3, 3)
    assert (x[..., P == 0.0] == 0.0).all()
    assert np.abs(x.sum(axis=-1) - 1.0).max() < 1e-15
    assert dirichlet.dirichlet_mechanism(P[0], [1.0, 2.0]).shape == (2, 3)
    assert dirichlet.dirichlet_mechanism(P[0], 1.0, size=0).shape == (0, 3)
    logs = dirichlet.dirichlet_mechanism(
        P, 1e-6, size=50, rng=np.random.default_rng(2), log=True
    )
    assert (np.isneginf(logs) == (P == 0.0)).all()
    assert (logs[:, 2, 0] == 0.0).all()


def test_each_row_is_drawn_in_logarithms_if_it_needs_them():
    """With parameters of 0.0001 nearly every Gamma variable underflows, whatever the
    other rows need."""
    for k in ([100.0, 2e-4], [2e-4, 100.0]):
        x = dirichlet.dirichlet_mechanism(
            np.full((2, 2), 0.5), k, size=200, rng=np.random.default_rng(3)
        )
        assert np.isfinite(x).all() and x.sum(axis=-1) == pytest.approx(1.0)


def test_huge_k_returns_the_mean():
    assert dirichlet.dirichlet_mechanism([0.25, 0.75], 1e20) == pytest.approx(
        [0.25, 0.75], rel=1e-8
    )


# --- accuracy -------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1e-3, 0.7, 20.6, 119.0, 121.0, 1e5, 1e9, 1e14])
def test_accuracy_against_fifty_digits(k):
    p = [0.1, 0.6, 0.0, 0.3]
    with mpmath.workdps(50):
        shares = [mpmath.mpf(x) for x in p]
        size = mpmath.mpf(k)
        kl = sum(
            x * (mpmath.log(x) + mpmath.psi(0, size) - mpmath.psi(0, size * x))
            for x in shares
            if x
        )
        absolute = []
        for x in (x for x in shares if x):
            a = size * x
            b = size - size * x
            logs = mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(size)
            absolute.append(
                2 * mpmath.exp(a * mpmath.log(x) + b * mpmath.log1p(-x) - logs) / size
            )
    rounding = 1 + sum(p) - 1
    assert dirichlet.expected_kl(p, k) / rounding == pytest.approx(float(kl), rel=1e-12)
    error = dirichlet.expected_absolute_error(p, k)
    assert error[[0, 1, 3]] == pytest.approx([float(x) for x in absolute], rel=1e-12)
    assert error[2] == 0.0
    assert (error <= dirichlet.expected_absolute_error_bound(k)).all()


def test_bounds_are_attained_where_they_should():
    half = [0.5, 0.5]
    assert dirichlet.expected_absolute_error(half, 9.0)[0] == pytest.approx(
        dirichlet.expected_absolute_error_bound(9.0), rel=1e-14
    )
    worst = np.array([1, 1, 1, 1, 94]) / 98
    assert dirichlet.expected_kl(worst, 20.6) == pytest.approx(
        dirichlet.expected_kl_bound(5, 98, 20.6), rel=1e-12
    )
    for counts in ([20, 20, 20, 20, 18], [1, 1, 1, 40, 55], [2, 1, 1, 1, 93]):
        value = dirichlet.expected_kl(np.array(counts) / 98, [0.5, 20.6, 1e4])
        assert (
            value <= dirichlet.expected_kl_bound(5, 98, [0.5, 20.6, 1e4]) + 1e-15
        ).all()


def test_lower_bound_is_below_the_truth():
    for n, N, k in [(3, 10, 2.0), (5, 98, 20.6), (2, 7, 50.0)]:
        smallest = dirichlet.expected_absolute_error([1 / N, 1 - 1 / N], k)[0]
        bound = dirichlet.log_absolute_error_lower_bound(n, N, k)
        assert bound <= np.log(smallest)
        one, others = mpmath.mpf(1) / N, mpmath.mpf(n - 1) / N  # equation 97
        printed = (
            2
            * one ** (k * (1 - others))
            * others ** (k * (1 - one))
            / (k * mpmath.beta(k * one, k * others))
        )
        assert bound == pytest.approx(float(mpmath.log(printed)), rel=1e-12)


def test_extreme_points():
    points = dirichlet.extreme_points(4, 0.1)
    assert points.sum(axis=1) == pytest.approx(np.ones(4))
    assert (np.diag(points) == pytest.approx(0.7)) and (
        np.sort(points)[:, :3] == 0.1
    ).all()


# --- checks ---------------------------------------------------------------------------

GOOD = {"shift": 0.01, "eta": 0.1, "gamma": 0.01, "n": 5}


def test_limits_hold_entry_by_entry():
    eta = [0.01, 0.3]
    shift = [0.5, 0.05]
    both = dirichlet.theorem1_vector_epsilon(
        20.0, shift=shift, eta=eta, gamma=0.01, n=3
    )
    assert both.shape == (2,)
    with pytest.raises(
        ValueError, match=re.escape("shift must be in (0, 0.1], got 0.5")
    ):
        dirichlet.theorem1_vector_epsilon(
            20.0, shift=shift, eta=eta[::-1], gamma=0.01, n=3
        )


@pytest.mark.parametrize(
    "name, call",
    [
        ("k", lambda: dirichlet.dirichlet_mechanism([[0.5, 0.5]] * 3, [1.0, 2.0])),
        ("k", lambda: dirichlet.dirichlet_mechanism([1e-300, 1.0], 1e-3)),
        (
            "protected",
            lambda: dirichlet.theorem1_delta_bounds(
                1.0, eta=0.1, gamma=0.1, n=3, protected=3
            ),
        ),
        ("eta", lambda: dirichlet.theorem1_delta_bounds(1.0, eta=0.5, gamma=0.1, n=3)),
        (
            "draws",
            lambda: dirichlet.delta_monte_carlo([1.0], 1.0, gamma=0.1, draws=[5, 3]),
        ),
        ("draws", lambda: dirichlet.delta_monte_carlo([1.0], 1.0, gamma=0.1, draws=[])),
        ("k", lambda: dirichlet.theorem1_delta_bounds(1e13, eta=0.1, gamma=0.1, n=3)),
        (
            "eta",
            lambda: dirichlet.theorem1_delta_bounds(1.0, eta=1e-300, gamma=0.1, n=3),
        ),
        ("eta", lambda: dirichlet.extreme_points(4, 0.3)),
        ("N", lambda: dirichlet.expected_kl_bound(5, [98, 4], 20.6)),
        (
            "protected",
            lambda: dirichlet.theorem1_matrix_epsilon(
                5.0, b=0.1, eta=0.1, eta_bar=0.1, gamma=0.01, protected=[3, 1]
            ),
        ),
        ("noise", lambda: dirichlet.noisy_matrix([[0.5, 0.5]], 0.1, "uniform")),
        (
            "gamma",
            lambda: dirichlet.theorem1_vector_epsilon(20.0, **GOOD | {"gamma": 0.25}),
        ),
        (
            "eta",
            lambda: dirichlet.theorem1_vector_epsilon(20.0, **GOOD | {"eta": 0.21}),
        ),
        (
            "shift",
            lambda: dirichlet.theorem1_vector_epsilon(20.0, **GOOD | {"shift": 0.8}),
        ),
        ("n", lambda: dirichlet.theorem1_vector_epsilon(20.0, **GOOD | {"n": 1})),
        ("eta", lambda: dirichlet.theorem1_vector_epsilon(20.0, **GOOD, eta_bar=0.9)),
        ("k", lambda: dirichlet.theorem1_vector_epsilon(np.nan, **GOOD)),
    ],
)
def test_refusals_name_the_argument(name, call):
    with pytest.raises(ValueError, match=f"^{name} must"):
        call()


@pytest.mark.parametrize("eta", [1e-20, 1e-17])
def test_epsilon_of_a_tiny_border_is_no_smaller_than_the_room_that_is_left(eta):
    """The largest shift leaves eta to a coordinate; what a rounding made of it was 0,
    and the bound said 0."""
    k, gamma = 10.0, 1e-3
    bound = dirichlet.theorem1_vector_epsilon(k, shift=1.0, eta=eta, gamma=gamma, n=2)
    assert bound == pytest.approx(k * (np.log1p(-gamma) - np.log(gamma)), rel=1e-12)


@pytest.mark.parametrize("parameter", [1e-3, 3e-3, 0.01])
def test_small_parameters_are_sampled_in_log_space(parameter):
    """A Gamma variable of shape 0.003 is below the floats in one draw of nine."""
    p = [parameter, 1.0 - parameter]
    logs = dirichlet.dirichlet_mechanism(p, 1.0, size=20_000, rng=1, log=True)
    assert np.isfinite(logs[:, 0]).all()
    # P(log X < -s) is about e^(-s parameter)
    for s in (1.0, 3.0):
        share = np.mean(logs[:, 0] < -s / parameter)
        assert share == pytest.approx(np.exp(-s), abs=0.02)
