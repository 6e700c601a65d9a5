"""Fallin et al. 2023 at a glance: a matrix beside its private version, above Figure 2 with the bound of Theorem 3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dpsim.figures.house_style import BOUND, PAPER, PUBLISHED, mark_published, mark_source, rounded, size

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
    """Return a figure of Figure 2, the error of the stationary distribution against epsilon, below heatmaps.

    Parameters
    ----------
    P, private : array_like, shape (n, n), true matrix and a private version; the third heatmap is what was changed
    table : DataFrame, columns mean_of_norms, standard_error, theorem3, and epsilon_b0.025 for that b
    widths : sequence of two floats, b: the paper's, drawn with the bound, then another reading of it
    printed : sequence of (epsilon, error), what the paper prints
    source : str, where the data come from
    """
    mosaic = [["true", "private", "change"], ["bound"] * 3, ["error"] * 3]
    fig, axes = plt.subplot_mosaic(mosaic, figsize=size(2, 5.6), height_ratios=[3, 1, 3])
    P, Q = (np.asarray(rounded(pd.DataFrame(values)), float) for values in (P, private))
    titles = "true matrix $P$", r"private matrix $\tilde P$", "what was changed"
    for place, title, values in zip(mosaic[0], titles, (P, Q, Q - P)):
        low, high = (-1, np.abs(Q - P).max()) if place == "change" else (0, max(P.max(), Q.max()))
        scale = {"cmap": "PuOr" if low else "Greys", "vmin": low * high, "vmax": high}
        image = axes[place].imshow(np.where(P > 0, values, np.nan), **scale)
        fig.colorbar(image, ax=axes[place], shrink=0.8, pad=0.03)
        axes[place].set(title=title, xticks=[], yticks=[])
        axes[place].spines[:].set(visible=True, color="0.7")
    bound, error = axes["bound"], axes["error"]
    looks = [{"fmt": "o-", "color": PAPER}, {"fmt": "^:", "color": "#56B4E9"}]
    for b, look in zip(widths, looks):
        column = f"epsilon_b{b:g}"
        part = table[table[column] <= 1.01 * LAST]
        error.errorbar(part[column], part.mean_of_norms, 2 * part.standard_error, label=f"$b={b:g}$", **look)
        if look is looks[0]:
            bound.plot(part[column], part.theorem3, color=PAPER, dashes=BOUND, label="Theorem 3 (bound)")
    for point, offset in zip(printed, ((-20, -22), (6, -12))):
        mark_published(error, *point, f"{point[1]:g}", offset=offset)
    error.plot([], [], "D", mfc="none", mec=PUBLISHED, label="published")
    error.set(xlabel=r"$\epsilon$ of Theorem 1", ylabel=r"$\mathbb{E}\,\|\pi-\tilde\pi\|_1$", ylim=(0, 0.55))
    bound.set(ylim=(0, None), xticklabels=[])
    for ax in (bound, error):
        ax.set_xlim(0, 1.03 * LAST)
        ax.legend(loc="upper right")
    mark_source(fig, source)
    return fig
