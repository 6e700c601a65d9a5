"""Rows of maps: one scale, one scale bar, differences in per cent."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from dpsim import datasets, figures

ZONES = datasets.load_taxi_zones()
GROUP = np.arange(len(ZONES)) % 3


def test_one_scale_bar_one_arrow_and_differences_in_per_cent() -> None:
    true = np.array([0.5, 0.3, 0.2])
    fig = figures.compare_zones(
        ZONES, true, [[0.5, 0.33, 0.17]], ["private"], group=GROUP, source="surrogate"
    )
    maps = fig.axes[:2]
    words = [text.get_text() for ax in maps for text in ax.texts]
    assert (
        words.count("N") == 1
        and words.count("2 km") == 1
        and words.count("private") == 1
    )
    np.testing.assert_allclose(maps[1].collections[0].get_array(), [0, 10, -15])
    assert (
        maps[1].collections[0].norm.vmin == -20
        and maps[1].collections[0].norm.vmax == 20
    )
    assert maps[0].collections[0].norm.vmax == 0.5
    plt.close(fig)
