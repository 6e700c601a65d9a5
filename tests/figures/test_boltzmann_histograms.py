"""The drawings of wandering histograms show what their tables hold."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from dpsim.figures import (
    draw_candidates,
    draw_replications,
    draw_samples,
    draw_two_chains,
    walk_chart,
)

LAWS = ["from x", "from y"]


def test_the_chart_of_walks_holds_its_table_and_the_odds(held):
    rows = [
        (t, k, z, 0.5, 0.5, 2.0)
        for t, k, z in itertools.product((1.0, 10.0), (0, 1), ("(1, 0)", "(0, 1)"))
    ]
    table = pd.DataFrame(rows, columns=["t", "k", "z", *LAWS, "odds"])
    moving = walk_chart(table, LAWS, 10.0)
    pd.testing.assert_frame_equal(held(moving), table, check_dtype=False)
    (warm,) = moving.spec["params"]
    assert warm["value"] == 10.0 and warm["bind"]["options"] == [1.0, 10.0]
    assert moving.spec["facet"]["row"]["field"] == "k"
    assert "datum.odds" in str(moving.spec["spec"]["layer"][1])


def test_one_person_leaves_the_largest_bin_for_the_smallest():
    table = pd.DataFrame(
        {
            "z": ["(1, 0)", "(0, 1)"],
            "pair of bins": [0.4, 0.6],
            "individual": [0.5, 0.5],
        }
    )
    figure = draw_candidates([3, 1, 7], table)
    moves = [bar for bar in figure.axes[0].patches if bar.get_linestyle() == "--"]
    assert [
        (round(bar.get_x() + bar.get_width() / 2), bar.get_y()) for bar in moves
    ] == [(2, 6), (1, 1)]
    plt.close(figure)


@pytest.mark.parametrize("printed", [None, {10.0: [[2, 3], [1, 4]], 100.0: [[5, 0]]}])
def test_published_releases_are_drawn_where_there_are_some(printed):
    kinds = itertools.product((10.0, 100.0), ("bins", "individual"), (1, 2))
    rows = [(t, who, number, 2.5, 1.0, 4.0) for t, who, number in kinds]
    columns = ["t", "who moves", "bin", "mean", "quantile_05", "quantile_95"]
    figure = draw_samples([2, 3], pd.DataFrame(rows, columns=columns), printed)
    for ax, t in zip(figure.axes, (10.0, 100.0)):
        shown = [
            line.get_ydata() for line in ax.lines if line.get_label() == "reported"
        ]
        expected = [] if printed is None else [np.ravel(printed[t])]
        assert len(shown) == len(expected)
        for one, other in zip(shown, expected):
            np.testing.assert_array_equal(one, other)
    plt.close(figure)


def test_a_vertical_line_marks_where_the_rule_stops():
    rows = [
        (t, k, -1.0, -2.0, 1.0, -1.5, 7)
        for t, k in itertools.product((10.0, 50.0), (1, 10))
    ]
    columns = ["t", "k", "mean_1", "mean_2", "Y", "expected", "stop"]
    figure = draw_two_chains(pd.DataFrame(rows, columns=columns))
    for ax in figure.axes:
        (line,) = [line for line in ax.lines if line.get_label() == "the rule stops"]
        assert list(line.get_xdata()) == [7, 7]
    plt.close(figure)


def test_the_titles_count_the_pairs_that_are_close_at_the_end():
    ends = {1: 0.05, 2: -0.2, 3: 0.1}
    kinds = itertools.product(("bins", "individual"), (10.0, 50.0), ends, (1, 5000))
    rows = [
        (who, t, one, k, ends[one] if k == 5000 else 0.0) for who, t, one, k in kinds
    ]
    table = pd.DataFrame(
        rows, columns=["who moves", "t", "replication", "k", "share_sampled"]
    )
    figure = draw_replications(
        table, 0.1, {"bins": "pairs of bins", "individual": "people"}
    )
    assert [ax.get_title().split(": ")[1] for ax in figure.axes] == 4 * [
        "2 of 3 are close"
    ]
    plt.close(figure)
