"""Policies against exact rational arithmetic: no gain is lost in rounding errors."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpsim import mdp
from dpsim.mdp.worth import chain_values, gains


def solve(matrix, right):
    """Return the exact solution of a linear system, by Gauss and Jordan."""
    rows = [[*row, x] for row, x in zip(matrix, right)]
    for i in range(len(rows)):
        pivot = next(k for k in range(i, len(rows)) if rows[k][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(len(rows)):
            if k != i and rows[k][i]:
                factor = rows[k][i]
                rows[k] = [x - factor * y for x, y in zip(rows[k], rows[i])]
    return [row[-1] for row in rows]


def exact_parts(model):
    """Return the transitions, rewards and discount of a model as fractions."""
    exact = np.vectorize(Fraction, otypes=[object])
    return exact(model.transitions), exact(model.rewards), Fraction(model.discount)


def exact_values(model, policy):
    """Return the exact values of a stationary policy."""
    P, rewards, discount = exact_parts(model)
    states = range(len(rewards))
    system = [
        [(s == t) - discount * P[s, policy[s], t] for t in states] for s in states
    ]
    return solve(system, [rewards[s, policy[s]] for s in states])


def exact_gains(model, values):
    """Return the exact worth of each allowed action less the value of its state."""
    P, rewards, discount = exact_parts(model)
    return [
        rewards[s, a] + discount * sum(P[s, a] * values) - values[s]
        for s, a in np.argwhere(model.allowed)
    ]


def assert_optimal(model):
    """Assert that no action has an exact gain, and that the values are rounded ones."""
    policy, values = mdp.synthesize(model)
    exact = np.array(exact_values(model, policy))
    assert max(exact_gains(model, exact)) <= 0
    np.testing.assert_allclose(values, exact.astype(float), rtol=1e-15)
    np.testing.assert_array_equal(mdp.evaluate(model, policy), values)


def detour(discount, penalty, pay):
    """A model in which a detour pays, and nothing leads to the state of the penalty."""
    moves = np.zeros((4, 2, 4))
    moves[0, 0, 2] = moves[0, 1, 1] = 1.0
    moves[1:3, :, 2] = 1.0
    moves[3, :, 3] = 1.0
    rewards = np.zeros((4, 2))
    rewards[1] = pay
    rewards[3] = -penalty
    return mdp.MDP(moves, rewards, discount=discount)


DETOURS = [
    (0.999, 1e9, 1.0),
    (0.9999, 1e7, 1.0),
    (0.99999, 1e5, 1.0),
    (0.999999, 1e3, 1.0),
    (0.99999999, 1.0, 20.0),
    (0.999999999999, 1.0, 1e-9),
    (0.9, 1e298, 1e-250),
]


@pytest.mark.parametrize("discount, penalty, pay", DETOURS)
def test_a_state_that_is_never_reached_hides_no_gain(discount, penalty, pay):
    model = detour(discount, penalty, pay)
    policy, values = mdp.synthesize(model)
    assert policy[0] == 1
    assert values[0] == discount * pay
    assert_optimal(model)


def test_a_batch_of_models_hides_no_gain():
    model = detour(0.9999, 1e7, 1.0)
    moves = np.tile(model.transitions, (3, 1, 1, 1))
    moves[1, 0, 1] = [0.0, 0.5, 0.5, 0.0]
    moves[2, 0, 0] = [0.0, 0.0, 0.0, 1.0]
    policy, _ = mdp.synthesize(mdp.MDP(moves, model.rewards, discount=model.discount))
    np.testing.assert_array_equal(policy[:, 0], 1)


def test_a_private_model_hides_no_gain():
    model = mdp.random_mdp(5, 3, 1, discount=0.9999)
    private = mdp.perturb(model, 20.0, 2, size=4)
    rewards = np.array(model.rewards) * np.logspace(0, 12, 5)[:, None]
    for transitions in private.transitions:
        assert_optimal(mdp.MDP(transitions, rewards, discount=model.discount))


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.999, 1 - 1e-8, 1 - 1e-12])
@pytest.mark.parametrize("seed", range(6))
def test_small_models_are_solved_exactly(seed, discount):
    rng = np.random.default_rng([seed, int(1e6 * discount)])
    for _ in range(5):
        states, actions = rng.integers(2, 5, 2)
        shape = (states, actions)
        moves = rng.dirichlet(np.full(states, rng.choice([0.05, 1.0])), shape)
        if seed % 2:  # few successors, small integers: many ties
            moves = np.eye(states)[rng.integers(0, states, (2, *shape))].mean(axis=0)
        rewards = rng.integers(-2, 3, shape) * 10.0 ** rng.integers(-9, 10, (states, 1))
        rewards[rng.random(shape) < 0.1] *= 1e12
        assert_optimal(mdp.MDP(moves, rewards, discount=discount))


@pytest.mark.parametrize("gap", [1e-3, 1e-9, 1e-15])
def test_a_small_gain_among_common_values_is_found(gap):
    moves = np.zeros((3, 2, 3))
    moves[0, 0, 1] = moves[0, 1, 2] = moves[1, :, 0] = moves[2, :, 0] = 1.0
    rewards = np.ones((3, 2))
    rewards[2] = 1.0 + gap
    for discount in (0.5, 1 - 1e-6, 1 - 1e-11):
        model = mdp.MDP(moves, rewards, discount=discount)
        assert mdp.synthesize(model)[0][0] == 1
        assert_optimal(model)


def test_equally_good_actions_keep_the_first():
    third = [1 / 3, 1 / 3, 1 / 3]
    moves = [[third, third[::-1]], [third, third], [third, third]]
    rewards = [[0.1, 0.1], [0.7, 0.7], [1e9, 1e9]]
    for parts in ({"discount": 0.99999}, {"horizon": 4}):
        policy, _ = mdp.synthesize(mdp.MDP(moves, rewards, **parts))
        assert not policy.any()


def exact_optimum(model):
    """Return the exact values of the best plan over a horizon."""
    P, rewards, discount = exact_parts(model)
    values = np.array([Fraction(x) for x in model.terminal])
    for _ in range(model.horizon):
        worth = [
            [rewards[s, a] + discount * sum(P[s, a] * values) for a in range(len(row))]
            for s, row in enumerate(rewards)
        ]
        values = np.array([max(row) for row in worth])
    return values


def exact_plan_values(model, policy):
    """Return the exact values of a policy over a horizon."""
    P, rewards, discount = exact_parts(model)
    values = np.array([Fraction(x) for x in model.terminal])
    for rule in policy[::-1]:
        values = np.array(
            [
                rewards[s, a] + discount * sum(P[s, a] * values)
                for s, a in enumerate(rule)
            ]
        )
    return values


@pytest.mark.parametrize("terminal", [0.0, 1.0, 1e17, -1e250])
@pytest.mark.parametrize("seed", range(6))
def test_plans_over_a_horizon_are_exact(seed, terminal):
    rng = np.random.default_rng([seed, 9])
    moves = np.eye(4)[rng.integers(0, 4, (2, 4, 3))].mean(axis=0)
    rewards = rng.integers(0, 3, (4, 3)) / 4
    last = np.full(4, terminal)
    model = mdp.MDP(moves, rewards, horizon=4, discount=1.0, terminal=last)
    if terminal < -1e17:  # nothing of the rewards is left at twice the precision
        last[0] = 0.0
        model = mdp.MDP(moves, rewards, horizon=4, discount=0.75, terminal=last)
    policy, values = mdp.synthesize(model)
    exact = exact_plan_values(model, policy)
    assert (exact == exact_optimum(model)).all() or terminal == -1e250
    np.testing.assert_allclose(values, exact.astype(float), rtol=1e-15)


def test_the_error_bounds_are_bounds():
    rng = np.random.default_rng(8)
    for discount, spread in product((0.3, 0.9999, 1 - 1e-10), (0, 150)):
        model = mdp.MDP(
            rng.dirichlet(np.full(5, 0.3), (5, 1)),
            rng.normal(size=(5, 1)) * 10.0 ** rng.integers(-spread, spread + 1, (5, 1)),
            discount=discount,
        )
        P = model.transitions
        values, error = chain_values(P[:, 0], model.rewards[:, 0], discount)
        exact = exact_values(model, np.zeros(5, dtype=int))
        for parts, e, value in zip(values, error, exact):
            assert abs(fraction(parts) - value) <= Fraction(e)
        assert (error <= 1e-15 * np.abs(values[:, 0]).max()).all()
        for k in (1, 2, 3):
            few = values[:, :k]
            gain, bound = gains(P, model.rewards, discount, few, 0 * few)
            exact = [fraction(parts) for parts in few]
            worth = exact_gains(model, np.array(exact))
            for parts, e, value, base in zip(gain[:, 0], bound[:, 0], worth, exact):
                assert abs(fraction(parts) - (value + base)) <= Fraction(e)


def fraction(parts):
    """Return the exact sum of doubles."""
    return sum(map(Fraction, parts))


@pytest.mark.parametrize("discount", [1 - 2.0**-53, 1 - 1e-15])
def test_a_discount_that_doubles_cannot_tell_from_1_is_refused(discount):
    model = mdp.random_mdp(4, 2, 3, discount=discount)
    with pytest.raises(ValueError, match=r"discount must be further below 1.*0\.99999"):
        mdp.synthesize(model)
    with pytest.raises(ValueError, match="discount must be further below 1"):
        mdp.evaluate(model, [0, 0, 0, 0])


@pytest.mark.parametrize(
    "parts",
    [
        {"discount": 0.9},
        {"horizon": 2},
        {"horizon": 1, "terminal": [1e308]},
        {"horizon": 10**9},
    ],
)
@pytest.mark.parametrize("sign", [-1, 1])
def test_rewards_whose_sums_overflow_are_refused(parts, sign):
    with pytest.raises(ValueError, match=r"rewards and terminal .* 1e\+300 of 0, got"):
        mdp.MDP([[[1.0]]], [[sign * 1.7e308]], **parts)


def test_values_near_the_largest_are_finite():
    model = mdp.MDP([[[0.5, 0.5]], [[0.0, 1.0]]], [[-9e298], [1e298]], discount=0.9)
    assert_optimal(model)
    assert np.isfinite(mdp.value_bounds(model, [0, 0], 0.1, 0.1)).all()
    assert np.isfinite(mdp.cost_of_privacy(model, [0, 0], 1.0, 0.1))
