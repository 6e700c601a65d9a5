"""What noisy counts cost: against brute force over integers, many digits, and enumeration of what a unit can do."""

import math
from fractions import Fraction
from itertools import product

import mpmath as mp
import numpy as np
import pytest

from dpsim import accounting
from dpsim.accounting import GAUSSIAN, LAPLACE, Noise, Unit, units


def law(noise: Noise, reach: int) -> np.ndarray:
    """Return P(Z = -reach ... reach) of the noise."""
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(z) / noise.scale if noise.mechanism == LAPLACE else -0.5 * (z / noise.scale) ** 2)
    return weights / weights.sum()


def profile(noise: Noise, change: tuple[int, ...], epsilon: float, reach: int = 60) -> float:
    """Return delta(epsilon) of independent noises on cells that change by `change`, by brute force."""
    p = law(noise, reach)
    z = np.arange(-reach, reach + 1)
    losses, masses = np.zeros(1), np.ones(1)
    for v in change:
        logs = (
            (np.abs(z + v) - np.abs(z)) / noise.scale
            if noise.mechanism == LAPLACE
            else ((z + v) ** 2 - z**2) / (2 * noise.scale**2)
        )
        losses = (losses[:, None] + logs).ravel()
        masses = (masses[:, None] * p).ravel()
    return float((masses * np.maximum(-np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0)).sum())


def patterns(unit: Unit) -> list[tuple[int, ...]]:
    """Return every way in which a unit can spread its events over four pairs, two in each of two rows."""
    found = []
    for v in product(range(4), repeat=4):
        rows = [v[0] + v[1], v[2] + v[3]]
        if unit.events is not None:
            fits = sum(v) <= unit.events
        else:
            fits = max(rows) <= unit.events_per_row and sum(r > 0 for r in rows) <= unit.rows
        if fits and any(v):
            found.append(v)
    return found


UNITS = [Unit(), Unit(2, 1), Unit(1, 2), Unit(2, 2), Unit(events=3)]


@pytest.mark.parametrize("unit", UNITS)
def test_sensitivities_are_reached_and_never_exceeded(unit: Unit) -> None:
    first, squared = unit.sensitivities()
    assert max(sum(v) for v in patterns(unit)) == first
    assert max(sum(x * x for x in v) for v in patterns(unit)) == squared


@pytest.mark.parametrize("unit", UNITS)
def test_sensitivities_of_replacing_are_reached_and_never_exceeded(unit: Unit) -> None:
    first, squared = unit.sensitivities("replace")
    c, r = unit.most
    moves = [
        np.subtract(v, w)
        for v in patterns(unit)
        for w in patterns(unit)
        if v[0] + v[1] == w[0] + w[1] and v[2] + v[3] == w[2] + w[3]
    ]
    assert max(int(np.abs(d).sum()) for d in moves) == first == 2 * c * r
    assert max(int(d @ d) for d in moves) == squared


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.7])
def test_laplace_noise_loses_epsilon_and_one_less_would_not_do(unit: Unit, epsilon: float) -> None:
    first = unit.sensitivities()[0]
    noise = units.laplace_noise(epsilon, first)
    worst = max(sum(v) / noise.scale for v in patterns(unit))
    assert epsilon * (1 - 1e-9) < worst <= epsilon * (1 + 1e-15)
    if first > 1:
        assert max(sum(v) / units.laplace_noise(epsilon, first - 1).scale for v in patterns(unit)) > epsilon * 1.1


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1 / 3, 0.7, 1.0, math.pi, 745.0, 1e6])
@pytest.mark.parametrize("sensitivity", [1, 3, 10, 999_983])
def test_the_scale_is_the_least_double_that_keeps_epsilon_in_rational_arithmetic(
    epsilon: float, sensitivity: int
) -> None:
    noise = units.laplace_noise(epsilon, sensitivity)
    assert Fraction(sensitivity) / Fraction(noise.scale) <= Fraction(noise.epsilon) <= Fraction(epsilon)
    below = math.nextafter(noise.scale, 0.0)
    assert Fraction(sensitivity) / Fraction(below) > Fraction(epsilon)


@pytest.mark.parametrize("unit", [Unit(), Unit(2, 1), Unit(1, 2), Unit(events=2)])
def test_gaussian_noise_keeps_delta_for_every_pattern(unit: Unit) -> None:
    epsilon, delta = 1.0, 1e-3
    noise = units.gaussian_noise(epsilon, delta, unit.sensitivities()[1])
    assert noise.delta <= delta
    deltas = [profile(noise, tuple(x for x in v if x), epsilon) for v in patterns(unit)]
    assert max(deltas) <= noise.delta * (1 + 1e-12)


def test_gaussian_noise_for_one_less_would_leak() -> None:
    epsilon, delta = 1.0, 1e-3
    for unit, change in ((Unit(2, 1), (2,)), (Unit(events=3), (3,)), (Unit(1, 2), (1, 1))):
        squared = unit.sensitivities()[1]
        smaller = {4: 1, 9: 4, 2: 1}[squared]
        assert profile(units.gaussian_noise(epsilon, delta, smaller), change, epsilon) > delta


def test_one_cell_is_exact_and_several_are_the_renyi_bound() -> None:
    for sigma in (0.4, 1.0, 5.0, 40.0):
        noise = Noise(GAUSSIAN, sigma, 0.5, 0.0)
        exact = profile(noise, (1,), 0.5, reach=math.ceil(40 * sigma))
        assert units.gaussian_delta_bound(0.5, sigma, 1) == pytest.approx(exact, rel=1e-7)
        assert units.gaussian_delta_bound(0.5, sigma, 1) >= exact * (1 - 1e-12)
    with mp.workdps(30):
        for epsilon, sigma, squared in ((1.0, 5.0, 2), (0.01, 300.0, 9), (8.0, 3.0, 25)):
            rho = mp.mpf(squared) / (2 * mp.mpf(sigma) ** 2)

            def bound(a, rho=rho, epsilon=epsilon):  # type: ignore[no-untyped-def]
                return mp.exp((a - 1) * (a * rho - epsilon)) / (a - 1) * (1 - 1 / a) ** a

            grid = min(bound(1 + mp.mpf(10) ** (mp.mpf(i) / 40)) for i in range(-80, 120))
            ours = units.gaussian_delta_bound(epsilon, sigma, squared)
            assert 0.99 * float(min(grid, 1)) <= ours <= float(min(grid, 1)) * (1 + 1e-8)


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0, 17.0])
def test_tails_and_moments(mechanism: str, scale: float) -> None:
    noise = Noise(mechanism, scale, 1.0, 0.0)
    reach = math.ceil(60 * scale)
    p, z = law(noise, reach), np.arange(-reach, reach + 1)
    assert noise.mean_absolute == pytest.approx(float(p @ np.abs(z)), rel=1e-9)
    variance = float(p @ z**2)
    assert noise.variance == pytest.approx(variance, rel=1e-9) or variance <= noise.variance <= scale**2
    for least in range(1, math.ceil(8 * scale) + 2):
        exact = float(p[z >= least].sum())
        assert exact * (1 - 1e-9) <= math.exp(noise.log_tail(least))
        if mechanism == LAPLACE or scale >= 1.0:
            assert math.exp(noise.log_tail(least)) == pytest.approx(exact, rel=1e-6)


def test_the_far_tail_of_wide_gaussian_noise_is_bounded_by_its_integral() -> None:
    with mp.workdps(40):
        for sigma, least in ((20_000.0, 1), (20_000.0, 30_000), (1e6, 6_000_000)):
            start = mp.mpf(least - 1) / mp.mpf(sigma)
            exact = mp.erfc(start / mp.sqrt(2)) / 2  # of the continuous law from one step before: a little larger
            ours = mp.exp(mp.mpf(Noise(GAUSSIAN, sigma, 1.0, 0.0).log_tail(least)))
            below = mp.erfc(mp.mpf(least) / mp.mpf(sigma) / mp.sqrt(2)) / 2
            assert below * (1 - mp.mpf(1e-9)) <= ours <= exact * (1 + mp.mpf(2) / sigma)


# --- private pairs ----------------------------------------------------------------------------------------------------


def splits(total: int) -> list[tuple[int, ...]]:
    """Return every way to split at most `total` events into pairs of at least one."""
    found: list[tuple[int, ...]] = [()]
    frontier: list[tuple[int, ...]] = [()]
    while frontier:
        frontier = [(*s, v) for s in frontier for v in range(1, (s[-1] if s else total) + 1) if sum(s) + v <= total]
        found += frontier
    return found[1:]


def leaked(noise: Noise, split: tuple[int, ...], threshold: int) -> float:
    """Return the chance that one of the pairs that a unit alone has passes, by the laws summed."""
    reach = math.ceil(60 * noise.scale) + threshold
    p, z = law(noise, reach), np.arange(-reach, reach + 1)
    return 1.0 - math.prod(1.0 - float(p[z + v >= threshold].sum()) for v in split)


def test_the_known_threshold_and_its_leak_one_below() -> None:
    noise = units.laplace_noise(1.0, 2)
    threshold, spent = units.pair_threshold(noise, Unit(2, 1), 1e-3)
    assert threshold == 16
    assert spent <= 1e-3 < units.pair_delta(noise, Unit(2, 1), 15)
    assert leaked(noise, (1, 1), 15) == pytest.approx(1.135e-3, rel=1e-3)
    assert leaked(noise, (1, 1), 16) < 1e-3


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("unit", [Unit(), Unit(2, 1), Unit(4, 1), Unit(events=5), Unit(1, 3), Unit(2, 2)])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.4, 1e-3), (1.0, 0.02), (3.0, 1e-4)])
def test_thresholds_by_enumeration_of_every_split(mechanism: str, unit: Unit, epsilon: float, delta: float) -> None:
    noise = accounting.chosen_noise(epsilon, delta, unit, pairs=True, mechanism=mechanism)
    threshold, spent = units.pair_threshold(noise, unit, delta - noise.delta)
    c, r = unit.most
    rows = splits(c)
    worst = [sum(several, ()) for several in product(rows, repeat=r)] if unit.rows > 1 else rows
    found = max(leaked(noise, split, threshold) for split in worst)
    assert found <= spent <= (delta - noise.delta) * (1 + 1e-12)
    if threshold > c + 1:
        pairs = max(math.fsum(-math.expm1(math.log1p(-leaked(noise, (v,), threshold - 1))) for v in s) for s in worst)
        assert pairs > (delta - noise.delta) * (
            1 - 1e-6
        )  # one lower: the sum over the pairs of the worst split is above


def test_the_whole_law_of_private_pairs_keeps_its_statement() -> None:
    """A pair that both tables have and one that x alone has, outputs enumerated: epsilon and delta, both ways."""
    for mechanism, unit in ((LAPLACE, Unit(2, 1)), (GAUSSIAN, Unit(2, 1)), (LAPLACE, Unit(events=2))):
        epsilon, delta = 1.0, 0.05
        noise = accounting.chosen_noise(epsilon, delta, unit, pairs=True, mechanism=mechanism)
        threshold, spent = units.pair_threshold(noise, unit, delta - noise.delta)
        reach = math.ceil(50 * noise.scale) + threshold
        values = np.arange(threshold, threshold + reach)

        def output(count: int, noise=noise, reach=reach, values=values) -> np.ndarray:  # type: ignore[no-untyped-def]
            """Return P(absent), then P(each released value)."""
            if count == 0:
                return np.append(1.0, np.zeros(values.size))
            p = law(noise, 2 * reach)
            shown = p[np.clip(values - count + 2 * reach, 0, 4 * reach)]
            return np.append(1.0 - shown.sum(), shown)

        for common, one, new in ((threshold, 1, 1), (threshold, 2, 0), (3, 0, 2), (1, 1, 1)):
            x = np.outer(output(common + one), output(new))
            y = np.outer(output(common), output(0))
            for p, q in ((x, y), (y, x)):
                assert np.maximum(p - math.exp(epsilon) * q, 0.0).sum() <= noise.delta + spent + 1e-12


# --- the choice -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [Unit(), Unit(2, 5), Unit(20, 3), Unit(1, 200), Unit(events=40)])
@pytest.mark.parametrize("adjacency", units.ADJACENCIES)
def test_the_smaller_expected_error_is_chosen(unit: Unit, adjacency: str) -> None:
    both = [
        accounting.chosen_noise(1.0, 1e-6, unit, adjacency=adjacency, mechanism=mechanism)
        for mechanism in (LAPLACE, GAUSSIAN)
    ]
    chosen = accounting.chosen_noise(1.0, 1e-6, unit, adjacency=adjacency)
    assert chosen == min(both, key=lambda noise: noise.mean_absolute)
    assert accounting.chosen_noise(1.0, 0.0, unit, adjacency=adjacency).mechanism == LAPLACE


def test_gaussian_noise_is_chosen_for_a_unit_that_touches_many_pairs() -> None:
    assert accounting.chosen_noise(1.0, 1e-6, Unit(1, 200)).mechanism == GAUSSIAN
    assert accounting.chosen_noise(1.0, 1e-6, Unit(events=200)).mechanism == LAPLACE


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Unit(0, 1), "events_per_row must be an integer from 1"),
        (lambda: Unit(1, 0), "rows must be an integer from 1"),
        (lambda: Unit(events=0), "events must be an integer from 1"),
        (lambda: Unit(2, 1, events=3), "events must stand alone"),
        (lambda: Unit().sensitivities("other"), "adjacency must be one of"),
        (lambda: accounting.chosen_noise(0, 0.1), "epsilon must be in [1e-06, 1e+06], got 0"),
        (lambda: accounting.chosen_noise(1, 1), "delta must be in [0, 1), got 1"),
        (lambda: accounting.chosen_noise(1, 0, mechanism=GAUSSIAN), "delta must be in (0, 1) for discrete Gaussian"),
        (lambda: accounting.chosen_noise(1, 0, mechanism="normal"), "mechanism must be one of"),
        (lambda: accounting.gaussian_noise(1, 0.0, 1), "delta must be in (0, 1), got 0"),
        (lambda: accounting.pair_delta(accounting.laplace_noise(1, 2), Unit(2, 1), 2), "threshold must be an integer"),
        (lambda: accounting.pair_threshold(accounting.laplace_noise(1, 2), Unit(2, 1), 0), "delta must be in (0, 1)"),
    ],
)
def test_refusals(call: object, words: str) -> None:
    with pytest.raises(ValueError) as refusal:
        call()  # type: ignore[operator]
    assert words in str(refusal.value)
