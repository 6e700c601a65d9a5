"""Drawings of private words: what is drawn is the table, and nothing is hidden."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from dpsim.figures import (
    COLOURS,
    PUBLISHED,
    draw_against_optimum,
    draw_bounds,
    draw_errors,
    draw_neighbours,
    draw_reduction,
)

matplotlib.use("agg")


@pytest.fixture
def axes():
    figure, axes = plt.subplots(1, 2)
    yield axes
    figure.draw_without_rendering()
    plt.close(figure)


def drawn(ax, colour, style="-"):
    """Return the heights of the lines of a colour and a style."""
    return [line.get_ydata() for line in ax.lines if line.get_color() == colour and line.get_linestyle() == style]


def test_both_neighbours_are_drawn_apart(axes):
    table = pd.DataFrame({"released": ["a", "b"], "probability_a": [0.7, 0.3], "probability_b": [0.3, 0.7]})
    draw_neighbours(axes, table, ["a", "b"], 1.0)
    first, second = axes[0].lines
    np.testing.assert_array_equal(first.get_ydata(), table.probability_a)
    np.testing.assert_array_equal(second.get_ydata(), table.probability_b)
    assert not set(first.get_xdata()) & set(second.get_xdata())
    levels = [line.get_ydata()[0] for line in axes[1].lines if line.get_linestyle() == "--"]
    assert levels == pytest.approx([np.e, 1 / np.e])


def test_bounds_below_zero_are_shaded(axes):
    x = pd.Series([1.0, 2.0, 3.0])
    table = pd.DataFrame({"lower_theorem2": [0.1, -0.2, -0.4], "upper_theorem2": 1.0, "exact": 0.5, "floor": 0.4})
    draw_bounds(axes[0], x, table, named=True)
    assert [text.get_text() for text in axes[0].texts] == ["upper", "lower"]
    assert axes[0].get_ylim()[0] < -0.4
    shade = axes[0].patches[0].get_extents().transformed(axes[0].transData.inverted())
    assert (shade.y0, shade.y1) == pytest.approx((-10.0, 0.0))


def test_published_errors_are_grey_diamonds(axes):
    table = pd.DataFrame({"epsilon": [1.0, 2.0], "reduction": [0.1, 0.2]})
    for name, error in (("permute_and_flip", 0.5), ("exponential", 0.8)):
        table[f"{name}_exact"], table[f"{name}_sampled"], table[f"{name}_standard_error"] = error, error, 0.01
    draw_errors(axes, table, {"permute-and-flip": [(1.5, 0.4), (9.0, 0.1)], "exponential": [(1.5, 0.8)]})
    diamonds = [(line.get_markeredgecolor(), *line.get_ydata()) for line in axes[0].lines if line.get_marker() == "D"]
    assert diamonds == [(PUBLISHED, 0.4), (PUBLISHED, 0.8)]  # 9.0 is outside
    np.testing.assert_array_equal(axes[1].lines[0].get_ydata(), table.reduction)


def test_all_of_the_reduction_is_drawn(axes):
    columns = {"limit": 0.5, "low": 0.1, "median": 0.2, "high": 0.3, "trip": 0.4}
    draw_reduction(axes[0], pd.DataFrame({"epsilon": [1.0, 2.0], **columns}), [(1.5, 0.557)])
    heights = {float(line.get_ydata()[0]) for line in axes[0].lines}
    assert heights == {0.5, 0.2, 0.4, 0.557}
    assert axes[0].get_ylim()[1] > 0.557


def test_errors_are_divided_by_the_least(axes):
    rows = [("exponential", 1.0, 0.6, 0.3), ("staircase", 1.0, 0.3, 0.3)]
    draw_against_optimum(
        axes[0], pd.DataFrame(rows, columns=["mechanism", "epsilon_exact", "error", "least_error"]), ""
    )
    assert drawn(axes[0], COLOURS["exponential"], "--")[0] == pytest.approx([2.0])
    assert drawn(axes[0], COLOURS["staircase"])[0] == pytest.approx([1.0])
