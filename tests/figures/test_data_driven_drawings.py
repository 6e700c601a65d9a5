"""The drawings of the data-driven paper: what is plotted is what the table holds."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from dpsim import figures, ledger

PUBLISHED = ledger.published("benvenuti2026")["published"]


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_grades_show_bound_exact_value_and_mean_and_the_smallest_epsilon():
    values = pd.DataFrame(
        {"epsilon": [2.0, 3.0, 9.0], "delta_upper": [1e-2, 1e-3, 1e-9]}
    )
    values = values.assign(
        kl_corollary1=0.3, kl_theorem2=0.2, kl_empirical=[0.21, 0.2, 0.19]
    )
    figure = figures.draw_grades(
        values.assign(kl_standard_error=0.01), "a class", PUBLISHED
    )
    left, right = figure.axes
    lines = [line.get_ydata().tolist() for line in left.lines[:3]]
    assert lines == [[0.3] * 3, [0.2] * 3, [0.21, 0.2, 0.19]]
    assert labels(left) == [
        "Corollary 1 (bound)",
        "Theorem 2 (exact)",
        "mean of releases",
    ]
    band = left.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((0.17, 0.23)), (
        "two standard errors"
    )
    assert right.lines[0].get_xdata().tolist() == [2.0, 3.0]
    assert figure.get_supxlabel() == "a class"
    plt.close(figure)


def test_the_stationary_error_has_a_band_and_its_ratio_to_the_bound():
    table = pd.DataFrame({"epsilon": [3.0, 6.0, 9.0], "tv_mean": [0.02, 0.015, 0.01]})
    table = table.assign(tv_standard_error=0.001, tv_theorem4=[0.9, 0.6, 0.5])
    figure = figures.draw_stationary(table, "trips", PUBLISHED)
    left, right = figure.axes
    assert left.lines[0].get_ydata().tolist() == [0.02, 0.015, 0.01]
    band = left.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((0.008, 0.022))
    assert right.lines[1].get_ydata().tolist() == [0.9, 0.6, 0.5]
    assert "  40 times" in [text.get_text() for text in right.texts]
    plt.close(figure)


def test_the_sampled_delta_has_bars_and_an_exact_line_for_each_delta():
    rows = [(name, m, 0.1, 0.01, 0.09) for name in ("one", "two") for m in (100, 1000)]
    names = ["delta", "draws", "error_mean", "error_standard_error", "error_exact"]
    table = pd.DataFrame(rows, columns=names)
    figure = figures.draw_sampled_delta(
        table, {"one": "0.002", "two": "0.02"}, PUBLISHED
    )
    (ax,) = figure.axes
    for bars in ax.containers:
        ends = np.array([segment[:, 1] for segment in bars.lines[2][0].get_segments()])
        assert np.diff(ends, axis=1).ravel() == pytest.approx([0.04, 0.04]), (
            "two on either side"
        )
    expected = [
        f"{kind}, δ = {value}"
        for kind in ("exact", "sampled")
        for value in ("0.002", "0.02")
    ]
    assert sorted(labels(ax)) == sorted(expected)
    plt.close(figure)
