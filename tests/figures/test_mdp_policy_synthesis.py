"""The drawing of the startups, and the charts that move."""

import itertools

import numpy as np
import pandas as pd
import pytest

from dpsim import mdp as mdps
from dpsim.figures import draw_forecasts, draw_startups, plan_chart, word_chart
from dpsim.words.permute_and_flip import MECHANISMS


def test_every_number_of_the_startups_is_drawn_inside_its_bar():
    chances = mdps.startup_mdp().transitions[1:5, 4:, 5:].copy()
    chances[1] = chances[0]  # shares the bars of the first one
    fig = draw_startups(chances)
    (ax,) = fig.axes
    fig.draw_without_rendering()
    assert len(ax.patches) == len(ax.texts) == 3 * 2 * 3
    for bar, text in zip(ax.patches, ax.texts):
        assert text.get_text() == f"{bar.get_width():.2f}"
        inner, outer = text.get_window_extent(), bar.get_window_extent()
        assert outer.x0 <= inner.x0 and inner.x1 <= outer.x1
    for startup, action in np.ndindex(3, 2):
        success, stays, failure = ax.patches[3 * (2 * startup + action) :][:3]
        drawn = [success.get_width(), failure.get_width()]
        np.testing.assert_allclose(drawn, chances[startup + 1, action])
        np.testing.assert_allclose(stays.get_width(), 1 - sum(drawn))
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[:3] == ["startups 1, 2: held", "invested in", "startup 3: held"]


def test_forecasts_and_true_values_are_drawn_for_each_mechanism():
    columns = ["epsilon", "mechanism", "forecast", "worth", "standard_error"]
    rows = [
        (epsilon, mechanism, 5 / epsilon, 3.0, 0.1)
        for mechanism in ("Laplace", "Dirichlet")
        for epsilon in (1.0, 2.0)
    ]
    fig = draw_forecasts(pd.DataFrame(rows, columns=columns), 4.0, 2.0)
    curves = [list(line.get_ydata()) for line in fig.axes[0].lines]
    assert curves == [[5.0, 2.5], [3.0, 3.0]] * 2 + [[4.0, 4.0], [2.0, 2.0]]


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
