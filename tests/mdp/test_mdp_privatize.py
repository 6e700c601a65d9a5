"""mdp.privatize: what the release spends, every vector that may change accounted for;
what is public."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpsim import accounting, dirichlet, mdp
from dpsim.mdp.model import MDP

STARTUP = mdp.startup_mdp()
PUBLIC = {
    "support": STARTUP.transitions > 0,
    "rows": "one",
    "eta": 0.1,
    "b": 0.02,
    "mechanism": "dirichlet",
}


@pytest.mark.parametrize(
    ("apart", "said"),
    [({"b": 0.02}, "up to 0.02"), ({"records": 100, "b": None}, "one of its 100")],
)
def test_one_vector_spends_what_was_asked_for(apart, said):
    for epsilon, delta in ((3.0, 1e-3), (6.0, 1e-5)):
        release = mdp.privatize(STARTUP, epsilon, delta, rng=1, **{**PUBLIC, **apart})
        for k in np.unique(release.parameters["k"]):
            assert accounting.exact_delta(epsilon, k, shift=0.01, eta=0.1) <= delta * (
                1 + 1e-9
            )
            assert (
                accounting.exact_delta(epsilon, 1.001 * k, shift=0.01, eta=0.1) > delta
            )
        assert (release.epsilon, release.delta) == (epsilon, delta)
        assert f"one of 12 transition vectors, each by {said}" in release.statement
        assert (
            f"epsilon {epsilon!r}, delta {delta!r} (a proven upper bound)"
            in release.statement
        )


def test_every_vector_that_may_change_is_composed():
    model = mdp.random_mdp(3, 1, rng=1, horizon=2)
    everywhere = np.ones((3, 1, 3), bool)
    public = {**PUBLIC, "support": everywhere, "rows": "all"}
    release = mdp.privatize(model, 8.0, 1e-4, rng=1, **public)
    k = release.parameters["k"]
    assert accounting.compose(k, shift=0.01, eta=0.1, count=3).delta(8.0) <= 1e-4
    assert accounting.compose(1.02 * k, shift=0.01, eta=0.1, count=3).delta(8.0) > 1e-4
    assert accounting.compose(k, shift=0.01, eta=0.1, count=4).delta(8.0) > 1e-4
    assert "all 3 transition vectors" in release.statement


@pytest.mark.parametrize(
    ("noise", "vectors", "rows"),
    [("laplace", "one", 1), ("gaussian", "one", 1), ("gaussian", "all", 12)],
)
def test_noise_is_scaled_to_the_vectors_that_change(noise, vectors, rows):
    public = {
        "support": PUBLIC["support"],
        "b": 0.06,
        "rows": vectors,
        "mechanism": noise,
    }
    scale = mdp.privatize(STARTUP, 2.0, 1e-4, rng=1, **public).parameters["scale"]
    assert scale == getattr(accounting, f"{noise}_scale")(2.0, 1e-4, b=0.06, rows=rows)
    one_record = mdp.privatize(
        STARTUP, 2.0, 1e-4, rng=1, **public | {"b": None, "records": 50}
    ).parameters["scale"]
    assert one_record == getattr(accounting, f"{noise}_scale")(
        2.0, 1e-4, b=0.04, rows=rows
    )


@pytest.mark.parametrize(
    ("epsilon", "delta", "vectors", "noise"),
    [
        (2.0, 1e-6, "one", "laplace"),
        (1.0, 0.2, "one", "gaussian"),
        (5.0, 1e-6, "all", "gaussian"),
        (50.0, 1e-9, "all", "laplace"),
        (2e4, 1e-6, "one", "laplace"),  # dp-accounting has no Gaussian scale for it
    ],
)
def test_by_default_the_noise_with_the_smaller_variance(epsilon, delta, vectors, noise):
    public = {"support": PUBLIC["support"], "b": 0.02, "rows": vectors}
    release = mdp.privatize(STARTUP, epsilon, delta, rng=1, **public)
    same = mdp.privatize(STARTUP, epsilon, delta, rng=1, **public, mechanism=noise)
    assert f"by the mechanism {noise}." in release.statement
    assert (release.statement, release.parameters) == (same.statement, same.parameters)
    np.testing.assert_array_equal(release.value.transitions, same.value.transitions)


def test_a_public_minimum_asks_for_the_dirichlet_mechanism():
    public = {name: PUBLIC[name] for name in ("support", "b", "rows", "eta")}
    release = mdp.privatize(STARTUP, 3.0, 1e-3, rng=1, **public)
    assert "by the mechanism dirichlet." in release.statement


@pytest.mark.parametrize("epsilon", [1.2, 2.0, 5.0])
def test_plans_by_default_lose_less_than_half_of_those_of_the_paper(epsilon):
    best = mdp.synthesize(STARTUP)[1][0]
    public = {"support": PUBLIC["support"], "b": 0.02, "rows": "one"}
    scale = mdp.privatize(STARTUP, epsilon, 1e-6, **public).parameters["scale"]
    k = accounting.calibrate_k(epsilon, 1e-6, shift=0.01, eta=0.1)
    support = PUBLIC["support"]
    lost = [
        best - mdp.evaluate(STARTUP, mdp.synthesize(models)[0])[:, 0].mean()
        for models in (
            mdp.perturb_with_noise(
                STARTUP, scale, "laplace", 1, support=support, size=1000
            ),
            mdp.perturb(STARTUP, k, 1, size=1000),
        )
    ]
    assert 0 < lost[0] < 0.5 * lost[1]


@pytest.mark.parametrize("p", [0.0, 0.2, 0.4, 0.9])
def test_two_neighbours_by_quadrature(p):
    """Two states: the release of one vector is a Beta variable, whose divergence is an
    integral."""
    eta, epsilon, delta = 0.2, 1.5, 0.05
    x = np.linspace(1e-9, 1 - 1e-9, 200_001)
    densities = []
    for first in (p, p + 0.1):
        model = MDP(
            np.array([[[first, 1 - first]], [[0.5, 0.5]]]), np.zeros((2, 1)), horizon=1
        )
        public = {
            "support": np.ones((2, 1, 2), bool),
            "b": 0.2,
            "rows": "one",
            "eta": eta,
            "mechanism": "dirichlet",
        }
        k = mdp.privatize(model, epsilon, delta, rng=1, **public).parameters["k"][0]
        inside = np.clip(first, eta, 1 - eta)
        densities.append(stats.beta.pdf(x, k * inside, k * (1 - inside)))
    for one, other in (densities, densities[::-1]):
        assert np.trapezoid(
            np.maximum(one - math.exp(epsilon) * other, 0.0), x
        ) <= delta * (1 + 1e-6)


def test_the_release_is_the_mechanism_at_its_k():
    release = mdp.privatize(STARTUP, 4.0, 1e-3, rng=np.random.default_rng(5), **PUBLIC)
    vectors = STARTUP.transitions[STARTUP.allowed]
    drawn = dirichlet.dirichlet_mechanism(
        vectors, release.parameters["k"], rng=np.random.default_rng(5)
    )
    np.testing.assert_allclose(
        release.value.transitions[STARTUP.allowed], drawn, rtol=1e-9
    )
    assert (
        release.value.rewards == STARTUP.rewards
    ).all() and release.value.horizon == STARTUP.horizon


def test_perturb_is_the_mechanism_for_every_allowed_action():
    drawn = dirichlet.dirichlet_mechanism(
        STARTUP.transitions[STARTUP.allowed], 7.0, rng=5
    )
    assert (
        mdp.perturb(STARTUP, 7.0, rng=5).transitions[STARTUP.allowed] == drawn
    ).all()


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_noise_falls_on_the_support_and_is_projected_there(noise):
    mask = STARTUP.transitions > 0
    made = mdp.perturb_with_noise(STARTUP, 1e-4, noise, 1, support=mask, size=(40, 50))
    assert made.batch == (40, 50)
    deviation = (made.transitions - STARTUP.transitions)[
        ..., mask & (STARTUP.transitions < 1)
    ]
    assert (made.transitions[..., ~mask] == 0).all()
    np.testing.assert_allclose(
        made.transitions.sum(axis=-1)[..., STARTUP.allowed], 1.0, atol=1e-12
    )
    spread = (
        2e-8 if noise == "laplace" else 1e-8
    )  # the noise's variance; of m entries the projection keeps 1 - 1/m
    sizes = (mask & (STARTUP.transitions < 1)).sum(axis=-1, keepdims=True) + 0 * mask
    kept = 1 - 1 / sizes[mask & (STARTUP.transitions < 1)]
    np.testing.assert_allclose(
        deviation.var(axis=(0, 1)) / (spread * kept), 1.0, atol=0.2
    )
    wider = np.ones_like(mask)
    assert (
        mdp.perturb_with_noise(STARTUP, 1.0, noise, 1, support=wider).transitions[0, 0]
        > 0
    ).any()


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_noise_does_not_tell_a_zero_from_a_small_probability(noise):
    support = np.ones((3, 1, 3), bool)
    made = []
    for last in (0.0, 1e-9):
        model = MDP(
            np.tile([0.5, 0.5 - last, last], (3, 1, 1)), np.zeros((3, 1)), horizon=1
        )
        made.append(
            mdp.perturb_with_noise(
                model, 0.1, noise, 1, support=support, size=50
            ).transitions
        )
    np.testing.assert_allclose(*made, atol=1e-8)


@pytest.mark.parametrize(
    "kind",
    [{}, {"mechanism": "laplace", "eta": None}, {"mechanism": "gaussian", "eta": None}],
)
def test_a_release_keeps_to_the_public_support(kind):
    elsewhere = np.zeros((7, 6, 7))
    elsewhere[..., 3] = 1.0  # outside the border, and off some supports
    made = mdp.privatize(
        replace(STARTUP, transitions=elsewhere), 5.0, 1e-3, rng=1, **PUBLIC | kind
    )
    assert (made.value.transitions[~PUBLIC["support"]] == 0).all()


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("exactly one of b and records", {"records": 10}),
        ("exactly one of b and records", {"b": None}),
        ("eta", {"eta": None}),
        ("eta", {"eta": 0.35}),
        ("rows", {"rows": "some"}),
        ("support", {"support": np.zeros((7, 6, 7), bool)}),
        (
            "support",
            {"support": np.eye(7, dtype=bool)[:, None] & np.ones((7, 6, 7), bool)},
        ),
        ("support", {"support": np.ones((7, 6, 7))}),
        ("epsilon", {"epsilon": 1e-3, "delta": 1e-9}),
        ("mechanism", {"mechanism": "box"}),
    ],
)
def test_refusals_are_of_public_arguments(name, changed):
    for p in (STARTUP.transitions, np.full((7, 6, 7), 1 / 7)):
        with pytest.raises(ValueError, match=f"^{name} must"):
            mdp.privatize(
                replace(STARTUP, transitions=p),
                **{"epsilon": 3.0, "delta": 1e-3, **PUBLIC, **changed},
            )


def test_what_the_guarantee_rests_on_is_required():
    for name in ("support", "rows"):
        with pytest.raises(TypeError, match="required keyword-only"):
            mdp.privatize(
                STARTUP, 3.0, 1e-3, **{k: v for k, v in PUBLIC.items() if k != name}
            )
