import numpy as np
import pytest
from scipy import integrate, special

from dpsim import accounting, dirichlet
from dpsim.numerics import simplex


def hockey_stick(p, q, k, epsilon):
    """delta(epsilon) of Dir(k p) against Dir(k q) that differ in entries 0 and 1, by
    quadrature over X_0/(X_0+X_1)."""
    (a, b) = k * np.array(p[:2])
    (c, d) = k * np.array(q[:2])
    constants = special.betaln(c, d) - special.betaln(a, b)
    least = special.expit(
        (epsilon - constants) / (a - c)
    )  # the loss rises in x, for a + b = c + d

    def gain(u):
        """The positive part at x = 1 - u**(1/b), where the density has no pole."""
        rest = u ** (1 / b)
        ratio = constants + (a - c) * (np.log1p(-rest) - np.log(rest))
        return (
            -np.expm1(epsilon - ratio)
            * np.exp((a - 1) * np.log1p(-rest) - special.betaln(a, b))
            / b
        )

    return integrate.quad(
        gain, 0.0, (1 - least) ** b, limit=500, epsabs=0.0, epsrel=1e-11
    )[0]


IN_THE_PAPERS_DOMAIN = {
    "protected": [True, True, False],
    "eta_bar": 0.05,
    "rows": "all",
}


@pytest.mark.parametrize(
    "epsilon, delta, eta, b, domain",
    [
        *(
            (2.0, 1e-2, 0.1, 0.1, {}),
            (1.0, 1e-4, 0.2, 0.05, {}),
            (6.5, 1e-3, 0.05, 0.1, {}),
        ),
        *(
            (*target, 0.1, 0.1, IN_THE_PAPERS_DOMAIN)
            for target in ((2.0, 1e-2), (1.6, 1e-2), (6.5, 1e-3))
        ),
    ],
)
def test_the_guarantee_of_a_vector_is_exact(epsilon, delta, eta, b, domain):
    """In the paper's domain small k too, because two entries alone move there."""
    made = dirichlet.privatize(
        [0.2, 0.3, 0.5], epsilon, delta, support=True, eta=eta, b=b, **domain
    )
    k = float(made.parameters["k"])
    p = [eta + b / 2, eta, 1 - 2 * eta - b / 2]
    q = [eta, eta + b / 2, 1 - 2 * eta - b / 2]
    assert hockey_stick(p, q, k, epsilon) == pytest.approx(
        delta, rel=1e-5 if domain else 1e-6
    )
    assert hockey_stick(p, q, 1.001 * k, epsilon) > delta, "the largest k"
    assert "exact" in made.statement and (made.epsilon, made.delta) == (epsilon, delta)
    assert ("protected" in made.statement) == bool(domain)


@pytest.mark.parametrize("N", [100, 101])
def test_one_record_too_few_would_break_the_promise(N):
    """At N records k is the largest for a move of 1/N: for 1/(N - 1) it is too
    large."""
    eta, epsilon, delta = 0.1, 1.0, 1e-3
    k = float(
        dirichlet.privatize(
            [0.5, 0.5, 0], epsilon, delta, support=True, eta=eta, records=N
        ).parameters["k"]
    )
    assert accounting.exact_delta(epsilon, k, shift=1 / N, eta=eta) <= delta
    assert accounting.exact_delta(epsilon, k, shift=1 / (N - 1), eta=eta) > delta


def test_rows_that_move_at_once_add_up():
    P = [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.1, 0.1, 0.8], [0.0, 0.0, 1.0]]
    support = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 0, 1]], dtype=bool)
    made = dirichlet.privatize(
        P, 6.0, 1e-2, support=support, eta=0.1, b=0.1, rows="all"
    )
    k = made.parameters["k"]
    assert made.parameters["shift"].tolist() == [0.05, 0.05, 0.05, 0.0]
    three, two = (
        accounting.compose(k, shift=0.05, eta=0.1, count=count) for count in (3, 2)
    )
    assert three.delta(6.0) <= 1e-2 < 1.01 * three.delta_bounds(6.0)[0], "tight"
    assert two.delta(6.0) < 0.6e-2, "a row less would do with far less"
    assert made.value[3].tolist() == [0, 0, 1]


@pytest.mark.parametrize("rows", ["one", "all"])
def test_one_record_of_n_is_a_move_of_two_nths(rows):
    """How far a row moves, and how many rows move, are two questions: `records` and `b`
    answer the first one alike."""
    P = [[0.2, 0.3, 0.5], [0.3, 0.5, 0.2]]
    target = (5.0, 1e-2)
    public = {"support": True, "eta": 0.1, "rows": rows}
    b, records = (
        dirichlet.privatize(P, *target, **public, **far)
        for far in ({"b": 0.04}, {"records": 50})
    )
    assert np.all(b.parameters["k"] == records.parameters["k"])
    k = np.broadcast_to(b.parameters["k"], 2)
    if rows == "one":
        assert accounting.exact_epsilon(1e-2, k, shift=0.02, eta=0.1) == pytest.approx(
            [5.0, 5.0]
        )
    else:
        two = accounting.compose(k, shift=0.02, eta=0.1)
        assert two.delta(5.0) <= 1e-2 < 1.01 * two.delta_bounds(5.0)[0]
    assert ("exact" in b.statement) == (
        rows == "one"
    ) and "a proven upper bound" in records.statement


def test_records_give_each_row_its_own_k():
    support = np.array([[1, 1, 1], [0, 1, 1]], dtype=bool)
    public = {"support": support, "eta": 0.1, "records": [200, 900], "rows": "one"}
    made = dirichlet.privatize(np.full((2, 3), 1 / 3), 1.0, 1e-5, **public)
    k = made.parameters["k"]
    assert accounting.exact_epsilon(
        1e-5, k, shift=[1 / 200, 1 / 900], eta=0.1
    ) == pytest.approx([1.0, 1.0])
    assert (
        k[1] > 4 * k[0]
        and made.value[1, 0] == 0
        and "a proven upper bound" in made.statement
    )


def test_the_row_with_the_fewest_records_decides_what_is_refused():
    """At 20 records an epsilon from 2.65, the floor, to 2.81 needs k eta below 1/2; at
    10,000 any would do."""
    P = np.full((2, 3), 1 / 3)
    public = {"support": True, "eta": 0.1, "records": [20, 10_000], "rows": "one"}
    with pytest.raises(ValueError, match=r"^epsilon must"):
        dirichlet.privatize(P, 2.7, 1e-3, **public)
    k = dirichlet.privatize(P, 2.9, 1e-3, **public).parameters["k"]
    assert (accounting.exact_delta(2.9, k, shift=[1 / 20, 1e-4], eta=0.1) <= 1e-3).all()


def test_rows_with_less_room_are_charged_for_their_own_move_only():
    """Of two rows one has room for 0.04 only; with that move for both, epsilon 20 would
    cost 23."""
    support = np.array([[1, 1, 0, 0], [1, 1, 1, 1]], dtype=bool)
    made = dirichlet.privatize(
        np.full((2, 4), 0.25), 20.0, 1e-2, support=support, eta=0.24, b=0.4, rows="all"
    )
    k = made.parameters["k"]
    shift = made.parameters["shift"]
    assert shift == pytest.approx([0.2, 0.04])
    assert accounting.compose(k, shift=[0.2, 0.04], eta=0.24).delta(20.0) <= 1e-2
    assert (
        accounting.compose(1.001 * k, shift=[0.2, 0.04], eta=0.24).delta_bounds(20.0)[0]
        > 1e-2
    )
    assert accounting.compose(k, shift=0.04, eta=0.24, count=2).epsilon(1e-2) < 15, (
        "the other move would be cheap"
    )


# --- the domain of Fallin et al. 2023 -------------------------------------------------

DOMAIN = {"support": True, "eta": 0.1, "b": 0.1, **IN_THE_PAPERS_DOMAIN}


def test_what_neighbours_have_room_for_in_the_papers_domain():
    """A row of two protected entries of at least 0.45 has 0.05 left beside eta_bar
    0.05."""
    domain = DOMAIN | {"eta": 0.445, "eta_bar": 0.05, "b": 0.5}
    made = dirichlet.privatize([0.45, 0.45, 0.1], 2.0, 1e-2, **domain)
    assert made.parameters["shift"] == pytest.approx(0.06)
    k = float(made.parameters["k"])
    (eta, s) = (0.445, 0.06)
    assert hockey_stick(
        [eta + s, eta, 0.05], [eta, eta + s, 0.05], k, 2.0
    ) == pytest.approx(1e-2, rel=1e-5)


def test_a_record_that_may_leave_the_protected_entries_is_refused():
    """At the k that two protected entries need for a delta of 0.001, such a record has
    a true delta of 0.218."""
    k = float(accounting.calibrate_k(1.0, 1e-3, shift=0.01, eta=0.2))
    assert hockey_stick(
        [0.50, 0.01, 0.49], [0.49, 0.02, 0.49], k, 1.0
    ) == pytest.approx(0.218, abs=5e-4)
    domain = {"support": True, "eta": 0.2, "eta_bar": 0.005, "records": 100}
    # of the two neighbours with four entries, the fourth entry is positive for one
    # only, so that delta is 1
    for P in ([0.49, 0.49, 0.02], [0.49, 0.49, 0.02, 0.0], [0.49, 0.49, 0.01, 0.01]):
        protected = [True, True, *[False] * (len(P) - 2)]
        with pytest.raises(
            ValueError, match=r"^protected must go with b, not with records"
        ):
            dirichlet.privatize(P, 1.0, 1e-3, protected=protected, **domain)


def test_the_statement_names_the_two_protected_entries():
    """Neighbours that differ elsewhere are not covered, as Definition 4 says."""
    statement = dirichlet.privatize(INSIDE, 6.0, 1e-2, **DOMAIN).statement
    assert (
        "neighbours: two protected entries of the row changed, by up to 0.1 in 1-norm."
        in statement
    )
    statement = dirichlet.privatize([INSIDE] * 2, 12.0, 1e-2, **DOMAIN).statement
    assert (
        "two protected entries of every row changed at once, by up to 0.1 in 1-norm."
        in statement
    )


def test_no_number_of_the_statement_promises_more_than_was_accounted_for():
    """Epsilon and delta are rounded up, and what describes the neighbours is not
    rounded."""
    epsilon, delta, b, eta = 2.0000049, 1.00000049e-2, 0.0200000049, 0.1000000049
    statement = dirichlet.privatize(
        INSIDE, epsilon, delta, support=True, eta=eta, b=b
    ).statement
    assert statement.startswith("(2.00001, 0.0100001)-differentially private")
    assert f"by up to {b!r} in 1-norm" in statement and f"eta = {eta!r}" in statement
    domain = {
        "eta": eta,
        "eta_bar": 0.05000000049,
        "b": b,
        "protected": [True, True, False],
    }
    statement = dirichlet.privatize(
        INSIDE, epsilon, delta, support=True, **domain
    ).statement
    assert f"eta = {eta!r}, together at most {1.0 - 0.05000000049!r}" in statement


INSIDE = [0.2, 0.3, 0.5]
OUTSIDE = [0.05, 0.45, 0.5]


@pytest.mark.parametrize(
    "P",
    [
        OUTSIDE,
        [0.5, 0.48, 0.02],
        [0.1 - 1e-8, 0.4, 0.5 + 1e-8],
        [INSIDE, OUTSIDE],
        [OUTSIDE, INSIDE],
        [OUTSIDE] * 2,
    ],
)
def test_matrices_outside_the_papers_domain_are_refused_without_a_word_of_their_entries(
    P,
):
    with pytest.raises(ValueError, match=r"^P must lie in the domain") as refusal:
        dirichlet.privatize(P, 6.0, 1e-2, **DOMAIN)
    with pytest.raises(ValueError) as other:
        dirichlet.privatize([0.0, 0.0, 1.0], 6.0, 1e-2, **DOMAIN)
    assert str(refusal.value) == str(other.value)


@pytest.mark.parametrize("seed", range(3))
def test_the_projection_moves_no_two_vectors_further_apart(seed):
    """In total variation, for moves between two entries, many entries, and entries off
    the support."""
    rng = np.random.default_rng(seed)
    for _ in range(300):
        n = int(rng.integers(2, 8))
        support = rng.random(n) < 0.7
        support[rng.integers(n)] = True
        eta = rng.uniform(0, 1 / support.sum())
        p, q = rng.dirichlet(np.full(n, rng.choice([0.1, 1.0])), size=2)
        if rng.random() < 0.5:
            i, j = rng.integers(n, size=2)
            move = rng.uniform(0, p[i])
            q = p + move * (np.eye(n)[j] - np.eye(n)[i])
        first, second = simplex.project_to_simplex([p, q], lower=eta, support=support)
        assert np.abs(first - second).sum() <= np.abs(p - q).sum() + 1e-14
    inside = simplex.project_to_simplex([[0.4, 0.4, 0.2], [0.3, 0.5, 0.2]], lower=0.1)
    assert np.abs(inside[0] - inside[1]).sum() == pytest.approx(0.2), "attained"


PUBLIC = {"support": True, "eta": 0.1, "records": 100}


def test_refusals_do_not_depend_on_the_value():
    messages = set()
    for p in [
        *np.random.default_rng(0).dirichlet([0.1, 0.1, 0.1], 20),
        [1, 0, 0],
        [0, 0, 1],
        [1 / 3, 1 / 3, 1 / 3],
    ]:
        with pytest.raises(ValueError) as refusal:
            dirichlet.privatize(p, 0.1, 1e-9, **PUBLIC)
        messages.add(str(refusal.value))
    assert len(messages) == 1


def test_a_target_that_needs_too_small_a_k_is_refused_with_the_one_in_reach():
    with pytest.raises(
        ValueError,
        match=r"^epsilon must be at least ([\d.]+) at delta 1e-09 .* k eta below 0.5",
    ) as no:
        dirichlet.privatize([0.5, 0.5, 0.0], 0.1, 1e-9, **PUBLIC)
    reach = float(str(no.value).split()[5])
    assert reach > accounting.privacy_floor(1e-9, shift=0.01, eta=0.1)
    made = dirichlet.privatize([0.5, 0.5, 0.0], 1.00001 * reach, 1e-9, **PUBLIC)
    assert made.parameters["k"] == pytest.approx(5.0, rel=1e-3)
    with pytest.raises(ValueError, match=r"^epsilon must be at least"):
        dirichlet.privatize(
            [[0.5, 0.5, 0.0]] * 2, 0.1, 1e-9, support=True, eta=0.1, b=0.02, rows="all"
        )


def test_the_mean_is_the_projection():
    rng = np.random.default_rng(3)
    drawn = [
        dirichlet.privatize([0.7, 0.3, 0.0], 3.0, 1e-2, **PUBLIC, rng=rng)
        for _ in range(100)
    ]
    mean = np.array([0.65, 0.25, 0.1])
    error = np.sqrt(mean * (1 - mean) / (drawn[0].parameters["k"] + 1) / 100)
    assert (
        np.abs(np.mean([each.value for each in drawn], axis=0) - mean) < 5 * error
    ).all()


@pytest.mark.parametrize(
    "name, public, change",
    [
        ("eta", PUBLIC, {"eta": 0.4}),
        ("support", PUBLIC, {"support": [True, False, False]}),
        ("support", PUBLIC, {"support": [1, 1, 1]}),
        (
            "support",
            PUBLIC,
            {"support": np.ma.masked_array([True] * 3, [True, False, False])},
        ),
        ("support", PUBLIC, {"support": [True, True]}),
        ("exactly one of b and records must", PUBLIC, {"records": None}),
        ("exactly one of b and records must", PUBLIC, {"b": 0.1}),
        ("records", PUBLIC, {"records": [10, 10]}),
        ("rows", PUBLIC, {"rows": "some"}),
        ("rows", PUBLIC, {"P": np.full((2, 2), 0.5)}),
        ("P", PUBLIC, {"P": np.full((1, 1, 2), 0.5)}),
        ("protected", DOMAIN, {"protected": [True, False, False]}),
        ("protected", DOMAIN, {"protected": [True, True, True]}),
        ("protected", DOMAIN, {"protected": [[True, True, False]] * 2}),
        ("protected and eta_bar", DOMAIN, {"eta_bar": None}),
        ("protected and eta_bar", DOMAIN, {"protected": None}),
        ("protected must go with b", DOMAIN, {"b": None, "records": 100}),
        ("eta_bar", DOMAIN, {"eta_bar": 0.4}),
        ("protected", DOMAIN, {"support": [True, False, True]}),
        ("P must lie", DOMAIN, {"eta": 0.475, "eta_bar": 0.02}),
        ("P must lie", DOMAIN, {"eta": 0.48, "eta_bar": 0.019999}),
        ("epsilon", DOMAIN, {"epsilon": 0.01}),
    ],
)
def test_arguments_are_checked(name, public, change):
    with pytest.raises(ValueError, match=f"^{name}"):
        dirichlet.privatize(
            **{"P": [0.2, 0.3, 0.5], "epsilon": 2.0, "delta": 1e-2, **public, **change}
        )


def test_coarse_floats_are_refused():
    """In float32 one of 10^7 records moves neighbours by up to 1.19 / N."""
    N = 10**7
    many = np.arange(N * 6 // 10, N * 6 // 10 + 50)
    moved = np.diff((many / N).astype(np.float32).astype(float))
    assert (
        np.diff(many / N).max() == pytest.approx(1 / N, rel=1e-8)
        and moved.max() > 1.19 / N
    )
    near = np.array([0.6, 0.2, 0.2])
    public = {"support": True, "eta": 0.1, "records": N}
    for kind in (np.float32, np.float16):
        with pytest.raises(
            ValueError, match=r"^P must have entries of at least 64 bits, got float"
        ):
            dirichlet.privatize(near.astype(kind), 1.0, 1e-6, **public)
    dirichlet.privatize(near, 1.0, 1e-6, **public)


def test_what_the_guarantee_rests_on_is_asked_for():
    with pytest.raises(TypeError, match=r"'support' and 'eta'"):
        dirichlet.privatize([0.5, 0.5], 1.0, 1e-4, records=100)


def test_neighbours_are_as_far_apart_as_the_bordered_simplex_allows():
    corners = simplex.project_to_simplex(np.eye(3), lower=0.3)
    made = dirichlet.privatize([0.2, 0.3, 0.5], 5.0, 0.01, support=True, eta=0.3, b=1.0)
    assert made.parameters["shift"] == pytest.approx(
        0.5 * np.abs(corners[0] - corners[1]).sum(), rel=1e-12
    )


@pytest.mark.parametrize(
    ("entries", "kind"), [(2, "a proven upper bound"), (3, "exact")]
)
def test_only_what_is_attained_is_called_exact(entries, kind):
    """With two entries no pair of neighbours has the profile of the Beta pair."""
    made = dirichlet.privatize(
        np.full(entries, 1 / entries), 5.0, 0.01, support=True, eta=0.2, b=0.02
    )
    assert f"private, {kind};" in made.statement


@pytest.mark.parametrize(
    ("epsilon", "kind"), [(2.0, "exact"), (2.1, "a proven upper bound")]
)
def test_what_the_largest_k_does_not_reach_is_called_a_bound(epsilon, kind):
    """At the end of the range of k the exact epsilon is 2.053."""
    made = dirichlet.privatize(
        [0.2, 0.3, 0.5], epsilon, 1e-3, support=True, eta=0.1, b=1e-6
    )
    cost = accounting.exact_epsilon(1e-3, made.parameters["k"], shift=0.5e-6, eta=0.1)
    assert cost == pytest.approx(min(epsilon, 2.0533), rel=1e-4)
    assert f"private, {kind};" in made.statement


@pytest.mark.parametrize("eta, b", [(9.9e-4, 0.1), (0.05, 1.9e-3)])
def test_losses_that_add_up_need_a_minimum_and_a_move_of_a_thousandth(eta, b):
    """Below, the grid is too coarse for the losses, and the result is a poor bound."""
    matrix = np.full((2, 3), 1 / 3)
    public = {"support": True, "eta": eta, "b": b, "rng": 1}
    name = "eta" if eta < 1e-3 else "b"
    with pytest.raises(ValueError, match=rf"^{name} must be in \[0.00[12], inf\), got"):
        dirichlet.privatize(matrix, 50.0, 1e-3, rows="all", **public)
    dirichlet.privatize(matrix, 50.0, 1e-3, rows="one", **(public | {"eta": 0.05}))
