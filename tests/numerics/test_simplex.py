from fractions import Fraction

import numpy as np
import pytest

from dpsim.numerics import simplex

ROUNDING = 1e-14


def qp(x, constraints):
    """The nearest feasible point according to a QP solver that shares nothing with the
    sort."""
    import cvxpy as cp

    y = cp.Variable(len(x))
    cp.Problem(cp.Minimize(cp.sum_squares(y - x)), constraints(y)).solve(
        solver=cp.CLARABEL
    )
    return y.value


def kkt_violation(x, y, lower, support):
    """Return how far y is from lower + max(x - lower - tau, 0) for the best tau (0 at
    the projection)."""
    gap = (x - y)[support]
    slack = (y - lower)[support]
    positive = slack > 1e-12
    tau = gap[positive].mean()
    return max(np.ptp(gap[positive]), np.max(gap - tau, initial=0.0))


def random_case(rng, n, *, ties):
    x = rng.normal(0.2, rng.choice([0.1, 1.0, 5.0]), n)
    if ties:
        x = np.round(x)
    support = rng.random(n) < 0.8
    support[rng.integers(n)] = True
    lower = rng.choice([0.0, 0.05, 1 / n], n) * rng.random()
    return x, support, np.where(support, lower, 0.0)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_meets_the_optimality_conditions(n, ties):
    rng = np.random.default_rng(100 + n)
    for _ in range(200):
        x, support, lower = random_case(rng, n, ties=ties)
        y = simplex.project_to_simplex(x, lower=lower, support=support)
        assert (y >= lower).all() and (y[~support] == 0).all()
        assert abs(y.sum() - 1) < ROUNDING * n
        assert kkt_violation(x, y, lower, support) < 1e-13


@pytest.mark.parametrize(
    "x, lower, expected",
    [
        ([0.2, 0.3, 0.5], 0.0, [0.2, 0.3, 0.5]),  # already there
        ([1.0, 1.0, 1.0, 1.0], 0.0, [0.25] * 4),  # all equal
        ([1.0, 1.0, 0.0], 0.0, [0.5, 0.5, 0.0]),  # tie at the top
        ([2.0, 1.0, 1.0], 0.0, [1.0, 0.0, 0.0]),  # entries exactly at the threshold
        ([5.0, -3.0], 0.5, [0.5, 0.5]),  # the bounds leave one point
        (
            [0.7, 0.1, 0.2] + [0.0] * 7,
            0.1,
            [0.1] * 10,
        ),  # the same, with bounds that add up to 1 by rounding only
        ([1e12, 1e12, -1e12], 0.0, [0.5, 0.5, 0.0]),
        ([-1e300, 1e300], 0.0, [0.0, 1.0]),
        (
            [2.0**50 + 0.25, 2.0**50, 2.0**50],
            0.0,
            [0.5, 0.25, 0.25],
        ),  # sums of such numbers have no quarters
        ([-7.0], 0.0, [1.0]),
    ],
)
def test_known_projections(x, lower, expected):
    np.testing.assert_allclose(
        simplex.project_to_simplex(x, lower=lower), expected, rtol=0, atol=1e-15
    )


def test_projects_batches_row_by_row():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4, 3, 6))
    total = rng.uniform(0.5, 2.0, (4, 3))
    together = simplex.project_to_simplex(x, total=total, lower=0.02)
    for index in np.ndindex(4, 3):
        alone = simplex.project_to_simplex(x[index], total=total[index], lower=0.02)
        np.testing.assert_array_equal(together[index], alone)
    np.testing.assert_allclose(together.sum(axis=-1), total, rtol=1e-14)


def bordered(eta, eta_bar, inside):
    return lambda y: [
        y.sum() == 1,
        y >= 0,
        y[inside] >= eta,
        y[inside].sum() <= 1 - eta_bar,
    ]


@pytest.mark.parametrize("outside", [1, 2, 4])
def test_bordered_projection_agrees_with_a_qp_solver(outside):
    rng = np.random.default_rng(outside)
    eta, eta_bar = 0.10, 0.051
    active = 0
    for _ in range(16):
        n = outside + int(rng.integers(2, 6))
        inside = np.arange(n) >= outside
        x = (
            rng.dirichlet(np.full(n, 0.5))
            + rng.choice([0.0, 0.3]) * rng.normal(size=n)
            - 0.2 * ~inside * rng.random()
        )
        ours = simplex.project_to_bordered_simplex(
            x, eta=eta, eta_bar=eta_bar, protected=inside
        )
        np.testing.assert_allclose(
            ours, qp(x, bordered(eta, eta_bar, inside)), atol=2e-5
        )
        assert (ours[inside] >= eta).all() and (ours >= 0).all()
        assert ours[inside].sum() <= 1 - eta_bar + ROUNDING
        assert abs(ours.sum() - 1) < ROUNDING
        active += abs(ours[~inside].sum() - eta_bar) < 1e-12
    assert 2 <= active < 16  # both branches were taken


def test_bordered_projection_keeps_feasible_rows_and_zeros():
    row = np.array([0.0, 0.5, 0.2, 0.3, 0.0])
    protected = simplex.protected_entries(row)
    kept = simplex.project_to_bordered_simplex(
        row, eta=0.1, eta_bar=0.051, protected=protected, support=row > 0
    )
    np.testing.assert_allclose(kept, row, atol=1e-16)
    tight = np.array([0.9, 0.02, 0.08, 0.0])
    protected = simplex.protected_entries(tight)
    moved = simplex.project_to_bordered_simplex(
        tight, eta=0.1, eta_bar=0.051, protected=protected, support=tight > 0
    )
    np.testing.assert_allclose(moved, [0.849, 0.051, 0.1, 0.0], atol=1e-15)
    assert moved[1] >= 0.051 and moved[2] >= 0.1


def test_protected_entries_leave_out_one_smallest_non_zero():
    mask = simplex.protected_entries([[0.5, 0.0, 0.2, 0.3], [0.25, 0.25, 0.25, 0.25]])
    np.testing.assert_array_equal(
        mask, [[True, False, False, True], [False, True, True, True]]
    )


@pytest.mark.parametrize(
    "name, argument",
    [
        ("lower", 0.6),
        ("lower", [0.1] * 3),
        ("support", [False, False]),
        ("support", [0, 1]),
    ],
)
def test_refusals_of_the_simplex(name, argument):
    with pytest.raises(ValueError, match=f"^{name} "):
        simplex.project_to_simplex([0.5, 0.5], **{name: argument})


@pytest.mark.parametrize(
    "name, changes",
    [
        ("eta", {"eta": 0.0}),
        ("eta_bar", {"eta_bar": 0.45}),
        ("protected", {"protected": [True, False, False]}),
        ("protected", {"protected": [True, True, True]}),
        ("protected", {"support": [False, True, True]}),
        (
            "protected",
            {
                "eta": 0.48,
                "eta_bar": 0.01,
                "x": [0.2] * 5,
                "protected": [True] * 4 + [False],
            },
        ),
    ],
)
def test_refusals_of_the_bordered_simplex(name, changes):
    arguments = {
        "x": [0.4, 0.3, 0.3],
        "eta": 0.1,
        "eta_bar": 0.051,
        "protected": [True, True, False],
    } | changes
    with pytest.raises(ValueError, match=f"^{name} "):
        simplex.project_to_bordered_simplex(**arguments)


def test_refuses_rows_with_too_few_entries_to_protect():
    with pytest.raises(
        ValueError,
        match=r"matrix must have at least 3 non-zero entries .* got 2 in row \[1\]",
    ):
        simplex.protected_entries([[0.2, 0.3, 0.5], [0.5, 0.5, 0.0]])


@pytest.mark.parametrize("lower", [[0.1, 0.1, 0.1], [0.7, 0.1, 0.1, 0.1], [1e-3] * 999])
def test_minima_whose_sum_is_the_total_but_for_rounding_are_the_result(lower):
    """0.1 + 0.1 + 0.1 is above 0.3 as floats."""
    exact = float(sum(map(Fraction, lower)))
    for total in (exact * (1 - 2e-16), round(exact, 12)):
        found = simplex.project_to_simplex(
            np.arange(len(lower)), total=total, lower=lower
        )
        assert found == pytest.approx(lower, rel=1e-12)
    with pytest.raises(ValueError, match="lower must add up to at most the total"):
        simplex.project_to_simplex(
            np.zeros(len(lower)), total=exact * (1 - 1e-9), lower=lower
        )
