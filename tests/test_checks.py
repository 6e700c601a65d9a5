import fractions

import numpy as np
import pandas as pd
import pytest

from dpsim import boltzmann, checks, dirichlet, markov, noise, words

NOT_NUMBERS = {
    "text": "0.5",
    "text in an array": np.array(["0.5"]),
    "text in a list": [0.5, "0.5"],
    "text in an object array": np.array([0.5, "0.5"], dtype=object),
    "a date": np.datetime64("2020-01-01"),
    "a duration": np.timedelta64(1, "D"),
    "durations": np.array([1], dtype="timedelta64[s]"),
    "a duration in a list": [np.timedelta64(1, "D")],
    "a structured array": np.array([(0.5, 0.5)], dtype=[("a", float), ("b", float)]),
    "a complex number": 0.5 + 0j,
    "complex numbers": np.array([0.5 + 0j]),
    "a masked array": np.ma.masked_array([0.5, 0.25], [False, True]),
    "a masked array without a mask": np.ma.masked_array([0.5, 0.25]),
    "the masked constant": np.ma.masked,
    "a 0-d masked array": np.ma.masked_array(0.5, True),
    "a 0-d masked array without a mask": np.ma.masked_array(1),
    "a masked array in a list": [
        np.ma.masked_array([0.5, 0.25], [False, True]),
        np.array([0.5, 0.5]),
    ],
    "a masked array in an object array": np.array(
        [np.ma.masked_array([0.5], [True]), None], dtype=object
    ),
    "a boolean": True,
    "a boolean of NumPy": np.True_,
    "booleans": np.array([True, False]),
    "a boolean in a list": [0.5, True],
    "a missing value": None,
    "pandas' missing value": pd.NA,
    "a missing value in a nullable column": pd.Series([1, pd.NA], dtype="Int64"),
    "a table with text": pd.DataFrame({"a": [0.5], "b": ["x"]}),
    "a dictionary": {0: 0.5},
    "a ragged list": [[0.5], [0.5, 0.5]],
    "an integer beyond the floats": 10**400,
}
ONE_NUMBER = {
    "an integer": 1,
    "a float": 1.0,
    "a fraction": fractions.Fraction(2, 2),
    "an integer of NumPy": np.int8(1),
    "a float of NumPy": np.float32(1.0),
    "a 0-d array": np.array(1),
}
NUMBERS = {
    "a list": [1, 2.0],
    "a list of NumPy's": [np.int64(1), np.float32(2)],
    "a list of 0-d arrays": [np.array(1.0), np.array(2)],
    "a list of fractions": [fractions.Fraction(1), 2],
    "a tuple": (1, 2),
    "integers": np.array([1, 2], dtype=np.uint8),
    "objects that are numbers": np.array([1, 2.0], dtype=object),
    "a column": pd.Series([1, 2], index=["a", "b"]),
    "a nullable column": pd.Series([1, 2], dtype="Int64"),
}


@pytest.mark.parametrize("kind", NOT_NUMBERS)
@pytest.mark.parametrize(
    "check",
    [
        checks.numeric,
        checks.real,
        checks.scalar,
        checks.simplex,
        checks.integers,
        checks.integer,
    ],
)
def test_what_is_no_real_number_is_refused_by_name(kind, check):
    if check is checks.integer and kind == "an integer beyond the floats":
        return
    if check is checks.numeric and kind == "a missing value in a nullable column":
        return  # a NaN, as of floats
    limits = (0,) if check in (checks.integers, checks.integer) else ()
    with pytest.raises(ValueError, match=r"^weights must be "):
        check("weights", NOT_NUMBERS[kind], *limits)


def test_numbers_that_need_not_be_finite():
    np.testing.assert_array_equal(
        checks.numeric("x", [np.nan, np.inf]), [np.nan, np.inf]
    )


@pytest.mark.parametrize(
    ("message", "check", "arguments", "ends"),
    [
        (
            r"p must be real numbers: Python or NumPy .* got a masked array",
            checks.real,
            ["p", np.ma.masked],
            {},
        ),
        (
            r".* got an array of dtype complex128",
            checks.real,
            ["p", NOT_NUMBERS["complex numbers"]],
            {},
        ),
        (r".* got the boolean True", checks.real, ["p", [0.5, True]], {}),
        (
            r"x must be in \(0, 1\], got -3",
            checks.real,
            ["x", [0.5, -3, 7], 0, 1],
            {"open_low": True},
        ),
        (
            r"x must be in \[0, 1\), got 1",
            checks.scalar,
            ["x", 1, 0, 1],
            {"open_high": True},
        ),
        (
            r"x must be one number, got an array of shape \(1,\)",
            checks.scalar,
            ["x", [1]],
            {},
        ),
        (
            r"n must be integers from 0 to 3, got 2.5",
            checks.integers,
            ["n", [1, 2.5], 0, 3],
            {},
        ),
    ],
)
def test_the_refusal_names_the_kind_the_first_offender_and_the_range(
    message, check, arguments, ends
):
    with pytest.raises(ValueError, match=f"^{message}$"):
        check(*arguments, **ends)


@pytest.mark.parametrize("kind", ONE_NUMBER)
def test_one_number_is_welcome_in_any_real_kind(kind):
    value = ONE_NUMBER[kind]
    assert (
        checks.scalar("x", value, 0.0)
        == checks.real("x", value)
        == checks.integer("n", value, 0)
        == 1
    )
    assert checks.integers("n", value, 0).shape == () and checks.size(
        "size", value
    ) == (1,)
    assert (
        type(checks.scalar("x", value)) is float
        and type(checks.integer("n", value, 0)) is int
    )


@pytest.mark.parametrize("kind", NUMBERS)
def test_several_numbers_are_welcome_in_any_real_kind(kind):
    value = NUMBERS[kind]
    assert (
        checks.real("x", value).tolist()
        == checks.integers("n", value, 0).tolist()
        == [1, 2]
    )
    assert checks.size("size", value) == (1, 2)


def test_a_table_of_numbers_is_welcome():
    table = pd.DataFrame({"a": [1, 2], "b": [0.5, 0.25]})
    assert checks.real("x", table).tolist() == [[1, 0.5], [2, 0.25]]


@pytest.mark.parametrize(
    "value", [1.5, -1, float("nan"), float("inf"), [1], np.zeros(1)]
)
def test_what_is_no_integer_in_range_is_refused(value):
    with pytest.raises(ValueError, match=r"^n must be an integer of at least 0, got"):
        checks.integer("n", value, 0)


def test_large_integers_stay_exact():
    assert checks.integer("n", 10**30, 0, None) == 10**30
    assert checks.integers("n", [2**62 + 1], 0).tolist() == [2**62 + 1]
    assert checks.integers("n", np.array([2**53 + 1]), 0).tolist() == [2**53 + 1]
    with pytest.raises(ValueError, match=r"^n must be integers"):
        checks.integers("n", [2**63], 0)


def test_a_size_is_nothing_a_length_or_several():
    assert checks.size("size", None) == () and checks.size("size", 3) == (3,)
    assert (
        checks.size("size", [2, 0]) == checks.size("size", np.array([2, 0])) == (2, 0)
    )
    for bad in (-1, 1.5, "2", [1, -1], True, np.ma.masked_array([2], [True]), [[1]]):
        with pytest.raises(ValueError, match=r"^size must be"):
            checks.size("size", bad)


@pytest.mark.parametrize("size", [2**50, 2**61])
def test_a_result_that_no_memory_holds_is_refused_by_the_name_of_its_size(size):
    def draw(size):
        return np.empty(size)

    with pytest.raises(ValueError, match=r"^size must be smaller, .* memory \("):
        checks.fits_into_memory("size")(draw)(size)
    for error in (ValueError("another"), TypeError("another")):

        def fails(error=error):
            raise error

        with pytest.raises(type(error), match=r"^another$"):
            checks.fits_into_memory("size")(fails)()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda n: noise.geometric(1.0, n), "size"),
        (lambda n: dirichlet.dirichlet_mechanism([0.5, 0.5], 9, size=n), "size"),
        (lambda n: dirichlet.noisy_matrix([[1.0]], 1.0, "laplace", size=n), "size"),
        (lambda n: boltzmann.add_zero_sum_laplace([3, 4], 1.0, size=n), "size"),
        (lambda n: boltzmann.sample_exact([3, 4], 1.0, size=n), "size"),
        (lambda n: words.draw_distances([1, 2], 1.0, size=n), "size"),
        (lambda n: markov.random_walk(np.eye(2), 0, n), "steps or size"),
    ],
)
def test_every_function_with_a_size_refuses_one_beyond_memory(call, name):
    with pytest.raises(ValueError, match=rf"^{name} must be smaller"):
        call(2**50)


def test_sums_within_roundings_are_left_bit_for_bit_and_printed_digits_renormalised():
    exact = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
    exact[0, 0] += 2e-15
    assert (checks.simplex("p", exact) == exact).all()
    both = np.array([exact[0], [0.333333, 0.333333, 0.333333]])
    made = checks.simplex("p", both)
    assert (made[0] == exact[0]).all() and made[1].tolist() == [1 / 3] * 3
    assert both[1, 0] == 0.333333, "what is given stays as it is"
    assert abs(checks.simplex("p", np.float32([0.1, 0.2, 0.7])).sum() - 1) < 1e-15


@pytest.mark.parametrize("off", [1.1e-6, -1.1e-6])
def test_other_sums_are_refused_with_row_and_sum(off):
    rows = np.full((2, 3, 2), 0.5)
    rows[1, 2, 0] += off
    said = rf"^p row \(1, 2\) must sum to 1 within 1e-06, got {1 + off:.10g}: markov"
    with pytest.raises(ValueError, match=said):
        checks.simplex("p", rows)
    with pytest.raises(
        ValueError,
        match=(
            f"^p must sum to 1 within 1e-06, got {1 + off:.10g}: markov.transition_matr"
        ),
    ):
        checks.simplex("p", rows[1, 2])
    for empty in (0.5, [], np.zeros((2, 0))):
        with pytest.raises(ValueError, match=r"^p must have at least one category"):
            checks.simplex("p", empty)


def test_plain_makes_numbers_of_0d_arrays():
    assert isinstance(checks.plain(np.array(1.5)), np.float64) and isinstance(
        checks.plain(2.5), np.float64
    )
    array = np.ones(2)
    assert checks.plain(array) is not None and (checks.plain(array) == array).all()


def test_generators():
    assert checks.generator(3).random() == np.random.default_rng(3).random()
    rng = np.random.default_rng()
    assert checks.generator(rng) is rng
    assert checks.generator(None).random() != checks.generator(None).random()
    with pytest.raises(
        ValueError, match=r"^rng must be an integer of at least 0, got -1"
    ):
        checks.generator(-1)
    for other in (1.0, True, "1", np.random.RandomState(1), np.random.PCG64(1)):
        with pytest.raises(
            TypeError,
            match=r"^rng must be a numpy.random.Generator, an integer or None",
        ):
            checks.generator(other)


@pytest.mark.parametrize(("value", "end"), [(0.0, "open_low"), (1.0, "open_high")])
def test_an_open_range_excludes_its_end_and_a_closed_one_has_it(value, end):
    for accepts in (checks.real, checks.scalar):
        assert accepts("x", value, 0.0, 1.0) == value
        with pytest.raises(ValueError, match=r"^x must be in [\[(]0, 1[\])], got"):
            accepts("x", value, 0.0, 1.0, **{end: True})
