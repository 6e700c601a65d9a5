"""Figure 2 of the matrix paper."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from dpsim import figures


@pytest.fixture
def pair():
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 2.5), layout="constrained")
    yield axes
    plt.close(figure)


def test_figure_two_shows_each_width_up_to_the_end_of_the_axis_and_the_bound_of_the_first():
    table = pd.DataFrame({"k": [10, 80, 200], "mean_of_norms": [0.5, 0.2, 0.1], "standard_error": 0.01})
    table = table.assign(theorem3=[200.0, 80.0, 50.0], **{"epsilon_b0.02": [1, 9, 22], "epsilon_b0.01": [0.5, 4, 9]})
    P = np.array([[0.5, 0.5], [1.0, 0.0]])
    figure = figures.stationary_errors(P, P, table, (0.02, 0.01), [(0.5, 0.485)], "stand-in")
    bound, error = figure.axes[3], figure.axes[4]
    assert bound.lines[0].get_ydata().tolist() == [200, 80]
    labels = [text.get_text() for text in error.get_legend().get_texts()]
    assert sorted(labels) == ["$b=0.01$", "$b=0.02$", "published"]
    assert [len(part.lines[0].get_xdata()) for part in error.containers] == [2, 3]
    assert figure.axes[0].images[0].get_array().mask.tolist() == [[False, False], [False, True]]
    plt.close(figure)
