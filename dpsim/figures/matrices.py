"""Fallin et al. 2023 at a glance: a matrix and its private version, beside Figure 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dpsim.figures.house_style import PAPER, PUBLISHED, mark_published, mark_source, rounded, size

LAST = 9.0
"""Where the axis of Figure 2 ends."""


def stationary_errors(
    P: ArrayLike,
    private: ArrayLike,
    table: pd.DataFrame,
    widths: Sequence[float],
    printed: Sequence[tuple[float, float]],
    source: str,
) -> Any:
    """Return a figure of Figure 2, the error of the stationary distribution against epsilon, beside heatmaps.

    Parameters
    ----------
    P, private : array_like, shape (n, n), true matrix and a private version
    table : DataFrame, columns mean_of_norms, standard_error, theorem3, and epsilon_b0.025 for that b
    widths : sequence of two floats, b: the paper's, then another reading of it
    printed : sequence of (epsilon, error), what the paper prints
    source : str, where the data come from
    """
    mosaic = [["true", "error"], ["private", "error"]]
    fig, axes = plt.subplot_mosaic(mosaic, figsize=size(2, 3.8), width_ratios=[1, 2.2])
    P, Q, table = *(np.asarray(rounded(pd.DataFrame(x)), float) for x in (P, private)), rounded(table)
    titles = {"true": "true matrix $P$", "private": r"a private matrix $\tilde P$"}
    for place, values in (("true", P), ("private", Q)):
        shown = np.where(P > 0, values, np.nan)
        image = axes[place].imshow(shown, cmap="Greys", vmin=0, vmax=max(P.max(), Q.max()))
        axes[place].set(title=titles[place], xticks=[], yticks=[])
        axes[place].spines[:].set(visible=True, color="0.7")
    fig.colorbar(image, ax=[axes["true"], axes["private"]], shrink=0.5, pad=0.03)
    error = axes["error"]
    looks = [{"fmt": "o-", "color": PAPER}, {"fmt": "^:", "color": "#56B4E9"}]
    for b, look in zip(widths, looks):
        column = f"epsilon_b{b:g}"
        part = table[table[column] <= 1.01 * LAST]
        error.errorbar(part[column], part.mean_of_norms, 2 * part.standard_error, label=f"$b={b:g}$", **look)
    for point, offset in zip(printed, ((-14, -58), (6, -12))):
        mark_published(error, *point, f"{point[1]:g}", offset=offset)
    error.plot([], [], "D", mfc="none", mec=PUBLISHED, label="published")
    bound = f"Theorem 3 allows {table.theorem3.min():.0f} to {table.theorem3.max():.0f}:\nfar above this axis"
    error.text(0.98, 0.6, bound, transform=error.transAxes, ha="right")
    error.set(xlabel=r"$\epsilon$ of Theorem 1", ylabel=r"$\mathbb{E}\,\|\pi-\tilde\pi\|_1$", ylim=(0, 0.6))
    error.set_xlim(0, 1.03 * LAST)
    error.legend(loc="upper right")
    mark_source(fig, source)
    return fig
