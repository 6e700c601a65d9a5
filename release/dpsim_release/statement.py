"""The statement of a release: the facts in statement.json, and plain sentences."""

from __future__ import annotations

from typing import Any

from dpsim.private import SIMULATION, round_up
from dpsim_release import scratch
from dpsim_release.discrete_laplace import Noise
from dpsim_release.estimated_chain import EstimatedChain
from dpsim_release.labels import first_labels, short_label, visible
from dpsim_release.unit import Unit

RELEASED = "private release"
LAPLACE = "discrete Laplace"
WORTH_A_WARNING = 10.0  # epsilon
_ENTROPY = (
    "OpenDP, whose bits come from OpenSSL's generator with a key from the operating "
    "system"
)
_HELP = (
    "Declared states (--categories), coarser states, more events, or a larger epsilon "
    "or delta would help."
)


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


def of_rows(chain: EstimatedChain) -> dict[str, Any]:
    """Return the facts about the rows of a chain, which follow from its noisy counts.

    Labels are given as text for a page, because any text may be a label.
    """
    names = list(map(short_label, chain.arrivals_only))
    return {
        "rows_that_stand_out": len(chain.clear),
        "rows_of_arrivals_only": {"number": len(names), "labels": names},
    }


def trust(chain: EstimatedChain) -> str:
    """Return plain sentences that say how far a release can be trusted."""
    if not chain.noisy.size:
        return "Nothing was released, so there is nothing to trust."
    states = len(chain.labels)
    clear = len(chain.clear)
    others = ""
    if clear < states > len(chain.arrivals_only):
        others = f"; {'the others' if clear else 'all of them'} may be noise alone"
    sentences = [
        f"The noise changes each count by {chain.noise.mean_absolute:.3g} events on "
        "average, so a released row is close to the table's own row if it has many "
        "more events than that for each of its pairs.",
        f"{clear:,} of {states:,} rows stand out from the noise{others}.",
        *arrivals(chain),
    ]
    return " ".join(sentences)


def arrivals(chain: EstimatedChain) -> list[str]:
    """Return a sentence about the rows that hold nothing but shares of arrivals."""
    rows = chain.arrivals_only
    if not rows:
        return []
    states = len(chain.labels)
    if len(rows) > len(chain.empty):
        return [
            f"All {states:,} rows hold nothing but shares of arrivals, because noise "
            "alone can explain every other difference between the counts. So the "
            "released chain says how often each state is entered, but not from where."
        ]
    return [
        f"{len(rows):,} of {states:,} rows hold nothing but shares of arrivals, "
        f"because "
        f"these rows have no usable counts: {first_labels(rows)}."
    ]


def guarantee(chain: EstimatedChain) -> list[str]:
    """Return the guarantee and the meaning of neighbours, each as a line.

    The epsilon and the delta are rounded up.
    """
    s = chain.statement
    unit = Unit(**s["unit"])
    epsilon = round_up(s["epsilon"], ".6g")
    delta = round_up(s["delta"], ".3g")
    proven = (
        "this epsilon is exact apart from rounding up, because a unit with the largest "
        "number of counted events reaches it"
    )
    if s["threshold"]:
        proven = "both are proven upper bounds"
    given = ""
    if s["simulation"]:
        given = "a release with secret noise would have "
    moves = ""
    if s["moves"]:
        moves = " An event is a move from one visit of the unit to its next visit."
    lines = [
        f"Guarantee: {given}(epsilon, delta)-differential privacy with epsilon "
        f"{epsilon}, delta {delta} ({proven}; the proofs are in "
        f"dpsim_release.discrete_laplace). "
        "The probability of any set of outputs is at most e^epsilon times its "
        "probability from a neighbouring table, plus delta.",
        "Neighbours: two tables, one of which has one unit more than the other. The "
        f"unit is {unit.words}.{moves}",
    ]
    # no inserted text can begin a new line
    return list(map(visible, lines))


def in_words(chain: EstimatedChain) -> str:
    """Return the statement of a release in plain sentences.

    Every epsilon and every delta in it is rounded up.
    """
    s = chain.statement
    lines = []
    sampled = "sampled exactly"
    # older releases had one estimate, which nobody could choose
    chosen = ""
    if "rows_that_stand_out" in s:
        chosen = " The rule of the estimate was chosen beforehand, too."
    if s["simulation"]:
        lines.append(SIMULATION)
        sampled = "simulated"
    lines += [
        trust(chain),
        *guarantee(chain),
        "If the unit is in both tables but with different events, the guarantee is "
        "twice epsilon and (1 + e^epsilon) times delta, because such a change takes "
        "the unit out and puts it back with other events.",
        f"Mechanism: each count has independent {s['mechanism']} noise z, with P(z) "
        f"proportional to e^(-|z| / scale) and scale {s['scale']:.8g}. The integers z "
        f"are {sampled} ({s['randomness']}).",
        f"Pairs: {s['support']}. The number of pairs that have a noisy count is "
        f"{s['pairs']}, and the number of labels is {len(chain.labels)}.",
        "The owner of the data vouches that the following is public and was not chosen "
        "by looking at the data: epsilon and delta, which rows and columns are read, "
        "the types of these columns and, where they were declared, the states, the "
        "pairs, the longest time between two visits and the largest number of events "
        f"of a unit.{chosen} Only the owner may know whether a table was refused.",
        "Rows that cannot be read, rows without an origin, a destination or a unit, "
        "and events outside the public states and pairs were left out before counting. "
        "Their number is not published.",
    ]
    # older versions joined the visits on both sides
    if s["moves"] and "dpsim-release" in s["versions"]:
        lines.append(
            "A visit whose time cannot be read has no place in the order of its unit's "
            "visits. All moves of such a unit, and of no other, were left out."
        )
    if s["threshold"] is not None:
        lines.append(
            "A pair is released if it occurs and its noisy count is at least "
            f"{s['threshold']}. Delta bounds the probability that a pair is released "
            "although only one unit has it, so delta must be far below 1 / the number "
            "of units."
        )
    lines.append(f"The chain is estimated only from the noisy counts: {s['estimate']}.")
    if chain.empty:
        lines.append(f"The rule for rows without usable counts: {s['empty_rows']}.")
    lines += _of_the_long_run(chain)
    if s["epsilon"] > WORTH_A_WARNING:
        lines.append(
            f"Warning: epsilon is above {WORTH_A_WARNING:g}, and so large an epsilon "
            "gives little protection."
        )
    lines.append(
        "The epsilon and the delta of any other release from these data, or from other "
        "data about the same units, must be added to these."
    )
    # no inserted text can begin a new line
    return "\n".join(map(visible, lines))


def _of_the_long_run(chain: EstimatedChain) -> list[str]:
    """Return sentences about the stationary distribution.

    If there is no unique one, the sentences say why, and what would help.
    """
    if not chain.labels:
        return []
    closed, transient = chain.closed_classes
    if len(closed) > 1:
        ends = first_labels([chain.labels[states[0]] for states in closed])
        return [
            "There is no single stationary distribution, because the released chain "
            "has several classes of states that it never leaves, for example those of "
            f"{ends}. {_HELP}"
        ]
    lines = []
    if len(transient):
        labels = first_labels([chain.labels[i] for i in transient])
        lines.append(
            "The stationary distribution is 0 on states to which the chain never "
            f"returns ({len(transient)}): {labels}. {_HELP}"
        )
    clear = set(chain.clear)
    if 0 < len(clear) < len(chain.labels):
        others = [label for label in chain.labels if label not in clear]
        share = float(chain.stationary()[others].sum())
        lines.append(
            f"{share:.1%} of the stationary distribution lies on states whose rows may "
            f"be noise alone ({len(others)}): {first_labels(others)}."
        )
    return lines
