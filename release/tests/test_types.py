"""Whoever calls both packages is told by mypy what is wrong."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """\
import numpy as np
import dpsim
import dpsim_release

chain = dpsim.load_release("chain")
labels: list[int] = chain.labels
word = dpsim.words.privatize("abca", letters="abc", b=1, epsilon="2")
noise = dpsim_release.laplace_noise(1.0).scales
ends = dpsim_release.privatize("a.csv", orgin="from", destination="to", epsilon=1.0)
loss = dpsim_release.privatize("a.csv", origin="from", destination="to", epsilon="1")
free = dpsim_release.privatize("a.csv", origin="from", destination="to")
good = dpsim_release.privatize(source="a.csv", origin="from", epsilon=1.0, rng=1)
size: int = good.text
pi = dpsim.markov.stationary_distribution(np.eye(2))
print(chain.walk(3), word.epsilon, pi.sum())
"""


def test_each_mistake_of_a_user_is_one_error(tmp_path: Path) -> None:
    """Both packages have py.typed and are installed so that mypy finds them."""
    (tmp_path / "user.py").write_text(SCRIPT)
    words = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "user.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    told = [line.split(":") for line in done.stdout.splitlines()[:-1]]
    lines = [where for _, where, kind, *_ in told if kind.strip() == "error"]
    assert lines == ["6", "7", "8", "9", "10", "11", "13"], done.stdout + done.stderr
