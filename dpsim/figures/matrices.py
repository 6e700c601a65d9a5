"""Figure 2 of Fallin et al. 2023, drawn beside a matrix and its private version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dpsim.figures.house_style import PAPER, PUBLISHED, mark_published, mark_source, shorten, size

FIRST, LAST = 0.5, 9.0
"""Where the axis of Figure 2 begins and ends."""


def stationary_errors(
    P: ArrayLike,
    private: ArrayLike,
    table: pd.DataFrame,
    widths: Sequence[float],
    least_k: float,
    printed: Sequence[tuple[float, float]],
    source: str,
) -> Any:
    """Return a figure with Figure 2 (the error of the stationary distribution against epsilon) beside two heatmaps.

    Parameters
    ----------
    P, private : array_like, shape (n, n), true matrix and a private version
    table : DataFrame, rows by growing k; columns k, mean_of_norms, standard_error, theorem3, and epsilon_b0.025 for
        that b
    widths : sequence of two floats, the paper's b and another reading of it
    least_k : float, the smallest k that Assumption 2 allows; the curves are thin below it
    printed : sequence of (epsilon, error), as the paper prints them
    source : str, the source of the data
    """
    mosaic = [["true", "error"], ["private", "error"]]
    fig, axes = plt.subplot_mosaic(mosaic, figsize=size(2, 3.8), width_ratios=[1, 2.2])
    P, Q, table = *(np.asarray(shorten(pd.DataFrame(x)), float) for x in (P, private)), shorten(table)
    titles = {"true": "true matrix $P$", "private": r"a private matrix $\tilde P$"}
    for place, values in (("true", P), ("private", Q)):
        shown = np.where(P > 0, values, np.nan)
        image = axes[place].imshow(shown, cmap="Greys", vmin=0, vmax=max(P.max(), Q.max()))
        axes[place].set(title=titles[place], xticks=[], yticks=[])
        axes[place].spines[:].set(visible=True, color="0.7")
    fig.colorbar(image, ax=[axes["true"], axes["private"]], shrink=0.5, pad=0.03)
    error = axes["error"]
    allowed = table.k >= least_k * (1 - 1e-5)  # k has six digits
    looks = [{"fmt": "o-", "color": PAPER}, {"fmt": "^:", "color": "#56B4E9"}]
    for b, look in zip(widths, looks):
        epsilon = table[f"epsilon_b{b:g}"]
        part = table[allowed & (epsilon <= 1.01 * LAST)]
        error.errorbar(epsilon[part.index], part.mean_of_norms, 2 * part.standard_error, label=f"$b={b:g}$", **look)
        broken = table[(~allowed | (table.index == allowed.idxmax())) & (epsilon >= 0.99 * FIRST) & (epsilon <= LAST)]
        if len(broken) > 1:  # the last of them is the first that is allowed
            thin = {"color": look["color"], "lw": 0.7, "ms": 3, "mfc": "none", "mew": 0.7}
            words = f"$b={b:g}$, $k<{least_k:g}$:\nAssumption 2 broken"
            error.plot(epsilon[broken.index], broken.mean_of_norms, look["fmt"], label=words, zorder=1, **thin)
    for point, offset in zip(printed, ((-16, -62), (6, -12))):
        mark_published(error, *point, f"{point[1]:g}", offset=offset)
    error.plot([], [], "D", mfc="none", mec=PUBLISHED, label="printed in the paper")
    bound = table.theorem3[allowed]
    words = f"The bound of Theorem 3, {bound.min():.0f} to {bound.max():.0f},\nis far above this axis."
    error.text(0.98, 0.5, words, transform=error.transAxes, ha="right")
    error.set(xlabel=r"$\epsilon$ of Theorem 1", ylabel=r"$\mathbb{E}\,\|\pi-\tilde\pi\|_1$")
    error.set(xlim=(0, 1.03 * LAST), ylim=(0, None))
    handles, names = error.get_legend_handles_labels()
    order = sorted(range(len(names)), key=lambda i: ("printed" in names[i], "broken" in names[i]))
    error.legend([handles[i] for i in order], [names[i] for i in order], loc="upper right")
    mark_source(fig, source)
    return fig
