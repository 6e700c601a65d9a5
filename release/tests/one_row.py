"""One more row of a table, of any kind: it changes the counts by its own events at
most, and never whether it is read.

A case is a random table of 40 good rows, in a random format with random types of
columns, and one more row of values at their ends, of bytes that are no text, of Python
objects that cannot be written, or of a line that is no row.
"""

from __future__ import annotations

import datetime
import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from dpsim_release import Options, scratch, text

ROWS = 40
ROLES = {"who": "label", "a": "label", "b": "label", "many": "count", "at": "time"}
OPTIONS: dict[str, dict[str, Any]] = {
    "events": {"origin": "a", "destination": "b"},
    "counts": {"origin": "a", "destination": "b", "count": "many"},
    "units": {"origin": "a", "destination": "b", "unit": "who", "events": 3},
    "visits": {"trajectory": "who,at,a", "events": 3},
}


class Odd:
    """An object that cannot be written, compared, hashed or asked for its class."""

    def _fail(self, *_: object) -> Any:
        raise RuntimeError("no")

    __str__ = __repr__ = __eq__ = __hash__ = __bool__ = __float__ = __int__ = (
        __len__
    ) = __iter__ = _fail  # type: ignore
    __class__ = property(_fail)  # type: ignore


class Text(str):
    """A text that cannot be written."""

    __str__ = __repr__ = encode = strip = Odd._fail  # type: ignore


class Day(datetime.date):
    """A date that cannot be written."""

    __str__ = __repr__ = isoformat = Odd._fail  # type: ignore


OBJECTS = [
    Odd(), Text("x"), Day(2025, 1, 1), np.zeros(3), np.zeros((2, 2)), 10**5000,
    -(10**5000), Decimal("sNaN"), Decimal("1E+999999"), Decimal(3), float("nan"),
    float("inf"), 2.5, 1j, b"x", b"\xff", {}, [], {1}, ("x",), object, pd.NaT, pd.NA,
    None, True, np.bool_(False), 3, np.uint64(2**64 - 1), datetime.date(1, 1, 1),
    datetime.date(9999, 12, 31), pd.Timestamp.max, datetime.datetime.max,
    pd.Timedelta(1), np.datetime64("NaT"), np.float32(3), "a\ud800", "\x00", "",
    "x" * 100_000, "s1", "1.0", lambda: 0, pd.Series([1]), range(3), Exception("x"),
    type("S", (str,), {"__eq__": Odd._fail, "__hash__": Odd._fail})("s1"),
    np.str_("s1"), pd.Interval(0, 1), pd.Period("2025"), memoryview(b"x"),
]  # fmt: skip
TEXTS = [
    None, "", " ", "\t", "x" * 100_000, "\u202e", "a\x00b", "\x1f", "é", "\ufffe",
    "NULL", "nan", "1e999", "-0", "1.0", '"', '""', ",", "\\", "٣", "s1",
    "0" * 500 + "1", "9" * 500, "true",
]  # fmt: skip
TIMES = [
    "294247-01-10 04:00:54.775806", "294247-01-10", "9999-12-31 23:59:59-99",
    "9999-12-31 23:59:59.999999 America/New_York", "0001-01-01 00:00 Asia/Tokyo",
    "0000-01-01", "0001-01-01 (BC)", "290309-12-22 (BC)", "infinity", "-infinity",
    "epoch", "now", "today", "10:00", "2025-02-30", "2025-01-01 10:00 Nowhere/x",
    "2025-01-01T25:00", "2025-01-01 10:00:00+2147483647", "2016-12-31 23:59:60",
    "2025-03-30 02:30 Europe/Berlin", "1e308", "-1e308", "inf", "nan",
    "9223372036854775807", "-9223372036854775808", "9223372036854.775807", "0x10",
    "1_0", "31.12.9999", "01.01.0001", "00.00.0000", "12/31/9999",
    "Thu Jan 01 00:00:00 +9999 1970", "Fri Dec 31 23:59:59 -9999 9999", "9999 366",
    "0 0", "٣",
]  # fmt: skip
FORMS = [
    "iso", "seconds", "milliseconds", "%d.%m.%Y", "%Y-%m-%d %H:%M",
    "%a %b %d %H:%M:%S %z %Y", "%Y %j", "%G %V %u", "%y %U %w", "%Y-%m-%d %H:%M:%S %Z",
    "%c", "%x %X", "%f", "%I %p", "%%",
]  # fmt: skip
GOOD = {"iso": "2025-01-01 10:%02d", "seconds": "%d", "milliseconds": "%d00"}
ENDS = [
    2**63 - 1,
    2**63 - 2,
    -(2**63),
    1 - 2**63,
    2**62,
    -(2**62),
    2**53,
    -1,
    0,
    253402300800,
    -62135596801,
    None,
]
DAYS = [2**31 - 1, -(2**31), 1 - 2**31, 150_000_000, 3_000_000, -800_000, -1, None]

WHOLE = [
    *map(
        pa.type_for_alias,
        ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
]
WHOLE += [pa.decimal128(38, 0), pa.decimal128(3, 0)]
PACKED = [
    pa.dictionary(pa.int32(), kind)
    for kind in (pa.string(), pa.large_string(), pa.int64())
]
LABELS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    *PACKED,
    *WHOLE,
    pa.bool_(),
    pa.date32(),
    pa.null(),
]
STAMPS = [
    pa.timestamp(unit, zone)
    for unit in ("s", "ms", "us", "ns")
    for zone in (None, "UTC", "Europe/Berlin")
]
NUMBERS = [
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.decimal128(38, 2),
    pa.dictionary(pa.int32(), pa.float64()),
]
OTHERS = [
    pa.binary(), pa.time32("s"), pa.time64("us"), pa.time64("ns"), pa.duration("s"),
    pa.date64(), pa.binary(3), pa.list_(pa.int8()), pa.struct({"x": pa.int8()}),
    pa.month_day_nano_interval(),
]  # fmt: skip
TYPES = {
    "label": LABELS,
    "count": [pa.string(), *WHOLE],
    "time": [pa.string(), pa.int64(), *STAMPS, *NUMBERS],
}
EVERY = [*LABELS, *STAMPS, *NUMBERS, *OTHERS]


MOST = {"events": 1, "counts": 10**9, "units": 3, "visits": 3}
"""By how much one row may change the counts, by what OPTIONS count."""


def check(seed: int, folder: Path) -> str:
    """Count a random table, and it with one more row; return what was tried."""
    rng = np.random.default_rng(seed)
    way = str(rng.choice(list(OPTIONS)))
    options = dict(OPTIONS[way])
    if way == "visits":
        options["time_format"] = str(rng.choice(FORMS))
        options["max_gap"] = [None, "30min", "10000d"][rng.integers(3)]
    make = [_text, _text, _arrow, _arrow, _pandas][rng.integers(5)]
    kind, sources = make(rng, folder, options)
    said = f"seed {seed}: {way} {options.get('time_format', '')} {kind}"
    options["categories"] = (
        [*(f"s{i}" for i in range(4)), 0, 1, "x"] if rng.random() < 0.3 else None
    )
    (one, told), (other, also) = (_outcome(source, options) for source in sources)
    assert (one is None) == (other is None), f"{said}: {told} {also}"
    if one is not None and other is not None:
        moved = {pair: other.get(pair, 0) - one.get(pair, 0) for pair in {*one, *other}}
        moved = {pair: n for pair, n in moved.items() if n}
        assert sum(map(abs, moved.values())) <= MOST[way], f"{said}: {moved}"
        assert way not in ("events", "counts") or len(moved) <= 1, f"{said}: {moved}"
    return f"{said}: {'read' if one is not None else told}"


def _outcome(source: Any, options: dict[str, Any]) -> tuple[dict[Any, int] | None, str]:
    """Return the counts, or None and why the table is refused (ValueError alone)."""
    try:
        trips = Options(**options).counts(source).trips
    except ValueError as error:
        return None, str(error)
    return {(a, b): n for a, b, n in trips.itertuples(index=False)}, ""


# --- text -----------------------------------------------------------------------------


def _text(
    rng: np.random.Generator, folder: Path, options: dict[str, Any]
) -> tuple[str, list[Path]]:
    """Write two files of text: packed or not, with any delimiter, end of lines and
    place of the line.
    """
    ending = str(rng.choice(["csv", "csv.gz", "tsv", "tsv.gz"]))
    delimiter = (
        "\t" if ending.startswith("tsv") else str(rng.choice(list(text.DELIMITERS)))
    )
    end = rng.choice([b"\n", b"\r\n", b"\r"])
    names = list(rng.permutation([*ROLES, "more"]))
    form = options.get("time_format", "iso")

    def good(i: int) -> bytes:
        values = {
            "who": f"p{i % 9}",
            "a": f"s{i % 4}",
            "b": f"s{i % 3}" if i % 5 else '"s 1"',
            "many": str(i % 3),
            "more": "",
            "at": _time(form, i),
        }
        return delimiter.join(values[name] for name in names).encode()

    lines = [good(i) for i in range(ROWS)]
    kind = str(rng.choice(["bytes", "marks", "values", "long"]))
    if kind == "bytes":
        line = rng.bytes(rng.integers(1, 60))
    elif kind == "marks":
        marks = [
            *'"",\t;| ax',
            delimiter,
            delimiter,
            "\x00",
            "\x1c",
            "é",
            "\u2028",
            "\x0b",
            "\x85",
        ]
        line = "".join(rng.choice(marks, rng.integers(1, 30))).encode()
    else:
        odd = {"at": _pick(rng, TIMES), "who": "new"}
        odd = {name: str(odd.get(name) or _pick(rng, TEXTS) or "") for name in names}
        odd["who"] = str(rng.choice(["new", odd["who"]]))
        fields = []
        for name in names:
            closing = '"' if rng.random() < 0.9 else ""
            fields.append('"' + odd[name].replace('"', '""') + closing)
        line = delimiter.join(fields).encode()
        if kind == "long":
            line += b"x" * int(rng.integers(20, 3000))
    line = line.replace(b"\n", b"").replace(b"\r", b"")
    head = b"\xef\xbb\xbf" * int(rng.integers(2)) + delimiter.join(names).encode()
    place = int(rng.choice([0, 17, ROWS]))
    files = []
    for name, body in (
        ("one", lines),
        ("other", [*lines[:place], line, *lines[place:]]),
    ):
        whole = end.join([head, *body]) + end * int(rng.integers(2))
        packed = (
            gzip.compress(whole) + bytes(int(rng.choice([0, 512])))
            if ending.endswith("gz")
            else whole
        )
        files.append(folder / f"{name}.{ending}")
        files[-1].write_bytes(packed)
    return f"{ending} {kind} {line[:60]!r}", files


def _pick(rng: np.random.Generator, values: list[Any]) -> Any:
    return values[rng.integers(len(values))]


def _time(form: str, i: int) -> str:
    if form in GOOD:
        return GOOD[form] % i
    return (
        (datetime.datetime(2025, 1, 1) + datetime.timedelta(days=i))
        .astimezone(datetime.UTC)
        .strftime(form)
    )


# --- Arrow, Parquet, Polars, Ibis -----------------------------------------------------


def _arrow(
    rng: np.random.Generator, folder: Path, options: dict[str, Any]
) -> tuple[str, list[Any]]:
    """Return two tables of Arrow, or Parquet files, or frames of Polars, or tables of a
    database, of the same types.
    """
    types = {
        name: _pick(rng, TYPES[role] if rng.random() < 0.9 else EVERY)
        for name, role in ROLES.items()
    }
    bodies = {
        name: [_good(name, kind, options, i) for i in range(ROWS)]
        for name, kind in types.items()
    }
    tables = []
    for more in (False, True):
        columns = {
            name: _column(kind, bodies[name], more, rng) for name, kind in types.items()
        }
        tables.append(pa.table(columns))
    way = str(rng.choice(["arrow", "parquet", "parquet", "polars", "ibis"]))
    said = f"{way} {', '.join(map(str, types.values()))}"
    try:
        return said, [
            _as(way, table, folder / f"{i}.parquet") for i, table in enumerate(tables)
        ]
    except Exception:  # a type that one of these does not have
        return f"arrow, not {said}", tables


def _as(way: str, table: pa.Table, file: Path) -> Any:
    if way == "parquet":
        pa.parquet.write_table(table, file)
        return file
    if way == "polars":
        import polars

        return polars.from_arrow(table)
    return (
        scratch.connect()[0].create_table("mine", obj=table) if way == "ibis" else table
    )


def _good(name: str, kind: Any, options: dict[str, Any], i: int) -> Any:
    """Return a good value of a type."""
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    if (
        pa.types.is_string(value)
        or pa.types.is_large_string(value)
        or pa.types.is_string_view(value)
    ):
        return {
            "many": str(i % 3),
            "at": _time(options.get("time_format", "iso"), i),
            "who": f"p{i % 9}",
        }.get(name, f"s{i % 4}")
    if pa.types.is_boolean(value):
        return i % 2 == 0
    if pa.types.is_decimal(value):
        return Decimal(i % 4)
    if pa.types.is_null(value):
        return None
    return i if name == "at" else i % 4


def _column(kind: Any, body: list[Any], more: bool, rng: np.random.Generator) -> Any:
    """Return a column of a type, and one more value: at its ends, missing, or bytes
    that are no text.
    """
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    try:
        column = pa.array(body, value)
    except (pa.ArrowException, TypeError, ValueError):  # types of no value here
        column = pa.array([None] * ROWS, value)
    whole = pa.concat_arrays([column, _last(value, rng)] if more else [column])
    return whole.dictionary_encode() if pa.types.is_dictionary(kind) else whole


def _last(value: Any, rng: np.random.Generator) -> Any:
    """Return an array of one odd value of a type."""
    of = pa.types
    if (of.is_string(value) or of.is_large_string(value)) and rng.random() < 0.3:
        bytes_ = pa.array(
            [b"\xff\xfe"], pa.binary() if of.is_string(value) else pa.large_binary()
        )
        return pa.Array.from_buffers(value, 1, bytes_.buffers())
    if of.is_string(value) or of.is_large_string(value) or of.is_string_view(value):
        return pa.array([_pick(rng, TEXTS + TIMES)], value)
    if of.is_floating(value):
        return pa.array(
            np.array(
                [_pick(rng, [np.inf, -np.inf, np.nan, 6e4, -0.0])],
                value.to_pandas_dtype(),
            ),
            value,
        )
    if of.is_decimal(value):
        return pa.array(
            [
                _pick(
                    rng,
                    [
                        Decimal(10 ** (value.precision - value.scale) - 1),
                        Decimal(-1),
                        None,
                    ],
                )
            ],
            value,
        )
    if of.is_integer(value):
        signed = of.is_signed_integer(value)
        ends = [
            2 ** (value.bit_width - signed) - 1,
            -(2 ** (value.bit_width - 1)) * signed,
            0,
            None,
        ]
        return pa.array([_pick(rng, ends)], value)
    if of.is_temporal(value) and value.bit_width < 128:
        raw, ends = (pa.int32(), DAYS) if value.bit_width == 32 else (pa.int64(), ENDS)
        return pa.array([_pick(rng, ends)], raw).view(value)
    return pa.array([_pick(rng, [True, None]) if of.is_boolean(value) else None], value)


# --- pandas ---------------------------------------------------------------------------

UTC = "datetime64[ns,UTC]"
PANDAS = {
    "label": "object, object, str, string[python], category, category of objects, "
    "int64, uint8, Int64, bool, boolean",
    "count": "object, str, int64, Int64, UInt64, category of objects",
    "time": "object, str, int64, Int64, float64, Float64"
    + "".join(f", datetime64[{unit}]" for unit in ("s", "ms", "us", "ns")),
}
REFUSED = (
    f"float64, Float64, complex128, timedelta64[s], period[Y], Sparse[int], {UTC}, "
    f"float16"
)


def _pandas(
    rng: np.random.Generator, folder: Path, options: dict[str, Any]
) -> tuple[str, list[pd.DataFrame]]:
    """Return two DataFrames with the same types of columns."""
    of_roles = {
        name: PANDAS[role] if rng.random() < 0.95 else REFUSED
        for name, role in ROLES.items()
    }
    kinds = {
        name: _pick(rng, of_role.split(", ")) for name, of_role in of_roles.items()
    }
    ends = {
        "uint8": [255, 0],
        "UInt64": [2**64 - 1, 0],
        "bool": [True],
        "boolean": [True, pd.NA],
    }
    frames: list[dict[str, Any]] = [{}, {}]
    for name, kind in kinds.items():
        of_text = kind in (
            "object",
            "str",
            "string[python]",
            "category",
            "category of objects",
        )
        body = [
            _good(name, pa.string() if of_text else pa.int64(), options, i)
            for i in range(ROWS)
        ]
        body = (
            [value % 2 == 0 for value in body] if kind in ("bool", "boolean") else body
        )
        if "of objects" in kind or kind == "object":
            more: list[Any] = [OBJECTS[rng.integers(len(OBJECTS))]]
        elif of_text:
            more = [
                _pick(
                    rng,
                    [*TEXTS, *TIMES, "a\ud800" if kind == "string[python]" else "é"],
                )
            ]
        elif kind.startswith("datetime"):
            more = [np.int64(_pick(rng, [*ENDS[:6], -(2**63)]))]
        elif kind in ("float64", "Float64"):
            more = [_pick(rng, [np.nan, np.inf, -1e308, 2.0**60])]
        else:
            more = [_pick(rng, ends.get(kind, ENDS[:-1]))]
        for frame, values in zip(frames, (body, body + more)):
            frame[name] = _series(kind, values)
    return f"pandas {', '.join(kinds.values())}", [
        pd.DataFrame(frame) for frame in frames
    ]


def _series(kind: str, values: list[Any]) -> pd.Series:
    if kind in ("object", "category of objects"):
        column = np.empty(len(values), dtype=object)
        for i, value in enumerate(values):
            column[i] = value
        made = pd.Series(column, dtype=object)
        try:
            return made.astype("category") if kind != "object" else made
        except Exception:  # what has no hash or no order is no category
            return made[:-1].astype("category").reindex(range(len(values)))
    if kind.startswith("datetime") and kind != UTC:
        return pd.Series(np.array(values, dtype=np.int64).view(kind))
    if kind in REFUSED:
        numbers = np.ones(len(values))
        n = len(values)
        special = {
            "timedelta64[s]": pd.to_timedelta(numbers),
            "Sparse[int]": pd.arrays.SparseArray([1] * n),
            "period[Y]": pd.PeriodIndex(["2025"] * n, freq="Y"),
            UTC: pd.to_datetime(numbers, utc=True),
        }
        return (
            pd.Series(special[kind])
            if kind in special
            else pd.Series(numbers).astype(kind)
        )
    return pd.Series(values, dtype=kind)
