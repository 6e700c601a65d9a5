"""Seconds of the cost of privacy: ours against one linear programme each, a large model, growth with the sizes.

Run from the root of the repository: python tools/bench/mdp.py
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np
from scipy import optimize

from dpsim import mdp as mdps
from dpsim.checks import Array, Integers

BETA = 0.1


def best_seconds(work: Callable[[], object], repetitions: int) -> float:
    """Return the least wall time of the work in seconds."""
    times = []
    for _ in range(repetitions):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def private_plan(states: int, actions: int, horizon: int) -> tuple[mdps.MDP, Integers]:
    """Return a released random model (k = 10) and its policy."""
    rng = np.random.default_rng([states, actions, horizon])
    private = mdps.perturb(mdps.random_mdp(states, actions, rng, horizon=horizon), 10.0, rng)
    return private, mdps.synthesize(private)[0]


def least(p: Array, values: Array, radius: float) -> float:
    """Return the least expectation over the set (1) of the paper by one linear programme (HiGHS)."""
    near = np.clip([p - radius, p + radius], 0, 1).T
    return optimize.linprog(
        np.concatenate([(1 - BETA) * values, BETA * values]),
        A_eq=np.kron(np.eye(2), np.ones(p.size)),
        b_eq=[1, 1],
        bounds=[*near, *[(0, 1)] * p.size],
    ).fun


def cost_by_programmes(private: mdps.MDP, policy: Integers, radius: float) -> float:
    """Return the cost of privacy with one linear programme for each side, stage and state."""
    ends = []
    for side in (1, -1):
        values = private.terminal
        for rule in policy[::-1]:
            played = np.arange(len(rule)), rule
            worst = [least(p, side * values, radius) for p in private.transitions[played]]
            values = private.rewards[played] + side * np.array(worst)
        ends.append(values[0])
    return ends[1] - ends[0]


def against_programmes() -> None:
    """Print Example 2, its horizon doubled and its actions doubled, both ways."""
    radius = float(mdps.concentration_radius(10.0, BETA, 20))
    print("states actions horizon   greedy (s)   programmes (s)   ratio   difference")
    for actions, horizon in ((5, 10), (5, 20), (10, 10)):
        private, policy = private_plan(20, actions, horizon)
        cost = mdps.cost_of_privacy(private, policy, radius, BETA)
        start = perf_counter()
        by_programmes = cost_by_programmes(private, policy, radius)
        slow = perf_counter() - start
        fast = best_seconds(partial(mdps.cost_of_privacy, private, policy, radius, BETA), 50)
        print(f"{20:6} {actions:7} {horizon:7} {fast:12.6f} {slow:16.3f} {slow / fast:7.0f}", end="")
        print(f"   {abs(cost - by_programmes):.1e}")
        if slow < 500 * fast:
            raise SystemExit(f"expected at least 500 times, got {slow / fast:.0f}")


def batches() -> None:
    """Print the time of one cost of privacy in a batch of 50 releases at each of 12 k."""
    rng = np.random.default_rng(1)
    k = np.geomspace(1, 100, 12)
    private = mdps.perturb(mdps.random_mdp(20, 5, rng, horizon=10), k, rng, size=50)
    policy = mdps.synthesize(private)[0]
    radius = mdps.concentration_radius(k, BETA, 20)
    seconds = best_seconds(partial(mdps.cost_of_privacy, private, policy, radius, BETA), 5)
    print(f"Example 2, 600 releases at once: {seconds / 600:.6f} s each")


def large_model() -> None:
    """Print the steps of a model with 1,000 states."""
    mdp = mdps.random_mdp(1000, 5, np.random.default_rng(1), horizon=10)
    start = perf_counter()
    private = mdps.perturb(mdp, 50.0, np.random.default_rng(2))
    released = perf_counter()
    policy, _ = mdps.synthesize(private)
    planned = perf_counter()
    radius = mdps.concentration_radius(50.0, BETA / mdp.random_vectors, 1000, "exact")
    chosen = perf_counter()
    mdps.cost_of_privacy(private, policy, radius, 0.0)
    bounded = perf_counter()
    print(f"1,000 states, 5 actions, horizon 10: release {released - start:.2f} s, plan {planned - released:.2f} s, ")
    print(f"  exact radius {chosen - planned:.2f} s, bounds {bounded - chosen:.2f} s")


def growth() -> None:
    """Print the seconds of the cost of privacy while one size doubles."""
    for name, sizes in {
        "states": [(s, 5, 10) for s in (25, 50, 100, 200, 400)],
        "actions": [(50, a, 10) for a in (2, 4, 8, 16, 32)],
        "horizon": [(50, 5, h) for h in (5, 10, 20, 40, 80)],
    }.items():
        print(f"{name:8}", end="")
        for size in sizes:
            private, policy = private_plan(*size)
            radius = float(mdps.concentration_radius(10.0, BETA, size[0]))
            seconds = best_seconds(partial(mdps.cost_of_privacy, private, policy, radius, BETA), 5)
            print(f"  {dict(zip(('states', 'actions', 'horizon'), size))[name]:4}: {seconds * 1e3:8.3f} ms", end="")
        print()


if __name__ == "__main__":
    mdps.cost_of_privacy(*private_plan(2, 2, 1), 0.1, BETA)  # compiles
    against_programmes()
    batches()
    large_model()
    growth()
