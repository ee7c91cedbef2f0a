"""Wrong weights, cells, columns and parameters: one sentence that says what to do, before anything is computed."""

import datetime
import inspect
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import dualboost
from dualboost import (
    AdaBoostClassifier,
    LPBoostClassifier,
    MABoostClassifier,
    MarginBoostClassifier,
    audit,
    diagnose,
    solve,
)
from dualboost.diagnosis import dual_optimum
from fitted import quick

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
FRAME = pd.DataFrame(X, columns=list("abc"))
DATES = pd.date_range("1971-01-01", periods=N, freq="30D")
HUGE = 10**400
NAMES = [name for name in dualboost.__all__ if name.endswith("Classifier")]


def model(**parameters):
    return AdaBoostClassifier(**{"n_estimators": 5, "calibrate": False, **parameters})


def refusal(work, *arguments, **named) -> str:
    """The one sentence of a refusal."""
    with pytest.raises(ValueError) as told:
        work(*arguments, **named)
    words = str(told.value)
    assert words.endswith(".") and "\n" not in words and len(words) < 300, words
    return words


def column(*last) -> list:
    """Numbers and, at the end, some other cell."""
    return [1.5] * (N - len(last)) + list(last)


def objects(cells) -> np.ndarray:
    made = np.empty((N, 1), dtype=object)
    made[:, 0] = cells
    return made


# ---- weights --------------------------------------------------------------------------------------------------------

NO_WEIGHTS = {
    "dates of pandas": pd.Series(DATES),
    "dates with a zone": pd.Series(DATES.tz_localize("UTC")),
    "categories of dates": pd.Series(pd.Categorical(DATES)),
    "dates of numpy": DATES.to_numpy(),
    "years": DATES.to_numpy().astype("datetime64[Y]"),
    "dates of polars": pl.Series(list(DATES)),
    "dates of Arrow": pa.array(DATES.to_numpy()),
    "a list of dates": [datetime.date(2000, 1, 1)] * N,
    "one date": column(datetime.date(2000, 1, 1)),
    "durations": pd.Series(DATES - DATES[0]),
    "durations of numpy": (DATES - DATES[0]).to_numpy(),
    "a list of durations": [datetime.timedelta(1)] * N,
    "complex": np.full(N, 1 + 1j),
    "a list of complex": [1 + 1j] * N,
    "huge": column(HUGE),
    "huge fractions": column(Fraction(HUGE)),
    "text": column("heavy"),
    "sets": column({1}),
    "signalling": column(Decimal("sNaN")),
    "lists": [[1.0], [1.0, 2.0]] * (N // 2),
    "sparse": sp.csr_matrix(np.ones((N, 1))),
    "periods": pd.Series(pd.period_range("2000-01", periods=N, freq="M")),
}


@pytest.mark.parametrize("kind", NO_WEIGHTS)
@pytest.mark.parametrize("table", [X, FRAME.assign(d=pd.Categorical(["u", "v"] * (N // 2)))], ids=["array", "frame"])
def test_weights_that_are_no_numbers_are_refused(kind, table):
    words = refusal(model().fit, table, Y, sample_weight=NO_WEIGHTS[kind])
    assert words.startswith("sample_weight ")
    if "date" in kind or "duration" in kind:
        assert words.startswith("sample_weight holds dates, times or durations: give a plain number for each row")
    assert ("no float can hold" in words) == ("huge" in kind)
    assert ("holds complex numbers" in words) == ("complex" in kind)


SIGNS = np.sign(X)
WEIGHED = {
    "solve": lambda weights: solve(SIGNS, sample_weight=weights),
    "diagnose a matrix": lambda weights: diagnose(SIGNS, sample_weight=weights),
    "diagnose": lambda weights: diagnose(X, Y, sample_weight=weights),
    "dual optimum": lambda weights: dual_optimum(SIGNS, sample_weight=weights),
    "audit": lambda weights: audit(X, Y, sample_weight=weights),
}


@pytest.mark.parametrize("kind", ["dates of pandas", "a list of durations", "complex", "huge", "text", "lists"])
@pytest.mark.parametrize("use", WEIGHED)
def test_whoever_takes_weights_takes_numbers(use, kind):
    assert refusal(WEIGHED[use], NO_WEIGHTS[kind]).startswith("sample_weight ")


@pytest.mark.parametrize("kind", NO_WEIGHTS)
def test_caps_and_the_weights_beside_them_are_numbers_too(kind):
    assert "caps" in refusal(MABoostClassifier().fit, X, Y, caps=NO_WEIGHTS[kind])
    words = refusal(MABoostClassifier().fit, X, Y, caps=[0.1] * N, sample_weight=NO_WEIGHTS[kind])
    assert "sample_weight" in words


def test_the_weights_of_held_out_rows_are_numbers_too():
    words = refusal(model().fit, X, Y, eval_set=(X, Y, DATES.to_numpy()))
    assert words.startswith("eval_set: sample_weight holds dates")


@pytest.mark.parametrize(
    "weights",
    [
        [2] * N,
        [Decimal(2)] * N,
        [Fraction(2)] * N,
        ["2"] * N,
        pd.Series([2] * N, dtype="Int64"),
        pl.Series([2] * N),
        pa.array([2] * N),
        2,
    ],
    ids=["list", "decimals", "fractions", "digits", "nullable", "polars", "Arrow", "one for all"],
)
def test_weights_of_every_kind_of_number_are_one_model(weights):
    plain = model().fit(X, Y).decision_function(X)
    np.testing.assert_array_equal(model().fit(X, Y, sample_weight=weights).decision_function(X), plain)


def test_one_weight_for_all_rows_leaves_their_caps_alone():
    votes = [
        MABoostClassifier(max_iter=5, calibrate=False).fit(X, Y, sample_weight=w, caps=[0.05] * N).decision_function(X)
        for w in (3.0, [3.0] * N)
    ]
    np.testing.assert_array_equal(*votes)


# ---- cells ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [HUGE, Fraction(HUGE), -HUGE], ids=["whole", "fraction", "negative"])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_a_frame_may_hold_a_number_that_is_too_large(library, number):
    small, large = ({"a": pd.Series(cells, dtype=object)} for cells in (column(2.5), column(number)))
    if library == "polars":
        small, large = (pl.DataFrame({"a": pl.Series(list(d["a"]), dtype=pl.Object)}) for d in (small, large))
    else:
        small, large = pd.DataFrame(small), pd.DataFrame(large)
    expected = "Column 'a' holds a number that no float can hold: make it smaller, or drop it."
    assert refusal(model().fit, large, Y) == expected
    assert refusal(model().fit(small, Y).predict, large) == expected


@pytest.mark.parametrize(
    "make",
    [
        lambda cells: pd.DataFrame({"a": pd.Series(cells, dtype=object)}),
        lambda cells: pl.DataFrame({"a": pl.Series(cells, dtype=pl.Object)}),
        objects,
    ],
    ids=["pandas", "polars", "array"],
)
def test_a_signalling_decimal_is_missing(make):
    cells = [Decimal(k % 7) for k in range(N - 1)]
    loud, quiet = make([*cells, Decimal("sNaN")]), make([*cells, None])
    fits = [model().fit(table, Y) for table in (loud, quiet)]
    for table in (loud, quiet):
        votes = [fitted.decision_function(table) for fitted in fits]
        np.testing.assert_array_equal(votes[0], votes[1])
    np.testing.assert_array_equal(fits[0].decision_function(loud), fits[0].decision_function(quiet))


@pytest.mark.parametrize("cell", [{1}, {1: 2}, object(), len, int], ids=["set", "dict", "object", "function", "type"])
@pytest.mark.parametrize("others", ["all", "one"])
def test_cells_that_are_never_numbers_are_named(cell, others):
    table = objects([cell] * N if others == "all" else column(cell))
    fitted = model().fit(X[:, :1], Y)
    for work in (lambda: model().fit(table, Y), lambda: fitted.predict(table)):
        words = refusal(work)
        assert words.startswith(f"X holds cells that are no numbers, such as one of type {type(cell).__name__}: make ")
        with pytest.raises(TypeError):  # scikit-learn's checks want this one
            work()


@pytest.mark.parametrize("table", [{"a": [1.0]}, (row for row in X)], ids=["dict", "generator"])
def test_what_is_no_table_is_named(table):
    words = refusal(model().fit, table, Y)
    assert words == f"X must be a table of numbers with rows and columns, not {type(table).__name__}."


class Protocol:
    """A table that shows itself by one protocol only."""

    def __init__(self, name: str, frame):
        setattr(type(self), name, lambda _, *rest, **named: getattr(frame, name)(*rest, **named))


def exchanged():
    return FRAME.__dataframe__()


def of_interchange():
    return type("Interchange", (Protocol,), {})("__dataframe__", FRAME)


def of_arrow():
    return type("Stream", (Protocol,), {})("__arrow_c_stream__", pa.table(FRAME))


@pytest.mark.parametrize(
    ("make", "reader"),
    [
        (exchanged, "pyarrow.interchange.from_dataframe(X)"),
        (of_interchange, "pyarrow.interchange.from_dataframe(X)"),
        (of_arrow, "pyarrow.table(X)"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*interchange")
def test_a_protocol_is_no_frame(make, reader):
    """But the sentence names what makes one of it."""
    fitted, found = model().fit(FRAME, Y), make()
    for words in (refusal(model().fit, found, Y), refusal(fitted.predict, found)):
        assert words.startswith(f"X is of type {type(found).__name__}, which has __") and f"give {reader}." in words
    from pyarrow import interchange

    table = pa.table(found) if "table" in reader else interchange.from_dataframe(found)
    np.testing.assert_array_equal(fitted.decision_function(table), fitted.decision_function(FRAME))


RUNS = {
    "doubles": [1.5, 2.5, 0.5],
    "whole numbers": [1, None, 3],
    "truth values": [True, False, None],
    "decimals": [Decimal("1.50"), Decimal("2.50"), None],
    "categories": ["u", "v", None],
}


def runs(kind: str) -> pa.Table:
    """Two chunks with run ends, the second of which begins inside a run."""
    values = pa.array(RUNS[kind])
    values = values.dictionary_encode() if kind == "categories" else values
    whole = pa.RunEndEncodedArray.from_arrays(pa.array([10, 25, 30], pa.int32()), values)
    return pa.table({"a": pa.chunked_array([whole, whole.slice(5), whole.slice(0, 5)])})


def written_out(kind: str) -> pa.Table:
    first, second, third = RUNS[kind]
    whole = [first] * 10 + [second] * 15 + [third] * 5
    column = pa.array(whole + whole[5:] + whole[:5])
    return pa.table({"a": column.dictionary_encode() if kind == "categories" else column})


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize("library", ["Arrow", "batches", "pandas"])
def test_columns_with_run_ends_are_columns(kind, library):
    encoded, plain = runs(kind), written_out(kind)
    if library == "batches":
        encoded = encoded.combine_chunks().to_batches()[0]
    elif library == "pandas":
        encoded = pd.DataFrame({"a": pd.Series(pd.arrays.ArrowExtensionArray(encoded.column(0)))})
    labels = np.arange(N) % 4 > 0
    fits = [model().fit(table, labels) for table in (encoded, plain)]
    assert fits[0].categories_ == fits[1].categories_
    expected = fits[1].decision_function(plain)
    np.testing.assert_array_equal(fits[0].decision_function(encoded), expected)
    np.testing.assert_array_equal(fits[1].decision_function(encoded), expected)


def test_text_with_run_ends_is_text():
    table = pa.table({"a": pa.RunEndEncodedArray.from_arrays(pa.array([30, 60]), pa.array(["u", "v"]))})
    assert refusal(model().fit, table, Y).startswith("Column 'a' holds text: make categories of it with")
    frame = pd.DataFrame({"a": pd.Series(pd.arrays.ArrowExtensionArray(table.column(0)))})
    assert refusal(model().fit, frame, Y).startswith("Column 'a' holds text: make categories of it with")


def test_large_whole_numbers_with_run_ends_are_still_held_apart():
    keys = pa.RunEndEncodedArray.from_arrays(pa.array([30, 60]), pa.array([2**60, 2**60 + 1]))
    table = pa.table({"a": keys})
    for given in (table, pd.DataFrame({"a": pd.Series(pd.arrays.ArrowExtensionArray(table.column(0)))})):
        assert "are one number in floating point" in refusal(model().fit, given, Y)


# ---- columns --------------------------------------------------------------------------------------------------------

LIBRARIES = {
    "pandas": (lambda frame: frame, "X[list(model.feature_names_in_)]"),
    "polars": (pl.from_pandas, "X[list(model.feature_names_in_)]"),
    "Arrow": (pa.Table.from_pandas, "X.select(list(model.feature_names_in_))"),
}
CHANGES = {
    "order": (lambda frame: frame[list(frame.columns[::-1])], "must be in the same order", "Give "),
    "new": (lambda frame: frame.assign(z=1.0), "unseen at fit time:\n- z\n", "Give "),
    "missing": (
        lambda frame: frame.drop(columns="b"),
        "now missing:\n- b\n",
        "Rename or add what is missing, then give ",
    ),
    "renamed": (
        lambda frame: frame.rename(columns={"b": "q"}),
        "unseen at fit time:\n- q\n",
        "Rename or add what is missing, then give ",
    ),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("large", [False, True])
def test_other_columns_are_named_and_what_to_give(library, change, categories, large, monkeypatch):
    """After scikit-learn's words, which its own checks look for."""
    monkeypatch.setattr("dualboost.estimators.new_rows._SMALL", 1 if large else 10**6)
    (convert, choice), (alter, listed, advice) = LIBRARIES[library], CHANGES[change]
    frame = FRAME.assign(d=pd.Categorical(["u", "v"] * (N // 2))) if categories else FRAME
    fitted, other = model().fit(frame, Y), convert(alter(frame))
    with pytest.raises(ValueError, match=r"^The feature names should match those that were passed during fit") as told:
        fitted.predict(other)
    assert listed in str(told.value)
    last = str(told.value).split("\n")[-1]
    assert last == f"{advice}{choice}: the columns of the fit, in their order."
    if change in ("order", "new"):
        given = eval(choice, {"X": other, "model": fitted})  # what it says is what helps
        np.testing.assert_array_equal(fitted.decision_function(given), fitted.decision_function(frame))


# ---- parameters -----------------------------------------------------------------------------------------------------


def with_parameter(name: str) -> list[str]:
    return [kind for kind in NAMES if name in inspect.signature(getattr(dualboost, kind)).parameters]


@pytest.mark.parametrize("kind", with_parameter("random_state"))
def test_a_seed_is_a_seed(kind):
    wrong = ("a", 1.5, True, np.True_, -1, 1 << 32, [1], np.random.default_rng(0), FRAME)
    for seed in wrong:
        words = refusal(quick(kind, random_state=seed).fit, X, Y)
        assert words.startswith("random_state must be None, a whole number from 0 to 4294967295 or a numpy.random.Ra")
    for seed in (None, 0, (1 << 32) - 1, np.int64(3), np.random.RandomState(0)):
        quick(kind, random_state=seed, max_iter=2).fit(X, Y)


def test_the_random_numbers_of_numpy_itself_are_a_seed():
    fitted = LPBoostClassifier(calibrate=False, max_iter=2, random_state=np.random).fit(X, Y)
    assert 0 < fitted.nu_ <= 1


@pytest.mark.parametrize("kind", with_parameter("verbose"))
def test_verbose_is_a_number(kind, capsys):
    for verbose in ("x", None, 1.5, [1], FRAME):
        words = refusal(quick(kind, verbose=verbose).fit, X, Y)
        assert words.startswith("verbose must be 0, or 1 for a progress bar, not ")
    for verbose in (0, 1, True, False, np.int64(1), np.True_):
        quick(kind, verbose=verbose, max_iter=2, bags=2).fit(X, Y)


@pytest.mark.parametrize("kind", with_parameter("nu"))
def test_nu_is_no_truth_value(kind):
    for nu in (True, np.True_):
        assert refusal(quick(kind, nu=nu).fit, X, Y) == f'nu must be a number or "auto", not {nu!r}.'


def test_smoothness_is_no_truth_value():
    assert "at least 1, not True" in refusal(MABoostClassifier(smoothness=True).fit, X, Y)


def test_sentences_about_values_hold_no_table():
    for fit in (
        LPBoostClassifier(random_state=FRAME).fit,
        MarginBoostClassifier(0.2, verbose=FRAME).fit,
    ):
        assert refusal(fit, X, Y).endswith("not a value of type DataFrame.")
