"""Drawings of decision processes: every number is drawn, no text lies on an arrow, a gap breaks the axis."""

import itertools

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from dpsim import mdp as mdps
from dpsim.figures import draw_banded, draw_costs, draw_startups, draw_values
from dpsim.figures.decisions import VALUES

matplotlib.use("agg")


@pytest.fixture
def axes():
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.3))
    yield axes
    figure.draw_without_rendering()
    plt.close(figure)


def test_no_box_of_the_startups_lies_on_an_arrow():
    figure, ax = plt.subplots(figsize=(7.2, 3.3), layout="constrained")
    model = mdps.startup_mdp()
    P, R = model.transitions, model.rewards
    worth = dict(zip(mdps.STARTUP_STATES, model.terminal))
    draw_startups(ax, -R[0, :4], P[0, range(4), range(1, 5)], P[1:5, 4:, 5:], worth)
    figure.draw_without_rendering()
    boxes = {text.get_text().split("\n")[0].split(",")[0]: text for text in ax.texts if text.get_bbox_patch()}
    assert set(boxes) == set(mdps.STARTUP_STATES)
    assert "succeeds 0.54, fails 0.10" in boxes["startup 4"].get_text()
    assert "price 1.5, closes with 0.7" in [text.get_text() for text in ax.texts]
    arrows = [text for text in ax.texts if getattr(text, "arrow_patch", None)]
    assert len(arrows) == 4 + 2 * 4
    for arrow in arrows:
        path = arrow.arrow_patch.get_path().transformed(arrow.arrow_patch.get_transform())
        start, *_, end = path.vertices[path.codes != matplotlib.path.Path.CLOSEPOLY][:3]
        line = np.linspace(start, end, 200)[4:-4]
        for box in boxes.values():
            x0, y0, x1, y1 = box.get_bbox_patch().get_window_extent().extents
            inside = ((line > (x0 + 2, y0 + 2)) & (line < (x1 - 2, y1 - 2))).all(axis=1)
            assert not inside.any(), box.get_text()
    for one, two in itertools.combinations(boxes.values(), 2):
        assert not one.get_bbox_patch().get_window_extent().overlaps(two.get_bbox_patch().get_window_extent())
    plt.close(figure)


def test_error_bars_stand_side_by_side(axes):
    table = pd.DataFrame({"k": [1.0, 10.0]})
    for level, name in enumerate(VALUES):
        table[f"{name}_mean"], table[f"{name}_sd"] = float(level), 0.5
    draw_values(axes[0], table)
    places = [
        line.get_xdata()[0] for line in axes[0].lines if len(line.get_xdata()) == 2 and line.get_marker() == "None"
    ]
    assert len(places) == len(set(places)) == len(VALUES)


COSTS = pd.DataFrame(
    {"example": ["near"] * 2 + ["far"] * 2, "epsilon": [1.0, 2.0, 100.0, 101.0], "cost_mean": [4.0, 3.0, 2.0, 1.0]}
)
LOOKS = {"near": {"color": "C0"}, "far": {"color": "C1"}}


def test_a_gap_breaks_the_axis_and_nothing_is_lost(axes):
    draw_costs(axes, COSTS, {"near": 0.9, "far": 99.0}, LOOKS)
    assert axes[1].get_visible()
    for ax, low, high in ((axes[0], 0.9, 2.0), (axes[1], 99.0, 101.0)):
        assert ax.get_xlim()[0] < low and high < ax.get_xlim()[1]
    assert axes[0].get_xlim()[1] < axes[1].get_xlim()[0]
    drawn = [x for ax in axes for line in ax.lines for x in line.get_xdata() if line.get_label() in LOOKS]
    assert sorted(drawn) == COSTS.epsilon.tolist()


def test_without_a_gap_there_is_one_axis(axes):
    draw_costs(axes, COSTS[:2], {"near": 0.9}, LOOKS)
    assert not axes[1].get_visible()


def test_bands_are_two_standard_errors(axes):
    table = pd.DataFrame({"k": [1.0, 2.0], "loss_mean": [1.0, 0.5], "loss_sd": [0.5, 0.25]})
    draw_banded(axes[0], table, 25, {"loss": ("loss", "C0", "-")})
    (band,) = axes[0].collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((0.4, 1.2))
    assert axes[0].get_xscale() == axes[0].get_yscale() == "log"
