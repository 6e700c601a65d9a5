"""The key numbers of a run: what sweeps gather."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from dpsim import figures


def test_key_numbers_are_written_with_ten_digits_and_only_on_request(tmp_path: Path) -> None:
    figures.save_numbers({"delta": 1 / 3, "rows": 12}, "")
    assert list(tmp_path.iterdir()) == []
    figures.save_numbers({"delta": 1 / 3, "rows": 12}, str(tmp_path / "new"))
    assert json.loads((tmp_path / "new" / "numbers.json").read_text()) == {"delta": 0.333333, "rows": 12}


@pytest.mark.parametrize("numbers", [{}, {"delta": math.nan}, {"delta": "0.1"}])
def test_what_is_no_number_is_refused(numbers: dict[str, float], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"numbers must hold|delta must be"):
        figures.save_numbers(numbers, str(tmp_path))
    assert list(tmp_path.iterdir()) == []
