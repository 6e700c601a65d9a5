"""The drawing of the startups: every number is drawn, no text lies on an arrow."""

import itertools

import matplotlib.path
import numpy as np
import pandas as pd
import pytest

from dpsim import mdp as mdps
from dpsim.figures import draw_startups, plan_chart, word_chart
from dpsim.words.distances import MECHANISMS


def test_no_box_of_the_startups_lies_on_an_arrow(ax):
    ax.figure.set_size_inches(7.2, 4.0)
    model = mdps.startup_mdp()
    P = model.transitions
    R = model.rewards
    worth = dict(zip(mdps.STARTUP_STATES, model.terminal))
    draw_startups(ax, -R[0, :4], P[0, range(4), range(1, 5)], P[1:5, 4:, 5:], worth)
    ax.figure.draw_without_rendering()
    boxes = {
        text.get_text().split("\n")[0].split(",")[0]: text
        for text in ax.texts
        if text.get_bbox_patch()
    }
    assert set(boxes) == set(mdps.STARTUP_STATES)
    assert "invested in: success 0.54, failure 0.10" in boxes["startup 4"].get_text()
    assert "price 1.5, closes 0.7" in [text.get_text() for text in ax.texts]
    arrows = [text for text in ax.texts if getattr(text, "arrow_patch", None)]
    assert len(arrows) == 4 + 2 * 4
    for arrow in arrows:
        path = arrow.arrow_patch.get_path().transformed(
            arrow.arrow_patch.get_transform()
        )
        start, *_, end = path.vertices[path.codes != matplotlib.path.Path.CLOSEPOLY][:3]
        line = np.linspace(start, end, 200)[4:-4]
        for box in boxes.values():
            x0, y0, x1, y1 = box.get_bbox_patch().get_window_extent().extents
            inside = ((line > (x0 + 2, y0 + 2)) & (line < (x1 - 2, y1 - 2))).all(axis=1)
            assert not inside.any(), box.get_text()
    for one, two in itertools.combinations(boxes.values(), 2):
        assert (
            not one.get_bbox_patch()
            .get_window_extent()
            .overlaps(two.get_bbox_patch().get_window_extent())
        )


DECISIONS = [
    "k",
    "epsilon",
    "true_runs",
    "neighbour_runs",
    "low",
    "high",
    "true",
    "neighbour",
]
PLANS = [
    (k, k / 2, 0.6, 0.4, low, low + 0.5, 0.6 - low, 0.4)
    for k in (5.0, 10.0)
    for low in (0.0, 0.5)
]
WORDS = ["mechanism", "epsilon", "exact", "released", "wrong", "probability", "ratio"]
TWO = [("a", 0, 0.7), ("b", 1, 0.3)]
LAWS = [
    (kind, epsilon, epsilon / 2, word, wrong, p, p / (1 - p))
    for kind, epsilon, (word, wrong, p) in itertools.product(
        MECHANISMS[:2], [1.0, 1.5], TWO
    )
]


@pytest.mark.parametrize(
    ("rows", "columns", "draw", "low", "start", "step"),
    [
        (PLANS, DECISIONS, lambda table: plan_chart(table, 0.5, 10.0), 5.0, 10.0, 5.0),
        (LAWS, WORDS, lambda table: word_chart(table, ["a", "b"], 1.5), 1.0, 1.5, 0.5),
    ],
    ids=["plans", "words"],
)
def test_a_toy_that_moves_starts_with_what_its_table_holds(
    rows, columns, draw, low, start, step, held
):
    table = pd.DataFrame(rows, columns=columns)
    moving = draw(table)
    pd.testing.assert_frame_equal(held(moving), table, rtol=1e-5, check_dtype=False)
    (control,) = moving.spec["params"]
    assert control["value"] == start
    assert control["bind"] | {"min": low, "max": start, "step": step} == control["bind"]
    assert moving.png.startswith(b"\x89PNG")
