import pytest

from dpsim import paths
from tools.verify import mutations


@pytest.mark.parametrize("fault", mutations.faults(), ids=lambda fault: fault.why)
def test_the_text_of_every_fault_is_in_its_file_once_and_its_tests_exist(fault):
    assert (paths.root() / fault.file).read_text(encoding="utf-8").count(
        fault.before
    ) == 1
    assert (
        fault.before != fault.after
        and (paths.root() / mutations.where(fault.tests)).exists()
    )


def test_a_text_that_is_not_there_once_is_refused(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\nx = 1\ny = 2\n")
    for before, count in (("x = 1", 2), ("z = 3", 0)):
        with pytest.raises(ValueError, match=f"is {count} times"):
            mutations.put(mutations.Fault("a.py", before, "", "", ""), tmp_path)
    mutations.put(mutations.Fault("a.py", "y = 2", "y = 3", "", ""), tmp_path)
    assert (tmp_path / "a.py").read_text() == "x = 1\nx = 1\ny = 3\n"


def test_a_fault_is_found_by_a_test_that_looks(tmp_path):
    tree = tmp_path / "sound"
    (tree / "tests").mkdir(parents=True)
    (tree / "double.py").write_text("def double(x):\n    return 2 * x\n")
    for value in (0, 2):
        test = (
            f"from double import double\ndef test():\n    assert double({value}) == "
            f"{2 * value}\n"
        )
        (tree / "tests" / f"test_{value}.py").write_text(test)
        fault = mutations.Fault("double.py", "2 * x", "3 * x", f"test_{value}.py", "")
        assert mutations.is_found(fault, tree) == bool(value)
    assert "2 * x" in (tree / "double.py").read_text()
