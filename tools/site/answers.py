"""The page of known answers: the text beside this file, and the rows of each
mechanism."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from markup import escape

from dpsim import paths

TABLE = "known_answers.csv"

MECHANISMS = {
    "exponential mechanism": (
        "A candidate is chosen in proportion to exp(-ε l / (2 b)), where l is the "
        "number of letters in which it differs from the true word. The candidates are "
        "all words of n letters out of m, or all walks of n steps in a graph, whose "
        "adjacency matrix is in the table."
    ),
    "permute-and-flip": (
        "The candidates are tried in a random order, and the first one that is "
        "accepted, with probability exp(-ε l / (2 b)), is released. Its exact ε is at "
        "most the promised one."
    ),
    "staircase": (
        "As the exponential mechanism, but the weight falls only once in b letters: "
        "exp(-ε / 2 ⌈(l + offset) / b⌉). Its exact ε is ε / 2."
    ),
    "randomised response": (
        "Each of n letters stays the same with probability e^ε / (e^ε + m - 1) and is "
        "otherwise replaced by one of the m - 1 others. With b letters that differ, "
        "the losses of b letters add up."
    ),
    "discrete Laplace": (
        "Noise with P(z) proportional to exp(-|z| / scale) on every count, also "
        "called the geometric mechanism. One unit changes `counts` counts by `change` "
        "each, and the noisy counts are released `times` times."
    ),
    "discrete Laplace with a threshold": (
        "A pair that occurs is released if its noisy count is at least the threshold. "
        "A unit has at most this number of `events` in pairs in which no other unit "
        "occurs."
    ),
    "zero-sum discrete Laplace": (
        "Noise with P(u) proportional to exp(-ε |u|₁ / 2) on the integer vectors "
        "whose entries add up to 0, so that the total of a histogram stays the same."
    ),
    "Laplace": (
        "Noise with the density exp(-|z| / scale) / (2 scale) on each of the entries. "
        "Neighbours differ by `change` in each entry."
    ),
    "Gaussian": (
        "Noise with the standard deviation σ on a vector. Neighbours differ by "
        "`change` in 2-norm."
    ),
    "Dirichlet mechanism": (
        "Dir(k p) is released in place of the probability vector p. In each of the "
        "rows, neighbours differ by `shift` in two entries, and every entry is at "
        "least η."
    ),
    "tempered Dirichlet posterior": (
        "Dir(κ (c + α)) is released in place of the counts c, whatever they are."
    ),
    "Boltzmann machine": (
        "A histogram z of the same total is released with a probability proportional "
        "to exp(-|z - x|² / t). With steps, the state of its Metropolis chain after "
        "these steps from x is released."
    ),
}
"""A line on each mechanism, in the order of the table."""

JOINED = {
    "epsilon": " at ",
    "delta": " at ",
    "probability": ": ",
    "expected error": ": ",
}
"""What joins a quantity and that on which it depends."""


def page() -> str:
    """Return the page."""
    rows = _rows()
    text = Path(__file__).with_name("known_answers.md").read_text(encoding="utf-8")
    parts = [text.strip().replace("{number}", str(len(rows)))]
    for mechanism, line in MECHANISMS.items():
        of_mechanism = [row for row in rows if row["mechanism"] == mechanism]
        heading = mechanism[0].upper() + mechanism[1:]
        parts += [f"## {heading}", line, _neighbours(of_mechanism)]
        parts += [_table(of_mechanism), _methods(of_mechanism)]
    return "\n\n".join(parts) + "\n"


def _rows() -> list[dict[str, str]]:
    """Return the rows of the table."""
    with (paths.data() / TABLE).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _neighbours(rows: list[dict[str, str]]) -> str:
    """Return what neighbours are."""
    sentences = dict.fromkeys(row["neighbours"] for row in rows if row["neighbours"])
    return "Neighbours: " + " ".join(map(escape, sentences))


def _table(rows: list[dict[str, str]]) -> str:
    """Return the rows as a table in Markdown."""
    lines = ["| parameters | quantity | low | high |", "| --- | --- | --- | --- |"]
    for row in rows:
        parameters = _listed(json.loads(row["parameters"]))
        given = json.loads(row["given"])
        quantity = row["quantity"] + JOINED[row["quantity"]] + _listed(given)
        ends = [f'<span class="whole">{row[end]}</span>' for end in ("low", "high")]
        cells = [escape(parameters), escape(quantity), *ends]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _methods(rows: list[dict[str, str]]) -> str:
    """Return how the values were computed and confirmed."""
    pairs = dict.fromkeys((row["method"], row["second_method"]) for row in rows)
    lines = [
        f"- {escape(first)}; confirmed by: {escape(second)}" for first, second in pairs
    ]
    return "\n".join(["Computed by", "", *lines])


def _listed(values: dict[str, Any]) -> str:
    """Return names and values in words; a matrix has a name of its own beside it."""
    said = []
    for name, value in values.items():
        if isinstance(value, list):
            if isinstance(value[0], list):
                continue
            value = f"({', '.join(map(str, value))})"
        said.append(f"{value}" if name == "error" else f"{name} {value}")
    return ", ".join(said)
