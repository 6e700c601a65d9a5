"""Every notebook at both ends of each of its parameters, and with what its "Try it"
suggests.

`make fuzz` collects this file by name; `make test` does not: each run starts a kernel.
Ranges come from the comments beside the parameters. Sample sizes are tested at their
low end alone, and reduced elsewhere.
"""

import re
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest
from quick_runs import quick_value

from dpsim import paths
from dpsim.notebook import Parameter, load

MORE: dict[str, list[dict[str, Any]]] = {
    "00_overview": [{"seed": 0}],
    "boltzmann_histograms": [
        {"x": x}
        for x in (
            [5, 5, 5, 5, 30],
            [0, 0, 20],
            [20, 20, 20],
            [0, 0, 0, 0, 60],
            [0, 20, 0, 20],
        )
    ],
    "data_driven_markov": [
        {"gamma": 1e-6},
        {"zones": 63, "gamma_taxi": 1e-300},
        {"zones": 40},
    ],
    "matrix_dirichlet": [
        {"gamma": 1e-4},
        {"b": 0.1, "gamma": 0.1},
        {"k": [3.0, 300.0]},
        {"delta": 0.05, "b": 0.002},
    ],
    "mdp_policy_synthesis": [
        *({"k": [1, 2, 3]}, {"k": [0.1, 10.0, 10_000.0]}, {"actions": 40}),
        *(
            {"states": 2, "actions": 1, "horizon": 1},
            {"b": 0.0001, "delta": 0.1, "eta": 0.3},
        ),
    ],
    "permute_and_flip": [
        *(
            {"network": "stay"},
            {"network": "core"},
            {"network": "onward"},
            {"network": "through"},
            {"b": 3, "n": 5},
            {"trip": [3, 4, 3, 4]},
        )
    ],
    "your_own_chain": [
        {"epsilon": 0.1, "delta": 1e-10},
        {"epsilon": 10.0, "delta": 0.1},
    ],
}
"""What a notebook suggests to try, lists and words, and ends that are reached
together."""


RANGE = re.compile(r"in ([\[(])([^,]+), ([^\])]+)([\])])|(\d+) to (\d+)")


def ends(parameter: Parameter) -> list[int | float]:
    """Return the lowest and the highest value a parameter's comment allows."""
    found = RANGE.findall(parameter.help)
    if parameter.type not in ("int", "float") or not found:
        return []
    opened, low, high, closed, least, most = found[-1]
    if least:
        return [int(least), int(most)]
    first = float(low)
    last = float(high)
    inset = 1e-6 * (last - first)
    return [
        first + inset if opened == "(" else first,
        last - inset if closed == ")" else last,
    ]


def cases() -> list[Any]:
    """Return (notebook, values) for every end and every suggestion."""
    found = []
    for name in paths.notebook_names():
        for parameter in load(name).parameters.values():
            values = (
                ends(parameter)[:1]
                if quick_value(parameter) != parameter.default
                else ends(parameter)
            )
            found += [(name, {parameter.name: value}) for value in values]
        found += [(name, more) for more in MORE.get(name, [])]
    return [pytest.param(name, values, id=f"{name}-{values}") for name, values in found]


def execute(name: str, folder: Path, **values: Any) -> nbformat.NotebookNode:
    """Run a notebook with the samples of a quick run and these values; figures go into
    the folder."""
    quick = {
        parameter.name: quick_value(parameter)
        for parameter in load(name).parameters.values()
    }
    return papermill.execute_notebook(
        str(load(name).path),
        str(folder / "executed.ipynb"),
        parameters={**quick, **values, "output": str(folder / "figures")},
        kernel_name="python3",
        progress_bar=False,
        cwd=str(folder),
    )


@pytest.mark.parametrize("name, values", cases())
def test_a_notebook_runs_at_the_ends_of_its_parameters(
    name: str, values: dict[str, Any], tmp_path: Path
) -> None:
    executed = execute(name, tmp_path, **values)
    outputs = [output for cell in executed.cells for output in cell.get("outputs", [])]
    warned = [output.text for output in outputs if output.get("name") == "stderr"]
    assert not warned, warned
    made = tmp_path / "figures"
    committed = paths.figures() / name
    assert {path.stem for path in made.glob("*.png")} == {
        path.stem for path in committed.glob("*.png")
    }
