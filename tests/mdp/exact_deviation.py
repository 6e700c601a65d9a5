"""How probably the Dirichlet mechanism strays from a vector: numerically, an oracle for the radii."""

import math

import numpy as np
from scipy import fft, special

from dpsim.mdp.concentration import _lower_tail, _upper_tail


def deviation_probability(p, k, radius, *, cells=2**13):
    """Return P(||p~ - p||_inf >= radius) for p~ ~ Dir(k p); k at most cells^2 / (100 n).

    Exact (a Beta tail) for two positive entries. For more, p~ is a vector of independent Gamma(k p_i, rate k)
    given that they sum to one: each is cut to [p_i - r, p_i + r] and spread over a lattice, its mean kept,
    and convolved. The error (checked) is about n k/cells^2; it is larger, up to 1e-3 at the default, if some
    p_i + r falls short of 1 by less than 1e-3, where the density is cut at its steepest.
    """
    p = np.asarray(p)[np.asarray(p) > 0]
    assert k <= cells**2 / (100.0 * p.size)
    if p.size == 1:
        return 0.0
    if p.size == 2:
        return float(_upper_tail(k, p[0], p[0], radius) + _lower_tail(k, p[0], p[0], radius))
    edges = np.arange(cells + 2) / cells
    inside = np.zeros(cells + 1)
    inside[0] = 1.0
    size = fft.next_fast_len(2 * cells + 3, real=True)
    spectra = {share: fft.rfft(_gamma_lattice(k, share, radius, edges), size) for share in set(p.tolist())}
    for share in p.tolist():
        inside = fft.irfft(fft.rfft(inside, size) * spectra[share], size)[: cells + 1]
    log_density = k * math.log(k) - k - math.lgamma(k)  # of the sum, Gamma(k, rate k), at 1
    return float(np.clip(1 - inside[-1] * cells / math.exp(log_density), 0.0, 1.0))


def _gamma_lattice(k, share, radius, edges):
    """Return masses at the edges: Gamma(k share, rate k) within the radius, mean kept in each cell."""
    # a cut at 1 needs no clip, and would meet the other densities where they are steepest
    x = k * np.clip(edges, share - radius, share + radius if share + radius < 1 else None)
    mass = np.diff(special.gammainc(k * share, x))
    moment = share * np.diff(special.gammainc(k * share + 1, x))
    right = (moment - edges[:-1] * mass) / edges[1]
    lattice = np.zeros_like(edges)
    lattice[1:] += right
    lattice[:-1] += mass - right
    return lattice
