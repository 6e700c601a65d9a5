"""boltzmann.privatize: the law of its release, invariant bins, and what is public."""

import itertools

import mpmath
import numpy as np
import pytest
from chi_square import p_value

from dpsim import boltzmann
from dpsim.boltzmann import mixing, private_histogram, sampling, zero_sum_noise
from dpsim.numerics import exact_draws

MACHINE = {"mechanism": "boltzmann"}
CASES = [
    (5, 3),
    (4, 4),
    (1, 2),
    (7, 2),
]


def moves(x):
    """The histograms after one person moved."""
    for i, j in itertools.permutations(range(len(x)), 2):
        if x[i]:
            y = np.array(x)
            y[i] -= 1
            y[j] += 1
            yield tuple(y.tolist())


@pytest.mark.parametrize(("total", "bins"), CASES)
def test_the_release_spends_at_most_what_it_says(total, bins):
    public = {"total": total, "bins": bins, **MACHINE}
    space = [tuple(z) for z in boltzmann.configurations(total, bins).tolist()]
    for epsilon in (0.2, 1.0, 6.0):
        release = boltzmann.privatize(space[0], epsilon=epsilon, rng=1, **public)
        t = release.parameters["t"]
        laws = {x: boltzmann.log_stationary(x, t) for x in space}
        spent = max((laws[x] - laws[y]).max() for x in space for y in moves(x))
        assert spent <= release.epsilon * (1 + 1e-12) and release.epsilon <= epsilon
        if total == 1:  # there the bound is attained: a sensitivity one too small fails
            assert spent == pytest.approx(epsilon, rel=1e-12)
        assert t == pytest.approx((4 * total - 2) / epsilon, rel=1e-12)
        assert release.epsilon == pytest.approx(epsilon, rel=1e-12)
        assert (
            f"epsilon {release.epsilon!r} (a proven upper bound), "
            f"delta {release.delta!r} (a" in release.statement
        )
        assert 0.0 < release.delta < 1e-10, "the rounding of the draws"


def test_no_rounding_of_the_temperature_spends_more_than_epsilon():
    for epsilon in np.random.default_rng(3).uniform(0.1, 10.0, 80):
        release = boltzmann.privatize(
            [2, 1, 0],
            epsilon=epsilon,
            total=3,
            bins=3,
            rng=1,
            **MACHINE,
        )
        assert release.epsilon <= epsilon < release.epsilon * (1 + 1e-12)


@pytest.mark.parametrize("mechanism", ["boltzmann", "laplace"])
def test_the_release_has_the_law_of_its_mechanism(mechanism):
    x, total, epsilon, drawn = (2, 0, 1), 3, 1.5, 20_000
    public = {"epsilon": epsilon, "total": total, "bins": 3, "mechanism": mechanism}

    def sampled(rng):
        if mechanism == "boltzmann":
            return sampling.draw_limit(np.array(x), epsilon / 10, 100.0, rng)
        noise = zero_sum_noise.one_zero_sum_laplace(3, epsilon, rng)
        return boltzmann.nearest_histogram(x + noise, total, rng=rng)

    for seed in range(50):  # a release is one draw of what is counted below
        one = sampled(np.random.default_rng(seed))
        np.testing.assert_array_equal(
            boltzmann.privatize(x, **public, rng=seed).value, one
        )
    rng = np.random.default_rng(7)
    made = np.array([sampled(rng) for _ in range(drawn)])
    seen = np.bincount(boltzmann.configuration_index(made, total), minlength=10)
    law = (
        np.exp(boltzmann.log_stationary(x, 10 / epsilon))
        if mechanism == "boltzmann"
        else projected(x, epsilon)
    )
    assert p_value(seen, law) > 1e-6


def test_the_release_after_k_steps_is_the_chain_from_the_histogram():
    x = (2, 0, 1)
    public = {"epsilon": 1.0, "total": 3, "bins": 3, "steps": 200, **MACHINE}
    for seed in range(50):
        made = boltzmann.privatize(x, **public, rng=seed)
        assert (made.value == boltzmann.metropolis(x, 10.0, 200, rng=seed)[0]).all()
    assert made.parameters == {"t": 10.0, "steps": 200}
    mixed = float(boltzmann.mixing_bound(3, 3, 10.0, 200, 1.0))
    rounding = 2.0 * 200 * sampling.step_error(3, 1.0)
    assert mixed + rounding < made.delta < mixed + 1.01 * rounding < 1
    assert (
        f"delta {made.delta!r} (a proven upper bound), "
        "by the Metropolis chain at t 10.0 after 200" in made.statement
    )


@pytest.mark.parametrize(("total", "bins"), [(1, 2), (3, 2), (3, 3), (6, 3), (3, 4)])
def test_the_delta_of_k_steps_covers_what_they_spend(total, bins):
    for epsilon in (0.5, 4.0, 12.0):
        t = boltzmann.epsilon_bound(total, bins, 1.0) / epsilon
        steps = np.unique(np.geomspace(1, 400, 12).astype(int))
        exact = boltzmann.mixing_delta(total, bins, t, steps.tolist(), epsilon=epsilon)
        bound = boltzmann.mixing_bound(total, bins, t, steps, epsilon)
        assert (exact <= bound + 1e-15).all()
        enough = mixing.enough_steps(total, bins, t, epsilon, 0.9)
        release = boltzmann.privatize(
            [total] + [0] * (bins - 1),
            epsilon=epsilon,
            total=total,
            bins=bins,
            steps=enough,
            **MACHINE,
        )
        assert release.delta <= 0.9 * (1 + 1e-9)
        with pytest.raises(ValueError, match=r"^steps must be so many"):
            boltzmann.privatize(
                [total] + [0] * (bins - 1),
                epsilon=epsilon,
                total=total,
                bins=bins,
                steps=0,
                **MACHINE,
            )


def lattice(reach, bins):
    """All integer vectors of sum 0 whose entries but the last are within the reach."""
    head = np.array(list(itertools.product(range(-reach, reach + 1), repeat=bins - 1)))
    return np.column_stack([head, -head.sum(axis=1)])


def projected(x, epsilon, reach=40):
    """The law of projected zero-sum noise, by enumeration; ties count in shares."""
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
    right, wrong = (
        np.exp(-factor * epsilon * np.abs(support).sum(axis=1) / 2)
        for factor in (1.0, 1.05)
    )
    assert p_value(observed, right) > 1e-6 > p_value(observed, wrong)


def test_refusals_of_public_arguments_come_first_and_the_value_is_not_told():
    good = {"epsilon": 1.0, "total": 4, "bins": 3}
    kinds = (
        {"steps": 9, "mechanism": "laplace"},
        {"steps": 9},
        {"steps": -1, **MACHINE},
        {"steps": 3, **MACHINE},
        {"mechanism": "other"},
    )
    for bad in ({"epsilon": 0.0}, {"total": 0}, {"bins": 1}, *kinds):
        with pytest.raises(ValueError, match=next(iter(bad))):
            boltzmann.privatize("not read", **{**good, **bad})
    for bad in ([4, 0], [3, 3, 3], [[4, 0, 0]]):
        with pytest.raises(
            ValueError, match="histogram must have 3 bins, the total 4 and the inv"
        ):
            boltzmann.privatize(bad, **good)
    for name in good:
        with pytest.raises(TypeError, match="required keyword-only"):
            boltzmann.privatize(
                [4, 0, 0], **{k: v for k, v in good.items() if k != name}
            )
    with pytest.raises(ValueError, match="at most 20000000 table terms"):
        boltzmann.privatize(
            "not read", epsilon=1e-6, total=10**9, bins=100, mechanism="boltzmann"
        )
    with pytest.raises(
        ValueError, match="bins must be an integer from 2 to 100000, got 1000000000"
    ):
        boltzmann.privatize("not read", epsilon=1.0, total=10**9, bins=10**9)
    with pytest.raises(ValueError, match=r"epsilon must be in \[1e-06, 1000\]"):
        boltzmann.privatize("not read", epsilon=1e-7, total=4, bins=3)


def test_the_statement_names_the_mechanism():
    public = {"epsilon": 1.0, "total": 4, "bins": 3, "rng": 1}
    asked = ({}, MACHINE, {**MACHINE, "steps": 500})
    names = [
        boltzmann.privatize([4, 0, 0], **public, **extra).statement for extra in asked
    ]
    assert ["Laplace" in name for name in names] == [True, False, False]
    assert ["chain at t" in name for name in names] == [False, False, True]


def test_one_large_bin_is_no_obstacle():
    """Its noisy count may exceed the largest total."""
    for x in ([10**9 - 5, 5, 0], [10**9, 0, 0]):
        for epsilon in (1e-6, 1.0):
            for _ in range(20):
                made = boltzmann.privatize(x, epsilon=epsilon, total=10**9, bins=3)
                assert made.value.sum() == 10**9 and made.value.min() >= 0


class Bits:
    """A generator that gives these multiples of 2^-53, and then always one half."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def random(self):
        return (self.numbers.pop(0) if self.numbers else 2**52) * 2.0**-53


def interpreted(monkeypatch):
    """Run the draws without numba, which knows no generator but NumPy's."""
    for name in ("happens", "survives", "descend"):
        monkeypatch.setattr(exact_draws, name, getattr(exact_draws, name).py_func)
    for module in (sampling, zero_sum_noise):
        for name in (
            "happens",
            "survives",
            "descend",
            "_geometric",
            "_fill_zero_sum",
            "_draw_bins",
        ):
            if hasattr(module, name):
                plain = (
                    getattr(exact_draws, name, None) or getattr(module, name).py_func
                )
                monkeypatch.setattr(module, name, plain)


@pytest.mark.parametrize("epsilon", [75.0, 300.0, 1000.0])
def test_noise_is_drawn_at_any_epsilon(epsilon, monkeypatch):
    """A move of one person has the probability e^-epsilon, and still happens."""
    interpreted(monkeypatch)
    assert zero_sum_noise.one_zero_sum_laplace(2, epsilon, Bits()).tolist() == [0, 0]
    rare = [0] * (
        int(epsilon / 2 / np.log(2) / 53) + 1
    )  # so many bits decide for e^(-epsilon / 2)
    moved = zero_sum_noise.one_zero_sum_laplace(
        2, epsilon, Bits(*rare, *[2**52] * 3, *rare)
    )
    assert moved.tolist() == [1, -1]
    logs = np.array([0.0, -float(epsilon)])
    assert exact_draws.descend(Bits(), exact_draws.weight_tree(logs)) == 0
    assert exact_draws.descend(Bits(*[0] * 30), exact_draws.weight_tree(logs)) == 1


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.7, 20.0, 128.0, 1000.0])
def test_the_noise_spends_no_more_than_its_margin(epsilon):
    """The ratio of the probabilities of neighbouring numbers, in 40 digits."""
    half = epsilon / 2.0
    part = max(1, int(zero_sum_noise.PART / half))
    digits = part.bit_length()
    worst = mpmath.mpf(0)
    with mpmath.workdps(40):
        q = mpmath.exp(-mpmath.mpf(epsilon) / 2)
        ys = [half * 2.0**j for j in range(digits)]
        ones = [
            mpmath.mpf(float(np.exp(-y) / (1.0 + np.exp(-y)))) for y in ys if y < 700.0
        ]
        again = mpmath.exp(-mpmath.mpf(half * 2.0**digits))
        assert (len(ones) == digits and half * 2.0**digits > 64.0) or digits == 1

        def law(g):
            chosen = [one if g >> j & 1 else 1 - one for j, one in enumerate(ones)]
            return mpmath.fprod(chosen) * again ** (g >> digits)

        for g in {0, 1, 2, 5, *(2**j - 1 for j in range(1, digits + 2))}:
            worst = max(worst, abs(mpmath.log(law(g + 1) / law(g) / q)))
    assert worst < 549 * 2.0**-53 < zero_sum_noise.ROUNDING / 4


def test_what_the_limit_leaves_out_and_rounds_is_bounded():
    """The law of draw_limit on all histograms, in 40 digits, against the exact law."""
    rng = np.random.default_rng(4)
    for total, bins in ((3, 2), (6, 3), (5, 4)):
        for t in (0.5, 8.0, 300.0):
            a = 1.0 / t
            for x in (
                [total] + [0] * (bins - 1),
                rng.multinomial(total, np.full(bins, 1 / bins)),
            ):
                x = np.array(x)
                cut, error = sampling.limit_error(total, bins, a, -5.0)
                tilt = sampling.find_tilt(x, a, total)
                assert abs(tilt) <= sampling.largest_tilt(total, bins, a)
                mode, low, high = sampling.likely_windows(x, a, tilt, total, cut)
                space = boltzmann.configurations(total, bins)
                inside = ((space >= low) & (space <= high)).all(axis=1)
                exact = np.exp(-(a * (space - x) ** 2).sum(axis=1))
                assert exact[~inside].sum() / exact.sum() <= np.exp(-5.0)
                drawn = sampling.log_weights(space, mode, x, a, tilt).sum(axis=1)
                with mpmath.workdps(40):
                    apart = []
                    for z, found in zip(space.tolist(), drawn.tolist()):
                        terms = [
                            mpmath.mpf(a) * (k - int(each)) ** 2
                            for k, each in zip(z, x)
                        ]
                        apart.append(float(mpmath.mpf(found) + mpmath.fsum(terms)))
                assert np.ptp(apart) <= error


def test_the_cut_of_exact_draws_is_where_they_say():
    """`sample_exact` leaves out terms below e^-100, and no others."""
    x = np.array([400, 300, 300])
    total = 1000
    _, low, high = sampling.likely_windows(x, 1e-2, 0.0, total)
    for end, beyond in ((low, low - 1), (high, high + 1)):
        assert (0.01 * (beyond - x) ** 2 >= 100.0 - 1e-9).all() and (
            0.01 * (end - x) ** 2 > 95.0
        ).all()


def test_the_rounding_counts_as_delta():
    for total, bins, least, most in ((50, 3, 1e-12, 1e-10), (10**6, 3, 1e-10, 1e-8)):
        counts = [total] + [0] * (bins - 1)
        made = boltzmann.privatize(
            counts, epsilon=1.0, total=total, bins=bins, mechanism="boltzmann"
        )
        assert least < made.delta < most and repr(made.delta) in made.statement
    assert private_histogram.rounding_delta(1e-12, 0.0) >= 1e-12


def test_no_histogram_needs_more_table_terms_than_were_foreseen(monkeypatch):
    rng = np.random.default_rng(9)
    for _ in range(200):
        x = rng.multinomial(int(rng.integers(1, 300)), rng.dirichlet(np.full(4, 0.3)))
        a = 10.0 ** rng.uniform(-4, 2.5)
        total = int(x.sum())
        mode, low, high = sampling.likely_windows(
            x, a, sampling.find_tilt(x, a, total), total
        )
        assert ((low >= 0) & (low <= mode) & (mode <= high) & (high <= total)).all()
        monkeypatch.setattr(sampling, "LARGEST_TERMS", int((high - low + 1).sum()) - 1)
        with pytest.raises(ValueError, match="table terms"):
            sampling.refuse_large_tables(total, 4, a)
        monkeypatch.undo()


@pytest.mark.parametrize(
    "public",
    [
        {},
        {"steps": 5000, **MACHINE},
        MACHINE,
    ],
)
def test_invariant_bins_keep_their_counts_and_the_others_are_released_alone(public):
    x = [4, 3, 9, 1]
    free = [0, 1, 3]
    epsilon = 1.5
    for seed in range(20):
        made = boltzmann.privatize(
            x, epsilon=epsilon, total=17, bins=4, invariant={2: 9}, rng=seed, **public
        )
        alone = boltzmann.privatize(
            np.take(x, free), epsilon=epsilon, total=8, bins=3, rng=seed, **public
        )
        assert made.value.tolist() == np.insert(alone.value, 2, 9).tolist()
        assert (made.epsilon, made.delta, made.parameters) == (
            alone.epsilon,
            alone.delta,
            alone.parameters,
        )
        assert made.statement.endswith(
            "Bins [2] keep their counts [9], which are public."
        )


@pytest.mark.parametrize("invariant", [{4: 1}, {-1: 1}, {0: 1, 1: 0, 2: 0}, {2: 4}])
def test_invariant_bins_are_refused_before_the_histogram_is_read(invariant):
    with pytest.raises(ValueError, match=r"^invariant must"):
        boltzmann.privatize(
            "not read", epsilon=1.0, total=4, bins=4, invariant=invariant
        )


def test_an_invariant_count_that_is_not_the_declared_one_is_refused_and_not_shown():
    with pytest.raises(
        ValueError,
        match="the invariant counts, as declared, got other ones, which are not shown",
    ):
        boltzmann.privatize([2, 1, 1], epsilon=1.0, total=4, bins=3, invariant={0: 3})
