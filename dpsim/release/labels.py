"""Labels of states, and ids of units: words, one value at a time, whatever the other rows of a table hold."""

from __future__ import annotations

import numbers
import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from dpsim.checks import Integers

AROUND = r"^[ \t\r\n]+|[ \t\r\n]+$"  # no TRIM: for Spark, Ibis 12 lists "v" and "f" among the blanks
WHOLE_TEXT = r"^(-?[0-9]+)\.0+$"
LONGEST = 22  # characters of a label that are shown: its ends, which tell "North" from "South"


def whole_word(value: Any) -> str | None:
    """Return one value as the word that the release makes of it, None when it is missing.

    Words are text without the blanks round it, whole numbers (97.0 in text is 97), booleans and dates; None is what is
    nothing of these, or cannot be written.

    >>> [whole_word(value) for value in (97, "97.0", "007", " a ", True, date(2025, 3, 1), 1.5, " ", None)]
    ['97', '97', '007', 'a', 'true', '2025-03-01', None, None, None]
    """
    try:
        if isinstance(value, str):
            return re.sub(WHOLE_TEXT, r"\1", re.sub(AROUND, "", value.encode().decode())) or None
        if isinstance(value, bool | np.bool_):
            return "true" if value else "false"
        if isinstance(value, numbers.Integral):
            return str(int(value))
        return None if value is pd.NaT or not isinstance(value, date) else value.isoformat()
    except Exception:  # what a class of its own, or thousands of digits, may raise
        return None


def distinct_labels(name: str, labels: Sequence[Any]) -> list[Any]:
    """Return 2 or more declared labels, all distinct (ValueError): as integers when all of them are, else as words.

    >>> distinct_labels("categories", range(3)), distinct_labels("categories", [1, "x"])
    ([0, 1, 2], ['1', 'x'])
    """
    listed = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if isinstance(labels, str) or len(listed) < 2:
        raise ValueError(f"{name} must be a list of at least 2 labels, got {labels!r}"[:200])
    words = pd.Series([whole_word(label) for label in listed], dtype=object)
    if words.isna().any():
        bad = listed[words.isna().argmax()]
        raise ValueError(f"{name} must be text, whole numbers, booleans or dates, got {bad!r:.99}")
    if words.duplicated().any():
        raise ValueError(f"{name} must be distinct, got {words[words.duplicated()].iloc[0]} more than once"[:200])
    integers = pd.api.types.infer_dtype(listed) == "integer" and all(-(2**63) <= int(x) < 2**63 for x in listed)
    return [int(label) for label in listed] if integers else words.tolist()


def as_declared(words: Sequence[str]) -> list[Any]:
    """Return the words of a public file as integers when all of them are, else as they are.

    >>> as_declared(["1", "20"]), as_declared(["1", "x"])
    ([1, 20], ['1', 'x'])
    """
    whole = bool(len(words)) and pd.Series(words, dtype="str").str.fullmatch(r"0|-?[1-9]\d{0,17}").all()
    return [int(word) for word in words] if whole else list(words)


def positions(values: pd.Series, labels: Sequence[Any]) -> Integers:
    """Return the place of each value among distinct labels, from 0, compared as words; -1 for a value that is no label.

    >>> positions(pd.Series(["b", "a", "z"]), ["a", "b"])
    array([ 1,  0, -1])
    """
    codes, distinct = pd.factorize(values)
    words = pd.Index([whole_word(label) for label in labels], dtype=object)
    if not words.is_unique:
        raise ValueError(f"labels must be distinct, got {words[words.duplicated()][0]!r:.80} more than once")
    found = words.get_indexer(pd.Index([whole_word(value) for value in distinct], dtype=object))
    return np.append(found, -1)[codes].astype(np.int64)


def shown(label: Any) -> str:
    """Return a label as text for a page or a terminal: invisible marks spelled out, long words cut.

    >>> print(shown(chr(0x202E) + "x"), shown("a very long label of a place"))
    \\u202ex a very long …f a place
    """
    word = str(label)
    return seen(word if len(word) <= LONGEST else f"{word[: LONGEST - 10]}…{word[-9:]}")


def listed(labels: Sequence[Any]) -> str:
    """Return the first ten labels as they are shown, and dots for the others."""
    return ", ".join(map(shown, labels[:10])) + (", ..." if len(labels) > 10 else "")


def seen(text: str) -> str:
    """Return a text with its control and format characters, and halves of pairs, as codes."""
    hidden = ("Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn")
    codes = (mark.encode("unicode_escape", "surrogatepass").decode() for mark in text)
    return "".join(code if unicodedata.category(mark) in hidden else mark for mark, code in zip(text, codes))
