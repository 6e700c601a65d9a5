"""Audits every mechanism by draws at worst-case neighbours: `python -m benchmarks.audit` writes build/audit.

For each mechanism the event of the likelihood-ratio test is fixed in advance at each epsilon of a grid where the
claimed delta is at least 0.01, and counted in draws from both neighbours. All bounds of the table hold at once with
probability 1 - 1e-6. Where `broken_lower` is shown, the same mechanism with its parameter 20 % off, and so less
private than it claims, must be proven in violation. Seeds are fixed: equal versions write equal files.
"""

from __future__ import annotations

import argparse
import math
import sys
import time

import matplotlib.pyplot as plt
import pandas as pd

from benchmarks.audit_cases import OFF, Case, cases, nothing
from dpsim import audit, figures, project
from dpsim.checks import Array

DRAWS = 2_000_000  # of each law of each case
FAILURE = 1e-6  # chance that any bound of a whole audit is wrong


def run(audited: list[Case], draws: int = DRAWS, seed: int = 2026) -> pd.DataFrame:
    """Return the table of the audit: one row for each case and epsilon, all bounds right at once with 1 - 1e-6."""
    bounds = sum(case.epsilon.size * (2 + case.breakable) for case in audited)
    alpha = FAILURE / (2 * bounds)
    parts = []
    for case in audited:
        lower, upper = bracket(case, 1.0, draws, seed, alpha)
        broken = bracket(case, OFF, draws, seed, alpha)[0] if case.breakable else nothing(case.epsilon)
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


def bracket(case: Case, factor: float, draws: int, seed: int, alpha: float) -> tuple[Array, Array]:
    """Return bounds on delta of the case's pair from draws of both sides."""
    hits = [
        audit.exceedances(
            lambda size, rng, side=side: case.losses(side, factor, size, rng),
            case.epsilon,
            draws,
            seed=seed,
            name=f"{case.mechanism}, {case.setting}, {case.inputs}, side {side}, factor {factor:g}",
        )
        for side in (0, 1)
    ]
    return audit.delta_bounds(case.epsilon, *hits, draws, alpha)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each setting: what was claimed, what held and what was caught."""
    grouped = table.groupby(["mechanism", "setting"], sort=False)
    caught = grouped["broken_caught"].any().where(grouped["broken_lower"].count() > 0)
    return pd.DataFrame(
        {
            "epsilons": grouped.size(),
            "largest_claim": grouped["claimed_delta"].max(),
            "widest_bracket": grouped[["lower", "upper"]].apply(lambda part: (part["upper"] - part["lower"]).max()),
            "claim_holds": ~grouped["violates_claim"].any(),
            "pair_agrees": grouped["agrees_with_pair"].all(),
            "published_refuted": grouped["violates_published"].any(),
            "broken_caught": caught.map({True: "yes", False: "NO"}).fillna(""),
        }
    )


def draw_figure(table: pd.DataFrame) -> plt.Figure:
    """Return the figure: a panel for each setting, claim, published bound, bracket, and the broken version's bound."""
    figures.style()
    panels = list(table.groupby(["mechanism", "setting"], sort=False))
    columns = 4
    rows = math.ceil(len(panels) / columns)
    fig, axes = plt.subplots(rows, columns, figsize=(figures.TWO_COLUMNS, 1.55 * rows))
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax, ((mechanism, setting), rows_of_setting) in zip(axes.flat, panels):
        part = rows_of_setting.sort_values("epsilon")
        x = part["epsilon"]
        middle = (part["lower"] + part["upper"]) / 2
        ax.plot(x, part["published_delta"], "--", color=figures.PAPER, label="published bound")
        ax.plot(x, part["claimed_delta"], color=figures.OURS, label="exact, claimed")
        ax.errorbar(x, middle, (part["upper"] - part["lower"]) / 2, fmt=".", ms=2, color=figures.TRUE, label="audited")
        ax.plot(x, part["broken_lower"], "v", ms=3, color=figures.OTHER, label="20 % off, at least")
        top = max(part["claimed_delta"].max(), part["broken_lower"].max(), part["upper"].max())
        ax.set(ylim=(0, 1.25 * top))
        ax.set_title(f"{mechanism}\n{setting}", fontsize=5)
        ax.tick_params(labelsize=5)
    axes.flat[0].legend(fontsize=5)
    fig.supxlabel(r"$\varepsilon$", fontsize=8)
    fig.supylabel(r"$\delta$", fontsize=8)
    return fig


def main() -> int:
    """Run the audit and write build/audit; exit status 1 when a claim fails or a broken mechanism passes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS, help="draws of each law of each case")
    parser.add_argument("--seed", type=int, default=2026)
    arguments = parser.parse_args()
    begun = time.perf_counter()
    table = run(cases(), arguments.draws, arguments.seed)
    output = str(project.build() / "audit")
    figures.save(draw_figure(table), "audit", table, output)
    shown = summary(table)
    print(shown.to_string(float_format="{:.4f}".format))
    print(f"{len(table)} bounds and {arguments.draws} draws a law: {time.perf_counter() - begun:.0f} s; {output}")
    bad = table["violates_claim"].any() or not table["agrees_with_pair"].all() or (shown["broken_caught"] == "NO").any()
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
