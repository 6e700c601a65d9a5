"""Every public function with valid arguments, and with one of them replaced by junk.

`make fuzz` runs 10,000 cases of each: 5,000 draws of valid arguments, each once more
with one of them spoilt. Where nothing is spoilt (kernels that trust their caller:
checked=False in the registry) there are 10,000 draws, and as many as there are where
the arguments have fewer values.
"""

import importlib
import inspect
import itertools
import pkgutil
import re
import warnings
from collections.abc import Callable
from fnmatch import fnmatch
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from registry import ENTRIES, LEFT_OUT, covered, numbers_of

import dpsim
import dpsim_release

LONG = settings.get_current_profile_name() == "long"
CASES = 10_000 if LONG else 30  # of each function

JUNK = [
    *(
        float("nan"),
        float("inf"),
        -float("inf"),
        -1,
        -1.5,
        0,
        0.5,
        2.5,
        True,
        "x",
        "",
        None,
        object(),
        1j,
        b"a",
    ),
    *([], [[]], [float("nan")], [1, 2, [3]], ["a", "b"], {}, {"a": 1}, lambda: 0),
    *(
        np.zeros((2, 0)),
        np.zeros((2, 3, 4)),
        -np.ones(3),
        np.array(["a"]),
        np.array([None]),
        np.full((2, 2), np.nan),
    ),
]


def among_objects(x: np.ndarray, first: Any) -> Any:
    """Return an array of objects with another first entry."""
    objects = x.astype(object)
    objects.flat[0] = first
    return objects[()]


# what a conversion would take, made of valid numbers; tests/test_checks.py tries every
# kind
NO_NUMBERS = {
    "text": lambda x: x.astype(str)[()],
    "complex numbers": lambda x: x.astype(complex)[()],
    "a masked array": lambda x: np.ma.masked_array(
        x, np.arange(x.size).reshape(x.shape) % 2 == 0
    ),
}
FIRM = re.compile(
    r"(streams|numerics|markov|accounting(?!\.units)|dirichlet|words|boltzmann|mdp)\."
)  # what refuses them all

EXTREMES = [
    1e300,
    -1e300,
    1e-300,
    5e-324,
    1e17,
    10**400,
]  # for real arguments: as a length they would fill the memory


HOUSES = (dpsim, dpsim_release)


def module_of(name: str) -> ModuleType:
    """Return a module of dpsim, or the module release.x of dpsim_release."""
    house = "dpsim_" if name.startswith("release.") else "dpsim."
    return importlib.import_module(house + name)


def public() -> list[str]:
    """Return module.name of every public function and class of the package, records
    aside."""
    names = []
    walks = (
        pkgutil.walk_packages(house.__path__, f"{house.__name__}.") for house in HOUSES
    )
    for info in itertools.chain(*walks):
        if info.ispkg or info.name in ("dpsim.__main__", "dpsim.release"):
            continue
        module = importlib.import_module(info.name)
        for name, thing in vars(module).items():
            own = getattr(thing, "__module__", None) == module.__name__
            record = inspect.isclass(thing) and issubclass(thing, (tuple, Exception))
            if own and callable(thing) and not name.startswith("_") and not record:
                names.append(f"{info.name.removeprefix('dpsim').lstrip('._')}.{name}")
    return names


def test_every_public_function_has_an_entry():
    assert len(public()) > 150, "the walk over the package finds too little"
    missing = [name for name in public() if not covered(name)]
    assert not missing, (
        f"add one line for each to tests/fuzz/registry.py: {', '.join(missing)}"
    )


def test_no_entry_has_outlived_its_function():
    assert set(ENTRIES) <= set(public())
    left_out = " ".join(LEFT_OUT.values()).split()
    stale = [
        pattern
        for pattern in left_out
        if not any(fnmatch(name, pattern) for name in public())
    ]
    assert not stale, (
        "no function is named so, take them out of tests/fuzz/registry.py: "
        f"{', '.join(stale)}"
    )


def spoiled(value: Any) -> st.SearchStrategy[Any]:
    """Return junk to put in the place of a valid argument: unrelated, or the same with
    a fault."""
    options = [st.sampled_from(JUNK)]
    if isinstance(value, float) or (
        isinstance(value, np.ndarray) and value.dtype.kind == "f"
    ):
        options.append(st.sampled_from(EXTREMES))
    if isinstance(value, np.ndarray) and value.size and value.dtype.kind in "if":
        faults = st.sampled_from([float("nan"), float("inf"), -1.0, 0.5, 1e300, 1e-300])
        options.append(
            st.builds(
                lambda i, x: changed(value, i, x),
                st.integers(0, value.size - 1),
                faults,
            )
        )
        options.append(
            st.sampled_from(
                [
                    value[None],
                    value[..., None],
                    value[..., :-1],
                    value.astype(str),
                    value * 2,
                ]
            )
        )
    if isinstance(value, list) and value:
        options.append(
            st.sampled_from([value[:-1], value * 2, [*value, None], [*value, -1]])
        )
    return st.one_of(options)


def changed(array: np.ndarray, place: int, entry: float) -> np.ndarray:
    copy = array.astype(float)
    copy.flat[place] = entry
    return copy


def is_number(value: Any) -> bool:
    """Return whether a valid argument is a number, or an array or a list of at least
    one."""
    if isinstance(value, bool | str | bytes) or not isinstance(
        value, int | float | np.number | np.ndarray | list
    ):
        return False
    array = np.asarray(value)
    whole = array.dtype == object and all(
        isinstance(x, int) for x in array.ravel().tolist()
    )
    return array.size > 0 and (array.dtype.kind in "iuf" or whole)


def exact(value: Any) -> type:
    """Return the dtype for a valid number: floats for integers beyond 64 bits."""
    dtype = np.asarray(value).dtype
    return float if dtype.kind == "O" else dtype.type


def zero_dimensional(result: Any) -> bool:
    """Return whether a result is, or holds, a 0-d array."""
    if isinstance(result, tuple | list):
        return any(zero_dimensional(part) for part in result)
    if isinstance(result, dict):
        return any(zero_dimensional(part) for part in result.values())
    return isinstance(result, np.ndarray) and result.ndim == 0


def finite(result: Any) -> bool:
    return not any(
        np.isnan(numbers).any() or np.isposinf(numbers).any()
        for numbers in numbers_of(result)
    )


LIKE_NUMBERS = re.compile(r"\b(float|int|ArrayLike)\b")

LABELLED = {  # whose argument is of labels, which may be anything
    "release.labels.whole_word": "value",
    "release.labels.distinct_labels": "labels",
    "datasets.taxi.counts_matrix": "zones",
}

OPTIONAL: dict[
    str, dict[str, Any]
] = {  # valid numbers for what the registry leaves at its default
    "accounting.composition.compose": {"interval": 0.05},
    "dirichlet.private_matrix.privatize": {"b": 0.01, "records": None},
    "dirichlet.stationary_bounds.ergodicity_bound": {"categories": 3},
    "dirichlet.stationary_bounds.mean_kl_bound": {"categories": 3},
    "mdp.bounds.cost_of_privacy": {"initial": 0},
    "mdp.bounds.value_bounds": {"tolerance": 1e-6},
    "release.expected_error.plan": {"pairs": 3},
}

# whose annotation holds a number, and which are booleans, labels, or the matter of a
# test of their own
NO_NUMERIC = {
    "boltzmann.private_histogram.privatize": {
        "steps",
        "invariant",
    },  # tests/boltzmann
    "datasets.taxi.merge_zones": {"adjacency"},
    "dirichlet.private_matrix.noisy_matrix": {"support"},
    "dirichlet.private_matrix.privatize": {
        "support",
        "records",
        "protected",
        "eta_bar",
    },  # tests/dirichlet
    "markov.walks.random_walk": {"uniforms"},
    "mdp.private_model.perturb_with_noise": {"support"},
    "mdp.private_model.privatize": {"support", "records"},
    "mdp.bounds.cost_of_privacy": {"support"},
    "mdp.bounds.value_bounds": {"support"},
    "numerics.simplex.project_to_bordered_simplex": {"protected", "support"},
    "numerics.simplex.project_to_simplex": {"support"},
    "words.exact_epsilon.exact_word_epsilon": {
        "adjacency"
    },  # as of words.automaton.HammingAutomaton
}

WELCOME = {  # what is no real number, and yet means something
    *(
        (f"words.{name}", "letters", "text")
        for name in (
            "exact_epsilon.exact_word_epsilon",
            "private_word.privatize",
        )
    ),
    *((name, place, kind) for name, place in LABELLED.items() for kind in NO_NUMBERS),
    *(
        (f"checks.{name}", end, kind)
        for name in ("real", "scalar", "integer", "integers")
        for end in ("low", "high")
        for kind in NO_NUMBERS
    ),
}


def numeric_arguments(function: Callable[..., Any]) -> set[str]:
    """Return the arguments of a function that may be a number or an array of numbers,
    by their annotations."""
    parameters = inspect.signature(function).parameters.values()
    return {
        p.name
        for p in parameters
        if LIKE_NUMBERS.search(str(p.annotation))
        and "Callable" not in str(p.annotation)
    }


@pytest.mark.parametrize(
    "name", [name for name in sorted(ENTRIES) if ENTRIES[name].checked]
)
@pytest.mark.filterwarnings("ignore")
def test_every_numeric_argument_refuses_every_kind_that_is_no_real_number(
    name: str,
) -> None:
    """Text, complex and masked: each in each argument, so that none is converted
    without a check."""
    entry = ENTRIES[name]
    tried = set()
    module, function = name.rsplit(".", 1)
    original = getattr(module_of(module), function)

    @settings(
        max_examples=200 if LONG else 20,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(entry.arguments.map(lambda arguments: arguments | OPTIONAL.get(name, {})))
    def run(arguments: dict[str, Any]) -> None:
        for place in (place for place, value in arguments.items() if is_number(value)):
            if place in tried and not LONG:
                continue
            tried.add(place)
            for kind, spoil in NO_NUMBERS.items():
                junk = spoil(
                    np.asarray(arguments[place]).astype(exact(arguments[place]))
                )
                if junk is None or (name, place, kind) in WELCOME:
                    # of one number nothing is left but None, which an argument may take
                    continue
                with pytest.raises((ValueError, TypeError)):
                    (entry.call or original)(**{**arguments, place: junk})
                    pytest.fail(f"{name} takes {kind} for {place}: {junk!r:.200}")

    run()
    missing = (
        numeric_arguments(original)
        - tried
        - set(entry.trusted)
        - NO_NUMERIC.get(name, set())
    )
    missing -= (
        {"rng"} if name != "checks.generator" else set()
    )  # a seed or a generator: what checks it is tried
    assert not missing, (
        f"no valid number for {missing}: give one in the registry or in OPTIONAL"
    )


@pytest.mark.parametrize("name", sorted(ENTRIES))
@pytest.mark.filterwarnings("ignore")
def test_valid_arguments_give_results_and_junk_is_refused(name):
    entry = ENTRIES[name]
    firm = entry.checked and FIRM.match(name)
    module, function = name.rsplit(".", 1)
    call = entry.call or getattr(module_of(module), function)

    @settings(
        max_examples=max(
            2, CASES // (1 + entry.checked) // (1 if LONG or not entry.slow else 10)
        ),
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
        places = sorted(set(arguments) - set(entry.trusted))
        if not entry.checked or not places:
            return
        spoilt = data.draw(st.sampled_from(places), label="spoilt")
        junk = data.draw(spoiled(arguments[spoilt]), label="junk")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = call(**{**arguments, spoilt: junk})
            except (ValueError, TypeError):
                return
        assert finite(result), result

    run()
