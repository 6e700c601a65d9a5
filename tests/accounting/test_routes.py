"""The routes to delta and epsilon crossed on one table of instances, and the safe side
of every rounding."""

import numpy as np
import pytest
from scipy import special, stats

from dpsim import accounting, dirichlet

INSTANCES = [  # k, shift, eta, categories, delta
    (20.6, 1 / 98, 0.073, 5, 2.6e-3),
    (9.87, 0.0125, 0.1, 4, 1e-2),
    (98.7, 0.0125, 0.1, 4, 1e-2),
    (110.6, 1 / 98, 0.073, 5, 1e-2),
    (30.0, 0.1, 0.05, 3, 5e-2),
    (500.0, 0.002, 0.02, 10, 5e-3),
]


def monte_carlo(k, shift, eta, n, epsilon, draws=400_000):
    """Return delta from draws of the release itself at its worst pair, and the
    estimate's standard error."""
    p = np.full(n, eta)
    p[-1] = 1.0 - (n - 1) * eta - shift
    p[0] += shift
    q = p.copy()
    q[[0, 1]] = p[[1, 0]]
    drawn = dirichlet.dirichlet_mechanism(p, k, size=draws, rng=7, log=True)
    loss = (
        k * ((p - q) * drawn).sum(axis=1)
        + special.gammaln(k * q).sum()
        - special.gammaln(k * p).sum()
    )
    gain = np.maximum(-np.expm1(epsilon - loss), 0.0)
    return gain.mean(), gain.std() / np.sqrt(draws)


@pytest.mark.parametrize(("k", "shift", "eta", "n", "delta"), INSTANCES)
def test_four_routes_to_delta_agree(k, shift, eta, n, delta):
    epsilon = float(accounting.exact_epsilon(delta, k, shift=shift, eta=eta))
    exact = float(accounting.exact_delta(epsilon, k, shift=shift, eta=eta))
    assert exact == pytest.approx(delta, rel=1e-9), "the closed form and its inverse"
    lower, upper = accounting.compose(k, shift=shift, eta=eta).delta_bounds(epsilon)
    assert lower <= exact <= upper and upper - lower < 1e-3 * exact, "convolution"
    drawn, error = monte_carlo(k, shift, eta, n, epsilon)
    assert drawn == pytest.approx(exact, abs=5 * error) and error < 0.05 * exact, (
        "draws of the release"
    )
    gamma = np.geomspace(1e-9, 0.1, 200)
    _, spent = dirichlet.theorem1_delta_bounds(k, eta=eta, gamma=gamma, n=n)
    published = dirichlet.theorem1_vector_epsilon(
        k, shift=shift, eta=eta, gamma=gamma, n=n
    )
    assert published[spent <= delta].min() >= epsilon, "Theorem 1 is an upper bound"


@pytest.mark.parametrize("count", [1, 7])
def test_a_composed_epsilon_meets_its_delta(count, monkeypatch):
    """Rounded up and down: each bound is evaluated where it is returned. At 1e-10 and
    below many epsilons have one delta, a multiple of 1e-12, and to step out of them
    took a minute."""
    made = accounting.compose(20.6, shift=1 / 98, eta=0.073, count=count)
    seen = []
    for delta in (0.1, 1e-4, 1e-9, 1e-10, 1e-11):
        low = made.epsilon_lower_bound(delta)
        high = made.epsilon(delta)
        assert (
            made.delta(high) <= delta <= made.delta_bounds(low)[0]
            and low < high < low + 0.1
        )
        if count == 1:
            assert (
                low
                <= accounting.exact_epsilon(delta, 20.6, shift=1 / 98, eta=0.073)
                <= high
            )
    upper = type(made)._upper
    monkeypatch.setattr(
        type(made),
        "_upper",
        lambda self, epsilon: seen.append(epsilon) or upper(self, epsilon),
    )
    made.epsilon(1e-10)
    assert len(seen) < 100


def test_compose_beyond_the_range_of_dp_accounting():
    """Losses of thousands of nats, where a grid of dp-accounting's own makers would
    overflow e^loss."""
    made = accounting.compose(1e5, shift=0.3, eta=0.01, count=2)
    lower = made.epsilon_lower_bound(1e-6)
    upper = made.epsilon(1e-6)
    one = float(accounting.exact_epsilon(1e-6, 1e5, shift=0.3, eta=0.01))
    assert 1e4 < one < lower <= upper < 2 * one


@pytest.mark.parametrize("protected", [1, 2, 3])
def test_the_bounds_count_the_protected_coordinates(protected):
    """At the worst point all of them are at the border: the union of as many equal
    tails."""
    k, eta, gamma = 9.87, 0.1, 1e-3
    tail = stats.beta.cdf(gamma, k * eta, k - k * eta)
    lower, upper = dirichlet.theorem1_delta_bounds(
        k, eta=eta, gamma=gamma, n=4, protected=protected
    )
    assert upper == pytest.approx(protected * tail) and lower == pytest.approx(
        1 - (1 - tail) ** protected
    )
