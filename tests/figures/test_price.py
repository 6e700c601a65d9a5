"""The picture of the price: what its upper axis promises is never rounded down."""

import math

import pandas as pd

from dpsim import figures
from dpsim.figures import price


def test_the_odds_above_the_picture_are_rounded_up():
    row = {"delta": 0.0, "mechanism": "noise", "standard_error": 0.0, "unit": "people"}
    table = pd.DataFrame([{"epsilon": e, "error": 1 / e, **row} for e in (0.1, 1, 10)])
    fig = figures.draw_price(table, "error, people", {"noise": figures.OTHER})
    (upper,) = fig.axes[0].child_axes
    shown = [label.get_text() for label in upper.get_xticklabels()]
    assert len(shown) == len(price.EPSILONS)
    for epsilon, text in zip(price.EPSILONS, shown):
        share = 100 / (1 + math.exp(-epsilon))
        value = float(text.removesuffix(" %"))
        assert share <= value < share + 0.1, text
