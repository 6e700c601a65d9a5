"""One live control per figure: sliders where somebody can move them, a still figure everywhere else."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

Drawing = tuple[Figure, pd.DataFrame]


def is_live() -> bool:
    """Return whether this kernel belongs to somebody's session in Jupyter, not to papermill or nbconvert."""
    return bool(os.environ.get("JPY_SESSION_NAME"))


def control(draw: Callable[..., Drawing], **sliders: tuple[float, float, float, float]) -> Drawing:
    """Show the figure of draw(**values), with a slider for each argument in a live session; return it as it starts.

    draw returns a figure and its numbers; sliders: for each argument (low, high, step, start), integers or floats.
    Raises ValueError for a start outside its range.
    """
    for name, (low, high, _, start) in sliders.items():
        if not low <= start <= high:
            raise ValueError(f"start of {name} must be in [{low}, {high}], got {start}")
    still = draw(**{name: spec[3] for name, spec in sliders.items()})
    if not is_live():
        plt.show()
        return still
    plt.close(still[0])
    from ipywidgets import FloatSlider, IntSlider, interact

    def slider(spec: tuple[float, float, float, float]) -> Any:
        low, high, step, start = spec
        kind = IntSlider if all(isinstance(part, int) for part in spec) else FloatSlider
        return kind(value=start, min=low, max=high, step=step, continuous_update=False)

    def show(**values: float) -> None:
        draw(**values)
        plt.show()

    interact(show, **{name: slider(spec) for name, spec in sliders.items()})
    return still
