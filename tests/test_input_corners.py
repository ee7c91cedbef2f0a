"""Corners of the input: numbers that merge unseen, masks, no rows, odd cells, names and labels no file can hold."""

import array
import datetime
import os
import re
import warnings
from collections import deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from dualboost import (
    AdaBoostClassifier,
    LogisticMixtureClassifier,
    MABoostClassifier,
    MarginBoostClassifier,
    SmoothBoostClassifier,
    Training,
    diagnose,
    explain,
    load_model,
    save_model,
    solve,
)
from dualboost.diagnosis import bregman_projection, dual_optimum
from dualboost.frames import check_whole_numbers
from dualboost.learners import Matrix
from dualboost.rows import Rows, refuse_masked
from dualboost.storage.container import read, write

ROWS = 20
Y = [0, 1] * (ROWS // 2)
X = np.random.default_rng(0).normal(size=(ROWS, 3))
BASE = 2**60
WHOLE = [BASE + k for k in range(ROWS)]
APART = [BASE + 256 * k for k in range(ROWS)]
MERGE = r"^Column .* holds 1152921504606846976 and 1152921504606846977, which are one number in floating .* are: .*\.$"
FRACTIONS = r"^Column 0 holds .*, which are one number in floating point: subtract .*, or round it\.$"


def model():
    return AdaBoostClassifier(n_estimators=3, calibrate=False)


def objects(cells) -> np.ndarray:
    made = np.empty((ROWS, 1), dtype=object)
    made[:, 0] = list(cells)
    return made


class Numbered:
    """A whole number of somebody else's."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value

    def __float__(self):
        return float(self.value)


class Table:
    """What NumPy can make an array of."""

    def __init__(self, values):
        self.values, self.shape = values, values.shape

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)

    def __len__(self):
        return len(self.values)


def fields(values) -> np.ndarray:
    made = np.zeros((ROWS, 1), dtype=[("key", np.int64)])
    made["key"][:, 0] = values
    return made


def column(values) -> np.ndarray:
    return np.array(values, dtype=np.int64)[:, None]


# ---- whole numbers that merge ---------------------------------------------------------------------------------------

TABLES = {
    "objects, int64": lambda values: objects(map(np.int64, values)),
    "objects, uint64": lambda values: objects(map(np.uint64, values)),
    "objects, fractions": lambda values: objects(map(Fraction, values)),
    "objects, long doubles": lambda values: objects(map(np.longdouble, values)),
    "objects, text": lambda values: objects(map(str, values)),
    "objects, bytes": lambda values: objects(str(value).encode() for value in values),
    "objects, numbered": lambda values: objects(map(Numbered, values)),
    "objects, some missing": lambda values: objects([*values[:-2], None, np.nan]),
    "text": lambda values: column(values).astype(str),
    "bytes": lambda values: column(values).astype(str).astype("S"),
    "strings of NumPy": lambda values: column(values).astype(str).astype(np.dtypes.StringDType()),
    "lists with floats": lambda values: [[value, 0.5] for value in values],
    "lists of NumPy's numbers": lambda values: [(np.int64(value), 0.5) for value in values],
    "lists of text": lambda values: [[str(value)] for value in values],
    "rows of arrays": lambda values: [array.array("q", [value]) for value in values],
    "a queue": lambda values: deque([value, 0.5] for value in values),
    "one field": fields,
    "a view": lambda values: memoryview(column(values)),
    "an array of somebody else's": lambda values: Table(column(values)),
    "masked": lambda values: np.ma.masked_array(column(values), mask=np.arange(ROWS)[:, None] > 15),
    "pandas, objects": lambda values: pd.DataFrame({"key": pd.Series(list(map(np.int64, values)), dtype=object)}),
    "pandas, fractions": lambda values: pd.DataFrame({"key": list(map(Fraction, values)), "b": [True, None] * 10}),
    "pandas, long doubles": lambda values: pd.DataFrame({"key": np.array(values, dtype=np.longdouble)}),
    "sparse, by columns": lambda values: sp.csc_array(column(values)),
    "sparse, triples": lambda values: sp.coo_matrix(column(values)),
}


@pytest.mark.parametrize("kind", TABLES)
def test_whole_numbers_that_would_merge_are_refused_in_every_kind_of_table(kind):
    with pytest.raises(ValueError, match=MERGE):
        model().fit(TABLES[kind](WHOLE), Y)


@pytest.mark.parametrize("kind", TABLES)
def test_large_whole_numbers_that_stay_apart_pass(kind):
    table = TABLES[kind](APART)
    assert model().fit(table, Y).predict(table).shape == (ROWS,)


@pytest.mark.parametrize(
    "cells",
    [
        [Decimal(f"1.{k:017d}") for k in range(ROWS)],
        [Fraction(1, 3) + Fraction(k, 10**17) for k in range(ROWS)],
        [1, Fraction(1) + Fraction(1, 10**17)] * (ROWS // 2),
        [Decimal("0.5"), Fraction(1, 2) + Fraction(1, 10**17)] * (ROWS // 2),
    ],
    ids=["decimals", "fractions", "beside an int", "of two types"],
)
def test_steps_that_a_double_does_not_have_are_refused(cells):
    with pytest.raises(ValueError, match=FRACTIONS):
        model().fit(objects(cells), Y)


@pytest.mark.skipif(np.finfo(np.longdouble).eps == np.finfo(np.float64).eps, reason="long doubles are doubles here")
def test_steps_of_long_doubles():
    fine = (1 + np.arange(ROWS) * np.longdouble(2) ** -58)[:, None]  # coarser than what rounding leaves
    with pytest.raises(ValueError, match=r"^Column 0 holds 1 and 1\.00000000000000000\d+, which are one number"):
        model().fit(fine, Y)
    model().fit(np.linspace(0, 1, ROWS, dtype=np.longdouble)[:, None], Y)  # inexact as doubles, and still apart
    with pytest.raises(ValueError, match=r"^Column 0 holds a number that no float can hold"):
        model().fit(np.array([np.longdouble("1e400"), 1.0] * 10)[:, None], Y)


@pytest.mark.parametrize(
    "cells",
    [
        [Decimal(k) / 10 for k in range(ROWS)],
        [0.1, Decimal("0.1")] * 10,
        ["0.1", "0.10000000000000001"] * 10,
        [float(BASE), BASE + 1] * 10,
        [None, np.nan, Decimal("NaN"), "nan"] * 5,
    ],
    ids=["decimals", "a float and its decimal", "two texts of one float", "a float for a neighbour", "missing"],
)
def test_what_is_a_double_already_or_its_text_passes(cells):
    model().fit(objects(cells), Y)


def test_a_table_of_doubles_is_not_looked_at(monkeypatch):
    monkeypatch.setattr(np, "unique", None)
    check_whole_numbers(np.full((ROWS, 2), 2.0**60), None)
    check_whole_numbers(np.arange(2 * ROWS).reshape(ROWS, 2), None)
    with pytest.raises(TypeError):
        check_whole_numbers(column(WHOLE), None)


def test_sparse_columns_are_judged_one_by_one():
    table = sp.csr_matrix(np.array([[2**60, 0], [0, 2**60 + 1]] * 10))
    assert model().fit(table, Y).score(table, Y) == 1.0
    for make in (sp.csr_matrix, sp.csc_array, sp.lil_array):
        with pytest.raises(ValueError, match=MERGE.replace(".*", "1", 1)):
            model().fit(make(np.array([[0, 2**60], [2**60, 2**60 + 1]] * 10)), Y)


# ---- masks ----------------------------------------------------------------------------------------------------------

MASKED = r"^{} is a masked array, and 2 of its values are missing: fill them in, or drop these rows\.$"
MARGINS = np.where(X > 0, 1.0, -1.0)
HIDDEN = np.ma.masked_array(np.ones(ROWS), mask=np.arange(ROWS) < 2)
HIDDEN_MARGINS = np.ma.masked_array(MARGINS, mask=np.arange(3 * ROWS).reshape(ROWS, 3) // 2 == 4)

MASKS = {
    "weights of a fit": ("sample_weight", lambda: model().fit(X, Y, sample_weight=HIDDEN)),
    "weights of rows to judge by": (
        "eval_set: sample_weight",
        lambda: model().set_params(training=Training(patience=2)).fit(X, Y, eval_set=(X, Y, HIDDEN)),
    ),
    "groups": ("groups", lambda: MABoostClassifier(group_caps={1.0: 0.8}).fit(X, Y, groups=HIDDEN)),
    "secondary": ("secondary", lambda: SmoothBoostClassifier(2).fit(X, Y, secondary=HIDDEN == 1)),
    "rows": ("The vector of row weights", lambda: Rows.of(HIDDEN)),
    "weights of a game": ("sample_weight", lambda: solve(MARGINS, sample_weight=HIDDEN)),
    "weights of a diagnosis": ("sample_weight", lambda: diagnose(MARGINS, sample_weight=HIDDEN)),
    "weights of a dual": ("sample_weight", lambda: dual_optimum(MARGINS, sample_weight=HIDDEN)),
    "weights to project": ("d", lambda: bregman_projection(MARGINS, HIDDEN)),
    "margins of a game": ("The margin matrix", lambda: solve(HIDDEN_MARGINS)),
    "margins of a diagnosis": ("The margin matrix", lambda: diagnose(HIDDEN_MARGINS)),
    "margins of a dual": ("The margin matrix", lambda: dual_optimum(HIDDEN_MARGINS)),
    "margins of a learner": ("The margin matrix", lambda: Matrix().bind(HIDDEN_MARGINS, None, Rows.of(ROWS))),
}


@pytest.mark.parametrize("place", MASKS)
def test_what_a_mask_hides_is_not_taken_for_a_value(place):
    name, call = MASKS[place]
    with pytest.raises(ValueError, match=MASKED.format(name)):
        call()


def test_a_mask_that_hides_nothing_is_none():
    bare, open_ = np.ones(ROWS), np.ma.masked_array(np.ones(ROWS), mask=np.zeros(ROWS, dtype=bool))
    refuse_masked("anything", open_)
    refuse_masked("anything", None)
    expected = model().fit(X, Y, sample_weight=bare).decision_function(X)
    np.testing.assert_array_equal(model().fit(X, Y, sample_weight=open_).decision_function(X), expected)
    margins = np.ma.masked_array(MARGINS)
    assert solve(margins).objective == solve(MARGINS).objective
    assert diagnose(margins).regime == diagnose(MARGINS).regime


def test_masked_features_of_a_diagnosis_are_missing():
    hidden = np.ma.masked_array(X, mask=np.arange(3 * ROWS).reshape(ROWS, 3) % 7 == 0)
    plain = diagnose(hidden.filled(np.nan), Y)
    np.testing.assert_array_equal(diagnose(hidden, Y).hard_core, plain.hard_core)
    np.testing.assert_array_equal(diagnose(hidden, Y).direction, plain.direction)
    assert not np.array_equal(diagnose(hidden, Y).direction, diagnose(X, Y).direction)


# ---- no rows, odd cells ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classifier", [AdaBoostClassifier(), MarginBoostClassifier(), LogisticMixtureClassifier()])
@pytest.mark.parametrize("empty", [np.empty((0, 3)), pd.DataFrame({"a": np.empty(0)})], ids=["array", "frame"])
def test_no_rows(classifier, empty):
    for labels in ([], (), np.empty(0), np.empty(0, dtype=object)):
        with pytest.raises(ValueError, match=r"^Found array with 0 sample"):
            classifier.fit(empty, labels)


def test_no_labels():
    with pytest.raises(ValueError, match=re.escape("inconsistent numbers of samples: [20, 0]")):
        model().fit(X, [])


@pytest.mark.parametrize("form", ["objects", "lists", "masked"])
def test_the_missing_value_of_pandas_is_missing(form):
    cells = objects([1, pd.NA, 2, None] * 5)
    if form == "masked":
        cells = np.ma.masked_array(cells, mask=np.arange(ROWS)[:, None] % 4 == 3)
    table = cells.tolist() if form == "lists" else cells
    expected = np.array([1.0, np.nan, 2.0, np.nan] * 5)[:, None]
    fitted = model().fit(table, Y)
    np.testing.assert_array_equal(fitted.decision_function(table), model().fit(expected, Y).decision_function(expected))


def test_complex_cells_are_refused():
    cells = objects([1.0, 1j] * 10)
    fitted = model().fit(np.arange(ROWS, dtype=float)[:, None], Y)
    for table in (cells, cells.tolist(), cells.astype(complex), objects([1.0, np.complex64(1j)] * 10)):
        for call in (lambda given: model().fit(given, Y), fitted.predict):
            with pytest.raises(ValueError, match=r"^Complex data not supported: give .* as columns of their own.*\.$"):
                call(table)


def test_cells_that_are_nothing_we_know_stay_what_scikit_learn_says_of_them():
    with pytest.raises(TypeError, match="argument must be a string or a real number"):
        model().fit(objects([1, {}] * 10), Y)


# ---- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [237, 238, 255])
def test_a_name_may_be_as_long_as_names_can_be(tmp_path, length):
    fitted = model().fit(X, Y)
    save_model(fitted, tmp_path / ("m" * length))
    np.testing.assert_array_equal(load_model(tmp_path / ("m" * length)).predict(X), fitted.predict(X))
    assert [entry.name for entry in tmp_path.iterdir()] == ["m" * length]


def test_what_was_begun_is_removed_and_what_was_there_stays(tmp_path, monkeypatch):
    target, seen = tmp_path / "data", []
    write(target, {"which": "old"}, {})

    def fail(source, _):
        seen.append(os.fspath(source))
        raise OSError("full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="full"):
            write(target, {"which": "new"}, {})
    assert os.path.dirname(seen[0]) == os.fspath(tmp_path) and len(os.path.basename(seen[0])) < 20
    assert [entry.name for entry in tmp_path.iterdir()] == ["data"] and read(target, 1 << 20)[0]["which"] == "old"


@pytest.mark.parametrize("kind", ["U", object])
def test_labels_with_half_a_character(kind):
    labels = np.array(["\ud800", "b"] * 10, dtype=kind)
    with pytest.raises(ValueError, match=r"^y has the label '\\ud800', which holds half a character and .*: rename it"):
        model().fit(X, labels)


def test_categories_with_half_a_character(tmp_path):
    fitted = model().fit(pd.DataFrame({"a": pd.Categorical(pd.Series(["\ud800", "b"] * 10, dtype=object))}), Y)
    with pytest.raises(ValueError, match=r"^A name or category holds half a character, '\\ud800', which no file can"):
        save_model(fitted, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "cells",
    [
        [sum([Decimal("0.1") / 3] * k) / k for k in range(1, 30)],
        [Decimal(1), Decimal(1) / 3 + Decimal(1) / 3 + Decimal(1) / 3],
        [Decimal(0), Decimal("1E-400")],
        [Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**30)],
        ["1e1", "10", "9007199254740993"],
    ],
    ids=["means", "thirds", "tiny", "fractions", "digits"],
)
def test_rounding_of_decimals_is_no_reason_to_refuse(cells):
    check_whole_numbers(np.array(cells, dtype=object)[:, None], None)


def test_rounding_of_long_doubles_is_no_reason_to_refuse():
    tenth = np.longdouble(1) / 10
    steps = np.array([[tenth * k, np.longdouble(k) / 10] for k in range(1, 30)]).reshape(-1, 1)
    check_whole_numbers(steps, None)


@pytest.mark.parametrize("pair", [("9007199254740992", "9007199254740993"), ("1e20", "100000000000000000001")])
def test_digits_in_text_that_merge_are_refused(pair):
    with pytest.raises(ValueError, match="one number in floating point"):
        check_whole_numbers(np.array(pair, dtype=object)[:, None], None)


# ---- labels of categories that were never met -----------------------------------------------------------------------

SINGLE, DOUBLE = np.array([0.1, 0.7], dtype=np.float32), np.array([0.1, 0.7])
DAYS = datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)


def categories(labels, **other) -> pd.DataFrame:
    """As labels of two categories, in the order of Y."""
    return pd.DataFrame({"kind": pd.Categorical.from_codes(Y, pd.Index(labels, **other))})


def silent_scores(fitted, table) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return fitted.decision_function(table)


@pytest.mark.parametrize(
    ("then", "now"),
    [
        (categories(SINGLE), categories(DOUBLE)),
        (categories(DOUBLE), categories(SINGLE)),
        (categories(pd.to_datetime(DAYS)), categories(DAYS, dtype=object)),
        (categories(DAYS, dtype=object), categories(pd.to_datetime(DAYS))),
        (categories(pd.to_datetime(DAYS)), pl.DataFrame({"kind": [DAYS[k] for k in Y]})),
        (categories(DOUBLE), pa.table({"kind": pa.array(SINGLE[Y]).dictionary_encode()})),
    ],
    ids=["32 to 64", "64 to 32", "times to days", "days to times", "times to polars' days", "64 to Arrow's 32"],
)
def test_labels_of_another_width_are_the_same(then, now):
    fitted = model().fit(then, Y)
    np.testing.assert_array_equal(silent_scores(fitted, now), fitted.decision_function(then))


def test_one_label_of_another_width_is_no_reason_to_lose_the_others():
    fitted = model().fit(categories([0.1, 0.5]), Y)
    expected = fitted.decision_function(categories([0.1, 0.5]))
    np.testing.assert_array_equal(silent_scores(fitted, categories(np.array([0.1, 0.5], np.float32))), expected)


def test_labels_that_32_bits_do_not_tell_apart_are_not_rounded():
    close = categories([0.1, 0.1 + 1e-12])
    fitted = model().fit(close, Y)
    np.testing.assert_array_equal(fitted.predict(close), Y)
    with pytest.warns(UserWarning, match="holds no label"):
        fitted.predict(categories(np.array([0.1, 0.2], dtype=np.float32)))
    with pytest.warns(UserWarning, match="holds no label"):
        model().fit(categories([0.1, 0.3]), Y).predict(categories([0.1 + 1e-12, 0.3 + 1e-12]))
    with pytest.warns(UserWarning, match="holds no label"):
        model().fit(categories([20_000_001.0, 20_000_005.0]), Y).predict(categories([20_000_000.0, 20_000_004.0]))


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_a_column_of_labels_that_were_never_met_is_told_of(library):
    fitted = model().fit(categories(["Oslo", "Rome"]).assign(age=range(ROWS)), Y)
    ages = list(range(3))
    make = {
        "pandas": lambda towns: pd.DataFrame({"kind": pd.Categorical(towns, ["Ulm", "Bonn", "Oslo"]), "age": ages}),
        "polars": lambda towns: pl.DataFrame({"kind": pl.Series(towns, dtype=pl.Categorical), "age": ages}),
        "arrow": lambda towns: pa.table({"kind": pa.array(towns).dictionary_encode(), "age": ages}),
    }[library]
    told = (
        r"^Column 'kind' holds no label that was met in training, only such as '(Ulm|Bonn)' where there were "
        r"such as 'Oslo': all count as missing, so convert it if they mean the same\.$"
    )
    with pytest.warns(UserWarning, match=told):
        unmet = fitted.decision_function(make([None, "Ulm", "Bonn"]))
    with pytest.warns(UserWarning, match=told):
        fitted.predict(make(["Ulm", "Bonn", "Ulm"]))
    # A single label that is new is nothing unusual.
    np.testing.assert_array_equal(silent_scores(fitted, make(["Ulm"] * 3)), unmet)
    assert silent_scores(fitted, make(["Ulm", "Oslo", None])).shape == (3,), "one of them was met"
    nothing = pd.DataFrame({"kind": pd.Categorical([None] * 3, categories=["Ulm"]), "age": ages})
    np.testing.assert_array_equal(silent_scores(fitted, nothing), unmet)


def test_a_column_that_held_no_labels_in_training_has_none_to_name():
    none = pd.DataFrame({"kind": pd.Categorical([None] * ROWS, categories=["a"]), "age": range(ROWS)})
    fitted = model().fit(none, Y)
    silent_scores(fitted, none.assign(kind=pd.Categorical(["a"] * ROWS)))


def test_the_warning_names_the_line_of_the_caller():
    fitted = model().fit(categories(["Oslo", "Rome"]), Y)
    with pytest.warns(UserWarning, match="holds no label") as told:
        fitted.decision_function(categories(["Ulm", "Bonn"]))
    assert told[0].filename == __file__ and len(told) == 1


# ---- parameters and held-out rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["multiclass", "verbose", "max_iter", "tol", "nu"])
def test_an_array_is_no_single_value(name):
    with pytest.raises(ValueError, match=rf"^{name} must be a single value, such as .*not an array of shape \(2,\)\.$"):
        MarginBoostClassifier(**{name: np.array([1, 2])}).fit(X, Y)


@pytest.mark.parametrize(
    "given",
    [
        (np.zeros((4, 7)), [0, 1, 0, 1]),
        (np.zeros((4, 3)), [0, 1, 0]),
        (np.zeros((4, 3)), [0, 1, 0, 1], [-1.0, 1, 1, 1]),
        (np.zeros((4, 3)), [0, 1, 0, 1], np.zeros(4)),
        (np.full((4, 3), np.inf), [0, 1, 0, 1]),
    ],
    ids=["columns", "rows", "negative weights", "no weight", "infinite"],
)
def test_errors_of_an_eval_set_say_so(given):
    with pytest.raises(ValueError, match=r"^eval_set: "):
        model().fit(X, Y, eval_set=given)


def test_an_explanation_has_the_rows_that_it_has():
    found = explain(model().fit(X, Y), X[:3])
    assert found.row(-1).startswith("score")
    with pytest.raises(ValueError, match=r"of 3 rows, and there is no row 500"):
        found.row(500)
