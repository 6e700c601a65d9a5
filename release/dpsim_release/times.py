"""Times of visits, read in a declared format, and lengths of time.

Each value is read independently of the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any

import pyarrow as pa

from dpsim_release.scratch import ibis
from dpsim_release.sources import NUMBERS, words

SCALES = {"seconds": 1e6, "milliseconds": 1e3}  # the microseconds in each unit
FORMATS = 'iso, seconds, milliseconds, or a pattern such as "%d.%m.%Y %H:%M"'
PATTERN = re.compile(r"(?=.*%)([^%]|%-?[aAbBcdfgGHIjmMpSuUVwWxXyYzZ%])+", re.DOTALL)
# what DuckDB itself reads as fromisoformat does
PLAIN_ISO = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(\.[0-9]{1,6})?$"
)
OTHER_ISO = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})?)?$"
)
MINUTES = r"^([0-9-]{10}[ T][0-9]{2}:[0-9]{2})(Z|[+-].*)?$"
DATE = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8}|[0-9]{4}-?[Ww][0-9]{2}(-?[0-9])?)($|[^0-9])"
)
ZULU = r"([0-9 ])[Zz]($|[^A-Za-z])"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NO_TIME = -(2**62)
LENGTH = re.compile(r"(\d+|\d*\.\d+)\s*(s|min|h|d)")
SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}


def reader(time_format: str | None) -> Callable[[Any], Any]:
    """Return a function that converts a column to timestamps.

    The function returns null for a value that is not a time in this format. Raises
    ValueError if there is no such format.

    time_format: "iso" (what Python's `datetime.fromisoformat` reads, in upper or lower
    case), "seconds" or "milliseconds" (counted from any start), or a pattern of
    strptime such as "%d.%m.%Y %H:%M"; None if the column already has timestamps.
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
        moments = _iso(words(values, NUMBERS))
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
        if "%z" in time_format:
            dated = dated.re_replace(ZULU, r"\1+00:00\2")
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


def _iso(written: Any) -> Any:
    """Return text as timestamps, in every form that `datetime.fromisoformat` reads.

    On a database other than DuckDB, only the forms of `OTHER_ISO` are read.
    """
    if written.get_backend().name != "duckdb":
        one = written.upper().replace(",", ".").re_replace(MINUTES, r"\1:00\2")
        dated = one.re_search(OTHER_ISO).ifelse(one, None)
        return dated.try_cast("timestamp('UTC')")
    plain = written.re_search(PLAIN_ISO)
    other = plain.ifelse(None, written)
    microseconds = _python_iso()(other).nullif(NO_TIME)
    started = ibis.timestamp("1970-01-01 00:00:00")
    read = started + microseconds.as_interval("us")
    return plain.ifelse(written.try_cast("timestamp"), read)


@cache
def _python_iso() -> Any:
    """Return a function of a database column that calls `iso_microseconds`."""

    @ibis.udf.scalar.pyarrow
    def iso(column: str) -> int:
        values = map(iso_microseconds, column.to_pylist())  # type: ignore[attr-defined]
        return pa.array(values, pa.int64())

    return iso


def iso_microseconds(text: str) -> int:
    """Return the microseconds from 1970 to a time, or `NO_TIME` for other text.

    A time without an offset counts as one in UTC. `datetime.fromisoformat` would also
    read some numbers as times, because it accepts any character between date and time.
    Such numbers are no times here.

    >>> iso_microseconds("1970-01-01T00:01Z"), iso_microseconds("19700101 00:01+00")
    (60000000, 60000000)
    >>> iso_microseconds("1611111010101") == NO_TIME
    True
    """
    with suppress(ValueError, OverflowError):
        if DATE.match(text):
            moment = datetime.fromisoformat(text.upper())
            moment = moment.replace(tzinfo=moment.tzinfo or UTC)
            return (moment - EPOCH) // timedelta(microseconds=1)
    return NO_TIME


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
    match = LENGTH.fullmatch(max_gap.strip()) if isinstance(max_gap, str) else None
    if match:
        length = float(match[1]) * SECONDS[match[2]]
    if not 0 < length < 1e10:
        raise ValueError(
            "max_gap must be a number above 0 with its unit, s, min, h or d (1.5h), "
            f"got {max_gap!r}"
        )
    return length
