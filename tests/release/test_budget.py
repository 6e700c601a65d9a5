"""The budget file: what adds up, what is refused, and that two releases at once cannot both spend the rest."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
from pathlib import Path

import pandas as pd
import pytest

from dpsim import release
from dpsim.accounting import Unit
from dpsim.release import budget
from dpsim.release import chain as release_module

TRIPS = pd.DataFrame({"origin": ["a", "b"], "destination": ["b", "a"], "trips": [500, 400]})
AB = release.all_pairs(["a", "b"])


def book(file: Path) -> list[dict[str, object]]:
    return json.loads(file.read_text())["releases"]


def spend(file: Path, epsilon: float, delta: float = 0.0, unit: Unit | None = None, **more: object):  # type: ignore[no-untyped-def]
    settings = {"adjacency": "add-remove", "limit": None} | more
    return release.spend(file, epsilon=epsilon, delta=delta, unit=unit or Unit(), **settings)  # type: ignore[arg-type]


def test_losses_add_up_to_the_limit_and_no_further(tmp_path: Path) -> None:
    file = tmp_path / "taxis.budget"
    assert spend(file, 0.5, limit=release.Limit(1.0, 1e-6)) == (0.5, 0.0)
    assert spend(file, 0.4, 1e-6)[0] <= 0.9
    with pytest.raises(ValueError, match="would pass the limit"):
        spend(file, 0.2)
    with pytest.raises(ValueError, match="would pass the limit"):
        spend(file, 0.1, 1e-9)
    assert len(book(file)) == 2  # what is refused is not spent
    assert spend(file, 0.1)[0] == pytest.approx(1.0)
    assert (file.stat().st_mode & 0o777) == 0o600
    assert {key for entry in book(file) for key in entry} == {"epsilon", "delta", "unit", "adjacency", "time"}


def test_the_tighter_composition_is_used_where_it_is_smaller() -> None:
    epsilon, delta = budget.composed([0.1] * 30, [1e-6] * 30)
    assert epsilon < 2.9 and delta == pytest.approx(30e-6)
    assert budget.composed([0.1] * 30, [0.0] * 30) == (math.fsum([0.1] * 30), 0.0)
    for count in (1, 2, 7):
        assert budget.composed([1.0] * count, [1e-6] * count)[0] <= count


def test_units_are_converted_by_proven_rules_alone(tmp_path: Path) -> None:
    file = tmp_path / "budget"
    spend(file, 0.1, unit=Unit(2, 5), limit=release.Limit(9.0, 0.1))
    for covered in (Unit(2, 5), Unit(1, 5), Unit(2, 4), Unit(events=2), Unit()):
        assert budget.spent(book(file), covered, "add-remove")[0] == pytest.approx(0.1)
    for other in (Unit(3, 5), Unit(2, 6), Unit(events=3)):
        with pytest.raises(ValueError, match="no proven rule"):
            spend(file, 0.1, unit=other)
    with pytest.raises(ValueError, match="no proven rule"):
        spend(file, 0.1, unit=Unit(2, 5), adjacency="replace")
    assert budget.covers(Unit(events=10), Unit(2, 5)) and not budget.covers(Unit(events=9), Unit(2, 5))


@pytest.mark.parametrize(
    ("text", "words"),
    [("not json", "is no budget file"), ("[]", "is no budget file"), ('{"version": 1}', "is no budget file")],
)
def test_files_that_are_no_budget(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "budget"
    with pytest.raises(ValueError, match="give --limit"):
        spend(file, 0.1)
    file.write_text(text)
    with pytest.raises(ValueError, match=words):
        spend(file, 0.1, limit=release.Limit(1.0, 0.0))
    assert file.read_text() == text


def test_the_limit_stays_what_it_was(tmp_path: Path) -> None:
    file = tmp_path / "budget"
    spend(file, 0.1, limit=release.Limit(1.0, 0.0))
    with pytest.raises(ValueError, match="limit must be that of budget, 1,0, got 2,0"):
        spend(file, 0.1, limit=release.Limit(2.0, 0.0))
    for text in ("1", "a,b", "0,0", "1,1"):
        with pytest.raises(ValueError, match="limit"):
            release.Limit.of(text)


def test_a_release_is_spent_before_it_is_drawn_and_a_simulation_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "budget"
    settings = {"epsilon": 0.6, "support": AB, "budget": file, "limit": release.Limit(1.0, 0.0)}

    def fails(*_: object) -> None:
        assert len(book(file)) == 1
        raise OSError("no entropy")

    release.release_chain(TRIPS, **settings, rng=1)  # type: ignore[arg-type]
    assert not file.exists()
    monkeypatch.setattr(release_module.draws, "noisy_counts", fails)
    with pytest.raises(OSError, match="no entropy"):
        release.release_chain(TRIPS, **settings)  # type: ignore[arg-type]
    monkeypatch.undo()
    with pytest.raises(ValueError, match="would pass the limit"):
        release.release_chain(TRIPS, **settings)  # type: ignore[arg-type]
    assert len(book(file)) == 1 and book(file)[0]["epsilon"] <= 0.6


def test_an_invalid_release_spends_nothing(tmp_path: Path) -> None:
    file = tmp_path / "budget"
    for bad in ({"trips": [1.5, 2.0]}, {"trips": [-1, 2]}):
        with pytest.raises(ValueError, match="trips must be"):
            release.release_chain(
                TRIPS.assign(**bad), epsilon=0.5, support=AB, budget=file, limit=release.Limit(1.0, 0.0)
            )
    assert not file.exists()


def one_of_many(file: Path) -> None:
    try:
        spend(file, 0.3, limit=release.Limit(1.0, 0.0))
    except ValueError:
        os._exit(3)
    os._exit(0)


def test_two_releases_at_once_cannot_both_spend_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "budget"
    fork = multiprocessing.get_context("fork")  # the package is imported once
    running = [fork.Process(target=one_of_many, args=(file,)) for _ in range(5)]
    for process in running:
        process.start()
    for process in running:
        process.join()
    codes = sorted(process.exitcode or 0 for process in running)
    assert codes == [0, 0, 0, 3, 3]
    assert len(book(file)) == 3
