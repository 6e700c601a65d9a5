"""Sparse Markov chains: classes, and stationary distributions of proven accuracy."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse import linalg as sparse_linalg

from dpsim import checks
from dpsim.checks import Array, Integers

EPS = np.finfo(float).eps
# The power iteration uses (1 - STEP) I + STEP P, so periodic chains converge too.
STEP = 0.9
MAX_STEPS = 5_000
LARGEST_ERROR = 1e-6  # in 1-norm; a larger proven bound raises ValueError


def square(name: str, matrix: Any) -> Any:
    """Return matrices (..., n, n), dense or sparse; raise ValueError otherwise."""
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2] or matrix.shape[-1] == 0:
        raise ValueError(
            f"{name} must have shape (..., n, n) with n at least 1, got {matrix.shape}"
        )
    return matrix


def stochastic(name: str, matrix: Any) -> Any:
    """Return a sparse transition matrix in csr form, without stored zeros.

    Its rows are checked and renormalised as `checks.simplex` does for dense ones.
    """
    checks.real(name, sparse.coo_array(square(name, matrix)).data, 0.0)
    matrix = sparse.csr_array(matrix, dtype=float, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    scales = checks.row_scales(name, matrix.sum(axis=1), matrix.shape[0])
    if (scales != 1.0).any():
        matrix.data /= np.repeat(scales, np.diff(matrix.indptr))
    return matrix


def classes(chain: Any) -> tuple[list[Integers], Integers]:
    """Return up to ten closed classes of a chain, and its transient states.

    The chain may be dense or sparse. Each class is an array of its states.
    """
    graph = sparse.csr_array(chain != 0)
    _, label = csgraph.connected_components(graph, directed=True, connection="strong")
    before, after = (label[states] for states in graph.nonzero())
    left = np.unique(before[before != after])  # classes that the chain can leave
    closed = [np.flatnonzero(label == each) for each in np.setdiff1d(label, left)[:10]]
    return closed, np.flatnonzero(np.isin(label, left))


def closed_class(name: str, chain: Any) -> Integers:
    """Return the states of the only closed class.

    If there are several, a ValueError lists them and the transient states.
    """
    closed, transient = classes(chain)
    if len(closed) == 1:
        return closed[0]
    found = ", ".join(map(_set_of, closed))
    rest = f"; transient states {_set_of(transient)}" if len(transient) else ""
    raise ValueError(
        f"{name} must have one closed class, got closed classes {found}{rest}"
    )


def _set_of(states: Integers) -> str:
    more = ", ..." if len(states) > 10 else ""
    return "{" + ", ".join(str(int(state)) for state in states[:10]) + more + "}"


def stationary(P: Any) -> Array:
    """Return the stationary distribution (n,) of an irreducible csr matrix.

    Its error in 1-norm is proven to be at most 1e-6 and is usually below 1e-9. It is
    computed by damped power iteration or, if the chain mixes too slowly, by GMRES. If
    no error of at most 1e-6 can be proven for either result, a ValueError gives the
    number of iterations, the residual and the proven bound.
    """
    pi, steps = _power_iteration(P)
    residual, bound = error_bound(P, pi)
    if bound > LARGEST_ERROR:
        pi = _solution_from_atom(P, int(np.argmax(pi)), pi)
        residual, bound = error_bound(P, pi)
    if bound > LARGEST_ERROR:
        raise ValueError(
            f"P must mix faster: after {steps} iterations and GMRES the residual is "
            f"{residual:.2g} and the error bound {bound:.2g}, above {LARGEST_ERROR:g}"
        )
    return pi


def _power_iteration(P: Any) -> tuple[Array, int]:
    """Return the last iterate of the damped power iteration, and the number of steps.

    It stops when the change is of the order of rounding errors and no longer halves
    within ten steps.
    """
    forward = P.T.tocsr()
    pi = np.full(P.shape[0], 1.0 / P.shape[0])
    last = np.inf
    for step in range(1, MAX_STEPS + 1):
        change = forward @ pi - pi
        pi += STEP * change
        pi /= pi.sum()
        if step % 10 == 0:
            size = float(np.abs(change).sum())
            if size < 1e-13 and size > 0.5 * last:
                break
            last = size
    return pi, step


def error_bound(P: Any, pi: Array) -> tuple[float, float]:
    """Return the residual ||pi P - pi||_1 and a proven bound on ||pi - exact||_1.

    The bound is infinite if none is found. Here `exact` is the stationary distribution
    of the matrix P after the rounding errors of its row sums are moved into column j.

    Proof: let j be the most probable state, Q the matrix P without column j,
    r = pi P - pi, and d = -r (I - Q)^(-1) off j. Then pi - exact = d - (sum d) exact,
    so the error is at most 2 sum_x ``|r_x|`` h_x, where h_x is the expected number of
    steps from x to j. GMRES yields a vector V. If V - Q V >= c > 0 holds for every
    entry, which is verified here, then h <= V / c, however inaccurate V is. The
    rounding errors of r and of V - Q V are bounded and included.
    """
    n = P.shape[0]
    j = int(np.argmax(pi))
    moved = P.T @ pi
    in_degree = np.bincount(P.indices, minlength=n)
    r = np.abs(moved - pi) + (in_degree + 2) * EPS * (moved + pi)
    Q = _without_column(P, j)
    guess = np.full(n, 1.0 / pi[j])
    V = _solve(_identity(n) - Q, np.ones(n), guess, tolerance=0.3 / np.sqrt(n))
    onward = Q @ V
    drift = V - onward - (np.diff(P.indptr) + 3) * EPS * (np.abs(V) + np.abs(onward))
    residual = float(np.abs(moved - pi).sum())
    margin = float(np.delete(drift, j).min(initial=np.inf))
    if not margin > 0.0:
        return residual, np.inf
    weight = np.delete(r * V, j).sum()
    bound = 2.0 * weight / min(margin, 1e300) * (1.0 + 4 * n * EPS) + n * EPS
    return residual, float(bound)


def _identity(n: int) -> Any:
    return sparse.eye_array(n, format="csr")


def _without_column(P: Any, j: int) -> Any:
    Q = P.copy()
    Q.data[Q.indices == j] = 0.0
    return Q


def _solution_from_atom(P: Any, j: int, guess: Array) -> Array:
    """Return pi by GMRES, from the expected visits between two visits to state j.

    The expected numbers of visits solve visits (I - Q) = e_j, where e_j is a unit
    vector and Q is the matrix P without column j. They are proportional to pi.
    """
    n = P.shape[0]
    matrix = (_identity(n) - _without_column(P, j)).T.tocsr()
    unit = np.zeros(n)
    unit[j] = 1.0
    visits = _solve(matrix, unit, guess / guess[j], tolerance=1e-15)
    visits = np.maximum(visits, 0.0)
    return visits / visits.sum() if visits.sum() > 0.0 else guess


def _solve(A: Any, b: Array, guess: Array, tolerance: float) -> Array:
    """Return the solution of A x = b that GMRES finds, which may be inaccurate.

    If it does not converge, it continues with an incomplete LU factorisation of A as
    its preconditioner.
    """
    gmres = partial(sparse_linalg.gmres, A, b, rtol=tolerance, restart=40, maxiter=5)
    x, failed = gmres(x0=guess)
    if not failed:
        return x
    try:
        factors = sparse_linalg.spilu(A.tocsc(), drop_tol=1e-4, fill_factor=30)
    except RuntimeError:  # singular to working precision
        return x
    preconditioner = sparse_linalg.LinearOperator(A.shape, factors.solve)
    x, _ = gmres(x0=x, M=preconditioner)
    return x
