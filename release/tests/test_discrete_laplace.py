"""What noisy counts cost a unit: against brute force over integers, and enumeration of
what a unit can do.
"""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpsim_release import Counts, all_pairs, chain, noisy_counts
from dpsim_release.discrete_laplace import (
    Noise,
    laplace_noise,
    pair_delta,
    pair_threshold,
)
from dpsim_release.unit import Unit


def law(noise: Noise, reach: int) -> np.ndarray:
    """Return P(Z = -reach ... reach) of the noise."""
    weights = np.exp(-np.abs(np.arange(-reach, reach + 1)) / noise.scale)
    return weights / weights.sum()


def test_a_threshold_is_above_the_events_of_a_unit_at_any_delta() -> None:
    """Otherwise a pair with all of a unit's events would pass with a probability that
    nothing here bounds.
    """
    for events in (1, 5):
        assert (
            pair_threshold(laplace_noise(events, events), events, 0.99)[0] == events + 1
        )


@pytest.mark.parametrize("events", [1, 2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.7])
def test_noise_loses_epsilon_whatever_a_unit_does_and_one_event_less_would_not_do(
    events: int, epsilon: float
) -> None:
    """Every way to have up to so many events on three pairs, each with the law of its
    noise.
    """
    noise = laplace_noise(epsilon, events)
    less = laplace_noise(epsilon, max(events - 1, 1))
    patterns = [v for v in product(range(events + 1), repeat=3) if 0 < sum(v) <= events]

    def loss(v: tuple[int, ...], scale: float) -> float:
        p = [
            law(Noise(scale, 0.0), 60)[[60 + k, 60]] for k in (-x for x in v)
        ]  # below both, most telling
        return float(sum(math.log(at_zero / moved) for moved, at_zero in p))

    worst = max(loss(v, noise.scale) for v in patterns)
    assert epsilon * (1 - 1e-9) < worst <= epsilon * (1 + 1e-9)
    if events > 1:
        assert max(loss(v, less.scale) for v in patterns) > epsilon * 1.1


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1 / 3, 0.7, 1.0, math.pi, 745.0, 1e6])
@pytest.mark.parametrize("events", [1, 3, 10, 999_983])
def test_the_scale_is_the_least_double_that_keeps_epsilon_in_rational_arithmetic(
    epsilon: float, events: int
) -> None:
    noise = laplace_noise(epsilon, events)
    assert (
        Fraction(events) / Fraction(noise.scale)
        <= Fraction(noise.epsilon)
        <= Fraction(epsilon)
    )
    below = math.nextafter(noise.scale, 0.0)
    assert Fraction(events) / Fraction(below) > Fraction(epsilon)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0, 17.0])
def test_tails_and_moments(scale: float) -> None:
    noise = Noise(scale, 1.0)
    reach = math.ceil(60 * scale)
    p = law(noise, reach)
    z = np.arange(-reach, reach + 1)
    assert noise.mean_absolute == pytest.approx(float(p @ np.abs(z)), rel=1e-9)
    assert noise.variance == pytest.approx(float(p @ z**2), rel=1e-9)
    for least in range(1, math.ceil(8 * scale) + 2):
        assert math.exp(noise.log_tail(least)) == pytest.approx(
            float(p[z >= least].sum()), rel=1e-6
        )


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1 / 3, math.pi, 745.0, 1e6])
@pytest.mark.parametrize("events", [1, 3, 999_983])
def test_a_sampler_that_loses_more_than_is_stated_draws_nothing(
    monkeypatch: pytest.MonkeyPatch, epsilon: float, events: int
) -> None:
    """OpenDP's own account of its sampler: a scale that is smaller by 7e-9, or by one
    rounding, is refused.
    """
    import opendp.prelude as dp

    noise = laplace_noise(epsilon, events)
    assert noisy_counts([3, 0], noise, events=events).size == 2
    less = [noise.scale * (1.0 - 7e-9), math.nextafter(noise.scale, 0.0)]
    for scale in less:
        with pytest.raises(ValueError, match=r"noise must have an epsilon of at most"):
            noisy_counts([3, 0], Noise(scale, noise.epsilon), events=events)
    make = dp.m.make_laplace
    monkeypatch.setattr(
        dp.m, "make_laplace", lambda *of, scale: make(*of, scale=scale * (1.0 - 7e-9))
    )
    with pytest.raises(ValueError, match=r"noise must have an epsilon of at most"):
        noisy_counts([3, 0], noise, events=events)


def test_a_release_tells_the_sampler_the_events_of_its_unit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Noise that is enough for one event is refused where a unit has three."""
    ends = pd.DataFrame(
        {"origin": ["a", "b"], "destination": ["b", "a"], "trips": [50, 40]}
    )
    monkeypatch.setattr(
        chain, "laplace_noise", lambda epsilon, events: laplace_noise(epsilon, 1)
    )
    for support in (all_pairs(["a", "b"]), None):
        with pytest.raises(ValueError, match="for 3 events, got 3"):
            chain.release_chain(
                Counts(ends, Unit(3, "who")), epsilon=1.0, delta=0.1, support=support
            )


# --- private pairs --------------------------------------------------------------------


def splits(total: int) -> list[tuple[int, ...]]:
    """Return every way to split at most `total` events into pairs of at least one."""
    found: list[tuple[int, ...]] = [()]
    frontier: list[tuple[int, ...]] = [()]
    while frontier:
        frontier = [
            (*s, v)
            for s in frontier
            for v in range(1, (s[-1] if s else total) + 1)
            if sum(s) + v <= total
        ]
        found += frontier
    return found[1:]


def passing(noise: Noise, events: int, threshold: int) -> float:
    """Return the chance that a pair of so many events passes, by the law summed."""
    reach = math.ceil(60 * noise.scale) + threshold
    return float(
        law(noise, reach)[np.arange(-reach, reach + 1) + events >= threshold].sum()
    )


def leaked(noise: Noise, split: tuple[int, ...], threshold: int) -> float:
    """Return the chance that one of the pairs that a unit alone has passes."""
    return 1.0 - math.prod(1.0 - passing(noise, v, threshold) for v in split)


@pytest.mark.parametrize("events", [1, 2, 4, 5, 7])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.4, 1e-3), (1.0, 0.02), (3.0, 1e-4), (8.0, 1e-6)]
)
def test_thresholds_by_enumeration_of_every_split(
    events: int, epsilon: float, delta: float
) -> None:
    """Every split of a unit's events into pairs: with many events of little noise, one
    pair of all is the worst.
    """
    noise = laplace_noise(epsilon, events)
    threshold, spent = pair_threshold(noise, events, delta)
    assert (
        max(leaked(noise, split, threshold) for split in splits(events))
        <= spent
        <= delta
    )
    for tau in (threshold - 1, threshold, threshold + 1):
        if tau > events:
            worst = max(
                sum(passing(noise, v, tau) for v in split) for split in splits(events)
            )
            assert pair_delta(noise, events, tau) == pytest.approx(
                worst, rel=1e-6
            )  # no looser than the worst split
            assert (worst > delta) == (tau < threshold)


@pytest.mark.parametrize("events", [1, 2, 3])
def test_the_whole_law_of_private_pairs_keeps_its_statement(events: int) -> None:
    """A pair that both tables have and one that x alone has, outputs enumerated:
    epsilon and delta, both ways.
    """
    epsilon, delta = 1.0, 0.05
    noise = laplace_noise(epsilon, events)
    threshold, spent = pair_threshold(noise, events, delta)
    reach = math.ceil(50 * noise.scale) + threshold
    values = np.arange(threshold, threshold + reach)
    p = law(noise, 2 * reach)

    def output(count: int) -> np.ndarray:
        """Return P(absent), then P(each released value)."""
        if count == 0:
            return np.append(1.0, np.zeros(values.size))
        shown = p[np.clip(values - count + 2 * reach, 0, 4 * reach)]
        return np.append(1.0 - shown.sum(), shown)

    for new in range(events + 1):
        for common in (threshold, 3, 1):
            x = np.outer(output(common + events - new), output(new))
            y = np.outer(output(common), output(0))
            for one, other in ((x, y), (y, x)):
                assert (
                    np.maximum(one - math.exp(epsilon) * other, 0.0).sum()
                    <= spent + 1e-12
                )


# --- units ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "unit", [(0,), (10**6 + 1, "user"), (True, "user"), (2,), (2, "")]
)
def test_refusals(unit: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="column" if unit[0] == 2 else "events"):
        Unit(*unit)
