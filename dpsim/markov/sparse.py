"""Large sparse Markov chains: communicating classes, and stationary distributions with a proven error bound."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse import linalg as sparse_linalg

from dpsim import checks
from dpsim.checks import Array, Integers

EPS = np.finfo(float).eps
STEP = 0.9  # the power iteration stays put with probability 1 - STEP, so that periodic chains converge too
MAX_STEPS = 5_000
LARGEST_ERROR = 1e-6  # in 1-norm; a result with a larger proven bound is refused


def square(name: str, matrix: Any) -> Any:
    """Return square matrices (..., n, n), dense or sparse; raise a ValueError that names the argument if they are not
    square."""
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2] or matrix.shape[-1] == 0:
        raise ValueError(
            f"{name} must have shape (..., n, n) with n at least 1, got {matrix.shape}"
        )
    return matrix


def stochastic(name: str, matrix: Any) -> Any:
    """Return a sparse transition matrix in csr form, checked as `checks.simplex` checks dense rows.

    Rows whose sums differ from 1 only by rounding are left as they are, and other sums within 1e-6 of 1 are
    renormalised. Other sums and negative entries are refused with a ValueError that names the row and its sum.
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
    """Return up to ten closed classes of a chain (dense or sparse), each as an array of its states, and the transient
    states."""
    graph = sparse.csr_array(chain != 0)
    _, label = csgraph.connected_components(graph, directed=True, connection="strong")
    before, after = (label[states] for states in graph.nonzero())
    left = np.unique(before[before != after])  # the classes that the chain can leave
    closed = [np.flatnonzero(label == each) for each in np.setdiff1d(label, left)[:10]]
    return closed, np.flatnonzero(np.isin(label, left))


def closed_class(name: str, chain: Any) -> Integers:
    """Return the states of the one closed class; if there are several, raise a ValueError that names the classes."""
    closed, transient = classes(chain)
    if len(closed) == 1:
        return closed[0]
    rest = f"; transient states {_set_of(transient)}" if len(transient) else ""
    raise ValueError(
        f"{name} must have one closed class, got closed classes {', '.join(map(_set_of, closed))}{rest}"
    )


def _set_of(states: Integers) -> str:
    more = ", ..." if len(states) > 10 else ""
    return "{" + ", ".join(str(int(state)) for state in states[:10]) + more + "}"


def stationary(P: Any) -> Array:
    """Return the stationary distribution (n,) of an irreducible csr matrix, with a proven error in 1-norm below 1e-6,
    and usually below 1e-9.

    Damped power iteration runs until its steps are no larger than rounding errors. Chains that mix too slowly for it
    are solved
    by GMRES with an incomplete factorisation. If neither method has a proven error below 1e-6, a ValueError gives the
    number of iterations, the residual and the error bound.
    """
    pi, steps = _power_iteration(P)
    residual, bound = _error_bound(P, pi)
    if bound > LARGEST_ERROR:
        pi = _solution_from_atom(P, int(np.argmax(pi)), pi)
        residual, bound = _error_bound(P, pi)
    if bound > LARGEST_ERROR:
        raise ValueError(
            f"P must mix faster: after {steps} iterations and GMRES the residual is {residual:.2g} "
            f"and the error bound {bound:.2g}, above {LARGEST_ERROR:g}"
        )
    return pi


def _power_iteration(P: Any) -> tuple[Array, int]:
    """Return the last iterate and the number of steps; the iteration stops when ten more steps bring no improvement."""
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


def _error_bound(P: Any, pi: Array) -> tuple[float, float]:
    """Return the residual ||pi P - pi||_1 and a proven bound on ||pi - exact||_1, which is infinite if none is found.

    Proof: let j be the likeliest state, Q the matrix P without column j, r = pi P - pi, and d = -r (I - Q)^(-1) off j.
    Then pi - exact = d - (sum d) exact, so the error is at most 2 sum_x ``|r_x|`` h_x, where h is the expected number
    of steps to j. GMRES finds some vector V. If V - Q V >= c > 0 is verified entry by entry, then h <= V / c holds,
    whatever GMRES did. The rounding errors of r and of V - Q V are bounded and included. (Here "exact" refers to the
    matrix P after the rounding errors of its row sums are moved into column j.)
    """
    n = P.shape[0]
    j = int(np.argmax(pi))
    moved = P.T @ pi
    in_degree = np.bincount(P.indices, minlength=n)
    r = np.abs(moved - pi) + (in_degree + 2) * EPS * (moved + pi)
    Q = _without_column(P, j)
    V = _solve(
        sparse.eye_array(n, format="csr") - Q,
        np.ones(n),
        np.full(n, 1.0 / pi[j]),
        0.3 / np.sqrt(n),
    )
    onward = Q @ V
    drift = V - onward - (np.diff(P.indptr) + 3) * EPS * (np.abs(V) + np.abs(onward))
    residual = float(np.abs(moved - pi).sum())
    margin = float(np.delete(drift, j).min(initial=np.inf))
    if not margin > 0.0:
        return residual, np.inf
    weights = np.delete(r * V, j)
    return residual, float(
        2.0 * weights.sum() / min(margin, 1e300) * (1.0 + 4 * n * EPS) + n * EPS
    )


def _without_column(P: Any, j: int) -> Any:
    Q = P.copy()
    Q.data[Q.indices == j] = 0.0
    return Q


def _solution_from_atom(P: Any, j: int, guess: Array) -> Array:
    """Return pi from the numbers of visits between two visits to j, which solve visits (I - Q) = row j of P off j."""
    visits_matrix = (
        sparse.eye_array(P.shape[0], format="csr") - _without_column(P, j)
    ).T
    unit = np.zeros(P.shape[0])
    unit[j] = (
        1.0  # (unit (I - Q)^(-1))_x = expected visits to x before the next return to j
    )
    visits = np.maximum(
        _solve(visits_matrix.tocsr(), unit, guess / guess[j], 1e-15), 0.0
    )
    return visits / visits.sum() if visits.sum() > 0.0 else guess


def _solve(A: Any, b: Array, guess: Array, tolerance: float) -> Array:
    """Return GMRES's solution of A x = b, found without a preconditioner or, if that fails, with an incomplete LU
    factorisation."""
    x, failed = sparse_linalg.gmres(
        A, b, x0=guess, rtol=tolerance, restart=40, maxiter=5
    )
    if failed:
        try:
            factors = sparse_linalg.spilu(A.tocsc(), drop_tol=1e-4, fill_factor=30)
        except RuntimeError:  # singular to working precision
            return x
        M = sparse_linalg.LinearOperator(A.shape, factors.solve)
        x, _ = sparse_linalg.gmres(
            A, b, x0=x, rtol=tolerance, restart=40, maxiter=5, M=M
        )
    return x
