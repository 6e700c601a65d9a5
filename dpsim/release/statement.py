"""The statement of a release: the facts of statement.json, and plain sentences."""

from __future__ import annotations

from typing import Any

from dpsim.private import SIMULATION, round_up
from dpsim.release import scratch
from dpsim.release.labels import first_labels, visible
from dpsim.release.noise import Noise
from dpsim.release.unit import Unit

RELEASED = "private release"
LAPLACE = "discrete Laplace"
WORTH_A_WARNING = 10.0  # epsilon
_ENTROPY = "OpenDP, whose bits come from OpenSSL's generator with a key from the operating system"
_HELP = "Declared states (--categories), coarser states, more events, or a larger epsilon or delta would help."


def facts(
    noise: Noise,
    unit: Unit,
    threshold: int | None,
    delta: float,
    moves: bool,
    simulation: bool,
) -> Any:
    """Return the facts that are known before anything is sampled.

    The threshold is None unless the pairs are chosen privately.
    """
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
        "randomness": "a generator that the caller gave" if simulation else _ENTROPY,
        "versions": dict(scratch.versions()),
    }


def trust(chain: Any) -> str:
    """Return plain sentences that say how far a release can be trusted."""
    if not chain.noisy.size:
        return "Nothing was released, so there is nothing to trust."
    states, weak = len(chain.labels), len(chain.weak)
    return (
        f"The noise changes each count by {chain.noise.mean_absolute:.3g} events on average, so a row is close to the "
        "table's own row when it has many more events than that for each of its pairs. "
        f"{states - weak:,} of {states:,} rows stand out from the noise{'; the others say nothing' * bool(weak)}."
    )


def in_words(chain: Any) -> str:
    """Return the statement of a release in plain sentences.

    Every epsilon and every delta in it is rounded up.
    """
    s, unit = chain.statement, Unit(**chain.statement["unit"])
    exact = "exact apart from rounding up, because a unit with as many events as may count reaches it"
    proven = (
        "both are proven upper bounds" if s["threshold"] else f"this epsilon is {exact}"
    )
    given = "a release with secret noise would have " if s["simulation"] else ""
    moves = (
        ". An event is a move from one visit of the unit to its next visit"
        if s["moves"]
        else ""
    )
    lines = [
        *[SIMULATION] * s["simulation"],
        trust(chain),
        f"Guarantee: {given}(epsilon, delta)-differential privacy with "
        f"epsilon {round_up(s['epsilon'], '.6g')}, delta {round_up(s['delta'], '.3g')} ({proven}; "
        "the proofs are in dpsim.release.noise). The probability of any "
        "set of outputs is at most e^epsilon times its probability from a neighbouring table, plus delta.",
        f"Neighbours: two tables, one of which has one unit more. The unit is {unit.words}{moves}.",
        "If the unit is in both tables but with different events, the guarantee is twice epsilon and (1 + e^epsilon) "
        "times delta, because such a change takes the unit out and puts it back with other events.",
        f"Mechanism: each count has independent {s['mechanism']} noise z, with P(z) proportional to e^(-|z| / scale) "
        f"and scale {s['scale']:.8g}. The integers are {'simulated' if s['simulation'] else 'drawn exactly'} "
        f"({s['randomness']}).",
        f"Pairs: {s['support']}. The number of pairs that have a noisy count is {s['pairs']}, among "
        f"{len(chain.labels)} labels.",
        "The owner of the data vouches that the following is public and was not chosen by looking at the data: epsilon "
        "and delta, which rows and columns are read, the types of these columns and, where they were declared, the "
        "states, the pairs and the largest number of events of a unit. Only the owner may know whether a table was "
        "refused.",
        "Rows without an origin, a destination or a unit, and events outside the public states and pairs, were left "
        "out before counting. How many they were is not published.",
    ]
    if s["threshold"] is not None:
        lines.append(
            f"A pair is released if it occurs and its noisy count is at least {s['threshold']}. Delta bounds the "
            "probability that a pair is released although only one unit has it, so it must be far below 1 / the number "
            "of units."
        )
    lines.append(
        f"The chain is estimated from the noisy counts and from nothing else: {s['estimate']}."
    )
    if chain.empty:
        lines.append(
            f"Filled rows ({len(chain.empty)}): {first_labels(chain.empty)}. The rule: {s['empty_rows']}."
        )
    lines += _of_the_long_run(chain)
    if s["epsilon"] > WORTH_A_WARNING:
        lines.append(
            f"Warning: epsilon is above {WORTH_A_WARNING:g}, and so large an epsilon protects little."
        )
    lines.append(
        "Another release from these data, or from other data about the same units, adds its epsilon and delta to these."
    )
    return "\n".join(
        map(visible, lines)
    )  # so that no inserted text can begin a new line


def _of_the_long_run(chain: Any) -> list[str]:
    """Return sentences about the stationary distribution.

    If there is none, they say why, and what would help.
    """
    if not chain.labels:
        return []
    closed, transient = chain.closed_classes
    if len(closed) > 1:
        ends = first_labels([chain.labels[states[0]] for states in closed])
        return [
            "There is no single stationary distribution, because the released chain has several classes of states that "
            f"it never leaves, for example those of {ends}. {_HELP}"
        ]
    lines = []
    if len(transient):
        never = (
            f"({len(transient)}): {first_labels([chain.labels[i] for i in transient])}"
        )
        lines.append(
            f"The stationary distribution is 0 on states to which the chain never returns {never}. {_HELP}"
        )
    if chain.weak:
        share, weak = (
            float(chain.stationary()[chain.weak].sum()),
            f"({len(chain.weak)}): {first_labels(chain.weak)}",
        )
        lines.append(
            f"{share:.1%} of the stationary distribution lies on states whose rows say nothing {weak}."
        )
    return lines
