"""Labels of states, and ids of units: words, one value at a time, whatever the other rows of a table hold."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpsim.checks import Integers

WHOLE = r"0|-?[1-9]\d{0,17}"  # words that are integers
BLANKS = " \t\r\n"


def whole_word(value: Any) -> str | None:
    """Return one value as the word that the release makes of it, None when it is missing.

    A whole number is its digits, whether it is written 97 or 97.0; blanks round a word are none of it.

    >>> [whole_word(value) for value in (97, 97.0, "97.0", "007", " a ", 1.5, " ", None)]
    ['97', '97', '97', '007', 'a', '1.5', None, None]
    """
    if value is None or value is pd.NaT or value is pd.NA or value != value:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value).strip(BLANKS)
    whole, _, fraction = text.rpartition(".")
    digits = whole.removeprefix("-")
    return whole if digits.isascii() and digits.isdigit() and fraction and not fraction.strip("0") else text or None


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
        raise ValueError(f"{name} must all have a label, got an empty one")
    if words.duplicated().any():
        raise ValueError(f"{name} must be distinct, got {words[words.duplicated()].iloc[0]} more than once"[:200])
    integers = all(_is_int64(label) for label in listed)
    return [int(label) for label in listed] if integers else words.tolist()


def _is_int64(label: Any) -> bool:
    return isinstance(label, numbers.Integral) and not isinstance(label, bool) and -(2**63) <= int(label) < 2**63


def as_declared(words: Sequence[str]) -> list[Any]:
    """Return the words of a public file as integers when all of them are, else as they are.

    >>> as_declared(["1", "20"]), as_declared(["1", "x"])
    ([1, 20], ['1', 'x'])
    """
    whole = bool(len(words)) and pd.Series(words, dtype="str").str.fullmatch(WHOLE).all()
    return [int(word) for word in words] if whole else list(words)


def in_order(labels: Sequence[Any]) -> list[Any]:
    """Return labels in order: whole numbers by size, then words by code point; that of two depends on them alone.

    >>> in_order(["10", "shop", "2", "Shop", "007"])
    ['2', '10', '007', 'Shop', 'shop']
    """
    return sorted(labels, key=_place)


def _place(label: Any) -> tuple[int, int, str]:
    """Return the sorting key of a label: whole numbers first, by value, then words."""
    word = str(label)
    sign, digits = word.startswith("-"), word.removeprefix("-")
    whole = digits.isascii() and digits.isdigit() and (word == "0" or digits[0] != "0")
    return (0, -int(digits) if sign else int(digits), word) if whole else (1, 0, word)


def positions(values: pd.Series, labels: Sequence[Any]) -> Integers:
    """Return the place of each value among distinct labels, from 0, compared as words; -1 for a value that is no label.

    >>> positions(pd.Series(["b", "a", "z"]), ["a", "b"])
    array([ 1,  0, -1])
    """
    if pd.api.types.is_integer_dtype(values.dtype) and (numbers := np.asarray(labels)).dtype.kind == "i":
        return pd.Index(numbers).get_indexer(values).astype(np.int64)
    codes, distinct = pd.factorize(values)
    words = pd.Index([whole_word(label) for label in labels], dtype=object)
    found = words.get_indexer(pd.Index([whole_word(value) for value in distinct], dtype=object))
    return np.append(found, -1)[codes].astype(np.int64)


def in_sorted_rows(pairs: pd.DataFrame, declared: Sequence[Any] | None) -> pd.DataFrame:
    """Return pairs of words sorted by origin and destination, as integers where integers were declared."""
    order = in_order(pd.unique(pd.concat([pairs["origin"], pairs["destination"]])))
    ranks = [pd.Categorical(pairs[end], categories=order).codes for end in ("destination", "origin")]
    kind = np.int64 if declared is not None and isinstance(declared[0], int) else "str"
    return pairs.iloc[np.lexsort(ranks)].reset_index(drop=True).astype({"origin": kind, "destination": kind})
