"""The one look: what can be read at print size, told apart in grey, and drawn from the
numbers of the csv."""

import json
import math
import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from dpsim import figures


def test_no_text_is_smaller_than_a_reader_needs():
    figures.style()
    keys = [
        "font.size",
        "axes.labelsize",
        "axes.titlesize",
        "xtick.labelsize",
        "ytick.labelsize",
        "legend.fontsize",
    ]
    assert min(mpl.rcParams[key] for key in keys) > 8.49
    assert mpl.rcParams["font.family"] == ["DejaVu Sans"]


def test_the_colours_of_lines_differ_in_dashes():
    colours = (figures.PAPER, figures.OURS, figures.OTHER)
    dashes = [figures.DASHES[colour] for colour in colours]
    assert len({str(one) for one in [*dashes, figures.BOUND]}) == 4


def test_each_name_has_a_line_in_its_colour_and_a_bound_is_dashed(ax):
    table = pd.DataFrame(
        {"x": [1, 0] * 3, "y": range(6), "name": np.repeat(["a", "b", "c"], 2)}
    )
    colours = {"b": "#9AD9C3", "c": figures.OURS, "a": "red"}
    figures.draw_lines(ax, table, "x", "y", "name", colours, bounds=["a"])
    b, c, a = ax.lines
    assert [line.get_label() for line in (b, c, a)] == ["b", "c", "a"]
    assert to_hex(a.get_color()).upper() == "#FF0000"
    assert [line.is_dashed() for line in (b, c, a)] == [False, True, True]
    assert a.get_xdata().tolist() == [0, 1] and a.get_ydata().tolist() == [1, 0]
    assert not ax.collections


def test_a_band_is_two_standard_errors_to_either_side(ax):
    table = pd.DataFrame(
        {"x": [1, 2], "y": [1.0, 2.0], "se": [0.25, 0.5], "name": "ours"}
    )
    colours = {"ours": figures.OURS}
    figures.draw_lines(ax, table, "x", "y", "name", colours, error="se")
    (line,) = ax.lines
    (band,) = ax.collections
    assert (
        line.get_ydata().tolist() == [1.0, 2.0]
        and line.get_label() == "ours"
        and line.is_dashed()
    )
    assert {tuple(point) for point in band.get_paths()[0].vertices} >= {
        (1, 0.5),
        (1, 1.5),
        (2, 1.0),
        (2, 3.0),
    }


def test_a_band_is_cut_off_at_its_limits(ax):
    figures.draw_band(ax, [1, 2], [0.1, 0.9], [0.2, 0.2], figures.OURS, low=0, high=1)
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.min() == 0 and heights.max() == 1


def test_a_table_keeps_its_alignment_without_a_style_sheet():
    table = pd.DataFrame({"way <1>": ["a & b", "c"], "trips": ["1,234", "5"]})
    shown = figures.show_table(table)._repr_mimebundle_()
    assert shown["text/plain"] == "way <1> | trips\na & b | 1,234\nc | 5"
    styles = re.findall(
        r'<t[hd] style="text-align: (\w+); vertical-align: top">', shown["text/html"]
    )
    assert styles == ["left"] * 6 and "way &lt;1&gt;" in shown["text/html"]


def test_many_values_leave_room_for_each_other(ax):
    for k, shown in (
        ([1, 100], [1, 3, 10, 30, 100]),
        ([0.1, 10_000], [0.1, 1, 10, 100, 1000, 10_000]),
    ):
        ax.plot(k, k)
        ax.set_xscale("log")
        figures.plain_ticks(ax.xaxis, figures.K_TICKS)
        low, high = ax.get_xlim()
        assert [tick for tick in ax.get_xticks() if low <= tick <= high] == shown


def test_a_rounded_table_holds_what_its_csv_holds(tmp_path):
    table = pd.DataFrame(
        {"who": ["a", "b", "c"], "n": [1, 2, 3], "x": [np.pi * 1e-7, np.nan, -2e9 / 3]}
    )
    figures.save_table(table, "whole", str(tmp_path))
    kept = pd.read_csv(tmp_path / "whole.csv")
    pd.testing.assert_frame_equal(figures.shorten(table), kept, check_exact=True)
    pd.testing.assert_frame_equal(
        figures.shorten(figures.shorten(table)), kept, check_exact=True
    )
    figures.save_table(kept, "again", str(tmp_path))
    assert (tmp_path / "again.csv").read_bytes() == (
        tmp_path / "whole.csv"
    ).read_bytes()


def test_key_numbers_are_written_with_six_digits_and_only_on_request(tmp_path):
    figures.save_numbers({"delta": 1 / 3, "rows": 12}, "")
    assert list(tmp_path.iterdir()) == []
    figures.save_numbers({"delta": 1 / 3, "rows": 12}, str(tmp_path / "new"))
    assert json.loads((tmp_path / "new" / "numbers.json").read_text()) == {
        "delta": 0.333333,
        "rows": 12,
    }


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"delta": math.nan}, "delta must be"),
        ({"delta": "0.1"}, "delta must be"),
        ({}, r"numbers must hold at least one number, got \{\}"),
    ],
)
def test_what_is_no_number_is_refused(numbers, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        figures.save_numbers(numbers, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_nobody_else_reads_the_files_of_a_figure_of_somebodys_data(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PDF", "1")
    fig, ax = plt.subplots()
    ax.plot([1, 2])
    table = pd.DataFrame({"x": [1, 2]})
    figures.save(fig, "fig1_line", table, str(tmp_path), owner_only=True)
    figures.save_numbers({"mean": 1.5}, str(tmp_path), owner_only=True)
    modes = {path.suffix: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == dict.fromkeys((".csv", ".png", ".pdf", ".json"), 0o600)
