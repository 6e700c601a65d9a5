"""Words: brute force over all words, all subsets and all orders; mpmath; linear
programming; chi-square."""

import itertools
import math

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from all_words import FOUR, ONWARD, apart, feasible, log_law, spent, without_return
from chi_square import p_value
from scipy.optimize import linprog

from dpsim import words
from dpsim.words import (
    HammingAutomaton,
    alphabet_counts,
    exact_word_epsilon,
    expected_error,
)
from dpsim.words.automaton import log_integers
from dpsim.words.candidates import word_space
from dpsim.words.normaliser_bound import largest_log_ratio, one_side
from dpsim.words.permute_and_flip import (
    MECHANISMS,
    Mechanism,
    _mean,
    best_offset,
)
from tools.verify.precision_checks import permute_and_flip

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
    "named states": (
        ("z", "y"),
        {"adjacency": TRAP, "start": "x", "letters": ["x", "y", "z"]},
    ),
    "shared letters": (("b", "b", "c", "b"), ONWARD),
    "no way back": ((1, 2, 3, 0), without_return(FOUR, 0)),
}
SIGNIFICANCE = 1e-6


def some(*names):
    """Parametrise over the word, its space, all words of it and their distances from
    the word."""
    spaces = [
        (*SPACES[name], list(feasible(len(SPACES[name][0]), **SPACES[name][1])))
        for name in names
    ]
    cases = [
        (word, where, space, apart(space, tuple(word))) for word, where, space in spaces
    ]
    return pytest.mark.parametrize(
        ("word", "where", "space", "distance"), cases, ids=names
    )


def random_chain(rng, states, share=0.5):
    """An adjacency in which every state can be left."""
    adjacency = rng.random((states, states)) < share
    return adjacency | np.roll(np.eye(states, dtype=bool), 1, axis=1)


def tally(drawn, space):
    index = {
        word: k for k, word in enumerate(space)
    }  # an infeasible word is a KeyError
    return np.bincount(
        [index[tuple(word)] for word in np.asarray(drawn).tolist()],
        minlength=len(space),
    )


# Counting and sampling


@some(*SPACES)
def test_counts_are_those_of_enumeration(word, where, space, distance):
    automaton = HammingAutomaton(word, **where)
    brute = np.bincount(distance, minlength=len(word) + 1)
    assert automaton.counts.tolist() == brute.tolist()
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(automaton.log_counts, np.log(brute), rtol=1e-15)


def test_counts_and_their_logarithms_agree_on_long_words():
    rng = np.random.default_rng(21)
    for length in [*rng.integers(1, 40, 20), 300]:
        adjacency = random_chain(rng, 5)
        word = [0]
        for _ in range(length):
            word.append(int(rng.choice(np.flatnonzero(adjacency[word[-1]]))))
        automaton = HammingAutomaton(word[1:], adjacency=adjacency, start=0)
        logs = log_integers(automaton.counts)
        np.testing.assert_allclose(
            automaton.log_counts, logs, rtol=1e-14, atol=1e-14 * length
        )


@some("four states", "ring", "trap", "shared letters", "no way back")
def test_counts_of_many_words_at_once_are_those_of_each(word, where, space, distance):
    expected = [HammingAutomaton(w, **where).counts.astype(float) for w in space]
    found = words.chain_counts([list(w) for w in space], **where)
    np.testing.assert_array_equal(found, expected)


@some(*SPACES)
def test_samples_are_uniform_at_their_distance(word, where, space, distance):
    automaton = HammingAutomaton(word, **where)
    target = int(np.argmax(automaton.counts.astype(float)))
    there = [r for r, d in zip(space, distance) if d == target]
    drawn = automaton.sample(np.full(20_000, target), np.random.default_rng(1))
    assert drawn.shape == (20_000, len(word))
    observed = tally(drawn, there)
    assert p_value(observed, np.ones(len(there))) > SIGNIFICANCE
    if len(there) > 1:
        assert (
            p_value(
                observed, np.where(np.arange(len(there)) < len(there) // 2, 1.2, 1.0)
            )
            < SIGNIFICANCE
        )


def test_one_word_for_each_distance():
    automaton = HammingAutomaton((1, 2, 3), adjacency=FOUR, start=0)
    distances = np.random.default_rng(2).choice(
        np.flatnonzero(automaton.counts), (50, 4)
    )
    drawn = automaton.sample(distances, rng=np.random.default_rng(3))
    assert drawn.shape == (50, 4, 3)
    assert ((drawn != automaton.codes).sum(axis=-1) == distances).all()
    assert automaton.sample(0).tolist() == [1, 2, 3]


def test_states_of_very_different_growth_keep_their_counts():
    # The last state is a trap with one continuation; the others multiply by twenty at
    # each letter.
    clique = np.ones((22, 22)) - np.eye(22)
    clique[21] = np.eye(22)[21]
    automaton = HammingAutomaton([21] * 250, adjacency=clique, start=0)
    np.testing.assert_allclose(
        automaton.log_counts, log_integers(automaton.counts), rtol=1e-13
    )
    distances = np.flatnonzero(np.isfinite(automaton.log_counts))
    assert distances[0] == automaton.log_counts[0] == 0
    drawn = automaton.sample(distances, np.random.default_rng(6))
    assert ((drawn != 21).sum(axis=1) == distances).all()
    assert (clique[drawn[:, :-1], drawn[:, 1:]] == 1).all()


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 3), (14, 43), (1000, 43)])
def test_alphabet_counts(n, m):
    assert alphabet_counts(n, m).tolist() == [
        math.comb(n, k) * (m - 1) ** k for k in range(n + 1)
    ]


# Laws of the distance


def subset_pmf(counts, epsilon, b):
    """Definition 4 as printed: the alternating sum over all subsets of the other words,
    in 60 digits."""
    with mpmath.workdps(60):
        distances = [k for k, count in enumerate(counts) for _ in range(count)]
        weights = [mpmath.exp(-mpmath.mpf(epsilon) * k / (2 * b)) for k in distances]
        pmf = [mpmath.mpf(0)] * len(counts)
        for chosen, k in enumerate(distances):
            sums = [mpmath.mpf(1)]  # of the products over the subsets of each size
            for weight in weights[:chosen] + weights[chosen + 1 :]:
                sums = [
                    a + weight * c for a, c in zip([*sums, 0], [0, *sums], strict=True)
                ]
            pmf[k] += weights[chosen] * mpmath.fsum(
                (-1) ** s * e / (s + 1) for s, e in enumerate(sums)
            )
        return np.array(pmf, dtype=float)


@pytest.mark.parametrize(
    ("counts", "epsilon", "b"),
    [
        ([1, 2, 1], 1.0, 1),
        ([1, 1], 0.0, 1),
        ([1, 0, 0, 1], 30.0, 1),
        ([1, 3, 3, 1], 5.0, 2),
        ([1, 6, 12, 8], 5.0, 1),
        ([1, 4, 19, 20], 0.05, 1),
        ([3, 0, 7], 2.0, 3),
        ([1, 10, 20], 100.0, 1),
    ],
)
def test_permute_and_flip_is_the_sum_over_subsets(counts, epsilon, b):
    reference = subset_pmf(counts, epsilon, b)
    np.testing.assert_allclose(words.pmf(counts, epsilon, b), reference, rtol=1e-12)
    one = Mechanism("permute-and-flip", epsilon, b).log_f(
        log_integers(np.array(counts))
    )
    np.testing.assert_allclose(np.array(counts) * np.exp(one), reference, rtol=1e-12)


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [
        (alphabet_counts(4, 43).tolist(), 7.0),
        ([1, 10**21, 10**43, 10**66], 100.0),
        ([1, *[0] * 9, 10**217, *[0] * 35, 10**999, 0, 10**1000], 100.0),
        ([1, 5, 10**20], 46.0),
    ],
)
def test_permute_and_flip_of_large_counts(counts, epsilon):
    with mpmath.workdps(50):
        logs = [
            n and permute_and_flip(counts, mpmath.mpf(epsilon), 1, k)
            for k, n in enumerate(counts)
        ]
        reference = [n and n * mpmath.exp(log) for n, log in zip(counts, logs)]
    assert sum(exact > 1e-300 for exact in reference) >= 2
    for value, exact in zip(
        words.pmf(np.array(counts, dtype=object), epsilon), reference, strict=True
    ):
        assert float(abs(value - exact)) <= 1e-10 * max(float(exact), 1e-300)


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 1.0, 12.0, 100.0])
@pytest.mark.parametrize("n", [1, 14, 1000])
def test_laws_sum_to_one_before_normalisation(epsilon, n):
    log_counts = log_integers(alphabet_counts(n, 43))
    for mechanism in MECHANISMS:
        assert np.exp(
            log_counts + Mechanism(mechanism, epsilon, 1).log_f(log_counts)
        ).sum() == pytest.approx(1, abs=2e-11)


def test_exponential_pmf_is_per_letter_randomised_response():
    odds = 42 * math.exp(-3.0 / 4)
    wrong = odds / (1 + odds)
    reference = [
        math.comb(14, k) * wrong**k * (1 - wrong) ** (14 - k) for k in range(15)
    ]
    found = words.pmf(alphabet_counts(14, 43), 3.0, 2, mechanism="exponential")
    np.testing.assert_allclose(found, reference, rtol=1e-12)


def test_batches_are_their_rows():
    epsilons = np.array([[0.5], [5.0]])
    counts = np.array([[1, 4, 4], [1, 0, 9], [1, 2, 0]])
    for mechanism in MECHANISMS[:2]:
        batch = words.pmf(counts, epsilons, mechanism=mechanism)
        rows = [
            [words.pmf(row, e, mechanism=mechanism) for row in counts]
            for (e,) in epsilons
        ]
        np.testing.assert_allclose(batch, rows, rtol=1e-15)
    assert expected_error(counts, epsilons).shape == (2, 3)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@some("four states")
def test_private_words_follow_the_law(word, where, space, distance, mechanism):
    automaton = HammingAutomaton(word, **where)
    law = Mechanism(mechanism, 3.0, 2, 1)
    rng = np.random.default_rng(9)
    observed = tally(
        automaton.sample(law.draw(automaton.log_counts, (40_000,), rng), rng),
        space,
    )
    right, wrong = (
        np.exp(each.log_f(automaton.log_counts)[distance])
        for each in (law, law._replace(epsilon=3.3))
    )
    assert p_value(observed, right) > SIGNIFICANCE > p_value(observed, wrong)


@pytest.mark.parametrize(
    "counts, epsilon",
    [(alphabet_counts(500, 10**9), 41.4), (alphabet_counts(30, 3), 4.0)],
)
@pytest.mark.parametrize("mechanism", MECHANISMS[:2])
def test_distances_of_many_words_follow_the_law(counts, epsilon, mechanism):
    """Peers that sum over subsets, or multiply over candidates, stop near 3^7 words."""
    draws = words.draw_distances(
        counts, epsilon, mechanism=mechanism, size=20_000, rng=10
    )
    observed = np.bincount(draws, minlength=len(counts))
    right, wrong = (
        words.pmf(counts, factor * epsilon, mechanism=mechanism) for factor in (1, 1.1)
    )
    assert p_value(observed, right) > SIGNIFICANCE > p_value(observed, wrong)


# Errors and bounds


def test_permute_and_flip_saves_at_most_half_of_the_expected_errors():
    rng = np.random.default_rng(11)
    for _ in range(100):
        n = int(rng.integers(1, 12))
        counts = rng.integers(0, 10 ** rng.integers(1, 8), n + 1) * (
            rng.random(n + 1) < 0.7
        )
        counts[0] = 1
        epsilon = float(10 ** rng.uniform(-2, 1.5))
        b = int(rng.integers(1, 4))
        error, exponential = (
            expected_error(counts, epsilon, b, mechanism=mechanism)
            for mechanism in MECHANISMS[:2]
        )
        assert exponential / 2 <= error * (1 + 1e-12)
        assert error <= exponential * (1 + 1e-12)


@pytest.mark.parametrize("n", [1, 3, 14])
def test_two_words_attain_the_largest_reduction(n):
    counts = np.eye(1, n + 1, dtype=int)[0] + np.eye(1, n + 1, n, dtype=int)[0]
    for epsilon in (0.1, 1.0, 5.0):
        flip, exponential = (
            expected_error(counts, epsilon, mechanism=mechanism)
            for mechanism in MECHANISMS[:2]
        )
        share = (1 - np.exp(-epsilon * n / 2)) / 2
        assert 1 - flip / exponential == pytest.approx(share, rel=1e-12)


# Exact privacy


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("b", [1, 2, 9])
@some(*SPACES)
def test_exact_epsilon_is_that_of_all_pairs(word, where, space, distance, b, mechanism):
    distances = apart(space)
    n = len(word)
    offset = (
        0 if "adjacency" in where else None
    )  # the best on an alphabet, none on a chain
    exact = exact_word_epsilon(n, 4.0, mechanism=mechanism, b=b, **where)
    brute = spent(
        log_law(Mechanism(mechanism, 4.0, b, offset), distances, n), distances, b
    )
    assert exact == pytest.approx(brute, rel=1e-12, abs=1e-13) and exact <= 4.0 + 1e-12


@pytest.mark.parametrize(
    ("adjacency", "n"),
    [(FOUR, 5), (RING, 6), (TRAP, 6), (np.ones((3, 3)) - np.eye(3), 5)],
)
def test_the_largest_log_ratio_gives_the_exact_epsilon(adjacency, n):
    for epsilon in (0.5, 3.0, 8.0):
        exact = exact_word_epsilon(
            n, epsilon, mechanism="exponential", adjacency=adjacency, start=0
        )
        chain = word_space(None, adjacency, 0).chain
        ratio = largest_log_ratio(chain, n, epsilon / 2)
        assert exact - 1e-12 <= epsilon / 2 + ratio <= exact + 2e-9


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"length": 0}, "length must be an integer of at least 1, got 0"),
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"b": 0}, "b must be an integer of at least 1, got 0"),
        ({"letters": None}, "letters must be given"),
    ],
)
def test_exact_word_epsilon_refuses_bad_input(bad, message):
    good = {"length": 3, "epsilon": 1.0, "b": 1, "letters": 2}
    with pytest.raises(ValueError, match=message):
        exact_word_epsilon(**(good | bad))


def test_bounds_on_messages_hold_for_every_word():
    """A step's bounds exchanged, or its shared terms, and some word's message leaves
    its interval."""
    rng = np.random.default_rng(22)
    for _ in range(80):
        states = int(rng.integers(3, 6))
        n = int(rng.integers(3, 6))
        q = float(np.exp(-rng.uniform(0.1, 4)))
        adjacency = random_chain(rng, states)
        weights = np.where(np.eye(states), 1.0, q)
        matrix = sp.csr_array(adjacency.astype(float).T)
        before = one_side(matrix, adjacency[0] * 1.0, n, weights)
        for word in itertools.islice(feasible(n, adjacency=adjacency, start=0), 300):
            inflow = adjacency[0] * 1.0  # the weight of what may follow a prefix
            for position, letter in enumerate(word):
                message = np.where(np.arange(states) == letter, 1.0, q) * inflow
                ratio = message / message[letter]
                inflow = message @ adjacency
                assert before.feasible[position, letter]
                assert (before.low[position, letter] <= ratio * (1 + 1e-12)).all()
                assert (ratio <= before.high[position, letter] * (1 + 1e-12)).all()


@pytest.mark.parametrize("returns", [True, False])
@pytest.mark.parametrize("n", range(1, 8))
def test_the_largest_log_ratio_is_that_of_all_pairs(n, returns):
    """False from n = 4 on when the two bounds of a step are exchanged."""
    rng = np.random.default_rng(14 + n)
    for _ in range(60 if n < 6 else 12):  # a long word takes longer
        adjacency = random_chain(rng, int(rng.integers(2, 7 if n < 5 else 5)), 0.4)
        rate = float(rng.uniform(0.1, 4))
        where = {"adjacency": adjacency, "start": 0}
        if not returns:
            where = without_return(adjacency, 0)
        listed = list(feasible(n, **where))
        if not 0 < len(listed) <= 600:
            continue
        distances = apart([list(map(str, word)) for word in listed])
        log_z = np.log(np.exp(-rate * distances).sum(axis=1))
        largest = ((log_z - log_z[:, None]) * (distances == 1)).max()
        bound = largest_log_ratio(word_space(**where).chain, n, rate)
        assert largest - 1e-12 <= bound <= largest + 2e-9


def test_the_successors_of_a_state_differ_in_their_letters():
    good = {"adjacency": [[0, 1, 1], [0, 0, 1], [0, 1, 0]], "start": "x"}
    assert words.HammingAutomaton("ab", letters=["x", "a", "b"], **good)
    with pytest.raises(ValueError, match=r"letters must differ .* got \['a', 'a'\]"):
        words.HammingAutomaton("aa", letters=["x", "a", "a"], **good)
    with pytest.raises(ValueError, match="start must be the label of one state only"):
        words.HammingAutomaton("aa", letters=["x", "a", "x"], **good)
    with pytest.raises(ValueError, match="different labels"):
        words.HammingAutomaton("aa", letters=["a", "a"])


@pytest.mark.parametrize(
    ("n", "m", "lost", "b"),
    [(2, 2, 1.0, 1), (3, 2, 0.7, 2), (2, 3, 1.5, 1), (3, 2, 2.0, 3)],
)
def test_least_error_is_that_of_all_mechanisms(n, m, lost, b):
    """A linear programme in the whole matrix P(r | w), without symmetry: least largest
    expected distance."""
    distances = apart(list(feasible(n, m)))
    size = len(distances)
    rows = []
    for w, v in np.argwhere((distances > 0) & (distances <= b)):
        for r in range(size):
            row = np.zeros((size, size))
            row[w, r] = 1.0
            row[v, r] = -math.exp(lost)
            rows.append((*row.ravel(), 0.0))
    for w in range(size):
        rows.append((*(np.eye(size)[w][:, None] * distances).ravel(), -1.0))
    sums = np.hstack([np.kron(np.eye(size), np.ones(size)), np.zeros((size, 1))])
    goal = np.eye(1, size**2 + 1, size**2)[0]
    best = linprog(
        goal,
        A_ub=rows,
        b_ub=np.zeros(len(rows)),
        A_eq=sums,
        b_eq=np.ones(size),
        method="highs",
    )
    assert words.least_expected_error(n, m, lost, b) == pytest.approx(
        best.fun, abs=1e-7
    )
    if b == 1:
        assert words.least_mean_error(distances, lost) == pytest.approx(
            best.fun, abs=1e-7
        )  # all alike: worst is mean


@pytest.mark.parametrize(
    ("n", "m", "b", "lost"),
    [(5, 2, 2, 5.0), (6, 3, 3, 2.0), (7, 2, 3, 1.0), (4, 4, 2, 3.0), (5, 2, 1, 3.0)],
)
def test_staircase_with_the_best_offset_is_optimal(n, m, b, lost):
    """For b = 1 it is randomised response letter by letter."""
    counts = alphabet_counts(n, m)
    best = expected_error(counts, 2 * lost, b, mechanism="staircase")
    assert best == pytest.approx(words.least_expected_error(n, m, lost, b), rel=1e-6)
    assert exact_word_epsilon(
        n, 2 * lost, b=b, letters=m, mechanism="staircase"
    ) == pytest.approx(lost)
    errors = [
        _mean(Mechanism("staircase", 2 * lost, b, offset).pmf(log_integers(counts)))
        for offset in range(b)
    ]
    assert errors[best_offset(log_integers(counts), 2 * lost, b)] == min(errors) == best


@pytest.mark.parametrize(("offset", "stairs"), [(0, [0, 1, 1, 2]), (1, [1, 1, 2, 2])])
def test_the_staircase_rises_by_one_every_b_letters_from_its_offset_on(offset, stairs):
    counts = np.array([1, 3, 3, 1])
    epsilon = 1.3
    law = counts * np.exp(-epsilon / 2 * np.array(stairs))
    found = Mechanism("staircase", epsilon, 2, offset).pmf(log_integers(counts))
    assert found == pytest.approx(law / law.sum(), rel=1e-12)


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


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (
            lambda: HammingAutomaton((1,), adjacency=1 - np.eye(2), start=0).sample(1),
            "distance",
        ),
        (lambda: words.pmf([1, 2.5], 1.0), "counts"),
        (lambda: words.pmf([0, 2], 1.0), "counts"),
        (lambda: words.pmf([1, -(10**30)], 1.0), "counts"),
        (
            lambda: expected_error([[1, 2], [1, 3]], 1.0, 2, mechanism="staircase"),
            "counts",
        ),
        (lambda: words.draw_distances([[1, 2]], 1.0), "counts"),
        (
            lambda: exact_word_epsilon(
                3, 1.0, adjacency=np.triu(np.ones((2, 2)), 1), start=0
            ),
            "length",
        ),
        (
            lambda: exact_word_epsilon(7, 1.0, adjacency=np.ones((3, 3)), start=0),
            "length",
        ),
        (lambda: words.least_expected_error(5, 1, 1.0), "m must"),
    ],
)
def test_arguments_that_are_refused(call, argument):
    with pytest.raises(ValueError, match=argument):
        call()
