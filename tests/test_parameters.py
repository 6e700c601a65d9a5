"""Values of parameters: papermill and `dpsim run` take the same, and refuse the others
in the same words."""

from pathlib import Path
from typing import Any

import papermill
import pytest
from papermill.cli import _resolve_type as read_by_papermill
from papermill.exceptions import PapermillExecutionError

from dpsim import parameters
from dpsim.notebook import load

ACCEPTED = [
    ("draws", "4", 4),
    ("draws", "4.0", 4),
    ("draws", "5e1", 50),
    ("draws", " 7 ", 7),
    ("scale", "2", 2.0),
    ("scale", "1e-6", 1e-6),
    ("label", "abc", "abc"),
    ("label", "2024", "2024"),
    ("label", "1.5", "1.5"),
    ("label", "None", "None"),
    ("label", "True", "True"),
    ("bins", "50", [50]),
    ("bins", "5e1", [50]),
    ("bins", "3,4", [3, 4]),
    ("bins", "3, 4.0", [3, 4]),
    ("bins", "[3, 4]", [3, 4]),
    ("bins", "", []),
    ("fast", "False", False),
    ("fast", "true", True),
]

REFUSED = [
    ("draws", "four", "draws must be an integer from 1 to 100, got 'four'"),
    ("draws", "4.5", "draws must be an integer from 1 to 100, got 4.5"),
    ("draws", "500", "draws must be an integer from 1 to 100, got 500"),
    ("draws", "True", "draws must be an integer from 1 to 100, got "),
    ("draws", "nan", "draws must be an integer from 1 to 100, got nan"),
    ("draws", "inf", "draws must be an integer from 1 to 100, got inf"),
    ("draws", "3,4", "draws must be an integer from 1 to 100, got '3,4'"),
    ("scale", "wide", "scale must be a number in (0, 1e+09], got 'wide'"),
    ("scale", "0", "scale must be in (0, 1e+09], got 0"),
    ("scale", "-inf", "scale must be in (0, 1e+09], got -inf"),
    ("bins", "-1", "each entry of bins must be an integer of at least 0, got -1"),
    ("bins", "1,two", "each entry of bins must be an integer of at least 0"),
    ("bins", "[1", "bins must be a list like 1,2,3, got [1"),
    ("bins", ",".join("1" * 10), "bins must have 0 to 9 entries, got 10"),
    ("fast", "maybe", "fast must be true or false, got 'maybe'"),
    ("fast", "1", "fast must be true or false, got "),
    ("seed", "-1", "seed must be an integer of at least 0, got -1"),
]


def by_papermill(name: str, text: str) -> Any:
    """Return what the cell `checks` makes of a value that papermill's command line
    hands over."""
    quick = load("quick")
    held = quick.defaults | {name: read_by_papermill(text)}
    (source,) = quick.tagged("checks")
    exec(source, held)
    return held[name]


@pytest.mark.parametrize("name, text, value", ACCEPTED)
def test_both_doors_convert_a_value_alike(
    toy: Path, name: str, text: str, value: object
) -> None:
    for found in (
        by_papermill(name, text),
        load("quick").checked([(name, text)])[name],
    ):
        assert found == value and type(found) is type(value)


@pytest.mark.parametrize("name, text, message", REFUSED)
def test_both_doors_refuse_a_value_in_the_same_words(
    toy: Path, name: str, text: str, message: str
) -> None:
    said = []
    for door in (
        by_papermill,
        lambda name, text: load("quick").checked([(name, text)]),
    ):
        with pytest.raises(ValueError) as error:
            door(name, text)
        said.append(str(error.value))
    assert said[0].startswith(message)
    # papermill's command line makes the words True and 1 values of another type
    assert said[0].replace("'", "") == said[1].replace("'", "")


def test_text_from_a_yaml_file_is_the_number_that_it_writes(toy: Path) -> None:
    """PyYAML reads 5e1 and 1e-6 as text."""
    assert parameters.integer("n", "5e1", 2, 100) == 50
    assert parameters.number("delta", "1e-6", 0, 1) == 1e-6
    assert parameters.numbers("k", ["1e1", "2"], 0, 50) == [10.0, 2.0]


@pytest.mark.parametrize(
    "value, message",
    [
        (50, "k must have 2 entries, got 1"),
        ([50, 20], r"the entries of k must rise, got \[50.0, 20.0\]"),
        ([20, 20], "the entries of k must rise"),
        ([20, 500], r"each entry of k must be in \[3, 300\], got 500"),
    ],
)
def test_a_list_has_its_length_and_rises(value: object, message: str) -> None:
    """One number was refused as "got 0"."""
    with pytest.raises(ValueError, match=message):
        parameters.numbers("k", value, 3, 300, least=2, most=2, rising=True)


def test_plain_papermill_refuses_in_the_checks_cell(toy: Path) -> None:
    path = str(toy / "notebooks" / "quick.ipynb")
    given = {"draws": "4", "scale": "5e1", "label": 7, "bins": 3}
    made = papermill.execute_notebook(path, None, given, progress_bar=False)
    assert made.cells[-1].outputs == []
    with pytest.raises(
        PapermillExecutionError, match="draws must be an integer from 1"
    ):
        papermill.execute_notebook(path, None, {"draws": "x"}, progress_bar=False)


@pytest.mark.parametrize("value", [{}, object(), b"x"])
def test_what_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="label must be text"):
        parameters.text("label", value)
