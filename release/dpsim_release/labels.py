"""The labels of states as words, and text that is safe to display.

Each value is converted independently of the others, so no row of a table affects how
another row is read.
"""

from __future__ import annotations

import numbers
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from dpsim.checks import Integers
from dpsim.files import WHOLE_TEXT

# TRIM is not used, because Ibis 12 on Spark treats "v" and "f" as blanks
AROUND = r"^[ \t\r\n]+|[ \t\r\n]+$"
# the characters shown come from both ends, because labels may differ only at one end
MOST_OF_A_LABEL = 22
MOST_OF_A_NAME = 80  # how many characters of a column's name are shown


def whole_word(value: Any) -> str | None:
    """Return the word that a release uses for a value, or None for a missing value.

    Text (without leading and trailing blanks), whole numbers, booleans and dates become
    words; the text 97.0 becomes 97. Any other value counts as missing, as does text
    that cannot be encoded.

    >>> values = (97, "97.0", "007", " a ", True, date(2025, 3, 1), 1.5, " ", None)
    >>> [whole_word(value) for value in values]
    ['97', '97', '007', 'a', 'true', '2025-03-01', None, None, None]
    """
    try:
        if isinstance(value, str):
            bare = re.sub(AROUND, "", value.encode().decode())
            return re.sub(WHOLE_TEXT, r"\1", bare) or None
        if isinstance(value, bool | np.bool_):
            return "true" if value else "false"
        if isinstance(value, numbers.Integral):
            return str(int(value))
        if isinstance(value, date) and value is not pd.NaT:
            return value.isoformat()
    # an unusual class, or an integer of thousands of digits, may raise anything
    except Exception:
        return None
    return None


def distinct_labels(name: str, labels: Sequence[Any]) -> list[Any]:
    """Return the declared labels as words, or as integers if all of them are integers.

    Raises ValueError unless there are at least 2 labels and all of them are distinct
    words.

    >>> distinct_labels("categories", range(3)), distinct_labels("categories", [1, "x"])
    ([0, 1, 2], ['1', 'x'])
    """
    if isinstance(labels, np.ndarray):
        labels = labels.tolist()
    listed = list(labels) if isinstance(labels, Iterable) else []
    if isinstance(labels, str) or len(listed) < 2:
        raise ValueError(
            f"{name} must be a list of at least 2 labels, got {labels!r}"[:200]
        )
    words = pd.Series([whole_word(label) for label in listed], dtype=object)
    if words.isna().any():
        bad = listed[words.isna().argmax()]
        raise ValueError(
            f"{name} must be text, whole numbers, booleans or dates, got {bad!r:.99}"
        )
    if words.duplicated().any():
        twice = words[words.duplicated()].iloc[0]
        raise ValueError(f"{name} must be distinct, got {twice} more than once"[:200])
    if pd.api.types.infer_dtype(listed) == "integer":
        integers = [int(label) for label in listed]
        if min(integers) >= -(2**63) and max(integers) < 2**63:
            return integers
    return words.tolist()


def labels_of_words(words: Sequence[str]) -> list[Any]:
    """Return the words in a public file, as integers if every word is an integer.

    >>> labels_of_words(["1", "20"]), labels_of_words(["1", "x"])
    ([1, 20], ['1', 'x'])
    """
    series = pd.Series(words, dtype="str")
    if len(words) and series.str.fullmatch(r"0|-?[1-9]\d{0,17}").all():
        return [int(word) for word in words]
    return list(words)


def positions(values: pd.Series, labels: Sequence[Any]) -> Integers:
    """Return the position of each value in a list of distinct labels, counted from 0.

    A value that is not a label gets position -1. Values and labels are compared as
    words.

    >>> positions(pd.Series(["b", "a", "z"]), ["a", "b"])
    array([ 1,  0, -1])
    """
    codes, distinct = pd.factorize(values)
    words = pd.Index([whole_word(label) for label in labels], dtype=object)
    if not words.is_unique:
        twice = words[words.duplicated()][0]
        raise ValueError(f"labels must be distinct, got {twice!r:.80} more than once")
    named = pd.Index([whole_word(value) for value in distinct], dtype=object)
    places = words.get_indexer(named)
    return np.append(places, -1)[codes].astype(np.int64)


def short_label(label: Any, longest: int = MOST_OF_A_LABEL) -> str:
    """Return a label as text for a page or a terminal.

    A long label is shortened, and invisible characters are replaced as in `visible`.

    >>> print(short_label(chr(0x202E) + "x"))
    \\u202ex
    >>> print(short_label("a very long label of a place"))
    a very long …f a place
    """
    word = str(label)
    if len(word) > longest:
        word = f"{word[: longest - 10]}…{word[-9:]}"
    return visible(word)


def first_labels(labels: Sequence[Any]) -> str:
    """Return the first ten labels as text, with "and others" if there are more."""
    first = ", ".join(map(short_label, labels[:10]))
    return f"{first} and others" if len(labels) > 10 else first


def visible(text: str) -> str:
    """Return a text in which invisible characters are replaced with their codes.

    These are control characters, format characters, unassigned or private-use
    characters, line and paragraph separators, and lone surrogates.
    """
    hidden = ("Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn")
    codes = (mark.encode("unicode_escape", "surrogatepass").decode() for mark in text)
    return "".join(
        code if unicodedata.category(mark) in hidden else mark
        for mark, code in zip(text, codes)
    )
