"""Groups of bars, one colour for each series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpsim import checks


def grouped_bars(
    ax: Any,
    heights: ArrayLike,
    labels: Sequence[str],
    colours: Sequence[str],
    *,
    errors: ArrayLike | None = None,
) -> None:
    """Draw groups of bars at 0, 1, ..., one bar of each series in every group.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    heights : array_like, shape (series, groups)
        Finite heights of the bars.
    labels, colours : sequence of str
        Name and colour of each series.
    errors : array_like, shape (series, groups), optional
        Half lengths of the error bars.

    Raises
    ------
    ValueError
        When the shapes differ.
    """
    heights = checks.real("heights", heights)
    if heights.ndim != 2 or not len(heights) == len(labels) == len(colours):
        raise ValueError(f"heights must have shape ({len(labels)}, groups), got {heights.shape}")
    spread = np.full(heights.shape, np.nan) if errors is None else checks.real("errors", errors, 0.0)
    if spread.shape != heights.shape:
        raise ValueError(f"errors must have shape {heights.shape}, got {spread.shape}")
    width = 0.84 / len(heights)
    for i, (height, error, label, colour) in enumerate(zip(heights, spread, labels, colours)):
        place = np.arange(len(height)) + width * (i - 0.5 * (len(heights) - 1))
        bars = {} if errors is None else {"yerr": error, "error_kw": {"lw": 0.7}}
        ax.bar(place, height, width, color=colour, label=label, **bars)
