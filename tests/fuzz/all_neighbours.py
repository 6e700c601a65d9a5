"""Neighbouring tables with the same noise, every kind. `make fuzz` collects this file by name."""

from __future__ import annotations

from pathlib import Path

import neighbours
import pytest

ALL = list(neighbours.cases())


@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
def test_everything_published_follows_from_the_noisy_counts(
    case: neighbours.Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbours.check(case, tmp_path, monkeypatch)
