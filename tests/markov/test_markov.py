import itertools
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import optimize, sparse, stats

from dpsim import dirichlet, markov
from dpsim.markov import sparse as markov_sparse
from tools.verify.precision_checks import stationary

COUNTEREXAMPLE = np.array([[5000, 5000, 10], [5000, 5000, 10], [6, 6, 13]])


def random_chains(shape, n, seed, concentration=1.0):
    return np.random.default_rng(seed).dirichlet(
        np.full(n, concentration), size=(*shape, n)
    )


def birth_death(up, down):
    """Reflecting birth-death chain (tridiagonal) and the logarithms of its exact
    stationary weights."""
    P = np.diag(up, 1) + np.diag(down, -1)
    P += np.diag(1 - P.sum(axis=1))
    return P, np.concatenate([[0.0], np.cumsum(np.log(up) - np.log(down))])


# --- stationary distributions ---------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 40])
@pytest.mark.parametrize("concentration", [0.05, 1.0])
def test_batches_agree_with_the_peer(n, concentration):
    from quantecon.markov.gth_solve import gth_solve

    chains = random_chains((3, 4), n, seed=n, concentration=concentration)
    pi = markov.stationary_distribution(chains)
    peer = np.array([gth_solve(chain) for chain in chains.reshape(-1, n, n)]).reshape(
        pi.shape
    )
    assert pi == pytest.approx(peer, rel=1e-13)
    for index in np.ndindex(3, 4):
        assert (markov.stationary_distribution(chains[index]) == pi[index]).all()


@pytest.mark.parametrize("threads", ["2", "3", "7"])
def test_large_batch_on_several_threads_equals_one_by_one(monkeypatch, threads):
    chains = random_chains((401,), 40, seed=2)  # no number of threads divides it
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    pi = markov.stationary_distribution(chains)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert (pi == markov.stationary_distribution(chains)).all()
    assert np.abs(pi - np.einsum("ci,cij->cj", pi, chains)).max() < 1e-16 * 40


def test_input_is_left_alone():
    P = random_chains((), 5, seed=3)
    before = P.copy()
    markov.stationary_distribution(P)
    assert (before == P).all()
    assert markov.stationary_distribution(np.asfortranarray(P)) == pytest.approx(
        markov.stationary_distribution(P)
    )


@pytest.mark.parametrize(
    "a, b", [(0.3, 0.2), (1.0, 1.0), (1e-14, 1e-300), (1e-300, 1e-300), (1e-8, 1.0)]
)
def test_two_states(a, b):
    pi = markov.stationary_distribution([[1 - a, a], [b, 1 - b]])
    assert pi == pytest.approx([1 / (1 + a / b), (a / b) / (1 + a / b)], rel=1e-14)


@pytest.mark.parametrize("link", [1e-3, 1e-14, 1e-100, 1e-200, 1e-300])
@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4, 5), (5, 0, 4, 1, 3, 2)])
def test_nearly_reducible_chains_in_full_precision(link, order):
    rng = np.random.default_rng(6)
    P = np.zeros((6, 6))
    for block in (slice(0, 2), slice(2, 4), slice(4, 6)):
        P[block, block] = rng.dirichlet([1, 1], size=2)
    P[0, 2] = link
    P[3, 4] = 0.3 * link
    P[5, 1] = 2 * link
    P[2, 0] = 0.7 * link
    P[4, 3] = 0.1 * link
    P[np.diag_indices(6)] = 0.0
    P = P[np.ix_(order, order)]
    np.fill_diagonal(P, np.maximum(1 - P.sum(axis=1), 0.0))
    with mpmath.workdps(700):
        exact = np.array(list(stationary(P)), dtype=float)
    assert markov.stationary_distribution(P) == pytest.approx(exact, rel=1e-12, abs=0)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_periodic_chains(n):
    cycle = np.roll(np.eye(n), 1, axis=1)
    assert markov.stationary_distribution(cycle) == pytest.approx(
        np.full(n, 1 / n), rel=1e-15
    )
    ring = sparse.csr_array(np.roll(np.eye(401 + n), 1, axis=1))
    assert markov.stationary_distribution(ring) == pytest.approx(
        np.full(401 + n, 1 / (401 + n)), rel=1e-9
    )


TWO_CLASSES = np.array(
    [[0.5, 0.5, 0, 0], [1.0, 0, 0, 0], [0, 0, 1.0, 0], [0.2, 0.2, 0.2, 0.4]]
)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::3])
def test_reducible_chains_are_refused_by_their_closed_classes(order):
    P = TWO_CLASSES[np.ix_(order, order)]
    first = (
        "{" + ", ".join(str(i) for i in sorted((order.index(0), order.index(1)))) + "}"
    )
    second = "{" + str(order.index(2)) + "}"
    for chain in (P, sparse.csr_array(P)):
        with pytest.raises(
            ValueError, match=r"^P must have one closed class, got closed classes"
        ) as error:
            markov.stationary_distribution(chain)
        assert first in str(error.value)
        assert second in str(error.value)
        assert f"transient states {{{order.index(3)}}}" in str(error.value)


def test_a_stored_zero_is_no_way_from_one_state_to_another():
    chain = sparse.csr_array(
        ([1.0, 0.0, 0.0, 1.0], [0, 1, 0, 1], [0, 2, 4]), shape=(2, 2)
    )
    closed, transient = markov_sparse.classes(chain)
    assert [states.tolist() for states in closed] == [[0], [1]] and not transient.size
    assert chain.nnz == 4


@pytest.mark.parametrize(
    ("order", "n"),
    [
        *((order, 3) for order in itertools.permutations(range(3))),
        ((2, 0, 1), 403),
        ((0, 1, 2), 403),
    ],
)
def test_transient_states_have_no_mass(order, n):
    """One closed class, of two states: (2/3, 1/3) there, whatever the order, and what
    the shares of long walks give."""
    P = np.zeros((n, n))
    P[:3, :3] = np.array([[0.5, 0.5, 0], [1.0, 0, 0], [0.2, 0.3, 0.5]])[
        np.ix_(order, order)
    ]
    P[3:, 0] = 1.0
    expected = np.append(np.array([2 / 3, 1 / 3, 0.0])[list(order)], np.zeros(n - 3))
    np.testing.assert_allclose(expected @ P, expected, atol=1e-15)
    for chain in (P, sparse.csr_array(P)):
        found = markov.stationary_distribution(chain)
        assert found == pytest.approx(expected, rel=1e-12, abs=0)
    assert (
        markov.stationary_distribution(np.stack([np.full((n, n), 1 / n), P]))[1]
        == found
    ).all() or n > 400
    other = np.full((n, n), 1 / n)
    moved = np.full(n, 1 / n) @ (other - P) @ markov.fundamental_matrix(P)
    np.testing.assert_allclose(moved, 1 / n - expected, atol=1e-13)


def test_sums_within_roundings_are_left_and_printed_digits_renormalised():
    P = random_chains((), 30, seed=8)
    P[3, 0] += 4e-15
    assert (markov_sparse.stochastic("P", sparse.csr_array(P)).toarray() == P).all()
    for close in (
        P.astype(np.float32),
        np.round(P, 7),
    ):  # gth_solve's own tests hand it float32
        exact = markov.stationary_distribution(markov.transition_matrix(close))
        for chain in (close, sparse.csr_array(close)):
            np.testing.assert_allclose(
                markov.stationary_distribution(chain), exact, rtol=1e-12
            )


def test_other_rows_are_refused_with_their_sum_and_the_way_out():
    P = random_chains((), 30, seed=8)
    P[3, 0] += 2e-6
    message = (
        r"^P row 3 must sum to 1 within 1e-06, got 1\.000002: "
        r"markov\.transition_matrix makes"
    )
    for call in (markov.ergodicity_coefficient, markov.fundamental_matrix):
        with pytest.raises(ValueError, match=message):
            call(P)
    for chain in (P, sparse.csr_array(P)):
        with pytest.raises(ValueError, match=message):
            markov.stationary_distribution(chain)
        with pytest.raises(ValueError, match=message):
            markov.random_walk(chain, 0, 1)


@pytest.mark.parametrize(
    "P",
    [
        [[0.5, 0.5]],
        np.zeros((0, 0)),
        sparse.csr_array([[1j]]),
        sparse.csr_array([[True]]),
        sparse.csr_array((3, 2)),
    ],
)
def test_bad_matrices_are_refused(P):
    with pytest.raises(ValueError, match=r"^P must"):
        markov.stationary_distribution(P)


# --- sparse chains --------------------------------------------------------------------


def random_sparse(n, per_row, seed):
    rng = np.random.default_rng(seed)
    rows = np.concatenate([np.repeat(np.arange(n), per_row), np.arange(n)])
    columns = np.concatenate(
        [rng.integers(0, n, n * per_row), np.roll(np.arange(n), 1)]
    )
    counts = sparse.coo_array(
        (rng.exponential(size=len(rows)), (rows, columns)), (n, n)
    ).tocsr()
    return sparse.csr_array(counts / counts.sum(axis=1)[:, None])


def test_sparse_chain_against_elimination_and_its_own_bound():
    P = random_sparse(600, 5, seed=1)
    exact = markov.stationary_distribution(P.toarray())
    pi = markov.stationary_distribution(P)
    residual, bound = markov_sparse.error_bound(P, pi)
    assert np.abs(pi - exact).sum() <= bound < 1e-10
    assert residual < 1e-14
    assert markov.stationary_distribution(
        sparse.csr_array(P[:5, :5].toarray() * 0 + 0.2)
    ) == pytest.approx(0.2)


@pytest.mark.parametrize("n", [3, 30])
def test_error_bound_is_nearly_attained(n):
    """A likely state that all others return to at the same rate: the bound is the
    error, so that a part of it fails."""
    P = np.full((n, n), 1e-3 / (n - 1))
    P[0, 0] = 1 - 1e-3
    P[1:] = 0.9 * np.eye(n)[1:] + 0.1 * np.eye(n)[0]
    exact = markov.stationary_distribution(P)
    wrong = 1.01 * exact
    wrong[0] = 1.0 - wrong[1:].sum()
    error = np.abs(wrong - exact).sum()
    (_, bound) = markov_sparse.error_bound(sparse.csr_array(P), wrong)
    assert error <= bound <= 1.02 * error


def test_slowly_mixing_sparse_chain_is_solved_or_refused():
    up = np.full(1999, 0.3)
    down = np.full(1999, 0.3)
    up[1000:] = 0.302
    P, logs = birth_death(up, down)
    exact = np.exp(logs - logs.max())
    exact /= exact.sum()
    pi = markov.stationary_distribution(sparse.csr_array(P))
    assert (
        np.abs(pi - exact).sum()
        <= markov_sparse.error_bound(sparse.csr_array(P), pi)[1]
        < 1e-6
    )
    up[1000] = down[1000] = 1e-13
    P, _ = birth_death(up, down)
    with pytest.raises(
        ValueError, match=r"P must mix faster: after \d+ iterations .* residual"
    ):
        markov.stationary_distribution(sparse.csr_array(P))


def test_gth_keeps_its_digits_beyond_underflow():
    """Pivots of 1e-300 and probabilities down to 1e-308, where elimination in floats
    gives nan or zero."""
    up = np.full(40, 1e-16)
    down = np.full(40, 0.5)
    P, logs = birth_death(up, down)
    pi = markov.stationary_distribution(P)
    inside = logs > np.log(1e-307)
    np.testing.assert_allclose(
        np.log(pi[inside]),
        logs[inside] - np.logaddexp.reduce(logs),
        rtol=1e-12,
        atol=1e-15,
    )
    assert (
        0 < inside.sum() < 40
        and (pi[inside] > 0).all()
        and (pi[~inside] < 1e-306).all()
    )


# --- transition matrix ----------------------------------------------------------------


def test_transition_matrix():
    counts = np.array([[2, 2, 4], [0, 0, 5], [1, 1, 1]])
    P = markov.transition_matrix(counts)
    assert P.tolist() == [[0.25, 0.25, 0.5], [0, 0, 1], [1 / 3, 1 / 3, 1 / 3]]
    assert (markov.transition_matrix(np.stack([counts, counts]))[1] == P).all()


@pytest.mark.parametrize(
    "counts, message",
    [
        ([[1, 1, 0], [0, 0, 0], [0, 0, 0]], "got none in rows [1, 2]"),
        ([[[1, 1], [1, 1]], [[1, 1], [0, 0]]], "got none in rows [(1, 1)]"),
        ([[1, -1], [1, 1]], "counts must be in [0, 1e+300], got -1"),
        ([[1, 1]], "counts must have shape"),
    ],
)
def test_counts_are_checked(counts, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        markov.transition_matrix(counts)


# --- coefficients, fundamental matrix -------------------------------------------------


def tau_by_linear_programs(P):
    """max |p_j^T z| over |z_i| <= 1, sum z = 0, for every column j."""
    ones = np.ones((1, len(P)))
    best = [
        -optimize.linprog(-column, A_eq=ones, b_eq=[0], bounds=(-1, 1)).fun
        for column in P.T
    ]
    return max(best)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 9])
def test_ergodicity_coefficient_by_linear_programs(n):
    chains = random_chains((3,), n, seed=n, concentration=0.3)
    value = markov.ergodicity_coefficient(chains)
    assert value == pytest.approx(
        [tau_by_linear_programs(chain) for chain in chains], abs=1e-12
    )


def test_fundamental_matrix():
    P, other = random_chains((2,), 6, seed=3)
    pi, moved = markov.stationary_distribution(np.stack([P, other]))
    Z = markov.fundamental_matrix(P)
    assert Z @ (np.eye(6) - P - np.outer(np.ones(6), pi)) == pytest.approx(
        np.eye(6), abs=1e-12
    )
    assert moved @ (other - P) @ Z == pytest.approx(moved - pi, abs=1e-14)


@pytest.mark.parametrize("link", [1e-13, 1e-200])
def test_fundamental_matrix_of_a_nearly_reducible_chain_is_refused(link):
    with pytest.raises(
        ValueError, match=re.escape("condition number of at most 1e+12")
    ):
        markov.fundamental_matrix([[1 - link, link], [link, 1 - link]])


def test_total_variation():
    assert markov.total_variation([1.0, 0.0], [0.0, 1.0]) == 1.0
    assert markov.total_variation(
        [[0.5, 0.5], [0.9, 0.1]], [0.5, 0.5]
    ) == pytest.approx([0.0, 0.4])
    with pytest.raises(ValueError, match=r"^q must sum to 1"):
        markov.total_variation([0.5, 0.5], [0.5, 0.4])


# --- random walks ---------------------------------------------------------------------


@pytest.mark.parametrize("as_sparse", [False, True])
def test_walks_follow_the_chain(as_sparse):
    P = markov.transition_matrix(
        [[1, 2, 0, 3], [0, 1, 1, 0], [4, 0, 0, 1], [1, 1, 1, 1]]
    )
    chain = sparse.csr_array(P) if as_sparse else P
    walks = markov.random_walk(chain, 0, 12, size=20_000, rng=np.random.default_rng(3))
    assert walks.shape == (20_000, 13)
    seen = np.zeros((4, 4))
    np.add.at(seen, (walks[:, :-1].ravel(), walks[:, 1:].ravel()), 1)
    assert (seen[P == 0] == 0).all()
    wrong = markov.transition_matrix(P * [1.0, 1.1, 1.0, 1.0])
    for law, fits in ((P, True), (wrong, False)):
        expected = (seen.sum(axis=1, keepdims=True) * law)[P > 0]
        p_value = stats.chi2.sf(
            ((seen[P > 0] - expected) ** 2 / expected).sum(), 11 - 4
        )
        assert p_value > 1e-6 if fits else p_value < 1e-9


def test_walks_of_several_matrices_with_common_random_numbers():
    P = random_chains((3,), 5, seed=4)
    uniforms = np.random.default_rng(5).random((7, 10))
    walks = markov.random_walk(P, 2, 10, size=7, uniforms=uniforms)
    assert walks.shape == (3, 7, 11)
    for i in range(3):
        assert (
            walks[i] == markov.random_walk(P[i], 2, 10, size=7, uniforms=uniforms)
        ).all()
        assert (
            walks[i]
            == markov.random_walk(
                sparse.csr_array(P[i]), 2, 10, size=7, uniforms=uniforms
            )
        ).all()
        u = uniforms[3]
        w = walks[i, 3]
        assert all(
            w[t + 1] == np.searchsorted(np.cumsum(P[i, w[t]]), u[t], side="right")
            for t in range(10)
        )
    equal = [
        markov.random_walk(P, [0, 1, 2], 4, rng=np.random.default_rng(1))
        for _ in range(2)
    ]
    assert (equal[0] == equal[1]).all()
    assert equal[0][:, 0].tolist() == [0, 1, 2]


def test_walk_never_takes_an_impossible_step_at_the_end_of_the_range():
    P = np.array([[0.1] * 10 + [0.0], *np.roll(np.eye(11), 1, axis=1)[1:]])
    last = np.nextafter(1.0, 0.0)
    for chain in (P, sparse.csr_array(P)):
        assert markov.random_walk(chain, 0, 1, uniforms=[last])[1] == 9
        assert markov.random_walk(chain, 0, 1, uniforms=[0.0])[1] == 0


@pytest.mark.parametrize("as_sparse", [False, True])
def test_walk_never_takes_an_impossible_step_where_a_uniform_meets_the_distribution(
    as_sparse,
):
    """At u = 0 the first entry is 0 as well: `>=` would take it; at u = 1/2 the
    third."""
    P = np.array(
        [
            [0.0, 0.5, 0.0, 0.5],
            [0.0, 0.0, 0.0, 1.0],
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
        ]
    )
    chain = sparse.csr_array(P) if as_sparse else P
    assert markov.random_walk(
        chain, [0, 0, 1], 1, size=3, uniforms=[[0.0], [0.5], [0.0]]
    )[:, 1].tolist() == [1, 3, 3]


# --- perturbation bounds --------------------------------------------------------------


def counterexample():
    P = markov.transition_matrix(COUNTEREXAMPLE)
    return P, COUNTEREXAMPLE.sum(axis=1), 1.5 / (P.min(axis=1) * (1 - 1e-12))


def test_theorem_five_has_a_counterexample():
    P, N, k = counterexample()
    pi = markov.stationary_distribution(P)
    private = dirichlet.dirichlet_mechanism(
        P, k, size=40_000, rng=np.random.default_rng(0)
    )
    change = np.abs(
        markov.ergodicity_coefficient(private) - markov.ergodicity_coefficient(P)
    ).mean()
    assert change == pytest.approx(0.138, abs=0.001)
    assert dirichlet.ergodicity_bound(pi, N, k) == pytest.approx(0.0547, abs=5e-5)

    moved = markov.total_variation(markov.stationary_distribution(private), pi).mean()
    assert moved < dirichlet.stationary_bound(P, N, k)


def test_a_row_of_few_records_has_a_bound_over_the_transitions_that_occur():
    pi = np.full(5, 0.2)
    N = np.array([3.0, 50, 50, 50, 50])
    k = np.full(5, 40.0)
    occur = [2, 5, 5, 5, 5]
    with pytest.raises(ValueError, match="N must be at least categories"):
        dirichlet.ergodicity_bound(pi, N, k)
    by_row = dirichlet.expected_kl_bound(occur, N, k)
    assert dirichlet.ergodicity_bound(pi, N, k, categories=occur) == pytest.approx(
        np.sqrt(2 * by_row.mean())
    )


def test_matrix_dirichlet_bound():
    Z_norm, n, eta, eta_bar = 3.0, 6, 0.1, 0.051
    for k, w in [(10.0, 2), (98.7, 4)]:
        rest = eta_bar + (w - 1) * eta
        with mpmath.workdps(30):
            mean = (
                n
                * mpmath.gamma(k)
                * mpmath.mpf(2) ** (1 - k)
                / (mpmath.gamma(k / 2) ** 2 * k)
            )
            least = (
                4
                * mpmath.mpf(eta) ** (2 * k * (1 - rest))
                * mpmath.mpf(rest) ** (2 * k * (1 - eta))
            )
            least /= k**2 * mpmath.beta(k * eta, k * rest) ** 2
            spread = mpmath.mpf(n**2 * k) / (4 * (k**2 + k)) - least
            expected = Z_norm * (mean + mpmath.sqrt(mpmath.mpf(n - 1) / n * spread))
        value = dirichlet.matrix_dirichlet_bound(
            Z_norm, n, k, eta=eta, eta_bar=eta_bar, protected=w
        )
        assert value == pytest.approx(float(expected), rel=1e-13)
    with pytest.raises(
        ValueError, match=re.escape("eta_bar must be in (0, 0.4), got 0.4")
    ):
        dirichlet.matrix_dirichlet_bound(
            1.0, 6, 10.0, eta=0.1, eta_bar=0.4, protected=2
        )


# --- roundings ------------------------------------------------------------------------


def test_the_bound_covers_a_residual_lost_to_rounding():
    """A slow chain of powers of two: pi P rounds to pi although pi is 2^-28 off in each
    state."""
    slow = 2.0**-30
    P = np.array([[1 - slow, slow], [3 * slow, 1 - 3 * slow]])
    exact = np.array([0.75, 0.25])
    wrong = exact + np.array([2.0**-28, -(2.0**-28)])
    assert (wrong @ P == wrong).all()
    residual, bound = markov_sparse.error_bound(sparse.csr_array(P), wrong)
    assert residual == 0.0 and np.abs(wrong - exact).sum() <= bound < 1e-5


def test_a_pivot_below_the_normal_floats_loses_no_digits():
    """The way from 1 to 0 over 2 has a probability of 2e-320, which a float holds to
    four digits."""
    tiny = 1e-160
    P = np.array([[1.0, 3e-320, 0.0], [0.0, 1.0, tiny], [tiny, 0.5, 0.5]])
    back = Fraction(tiny) * Fraction(tiny) / (Fraction(tiny) + Fraction(1, 2))
    pi = markov.stationary_distribution(P)
    assert pi[1] / pi[0] == pytest.approx(float(Fraction(P[0, 1]) / back), rel=1e-11)
