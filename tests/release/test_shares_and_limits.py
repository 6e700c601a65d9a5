"""What a release spends in parts stays within what was asked for, and what a data set spends within its limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpsim import accounting, datasets, release
from dpsim.accounting import Unit
from dpsim.accounting.units import GAUSSIAN
from dpsim.release import budget


def test_gaussian_noise_and_private_pairs_share_delta() -> None:
    trips = pd.DataFrame({"origin": ["a", "b"], "destination": ["b", "a"], "trips": [500, 40]})
    chain = release.release_chain(trips, epsilon=1.0, delta=1e-3, mechanism=GAUSSIAN, rng=1)
    s = chain.statement
    spent = [cost["delta"] for cost in s["costs"]]
    assert len(spent) == 2 and min(spent) > 0.0 and sum(spent) <= 1e-3
    noise = accounting.chosen_noise(1.0, 1e-3, pairs=True, mechanism=GAUSSIAN)
    assert s["threshold"] == accounting.pair_threshold(noise, Unit(), 1e-3 - noise.delta)[0]
    assert accounting.pair_delta(noise, Unit(), s["threshold"] - 1) > 1e-3 - noise.delta


@pytest.mark.parametrize("too_much", [{"epsilon": 0.5 + 1e-9, "delta": 0.0}, {"epsilon": 0.1, "delta": 5.000001e-7}])
def test_nothing_passes_the_limit_of_a_data_set(tmp_path: Path, too_much: dict[str, float]) -> None:
    file = tmp_path / "taxis.budget"
    of = {"unit": Unit(), "adjacency": "add-remove"}
    release.spend(file, epsilon=0.5, delta=5e-7, limit=release.Limit(1.0, 1e-6), **of)
    before = file.read_text()
    with pytest.raises(ValueError, match="would pass the limit"):
        release.spend(file, **too_much, **of)
    assert file.read_text() == before
    assert release.spend(file, epsilon=0.5, delta=5e-7, **of) == pytest.approx((1.0, 1e-6), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta", "count"), [(0.1, 1e-6, 30), (0.5, 1e-3, 12), (0.01, 1e-9, 400)])
def test_composed_releases_keep_the_delta_they_are_stated_at(epsilon: float, delta: float, count: int) -> None:
    """The exact delta of any (epsilon, delta) mechanisms in a row (Kairouz, Oh, Viswanath 2015, Theorem 3.3)."""
    total, at = budget.composed([epsilon] * count, [delta] * count)
    lies = np.arange(count + 1)
    share = stats.binom.pmf(lies, count, 1.0 / (1.0 + np.exp(epsilon)))
    losses = (count - 2 * lies) * epsilon

    def exact(level: float) -> float:
        beyond = share @ np.maximum(-np.expm1(level - losses), 0.0)
        return float(-np.expm1(count * np.log1p(-delta) + np.log1p(-beyond)))

    assert at == pytest.approx(count * delta) and total < epsilon * count
    assert exact(total) <= at < exact(0.9 * total)


@pytest.mark.parametrize(("per_row", "rows"), [(1, 1), (1, 2), (3, 2), (2, 5)])
def test_no_more_rows_and_events_of_a_unit_are_counted_than_its_limits(per_row: int, rows: int) -> None:
    """A unit with five events from each of six origins: as many as allowed are kept, of either."""
    origins = np.repeat(list("abcdef"), 5)
    table = pd.DataFrame({"who": "p", "from": origins, "to": np.tile(list("uvwxy"), 6)})
    trips = datasets.count_transitions(table, "from", "to", unit="who", events_per_row=per_row, rows=rows)
    kept = trips.groupby("origin")["trips"].sum()
    assert kept.tolist() == [per_row] * rows
