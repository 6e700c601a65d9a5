"""The three promises of every `privatize`: its randomness, a statement that no secret
changes, labels that stay."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpsim import boltzmann, dirichlet, mdp, private, streams, words

STARTUP = mdp.startup_mdp()
ROADS = np.array([[0, 1, 1, 0], [1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 1, 1]])
ROW = {"support": [True] * 3, "eta": 0.1, "records": 100, "epsilon": 1.0, "delta": 1e-4}
PLAN = {
    "support": STARTUP.transitions > 0,
    "rows": "one",
    "b": 0.02,
    "epsilon": 5.0,
    "delta": 1e-3,
}
COUNTS = {"epsilon": 0.5, "total": 40, "bins": 3}
LETTERS = {"epsilon": 1.0, "b": 1, "letters": "abc"}
VECTORS = [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]
MATRICES = [[[0.5, 0.5, 0.0], [0.1, 0.1, 0.8]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
HISTOGRAMS = [[20, 15, 5], [40, 0, 0], [0, 1, 39]]
KEPT = [[20, 15, 5], [35, 0, 5], [1, 34, 5]]
TRIPS = [[1, 3, 0, 2, 3, 2], [2, 1, 1, 1, 1, 1], [1, 0, 1, 0, 1, 0]]
SPELT = [list("abcabcabc"), list("aaaaaaaaa"), list("cabacabac")]


def models():
    """Models with the startup's public part: its own transitions, and others, some of
    them off the support."""
    rng = np.random.default_rng(6)
    one = np.zeros((7, 6, 7))
    one[..., 3] = 1.0
    return [
        STARTUP,
        *(
            replace(STARTUP, transitions=p)
            for p in (rng.dirichlet(np.ones(7), size=(7, 6)), one)
        ),
    ]


CASES = {
    "dirichlet vector": (dirichlet.privatize, VECTORS, ROW),
    "dirichlet matrix": (
        dirichlet.privatize,
        MATRICES,
        {**ROW, "rows": "one", "epsilon": 4.0},
    ),
    "words": (words.privatize, SPELT, {**LETTERS, "b": 2}),
    "words, permute-and-flip": (
        words.privatize,
        SPELT,
        {**LETTERS, "mechanism": "permute-and-flip"},
    ),
    "words on roads": (
        words.privatize,
        TRIPS,
        {"epsilon": 1.0, "b": 1, "adjacency": ROADS, "start": 0},
    ),
    "boltzmann": (
        boltzmann.privatize,
        HISTOGRAMS,
        {**COUNTS, "mechanism": "boltzmann"},
    ),
    "boltzmann, steps": (
        boltzmann.privatize,
        HISTOGRAMS,
        {**COUNTS, "mechanism": "boltzmann", "steps": 30_000},
    ),
    "boltzmann, Laplace": (boltzmann.privatize, HISTOGRAMS, COUNTS),
    "boltzmann, invariant": (
        boltzmann.privatize,
        KEPT,
        {**COUNTS, "invariant": {2: 5}},
    ),
    "mdp": (mdp.privatize, models(), PLAN),
    "mdp, Dirichlet": (
        mdp.privatize,
        models(),
        {**PLAN, "eta": 0.1, "mechanism": "dirichlet"},
    ),
    "mdp, Laplace": (mdp.privatize, models(), {**PLAN, "mechanism": "laplace"}),
    "mdp, Gaussian": (mdp.privatize, models(), {**PLAN, "mechanism": "gaussian"}),
}


def numbers(release):
    """What a release shows, as plain numbers or letters."""
    return np.asarray(getattr(release.value, "transitions", release.value)).tolist()


@pytest.mark.parametrize(("privatize", "secrets", "public"), CASES.values(), ids=CASES)
def test_all_randomness_is_the_operating_systems_or_marked_as_a_simulation(
    privatize, secrets, public, monkeypatch
):
    generator = np.random.default_rng(7)
    seeded = [privatize(secrets[0], **public, rng=rng) for rng in (7, generator, 0)]
    assert numbers(seeded[0]) == numbers(seeded[1]), (
        "the generator that is passed, and no other"
    )
    assert generator.random() != np.random.default_rng(7).random(), "it was drawn from"
    assert all(
        made.simulation and made.statement.startswith(private.SIMULATION)
        for made in seeded
    )
    monkeypatch.setattr(streams, "private", lambda: np.random.default_rng(7))
    real = privatize(secrets[0], **public)
    assert numbers(real) == numbers(seeded[0]), "nothing is drawn from elsewhere"
    assert not real.simulation and "SIMULATION" not in real.statement
    monkeypatch.undo()
    assert len({str(numbers(privatize(secrets[0], **public))) for _ in range(8)}) > 1, (
        "two runs differ"
    )


@pytest.mark.parametrize(("privatize", "secrets", "public"), CASES.values(), ids=CASES)
def test_what_is_said_does_not_depend_on_the_secret(privatize, secrets, public):
    made = [privatize(secret, **public, rng=1) for secret in secrets]
    assert (
        len({(m.statement, m.epsilon, m.delta, str(m.parameters)) for m in made}) == 1
    )
    assert made[0].epsilon <= public["epsilon"] and made[0].delta <= public.get(
        "delta", 1.0
    )


@pytest.mark.parametrize(
    "name", [name for name in CASES if "mdp" not in name and "roads" not in name]
)
def test_public_labels_stay(name):
    privatize, secrets, public = CASES[name]
    if np.ndim(secrets[0]) == 2:
        secret = pd.DataFrame(secrets[0], index=["u", "v"], columns=["x", "y", "z"])
        assert privatize(secret, **public).value.columns.equals(secret.columns)
    else:
        secret = pd.Series(
            secrets[0], index=list("ihgfedcba"[: len(secrets[0])]), name="kept"
        )
        if privatize is words.privatize:
            public = {**public, "public_labels": True}
        assert privatize(secret, **public).value.name == "kept"
    kept = privatize(secret, **public).value
    assert (
        type(kept) is type(secret)
        and kept.index.equals(secret.index)
        and kept.shape == secret.shape
    )


def test_a_private_model_keeps_what_is_public():
    public = {
        name: value for name, value in vars(STARTUP).items() if name != "transitions"
    }
    kept = vars(mdp.privatize(STARTUP, **PLAN).value)
    for name, value in public.items():
        np.testing.assert_array_equal(kept[name], value, name)


def test_a_number_of_a_guarantee_is_rounded_up():
    shown = {1.1101: "1.12", 1.11: "1.11", 2.3000000001: "2.31", 0.001: "0.01"}
    assert {value: private.round_up(value) for value in shown} == shown
    for value in np.random.default_rng(1).lognormal(0.0, 9.0, 500).tolist():
        for spec in (".2f", ".3g", ".6g", ".1e"):
            up = float(private.round_up(value, spec))
            assert value <= up <= value + 0.01 + 0.11 * value


def test_a_mechanism_draws_from_the_generator_of_its_release():
    mechanism = private.Mechanism(
        epsilon=1,
        delta=0,
        statement="It is private.",
        draw=lambda secret, rng: secret + rng.integers(100),
        parameters={"k": 2},
    )
    made = mechanism.release(3, 5)
    assert made.value == 3 + np.random.default_rng(5).integers(100)
    assert made.statement == f"{private.SIMULATION} It is private."
    assert (made.epsilon, made.delta, made.parameters) == (1.0, 0.0, {"k": 2})
    real = mechanism.release(3, None)
    assert not real.simulation and real.statement == "It is private."
    with pytest.raises(TypeError, match="rng must be"):
        mechanism.release("no number", "no generator")
