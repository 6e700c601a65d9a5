"""Words: brute force over all words, all subsets and all orders; mpmath; linear programming; chi-square."""

import functools
import itertools
import math

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, linprog
from scipy.stats import chi2

from dpsim import datasets
from dpsim.words import (
    HammingAutomaton,
    alphabet_counts,
    chain_counts,
    draw_distances,
    exact_epsilon,
    exact_word_epsilon,
    expected_error,
    expected_error_bounds,
    expected_error_floor,
    least_expected_error,
    least_mean_error,
    reduction_limit,
)
from dpsim.words.automaton import log_integers
from dpsim.words.laws import MECHANISMS, Law, _mean, _pmf, best_offset, drawn, log_integrals
from dpsim.words.laws import pmf as permute_and_flip_pmf
from dpsim.words.normaliser_bound import NormaliserRatio, _side, normaliser_ratio
from dpsim.words.space import successors, word_space

exponential_pmf = functools.partial(permute_and_flip_pmf, mechanism="exponential")

FOUR = np.array([[0, 1, 1, 0], [1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 1, 1]], dtype=float)
RING = np.roll(np.eye(5), 1, axis=1) + np.roll(np.eye(5), -1, axis=1)
TRAP = np.array([[0, 1, 1], [0, 1, 0], [1, 1, 1]], dtype=float)

SPACES = {
    "binary": ((0, 1, 1, 0), {"letters": 2}),
    "labels": ("abc", {"letters": "abc"}),
    "four letters": ((3, 0, 2), {"letters": 4}),
    "four states": ((1, 2, 3), {"adjacency": FOUR, "start": 0}),
    "ring": ((1, 2, 3, 2), {"adjacency": RING, "start": 0}),
    "sparse": ((1, 0, 4), {"adjacency": sp.csr_array(RING), "start": 0}),
    "trap": ((2, 2, 0, 1), {"adjacency": TRAP, "start": 0}),
    "named states": (("z", "y"), {"adjacency": TRAP, "start": "x", "letters": ["x", "y", "z"]}),
}

SIGNIFICANCE = 1e-6


def feasible_words(word, letters=None, adjacency=None, start=None):
    """All feasible words of the same length, by enumeration of all words."""
    matrix = None if adjacency is None else sp.csr_array(adjacency).toarray()
    labels = range(len(matrix)) if letters is None else letters
    labels = list(range(labels)) if isinstance(labels, int) else list(labels)
    for candidate in itertools.product(labels, repeat=len(word)):
        path = [] if matrix is None else [labels.index(x) for x in (start, *candidate)]
        if all(matrix[a, b] for a, b in itertools.pairwise(path)):
            yield candidate


def log_word_probability(counts, epsilon, b=1, *, mechanism="permute-and-flip", offset=0):
    """log f from counts, as the laws have it."""
    return Law(mechanism, epsilon, b, offset or 0).log_f(log_integers(np.asarray(counts)))


def plain_permute_and_flip(distances, rate, rng):
    """The index of a word drawn by permutations and flips, as the paper has it."""
    for index in rng.permutation(len(distances)):
        if rng.random() < math.exp(-rate * distances[index]):
            return int(index)


def distance(a, b):
    return sum(x != y for x, y in zip(a, b, strict=True))


def chi_square(observed, probability):
    """The p-value of counts against probabilities; classes of small expectation are merged."""
    order = np.argsort(probability)
    expected = probability[order] * observed.sum()
    merged, ends = 0.0, []
    for index, value in enumerate(expected):
        merged += value
        if merged >= 10.0 or index == len(expected) - 1:
            ends.append(index + 1)
            merged = 0.0
    starts = [0, *ends[:-1]]
    seen, mean = np.add.reduceat(observed[order], starts), np.add.reduceat(expected, starts)
    return chi2.sf(((seen - mean) ** 2 / mean).sum(), max(len(ends) - 1, 1))


def tally(words, space):
    index = {word: k for k, word in enumerate(space)}  # an infeasible word is a KeyError
    drawn = [index[tuple(word)] for word in np.asarray(words).tolist()]
    return np.bincount(drawn, minlength=len(space))


# Counting and sampling


@pytest.mark.parametrize("name", SPACES)
def test_counts_are_those_of_enumeration(name):
    word, where = SPACES[name]
    automaton = HammingAutomaton(word, **where)
    brute = np.bincount([distance(word, r) for r in feasible_words(word, **where)], minlength=len(word) + 1)
    assert automaton.counts.tolist() == brute.tolist()
    assert automaton.counts[0] == 1
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(automaton.log_counts, np.log(brute), rtol=1e-15)


def test_counts_and_their_logarithms_agree_on_long_words():
    rng = np.random.default_rng(21)
    for length in [int(rng.integers(1, 40)) for _ in range(20)] + [300]:
        adjacency = (rng.random((5, 5)) < 0.5) | np.roll(np.eye(5, dtype=bool), 1, axis=1)
        word = long_walk(adjacency, 0, length)
        automaton = HammingAutomaton(word, adjacency=adjacency, start=0)
        logs = log_integers(automaton.counts)
        np.testing.assert_allclose(automaton.log_counts, logs, rtol=1e-14, atol=1e-14 * length)


@pytest.mark.parametrize("name", ["four states", "ring", "trap"])
def test_counts_of_many_words_at_once_are_those_of_each(name):
    word, where = SPACES[name]
    space = list(feasible_words(word, **where))
    expected = [HammingAutomaton(w, **where).counts.astype(float) for w in space]
    found = chain_counts([(where["start"], *w) for w in space], where["adjacency"])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", SPACES)
def test_samples_are_uniform_at_their_distance(name):
    word, where = SPACES[name]
    automaton = HammingAutomaton(word, **where)
    target = int(np.argmax(automaton.counts.astype(float)))
    space = [r for r in feasible_words(word, **where) if distance(word, r) == target]
    words = automaton.sample(np.full(20_000, target), np.random.default_rng(1))
    assert words.shape == (20_000, len(word))
    observed = tally(words, space)
    assert chi_square(observed, np.full(len(space), 1.0 / len(space))) > SIGNIFICANCE
    if len(space) > 1:
        skewed = np.where(np.arange(len(space)) < len(space) // 2, 1.2, 1.0)
        assert chi_square(observed, skewed / skewed.sum()) < SIGNIFICANCE


def test_one_word_for_each_distance():
    automaton = HammingAutomaton((1, 2, 3), adjacency=FOUR, start=0)
    distances = np.random.default_rng(2).choice(np.flatnonzero(automaton.counts), (50, 4))
    words = automaton.sample(distances, rng=np.random.default_rng(3))
    assert words.shape == (50, 4, 3)
    assert ((words != automaton.codes).sum(axis=-1) == distances).all()
    assert automaton.sample(0).tolist() == [1, 2, 3]


def long_walk(adjacency, start, n):
    rng, states = np.random.default_rng(5), [start]
    for _ in range(n):
        states.append(int(rng.choice(np.flatnonzero(adjacency[states[-1]]))))
    return states[1:]


def test_states_of_very_different_growth_keep_their_counts():
    # The last state is a trap with one continuation; the others multiply by twenty at each letter.
    clique = np.ones((22, 22)) - np.eye(22)
    clique[21] = np.eye(22)[21]
    automaton = HammingAutomaton([21] * 250, adjacency=clique, start=0)
    assert automaton.log_counts[0] == 0.0
    np.testing.assert_allclose(automaton.log_counts, log_integers(automaton.counts), rtol=1e-13)
    assert (automaton.sample([0, 0, 0]) == 21).all()
    distances = np.flatnonzero(np.isfinite(automaton.log_counts))
    words = automaton.sample(distances, np.random.default_rng(6))
    assert ((words != 21).sum(axis=1) == distances).all()
    assert (clique[words[:, :-1], words[:, 1:]] == 1).all()


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 3), (14, 43), (1000, 43)])
def test_alphabet_counts(n, m):
    counts = alphabet_counts(n, m)
    assert counts.tolist() == [math.comb(n, k) * (m - 1) ** k for k in range(n + 1)]
    assert counts.sum() == m**n


# Laws of the distance


def subset_pmf(counts, epsilon, b):
    """Definition 4 as printed: the alternating sum over all subsets of the other words, in 60 digits."""
    with mpmath.workdps(60):
        words = [k for k, count in enumerate(counts) for _ in range(count)]
        weights = [mpmath.exp(-mpmath.mpf(epsilon) * k / (2 * b)) for k in words]
        pmf = [mpmath.mpf(0)] * len(counts)
        for chosen, k in enumerate(words):
            sums = [mpmath.mpf(1)]  # of the products over the subsets of each size
            for weight in weights[:chosen] + weights[chosen + 1 :]:
                sums = [a + weight * c for a, c in zip([*sums, 0], [0, *sums], strict=True)]
            pmf[k] += weights[chosen] * mpmath.fsum((-1) ** s * e / (s + 1) for s, e in enumerate(sums))
        return pmf


def integral_pmf(counts, epsilon, b):
    """The integral in 50 digits, in the variable t = (1 + Z) u."""
    with mpmath.workdps(50):
        q = [mpmath.exp(-mpmath.mpf(epsilon) * k / (2 * b)) for k in range(len(counts))]
        scale = 1 + mpmath.fsum(n * x for n, x in zip(counts, q, strict=True))
        end = min(scale, mpmath.mpf(90))

        def integral(k):
            powers = [(n - (j == k), q[j] / scale) for j, n in enumerate(counts) if n - (j == k)]
            return mpmath.quad(
                lambda t: mpmath.exp(mpmath.fsum(n * mpmath.log1p(-t * x) for n, x in powers)),
                mpmath.linspace(0, end, 8),
                method="gauss-legendre",
                maxdegree=4,
            )

        return [n and n * q[k] / scale * integral(k) for k, n in enumerate(counts)]


SMALL = [
    ([1, 2, 1], 1.0, 1),
    ([1, 1], 0.0, 1),
    ([1, 0, 0, 1], 30.0, 1),
    ([1, 3, 3, 1], 5.0, 2),
    ([1, 6, 12, 8], 5.0, 1),
    ([1, 4, 19, 20], 0.05, 1),
    ([3, 0, 7], 2.0, 3),
    ([1, 10, 20], 100.0, 1),
]
LARGE = [
    (alphabet_counts(8, 43).tolist(), 7.0, 1),
    ([1, 10**21, 10**43, 10**66], 100.0, 1),
    ([1, *[0] * 9, 10**217, *[0] * 35, 10**999, 0, 10**1000], 100.0, 1),
    ([1, 5, 10**20], 46.0, 1),
]


@pytest.mark.parametrize(("counts", "epsilon", "b"), SMALL)
def test_permute_and_flip_is_the_sum_over_subsets(counts, epsilon, b):
    reference = [float(p) for p in subset_pmf(counts, epsilon, b)]
    np.testing.assert_allclose(permute_and_flip_pmf(counts, epsilon, b), reference, rtol=1e-12)
    before_normalisation = np.array(counts) * np.exp(log_word_probability(counts, epsilon, b))
    np.testing.assert_allclose(before_normalisation, reference, rtol=1e-12)


@pytest.mark.parametrize(("counts", "epsilon", "b"), LARGE)
def test_permute_and_flip_of_large_counts(counts, epsilon, b):
    reference = integral_pmf(counts, epsilon, b)
    counts = np.array(counts, dtype=object)
    ours = permute_and_flip_pmf(counts, epsilon, b)
    assert sum(exact > 1e-300 for exact in reference) >= 2
    for value, exact in zip(ours, reference, strict=True):
        assert float(abs(value - exact)) <= 1e-10 * max(float(exact), 1e-300)


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 1.0, 12.0, 100.0])
@pytest.mark.parametrize("n", [1, 14, 1000])
def test_laws_sum_to_one_before_normalisation(epsilon, n):
    counts = alphabet_counts(n, 43)
    for mechanism in MECHANISMS:
        log_f = log_word_probability(counts, epsilon, mechanism=mechanism)
        assert np.exp(log_integers(counts) + log_f).sum() == pytest.approx(1.0, abs=2e-11)


def test_exponential_pmf_is_per_letter_randomised_response():
    odds = 42 * math.exp(-3.0 / 4)
    wrong = odds / (1 + odds)
    reference = [math.comb(14, k) * wrong**k * (1 - wrong) ** (14 - k) for k in range(15)]
    np.testing.assert_allclose(exponential_pmf(alphabet_counts(14, 43), 3.0, 2), reference, rtol=1e-12)


def test_batches_are_their_rows():
    epsilons, counts = np.array([[0.5], [5.0]]), np.array([[1, 4, 4], [1, 0, 9], [1, 2, 0]])
    for law in (permute_and_flip_pmf, exponential_pmf):
        batch = law(counts, epsilons)
        assert batch.shape == (2, 3, 3)
        for i, j in np.ndindex(2, 3):
            np.testing.assert_allclose(batch[i, j], law(counts[j], epsilons[i, 0]), rtol=1e-15)
    assert expected_error(counts, epsilons).shape == (2, 3)


@pytest.mark.parametrize("name", ["labels", "four states", "trap"])
def test_the_law_is_that_of_permutations_and_flips(name):
    word, where = SPACES[name]
    space = list(feasible_words(word, **where))
    log_f = log_word_probability(HammingAutomaton(word, **where).counts, 3.0)
    pmf = np.exp(log_f[[distance(word, r) for r in space]])
    assert pmf.sum() == pytest.approx(1.0, rel=1e-13)
    rng = np.random.default_rng(8)
    apart = [distance(word, r) for r in space]
    runs = [plain_permute_and_flip(apart, 1.5, rng) for _ in range(6000)]
    assert chi_square(np.bincount(runs, minlength=len(space)), pmf) > SIGNIFICANCE


@pytest.mark.parametrize(("name", "mechanism"), list(zip(["four letters", "four states", "trap"], MECHANISMS)))
def test_private_words_follow_the_law(name, mechanism):
    word, where = SPACES[name]
    rng, space = np.random.default_rng(9), list(feasible_words(word, **where))
    apart = [distance(word, r) for r in space]
    automaton = HammingAutomaton(word, **where)
    law = Law(mechanism, 3.0, 2, 1)
    distances = drawn(law, automaton.log_counts, (40_000,), rng)
    observed = tally(automaton.sample(distances, rng), space)

    def pmf(epsilon):
        pmf = np.exp(law._replace(epsilon=epsilon).log_f(automaton.log_counts)[apart])
        return pmf / pmf.sum()

    assert chi_square(observed, pmf(3.0)) > SIGNIFICANCE
    if name != "trap":
        assert chi_square(observed, pmf(3.3)) < SIGNIFICANCE


def test_distances_of_huge_counts_follow_the_law():
    counts = alphabet_counts(500, 10**9)
    epsilon = 2 * math.log(10**9)
    for mechanism in ("permute-and-flip", "exponential"):
        rng = np.random.default_rng(10)
        draws = draw_distances(counts, epsilon, mechanism=mechanism, size=20_000, rng=rng)
        observed = np.bincount(draws, minlength=501)
        assert chi_square(observed, exponential_pmf(counts, epsilon)) > SIGNIFICANCE
        assert chi_square(observed, exponential_pmf(counts, 1.1 * epsilon)) < SIGNIFICANCE


# Errors and bounds


def random_counts(rng, cases):
    for _ in range(cases):
        n = int(rng.integers(1, 12))
        counts = rng.integers(0, 10 ** rng.integers(1, 8), n + 1) * (rng.random(n + 1) < 0.7)
        counts[0] = 1
        yield counts, float(10 ** rng.uniform(-2, 1.5)), int(rng.integers(1, 4))


def test_bounds_of_the_expected_error_hold_on_a_hundred_cases():
    for counts, epsilon, b in random_counts(np.random.default_rng(11), 100):
        error = expected_error(counts, epsilon, b)
        exponential = expected_error(counts, epsilon, b, mechanism="exponential")
        lower, upper = expected_error_bounds(counts, epsilon, b)
        slack = 1e-12 * (1.0 + upper)
        assert lower - slack <= error <= upper + slack
        assert upper == pytest.approx(exponential)
        assert exponential / 2 - slack <= expected_error_floor(counts, epsilon, b) <= error + slack
        assert error >= (1 - reduction_limit(epsilon, len(counts) - 1, b)) * exponential - slack


def test_theorem_2_in_the_closed_form_of_the_paper():
    n, m, epsilon, b = 5, 2, 4.0, 2
    counts = alphabet_counts(n, m)
    lower, upper = expected_error_bounds(counts, epsilon, b)
    c = (m - 1) * math.exp(-epsilon / (2 * b))
    assert upper == pytest.approx(n * c / (1 + c), rel=1e-13)
    pmf = subset_pmf(counts.tolist(), epsilon, b)
    q = [mpmath.exp(-epsilon * k / (2 * b)) for k in range(n + 1)]
    phi = [float(p / (count * x)) for p, count, x in zip(pmf, counts, q, strict=True)]
    mean = exponential_pmf(counts, epsilon, b) @ phi
    assert lower == pytest.approx(upper - n * (phi[0] - phi[n]) / (4 * mean), rel=1e-11)


@pytest.mark.parametrize("n", [1, 3, 14])
def test_two_words_attain_the_largest_reduction(n):
    counts = np.zeros(n + 1, dtype=int)
    counts[[0, n]] = 1
    for epsilon in (0.1, 1.0, 5.0):
        ratio = expected_error(counts, epsilon) / expected_error(counts, epsilon, mechanism="exponential")
        assert 1 - ratio == pytest.approx(reduction_limit(epsilon, n), rel=1e-12)
    assert reduction_limit(1e9, n) == 0.5


def reduction(counts, epsilon, b=1):
    flip, alone = (expected_error(counts, epsilon, b, mechanism=mechanism) for mechanism in MECHANISMS[:2])
    return 1 - flip / alone


def test_what_two_errors_allow_depends_on_b():
    # 0.62 at epsilon 5 leaves less than 18.9 % at epsilon 3 for words one letter apart, and 28.2 % for three.
    distance = np.arange(1, 15)
    weights = np.exp(distance) / (distance - 0.615)
    assert 1 / (2 + 0.615 * weights.min()) == pytest.approx(0.18936, abs=1e-5)
    counts = np.zeros(15, dtype=int)
    counts[[0, 6]] = 1, 17
    assert expected_error(counts, 5.0, 3, mechanism="exponential") == pytest.approx(0.617, abs=5e-4)
    assert reduction(counts, 3.0, 3) == pytest.approx(0.282, abs=5e-4)
    counts[6], counts[2] = 0, 66
    assert expected_error(counts, 5.0, mechanism="exponential") == pytest.approx(0.62, abs=5e-3)
    assert reduction(counts, 3.0) < 0.18936


# Exact privacy


def brute_force_epsilon(word, mechanism, epsilon, b, offset, where):
    words = list(feasible_words(word, **where))
    laws = []
    for w in words:
        apart = [distance(w, r) for r in words]
        counts = np.bincount(apart, minlength=len(word) + 1)
        laws.append(log_word_probability(counts, epsilon, b, mechanism=mechanism, offset=offset)[apart])
    pairs = itertools.permutations(range(len(words)), 2)
    return max(((laws[w] - laws[v]).max() for w, v in pairs if distance(words[w], words[v]) <= b), default=0.0)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("b", [1, 2, 9])
@pytest.mark.parametrize("name", SPACES)
def test_exact_epsilon_is_that_of_all_pairs(name, b, mechanism):
    word, where = SPACES[name]
    space, n = word_space(**where), len(word)
    for offset in {0, b // 2} if mechanism == "staircase" else {0}:
        law = Law(mechanism, 4.0, b, offset)
        exact = (
            exact_epsilon._by_enumeration(space.chain, n, law)
            if space.chain
            else exact_epsilon._on_alphabet(space, n, law)
        )
        brute = brute_force_epsilon(word, mechanism, 4.0, b, offset, where)
        assert exact == pytest.approx(brute, rel=1e-12, abs=1e-13)
        assert exact <= 4.0 + 1e-12
        if mechanism != "staircase" or (space.chain and offset == 0):
            assert exact_word_epsilon(n, 4.0, mechanism=mechanism, b=b, **where) == exact


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("adjacency", "n"), [(FOUR, 5), (RING, 6), (TRAP, 6), (np.ones((3, 3)) - np.eye(3), 5)])
def test_bounds_of_the_epsilon_hold_where_it_is_known(adjacency, n, mechanism):
    for epsilon in (0.5, 3.0, 8.0):
        exact = exact_word_epsilon(n, epsilon, mechanism=mechanism, adjacency=adjacency, start=0)
        bound = exact_epsilon._upper(word_space(None, adjacency, 0).chain, n, Law(mechanism, epsilon, 1))
        assert exact - 1e-12 <= bound <= epsilon
        if mechanism != "permute-and-flip":
            assert bound == pytest.approx(exact, abs=2e-3)


def test_bounds_on_messages_hold_for_every_word():
    """A step's bounds exchanged, or its shared terms, and some word's message leaves its interval."""
    rng = np.random.default_rng(22)
    for _ in range(80):
        states, n, q = int(rng.integers(3, 6)), int(rng.integers(3, 6)), float(np.exp(-rng.uniform(0.1, 4)))
        adjacency = rng.random((states, states)) < 0.5
        adjacency[np.arange(states), (np.arange(states) + 1) % states] = True
        chain = word_space(None, adjacency, 0).chain
        columns = sp.csr_array(adjacency.astype(float).T)
        before = _side(columns, adjacency[0] * 1.0, n, q)
        words = [((), adjacency[0] * 1.0)]  # a prefix, and the weight of what may follow it
        for position in range(n):
            longer = []
            for word, inflow in words:
                for letter in successors(chain, word[-1] if word else 0).tolist():
                    message = np.where(np.arange(states) == letter, 1.0, q) * inflow
                    ratio = message / message[letter]
                    assert before.feasible[position, letter]
                    assert (before.low[position, letter] <= ratio * (1 + 1e-12)).all()
                    assert (ratio <= before.high[position, letter] * (1 + 1e-12)).all()
                    longer.append(((*word, letter), message @ adjacency))
            words = longer[:300]


@pytest.mark.parametrize(("rate", "growth"), [(1.5, 0.45), (4.0, 2.8)])
def test_the_bound_of_permute_and_flip_holds_between_the_points_of_its_grid(rate, growth):
    """For each normaliser z of w, that of v being e^growth z: the largest loss lies between two points."""
    z, q = np.exp(np.arange(1e-4, 2.0, 1e-4)), math.exp(-rate)
    weights = np.broadcast_to([0.0, -rate], (len(z), 2))

    def log_least(more):
        return log_integrals(np.stack([np.zeros(len(z)), np.log(more)], axis=1), weights)[:, 1]

    missed = (math.exp(growth) * z - 1.0) / q  # words one letter away would give v so much
    loss = rate + np.log(-np.expm1(1.0 - z) / (z - 1.0)) - log_least(np.maximum(missed, 1.0))
    bound = exact_epsilon._permute_and_flip_bound(NormaliserRatio(0.0, growth, 0.0), rate)
    assert 0 < loss.argmax() < len(z) - 1 and loss.max() <= bound <= loss.max() + 0.01


def largest_ratio(adjacency, n, rate):
    """The largest log(Z_v / Z_w) over words one letter apart, and the least log Z_w, by enumeration."""
    words = [(0,)]
    for _ in range(n):
        words = [(*word, y) for word in words for y in np.flatnonzero(adjacency[word[-1]])]
    words = np.array(words)[:, 1:]
    apart = (words[:, None] != words).sum(axis=-1)
    log_z = np.log(np.exp(-rate * apart).sum(axis=1))
    return ((log_z[None, :] - log_z[:, None]) * (apart == 1)).max(), log_z.min()


@pytest.mark.parametrize("n", range(1, 8))
def test_normaliser_ratio_is_that_of_all_pairs(n):
    """False from n = 4 on when the two bounds of a step are exchanged."""
    rng = np.random.default_rng(14 + n)
    for _ in range(60):
        states = int(rng.integers(2, 7 if n < 5 else 5))
        adjacency = rng.random((states, states)) < 0.4
        adjacency[np.arange(states), (np.arange(states) + 1) % states] = True
        rate = float(rng.uniform(0.1, 4))
        if np.linalg.matrix_power(adjacency.astype(int), n)[0].sum() > 600:
            continue
        largest, smallest = largest_ratio(adjacency, n, rate)
        found = normaliser_ratio(word_space(None, adjacency, 0).chain, n, rate)
        assert found.lower <= largest + 1e-12
        assert largest <= found.upper + 1e-12
        assert found.upper - found.lower <= 1.1e-3
        assert found.log_smallest <= smallest + 1e-12


def test_equal_exact_epsilon_on_a_chain_with_three_words():
    # Over the words of this chain the exponential mechanism errs less; for one word it need not.
    where = {"adjacency": np.array([[1.0, 1.0], [0.0, 1.0]]), "start": 0}
    words = [(0, 0), (0, 1), (1, 1)]
    counts = np.array([HammingAutomaton(word, **where).counts for word in words])
    nominal = 5.2
    spent = exact_word_epsilon(2, nominal, **where)

    def excess(epsilon):
        return exact_word_epsilon(2, epsilon, mechanism="exponential", **where) - spent

    equal = brentq(excess, 1.0, 20.0, xtol=1e-12)
    flip = expected_error(counts, nominal)
    exponential = expected_error(counts, equal, mechanism="exponential")
    assert exponential.mean() < 0.99 * flip.mean()
    assert exponential.max() > 1.0005 * flip[exponential.argmax()]


def test_reference_values_of_exact_privacy():
    assert exact_word_epsilon(5, 5.0, letters=2) == pytest.approx(3.087, abs=5e-4)
    for n, b in ((5, 1), (14, 1), (5, 2), (1, 3)):
        spent = exact_word_epsilon(n, 5.0, letters=2, b=b, mechanism="exponential")
        assert spent == pytest.approx(5.0 * min(b, n) / (2 * b), rel=1e-12)


@pytest.mark.parametrize(("n", "m", "spent", "b"), [(2, 2, 1.0, 1), (3, 2, 0.7, 2), (2, 3, 1.5, 1), (3, 2, 2.0, 3)])
def test_least_error_is_that_of_all_mechanisms(n, m, spent, b):
    # A linear programme in the whole matrix P(r | w), without symmetry: least largest expected distance.
    space = list(itertools.product(range(m), repeat=n))
    apart = np.array([[distance(v, w) for v in space] for w in space])
    size = len(space)
    rows = []
    for w, v in itertools.permutations(range(size), 2):
        for r in range(size) if apart[w, v] <= b else ():
            row = np.zeros((size, size))
            row[w, r], row[v, r] = 1.0, -math.exp(spent)
            rows.append((*row.ravel(), 0.0))
    for w in range(size):
        row = np.zeros((size, size))
        row[w] = apart[w]
        rows.append((*row.ravel(), -1.0))
    sums = np.hstack([np.kron(np.eye(size), np.ones(size)), np.zeros((size, 1))])
    goal = np.zeros(size * size + 1)
    goal[-1] = 1.0
    best = linprog(goal, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(size), method="highs")
    assert least_expected_error(n, m, spent, b) == pytest.approx(best.fun, abs=1e-7)
    assert least_mean_error(apart, spent, b) == pytest.approx(best.fun, abs=1e-7)  # all words alike: worst is mean


@pytest.mark.parametrize(
    ("n", "m", "nominal", "flip", "letter"), [(5, 2, 5.0, 0.2451, 0.2181), (14, 3, 5.0, 1.936, 1.758)]
)
def test_randomised_response_is_optimal_at_equal_exact_epsilon(n, m, nominal, flip, letter):
    counts = alphabet_counts(n, m)
    spent = exact_word_epsilon(n, nominal, letters=m)
    error = expected_error(counts, 2 * spent, mechanism="exponential")  # spends exactly `spent`
    assert expected_error(counts, nominal) == pytest.approx(flip, rel=5e-4)
    assert error == pytest.approx(letter, rel=5e-4)
    assert error == pytest.approx(least_expected_error(n, m, spent), rel=1e-6)
    one = alphabet_counts(1, m)
    spent = exact_word_epsilon(1, nominal, letters=m)
    equal = expected_error(one, 2 * spent, mechanism="exponential")
    assert expected_error(one, nominal) == pytest.approx(equal, rel=1e-12)


@pytest.mark.parametrize(
    ("n", "m", "b", "spent"), [(5, 2, 2, 5.0), (6, 3, 3, 2.0), (7, 2, 3, 1.0), (4, 4, 2, 3.0), (5, 2, 1, 3.0)]
)
def test_staircase_with_the_best_offset_is_optimal(n, m, b, spent):
    counts = alphabet_counts(n, m)
    best = expected_error(counts, 2 * spent, b, mechanism="staircase")
    assert best == pytest.approx(least_expected_error(n, m, spent, b), rel=1e-6)
    exact = exact_word_epsilon(n, 2 * spent, b=b, letters=m, mechanism="staircase")
    assert exact == pytest.approx(spent)
    errors = [_mean(_pmf(log_integers(counts), np.array(2 * spent), b, "staircase", offset)) for offset in range(b)]
    assert errors[best_offset(log_integers(counts), 2 * spent, b)] == min(errors) == best


@pytest.mark.parametrize(("offset", "stairs"), [(0, [0, 1, 1, 2]), (1, [1, 1, 2, 2])])
def test_the_staircase_rises_by_one_every_b_letters_from_its_offset_on(offset, stairs):
    counts, epsilon = np.array([1, 3, 3, 1]), 1.3
    law = counts * np.exp(-epsilon / 2 * np.array(stairs))
    found = _pmf(log_integers(counts), np.array(epsilon), 2, "staircase", offset)
    assert found == pytest.approx(law / law.sum(), rel=1e-12)


def test_reference_values_of_the_staircase():
    counts = alphabet_counts(5, 2)
    assert expected_error(counts, 10.0, 2) == pytest.approx(0.245, abs=5e-4)
    spent = exact_word_epsilon(5, 10.0, b=2, letters=2)
    assert expected_error(counts, 2 * spent, 2, mechanism="exponential") == pytest.approx(0.285, abs=5e-4)
    assert expected_error(counts, 2 * spent, 2, mechanism="staircase") == pytest.approx(0.087, abs=5e-4)


# The traffic network


@pytest.fixture(scope="module")
def trip():
    roads = datasets.load_gainesville()
    return roads.trip[1:].tolist(), {"adjacency": roads.adjacency.astype(float), "start": int(roads.trip[0])}


def test_reference_values_of_the_trip(trip):
    word, where = trip
    counts = HammingAutomaton(word, **where).counts
    exponential = expected_error(counts, [0.5, 3.0, 5.0], mechanism="exponential")
    flip = expected_error(counts, [0.5, 3.0, 5.0])
    assert exponential[[0, 2]] == pytest.approx([12.6866, 0.62097], rel=1e-5)
    assert exponential[1] == pytest.approx(7.82, abs=5e-3)
    assert flip[1:] == pytest.approx([7.80, 0.40767], rel=1e-4)
    assert (1 - flip / exponential)[1:] == pytest.approx([0.0020263, 0.34349], rel=1e-4)
    assert expected_error_floor(counts, [3.0, 5.0]) == pytest.approx([7.52, 0.3825], rel=1e-3)
    flip, exponential = (expected_error(counts, [4.3, 4.5], mechanism=m) for m in MECHANISMS[:2])
    below, above = 1 - flip / exponential
    assert below < 0.25 < above


def test_privacy_spent_on_the_network(trip):
    _, where = trip
    chain = word_space(None, where["adjacency"], where["start"]).chain
    exponential, flip = (exact_epsilon._upper(chain, 14, Law(mechanism, 5.0, 1)) for mechanism in MECHANISMS[1::-1])
    assert exponential == pytest.approx(3.0618, abs=1.1e-3)
    assert 3.388 < flip < 3.42


# Refusals


@pytest.mark.parametrize(
    ("name", "word", "where"),
    [
        ("word", (), {"letters": 2}),
        ("word", 3, {"letters": 5}),
        ("word", "abd", {"letters": "abc"}),
        ("word", (True,), {"letters": 2}),
        ("word", (1, 0), {"adjacency": TRAP, "start": 0}),
        ("word", (0,), {"adjacency": RING, "start": 0}),
        ("letters", (0,), {}),
        ("letters", (0,), {"letters": "aa"}),
        ("letters", (math.nan,), {"letters": [math.nan]}),
        ("start", (0,), {"letters": 2, "start": 0}),
        ("start", (0,), {"adjacency": TRAP}),
        ("start", (0,), {"adjacency": TRAP, "start": 7}),
        ("adjacency", (0,), {"adjacency": TRAP[:2], "start": 0}),
        ("letters", (0,), {"adjacency": TRAP, "start": 0, "letters": 2}),
    ],
)
def test_words_that_are_refused(name, word, where):
    with pytest.raises(ValueError, match=f"^{name} must"):
        HammingAutomaton(word, **where)


SWAP = HammingAutomaton((1,), adjacency=np.array([[0, 1], [1, 0]]), start=0)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: SWAP.sample(1), "distance"),
        (lambda: exponential_pmf([1, 2.5], 1.0), "counts"),
        (lambda: exponential_pmf([0, 2], 1.0), "counts"),
        (lambda: exponential_pmf([1, -(10**30)], 1.0), "counts"),
        (lambda: expected_error([[1, 2], [1, 3]], 1.0, 2, mechanism="staircase"), "counts"),
        (lambda: draw_distances([[1, 2]], 1.0), "counts"),
        (lambda: exact_word_epsilon(3, 1.0, adjacency=np.triu(np.ones((2, 2)), 1), start=0), "length"),
        (lambda: exact_word_epsilon(7, 1.0, adjacency=np.ones((3, 3)), start=0), "length"),
        (lambda: least_expected_error(5, 1, 1.0), "m must"),
    ],
)
def test_arguments_that_are_refused(call, argument):
    with pytest.raises(ValueError, match=argument):
        call()


@settings(max_examples=50, deadline=None)
@given(
    counts=st.lists(st.integers(0, 10**40), min_size=1, max_size=8),
    epsilon=st.floats(0, 100),
    b=st.integers(1, 5),
)
def test_laws_are_distributions(counts, epsilon, b):
    counts = np.array([1, *counts], dtype=object)
    for law in (permute_and_flip_pmf, exponential_pmf):
        pmf = law(counts, epsilon, b)
        assert np.isfinite(pmf).all() and (pmf >= 0).all()
        assert pmf.sum() == pytest.approx(1.0, rel=1e-14)
        assert (pmf[counts == 0] == 0).all()
