"""Neighbouring tables, every kind, and 2,000 with one more row. `make fuzz` collects
this file by name.
"""

from pathlib import Path

import neighbours
import one_row
import pytest

ALL = list(neighbours.cases())


@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
def test_everything_published_follows_from_the_noisy_counts(
    case: neighbours.Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbours.check(case, tmp_path, monkeypatch)


@pytest.mark.parametrize("seed", range(2000))
def test_one_more_row_of_any_kind(tmp_path: Path, seed: int) -> None:
    one_row.check(seed, tmp_path)
