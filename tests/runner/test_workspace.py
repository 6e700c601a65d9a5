"""A run that never publishes anything keeps the figures of the one before, wherever that was cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpsim.runner.schedule import Job
from dpsim.runner.worker import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(Job("quick", {}, "key", str(tmp_path / "figures/quick"), str(tmp_path / "record"), 1))


def test_figures_of_a_publication_cut_in_two_are_there_before_the_next_run(workspace: Workspace) -> None:
    workspace.previous.mkdir(parents=True)
    (workspace.previous / "figure.png").write_text("the old one")
    workspace.prepare()
    assert (workspace.output / "figure.png").read_text() == "the old one"
    assert not workspace.previous.exists() and not any(workspace.staging.iterdir())


def test_figures_that_were_published_whole_are_not_replaced_by_older_ones(workspace: Workspace) -> None:
    for folder, text in ((workspace.previous, "the old one"), (workspace.output, "the new one")):
        folder.mkdir(parents=True)
        (folder / "figure.png").write_text(text)
    workspace.prepare()
    assert (workspace.output / "figure.png").read_text() == "the new one"
    assert not workspace.previous.exists()
