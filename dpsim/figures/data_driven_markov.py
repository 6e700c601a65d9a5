"""Figures 1, 3 and 4 of the notebook `data_driven_markov` (Benvenuti et al. 2026)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpsim.figures.house_style import (
    OURS,
    PAPER,
    PUBLISHED,
    draw_band,
    mark_published,
    mark_source,
    size,
)


def draw_grades(values: pd.DataFrame, source: str) -> Figure:
    """Return Figure 1: the divergence of private grades, and the promised delta.

    Parameters
    ----------
    values : DataFrame, sorted by epsilon
        The columns are epsilon, delta_upper, kl_theorem2, kl_corollary1, kl_empirical
        and kl_standard_error.
    source : str, the source of the data
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=size(2, 2.9))
    x = values["epsilon"]
    mean = values["kl_empirical"]
    left.plot(
        x, values["kl_corollary1"], "--", color=PAPER, label="Corollary 1 (bound)"
    )
    left.plot(x, values["kl_theorem2"], color=OURS, label="Theorem 2 (exact)")
    left.plot(x, mean, ".", ms=3, color=PAPER, label="mean of releases")
    draw_band(left, x, mean, values["kl_standard_error"], PAPER)
    mark_published(left, 2.255, 0.103, "(2.255, 0.103)", offset=(30, 22))
    left.set(xlabel=r"promised $\epsilon$", ylim=(0, None))
    left.set_ylabel(r"$\mathbb{E}\,\mathcal{K}(C\,\|\,\tilde C)$ (nats)")
    left.legend()
    near = values[x <= max(4.0, x[0] + 1)]
    right.plot(
        near["epsilon"], near["delta_upper"], "--", color=PAPER, label="Theorem 1"
    )
    mark_published(right, 2.255, 0.0026, "0.0026", offset=(8, 2))
    mark_published(right, 3.31, 1.3e-4, r"$1.3\times10^{-4}$", offset=(8, 2))
    right.set(xlabel=r"promised $\epsilon$", ylabel=r"promised $\delta$", yscale="log")
    right.legend()
    mark_source(fig, source)
    return fig


def draw_stationary(table: pd.DataFrame, source: str) -> Figure:
    """Return Figure 3: the error of the stationary distribution, and Theorem 4's bound.

    Parameters
    ----------
    table : DataFrame, sorted by epsilon
        The columns are epsilon, tv_mean, tv_standard_error and tv_theorem4.
    source : str, the source of the data
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=size(2, 2.7))
    epsilon = table["epsilon"]
    mean = table["tv_mean"]
    label = "total variation of the\nstationary distribution"
    for ax in (left, right):
        ax.plot(epsilon, mean, color=PAPER)
        ax.set(xlabel=r"promised $\epsilon$", ylabel=label)
    draw_band(left, epsilon, mean, table["tv_standard_error"], PAPER)
    mark_published(left, 3.73, 0.017, "(3.73, 0.017)", offset=(18, 10))
    left.set_ylim(min(0.01, 0.97 * mean.min()), max(0.0185, 1.03 * mean.max()))
    right.plot(epsilon, table["tv_theorem4"], "--", color=PAPER)
    x, low, high = table.loc[len(table) // 2, ["epsilon", "tv_mean", "tv_theorem4"]]
    arrow = {"arrowstyle": "<->", "color": "0.4"}
    right.annotate("", (x, high), (x, low), arrowprops=arrow)
    right.text(
        x, np.sqrt(low * high), f"  {high / low:.0f} times", color="0.3", va="center"
    )
    right.text(x, 1.6 * high, "Theorem 4's bound", ha="center")
    right.text(x, low / 1.3, "mean of private chains", ha="center", va="top")
    right.set(yscale="log", ylim=(0.3 * mean.min(), 3 * table["tv_theorem4"].max()))
    mark_source(fig, source)
    return fig


def draw_sampled_delta(table: pd.DataFrame, names: dict[str, str]) -> Figure:
    """Return Figure 4: the relative error of a sampled delta.

    Parameters
    ----------
    table : DataFrame
        The columns are delta, draws, error_mean, error_standard_error and error_exact.
    names : dict, the words of the legend for each of the two values of delta
    """
    fig, ax = plt.subplots(figsize=size(2, 2.9))
    styles = ("o", "-", PAPER), ("s", "--", "0.35")
    for (delta, name), (marker, dashes, colour) in zip(names.items(), styles):
        part = table[table["delta"] == delta]
        ax.errorbar(
            part["draws"],
            part["error_mean"],
            2 * part["error_standard_error"],
            fmt=marker,
            ms=3,
            color=colour,
            label=f"sampled, δ = {name}",
        )
        ax.plot(
            part["draws"],
            part["error_exact"],
            dashes,
            color=OURS,
            label=f"exact, δ = {name}",
        )
    ax.axhline(0.01, color=PUBLISHED, lw=0.8)
    ax.text(110, 0.0092, "published: below this at $10^6$", va="top", color="0.3")
    ax.set(
        xscale="log", yscale="log", xlabel="draws at each point, $M$", ylim=(0.003, 20)
    )
    ax.set_ylabel(r"$\mathbb{E}\,|\hat\delta-\delta|\,/\,\delta$")
    ax.legend()
    return fig
