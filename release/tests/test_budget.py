"""The budget file: what adds up, what is refused, and that two releases at once cannot
both spend the rest.
"""

import json
import multiprocessing
import os
import re
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import dpsim_release as release
from dpsim import cli
from dpsim_release import budget, scratch
from dpsim_release import chain as release_module
from dpsim_release.budget import Limit
from dpsim_release.unit import EVENT, Unit

TRIPS = pd.DataFrame(
    {"origin": ["a", "b"], "destination": ["b", "a"], "trips": [500, 400]}
)
ONE = Limit(1.0, 1e-6)
NEW = {"version": 2, "limit": [1.0, 0.0], "column": None, "releases": []}


def book(file: Path) -> list[dict[str, object]]:
    return json.loads(file.read_text())["releases"]


def spend(
    file: Path,
    epsilon: float,
    delta: float = 0.0,
    unit: Unit = EVENT,
    limit: Limit | None = None,
):  # type: ignore[no-untyped-def]
    return budget.spend(file, epsilon=epsilon, delta=delta, unit=unit, limit=limit)


def test_losses_add_up_to_the_limit_and_no_further(tmp_path: Path) -> None:
    file = tmp_path / "taxis.budget"
    spend(file, 0.5, limit=ONE)
    spend(file, 0.4, 1e-6)
    for more in ((0.2, 0.0), (0.1, 1e-9), (0.1 + 2e-17, 0.0)):
        with pytest.raises(ValueError, match="would pass the limit"):
            spend(file, *more)
    assert len(book(file)) == 2  # what is refused is not spent
    spend(file, 0.1)
    with pytest.raises(ValueError, match="epsilon 1, delta 1e-06 are spent"):
        spend(file, 1e-9)
    assert (file.stat().st_mode & 0o777) == 0o600
    assert {key for entry in book(file) for key in entry} == {
        "epsilon",
        "delta",
        "events",
        "time",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["taxis.budget"]


def test_no_tighter_composition_stands_behind_the_limit(tmp_path: Path) -> None:
    """Four releases of (1e-6, 0.2), then by their outcome one more: delta 0.849 where
    0.8 was promised (math.md, 9).
    """
    file = tmp_path / "budget"
    for _ in range(4):
        spend(file, 1e-6, 0.2, limit=Limit(3.53, 0.8))
    spend(file, 3.529)
    with pytest.raises(ValueError, match="would pass the limit"):
        spend(file, 0.707)


def test_one_file_is_for_events_or_for_one_column(tmp_path: Path) -> None:
    units = {"event": EVENT, "user": Unit(5, "user"), "car": Unit(5, "car")}
    for name, unit in units.items():
        spend(tmp_path / name, 0.1, unit=unit, limit=ONE)
        for other in (Unit(1, "user"), Unit(9, "user"), Unit(5, "car"), EVENT):
            if other.column == unit.column:
                spend(tmp_path / name, 0.1, unit=other)
            else:
                with pytest.raises(ValueError, match="do not add up"):
                    spend(tmp_path / name, 0.1, unit=other)


BAD_LIMITS: list[object] = [[float("inf"), 5], [True, False], None, [1.0, 1.0], [1.0]]
BAD_LIMITS += [["1", "0"], [float("nan"), 0]]
BAD_RELEASES: list[object] = [{}, [{"epsilon": -1.0, "delta": 0.0}], [{"epsilon": 0.1}]]
BAD_RELEASES += [None]


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "[]",
        '{"version": 1}',
        "[" * 100_000,
        "{",
        *(json.dumps(NEW | {"limit": limit}) for limit in BAD_LIMITS),
        *(json.dumps(NEW | {"releases": releases}) for releases in BAD_RELEASES),
        json.dumps(NEW | {"column": 3}),
        '{"version": 1, "limit": [1.0, 0.0], "releases": []}',
        *(json.dumps(NEW | {"version": v}) for v in (2.0, "2", True, None, 3)),
        json.dumps(NEW)[:-1] + ', "limit": [9.0, 0.0]}',
        json.dumps(NEW)[:-1] + ', "releases": []}',
    ],
)
def test_files_that_are_no_budget_or_of_the_old_form(tmp_path: Path, text: str) -> None:
    file = tmp_path / "budget"
    with pytest.raises(ValueError, match="limit must be given"):
        spend(file, 0.1)
    file.write_text(text)
    for limit in (Limit(1.0, 0.0), None):
        with pytest.raises(ValueError, match=r"budget: .* is not a budget file"):
            spend(file, 0.1, limit=limit)
    assert file.read_text() == text and list(tmp_path.iterdir()) == [file]


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder", "none/budget", "n" * 254):
        with pytest.raises(ValueError, match="budget"):
            spend(tmp_path / name, 0.1, limit=ONE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]


def test_links_lead_to_the_file_and_several_names_are_refused(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    file = tmp_path / "there" / "budget"
    link = tmp_path / "link"
    spend(file, 0.4, limit=ONE)
    link.symlink_to(file)
    spend(link, 0.4)
    with pytest.raises(ValueError, match="would pass the limit"):
        spend(link, 0.4)
    assert link.is_symlink() and len(book(file)) == 2
    (tmp_path / "hard").hardlink_to(file)
    for name in (file, link, tmp_path / "hard"):
        with pytest.raises(ValueError, match="one name, got 2 names"):
            spend(name, 0.1)
    assert len(book(file)) == 2


def test_the_file_on_its_way_follows_no_link_and_its_mode_stays(tmp_path: Path) -> None:
    file = tmp_path / "budget"
    other = tmp_path / "other"
    spend(file, 0.1, limit=ONE)
    other.write_text("mine")
    (tmp_path / f".budget.{os.getpid()}.partial").symlink_to(other)
    file.chmod(0o400)
    spend(file, 0.1)
    assert other.read_text() == "mine" and len(book(file)) == 2
    assert (file.stat().st_mode & 0o777) == 0o400


def test_the_limit_stays_what_it_was(tmp_path: Path) -> None:
    file = tmp_path / "budget"
    spend(file, 0.1, limit=Limit(1.0, 0.0))
    with pytest.raises(ValueError, match=r"limit must be .*budget's, 1,0, got 2,0"):
        spend(file, 0.1, limit=Limit(2.0, 0.0))
    for limit in ((float("inf"), 0.0), (0.0, 0.0), (1.0, 1.0)):
        with pytest.raises(ValueError, match="limit"):
            spend(tmp_path / "new", 0.1, limit=Limit(*limit))


def test_a_release_is_spent_before_it_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "budget"
    counts = release.Counts(TRIPS)
    settings = {
        "epsilon": 0.6,
        "support": release.all_pairs(["a", "b"]),
        "budget": file,
        "limit": Limit(1.0, 0.0),
    }

    def fails(*_: object, **__: object) -> None:
        assert len(book(file)) == 1
        raise OSError("no entropy")

    release.release_chain(counts, **settings, rng=1)  # type: ignore[arg-type]
    assert not file.exists()
    monkeypatch.setattr(release_module, "noisy_counts", fails)
    with pytest.raises(OSError, match="no entropy"):
        release.release_chain(counts, **settings)  # type: ignore[arg-type]
    monkeypatch.undo()
    with pytest.raises(ValueError, match="would pass the limit"):
        release.release_chain(counts, **settings)  # type: ignore[arg-type]
    assert len(book(file)) == 1 and book(file)[0]["epsilon"] <= 0.6


def test_the_delta_of_a_release_is_spent_too(tmp_path: Path) -> None:
    """Three releases with pairs chosen privately would otherwise pass a limit whose
    delta is that of one.
    """
    file = tmp_path / "budget"
    limit = Limit(10.0, 1e-6)
    settings: dict[str, Any] = {
        "epsilon": 0.5,
        "delta": 1e-6,
        "budget": file,
        "limit": limit,
    }
    made = release.release_chain(release.Counts(TRIPS), **settings)
    assert book(file)[0]["delta"] == made.statement["delta"] > 5e-7
    with pytest.raises(ValueError, match="would pass the limit"):
        release.release_chain(release.Counts(TRIPS), **settings)
    assert len(book(file)) == 1


def test_a_loss_is_on_the_disk_before_anything_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is synced when it holds the entry, and its folder when the file has its
    name.
    """
    file = tmp_path / "budget"
    synced = []

    def sync(descriptor: int, sync: Callable[[int], None] = os.fsync) -> None:
        sync(descriptor)
        status = os.fstat(descriptor)
        synced.append(
            (
                status.st_ino,
                status.st_size,
                file.stat().st_ino if file.exists() else None,
            )
        )

    def draws(numbers: Any, *_: object, **__: object) -> Any:
        status = file.stat()
        assert (status.st_ino, status.st_size) in [place[:2] for place in synced], (
            "the file, as it is now"
        )
        assert (tmp_path.stat().st_ino, status.st_ino) in [
            (place[0], place[2]) for place in synced
        ], "then its folder"
        return numbers

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(release_module, "noisy_counts", draws)
    support = release.all_pairs(["a", "b"])
    for _ in range(2):
        synced.clear()
        release.release_chain(
            release.Counts(TRIPS), epsilon=0.5, support=support, budget=file, limit=ONE
        )
    assert len(book(file)) == 2


@pytest.mark.parametrize("name", ["", "a\0b", "a\ud800", 7])
def test_a_budget_without_a_name_is_refused_by_its_argument(name: Any) -> None:
    with pytest.raises(ValueError, match="budget must be the name of a file"):
        spend(name, 0.1, limit=ONE)


@pytest.mark.parametrize("limit", [3, (1.0,), "1"])
def test_a_limit_that_is_no_pair_is_refused_by_its_argument(
    tmp_path: Path, limit: Any
) -> None:
    with pytest.raises(
        ValueError, match="limit must be two numbers, epsilon and delta, got"
    ):
        spend(tmp_path / "budget.json", 0.1, limit=limit)
    assert not any(tmp_path.glob("budget.json"))


@pytest.mark.parametrize("name", ["dpsim-compendium", "duckdb"])
def test_what_is_not_installed_is_told_and_nothing_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The statement names the versions; where one is unknown the budget was spent and
    nothing came of it.
    """

    def there(package: str, version: Callable[[str], str] = metadata.version) -> str:
        if package == name:
            raise metadata.PackageNotFoundError(name)
        return version(package)

    file = tmp_path / "budget"
    told = f"{name}, which is not installed: run "
    told += "`pip install -e . -e ./release` in the clone"
    scratch.versions.cache_clear()
    monkeypatch.setattr(metadata, "version", there)
    with pytest.raises(ImportError, match=told):
        release.release_chain(
            release.Counts(TRIPS), epsilon=0.6, delta=1e-6, budget=file, limit=ONE
        )
    words = (
        f"release t.csv --origin a --destination b --epsilon 1 --delta 1e-6 --output "
        f"{tmp_path}/out --budget {file}"
    )
    result = CliRunner().invoke(cli.main, [*words.split(), "--limit", "1,1e-6"])
    assert (
        result.exit_code == 2
        and re.search(told, result.stderr)
        and result.stderr.count("\n") == 1
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded, use of fork:DeprecationWarning"
)
@pytest.mark.parametrize("processes", [False, True])
def test_no_two_spend_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: bool
) -> None:
    file = tmp_path / "budget"
    spend(file, 0.1, limit=Limit(1.0, 0.0))
    write = budget.write_account

    def late(*arguments: object) -> None:
        """Hold the race open: what was read is written half a second later, when the
        others have read too.
        """
        time.sleep(0.5)
        write(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(budget, "write_account", late)
    fork = multiprocessing.get_context("fork")  # the package is imported once
    with ProcessPoolExecutor(4, fork) if processes else ThreadPoolExecutor(4) as pool:
        running = [pool.submit(spend, file, 0.3) for _ in range(4)]
        refused = [
            str(error)
            for error in (each.exception(timeout=60) for each in running)
            if error
        ]
    assert len(refused) == 1 and "would pass the limit" in refused[0]
    assert len(book(file)) == 4 and list(tmp_path.iterdir()) == [file]


def test_a_lock_that_a_killed_run_left_holds_nobody_up(tmp_path: Path) -> None:
    file = tmp_path / "budget"
    (tmp_path / ".budget.lock").touch()
    spend(file, 0.1, limit=ONE)
    assert list(tmp_path.iterdir()) == [file]


def test_who_waits_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "WAIT", 0.1)
    file = tmp_path / "budget"
    with (
        budget.locked_account(file),
        pytest.raises(ValueError, match="another release has locked"),
    ):
        spend(file, 0.1, limit=ONE)
