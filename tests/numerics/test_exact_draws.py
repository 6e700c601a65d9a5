"""Draws of improbable events: the first bits that leave a comparison open, and the
errors of a tree's branches."""

import mpmath
import numpy as np
import pytest

from dpsim.numerics import exact_draws

HAPPENS = exact_draws.happens.py_func
SURVIVES = exact_draws.survives.py_func
PLAIN = np.random.default_rng(3).random(2000)


@pytest.fixture
def interpreted(monkeypatch):
    """The functions without numba, which knows no generator but NumPy's."""
    monkeypatch.setattr(exact_draws, "happens", HAPPENS)


class Bits:
    """A generator that gives these multiples of 2^-53 one after another."""

    def __init__(self, *numbers):
        self.numbers = iter(numbers)

    def random(self):
        return next(self.numbers) * 2.0**-53


@pytest.mark.parametrize("p", [0.0, 2.0**-60, 1e-3, 0.3, 0.5, 1.0 - 2.0**-53, 1.0])
def test_the_first_bits_decide_as_a_comparison_does(p):
    for u in PLAIN[:200]:
        assert HAPPENS(Bits(u * 2.0**53), p) == (u < p)


def test_bits_that_leave_it_open_are_followed_by_others():
    p = 0.75 * 2.0**-53
    assert not HAPPENS(Bits(1), p) and not HAPPENS(Bits(0, 3 * 2**51), p)
    assert HAPPENS(Bits(0, 3 * 2**51 - 1), p)
    tiny = 2.0**-160
    assert HAPPENS(Bits(0, 0, 0, 0), tiny * 0.5) and not HAPPENS(
        Bits(0, 0, 1), tiny * 0.5
    )
    assert HAPPENS(Bits(2**53 - 1), 0.5, True) and not HAPPENS(Bits(0), 0.5, True)


@pytest.mark.parametrize("y", [1e-300, 1e-9, 0.3, 0.5, 2.0, 30.0])
def test_what_survives_is_below_its_exponential(y, interpreted):
    for u in PLAIN:
        assert SURVIVES(Bits(u * 2.0**53), y) == (u < np.exp(-y))


def test_the_failure_of_a_small_exponent_is_not_rounded_away(interpreted):
    """1 - e^-y = 1e-300 is drawn, although e^-y is 1 in floats."""
    largest = 2**53 - 1
    assert not SURVIVES(Bits(*[largest] * 20), 1e-300)
    assert SURVIVES(Bits(*[largest] * 18, 0), 1e-300)


def test_large_exponents_survive_in_parts(interpreted):
    assert SURVIVES(Bits(*[0] * 60), 1500.0) and not SURVIVES(
        Bits(*[0] * 40, *[2**52] * 20), 1500.0
    )


@pytest.mark.parametrize("spread", [1.0, 40.0, 1000.0])
@pytest.mark.parametrize("leaves", [1, 2, 7, 100, 1000])
def test_the_probability_of_each_leaf_is_right_to_the_stated_error(leaves, spread):
    """Each branch of the tree in 40 digits, against the exact share of the leaf."""
    logs = -np.random.default_rng(leaves).uniform(0.0, spread, leaves)
    logs -= logs.max()
    tree = exact_draws.weight_tree(logs)
    first = 1 << (leaves - 1).bit_length()
    bound = exact_draws.relative_error(leaves, spread)
    with mpmath.workdps(40):
        total = mpmath.fsum(mpmath.exp(mpmath.mpf(each)) for each in logs.tolist())
        for leaf in np.linspace(0, leaves - 1, min(leaves, 12)).astype(int).tolist():
            node = first + leaf
            found = mpmath.mpf(1)
            while node > 1:
                apart = (
                    abs(float(tree[node]) - float(tree[node ^ 1]))
                    if tree[node ^ 1] > -np.inf
                    else np.inf
                )
                small = (
                    mpmath.exp(-mpmath.mpf(apart + np.log1p(np.exp(-apart))))
                    if apart < np.inf
                    else mpmath.mpf(0)
                )
                left = node - node % 2
                smaller = left if tree[left] <= tree[left + 1] else left + 1
                found *= small if node == smaller else 1 - small
                node //= 2
            exact = mpmath.exp(mpmath.mpf(float(logs[leaf]))) / total
            assert abs(found / exact - 1) <= bound
    assert (leaves == 1) == (bound == 0.0) and bound < 1e-10


def test_the_leaves_are_drawn_in_proportion():
    logs = np.log([1.0, 2.0, 3.0, 4.0, 0.5])
    rng = np.random.default_rng(8)
    seen = np.bincount(
        [exact_draws.draw_index(rng, logs) for _ in range(20_000)], minlength=5
    )
    expected = 20_000 * np.exp(logs) / np.exp(logs).sum()
    assert (((seen - expected) ** 2 / expected).sum()) < 30.0
