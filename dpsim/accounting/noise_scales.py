"""The smallest Gaussian and Laplace noise that makes a transition matrix private.

In each row in which neighbours differ, two entries differ by b/2.
"""

from __future__ import annotations

import math
from functools import cache

from dp_accounting import gaussian_mechanism
from dp_accounting.pld import privacy_loss_distribution
from scipy.special import log_ndtr

from dpsim import checks
from dpsim.numerics import search

CELLS = (
    200_000  # of the grid on which the losses of several Laplace variables are added
)
MOST_ROWS = 10_000
SMALLEST_B = 1e-100
"""The smallest distance between neighbours, so that nothing underflows."""
MARGIN = 1e-10  # the relative amount by which a Gaussian scale is rounded up
# delta / P(loss > epsilon); below it, digits cancel in dp-accounting's difference
SMALLEST_TAIL_SHARE = 1e-4


def gaussian_scale(epsilon: float, delta: float, *, b: float, rows: int = 1) -> float:
    """Return the smallest sigma for which Gaussian noise is (epsilon, delta)-private.

    The noise is added to every entry (Balle and Wang 2018, Theorem 8). The scale is
    computed with dp-accounting and rounded up by a factor of 1 + 1e-10. Raises
    ValueError if delta is so small that it would be computed as the difference of two
    nearly equal numbers.

    Parameters
    ----------
    epsilon : float, in [0, 10000]
    delta : float, in (0, 1)
    b : float, in [1e-100, 1]; the distance in 1-norm between two neighbours in one row
    rows : int, from 1 to 10,000; the number of rows in which neighbours differ

    Returns
    -------
    float
        The standard deviation.

    Examples
    --------
    >>> round(gaussian_scale(1.0, 1e-2, b=0.025), 4)
    0.0332
    """
    epsilon = checks.scalar("epsilon", epsilon, 0.0, 1e4)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    b = checks.scalar("b", b, SMALLEST_B, 1.0)
    rows = checks.integer("rows", rows, 1, MOST_ROWS)
    sigma = gaussian_mechanism.get_sigma_gaussian(epsilon, delta)
    log_tail = float(log_ndtr(0.5 / sigma - epsilon * sigma))
    if math.log(delta) - log_tail < math.log(SMALLEST_TAIL_SHARE):
        raise ValueError(
            f"delta must be larger for epsilon = {epsilon:g}, got {delta:g}: "
            "its digits cancel"
        )
    return b * math.sqrt(rows / 2) * sigma * (1.0 + MARGIN)


def laplace_delta(
    epsilon: float, scale: float, b: float, rows: int, cells: int = CELLS
) -> float:
    """Return the delta of adding Laplace noise to every entry.

    For one row the result is exact, 1 - (1 + v/2) e^-v with
    v = (b/scale - epsilon) / 2, or 0 if v < 0. For more rows it is an upper bound,
    obtained by rounding the 2 * rows losses up to a grid of `cells` cells and
    convolving them.
    """
    if epsilon >= rows * b / scale:
        return 0.0
    if rows == 1:
        v = min(0.5 * (b / scale - epsilon), 1e3)  # where delta is 1 to the last bit
        return -math.expm1(-v) - 0.5 * v * math.exp(-v)
    interval = rows * b / scale / cells
    one = privacy_loss_distribution.from_laplace_mechanism(
        scale, sensitivity=0.5 * b, value_discretization_interval=interval
    )
    return float(one.self_compose(2 * rows).get_delta_for_epsilon(epsilon))


def laplace_scale(epsilon: float, delta: float, *, b: float, rows: int = 1) -> float:
    """Return the smallest scale for which Laplace noise is (epsilon, delta)-private.

    The noise is added to every entry. The scale is rounded up. For several rows it
    exceeds the exact scale, but only in the third or fourth digit. It is at most about
    rows b / epsilon, a scale at which delta is 0.

    Parameters
    ----------
    epsilon, delta, b, rows : as in `gaussian_scale`

    Returns
    -------
    float
        The mean absolute value of the noise.

    Examples
    --------
    >>> round(laplace_scale(1.0, 1e-2, b=0.025), 4)
    0.024
    """
    epsilon = checks.scalar("epsilon", epsilon, 0.0)
    delta = checks.scalar("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    b = checks.scalar("b", b, SMALLEST_B, 1.0)
    rows = checks.integer("rows", rows, 1, MOST_ROWS)

    root = math.log(b * math.sqrt(rows / 2))
    # a coarse grid first finds where to search on the fine one
    for cells, step in ((CELLS // 20, 1.0), (CELLS, 1e-4)):

        @cache  # an evaluation on the fine grid takes a tenth of a second
        def excess(log_scale: float, cells: int = cells) -> float:
            return laplace_delta(epsilon, math.exp(log_scale), b, rows, cells) - delta

        low = high = root
        while excess(low) <= 0.0:
            low -= step
        while excess(high) > 0.0:
            high += step
        root = search.last_kept(excess, high, low, 1e-6 * step)
    return math.exp(root)
