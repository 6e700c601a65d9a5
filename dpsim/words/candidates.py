"""What a private word is chosen from: all words over an alphabet, or on a chain."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from dpsim import checks

Codes = checks.Integers


class _Start(Enum):
    ANYWHERE = "anywhere"


ANYWHERE: Final = _Start.ANYWHERE
"""The start of words whose first letter may be any state and is secret too."""


class Chain(NamedTuple):
    """The feasible transitions in compressed rows, the start, and each state's letter.

    The successors of a state have different letters, so a word has one path. The start
    ANYWHERE is an extra state that is never entered; its letter is -1.
    """

    indptr: Codes
    indices: Codes
    start: int
    letters: Codes

    @property
    def states(self) -> int:
        """Return the number of states."""
        return len(self.indptr) - 1

    def sum_over_successors(
        self, values: NDArray[Any], zero: float = 0, add: np.ufunc = np.add
    ) -> NDArray[Any]:
        """Return the sum over the successors of each state of values (states, ...)."""
        able = np.flatnonzero(np.diff(self.indptr))  # states that have successors
        found = np.full_like(values, zero)
        found[able] = add.reduceat(values[self.indices], self.indptr[able], axis=0)
        return found


def successors(chain: Chain, state: int) -> Codes:
    """Return the states that may follow a state."""
    return chain.indices[chain.indptr[state] : chain.indptr[state + 1]]


def _is_path(chain: Chain, codes: Sequence[int]) -> bool:
    """Return whether a chain can go along these letters from its start."""
    state = chain.start
    for code in codes:
        able = successors(chain, state)
        found = able[chain.letters[able] == code]
        if not len(found):
            return False
        state = found[0]
    return True


class WordSpace(NamedTuple):
    """The labels of the letters, and the chain that words must follow.

    If the chain is None, every word is feasible.
    """

    labels: Sequence[Hashable]
    chain: Chain | None

    def encode(self, word: Sequence[Hashable] | ArrayLike) -> Codes:
        """Return the codes (n,) of a feasible word.

        For any other word, and for an empty one, the message of the ValueError says
        what is wrong with it.
        """
        letters = _listed(word)
        if not letters:
            raise ValueError(
                "word must be a sequence of one or more labels, "
                f"got {type(word).__name__}"
            )
        found = [_code(self.labels, letter) for letter in letters]
        codes = [code for code in found if code is not None]
        if len(codes) < len(letters):
            raise ValueError(
                f"word must use {_described(self.labels)}, "
                "got another letter (a secret, so not shown)"
            )
        if self.chain and not _is_path(self.chain, codes):
            raise ValueError(
                "word must follow the allowed transitions, "
                "got one that does not (a secret, so not shown)"
            )
        return np.array(codes, dtype=np.int64)

    def decode(self, codes: Codes) -> NDArray[Any]:
        """Return the labels of an array of codes.

        If the labels are 0 to m - 1, they are the codes themselves.
        """
        if isinstance(self.labels, range):
            return codes
        labels = np.fromiter(self.labels, dtype=object)
        if all(isinstance(x, str) for x in self.labels):
            labels = labels.astype(str)
        return labels[codes]


def word_space(
    letters: int | Sequence[Hashable] | WordSpace | None = None,
    adjacency: ArrayLike | sp.sparray | None = None,
    start: Hashable | None = None,
) -> WordSpace:
    """Return the space of words over an alphabet, or of the trajectories of a chain.

    The arguments are those of `HammingAutomaton`, and all of them are checked here.
    """
    if isinstance(letters, WordSpace):
        return letters
    if adjacency is None:
        if letters is None:
            raise ValueError(
                "letters must be given (labels, or their number) "
                "unless adjacency is, got None"
            )
        if start is not None:
            raise ValueError(
                f"start must be None without an adjacency, got {checks.shown(start)}"
            )
        return WordSpace(_labels(letters), None)
    rows = feasible_transitions(adjacency)
    states = rows.shape[0]
    shown = _labels(states if letters is None else letters, repeated=True)
    if len(shown) != states:
        raise ValueError(
            f"letters must have one label per state, {states}, got {len(shown)}"
        )
    first = states if start is ANYWHERE else _code(shown, start)
    if start is None or first is None:
        raise ValueError(
            f"start must be one of the states, {_described(shown)}, "
            f"got {checks.shown(start)}"
        )
    if shown.count(start) > 1:
        raise ValueError(f"start must be the label of one state only, got {start!r}")
    labels = _labels(list(dict.fromkeys(shown)))
    code = {label: number for number, label in enumerate(labels)}
    codes = [code[label] for label in shown]
    if start is ANYWHERE:
        below = [np.ones((1, states)), np.zeros((1, 1))]
        rows = sp.csr_array(sp.block_array([[rows, None], below]))
        codes.append(-1)
    chain = Chain(
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.int64),
        first,
        np.array(codes),
    )
    for state in range(chain.states):
        after = chain.letters[successors(chain, state)]
        if len(set(after)) < len(after):
            raise ValueError(
                "letters must differ between the successors of each state, "
                f"got {[labels[code] for code in after]!r} after state {state}"
            )
    return WordSpace(labels, chain)


def feasible_transitions(adjacency: ArrayLike | sp.sparray) -> sp.csr_array:
    """Return the allowed transitions as a square sparse matrix.

    It has no explicit zeros and no repeated entries.
    """
    sparse = sp.issparse(adjacency)
    matrix: Any = adjacency
    if not sparse and not np.ma.isMaskedArray(adjacency):
        matrix = checks.arrayed("adjacency", adjacency)
    values: Any = matrix.data if sparse else adjacency
    if matrix.dtype == np.bool_:
        values = (values if sparse else matrix).astype(float)
    checks.real("adjacency", values, 0.0)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(
            "adjacency must be a square matrix (m, m) with m >= 1, "
            f"got shape {matrix.shape}"
        )
    rows = sp.csr_array(matrix, dtype=float)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def _labels(
    letters: int | Sequence[Hashable], repeated: bool = False
) -> Sequence[Hashable]:
    """Return labels, different unless `repeated`, as a range if 0, 1, ..., m - 1."""
    if not isinstance(letters, Sequence) and getattr(letters, "ndim", 0) != 1:
        return range(checks.integer("letters", letters, 1))
    labels = _listed(letters)
    if not _are_labels(labels) or (len(set(labels)) < len(labels) and not repeated):
        raise ValueError(
            "letters must be a sequence of one or more different labels, "
            f"got {checks.shown(letters)}"
        )
    return range(len(labels)) if labels == list(range(len(labels))) else labels


def _are_labels(labels: list[Any]) -> bool:
    """Return whether there are labels, none of which is missing or unhashable.

    No word could use nan or another value that does not equal itself.
    """
    try:
        return bool(set(labels)) and all(bool(x == x) for x in labels)
    except (TypeError, ValueError, ArithmeticError):  # lists, pandas.NA, signalling NaN
        return False


def _listed(labels: Any) -> list[Any]:
    """Return the labels of a sequence, an array or a Series in their order.

    Anything else gives an empty list.
    """
    array = hasattr(labels, "__array__") and not np.ma.isMaskedArray(labels)
    if array and np.ndim(labels) == 1:
        return list(labels.tolist())
    sequence = isinstance(labels, Sequence) and not isinstance(labels, bytes)
    return list(labels) if sequence else []


def _described(labels: Sequence[Hashable]) -> str:
    return f"the {len(labels)} letters from {labels[0]!r} to {labels[-1]!r}"


def _code(labels: Sequence[Hashable], label: Any) -> int | None:
    """Return the position of a label, or None for a value that is not a label.

    (True, 1 + 0j and a duration may equal 1 without being the label 1.)
    """
    array = isinstance(label, np.ndarray) and not np.ma.isMaskedArray(label)
    if array and label.ndim == 0:
        label = label[()]
    try:
        code = labels.index(label)
    except (TypeError, ValueError, ArithmeticError):  # pandas.NA, signalling NaN
        return None
    return code if _is_number(label) == _is_number(labels[code]) else None


def _is_number(value: Any) -> bool:
    real = isinstance(value, numbers.Real)
    return real and not isinstance(value, bool | np.timedelta64)
