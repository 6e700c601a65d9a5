"""Walks on maps of their own, and groups of bars."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dpsim import datasets, figures


@pytest.fixture
def pair():
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 2.5), layout="constrained")
    yield axes
    plt.close(figure)


def texts(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


def test_each_walk_has_its_map_its_name_and_its_steps(pair):
    core = datasets.load_gainesville(core=True)
    a, b = core.trip[:2]
    figures.draw_walks(pair, core, {"true": [a, a, b], "private": [a, b, a]}, ["black", "blue"])
    assert [ax.get_title() for ax in pair] == ["true", "private"]
    assert {"0, 1", "2"} <= set(texts(pair[0])) and {"0, 2", "1"} <= set(texts(pair[1]))
    assert "OpenStreetMap" in pair[0].figure.get_supxlabel()


def test_walks_and_maps_must_be_as_many(pair):
    with pytest.raises(ValueError, match="axes and colours must be as many as walks, 1, got 2 axes and 1 colours"):
        figures.draw_walks(pair, datasets.load_gainesville(core=True), {"true": [0]}, ["black"])


def test_bars_of_a_group_stand_beside_each_other(pair):
    heights = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    figures.grouped_bars(pair[0], heights, ["a", "b", "c"], ["red", "blue", "green"], errors=0.1 * heights)
    bars = pair[0].patches
    assert [bar.get_height() for bar in bars] == heights.ravel().tolist()
    left = np.array([bar.get_x() for bar in bars]).reshape(3, 2)
    np.testing.assert_allclose(np.diff(left, axis=0), bars[0].get_width())  # they touch and do not overlap
    np.testing.assert_allclose(left.mean(axis=0) + bars[0].get_width() / 2, [0, 1], atol=1e-12)


@pytest.mark.parametrize(
    "heights, errors, words",
    [
        ([[1.0, 2.0]], None, r"heights must have shape \(2, groups\)"),
        ([[1.0], [2.0]], [[0.1]], r"errors must have shape \(2, 1\)"),
    ],
)
def test_refusals_of_the_bars(pair, heights, errors, words):
    with pytest.raises(ValueError, match=words):
        figures.grouped_bars(pair[0], heights, ["a", "b"], ["red", "blue"], errors=errors)
