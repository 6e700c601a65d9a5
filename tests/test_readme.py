"""README's session in Python runs as it stands, and its links lead somewhere."""

from __future__ import annotations

import re

import pytest
from toy_project import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_session_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert "differentially private" in capsys.readouterr().out
    assert list(names["P"].index) == ["a", "b", "c"]  # type: ignore[attr-defined]


def test_local_links_lead_somewhere() -> None:
    targets = [t for t in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in t]
    assert len(targets) > 10
    missing = [target for target in targets if not (ROOT / target).exists()]
    assert not missing
