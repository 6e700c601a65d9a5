"""The examples of every public function run: those of the faces of the mathematical wings."""

import doctest
import importlib
import inspect

import pytest

from dpsim import markov

WINGS = ("markov", "accounting", "dirichlet")
LATER = ("accounting.units",)  # without examples of their own


def functions():
    for wing in WINGS:
        face = importlib.import_module(f"dpsim.{wing}")
        for name in face.__all__:
            thing = getattr(face, name)
            if inspect.isfunction(thing) and thing.__module__.removeprefix("dpsim.") not in LATER:
                yield pytest.param(thing, id=f"{wing}.{name}")


def failures(function, doc=None):
    module = inspect.getmodule(function)
    test = doctest.DocTestParser().get_doctest(
        doc or inspect.getdoc(function), dict(vars(module)), function.__name__, None, None
    )
    assert test.examples, "an example is missing"
    return doctest.DocTestRunner(verbose=False).run(test, out=lambda text: None).failed


@pytest.mark.parametrize("function", functions())
def test_the_examples_run(function):
    assert failures(function) == 0


def test_a_wrong_example_fails():
    right = inspect.getdoc(markov.total_variation)
    assert failures(markov.total_variation, right.replace("\n0.25", "\n0.26")) == 1
    with pytest.raises(AssertionError, match="an example is missing"):
        failures(markov.total_variation, "None.")
