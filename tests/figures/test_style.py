"""The one look: what can be read at print size, told apart in grey, and drawn from the numbers of the csv."""

import json
import math

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from dpsim import figures


def test_no_text_is_smaller_than_a_reader_needs():
    figures.style()
    keys = ["font.size", "axes.labelsize", "axes.titlesize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize"]
    assert min(mpl.rcParams[key] for key in keys) > 8.49
    assert mpl.rcParams["font.family"] == ["DejaVu Sans"]


def test_what_is_compared_differs_in_dashes_and_markers():
    looks = figures.looks({"a": figures.PAPER, "b": figures.OTHER, "c": figures.OURS}, markers=True)
    assert len({str(dash) for dash in looks["dashes"].values()}) == len(set(looks["markers"].values())) == 3


def test_many_values_leave_room_for_each_other(ax):
    for k, shown in (([1, 100], [1, 3, 10, 30, 100]), ([0.1, 10_000], [0.1, 1, 10, 100, 1000, 10_000])):
        ax.plot(k, k)
        ax.set_xscale("log")
        figures.plain_ticks(ax.xaxis, figures.K_TICKS)
        low, high = ax.get_xlim()
        assert [tick for tick in ax.get_xticks() if low <= tick <= high] == shown


def test_a_rounded_table_holds_what_its_csv_holds(tmp_path):
    table = pd.DataFrame({"who": ["a", "b", "c"], "n": [1, 2, 3], "x": [np.pi * 1e-7, np.nan, -2e9 / 3]})
    figures.save_table(table, "whole", str(tmp_path))
    kept = pd.read_csv(tmp_path / "whole.csv")
    pd.testing.assert_frame_equal(figures.shorten(table), kept, check_exact=True)
    pd.testing.assert_frame_equal(figures.shorten(figures.shorten(table)), kept, check_exact=True)
    figures.save_table(kept, "again", str(tmp_path))
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_charts_name_the_font_that_comes_with_the_project_and_hold_their_numbers(held):
    rows = [(s, m, e, 1 / e, "metric") for s in "ab" for m in ("paper", "other") for e in (0.5, 2.5)]
    table = pd.DataFrame(rows, columns=["subject", "mechanism", "epsilon", "error", "metric"])
    moving = figures.which_mechanism(table)
    spec = moving.spec
    assert spec["config"]["font"].startswith("DejaVu Sans")
    pd.testing.assert_frame_equal(held(moving), table)
    assert [panel["title"] for panel in spec["concat"]] == ["a", "b"]
    for channel in ("color", "shape"):  # one look for a mechanism in all panels, the paper's in its blue
        scale, same = (panel["encoding"][channel]["scale"] for panel in spec["concat"])
        looks = dict(zip(scale["domain"], scale["range"]))
        assert scale == same and looks.keys() == {"paper", "other"} and looks["paper"] != looks["other"]
        assert looks["paper"] in (figures.PAPER, "circle")


def test_key_numbers_are_written_with_ten_digits_and_only_on_request(tmp_path):
    figures.save_numbers({"delta": 1 / 3, "rows": 12}, "")
    assert list(tmp_path.iterdir()) == []
    figures.save_numbers({"delta": 1 / 3, "rows": 12}, str(tmp_path / "new"))
    assert json.loads((tmp_path / "new" / "numbers.json").read_text()) == {"delta": 0.333333, "rows": 12}


@pytest.mark.parametrize("numbers", [{"delta": math.nan}, {"delta": "0.1"}])
def test_what_is_no_number_is_refused(numbers, tmp_path):
    with pytest.raises(ValueError, match="delta must be"):
        figures.save_numbers(numbers, str(tmp_path))
    assert list(tmp_path.iterdir()) == []
