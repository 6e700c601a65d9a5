"""Policies against quantecon, inner problems against HiGHS, radii against
probabilities, bounds in runs."""

from dataclasses import FrozenInstanceError, replace
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import optimize, sparse, special

from dpsim import dirichlet
from dpsim import mdp as mdps
from dpsim.mdp import concentration
from dpsim.mdp.model import MDP


def generator(*key):
    return np.random.default_rng(key)


def restricted(mdp, rng):
    """The model with about half of the actions taken away, at least one left in each
    state."""
    allowed = rng.random(mdp.rewards.shape) < 0.5
    allowed[
        np.arange(len(allowed)), rng.integers(0, allowed.shape[1], len(allowed))
    ] = True
    return replace(mdp, allowed=allowed)


def holed(mdp, rng):
    """The model with about half of the transitions impossible."""
    kept = mdp.transitions * (rng.random(mdp.transitions.shape) < 0.5)
    kept[..., 0] += kept.sum(axis=-1) == 0
    return replace(mdp, transitions=kept / kept.sum(axis=-1, keepdims=True))


def peer(mdp):
    """The same model in quantecon; forbidden actions earn minus infinity and stay where
    they are."""
    from quantecon.markov import DiscreteDP

    rewards = np.where(mdp.allowed, mdp.rewards, -np.inf)
    stay = np.eye(len(rewards))[:, None, :]
    return DiscreteDP(
        rewards, np.where(mdp.allowed[..., None], mdp.transitions, stay), mdp.discount
    )


MODELS = {
    "small": mdps.random_mdp(3, 2, generator(1), horizon=4),
    "example 2": mdps.random_mdp(20, 5, generator(2), horizon=10),
    "discounted stages": mdps.random_mdp(7, 3, generator(3), horizon=6, discount=0.8),
    "action sets": restricted(
        mdps.random_mdp(9, 4, generator(4), horizon=5), generator(5)
    ),
    "holes": holed(mdps.random_mdp(9, 4, generator(6), horizon=5), generator(7)),
    "startups": mdps.startup_mdp(),
}
DISCOUNTED = {
    "small": mdps.random_mdp(3, 2, generator(11), discount=0.5),
    "example 2": mdps.random_mdp(20, 5, generator(12), discount=0.95),
    "patient": mdps.random_mdp(8, 3, generator(13), discount=0.99),
    "action sets": restricted(
        mdps.random_mdp(9, 4, generator(14), discount=0.9), generator(15)
    ),
    "myopic": mdps.random_mdp(5, 3, generator(16), discount=0.0),
}
finite = pytest.mark.parametrize("mdp", MODELS.values(), ids=MODELS)
discounted = pytest.mark.parametrize("mdp", DISCOUNTED.values(), ids=DISCOUNTED)
every = pytest.mark.parametrize("mdp", [*MODELS.values(), *DISCOUNTED.values()])


# ---- policies and values


@pytest.mark.filterwarnings("ignore:infinite horizon")
@every
def test_policies_and_values_are_those_of_quantecon(mdp):
    from quantecon.markov import backward_induction

    policy, values = mdps.synthesize(mdp)
    if mdp.horizon is None:
        solved = peer(mdp).solve(method="policy_iteration")
        peer_values = solved.v
        peer_policy = solved.sigma
        rtol = 1e-11
    else:
        (peer_values, *_), peer_policy = backward_induction(
            peer(mdp), mdp.horizon, mdp.terminal
        )
        rtol = 1e-13
    np.testing.assert_allclose(values, peer_values, rtol=rtol)
    np.testing.assert_array_equal(policy, peer_policy)


def randomised(mdp, rng):
    """A policy that plays every allowed action with some probability: (stages, S, A),
    or (S, A) without a horizon."""
    stages = 1 if mdp.horizon is None else mdp.horizon
    weights = (
        rng.dirichlet(np.ones(mdp.rewards.shape[1]), size=(stages, len(mdp.rewards)))
        * mdp.allowed
    )
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights[0] if mdp.horizon is None else weights


@every
def test_a_randomised_policy_is_worth_the_sum_over_its_stages(mdp):
    weights = randomised(mdp, generator(24))
    P = np.einsum("...sa,sat->...st", weights, mdp.transitions)
    rewards = (weights * mdp.rewards).sum(axis=-1)
    if mdp.horizon is None:
        expected = np.linalg.solve(np.eye(len(P)) - mdp.discount * P, rewards)
    else:
        expected = mdp.terminal
        for moves, reward in zip(P[::-1], rewards[::-1]):
            expected = reward + mdp.discount * moves @ expected
    np.testing.assert_allclose(mdps.evaluate(mdp, weights), expected, rtol=1e-12)


@every
def test_a_policy_of_probabilities_0_and_1_is_the_policy_of_actions(mdp):
    policy, _ = mdps.synthesize(mdp)
    weights = np.eye(mdp.rewards.shape[1])[policy]
    np.testing.assert_array_equal(
        mdps.evaluate(mdp, weights), mdps.evaluate(mdp, policy)
    )
    for one, two in zip(
        mdps.value_bounds(mdp, weights, 0.1, 0.1),
        mdps.value_bounds(mdp, policy, 0.1, 0.1),
    ):
        np.testing.assert_array_equal(one, two)


@finite
def test_bounds_of_a_randomised_policy_have_a_programme_for_each_action(mdp):
    mdp = replace(mdp, horizon=3)
    radius = 0.15
    beta = 0.1
    weights = randomised(mdp, generator(25))
    full = np.ones(mdp.transitions.shape[-2:], dtype=bool)
    rows = np.where(mdp.allowed[..., None], mdp.transitions, 1 / len(mdp.rewards))
    low = high = mdp.terminal
    for rule in weights[::-1]:
        worst = np.array([highs(p, full, low, radius, beta) for p in rows])
        best = np.array([-highs(p, full, -high, radius, beta) for p in rows])
        low = (rule * (mdp.rewards + mdp.discount * worst)).sum(axis=-1)
        high = (rule * (mdp.rewards + mdp.discount * best)).sum(axis=-1)
    found = mdps.value_bounds(mdp, weights, radius, beta)
    np.testing.assert_allclose(found, [low, high], atol=1e-8)


@pytest.mark.parametrize(
    "mdp", [MODELS["action sets"], DISCOUNTED["action sets"], MODELS["startups"]]
)
def test_a_batch_equals_its_members(mdp):
    k = np.array([2.0, 30.0])
    private = mdps.perturb(mdp, k, generator(23), size=3)
    assert private.batch == (3, 2)
    policy, values = mdps.synthesize(private)
    true = mdps.evaluate(mdp, policy)
    radius = mdps.concentration_radius(k, 0.1, len(mdp.rewards))
    lower, upper = mdps.value_bounds(private, policy, radius, 0.1)
    cost = mdps.cost_of_privacy(private, policy, radius, 0.1, initial=1)
    for index in np.ndindex(private.batch):
        one = replace(mdp, transitions=private.transitions[index])
        one_policy, one_values = mdps.synthesize(one)
        np.testing.assert_array_equal(policy[index], one_policy)
        np.testing.assert_allclose(values[index], one_values, rtol=1e-12)
        np.testing.assert_allclose(
            true[index], mdps.evaluate(mdp, one_policy), rtol=1e-12
        )
        one_lower, one_upper = mdps.value_bounds(one, one_policy, radius[index[1]], 0.1)
        np.testing.assert_array_equal(lower[index], one_lower)
        np.testing.assert_array_equal(upper[index], one_upper)
        assert cost[index] == one_upper[1] - one_lower[1]
    low, _ = mdps.value_bounds(
        one, one_policy, radius[:, None], np.array([0.0, 0.1, 0.5])
    )
    assert low.shape == (2, 3, len(mdp.rewards))
    np.testing.assert_array_equal(low[1, 1], one_lower)


# ---- the inner problem


def highs(p, support, values, radius, beta):
    """Least expectations over the paper's set (1), a linear programme (P) each, solved
    as blocks of one."""
    blocks = []
    right = []
    free = []
    for row, allowed in zip(p, support):
        n = len(row)
        blocks.append(np.kron(np.eye(2), np.ones(n)))
        right += [1.0, 1.0]
        near = [
            (max(x - radius, 0.0), min(x + radius, 1.0) if ok else 0.0)
            for x, ok in zip(row, allowed)
        ]
        free += near + [(0.0, 1.0 if ok else 0.0) for ok in allowed]
    cost = np.concatenate([(1 - beta) * values, beta * values])
    found = optimize.linprog(
        np.tile(cost, len(p)),
        A_eq=sparse.block_diag(blocks),
        b_eq=right,
        bounds=free,
        method="highs",
    )
    assert found.success
    return found.x.reshape(len(p), -1) @ cost


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("radius", [0.0, 0.05, 0.2, 0.6, 1.0])
def test_the_greedy_solution_equals_highs(radius, ties, holes):
    rng = generator(31, int(radius * 100), ties, holes)
    n = 7
    support = rng.random((n, 4, n)) < 0.6 if holes else np.ones((n, 4, n), dtype=bool)
    support[np.arange(n), :, rng.integers(0, n, n)] = True
    p = (
        rng.dirichlet(np.full(n, 0.7), size=(n, 4))
        * support
        * (rng.random((n, 4, n)) < 0.8)
    )
    p[np.arange(n), :, support[:, 0].argmax(axis=-1)] += 1e-3 * (p.sum(axis=-1) == 0)
    support |= p > 0
    p /= p.sum(axis=-1, keepdims=True)
    values = rng.integers(-2, 3, n).astype(float) if ties else rng.normal(size=n)
    for beta in (0.0, 0.3):
        for action in range(4):
            one = MDP(p[:, [action]], np.zeros((n, 1)), horizon=1, terminal=values)
            mask = support[:, [action]]
            low, high = mdps.value_bounds(
                one, np.zeros((1, n), dtype=int), radius, beta, support=mask
            )
            np.testing.assert_allclose(
                low,
                highs(p[:, action], support[:, action], values, radius, beta),
                atol=1e-9,
            )
            np.testing.assert_allclose(
                high,
                -highs(p[:, action], support[:, action], -values, radius, beta),
                atol=1e-9,
            )


# ---- discounted recursions


@discounted
def test_the_recursion_contracts_to_the_bounds(mdp):
    policy, _ = mdps.synthesize(mdp)
    limit = np.array(mdps.value_bounds(mdp, policy, 0.15, 0.1))
    largest = np.abs(mdp.rewards).max() / (1 - mdp.discount)
    for stages in (1, 5, 40):
        stage = replace(mdp, horizon=stages, terminal=np.zeros(len(policy)))
        after = np.array(
            mdps.value_bounds(stage, np.tile(policy, (stages, 1)), 0.15, 0.1)
        )
        assert np.abs(after - limit).max() <= mdp.discount**stages * largest + 3e-9


@discounted
def test_discounted_bounds_are_outward_and_within_twice_the_tolerance(mdp):
    policy, _ = mdps.synthesize(mdp)
    fine = mdps.value_bounds(mdp, policy, 0.1, 0.1, tolerance=1e-10)
    for tolerance in (1e-1, 1e-4):
        lower, upper = mdps.value_bounds(mdp, policy, 0.1, 0.1, tolerance=tolerance)
        for outward in (fine[0] - lower, upper - fine[1]):
            assert (outward >= -1e-9).all() and (outward <= 2.01 * tolerance).all()


@pytest.mark.parametrize(
    ("discount", "tolerance"),
    [(0.5, 1e-3), (0.9, 1e-6), (0.99, 10.0), (0.0, 1e-3), (0.5, 3.0)],
)  # at the last no iteration is needed
def test_iterations_needed_is_the_smallest_number_that_suffices(discount, tolerance):
    mdp = MDP(np.ones((1, 1, 1)), [[-1.0]], discount=discount)
    n = mdps.iterations_needed(mdp, tolerance)
    assert discount**n / (1 - discount) <= tolerance * (1 + 1e-9)
    assert n == 0 or discount ** (n - 1) / (1 - discount) > tolerance * (1 - 1e-9)
    (lower,), (upper,) = mdps.value_bounds(mdp, [0], 0.1, 0.1, tolerance=tolerance)
    assert lower <= -1 / (1 - discount) <= upper


# ---- radii


@pytest.mark.parametrize(
    ("kind", "n", "k", "expected"),
    [
        ("paper", 20, 10, 0.324),
        ("paper", 3, 50, 0.150),
        ("union", 20, 10, 0.522),
        ("union", 20, 50, 0.242),
    ],
)
def test_radii_at_beta_one_tenth(kind, n, k, expected):
    assert mdps.concentration_radius(k, 0.1, n, kind) == pytest.approx(
        expected, abs=6e-4
    )


def scaled_tail(x, k, radius):
    """g_r(x) / x: how probably a Beta variable of mean x is at least the radius from
    it, over x."""
    above = np.where(
        x + radius < 1,
        special.betaincc(k * x, k * (1 - x), np.minimum(x + radius, 1)),
        0.0,
    )
    return (
        above + special.betainc(k * x, k * (1 - x), np.maximum(x - radius, 0.0))
    ) / x


@pytest.mark.parametrize(
    "k, beta", [*product([0.3, 2.0, 10.0, 80.0, 1000.0], [0.1, 1e-5]), (0.1, 0.9999)]
)  # the last is searched 0.001 too small, and fails by 0.4 there
def test_the_exact_radius_is_the_smallest_with_its_tail(k, beta):
    radius = mdps.concentration_radius(k, beta, 2, "exact")
    x = np.concatenate(
        [np.geomspace(1e-13, 1e-3, 200), np.linspace(1e-3, 1, 20_000, endpoint=False)]
    )

    assert radius == 1.0 or scaled_tail(x, k, radius).max() <= beta
    assert scaled_tail(x, k, radius * (1 - 5e-4)).max() > beta or radius > 1 - 1e-4


@pytest.mark.parametrize(
    "k, radius", [*product([0.3, 10.0, 300.0], [0.1, 0.45]), (1e5, 0.015)]
)  # the last needs tails below the smallest float
def test_what_certifies_a_radius_bounds_the_tail_in_each_whole_cell(k, radius):
    edges = np.unique([*np.linspace(0.0, 1.0, 17), radius, 1.0 - radius])
    for low, high in pairwise(edges):
        x = np.linspace(low, high, 41)[1:]
        tail = scaled_tail(x[x < 1.0], k, radius)
        assert (
            tail <= concentration.scaled_tail_bound(k, low, high, radius) * (1 + 1e-9)
        ).all()


def test_radii_broadcast_shrink_with_k_and_beta_and_are_ordered():
    k = np.array([1.0, 5.0, 40.0])[:, None]
    beta = np.array([0.01, 0.1, 0.3])
    paper, union, exact = (
        mdps.concentration_radius(k, beta, 5, kind)
        for kind in ("paper", "union", "exact")
    )
    assert (paper <= union).all()
    for radius in (paper, union, exact):
        assert radius.shape == (3, 3) and ((radius > 0) & (radius <= 1)).all()
        assert (np.diff(radius, axis=0) <= 0).all() and (
            np.diff(radius, axis=1) <= 0
        ).all()


def missed(p, k, beta, kind):
    """How much more often draws are at least the radius away than with probability
    beta, in standard errors."""
    radius = mdps.concentration_radius(k, beta, len(p), kind)
    drawn = dirichlet.dirichlet_mechanism(p, k, size=40_000, rng=generator(51))
    return ((np.abs(drawn - p).max(axis=1) >= radius).mean() - beta) / np.sqrt(
        beta * (1 - beta) / 40_000
    )


@pytest.mark.parametrize("kind", ["union", "exact"])
def test_valid_radii_cover_draws_and_that_of_the_paper_does_not(kind):
    rng = generator(52)
    for _ in range(12):
        n = int(rng.integers(2, 12))
        k = 10 ** rng.uniform(-0.5, 2)
        beta = rng.choice([0.02, 0.1, 0.5])
        assert (
            missed(rng.dirichlet(np.full(n, rng.choice([0.3, 2.0]))), k, beta, kind) < 5
        )
    uniform = np.full(20, 0.05)
    assert missed(uniform, 2.0, 0.2, kind) < 5 < missed(uniform, 2.0, 0.2, "paper")


# ---- releases and what their bounds cover


@pytest.mark.parametrize(
    "mdp", [MODELS["startups"], MODELS["holes"], MODELS["action sets"]]
)
def test_releases_keep_supports_and_the_mean(mdp):
    k = np.array([5.0, 100.0])
    private = mdps.perturb(mdp, k, generator(71), size=(50, 40))
    assert private.batch == (50, 40, 2)
    assert (private.transitions[..., mdp.transitions == 0] == 0).all()
    assert (private.allowed == mdp.allowed).all()
    deviation = private.transitions - mdp.transitions
    for i, each in enumerate(k):
        spread = np.sqrt(mdp.transitions * (1 - mdp.transitions) / (each + 1))
        assert (
            np.abs(deviation[..., i, :, :, :].mean(axis=(0, 1)))
            <= 6 * spread / np.sqrt(2000) + 1e-12
        ).all()
        scale = (deviation[..., i, :, :, :] ** 2).mean(axis=(0, 1)).sum() / (
            spread**2
        ).sum()
        assert abs(scale - 1) < 0.05  # a k 10 % off would show


def test_random_vectors_counts_what_the_mechanism_perturbs():
    assert mdps.startup_mdp().random_vectors == 12
    assert MODELS["example 2"].random_vectors == 100
    assert MODELS["action sets"].random_vectors == MODELS["action sets"].allowed.sum()
    releases = mdps.perturb(
        mdps.startup_mdp(), 1e-4, 1, size=50
    )  # most draws underflow: a vector is one state
    assert (
        (releases.transitions > 0).sum(axis=-1) > 1
    ).sum() < 50 and releases.random_vectors == 12


@pytest.mark.parametrize("kind", ["union", "exact"])
@pytest.mark.parametrize(
    "mdp",
    [
        mdps.random_mdp(6, 3, generator(81), horizon=5),
        mdps.random_mdp(6, 3, generator(82), discount=0.9),
        MODELS["startups"],
    ],
    ids=["finite", "discounted", "startups"],
)
def test_bounds_at_a_valid_radius_hold_in_every_run(mdp, kind):
    k = np.array([2.0, 20.0, 300.0])
    private = mdps.perturb(mdp, k, generator(83), size=300)
    policy, values = mdps.synthesize(private)
    true = mdps.evaluate(mdp, policy)
    radius = mdps.concentration_radius(
        k, 1e-3 / mdp.random_vectors, len(mdp.rewards), kind
    )
    for support in (None, mdp.transitions > 0):
        lower, upper = mdps.value_bounds(private, policy, radius, 0.0, support=support)
        assert (lower <= np.minimum(true, values) + 1e-12).all()
        assert (upper >= np.maximum(true, values) - 1e-12).all()
    lower, upper = mdps.value_bounds(private, policy, radius / 30, 0.0)
    assert not ((lower <= true) & (true <= upper)).all()


# ---- examples, errors


def test_examples_are_valid_and_reproducible():
    startup = mdps.startup_mdp()
    assert startup.rewards.shape == (
        len(mdps.STARTUP_STATES),
        len(mdps.STARTUP_ACTIONS),
    )
    assert startup.allowed.sum() == 14
    policy, values = mdps.synthesize(startup)
    assert (
        len(set(policy[:, 0])) > 1
    )  # what to acquire depends on how much time is left
    assert (values[1:5] > values[0]).all()
    one, two = (vars(mdps.random_mdp(4, 2, generator(3), horizon=3)) for _ in range(2))
    np.testing.assert_equal(one, two)


def test_models_are_frozen_and_leave_their_arguments_alone():
    transitions = np.full((2, 2, 2), 0.5)
    rewards = np.ones((2, 2))
    mdp = MDP(transitions, rewards, horizon=2)
    transitions[0, 0] = [1.0, 0.0]
    assert mdp.transitions[0, 0, 0] == 0.5
    with pytest.raises(FrozenInstanceError):
        mdp.horizon = 3
    with pytest.raises(ValueError, match="read-only"):
        mdp.rewards[0, 0] = 2.0
    assert rewards.flags.writeable


def test_forbidden_entries_may_hold_anything():
    allowed = np.array([[True, False], [True, True]])
    transitions = np.full((2, 2, 2), 0.5)
    transitions[0, 1] = np.nan
    mdp = MDP(transitions, [[1.0, -np.inf], [0.0, 2.0]], horizon=1, allowed=allowed)
    assert np.isfinite(mdp.transitions).all()
    assert mdps.synthesize(mdp)[0].tolist() == [[0, 1]]


HALF = {
    "transitions": np.full((2, 1, 2), 0.5),
    "rewards": np.zeros((2, 1)),
    "horizon": 3,
}
STARTUP = MODELS["startups"]
RELEASED = {
    "private": STARTUP,
    "policy": mdps.synthesize(STARTUP)[0],
    "radius": 0.1,
    "beta": 0.1,
}
RULES = RELEASED["policy"]


@pytest.mark.parametrize(
    ("name", "call", "arguments"),
    [
        ("transitions", MDP, HALF | {"transitions": np.full((2, 2), 0.5)}),
        ("transitions", MDP, HALF | {"transitions": np.ones((2, 1, 3)) / 3}),
        ("transitions", MDP, HALF | {"transitions": np.full((2, 1, 2), 0.4)}),
        ("rewards", MDP, HALF | {"rewards": np.zeros((1, 2))}),
        ("discount", MDP, HALF | {"horizon": None}),
        ("terminal", MDP, HALF | {"terminal": [0.0]}),
        (
            "terminal",
            MDP,
            HALF | {"terminal": [0.0, 1.0], "horizon": None, "discount": 0.5},
        ),
        ("allowed", MDP, HALF | {"allowed": [[True, False]]}),
        ("allowed", MDP, HALF | {"allowed": [[1], [1]]}),
        ("allowed", MDP, HALF | {"allowed": [[True], [False]]}),
        ("policy", mdps.evaluate, {"mdp": STARTUP, "policy": RULES[:3]}),
        ("policy", mdps.evaluate, {"mdp": STARTUP, "policy": RULES * 0.5}),
        ("policy", mdps.evaluate, {"mdp": STARTUP, "policy": np.full((6, 7, 6), 0.2)}),
        (
            "policy",
            mdps.evaluate,
            {"mdp": STARTUP, "policy": np.full((6, 7, 6), 1 / 6)},
        ),
        ("policy", mdps.evaluate, {"mdp": STARTUP, "policy": 0 * RULES}),
        ("policy", mdps.evaluate, {"mdp": DISCOUNTED["small"], "policy": [0, 1]}),
        ("horizon", mdps.iterations_needed, {"mdp": STARTUP, "tolerance": 1e-3}),
        ("mdp", mdps.perturb, {"mdp": mdps.perturb(STARTUP, [1.0, 2.0]), "k": 1.0}),
        (
            "support",
            mdps.cost_of_privacy,
            RELEASED | {"support": np.ones(6, dtype=bool)},
        ),
        (
            "support",
            mdps.value_bounds,
            RELEASED | {"support": np.zeros((7, 6, 7), dtype=bool)},
        ),
        (
            "kind",
            mdps.concentration_radius,
            {"k": 1.0, "beta": 0.1, "n": 3, "kind": "best"},
        ),
        ("discount", mdps.random_mdp, {"states": 2, "actions": 2}),
    ],
)
def test_refusals_name_the_argument(name, call, arguments):
    with pytest.raises(ValueError, match=f"^{name} "):
        call(**arguments)


def test_a_row_of_zeros_is_told_how_a_process_ends():
    """A loop with the reward 0 is worth 0, whatever the horizon or the discount."""
    moves = np.array([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]])
    with pytest.raises(
        ValueError, match=r"row \(1, 0\) .* only zeros: .* loop to itself"
    ):
        MDP(moves, np.ones((2, 2)), discount=0.9)
    moves[1, :, 1] = 1.0
    rewards = [[1.0, 0.0], [0.0, 0.0]]
    for parts in ({"discount": 0.9}, {"horizon": 5}):
        assert mdps.synthesize(MDP(moves, rewards, **parts))[1][1] == 0.0
    allowed = [[True, False], [True, True]]
    MDP(np.where(np.array(allowed)[..., None], moves, 0.0), rewards, 5, allowed=allowed)
