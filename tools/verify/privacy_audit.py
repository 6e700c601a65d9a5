"""Audits every mechanism by draws at worst-case neighbours: `python -m
tools.verify.privacy_audit` writes build/audit.

For each mechanism the event of the likelihood-ratio test is fixed in advance at each
epsilon of a grid where the claimed delta is at least 0.01, and counted in draws from
both neighbours. All bounds of the table hold at once with probability 1 - 1e-6. Where
`broken_lower` is shown, the same mechanism with its parameter 20 % off, and so less
private than it claims, must be proven in violation. Seeds are fixed: equal versions
write equal files.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from functools import partial

import numpy as np
import pandas as pd

from dpsim import accounting, figures, paths
from dpsim.checks import Array
from dpsim.ledger.table_formats import markdown_table
from release.tools.release_audit import release_cases
from tools.verify import measures
from tools.verify.audit_cases import LEVELS, OFF, SMALLEST_CLAIM, Case, cases

DRAWS = 2_000_000  # of each law of each case
FAILURE = 1e-6  # chance that any bound of a whole audit is wrong


def run(audited: list[Case], draws: int = DRAWS, seed: int = 2026) -> pd.DataFrame:
    """Return the table of the audit: one row for each case and epsilon, all bounds
    right at once with 1 - 1e-6."""
    bounds = sum(case.epsilon.size * (2 + case.breakable) for case in audited)
    alpha = FAILURE / (2 * bounds)
    parts = []
    for case in audited:
        lower, upper = bracket(case, 1.0, draws, seed, alpha)
        broken = (
            bracket(case, OFF, draws, seed, alpha)[0] if case.breakable else math.nan
        )
        low, high = case.pair_bounds or (case.pair, case.pair)
        parts.append(
            pd.DataFrame(
                {
                    "mechanism": case.mechanism,
                    "setting": case.setting,
                    "inputs": case.inputs,
                    "epsilon": case.epsilon,
                    "claimed_delta": case.claim,
                    "published_delta": case.published,
                    "pair_delta": case.pair,
                    "lower": lower,
                    "upper": upper,
                    "broken_lower": broken,
                    "violates_claim": lower > case.claim,
                    "violates_published": lower > case.published,
                    "agrees_with_pair": (lower <= high) & (low <= upper),
                    "broken_caught": broken > case.claim,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def bracket(
    case: Case, factor: float, draws: int, seed: int, alpha: float
) -> tuple[Array, Array]:
    """Return bounds on delta of the case's pair from draws of both sides."""
    over, others = (
        measures.exceedances(
            partial(case.losses, side, factor),
            case.epsilon,
            draws,
            seed=seed,
            name=(
                f"{case.mechanism}, {case.setting}, {case.inputs}, side {side}, "
                f"factor {factor:g}"
            ),
        )
        for side in (0, 1)
    )
    return accounting.delta_bounds(case.epsilon, over, others, draws, alpha)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each setting: what was claimed, what held and what was
    caught."""
    grouped = table.groupby(["mechanism", "setting"], sort=False)
    claim = np.where(grouped["violates_claim"].any(), "VIOLATED", "holds")
    inside = np.where(grouped["agrees_with_pair"].all(), "inside", "OUTSIDE")
    published = np.where(grouped["violates_published"].any(), "refuted", "holds")
    caught = np.where(grouped["broken_caught"].any(), "caught", "NOT CAUGHT")
    return pd.DataFrame(
        {
            "largest_epsilon": grouped["epsilon"].max(),
            "largest_claim": grouped["claimed_delta"].max(),
            "proven_share": (table["lower"] / table["claimed_delta"])
            .groupby([table["mechanism"], table["setting"]], sort=False)
            .max(),
            "claim": claim,
            "exact_profile": inside,
            "published_bound": np.where(
                grouped["published_delta"].count() > 0, published, ""
            ),
            "broken_version": np.where(grouped["broken_lower"].count() > 0, caught, ""),
        }
    )


def is_sound(shown: pd.DataFrame) -> bool:
    """Return whether every claim holds, every exact profile agrees and every broken
    version tried was caught."""
    claims = (shown["claim"] == "holds").all()
    profiles = (shown["exact_profile"] == "inside").all()
    return bool(claims and profiles and (shown["broken_version"] != "NOT CAUGHT").all())


COLUMNS = {
    "mechanism": "mechanism",
    "setting": "setting",
    "largest_epsilon": "largest ε",
    "largest_claim": "largest δ claimed",
    "proven_share": "share of δ proven",
    "claim": "claim",
    "exact_profile": "exact profile",
    "published_bound": "published bound",
    "broken_version": "20 % off",
}


def markdown(table: pd.DataFrame, draws: int) -> str:
    """Return the page of the audit: what was done, what it proves, a row for each
    setting."""
    shown = summary(table).reset_index()
    brackets = len(table)
    proofs = int(table["broken_lower"].count())
    rows = [
        [f"{value:.3g}" if isinstance(value, float) else value for value in row]
        for row in shown[list(COLUMNS)].itertuples(index=False)
    ]
    listed = markdown_table(list(COLUMNS.values()), rows, (0, 1, 5, 6, 7, 8))
    refuted = shown.loc[
        shown["published_bound"] == "refuted", ["mechanism", "setting"]
    ].agg(" at ".join, axis=1)
    sound = "refute no claim, hold every exact profile and catch every broken version"
    verdict = sound if is_sound(shown) else "show a fault, in capitals below"
    share, exponent = f"{FAILURE:.0e}".split("e")
    return f"""# Audit of every privacy claim

Each mechanism was run {draws:,} times on either of two neighbouring inputs, the worst
ones where a proof names them, and the most telling event, fixed in advance, was counted
at {LEVELS} levels of ε where the claimed δ is at least {SMALLEST_CLAIM:g}. The
{brackets} brackets of δ and {proofs} lower bounds on versions with a parameter 20 %
off, all right at once with confidence 1 - {share}e{int(exponent)} (Clopper and Pearson
1934), {verdict}.

{listed}

Exact profile: inside where every bracket holds it.
Share of δ proven: the largest lower bound in units of the claim. It stays below 1 where
a pure ε or the sum of several ε is claimed, which allows more than these inputs lose.
20 % off: not tried where 20 % hardly show, near a privacy floor or far below the claim.
Published bounds refuted: {"; ".join(refuted) or "none"}.

Not covered: draws in double precision outside the releases (an attack on the last bits
of floats), events too rare to be seen (δ below {SMALLEST_CLAIM:g}), neighbours that
were not tried where no proof names the worst, time and memory as side channels, and the
sampler of a release, whose law release/tests/test_chain.py compares with the one drawn
here.

[Every number](audit.csv). Rerun: `make audit`; `python -m
tools.verify.privacy_audit --write` renews these files.
"""


def main() -> int:
    """Run the audit and write build/audit; exit status 1 when a claim fails or a broken
    mechanism passes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--draws", type=int, default=DRAWS, help="draws of each law of each case"
    )
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument(
        "--write", action="store_true", help="write tools/verify/results/ too"
    )
    arguments = parser.parse_args()
    begun = time.perf_counter()
    table = run(cases(release_cases()), arguments.draws, arguments.seed)
    output = paths.build() / "audit"
    figures.save_table(table, "audit", str(output))
    if arguments.write:
        results = paths.root() / "tools" / "verify" / "results"
        figures.save_table(table, "audit", str(results))
        (results / "audit.md").write_text(
            markdown(table, arguments.draws), encoding="utf-8"
        )
    shown = summary(table)
    print(shown.to_string(float_format="{:.4f}".format))
    print(
        f"{len(table)} bounds and {arguments.draws} draws a law: "
        f"{time.perf_counter() - begun:.0f} s; {output}"
    )
    return int(not is_sound(shown))


if __name__ == "__main__":
    sys.exit(main())
