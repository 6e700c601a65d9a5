"""The overview repeats what the lessons found."""

from typing import Any

import nbformat
import pandas as pd
import pytest
from IPython.display import Markdown

from dpsim import ledger, paths

CELLS = nbformat.read(paths.notebooks() / "00_overview.ipynb", as_version=4).cells


@pytest.fixture
def page() -> dict[str, Any]:
    """Return what the cell defines that lists the findings."""
    names: dict[str, Any] = {"ledger": ledger, "Markdown": Markdown}
    (source,) = (c.source for c in CELLS if "def findings_table(" in c.source)
    exec(
        compile(source.partition("\nfindings_table()")[0], "00_overview", "exec"), names
    )
    return names


def test_the_table_shows_the_short_answers_and_nothing_withdrawn(
    page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = ["README; short answer", "fig3", "short answer"]
    rows = pd.DataFrame(
        {
            "notebook": "taxis",
            "places": places,
            "sentence": ["Use noise.", "Look.", "Use draws."],
            "basis": ["family", "proof", "withdrawn"],
            "ground": ["held in all inputs tried", "proved", "withdrawn"],
        },
        index=["taxis.noise", "taxis.look", "taxis.draws"],
    )
    monkeypatch.setattr(ledger, "judged_findings", lambda: rows)
    _, _, *lines = page["findings_table"]().data.splitlines()
    assert lines == [
        "| [taxis](taxis.ipynb) | Use noise. | [held in all inputs tried]"
        "(../figures/REPORT.md#taxis.noise) |"
    ]


def test_the_page_folds_few_cells_and_names_no_other_package() -> None:
    folded = [c for c in CELLS if "hide-input" in c.metadata.get("tags", [])]
    assert len(folded) <= 16
    assert not [c for c in CELLS if "PyPI" in c.source]
