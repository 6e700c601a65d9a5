"""The drawings of the overview hold the numbers that they are given."""

import json

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from dpsim import datasets, figures, ledger


def test_the_charts_name_the_font_that_comes_with_the_project(held):
    doubt = pd.DataFrame(
        {
            "epsilon": [0.5, 0.5],
            "published": [12, 13],
            "without": [0.46, 0.17],
            "with": [0.17, 0.46],
            "odds": [0.37, 2.7],
            "limit": [1.65, 1.65],
        }
    )
    chart = figures.odds_chart(doubt)
    assert chart.spec["config"]["font"].startswith("DejaVu Sans")
    pd.testing.assert_frame_equal(held(chart), doubt)
    assert [param["name"] for param in chart.spec["params"]] == ["epsilon"]


def test_a_map_writes_the_number_whose_half_sum_its_colours_show(held):
    zones = datasets.load_taxi_zones()
    shares = pd.DataFrame(
        {"mechanism": "noisy counts", "epsilon": 2.0, "zone": zones["zone"]}
    )
    shares["wrong"] = np.geomspace(0.05, 500, len(zones))
    shares["total"] = shares["wrong"].sum() / 2
    chart = figures.manhattan(zones, shares)
    drawn = held(chart)
    np.testing.assert_allclose(drawn["wrong"].sum() / 2, drawn["total"], rtol=1e-4)
    classes = drawn.groupby("size", sort=False)["wrong"].agg(["min", "max"])
    assert list(classes.index) == [
        "below 0.1",
        "0.1 to 1",
        "1 to 10",
        "10 to 100",
        "above 100",
    ]
    assert (classes["max"].to_numpy()[:-1] < [0.1, 1, 10, 100]).all()
    assert (classes["min"].to_numpy()[1:] >= [0.1, 1, 10, 100]).all()
    assert "datum.total" in json.dumps(chart.spec)


def test_each_mechanism_has_a_panel_with_the_truth_in_black():
    part = pd.DataFrame({"grade": list("AB"), "true": [28, 12], "middle": [27, 13]})
    ends = {"low": [20, 5], "lower": [25, 10], "upper": [30, 15], "high": [35, 20]}
    part = part.assign(**ends)
    table = pd.concat(
        [
            part.assign(mechanism="Dirichlet", of_a_paper=True),
            part.assign(mechanism="noisy counts", of_a_paper=False),
        ]
    )
    fig = figures.draw_releases(table)
    first, second = fig.axes[:2]
    assert [ax.get_title() for ax in (first, second)] == ["Dirichlet", "noisy counts"]
    marks = [line for line in first.lines if line.get_marker() == "_"]
    assert [line.get_ydata().tolist() for line in marks] == [[28, 12]]
    thin, thick = first.collections
    assert [path.vertices[:, 1].tolist() for path in thin.get_paths()] == [
        [20, 35],
        [5, 20],
    ]
    assert thin.get_linewidth()[0] < thick.get_linewidth()[0]
    assert not np.array_equal(thin.get_color(), second.collections[0].get_color())
    plt.close(fig)


@pytest.mark.parametrize("kind", ["values", "bounds", "statements", "no ratio"])
def test_each_kind_of_claim_has_a_panel(held, kind):
    claims = pd.DataFrame(
        {
            "paper": "A et al. 2020",
            "verdict": ["agrees", "slip"],
            "kind": [kind, "no ratio"],
            "ratio": [0.5, np.nan],
            "label": ["", "Lemma 1"],
            "line": [0, 1],
        }
    )
    chart = figures.claims_chart(claims)
    assert len(held(chart)) == 2
    panels = {panel["title"]: panel for panel in chart.spec["hconcat"]}
    assert list(panels) == ["values", "bounds", "statements", "no ratio"]
    dots = [layer for layer in panels[kind]["layer"] if "color" in layer["encoding"]]
    colours = dots[0]["encoding"]["color"]["scale"]
    assert colours["domain"] == ["agrees", "slip"] and len(colours["range"]) == 2
    assert set(figures.overview.VERDICTS) >= set(ledger.judged_claims()["verdict"]) - {
        "not judged"
    }
