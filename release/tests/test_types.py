"""Whoever calls both packages is told by mypy and by pyright what is wrong."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """\
import numpy as np
import dpsim
import dpsim_release

chain = dpsim.load_release("chain")
labels: list[int] = chain.labels
word = dpsim.words.privatize("abca", letters="abc", b=1, epsilon="2")
noise = dpsim_release.laplace_noise(1.0).scales
pi = dpsim.markov.stationary_distribution(np.eye(2))
print(chain.walk(3), word.epsilon, pi.sum())
"""

NO_NODE = pytest.mark.skipif(
    shutil.which("node") is None, reason="pyright needs Node.js"
)


@pytest.mark.parametrize(
    "words",
    [
        ("mypy", "--ignore-missing-imports"),
        pytest.param(("pyright", "--pythonpath", sys.executable), marks=NO_NODE),
    ],
    ids=["mypy", "pyright"],
)
def test_three_mistakes_of_a_user_are_three_errors(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    """Both packages have py.typed and are installed so that both programs find them."""
    pytest.importorskip(words[0])
    (tmp_path / "user.py").write_text(SCRIPT)
    command = [sys.executable, "-m", *words, "user.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    lines = re.findall(r"user\.py:(\d+).* error: ", done.stdout)
    assert lines == ["6", "7", "8"], done.stdout + done.stderr
