"""words.privatize: the law of the release for all neighbours, by enumeration; labels;
what is public."""

import traceback

import numpy as np
import pandas as pd
import pytest
from all_words import FOUR, apart, feasible, log_law, spent, without_return
from chi_square import p_value

from dpsim import words
from dpsim.numerics import exact_draws
from dpsim.words import exact_epsilon, normaliser_bound, private_word
from dpsim.words.automaton import draw_error, log_integers
from dpsim.words.candidates import word_space
from dpsim.words.exact_epsilon import calibrated
from dpsim.words.permute_and_flip import MECHANISMS, Mechanism

SPACES = {
    "binary": ({"letters": 2}, 4),
    "labels": ({"letters": "abc"}, 3),
    "one letter": ({"letters": 5}, 1),
    "network": ({"adjacency": FOUR, "start": 0}, 3),
    "no way back": (without_return(FOUR, 0), 4),
    "secret start": ({"adjacency": FOUR, "start": words.candidates.ANYWHERE}, 3),
}


def used(made):
    """The law that privatize says it drew with."""
    return Mechanism(
        *(
            made.parameters[name]
            for name in ("mechanism", "promised_epsilon", "b", "offset")
        )
    )


@pytest.mark.parametrize("mechanism", [None, *MECHANISMS])
@pytest.mark.parametrize("b", [1, 2, 3])
@pytest.mark.parametrize("name", SPACES)
def test_the_release_spends_what_it_says(name, b, mechanism):
    space, length = SPACES[name]
    listed = list(feasible(length, **space))
    distances = apart(listed)
    for epsilon in (0.3, 2.0):
        release = words.privatize(
            listed[0], epsilon=epsilon, b=b, mechanism=mechanism, rng=1, **space
        )
        logs = log_law(used(release), distances, length)
        np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0, rtol=1e-12)
        lost = spent(logs, distances, b)
        assert lost <= release.epsilon * (1 + 1e-12) <= epsilon * (1 + 1e-12)
        assert f"epsilon {release.epsilon!r} (exact), delta 0" in release.statement
        assert release.epsilon == pytest.approx(lost, rel=1e-8)
        if release.epsilon < epsilon or mechanism == "permute-and-flip":
            assert release.epsilon >= min(lost + 1.9e-9, epsilon), (
                "a margin for two kinds of rounding"
            )
        if "adjacency" not in space and mechanism != "permute-and-flip":
            assert release.epsilon == epsilon
        elif release.parameters["promised_epsilon"] < 2 * epsilon:
            assert release.epsilon >= (1 - 1e-3) * epsilon
        if (
            (distances > b).any()
            and mechanism is None
            and "letters" in space
            and b == 1
        ):
            assert (
                spent(logs, distances, 2) > epsilon
            )  # an adjacency one too small would not be protected


@pytest.mark.parametrize("name", SPACES)
def test_the_release_has_the_law_it_states(name, monkeypatch):
    space, length = SPACES[name]
    listed = list(feasible(length, **space))
    once = calibrated(word_space(**space), length, 1.5, 1, "exponential")
    monkeypatch.setattr(private_word, "calibrated", lambda *_: once)
    automaton = words.HammingAutomaton(listed[0], **space)
    logs = automaton.log_counts + once[0].log_f(automaton.log_counts)
    for seed in range(50):  # a release is one draw of what is counted below
        made = words.privatize(list(listed[0]), epsilon=1.5, b=1, rng=seed, **space)
        assert (
            made.value
            == automaton.draw_word(logs, np.random.default_rng(seed)).tolist()
        )
    seen = dict.fromkeys(listed, 0)
    rng = np.random.default_rng(5)
    for _ in range(10_000):
        seen[tuple(automaton.draw_word(logs, rng).tolist())] += 1
    assert (
        p_value(
            np.array(list(seen.values())),
            np.exp(log_law(used(made), apart(listed), length)[0]),
        )
        > 1e-6
    )


class Rare:
    """A generator whose first uniform numbers are the smallest, as the first 53 bits
    rarely are."""

    def __init__(self, zeros):
        self.left = zeros

    def random(self):
        self.left -= 1
        return 0.0 if self.left >= 0 else 0.5


@pytest.mark.parametrize(
    ("epsilon", "zeros"), [(30.0, 0), (40.0, 1), (60.0, 1), (100.0, 2), (2000.0, 55)]
)
def test_no_word_is_too_improbable_to_be_drawn(epsilon, zeros, monkeypatch):
    """With one letter of two the other letter has the probability 1 / (1 + e^epsilon):
    53 bits are not enough."""
    logs = Mechanism("exponential", 2.0 * epsilon, 1).log_f(np.zeros(2))
    tree = exact_draws.weight_tree(logs - logs.max())
    drawn = exact_draws.descend.py_func
    monkeypatch.setattr(exact_draws, "happens", exact_draws.happens.py_func)
    monkeypatch.setattr(exact_draws, "survives", exact_draws.survives.py_func)
    assert drawn(Rare(zeros), tree) == 0, (
        "so many bits leave it open, or decide for the secret"
    )
    bits = epsilon / np.log(2.0)
    assert drawn(Rare(int(bits // 53) + 2 + int(epsilon > 700.0)), tree) == 1


@pytest.mark.parametrize(("zeros", "first"), [(0, 2), (1, 2), (2, 1)])
def test_improbable_words_of_a_network_are_drawn_too(zeros, first, monkeypatch):
    """Of the words that differ everywhere from 9, 9, ..., one begins with 1, and 40^11
    begin with 2."""
    n = 12
    roads = np.zeros((43, 43))
    roads[0, [1, 2, 9]] = roads[1, 1] = roads[9, 9] = 1.0
    roads[2, 3:] = roads[10:, 3:] = roads[3:9, 3:] = 1.0
    automaton = words.HammingAutomaton([9] * n, adjacency=roads, start=0)
    logs = np.where(np.arange(n + 1) == n, 0.0, -np.inf)
    for name in ("happens", "survives", "descend"):
        monkeypatch.setattr(exact_draws, name, getattr(exact_draws, name).py_func)
    assert automaton.draw_word(logs, Rare(zeros))[0] == first


def test_the_margin_covers_the_rounding_of_the_draws():
    """The bound is far below the smallest margin for the papers' words, and grows with
    their length and epsilon."""
    for space, n, epsilon in (
        ({"letters": 4}, 14, 10.0),
        ({"adjacency": FOUR, "start": 0}, 14, 10.0),
    ):
        assert 1e-10 < draw_error(word_space(**space), n, 2.0 * epsilon) < 5e-10
    errors = [
        draw_error(word_space(letters=4), n, e)
        for n in (10, 100, 1000)
        for e in (1.0, 1e3, 1e6)
    ]
    assert errors == sorted(errors[:3]) + sorted(errors[3:6]) + sorted(errors[6:])
    assert errors[0] < errors[3] < errors[6] < 1e-7
    for epsilon in (1e-6, 0.3, 1e3, 1e6):
        made = words.privatize([0] * 100, epsilon=epsilon, b=1, letters=4, rng=1)
        promised = made.parameters["promised_epsilon"]
        assert (
            made.epsilon
            == epsilon
            > promised / 2.0
            + 2.0 * draw_error(word_space(letters=4), 100, promised) * 0.999
        )


def test_labels_of_a_series_are_secret_unless_they_are_declared_public():
    times = pd.to_datetime(["2024-01-02 08:00", "2024-01-02 09:00", "2024-01-03 17:00"])
    visits = pd.Series(list("cab"), index=times, name="Ann")
    public = {"epsilon": 1.0, "b": 1, "letters": "abc"}
    made = words.privatize(visits, **public)
    assert made.value.index.equals(pd.RangeIndex(3)) and made.value.name is None
    assert made.statement.endswith("The length and the alphabet are public.")
    kept = words.privatize(visits, **public, public_labels=True)
    assert kept.value.index.equals(times) and kept.value.name == "Ann"
    assert kept.statement.endswith(
        "The length and the alphabet, the index and the name are public."
    )


def test_a_large_network_spends_a_proven_bound(monkeypatch):
    space = word_space(None, FOUR, 0)
    for mechanism in MECHANISMS:
        law, lost, exact = calibrated(space, 5, 2.0, 1, mechanism)
        assert exact and lost <= 2.0 < law.epsilon
        with monkeypatch.context() as large:
            large.setattr(exact_epsilon, "ENUMERATED", 0)
            bounded, proven, enumerated = calibrated(space, 5, 2.0, 1, mechanism)
            wide, at_most, _ = calibrated(space, 5, 2.0, 2, mechanism)
        assert not enumerated and proven <= 2.0
        assert (bounded.epsilon == 2.0) == (mechanism == "permute-and-flip")
        assert (
            words.exact_word_epsilon(
                5, bounded.epsilon, mechanism=mechanism, adjacency=FOUR, start=0
            )
            <= proven
        )
        assert wide.epsilon == at_most == 2.0  # b > 1: the theorem alone
    monkeypatch.setattr(exact_epsilon, "ENUMERATED", 0)
    monkeypatch.setattr(normaliser_bound, "NARROW", 0)
    assert (
        calibrated(space, 5, 2.0, 1, "exponential")[0].epsilon == 2.0
    )  # and where nothing better can be computed


def test_where_only_the_promise_is_known_permute_and_flip_is_used(monkeypatch):
    """At the same promise its error is never larger, so the exponential mechanism would
    be the wrong choice."""
    where = {"adjacency": FOUR, "start": 0, "rng": 1}
    word = list(next(feasible(5, adjacency=FOUR, start=0)))
    small = words.privatize(word, epsilon=2.0, b=1, **where)
    assert small.parameters["mechanism"] == "exponential"
    monkeypatch.setattr(exact_epsilon, "ENUMERATED", 0)
    bounded = words.privatize(word, epsilon=2.0, b=1, **where)
    assert bounded.parameters["mechanism"] == "exponential"
    assert bounded.parameters["promised_epsilon"] > 2.0
    monkeypatch.setattr(normaliser_bound, "NARROW", 0)  # so that nothing can be proved
    for b in (1, 2):
        promised = words.privatize(word, epsilon=2.0, b=b, **where)
        assert promised.parameters["mechanism"] == "permute-and-flip"
        assert promised.epsilon == 2.0
        assert (
            2.0 - 1e-8 < promised.parameters["promised_epsilon"] < 2.0
        )  # less by the draws' share
        assert "epsilon 2.0 (a proven upper bound)" in promised.statement
    asked = words.privatize(word, epsilon=2.0, b=1, mechanism="exponential", **where)
    assert asked.parameters["mechanism"] == "exponential"


@pytest.mark.parametrize(("n", "m", "b"), [(5, 2, 1), (5, 2, 2), (6, 3, 3), (3, 2, 5)])
def test_the_default_errs_least_at_an_equal_epsilon(n, m, b):
    log_counts = log_integers(words.alphabet_counts(n, m))

    def error(mechanism):
        law = used(
            words.privatize(
                [0] * n, epsilon=2.0, b=b, letters=m, mechanism=mechanism, rng=1
            )
        )
        return np.exp(log_counts + law.log_f(log_counts)) @ np.arange(n + 1)

    assert error(None) == min(map(error, MECHANISMS))
    assert error(None) == pytest.approx(
        words.least_expected_error(n, m, 2.0, b), rel=1e-6
    )


def test_a_word_keeps_its_type():
    for kind in (list, tuple, "".join, pd.Series):
        word = kind(list("cab"))
        assert type(
            words.privatize(word, epsilon=1.0, b=1, letters="abc").value
        ) is type(word)
    for kind, entry in ((np.array, np.int64), (list, int)):
        assert (
            type(words.privatize(kind([0, 1]), epsilon=1.0, b=1, letters=3).value[0])
            is entry
        )


def test_public_arguments_are_refused_before_the_word_is_read():
    class Secret(list):
        def __iter__(self):
            raise AssertionError("the word was read")

    secret = Secret("ab")
    good = {"epsilon": 1.0, "b": 1, "letters": "ab"}
    for bad in (
        {"epsilon": 0.0},
        {"epsilon": "1"},
        {"b": 0},
        {"letters": None},
        {"mechanism": "x"},
        {"rng": "x"},
    ):
        with pytest.raises((ValueError, TypeError), match=next(iter(bad))):
            words.privatize(secret, **{**good, **bad})
    with pytest.raises(TypeError, match="required keyword-only"):
        words.privatize("ab", epsilon=1.0, letters="ab")
    with pytest.raises(ValueError, match="start must be one of the states"):
        words.privatize([0], epsilon=1.0, b=1, adjacency=FOUR)


SECRETS = [
    ["secret"],
    ("a", "secret"),
    "secret",
    70707,
    {"secret"},
    ["a", ["secret"]],
    [2, 3, 1],
]


@pytest.mark.parametrize(
    "space", [{"letters": 26}, {"letters": "ab"}, {"adjacency": FOUR, "start": 0}]
)
@pytest.mark.parametrize("word", SECRETS)
def test_a_refused_word_is_not_shown(word, space):
    if word == SECRETS[-1] and space == {"letters": 26}:
        return  # a word of it
    with pytest.raises(ValueError, match=r"^word must") as refused:
        words.privatize(word, epsilon=1.0, b=1, **space)
    shown = "".join(traceback.format_exception_only(refused.value)).replace(
        "a secret, so not shown", ""
    )
    assert "secret" not in shown and not any(
        digit in shown.split("got")[-1] for digit in "1237"
    )
    assert refused.value.__cause__ is None and refused.value.__context__ is None
