"""Rows of maps: one scale bar, one scale for all releases, and their percentages."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from dpsim import datasets, figures

ZONES = datasets.load_taxi_zones()
GROUP = np.arange(len(ZONES)) % 3


@pytest.mark.parametrize("changes", [False, True])
def test_one_scale_bar_and_one_scale_for_all_releases(changes: bool) -> None:
    others = pd.DataFrame({"one": [0.2, 3.0, 10.0], "another": [0.5, 2.0, -15.0]})
    fig = figures.draw_cities(
        ZONES, GROUP, [0.5, 0.3, 0.2], others, "surrogate", changes=changes
    )
    maps = fig.axes[:3]
    words = [text.get_text() for ax in maps for text in ax.texts]
    assert words.count("2 km") == 1
    titles = [ax.get_title() for ax in maps]
    assert titles == ["where taxis gather", "one", "another"]
    drawn = [ax.collections[0] for ax in maps]
    for name, outlines in zip(others, drawn[1:]):
        np.testing.assert_allclose(outlines.get_array(), others[name])
        assert outlines.norm is drawn[1].norm
    assert (drawn[1].norm.vmin == -20) == changes
    plt.close(fig)


def test_the_thumbnail_has_two_maps_with_one_scale() -> None:
    wrong = pd.DataFrame({"rows": np.full(63, 0.5), "counts": np.full(63, 0.2)})
    fig = figures.draw_two_cities(ZONES, wrong)
    first, second = (ax.collections[0] for ax in fig.axes[:2])
    assert first.norm is second.norm
    assert [ax.get_title() for ax in fig.axes[:2]] == ["rows", "counts"]
    plt.close(fig)
