"""The drawing of the startups, and the charts that move."""

import itertools

import numpy as np
import pandas as pd
import pytest

from dpsim import mdp as mdps
from dpsim.figures import draw_startups, plan_chart, word_chart
from dpsim.words.permute_and_flip import MECHANISMS


def test_every_number_of_the_startups_is_drawn_inside_its_bar(ax):
    ax.figure.set_size_inches(7.2, 3.4)
    model = mdps.startup_mdp()
    P = model.transitions
    draw_startups(
        ax, -model.rewards[0, :4], P[0, range(4), range(1, 5)], P[1:5, 4:, 5:]
    )
    ax.figure.draw_without_rendering()
    assert len(ax.patches) == len(ax.texts) == 4 * 2 * 3
    for bar, text in zip(ax.patches, ax.texts):
        assert text.get_text() == f"{bar.get_width():.2f}"
        inner, outer = text.get_window_extent(), bar.get_window_extent()
        assert outer.x0 <= inner.x0 and inner.x1 <= outer.x1
    for startup, action in np.ndindex(4, 2):
        success, stays, failure = ax.patches[3 * (2 * startup + action) :][:3]
        found = [success.get_width(), failure.get_width(), stays.get_width()]
        own = P[1 + startup, 4 + action]
        np.testing.assert_allclose(found, [*own[5:], own[1 + startup]])
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[4:6] == ["startup 3 (offer 1.5, accepted 0.7), held", "invested in"]


DECISIONS = [
    "k",
    "true_runs",
    "neighbour_runs",
    "low",
    "high",
    "true",
    "neighbour",
]
PLANS = [
    (k, 0.6, 0.4, low, low + 0.5, 0.6 - low, 0.4)
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
