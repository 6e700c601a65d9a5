"""Neighbouring tables with the same noise: one in twelve of the kinds, the others are
tried by `make fuzz`.
"""

from pathlib import Path

import neighbours
import pytest

from dpsim_release import report

ALL = list(neighbours.cases())
SOME = ALL[::12]


@pytest.mark.parametrize("case", SOME, ids=[case.name for case in SOME])
def test_everything_published_follows_from_the_noisy_counts(
    case: neighbours.Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (
        SOME.index(case) % 3
    ):  # a picture is drawn of the chain and its error bars alone: every third has them
        monkeypatch.setattr(report, "_pictures", lambda *_: "")
    neighbours.check(case, tmp_path, monkeypatch)
