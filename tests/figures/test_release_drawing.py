"""The picture of a release: all pairs, and the stationary distribution."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from dpsim import figures


@pytest.fixture
def pairs() -> pd.DataFrame:
    return pd.DataFrame({"true": [0.0, 0.2, 0.8], "private": [0.1, 0.0, 0.9]})


def test_each_pair_is_drawn_once_and_zeros_lie_at_the_edge(pairs: pd.DataFrame) -> None:
    fig = figures.draw_release(pairs, None)
    occurs, never, diagonal = fig.axes[0].lines
    edge = 0.1 / 3
    np.testing.assert_allclose(occurs.get_xydata(), [[0.2, edge], [0.8, 0.9]])
    np.testing.assert_allclose(never.get_xydata(), [[edge, 0.1]])
    assert diagonal.get_xdata()[0] == pytest.approx(edge)
    assert "no error bars" in fig.axes[1].texts[0].get_text()
    plt.close(fig)


def test_the_true_probabilities_are_drawn_relative_to_the_released_ones(
    pairs: pd.DataFrame,
) -> None:
    bars = pd.DataFrame(
        {
            "stationary": [0.25, 0.75],
            "low": [0.2, 0.7],
            "high": [0.3, 0.8],
            "true": [0.24, 0.76],
        },
        index=["quiet", "busy"],
    )
    fig = figures.draw_release(pairs, bars)
    right = fig.axes[1]
    true = next(line for line in right.lines if line.get_label() == "true")
    np.testing.assert_allclose(true.get_ydata(), [100 / 75, -4], rtol=1e-5)
    assert [text.get_text() for text in right.get_xticklabels()] == ["busy", "quiet"]
    plt.close(fig)
