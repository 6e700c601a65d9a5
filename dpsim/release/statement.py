"""What is said of a release: the facts of statement.json, and the same in plain sentences."""

from __future__ import annotations

import decimal
from typing import Any

from dpsim.private import SIMULATION
from dpsim.release import scratch
from dpsim.release.labels import listed
from dpsim.release.noise import Noise
from dpsim.release.unit import Unit

RELEASED = "private release"
LAPLACE = "discrete Laplace"
WORTH_A_WARNING = 10.0  # epsilon
_ENTROPY = "OpenDP, whose bits come from OpenSSL's generator with a key from the operating system"
_HELP = "Declared states (--categories), coarser ones, more events, a larger epsilon or delta would help."


def facts(noise: Noise, unit: Unit, threshold: int | None, delta: float, moves: bool, simulation: bool) -> Any:
    """Return the facts that stand before anything is drawn; a threshold is that of pairs chosen privately."""
    return {
        "status": SIMULATION if simulation else RELEASED,
        "simulation": simulation,
        "epsilon": noise.epsilon,
        "delta": delta,
        "mechanism": LAPLACE,
        "scale": noise.scale,
        "unit": {"events": unit.events, "column": unit.column},
        "moves": moves,
        "threshold": threshold,
        "randomness": "a generator that was given" if simulation else _ENTROPY,
        "versions": dict(scratch.versions()),
    }


def trust(chain: Any) -> str:
    """Return in one plain sentence how far a release can be trusted."""
    if not chain.noisy.size:
        return "Nothing was released, so there is nothing to trust."
    states, weak = len(chain.labels), len(chain.weak)
    return (
        f"Each count is off by {chain.noise.mean_absolute:.3g} events in the mean, so that rows with many more events "
        f"than that for each of their pairs are close to the table's: {states - weak:,} of {states:,} rows stand out "
        f"from the noise{'; the others say nothing' * bool(weak)}."
    )


def in_words(chain: Any) -> str:
    """Return the statement of a release in plain sentences; every epsilon and delta in it is rounded up."""
    s, unit = chain.statement, Unit(**chain.statement["unit"])
    proven = "a proven bound" if s["threshold"] else "exact: a unit with as many events as may count reaches it"
    given = "a release with secret noise would have " if s["simulation"] else ""
    moves = "; an event is a move from one visit of the unit to its next" if s["moves"] else ""
    lines = [
        *[SIMULATION] * s["simulation"],
        trust(chain),
        f"Guarantee: {given}(epsilon, delta)-differential privacy with epsilon {_rounded_up(s['epsilon'], 6)}, "
        f"delta {_rounded_up(s['delta'], 3)} ({proven}; proofs: dpsim.release.noise). Any set of outputs is at most "
        "e^epsilon times as likely as from a neighbouring table, plus delta.",
        f"Neighbours: tables that differ in one unit: it is in the table or not. Unit: {unit.words}{moves}.",
        "For tables in which the unit is there with other events (taken out, and others put in) the guarantee is twice "
        "epsilon, and (1 + e^epsilon) times delta.",
        f"Mechanism: {s['mechanism']} noise z on each count, P(z) proportional to e^(-|z| / scale), scale "
        f"{s['scale']:.8g}. The integers are {'simulated' if s['simulation'] else 'drawn exactly'} "
        f"({s['randomness']}).",
        f"Pairs: {s['support']}; {s['pairs']} have a noisy count, among {len(chain.labels)} labels.",
        "Taken as public, on the word of the data's owner: epsilon and delta, which rows and columns are read, the "
        "types of these columns, and, as far as they were declared, the states, the pairs and the limit of a unit. "
        "None of it may have been chosen by looking at the data. Whether a table is refused is for its owner alone.",
        "Left out before counting: rows without an origin, a destination or a unit, and events outside the public "
        "states and pairs. How many is not published.",
    ]
    if s["threshold"] is not None:
        lines.append(
            f"A pair is released when it occurs and its noisy count is at least {s['threshold']}; delta bounds the "
            "chance that a pair is released which one unit alone has, and must be far below 1 / the number of units."
        )
    lines.append(f"The chain is estimated from the noisy counts alone: {s['estimate']}.")
    if chain.empty:
        lines.append(f"Rows that were filled, {len(chain.empty)}: {listed(chain.empty)}. Rule: {s['empty_rows']}.")
    lines += _of_the_long_run(chain)
    if s["epsilon"] > WORTH_A_WARNING:
        lines.append(f"Warning: epsilon is above {WORTH_A_WARNING:g}, which protects little.")
    lines.append("Another release from these data, or others on the same units, adds its epsilon and delta to these.")
    return "\n".join(lines)


def _of_the_long_run(chain: Any) -> list[str]:
    """Return where the stationary distribution lies, or why there is none and what would help."""
    if not chain.labels:
        return []
    closed, transient = chain.closed_classes
    if len(closed) > 1:
        ends = listed([chain.labels[states[0]] for states in closed])
        return [
            "There is no single stationary distribution: the released chain has several classes of states that it "
            f"never leaves, those of {ends} for instance. {_HELP}"
        ]
    lines = []
    if len(transient):
        never = f"{len(transient)}: {listed([chain.labels[i] for i in transient])}"
        lines.append(f"The stationary distribution is 0 on states to which the chain never returns, {never}. {_HELP}")
    if chain.weak:
        share, weak = float(chain.stationary()[chain.weak].sum()), f"{len(chain.weak)}: {listed(chain.weak)}"
        lines.append(f"{share:.1%} of the stationary distribution lies on states whose rows say nothing, {weak}.")
    return lines


def _rounded_up(value: float, digits: int) -> str:
    up = decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING).create_decimal(decimal.Decimal(value))
    return f"{float(up):.{digits}g}"
