"""Drawings of private words: what is drawn is the table, and nothing is hidden."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from dpsim import datasets, figures
from dpsim.figures import draw_drives, draw_errors
from dpsim.figures.permute_and_flip import FIXED


def test_expected_and_published_errors_are_drawn(axes):
    rows = [
        (m, e, 1 / e, 1.1 / e, 0.01)
        for m in ("permute-and-flip", "exponential")
        for e in (1.0, 2.0)
    ]
    columns = [
        "mechanism",
        "epsilon",
        "error_expected",
        "error_sampled",
        "standard_error",
    ]
    published = {"permute-and-flip": [(1.5, 0.4), (9, 0.1)], "exponential": []}
    draw_errors(axes[0], pd.DataFrame(rows, columns=columns), published)
    expected = [
        line
        for line in axes[0].lines
        if line.get_label() in ("permute-and-flip", "exponential")
    ]
    assert [line.get_ydata().tolist() for line in expected] == [[1.0, 0.5]] * 2
    bars = axes[0].containers[0].lines[2][0].get_segments()
    assert np.diff([bar[:, 1] for bar in bars], axis=1).ravel() == pytest.approx(
        [0.04, 0.04]
    ), "two on either side"
    assert axes[0].get_ylabel() == "wrong segments"
    assert expected[0].is_dashed() != expected[1].is_dashed()  # told apart in grey
    assert [
        line.get_ydata()[0] for line in axes[0].lines if line.get_marker() == "D"
    ] == [0.4]  # 9 is outside


def test_drives_are_drawn_with_what_no_other_segment_can_replace():
    figure, axes = plt.subplots(1, 2)
    roads = datasets.load_gainesville()
    true = [3, 4, 5, 6]
    private = [3, 4, 24, 4]
    fixed = [False, True, False, True]
    draw_drives(axes, roads, {"true": true, "private": private}, fixed)
    assert [ax.get_title() for ax in axes] == ["true", "private, 2 wrong"]
    # on the maps: the pink segments, the true drive under the private one, passes
    # counted
    pink = [lines for lines in axes[0].collections if lines.get_zorder() == 3]
    ends = figures.maps.segment_ends(roads)
    np.testing.assert_array_equal(np.array(pink[0].get_segments()), ends[[4, 6]])
    stops = [figures.maps.walk_stops(roads, drive) for drive in (true, private)]
    drawn = [line.get_xydata() for line in axes[1].lines if line.get_zorder() in (3, 4)]
    for path in stops:
        assert any(len(path) == len(line) and (path == line).all() for line in drawn)
    named = {text.get_text() for text in axes[1].texts} - {""}
    assert named == {"3", "4", "24", "1 km"}
    assert to_hex(pink[0].get_color()[0]).upper() == FIXED
    plt.close(figure)
