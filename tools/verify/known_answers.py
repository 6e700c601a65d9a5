"""Known answers for the tests of any library: `python -m tools.verify.known_answers`
writes data/known_answers.csv.

Every value is computed in 50 digits by two methods that share no formula and do not use
dpsim; where they disagree, nothing is written. `--check` computes all of them again and
compares the bytes. It takes two to three minutes.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path

import mpmath as mp

from tools.verify.answers import (
    dirichlet_draws,
    histograms,
    integer_noise,
    real_noise,
    words,
)
from tools.verify.answers.answer import DIGITS

DATA = Path(__file__).resolve().parents[2] / "data"
TABLE = "known_answers.csv"
FAMILIES = (words, integer_noise, real_noise, dirichlet_draws, histograms)
COLUMNS = (
    *("id", "mechanism", "parameters", "neighbours", "quantity", "given"),
    *("low", "high", "method", "second_method"),
)


def rows() -> Iterator[dict[str, str]]:
    """Yield the rows of the table; ValueError where two methods disagree."""
    for family in FAMILIES:
        with mp.workdps(DIGITS):
            yield from (answer.row() for answer in family.answers())


def text() -> str:
    """Return the table."""
    lines = io.StringIO()
    writer = csv.DictWriter(lines, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows())
    return lines.getvalue()


def write(table: str) -> None:
    """Write the table, and its line in checksums.txt."""
    (DATA / TABLE).write_text(table, encoding="utf-8")
    listing = DATA / "checksums.txt"
    lines = listing.read_text(encoding="utf-8").splitlines()
    others = [line for line in lines if not line.endswith(f"  {TABLE}")]
    line = f"{hashlib.sha256(table.encode()).hexdigest()}  {TABLE}"
    ordered = sorted([*others, line], key=lambda each: each.split()[1])
    listing.write_text("\n".join(ordered) + "\n", encoding="utf-8")


def main() -> int:
    """Write the table, or compare it; exit status 1 when it differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="compare with the table, and write nothing"
    )
    check = parser.parse_args().check
    table = text()
    if not check:
        write(table)
    same = (DATA / TABLE).read_text(encoding="utf-8") == table
    number = len(table.splitlines()) - 1
    compared = "as" if same else "NOT as"
    print(f"{number} answers, each by two methods, {compared} in data/{TABLE}")
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
