"""Formulas in many digits that do not use dpsim: what `precision_checks` and
`known_answers` compare it with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import mpmath as mp


def series_tail(a: Any, b: Any, w: Any) -> Any:
    """Return I_w(a, b) by its series of positive terms."""
    term = mp.mpf(1)
    total = mp.mpf(0)
    n = 0
    smallest = mp.mpf(10) ** -(mp.mp.dps - 5)
    while term > total * smallest:
        total += term
        term *= (a + b + n) / (a + 1 + n) * w
        n += 1
    front = (
        a * mp.log(w)
        + b * mp.log1p(-w)
        + mp.loggamma(a + b)
        - mp.loggamma(a + 1)
        - mp.loggamma(b)
    )
    return total * mp.exp(front)


def beta_tail(a: Any, b: Any, w: Any, complement: Any = None) -> Any:
    """Return I_w(a, b); complement: 1 - w where w is near 1."""
    complement = 1 - w if complement is None else complement
    mean = w * (a + b)
    near = mean < a or (
        w <= 0.5 and mean < 2 * a + 10_000
    )  # its terms are positive anywhere, and few here
    return series_tail(a, b, w) if near else 1 - series_tail(b, a, complement)


def log_replace(epsilon: Any, a: Any, t: Any) -> Any:
    """Return log delta of Beta(a+t, a) against Beta(a, a+t)."""
    w = 1 / (1 + mp.exp(epsilon / t))
    complement = 1 / (1 + mp.exp(-epsilon / t))
    first = beta_tail(a, a + t, w, complement)
    second = beta_tail(a + t, a, w, complement)
    return mp.log(first - mp.exp(epsilon) * second)


def log_add_remove(epsilon: Any, a: Any, t: Any) -> Any:
    """Return the larger log delta of Gamma(a) and Gamma(a+t), both directions."""
    ratio = mp.loggamma(a + t) - mp.loggamma(a)
    weight = mp.exp(epsilon)
    above = mp.exp((ratio + epsilon) / t)
    below = mp.exp((ratio - epsilon) / t)
    add = mp.gammainc(a + t, a=above, regularized=True) - weight * mp.gammainc(
        a, a=above, regularized=True
    )
    remove = mp.gammainc(a, b=below, regularized=True) - weight * mp.gammainc(
        a + t, b=below, regularized=True
    )
    return mp.log(max(add, remove))


def gaussian_profile(epsilon: Any, sigma: Any, b: Any, rows: int) -> Any:
    """Return delta of Gaussian noise by Balle and Wang 2018, Theorem 8, as printed."""
    ratio = b * mp.sqrt(mp.mpf(rows) / 2) / sigma

    def below(x: Any) -> Any:
        return mp.erfc(-x / mp.sqrt(2)) / 2

    return below(ratio / 2 - epsilon / ratio) - mp.exp(epsilon) * below(
        -ratio / 2 - epsilon / ratio
    )


def sum_of_laplace(epsilon: Any, D: Any, m: int) -> Any:
    """Return delta of m losses of at most D each."""
    total = mp.mpf(0)

    def hall(v: Any, j: int) -> Any:
        terms = (
            (-1) ** i * mp.binomial(j, i) * (v - i) ** (j - 1)
            for i in range(int(mp.floor(v)) + 1)
        )
        return mp.fsum(terms) / mp.factorial(j - 1)

    for up, down in product(range(m + 1), repeat=2):
        j = m - up - down
        if j < 0:
            continue
        ways = mp.factorial(m) / (
            mp.factorial(up) * mp.factorial(down) * mp.factorial(j)
        )
        weight = ways * mp.mpf(2) ** -(up + down) * mp.exp(-D * down)
        start = (up - down - j) * D
        low = max(mp.mpf(0), (epsilon - start) / (2 * D))
        if j == 0:
            total += weight * max(mp.mpf(0), -mp.expm1(epsilon - start))
        elif low < j:
            cuts = [low, *range(int(mp.floor(low)) + 1, j + 1)]
            for left, right in pairwise(cuts):
                total += weight * mp.quad(
                    lambda v, j=j, start=start: (
                        (D / 2) ** j
                        * mp.exp(-D * (j - v))
                        * hall(v, j)
                        * -mp.expm1(epsilon - start - 2 * D * v)
                    ),
                    [left, right],
                )
    return total


def permute_and_flip(counts: Sequence[int], epsilon: Any, b: int, distance: int) -> Any:
    """Return log f(l) = log(q_l integral_0^1 prod_j (1 - u q_j)^(N_j - [j = l]) du)."""
    q = [mp.exp(-epsilon * d / (2 * b)) for d in range(len(counts))]
    scale = 1 + sum(N * x for N, x in zip(counts, q))
    others = [N - (j == distance) for j, N in enumerate(counts)]

    def integrand(t: Any) -> Any:
        u = t / scale
        return mp.exp(sum(N * mp.log1p(-u * x) for N, x in zip(others, q) if N))

    cuts = [
        mp.mpf(0),
        *[mp.mpf(c) for c in (1, 3, 7, 15, 30, 60, 120) if c < scale],
        min(scale, mp.mpf(240)),
    ]
    with mp.workdps(30):
        return mp.log(q[distance] * mp.quad(integrand, cuts) / scale)
