import re

import pytest

from dpsim import paths
from tools.verify import mutations
from tools.verify.mutation_list import MUTATIONS


def test_the_text_of_every_mutation_is_in_its_file_once():
    found = [(m.file, m.before, mutations.occurrences(m, paths.root())) for m in MUTATIONS]
    assert [entry for entry in found if entry[2] != 1] == []
    assert all(m.before != m.after and m.why for m in MUTATIONS)


def test_the_tests_of_every_mutation_exist():
    for test in {test for m in MUTATIONS for test in m.tests}:
        file, _, name = test.partition("::")
        path = paths.root() / file
        assert path.exists(), test
        assert not name or re.search(rf"^def {name}\(", path.read_text(encoding="utf-8"), re.MULTILINE), test


def test_a_text_that_is_not_there_once_is_refused(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\nx = 1\ny = 2\n")
    for before, count in (("x = 1", 2), ("z = 3", 0)):
        with pytest.raises(ValueError, match=f"is {count} times"):
            mutations.apply(mutations.Mutation("a.py", before, "", (), "none"), tmp_path)
    mutations.apply(mutations.Mutation("a.py", "y = 2", "y = 3", (), "none"), tmp_path)
    assert (tmp_path / "a.py").read_text() == "x = 1\nx = 1\ny = 3\n"


def test_a_fault_is_killed_by_a_test_that_fails_and_survives_one_that_does_not_look(tmp_path):
    tree = tmp_path / "sound"
    tree.mkdir()
    (tree / "double.py").write_text("def double(x):\n    return 2 * x\n")
    (tree / "test_double.py").write_text(
        "from double import double\ndef test_two():\n    assert double(2) == 4\n"
        "def test_zero():\n    assert double(0) == 0\n"
    )
    for test, verdict in (("test_two", "killed"), ("test_zero", "survived")):
        fault = mutations.Mutation("double.py", "2 * x", "3 * x", (f"test_double.py::{test}",), "none")
        assert mutations.verdict(fault, tree) == verdict
    assert "2 * x" in (tree / "double.py").read_text()
