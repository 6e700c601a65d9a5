from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpsim import datasets

SIZES = np.arange(1, 13)


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("limits", [("events",), ("events_per_row", "rows")])
def test_a_unit_keeps_all_its_events_up_to_the_limit_and_never_one_more(most: int, limits: tuple[str, ...]) -> None:
    """Units with 1, 2, ... events, each from a state of its own: one above the limit is the case that matters."""
    units = np.repeat(SIZES, SIZES)
    table = pd.DataFrame({"u": units, "o": units, "d": [f"d{i % 4}" for i in range(units.size)]})
    kept = datasets.count_transitions(table, "o", "d", unit="u", **dict.fromkeys(limits, most))
    found = kept.groupby(kept["origin"].astype(int))["trips"].sum()
    assert found.to_dict() == {int(size): min(int(size), most) for size in SIZES}
