"""Times of visits, read in a declared format, and lengths of time.

Each value is read independently of the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from dpsim_release.scratch import ibis
from dpsim_release.sources import NUMBERS, words

SCALES = {"seconds": 1e6, "milliseconds": 1e3}  # the microseconds in each unit
FORMATS = 'iso, seconds, milliseconds, or a pattern such as "%d.%m.%Y %H:%M"'
PATTERN = re.compile(r"(?=.*%)([^%]|%-?[aAbBcdfgGHIjmMpSuUVwWxXyYzZ%])+", re.DOTALL)
LENGTH = re.compile(r"(\d+|\d*\.\d+)\s*(s|min|h|d)")
SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}


def reader(time_format: str | None) -> Callable[[Any], Any]:
    """Return a function that converts a column to timestamps.

    The function returns null for a value that is not a time in this format. Raises
    ValueError if there is no such format.

    time_format: "iso", "seconds" or "milliseconds" (counted from any start), or a
    pattern of strptime such as "%d.%m.%Y %H:%M"; None if the column already has
    timestamps.
    """
    known = time_format in (None, "iso", *SCALES)
    if not known and not PATTERN.fullmatch(str(time_format)):
        raise ValueError(f"time_format must be {FORMATS}, got {time_format!r}")
    return partial(_moments, time_format)


def _moments(time_format: str | None, values: Any) -> Any:
    """Return a column of timestamps, text or numbers as timestamps."""
    kind = values.type()
    if kind.is_timestamp():
        if kind.scale not in (None, 6):
            raise ValueError(
                f"source: column {values.get_name()!r} must have microseconds, "
                f"got {kind}"
            )
        moments = values
    elif time_format is None:
        raise ValueError(
            f"time_format must be given for the column {values.get_name()!r}: {FORMATS}"
        )
    elif time_format in SCALES:
        written = values if kind.is_floating() else words(values, NUMBERS)
        number = SCALES[time_format] * written.try_cast("float64")
        # this many microseconds after 1970 is the year 9892
        near = (number.abs() < 2.5e17).ifelse(number, None)
        whole = near.round().cast("int64")
        moments = ibis.timestamp("1970-01-01 00:00:00") + whole.as_interval("us")
    elif time_format == "iso":
        written = words(values, NUMBERS)
        # years with more digits overflow in the cast
        dated = written.re_search(r"^[0-9]{4}-[0-9]").ifelse(written, None)
        moments = dated.try_cast("timestamp('UTC')")
    elif values.get_backend().name == "duckdb":
        # this function of DuckDB gives null for text that does not match
        strptime = ibis.udf.scalar.builtin(
            lambda text, form: None,
            name="try_strptime",
            signature=(("string", "string"), "timestamp"),
        )
        written = words(values, NUMBERS)
        # DuckDB accepts infinity and epoch as times
        dated = written.re_search("[0-9]").ifelse(written, None)
        moments = strptime(dated, time_format)
    else:
        raise ValueError(
            "time_format must be iso, seconds or milliseconds on this database, "
            f"got {time_format!r}"
        )
    utc = moments.type().timezone and "UTC"
    first = ibis.timestamp("0001-01-01 00:00:00", timezone=utc)
    last = ibis.timestamp("9999-12-31 00:00:00", timezone=utc)
    # adding a gap to an infinite time would overflow
    return moments.between(first, last).ifelse(moments, None)


def seconds(max_gap: str | None) -> float | None:
    """Return the number of seconds in a time such as "30min", or None for None.

    Raises ValueError unless the text is a positive number with the unit s, min, h or d,
    and the time is less than 10^10 seconds.

    >>> seconds("90min"), seconds("1.5 h")
    (5400.0, 5400.0)
    """
    if max_gap is None:
        return None
    length = 0.0
    found = LENGTH.fullmatch(max_gap.strip()) if isinstance(max_gap, str) else None
    if found:
        length = float(found[1]) * SECONDS[found[2]]
    if not 0 < length < 1e10:
        raise ValueError(
            "max_gap must be a number above 0 with its unit, s, min, h or d (1.5h), "
            f"got {max_gap!r}"
        )
    return length
