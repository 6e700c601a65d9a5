"""Figures 1 and 2 of the matrix paper, and the two densities of the toys."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from dpsim import datasets, figures


def test_figure_two_shows_each_width_up_to_the_end_and_two_standard_errors():
    table = pd.DataFrame(
        {"k": [10, 80, 200], "mean_of_norms": [0.5, 0.2, 0.1], "standard_error": 0.01}
    )
    table = table.assign(
        theorem3=[200.0, 80.0, 50.0],
        **{"epsilon_b0.02": [1, 9, 22], "epsilon_b0.01": [0.5, 4, 9]},
    )
    P = np.array([[0.5, 0.5], [1.0, 0.0]])
    Q = np.array([[0.3, 0.7], [1.0, 0.0]])
    figure = figures.stationary_errors(
        P, Q, table, (0.02, 0.01), 9.0, [(0.5, 0.485)], "stand-in"
    )
    true, error, private = figure.axes[:3]
    labels = [text.get_text() for text in error.get_legend().get_texts()]
    assert sorted(labels) == ["$b=0.01$", "$b=0.02$", "reported in the paper"]
    assert [len(part.lines[0].get_xdata()) for part in error.containers] == [2, 3]
    bars = error.containers[0].lines[2][0].get_segments()
    assert np.diff([bar[:, 1] for bar in bars], axis=1).ravel() == pytest.approx(
        [0.04, 0.04]
    ), "two on either side"
    assert "50 to 200" in error.texts[-1].get_text()
    for ax, matrix in ((true, P), (private, Q)):
        shown = ax.images[0].get_array()
        assert shown.mask.tolist() == [[False, False], [False, True]]
        assert shown[0].tolist() == matrix[0].tolist()
    plt.close(figure)


def test_figure_two_is_thin_where_k_is_below_what_assumption_two_allows():
    table = pd.DataFrame(
        {
            "k": [2, 5, 10, 40],
            "mean_of_norms": [0.9, 0.8, 0.5, 0.2],
            "standard_error": 0.01,
        }
    )
    table = table.assign(
        theorem3=100.0,
        **{"epsilon_b0.02": [0.2, 0.5, 1, 5], "epsilon_b0.01": [0.1, 0.2, 0.6, 2]},
    )
    P = np.eye(2)
    figure = figures.stationary_errors(
        P, P, table, (0.02, 0.01), 10.0, [(0.5, 0.485)], "stand-in"
    )
    error = figure.axes[1]
    labels = [text.get_text() for text in error.get_legend().get_texts()]
    assert labels == [
        "$b=0.02$",
        "$b=0.01$",
        "$b=0.02$, $k<10$:\nAssumption 2 broken",
        "reported in the paper",
    ]
    assert [part.lines[0].get_xdata().tolist() for part in error.containers] == [
        [1, 5],
        [0.6, 2],
    ]
    thin = next(line for line in error.lines if line.get_label() == labels[2])
    assert thin.get_xdata().tolist() == [0.5, 1], (
        "from the beginning of the axis to the first k that is allowed"
    )
    plt.close(figure)


def test_the_chart_of_two_densities_has_its_numbers_and_a_control_of_each(held):
    places = [0.25, 0.75]
    curves = pd.DataFrame(
        {
            "k": [1.0, 1.0, 2.0, 2.0],
            "y": places * 2,
            "from p": [0, 2, 0, 3],
            "from q": [2, 0, 3, 0],
        }
    )
    costs = pd.DataFrame(
        {"k": [1.0, 1.0, 2.0, 2.0], "rows": [1, 2, 1, 2], "delta": [0.1, 0.2, 0.3, 0.4]}
    )
    moving = figures.beta_densities(curves, costs, {"k": 2, "rows": 1}, many="rows")
    options = {
        param["name"]: param["bind"]["options"] for param in moving.spec["params"]
    }
    assert options == {"v_k": [1.0, 2.0], "v_rows": [1, 2]}
    assert [param["value"] for param in moving.spec["params"]] == [2, 1]
    for name, table in (("curves", curves), ("costs", costs)):
        pd.testing.assert_frame_equal(held(moving, name), table, check_dtype=False)
    assert moving.spec["hconcat"][0]["layer"][0]["transform"] == [
        {"filter": "datum['from p'] > datum['from q']"}
    ]
    with_rows = curves.assign(rows=1)[["k", "rows", *curves.columns[1:]]]
    followed = figures.beta_densities(
        with_rows, costs, {"k": 2, "rows": 1}, many="rows"
    ).spec
    for chart, moved in ((moving.spec, [False, False]), (followed, [True, False])):
        assert [
            "v_rows" in panel["transform"][0]["filter"] for panel in chart["hconcat"]
        ] == moved


def test_the_line_of_delta_may_be_finer_than_its_control():
    curves = pd.DataFrame(
        {
            "k": [1.0] * 2,
            "N": [10, 50],
            "y": [0.5] * 2,
            "from p": [1, 2],
            "from q": [2, 1],
        }
    )
    costs = pd.DataFrame({"k": [1.0] * 3, "N": [10, 30, 50], "delta": [0.3, 0.2, 0.1]})
    moving = figures.beta_densities(curves, costs, {"k": 1, "N": 10}, many="N")
    options = {
        param["name"]: param["bind"]["options"] for param in moving.spec["params"]
    }
    assert options == {"v_k": [1.0], "v_N": [10, 50]}
    assert len(moving.spec["datasets"]["costs"]) > 0
    assert "ceil(" in str(moving.spec), "a delta is never rounded down"
    marked = figures.beta_densities(
        curves, costs, {"k": 1, "N": 10}, many="N", marks={"limit": 0.05}
    )
    *_, rule, text = marked.spec["hconcat"][1]["layer"]
    assert rule["encoding"]["y"]["datum"] == text["encoding"]["y"]["datum"] == 0.05
    assert text["mark"]["text"] == "limit"


def test_a_line_of_delta_for_every_value_of_a_control_and_the_chosen_one_thick():
    densities = {"y": [0.5] * 3, "from p": [1, 2, 1], "from q": [2, 1, 2]}
    curves = pd.DataFrame({"k": [1.0, 2.0, 3.0], **densities})
    costs = pd.DataFrame({"k": [1.0, 2.0, 3.0] * 2, "rows": [1] * 3 + [2] * 3})
    costs["delta"] = np.linspace(0.1, 0.6, 6)
    spec = figures.beta_densities(
        curves, costs, {"k": 2, "rows": 1}, many="rows", every="k"
    ).spec
    panel = spec["hconcat"][1]
    assert "v_k" not in panel["transform"][0]["filter"], "the lines of all k are there"
    thin, thick, names, *chosen = panel["layer"]
    assert "'k = '" in str(names["transform"]), "each line has its name at its end"
    assert all("v_k" in layer["transform"][0]["filter"] for layer in (thick, *chosen))
    assert thick["mark"]["strokeWidth"] > thin["mark"]["strokeWidth"]


def test_figure_one_boxes_the_steps_that_differ_and_shows_the_streets():
    roads = datasets.load_gainesville(core=True)
    start = roads.segments["segment"].tolist().index("s22")
    after = np.flatnonzero(roads.adjacency[start])
    onward = int(after[after != start][0])
    walks = pd.DataFrame(
        {"step": [0, 1], "true": [start, start], "$k=5$, $e=1$": [start, onward]}
    )
    figure = figures.draw_walks(roads, walks, "stand-in")
    table = next(
        ax for ax in figure.axes if any(text.get_text() == "step" for text in ax.texts)
    )
    boxed = [
        text.get_text() for text in table.texts if text.get_bbox_patch() is not None
    ]
    assert boxed == [str(onward)]
    maps = [ax for ax in figure.axes if ax is not table]
    assert len(maps) == 2
    assert maps[0].get_xlim() == maps[1].get_xlim()
    for ax in maps:
        (walk,) = (line.get_xydata() for line in ax.lines if line.get_zorder() == 4)
        assert np.all(walk[:, 0] >= ax.get_xlim()[0]) and np.all(
            walk[:, 0] <= ax.get_xlim()[1]
        )
    assert [text.get_text() for ax in maps for text in ax.texts].count("0.5 km") == 1
    plt.close(figure)


def test_a_map_of_errors_shows_what_is_predicted_too_much_and_too_little() -> None:
    roads = datasets.load_gainesville(core=True)
    n = len(roads.segments)
    true = np.full(n, 1 / n)
    private = true.copy()
    private[:2] += [0.02, -0.01]
    flows = pd.DataFrame({"true": true, "k = 10, wrong": private})
    figure = figures.draw_traffic(roads, flows, "stand-in")
    whole, errors = (ax.collections[1] for ax in figure.axes)
    assert np.ptp(whole.get_linewidths()) == 0
    widths = np.array(errors.get_linewidths())
    assert widths[0] == pytest.approx(2 * widths[1], rel=1e-4)
    assert widths[2:].max() == 0
    colours = plt.matplotlib.colors.to_rgba_array([figures.OURS, figures.PAPER])
    assert (errors.get_colors()[:2] == colours).all()
    plt.close(figure)
