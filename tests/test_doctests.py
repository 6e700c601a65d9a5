"""The examples of every public function and class run."""

import doctest
import importlib
import inspect

import pytest

import dpsim
from dpsim import markov

SUBPACKAGES = [name for name in dpsim.__all__ if inspect.ismodule(getattr(dpsim, name))]
MODULES = ("numerics.simplex",)  # what a subpackage's face shows as a module


def things():
    """Yield everything public that has an example: test_face lists which names may go without one."""
    for module in (*SUBPACKAGES, *MODULES):
        face = importlib.import_module(f"dpsim.{module}")
        for name in getattr(face, "__all__", vars(face)):
            thing = getattr(face, name)
            callable_here = inspect.isfunction(thing) or inspect.isclass(thing)
            if callable_here and thing.__module__.startswith("dpsim.") and ">>> " in (inspect.getdoc(thing) or ""):
                yield pytest.param(thing, id=f"{module}.{name}")


def failures(function, doc=None):
    module = inspect.getmodule(function)
    test = doctest.DocTestParser().get_doctest(
        doc or inspect.getdoc(function), dict(vars(module)), function.__name__, None, None
    )
    assert test.examples, "an example is missing"
    return doctest.DocTestRunner(verbose=False).run(test, out=lambda text: None).failed


@pytest.mark.parametrize("function", list(things()))
def test_the_examples_run(function):
    assert failures(function) == 0


def test_most_public_names_have_an_example():
    assert len(list(things())) > 120, "the walk over the faces finds too little"


def test_a_wrong_example_fails():
    right = inspect.getdoc(markov.total_variation)
    assert failures(markov.total_variation, right.replace("\n0.25", "\n0.26")) == 1
    with pytest.raises(AssertionError, match="an example is missing"):
        failures(markov.total_variation, "None.")
