"""Hard functions and inverses against many digits: `python -m tools.verify.precision`
prints the worst error of each.

Each check of precision_checks is a function of the package, a reference in mpmath, a
grid wider than the unit tests', and the error the package states or is held to.
Arguments are floats and enter the reference exactly. Errors are relative; for
logarithms, where the value may be near zero, relative to max(1, |log|), so that below
one they are relative errors of the quantity itself.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath as mp
import numpy as np
import pandas as pd

from dpsim import figures, paths
from dpsim.ledger.table_formats import markdown_table
from tools.verify.precision_checks import DIGITS, SIDE_SLACK, Check, checks


def number(value: Any) -> Any:
    """Return a float as an exact mpmath number, anything else unchanged."""
    return mp.mpf(value) if isinstance(value, float) else value


def error(check: Check, arguments: tuple[Any, ...]) -> float:
    """Return the error of one evaluation, infinite for a value that is not finite, or
    on the wrong side."""
    ours = float(check.ours(*arguments))
    if not math.isfinite(ours):
        return math.inf
    with mp.workdps(DIGITS):
        truth = check.reference(*map(number, arguments))
        scale = max(mp.mpf(1), abs(truth)) if check.log else abs(truth)
        if check.side * (truth - ours) > SIDE_SLACK * scale:
            return math.inf
        return float(abs(ours - truth) / (scale or mp.mpf(1)))


def table(
    most: int | None = None,
    seed: int = 0,
    on_row: Callable[[str], object] = lambda line: None,
) -> pd.DataFrame:
    """Return the worst error of every check and where it is; `most` points of each
    grid, all of them for None."""
    rng = np.random.default_rng(seed)
    rows = []
    for check in checks():
        begun = time.perf_counter()
        size = len(check.grid) if most is None else min(most, len(check.grid))
        points = [check.grid[i] for i in rng.permutation(len(check.grid))[:size]]
        errors = [error(check, point) for point in points]
        worst = int(np.argmax(errors))
        place = ", ".join(shown(x) for x in points[worst])
        rows.append(
            (
                check.function,
                size,
                errors[worst],
                check.tolerance,
                errors[worst] <= check.tolerance,
                place,
            )
        )
        seconds = time.perf_counter() - begun
        on_row(
            f"{check.function:62} {size:5} {errors[worst]:8.1e} "
            f"{check.tolerance:8.0e} {seconds:5.1f} s  at {place}"
        )
    return pd.DataFrame(
        rows,
        columns=["function", "points", "worst_error", "tolerance", "within", "where"],
    )


def shown(value: Any) -> str:
    """Return an argument in a few letters."""
    if isinstance(value, tuple):
        return (
            str(value)
            if len(str(value)) < 20
            else f"counts of {len(value) - 1} letters"
        )
    return f"{value:g}" if isinstance(value, float) else str(value)


def markdown(result: pd.DataFrame) -> str:
    """Return the page of the checks: what was done, what it proves, a row for each
    function."""
    held = (
        "every one is within" if result["within"].all() else "NOT every one is within"
    )
    columns = ("function", "points", "worst relative error", "allowed", "at")
    rows = [
        (r.function, r.points, f"{r.worst_error:.1e}", f"{r.tolerance:.1e}", r.where)
        for r in result.itertuples()
    ]
    points = int(result["points"].sum())
    return f"""# Special functions and inverses against many digits

{len(result)} results were compared with references of their own in {DIGITS} digits
(mpmath), at {points:,} points with extremes included: arguments from 1e-8 to 1e12, δ
down to 1e-300. The relative error is shown at the worst point of each, and {held} what
the function states or is held to.

{markdown_table(columns, rows, (0, 4))}

Logarithms: relative to the larger of 1 and the logarithm. "Back to": the inverse's
result, put into the reference, should give the target, and no rounding may make the
promise weaker. Allowed errors of 1e-6 and more are those of functions that round their
result to the safe side by as much and say so.

[Every number](precision.csv). Rerun: `make audit`;
`python -m tools.verify.precision --write` renews these files.
"""


def main() -> int:
    """Print the table and write it to build/audit; exit status 1 when an error is above
    its tolerance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--most", type=int, default=None, help="points of each grid; all by default"
    )
    parser.add_argument(
        "--write", action="store_true", help="write tools/verify/results/ too"
    )
    arguments = parser.parse_args()
    print(f"{'function':62} points  worst, allowed, seconds")
    result = table(arguments.most, on_row=partial(print, flush=True))
    figures.save_table(result, "precision", str(paths.build() / "audit"))
    if arguments.write:
        results = paths.root() / "tools" / "verify" / "results"
        figures.save_table(result, "precision", str(results))
        (results / "precision.md").write_text(markdown(result), encoding="utf-8")
    return int(not result["within"].all())


if __name__ == "__main__":
    sys.exit(main())
