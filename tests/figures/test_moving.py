"""The guide's chart that moves is drawn as it stands."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
from toy_project import ROOT

from dpsim import figures


def test_the_chart_of_the_guide_is_drawn(tmp_path: Path) -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (code,) = (
        block
        for block in re.findall(r"```py\n(.*?)```", guide, re.DOTALL)
        if "figures.Moving(" in block
    )
    names = {"np": np, "pd": pd, "figures": figures, "output": str(tmp_path)}
    exec(compile(code, "CONTRIBUTING.md", "exec"), names)
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".json", ".png"}
