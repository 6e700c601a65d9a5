"""The overview compares errors that the other notebooks have written."""

from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest

from dpsim import figures, paths

CELLS = nbformat.read(paths.notebooks() / "00_overview.ipynb", as_version=4).cells


@pytest.fixture
def page() -> dict[str, Any]:
    """Return what the cells define that read and compare errors."""
    names: dict[str, Any] = {"np": np, "pd": pd, "paths": paths, "figures": figures}
    for cell in CELLS:
        functions = ("def read_errors(", "def read_city(", "def ratio_of_errors(")
        if cell.cell_type == "code" and any(name in cell.source for name in functions):
            source = cell.source.split("\nstandard =")[-1].split("\nratios =")[0]
            source = source[
                source.index("PAPERS =" if "PAPERS =" in source else "def ") :
            ]
            exec(compile(source, "00_overview", "exec"), names)
    return names


def test_the_errors_are_read_from_the_prices_of_the_other_notebooks(page: Any) -> None:
    city = page["read_city"]("taxis")
    assert set(city["mechanism"]) == {page["PAPERS"], "noisy counts"}
    assert city["epsilon"].max() == 5
    matrix = page["read_matrix"]("matrix")
    others = {"Laplace, projected", "Gaussian, projected"}
    assert set(matrix["mechanism"]) == {page["PAPERS"], *others}


def test_a_table_without_the_mechanism_or_a_column_is_refused(
    page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "figures", lambda: tmp_path)
    table = pd.DataFrame({"epsilon": [1.0], "mechanism": "noise", "error": 2.0})
    table.to_csv(tmp_path / "price.csv", index=False)
    with pytest.raises(ValueError, match=r"price\.csv must have rows of 'Dirichlet'"):
        page["read_errors"]("a chain", "price", "Dirichlet")
    table.drop(columns="error").to_csv(tmp_path / "price.csv", index=False)
    with pytest.raises(ValueError, match=r"must have the columns \['error'\]"):
        page["read_errors"]("a chain", "price", "noise")


def test_a_ratio_reads_the_other_error_between_two_epsilons(page: Any) -> None:
    rows = [(2.0, page["PAPERS"], 6.0), (1.0, "noise", 4.0), (4.0, "noise", 1.0)]
    rows += [(8.0, page["PAPERS"], 3.0)]
    table = pd.DataFrame(rows, columns=["epsilon", "mechanism", "error"])
    ratios = page["ratio_of_errors"](table.assign(subject="a chain"))
    # at 2, in the middle of 1 and 4 on logarithmic axes, the other error is 2
    assert ratios.to_numpy().tolist() == [["a chain", 2.0, 3.0, "noise"]]


def test_no_ratio_needs_an_epsilon_at_which_both_were_run_if_both_were(
    page: Any,
) -> None:
    rows = [(1.0, page["PAPERS"], 6.0), (1.0, "noise", 4.0), (2.0, "noise", 1.0)]
    table = pd.DataFrame(rows, columns=["epsilon", "mechanism", "error"])
    ratios = page["ratio_of_errors"](table.assign(subject="a chain"))
    assert ratios["ratio"].tolist() == [1.5]
