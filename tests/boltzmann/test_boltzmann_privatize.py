"""boltzmann.privatize: the law of the release for all neighbours, by enumeration; invariant bins; what is public."""

import itertools

import numpy as np
import pytest
from chi_square import p_value

from dpsim import boltzmann
from dpsim.boltzmann import mixing, sampling

CASES = [(5, 3, None), (4, 4, None), (1, 2, None), (6, 3, [1.0, 2.0, 0.5]), (7, 2, [3.0, 3.0])]


def moves(x):
    """The histograms after one person moved."""
    for i, j in itertools.permutations(range(len(x)), 2):
        if x[i]:
            y = np.array(x)
            y[i] -= 1
            y[j] += 1
            yield tuple(y.tolist())


@pytest.mark.parametrize(("total", "bins", "weights"), CASES)
def test_the_release_spends_at_most_what_it_says(total, bins, weights):
    public = {"total": total, "bins": bins, "weights": weights}
    space = [tuple(z) for z in boltzmann.configurations(total, bins).tolist()]
    for epsilon in (0.2, 1.0, 6.0):
        release = boltzmann.privatize(space[0], epsilon=epsilon, rng=1, **public)
        t = release.parameters["t"]
        laws = {x: boltzmann.log_stationary(x, t, weights) for x in space}
        spent = max((laws[x] - laws[y]).max() for x in space for y in moves(x))
        assert spent <= release.epsilon * (1 + 1e-12) and release.epsilon <= epsilon
        if total == 1:  # there the bound is attained: a sensitivity one too small fails
            assert spent == pytest.approx(epsilon, rel=1e-12)
        if weights is None:
            assert t == pytest.approx((4 * total - 2) / epsilon, rel=1e-12)
        assert release.epsilon == pytest.approx(epsilon, rel=1e-12)
        assert f"epsilon {release.epsilon!r} (a proven upper bound), delta 0" in release.statement


def test_no_rounding_of_the_temperature_spends_more_than_epsilon():
    for epsilon in np.random.default_rng(3).uniform(0.1, 10.0, 80):
        release = boltzmann.privatize([2, 1, 0], epsilon=epsilon, total=3, bins=3, weights=[0.3, 0.7, 1.1], rng=1)
        assert release.epsilon <= epsilon < release.epsilon * (1 + 1e-12)


@pytest.mark.parametrize("mechanism", ["boltzmann", "laplace"])
def test_the_release_has_the_law_of_its_mechanism(mechanism):
    x, total, epsilon, drawn = (2, 0, 1), 3, 1.5, 20_000
    public = {"epsilon": epsilon, "total": total, "bins": 3, "mechanism": mechanism}

    def sampled(size, rng):
        if mechanism == "boltzmann":
            return boltzmann.sample_exact(x, 10 / epsilon, size=size, rng=rng)
        return boltzmann.nearest_histogram(
            boltzmann.add_zero_sum_laplace(x, epsilon, size=size, rng=rng), total, rng=rng
        )

    for seed in range(50):  # a release is one draw of what is counted below
        one = sampled(None, np.random.default_rng(seed))
        np.testing.assert_array_equal(boltzmann.privatize(x, **public, rng=seed).value, one)
    made = sampled(drawn, np.random.default_rng(7))
    seen = np.bincount(boltzmann.configuration_index(made, total), minlength=10)
    law = np.exp(boltzmann.log_stationary(x, 10 / epsilon)) if mechanism == "boltzmann" else projected(x, epsilon)
    assert p_value(seen, law) > 1e-6


def test_the_release_after_k_steps_is_the_chain_from_the_histogram():
    x, public = (2, 0, 1), {"epsilon": 1.0, "total": 3, "bins": 3, "steps": 200}
    for seed in range(50):
        made = boltzmann.privatize(x, **public, rng=seed)
        assert (made.value == boltzmann.metropolis(x, 10.0, 200, rng=seed)[0]).all()
    assert made.parameters == {"t": 10.0, "steps": 200}
    assert made.delta == boltzmann.mixing_bound(3, 3, 10.0, 200, 1.0) < 1
    assert f"delta {made.delta!r} (a proven upper bound), by the Metropolis chain at t 10.0 after 200" in made.statement


@pytest.mark.parametrize(("total", "bins"), [(1, 2), (3, 2), (3, 3), (6, 3), (3, 4)])
def test_the_delta_of_k_steps_covers_what_they_spend(total, bins):
    for epsilon in (0.5, 4.0, 12.0):
        t = boltzmann.epsilon_bound(total, bins, 1.0) / epsilon
        steps = np.unique(np.geomspace(1, 400, 12).astype(int))
        exact = boltzmann.mixing_delta(total, bins, t, steps.tolist(), epsilon=epsilon)
        bound = boltzmann.mixing_bound(total, bins, t, steps, epsilon)
        assert (exact <= bound + 1e-15).all()
        enough = mixing.enough_steps(total, bins, t, epsilon, 0.9)
        release = boltzmann.privatize([total] + [0] * (bins - 1), epsilon=epsilon, total=total, bins=bins, steps=enough)
        assert release.delta <= 0.9 * (1 + 1e-9)
        with pytest.raises(ValueError, match=r"^steps must be so many"):
            boltzmann.privatize([total] + [0] * (bins - 1), epsilon=epsilon, total=total, bins=bins, steps=0)


def lattice(reach, bins):
    """All integer vectors of sum 0 with entries within the reach, and their weights' exponents."""
    head = np.array(list(itertools.product(range(-reach, reach + 1), repeat=bins - 1)))
    return np.column_stack([head, -head.sum(axis=1)])


def projected(x, epsilon, reach=40):
    """The law of zero-sum noise and projection, by enumeration; ties of the projection count in shares."""
    noises = lattice(reach, len(x))
    weight = np.exp(-epsilon * np.abs(noises).sum(axis=1) / 2)
    space = boltzmann.configurations(sum(x), len(x))
    apart = ((space[:, None] - (x + noises)) ** 2).sum(axis=-1)
    nearest = apart == apart.min(axis=0)
    return (nearest / nearest.sum(axis=0)) @ weight / weight.sum()


@pytest.mark.parametrize("epsilon", [0.7, 3.0])
def test_zero_sum_noise_has_its_law(epsilon):
    drawn = 60_000
    x = np.array([5, 3, 9])
    noisy = boltzmann.add_zero_sum_laplace(x, epsilon, size=(2, drawn // 2), rng=8)
    assert noisy.shape == (2, drawn // 2, 3) and (noisy.sum(axis=-1) == x.sum()).all()
    support = lattice(60, 3)
    seen = np.zeros((400, 400))
    np.add.at(seen, tuple((noisy.reshape(-1, 3)[:, :2] - x[:2] + 200).T), 1)
    observed = seen[tuple((support[:, :2] + 200).T)]
    right, wrong = (np.exp(-factor * epsilon * np.abs(support).sum(axis=1) / 2) for factor in (1.0, 1.05))
    assert p_value(observed, right) > 1e-6 > p_value(observed, wrong)


def test_refusals_of_public_arguments_come_first_and_the_value_is_not_told():
    good = {"epsilon": 1.0, "total": 4, "bins": 3}
    kinds = ({"weights": [1, 1, 1], "steps": 9}, {"steps": 9, "mechanism": "laplace"}, {"steps": -1}, {"steps": 3})
    weights = ({"weights": np.eye(3) + 0.1}, {"weights": [0] * 3})
    for bad in ({"epsilon": 0.0}, {"total": 0}, {"bins": 1}, *weights, *kinds):
        with pytest.raises(ValueError, match=next(iter(bad))):
            boltzmann.privatize("not read", **{**good, **bad})
    for bad in ([4, 0], [3, 3, 3], [[4, 0, 0]]):
        with pytest.raises(ValueError, match="histogram must have 3 bins, the total 4 and the inv"):
            boltzmann.privatize(bad, **good)
    for name in good:
        with pytest.raises(TypeError, match="required keyword-only"):
            boltzmann.privatize([4, 0, 0], **{k: v for k, v in good.items() if k != name})
    with pytest.raises(ValueError, match="at most 20000000 table terms"):
        boltzmann.privatize("not read", epsilon=1e-6, total=10**9, bins=100)


def test_no_histogram_needs_more_table_terms_than_were_foreseen(monkeypatch):
    rng = np.random.default_rng(9)
    for _ in range(200):
        x = rng.multinomial(int(rng.integers(1, 300)), rng.dirichlet(np.full(4, 0.3)))
        a = 10.0 ** rng.uniform(-4, 2.5, 4) * (rng.random(4) < 0.9)
        total = int(x.sum())
        mode, low, high = sampling._windows(x, a, sampling._tilt(x, a, total), total)
        assert ((low >= 0) & (low <= mode) & (mode <= high) & (high <= total)).all()
        monkeypatch.setattr(sampling, "LARGEST_TERMS", int((high - low + 1).sum()) - 1)
        with pytest.raises(ValueError, match="table terms"):
            sampling.refuse_large_tables(total, a)
        monkeypatch.undo()


@pytest.mark.parametrize("public", [{}, {"weights": [1.0, 2.0, 7.0, 0.5]}, {"steps": 5000}, {"mechanism": "laplace"}])
def test_invariant_bins_keep_their_counts_and_the_others_are_released_alone(public):
    x, free, epsilon = [4, 3, 9, 1], [0, 1, 3], 1.5
    given = {**public, "weights": np.take(public["weights"], free)} if "weights" in public else public
    for seed in range(20):
        made = boltzmann.privatize(x, epsilon=epsilon, total=17, bins=4, invariant={2: 9}, rng=seed, **public)
        alone = boltzmann.privatize(np.take(x, free), epsilon=epsilon, total=8, bins=3, rng=seed, **given)
        assert made.value.tolist() == np.insert(alone.value, 2, 9).tolist()
        assert (made.epsilon, made.delta, made.parameters) == (alone.epsilon, alone.delta, alone.parameters)
        assert made.statement.endswith("Bins [2] keep their counts [9], which are public.")


@pytest.mark.parametrize("invariant", [{4: 1}, {-1: 1}, {0: 1, 1: 0, 2: 0}, {2: 4}])
def test_invariant_bins_are_refused_before_the_histogram_is_read(invariant):
    with pytest.raises(ValueError, match=r"^invariant must"):
        boltzmann.privatize("not read", epsilon=1.0, total=4, bins=4, invariant=invariant)


def test_an_invariant_count_that_is_not_the_declared_one_is_refused_and_not_shown():
    with pytest.raises(ValueError, match="the invariant counts, as declared, got other ones, which are not shown"):
        boltzmann.privatize([2, 1, 1], epsilon=1.0, total=4, bins=3, invariant={0: 3})
    with pytest.raises(ValueError, match="one of a free bin positive"):
        boltzmann.privatize("not read", epsilon=1.0, total=4, bins=3, invariant={0: 1}, weights=[1, 0, 0])
