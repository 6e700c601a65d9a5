"""mdp.privatize: what the release spends, every vector that may change accounted for; what is public."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpsim import accounting, dirichlet, mdp, private
from dpsim.mdp import privacy
from dpsim.mdp.model import MDP

STARTUP = mdp.startup_mdp()
PUBLIC = {"support": STARTUP.transitions > 0, "shift": 0.01, "vectors": 1, "eta": 0.05}


def test_one_vector_spends_exactly_what_was_asked_for():
    for shift, epsilon, delta in ((0.01, 3.0, 1e-3), (0.03, 8.0, 1e-3), (0.002, 0.9, 1e-9)):
        release = mdp.privatize(STARTUP, epsilon=epsilon, delta=delta, rng=1, **{**PUBLIC, "shift": shift})
        k = release.parameters["k"]
        assert accounting.exact_delta(epsilon, k, shift=shift, eta=0.05) <= delta
        assert accounting.exact_delta(epsilon, 1.001 * k, shift=shift, eta=0.05) > delta
        assert (release.epsilon, release.delta) == (epsilon, delta)
        assert f"epsilon {epsilon!r}, delta {delta!r} (a proven bound)" in release.statement


def test_every_vector_that_may_change_is_composed():
    for vectors, count in ((2, 2), ("all", 12)):
        release = mdp.privatize(STARTUP, epsilon=5.0, delta=1e-4, rng=1, **{**PUBLIC, "vectors": vectors})
        k = release.parameters["k"]
        assert accounting.compose(k, shift=0.01, eta=0.05, count=count).delta(5.0) <= 1e-4
        assert accounting.compose(1.01 * k, shift=0.01, eta=0.05, count=count).delta(5.0) > 1e-4
        assert accounting.compose(k, shift=0.01, eta=0.05, count=count + 1).delta(5.0) > 1e-4
        assert f"{count} of 12 transition vectors" in release.statement


@pytest.mark.parametrize("vectors", [1, 3])
def test_noise_is_scaled_to_the_vectors_that_change(vectors):
    for noise, delta_of in (("laplace", accounting.laplace_delta), ("gaussian", accounting.gaussian_delta)):
        public = {"support": PUBLIC["support"], "shift": 0.03, "vectors": vectors, "mechanism": noise}
        release = mdp.privatize(STARTUP, epsilon=2.0, delta=1e-4, rng=1, **public)
        scale = release.parameters["scale"]
        assert delta_of(2.0, scale, b=0.06, rows=vectors) <= 1e-4
        assert delta_of(2.0, 0.99 * scale, b=0.06, rows=vectors) > 1e-4


def brute_force_delta(law, epsilon, p, q):
    """The divergence of the first entry's law between two neighbours, by quadrature over its quantiles."""
    x = np.linspace(1e-7, 1 - 1e-7, 400_001)
    densities = [np.exp(law(v).logpdf(x)) for v in (p, q)]
    return np.trapezoid(np.maximum(densities[0] - math.exp(epsilon) * densities[1], 0.0), x)


@pytest.mark.parametrize("shrink", [False, True])
def test_two_neighbours_by_quadrature(shrink):
    """Two states: the release of one vector is a Beta variable, whose divergence is an integral."""
    shift, eta, epsilon, delta = 0.1, 0.15, 1.5, 0.05
    worst = (0.15, 0.25) if not shrink else (0.0, 0.1)
    models = [MDP(np.array([[[p, 1 - p]], [[0.5, 0.5]]]), np.zeros((2, 1)), horizon=1) for p in worst]
    public = {"support": np.ones((2, 1, 2), bool), "shift": shift, "vectors": 1, "eta": eta, "shrink": shrink}
    k = mdp.privatize(models[0], epsilon=epsilon, delta=delta, rng=1, **public).parameters["k"]
    inside = [privacy._inside_border(m, public["support"], eta, shrink).transitions[0, 0] for m in models]
    law = lambda p: stats.beta(k * p[0], k * p[1])  # noqa: E731
    for p, q in (inside, inside[::-1]):
        assert brute_force_delta(law, epsilon, p, q) <= delta * (1 + 1e-6)


def test_shrinking_is_affine_and_scales_the_shift():
    rng, eta = np.random.default_rng(3), 0.04
    mask = np.array([[[True] * 5]] + [[[True] * 3 + [False] * 2]] * 4)
    p = rng.dirichlet(np.ones(5), size=(5, 1)) * mask
    p /= p.sum(axis=-1, keepdims=True)
    q = p.copy()
    moved = min(p[0, 0, 0], 0.02)
    q[0, 0, :2] += [-moved, moved]
    first, second = (
        privacy._inside_border(MDP(x, np.zeros((5, 1)), horizon=1), mask, eta, True).transitions for x in (p, q)
    )
    assert (first[mask] >= eta).all() and (first[~mask] == 0).all()
    np.testing.assert_allclose(first.sum(axis=-1), 1.0, atol=1e-15)
    change = (second - first)[0, 0]
    assert change[1] == pytest.approx((1 - 5 * eta) * moved) and (change[2:] == 0).all()
    # k is that of the largest shift after the map, of the smallest support
    release = mdp.privatize(
        MDP(p, np.zeros((5, 1)), horizon=1),
        epsilon=4.0, delta=1e-3, support=mask, shift=0.02, vectors=1, eta=eta, shrink=True, rng=1,
    )  # fmt: skip
    expected = accounting.calibrate_k(4.0, 1e-3, shift=(1 - 3 * eta) * 0.02, eta=eta)
    assert release.parameters["k"] == pytest.approx(float(expected), rel=1e-12)


def test_the_release_is_the_mechanism_at_its_k():
    release = mdp.privatize(STARTUP, epsilon=4.0, delta=1e-3, rng=np.random.default_rng(5), **PUBLIC)
    same = mdp.perturb(STARTUP, release.parameters["k"], np.random.default_rng(5))
    assert (release.value.transitions == same.transitions).all()
    assert (release.value.rewards == STARTUP.rewards).all() and release.value.horizon == STARTUP.horizon
    drawn = dirichlet.dirichlet_mechanism(STARTUP.transitions[STARTUP.allowed], release.parameters["k"], rng=5)
    assert (same.transitions[STARTUP.allowed] == drawn).all()


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_noise_falls_on_the_support_and_is_projected_there(noise):
    mask = STARTUP.transitions > 0
    made = mdp.perturb_with_noise(STARTUP, 1e-4, noise, 1, support=mask, size=(40, 50))
    assert made.batch == (40, 50)
    deviation = (made.transitions - STARTUP.transitions)[..., mask & (STARTUP.transitions < 1)]
    assert (made.transitions[..., ~mask] == 0).all()
    np.testing.assert_allclose(made.transitions.sum(axis=-1)[..., STARTUP.allowed], 1.0, atol=1e-12)
    spread = 2e-8 if noise == "laplace" else 1e-8  # the noise's variance; of m entries the projection keeps 1 - 1/m
    sizes = (mask & (STARTUP.transitions < 1)).sum(axis=-1, keepdims=True) + 0 * mask
    kept = 1 - 1 / sizes[mask & (STARTUP.transitions < 1)]
    np.testing.assert_allclose(deviation.var(axis=(0, 1)) / (spread * kept), 1.0, atol=0.2)
    wider = np.ones_like(mask)
    assert (mdp.perturb_with_noise(STARTUP, 1.0, noise, 1, support=wider).transitions[0, 0] > 0).any()


def test_k_and_statement_do_not_depend_on_the_transitions():
    rng, made = np.random.default_rng(6), []
    for _ in range(2):
        p = 0.05 + 0.65 * rng.dirichlet(np.ones(7), size=(7, 6))
        model = replace(STARTUP, transitions=p)
        for kw in ({"eta": 0.05}, {"eta": 0.1, "shrink": True}, {"mechanism": "laplace"}, {"mechanism": "gaussian"}):
            public = {"support": np.ones((7, 6, 7), bool), "shift": 0.01, "vectors": 2 - ("mechanism" in kw), **kw}
            release = mdp.privatize(model, epsilon=5.0, delta=1e-3, rng=1, **public)
            made.append((release.statement, tuple(release.parameters.items())))
    assert len(set(made)) == 4


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": 0.0}, r"epsilon must be in \(0, inf\), got 0"),
        ({"delta": 1.0}, r"delta must be in \(0, 1\), got 1"),
        ({"shift": 0.5}, r"shift must be in \(0, 0.5\), got 0.5"),
        ({"eta": None}, "eta must be the public border"),
        ({"eta": 0.35}, "eta must be at most 1 / 3"),
        ({"vectors": 0}, "vectors must be an integer from 1 to 12, got 0"),
        ({"vectors": 13}, "vectors must be an integer from 1 to 12, got 13"),
        ({"vectors": "some"}, "vectors must be one of 'all', got 'some'"),
        ({"vectors": "all", "delta": 1e-12, "epsilon": 9.0}, "delta must be in"),
        ({"support": np.zeros((7, 6, 7), bool)}, "support must have a next state for every state and allowed action"),
        ({"support": np.eye(7, dtype=bool)[:, None] & np.ones((7, 6, 7), bool)}, "support must leave two next states"),
        ({"support": np.ones((7, 6, 7))}, "support must be booleans"),
        ({"epsilon": 1e-3, "delta": 1e-9}, "epsilon must be"),
        ({"mechanism": "box"}, "mechanism must be one of"),
    ],
)
def test_public_arguments_are_refused_before_the_transitions_are_compared(changed, message):
    off = replace(STARTUP, transitions=np.full((7, 6, 7), 1 / 7))  # off its support: refused, but last
    public = {"epsilon": 3.0, "delta": 1e-3, **PUBLIC, **changed}
    for model in (STARTUP, off):
        with pytest.raises(ValueError, match=message):
            mdp.privatize(model, **public)


def test_vectors_off_the_support_or_the_border_are_refused():
    off = replace(STARTUP, transitions=np.full((7, 6, 7), 1 / 7))
    with pytest.raises(ValueError, match="transitions must be zero off the support"):
        mdp.privatize(off, epsilon=3.0, delta=1e-3, **PUBLIC)
    with pytest.raises(ValueError, match=r"transitions must be at least eta 0\.15 on the support"):
        mdp.privatize(STARTUP, epsilon=3.0, delta=1e-3, **{**PUBLIC, "eta": 0.15})
    inside = mdp.privatize(STARTUP, epsilon=3.0, delta=1e-3, **{**PUBLIC, "eta": 0.15, "shrink": True})
    assert not inside.simulation
    for name in PUBLIC.keys() - {"eta"}:
        with pytest.raises(TypeError, match="required keyword-only"):
            mdp.privatize(STARTUP, epsilon=3.0, delta=1e-3, **{k: v for k, v in PUBLIC.items() if k != name})


def test_a_given_generator_marks_a_simulation():
    release = mdp.privatize(STARTUP, epsilon=3.0, delta=1e-3, rng=1, **PUBLIC)
    assert release.simulation and release.statement.startswith(private.SIMULATION)
    releases = [mdp.privatize(STARTUP, epsilon=3.0, delta=1e-3, **PUBLIC) for _ in range(2)]
    assert not releases[0].simulation and "SIMULATION" not in releases[0].statement
    assert (releases[0].value.transitions != releases[1].value.transitions).any()
