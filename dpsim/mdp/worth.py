"""The worth of actions, and the values of a chain, beyond the precision of doubles.

Whether one action is better than another is a question about a small difference of
large numbers: with a discount near 1, a gain of one unit may be hidden by the rounding
of values of 1e9 units. So a value is an unevaluated sum of a few doubles, its parts
(..., K), and every result comes with a proven bound on its error, for each state by
itself.
"""

from __future__ import annotations

import numpy as np

from dpsim.checks import Array
from dpsim.compiled import guvectorize, njit

UNIT = 2.0**-53
"""The largest relative error of one rounding."""
UNDERFLOW = 2.0**-910
"""Sixteen times the smallest float, divided by the third power of `UNIT`."""


def chain_values(
    transitions: Array, rewards: Array, discount: float
) -> tuple[Array, Array]:
    """Return the discounted values of a chain (..., S, 3), and bounds on their errors.

    If a value is off by d, then d - discount P d is the residual, which is at most b.
    Because the inverse of I - discount P has no negative entry, d is at most every e
    with e - discount P e >= b. So a state that is never reached does not matter.
    """
    states = rewards.shape[-1]
    values = np.zeros((*transitions.shape[:-1], 3))

    def residual() -> tuple[Array, Array]:
        payments = rewards[..., None]
        return gains(transitions[..., None, :], payments, discount, values, values)

    with np.errstate(over="ignore", invalid="ignore"):
        inverse = _inverse(np.eye(states) - discount * transitions)
        for _ in range(30):  # a solution and its refinements
            left, rounding = residual()
            off = np.abs(left.sum(axis=-1))
            if (off <= rounding).all():
                break
            _add(values, (inverse @ left.sum(axis=-1))[..., 0])
        bound = 1.01 * off + rounding
        error = np.zeros_like(bound)
        for _ in range(10):
            after = discount * (transitions @ error)
            rounded = 4 * (states + 4) * UNIT * (error + after)
            missing = np.maximum(after + bound + rounded - error, 0.0)
            if not missing.any():
                values[np.abs(values.sum(axis=-1)) <= error[..., 0]] = 0.0
                return values, 2 * error[..., 0]
            error += 2 * np.abs(inverse) @ missing
    raise ValueError(
        "discount must be further below 1 for values of double precision, "
        f"got {discount!r}"
    )


def _inverse(matrices: Array) -> Array:
    """Return the inverses, or zeros, which pass no check, if one does not exist."""
    try:
        return np.asarray(np.linalg.inv(matrices), dtype=float)
    except np.linalg.LinAlgError:
        return np.zeros_like(matrices)


def _add(values: Array, change: Array) -> None:
    """Add a change (...) to values (..., K) in place."""
    for k in range(values.shape[-1]):
        part = values[..., k]
        total = part + change
        moved = total - part
        change = (part - (total - moved)) + (change - moved)
        values[..., k] = total


def gains(
    transitions: Array, rewards: Array, discount: float, values: Array, base: Array
) -> tuple[Array, Array]:
    """Return the gains of all actions (..., S, A, K), and bounds on rounding errors.

    A gain is the reward plus the discounted expectation of the values (..., S, K) of
    the next states, less the base (..., S, K) of the state. The bound is that of
    K-fold summation (Ogita, Rump, Oishi 2005, Proposition 4.10).
    """
    parts = values.shape[-1]
    gain, size = _gains(transitions, rewards, discount, values, base)
    terms = 4 * parts * (values.shape[-2] + 1)
    return gain, 4 * (2 * terms * UNIT) ** parts * size


@njit(nogil=True)
def _sum(x: float, y: float) -> tuple[float, float]:
    """Return a sum and its rounding error (Knuth)."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


@njit(nogil=True)
def _product(x: float, y: float) -> tuple[float, float]:
    """Return a product and its rounding error (Dekker 1971)."""
    product = x * y
    scaled = 134217729.0 * x
    x_high = scaled - (scaled - x)
    x_low = x - x_high
    scaled = 134217729.0 * y
    y_high = scaled - (scaled - y)
    y_low = y - y_high
    missing = product - x_high * y_high - x_low * y_high - x_high * y_low
    return product, x_low * y_low - missing


@njit(nogil=True)
def _accumulate(sums: Array, term: float) -> None:
    """Add a term to the first sum, its rounding error to the second one, and so on."""
    for k in range(sums.size - 1):
        sums[k], term = _sum(sums[k], term)
    sums[-1] += term


@guvectorize(
    "f8[:,:,:], f8[:,:], f8, f8[:,:], f8[:,:], f8[:,:,:], f8[:,:]",
    "(n,a,n),(n,a),(),(n,k),(n,k)->(n,a,k),(n,a)",
)
def _gains(  # type: ignore[no-untyped-def]
    transitions, rewards, discount, values, base, gain, size
):
    """Fill `gain`, and `size` with the sum of the moduli of all that is added."""
    states, actions = rewards.shape
    for s in range(states):
        for a in range(actions):
            sums = gain[s, a]
            sums[:] = 0.0
            _accumulate(sums, rewards[s, a])
            moduli = abs(rewards[s, a]) + abs(base[s, 0])
            for part in base[s]:
                _accumulate(sums, -part)
            for j in range(states):
                if transitions[s, a, j] > 0.0:
                    for factor in _product(discount, transitions[s, a, j]):
                        if factor == 0.0:  # as the second one is if the discount is 1
                            continue
                        for part in values[j]:
                            for term in _product(factor, part):
                                _accumulate(sums, term)
                        moduli += abs(factor * values[j, 0])
                    moduli += UNDERFLOW * (1.0 + abs(values[j, 0]))
            size[s, a] = moduli
