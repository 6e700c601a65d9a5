import math

import numpy as np
import pandas as pd
import pytest

from tools.verify import audit_cases, measures
from tools.verify import privacy_audit as full_audit


def test_the_chance_of_an_error_is_shared_by_all_bounds_of_an_audit(monkeypatch):
    """Two bounds at each epsilon, three where a broken version is tried too, each wrong
    with 2 alpha at most."""
    asked = set()

    def bracket(case, factor, draws, seed, alpha):
        asked.add(alpha)
        return np.zeros(case.epsilon.size), np.ones(case.epsilon.size)

    monkeypatch.setattr(full_audit, "bracket", bracket)
    cases = [
        audit_cases.Case(
            "none",
            str(size),
            *[np.zeros(size)] * 3,
            lambda *_: np.zeros(0),
            breakable=breakable,
        )
        for size, breakable in ((3, False), (2, True))
    ]
    full_audit.run(cases)
    (alpha,) = asked
    assert 2 * alpha * (3 * 2 + 2 * 3) == pytest.approx(full_audit.FAILURE)


@pytest.mark.parametrize(
    ("spent", "delta"), [(0.0, 0.0), (1.5, 0.0), (2.0, 0.1), (0.0, 1.0)]
)
def test_the_implied_delta_is_that_of_leaky_randomised_response(spent, delta):
    keep = (1.0 - delta) / (1.0 + math.exp(-spent))
    p = np.array([delta, 0.0, keep, 1.0 - delta - keep])
    epsilon = np.linspace(0.0, 3.0, 13)
    exact = measures.hockey_stick(p, p[[1, 0, 3, 2]], epsilon)
    np.testing.assert_allclose(
        measures.implied_delta(epsilon, spent, delta), exact, atol=1e-14
    )


def test_exceedances_depend_on_the_seed_and_the_name_alone(monkeypatch):
    def losses(size, rng):
        return rng.normal(size=size)

    counts = {}
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        counts[threads] = measures.exceedances(
            losses, [-1e9, 0.0, 1e9], 120_001, seed=3, name="normal"
        )
    assert counts["1"].tolist() == counts["2"].tolist()
    assert counts["1"][0] == 120_001 and counts["1"][2] == 0
    assert abs(counts["1"][1] - 60_000) < 1000
    assert measures.exceedances(losses, 0.0, 1000, seed=4, name="normal").shape == ()


@pytest.fixture(scope="module")
def table():
    """Cases that are dear to draw get fewer draws: 20 % off shows in them at once."""
    found = full_audit.cases(full_audit.release_cases(everything=False))
    dear = {"release", "private pairs", "decision process", "Boltzmann, chain"}
    few, many = [
        [case for case in found if (case.mechanism in dear) == wanted]
        for wanted in (True, False)
    ]
    return pd.concat(
        [
            full_audit.run(few, draws=60_000, seed=5),
            full_audit.run(many, draws=150_000, seed=5),
        ]
    )


def test_every_mechanism_keeps_its_claim_and_has_its_exact_profile(table):
    assert not table["violates_claim"].any()
    assert table["agrees_with_pair"].all()
    assert (table["claimed_delta"] >= 0.99 * audit_cases.SMALLEST_CLAIM).all()
    assert (table["claimed_delta"] >= table["pair_delta"] - 1e-9).all()


def test_every_mechanism_twenty_percent_off_is_proven_in_violation(table):
    settings = table.dropna(subset="broken_lower").groupby(["mechanism", "setting"])
    assert settings["broken_caught"].any().all()
    assert set(table["mechanism"]) == set(
        table.dropna(subset="broken_lower")["mechanism"]
    )


def test_of_the_published_bounds_only_that_for_rows_that_change_together_is_refuted(
    table,
):
    refuted = set(table.loc[table["violates_published"], "setting"])
    assert refuted == {"k 9.87, all 32 rows change"}


def test_the_page_has_every_setting_and_says_when_one_fails(table):
    page = full_audit.markdown(table, 150_000)
    assert page.startswith("# ") and all(
        f"| {setting} |" in page for setting in table["setting"]
    )
    assert "refute no claim" in page
    for fault in (
        {"violates_claim": True},
        {"agrees_with_pair": False},
        {"broken_caught": False},
    ):
        assert not full_audit.is_sound(full_audit.summary(table.assign(**fault)))
        assert "show a fault" in full_audit.markdown(table.assign(**fault), 150_000)
