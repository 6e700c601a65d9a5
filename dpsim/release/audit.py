"""Copies of a unit, so that one release is as good as many for an audit."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpsim import checks


def replicated(events: pd.DataFrame, copies: int) -> pd.DataFrame:
    """Return a table of events (columns unit, origin, destination) as many times, copy k with units and states k:name.

    Examples
    --------
    >>> replicated(pd.DataFrame({"unit": ["u"], "origin": ["a"], "destination": ["b"]}), 2)
      unit origin destination
    0  0:u    0:a         0:b
    1  1:u    1:a         1:b
    """
    copies = checks.integer("copies", copies, 1)
    number = pd.Series(np.repeat(np.arange(copies), len(events)).astype(str))
    tiled = pd.concat([events[["unit", "origin", "destination"]].astype(str)] * copies, ignore_index=True)
    return tiled.apply(lambda column: number + ":" + column)
