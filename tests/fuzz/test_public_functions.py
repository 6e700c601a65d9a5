"""Every public function with valid arguments, and with one of them replaced by junk.

`make fuzz` runs 10,000 cases of each: 5,000 draws of valid arguments, each once more with one of them spoilt. Where
nothing is spoilt (kernels that trust their caller: checked=False in the registry) there are 10,000 draws, and as many
as there are where the arguments have fewer values.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from registry import ENTRIES, LEFT_OUT, covered, numbers_of

import dpsim

LONG = settings.get_current_profile_name() == "long"
CASES = 10_000 if LONG else 30  # of each function

JUNK = [
    *(float("nan"), float("inf"), -float("inf"), -1, -1.5, 0, 0.5, 2.5, True, "x", "", None, object(), 1j, b"a"),
    *([], [[]], [float("nan")], [1, 2, [3]], ["a", "b"], {}, {"a": 1}, lambda: 0),
    *(np.zeros((2, 0)), np.zeros((2, 3, 4)), -np.ones(3), np.array(["a"]), np.array([None]), np.full((2, 2), np.nan)),
]


def among_objects(x: np.ndarray, first: Any) -> Any:
    """Return an array of objects with another first entry."""
    objects = x.astype(object)
    objects.flat[0] = first
    return objects[()]


NO_NUMBERS = {  # each made of a valid number or array of numbers: refused wherever numbers are meant
    "text": lambda x: x.astype(str)[()],
    "bytes": lambda x: x.astype("S")[()],
    "dates": lambda x: x.astype(np.int64).astype("datetime64[D]")[()],
    "durations": lambda x: x.astype(np.int64).astype("timedelta64[D]")[()],
    "a structured array": lambda x: x.astype([("a", x.dtype)])[()],
    "complex numbers": lambda x: x.astype(complex)[()],
    "booleans": lambda x: x.astype(bool)[()],
    "a masked array": lambda x: np.ma.masked_array(x, np.arange(x.size).reshape(x.shape) % 2 == 0),
    "a masked array without a mask": np.ma.masked_array,
    "masked arrays in a list": lambda x: [np.ma.masked_array(x), x],
    "objects and a missing one": lambda x: np.where(np.arange(x.size).reshape(x.shape) == 0, None, x.astype(object))[
        ()
    ],
    "text among objects": lambda x: np.where(np.arange(x.size).reshape(x.shape) == 0, "1", x.astype(object))[()],
    "booleans among objects": lambda x: np.where(np.arange(x.size).reshape(x.shape) == 0, True, x.astype(object))[()],
    "a nullable column": lambda x: pd.Series([*x.ravel().tolist()[1:], pd.NA], dtype="Float64"),
    "a column of booleans": lambda x: pd.Series([True] * x.size),
    "a table of text": lambda x: pd.DataFrame(np.atleast_2d(x.astype(str)) if x.ndim < 3 else {"a": ["1"]}),
}
FIRM = re.compile(
    r"(streams|numerics|markov|accounting(?!\.units)|dirichlet|words|boltzmann|mdp)\."
)  # what refuses them all

EXTREMES = [1e300, -1e300, 1e-300, 5e-324, 1e17, 10**400]  # for real arguments: as a length they would fill the memory


def public() -> list[str]:
    """Return module.name of every public function and class of the package, records aside."""
    names = []
    for info in pkgutil.walk_packages(dpsim.__path__, "dpsim."):
        if info.ispkg or info.name in ("dpsim.__main__", "dpsim.runner.worker"):
            continue
        module = importlib.import_module(info.name)
        for name, thing in vars(module).items():
            own = getattr(thing, "__module__", None) == module.__name__
            record = inspect.isclass(thing) and issubclass(thing, (tuple, Exception))
            if own and callable(thing) and not name.startswith("_") and not record:
                names.append(f"{info.name.removeprefix('dpsim.')}.{name}")
    return names


def test_every_public_function_has_an_entry():
    assert len(public()) > 150, "the walk over the package finds too little"
    missing = [name for name in public() if not covered(name)]
    assert not missing, f"add one line for each to tests/fuzz/registry.py: {', '.join(missing)}"


def test_no_entry_has_outlived_its_function():
    assert set(ENTRIES) <= set(public())
    assert all(reason for reason in LEFT_OUT.values())


def spoiled(value: Any) -> st.SearchStrategy[Any]:
    """Return junk to put in the place of a valid argument: unrelated, or the same with a fault."""
    options = [st.sampled_from(JUNK)]
    if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
        options.append(st.sampled_from(EXTREMES))
    if isinstance(value, np.ndarray) and value.size and value.dtype.kind in "if":
        faults = st.sampled_from([float("nan"), float("inf"), -1.0, 0.5, 1e300, 1e-300])
        options.append(st.builds(lambda i, x: changed(value, i, x), st.integers(0, value.size - 1), faults))
        options.append(st.sampled_from([value[None], value[..., None], value[..., :-1], value.astype(str), value * 2]))
    if isinstance(value, list) and value:
        options.append(st.sampled_from([value[:-1], value * 2, [*value, None], [*value, -1]]))
    return st.one_of(options)


def changed(array: np.ndarray, place: int, entry: float) -> np.ndarray:
    copy = array.astype(float)
    copy.flat[place] = entry
    return copy


def is_number(value: Any) -> bool:
    """Return whether a valid argument is a number or an array of at least one."""
    if isinstance(value, bool | str | bytes) or not isinstance(value, int | float | np.number | np.ndarray):
        return False
    array = np.asarray(value)
    return array.size > 0 and array.dtype.kind in "iuf" and array.dtype != object


def zero_dimensional(result: Any) -> bool:
    """Return whether a result is, or holds, a 0-d array."""
    if isinstance(result, tuple | list):
        return any(zero_dimensional(part) for part in result)
    if isinstance(result, dict):
        return any(zero_dimensional(part) for part in result.values())
    return isinstance(result, np.ndarray) and result.ndim == 0


def finite(result: Any) -> bool:
    return not any(np.isnan(numbers).any() or np.isposinf(numbers).any() for numbers in numbers_of(result))


@pytest.mark.parametrize("name", sorted(ENTRIES))
@pytest.mark.filterwarnings("ignore")
def test_valid_arguments_give_results_and_junk_is_refused(name):
    entry = ENTRIES[name]
    firm = entry.checked and FIRM.match(name)
    module, function = name.rsplit(".", 1)
    call = entry.call or getattr(importlib.import_module(f"dpsim.{module}"), function)

    @settings(
        max_examples=max(2, CASES // (1 + entry.checked) // (1 if LONG or not entry.slow else 10)),
        deadline=None,
        database=None,
        derandomize=not LONG,
        phases=(Phase.generate, Phase.shrink) if LONG else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def run(data):
        arguments = data.draw(entry.arguments, label="arguments")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call(**arguments)
        entry.check(result)
        assert not (firm and zero_dimensional(result)), "a number in, a 0-d array out"
        if not entry.checked or not arguments:
            return
        spoilt = data.draw(st.sampled_from(sorted(arguments)), label="spoilt")
        if firm and is_number(arguments[spoilt]) and data.draw(st.booleans()):
            kind = data.draw(st.sampled_from(sorted(NO_NUMBERS)), label="kind")
            none = NO_NUMBERS[kind](np.asarray(arguments[spoilt]))
            if none is None:  # of one number nothing is left but None, which an argument may take
                return
            with pytest.raises((ValueError, TypeError)):
                call(**{**arguments, spoilt: none})
            return
        junk = data.draw(spoiled(arguments[spoilt]), label="junk")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = call(**{**arguments, spoilt: junk})
            except (ValueError, TypeError):
                return
        assert finite(result), result

    run()
