"""What a user of scikit-learn, pandas, polars and Arrow does on the first afternoon, and nobody had thought of."""

import datetime
import os
from fractions import Fraction
from inspect import signature

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from dualboost import (
    AdaBoostClassifier,
    LogisticMixtureClassifier,
    MarginBoostClassifier,
    Training,
    audit,
    explain,
    load_model,
    reweight,
    save_model,
    shapes,
    to_onnx,
)
from dualboost.files.model import MODELS
from dualboost.learners import Matrix, Stumps, Trees
from dualboost.plots import ShapeDisplay

matplotlib.use("Agg")
N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = X[:, 0] + 0.5 * X[:, 1] > 0


def model(**parameters):
    return MarginBoostClassifier(**{"nu": 0.3, "max_iter": 20, "calibrate": False, **parameters})


# ---- labels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (pd.Series(Y, dtype="boolean"), [False, True]),
        (pd.Series(Y, dtype="bool[pyarrow]"), [False, True]),
        (pd.Series(np.where(Y, 2**53 + 1, 2**53), dtype="Int64"), [2**53, 2**53 + 1]),
        (pd.Series(np.where(Y, 2**53 + 1, 2**53), dtype="int64[pyarrow]"), [2**53, 2**53 + 1]),
        (Y.astype(object), [False, True]),
        (np.where(Y, np.uint64(2**63), np.uint64(5)).astype(object), [5, 2**63]),
        ([2**63 if label else 5 for label in Y], [5, 2**63]),
        (np.where(Y, "b", "a").astype(np.dtypes.StringDType()), ["a", "b"]),
    ],
)
def test_labels_keep_their_type_and_stay_apart(labels, classes):
    fitted = model().fit(X, labels)
    assert fitted.classes_.tolist() == classes
    assert [type(label) for label in fitted.classes_.tolist()] == [type(label) for label in classes]
    np.testing.assert_array_equal(fitted.predict(X) == classes[1], model().fit(X, Y).predict(X))
    watched = AdaBoostClassifier(n_estimators=5, training=Training(patience=3)).fit(X, labels, eval_set=(X, labels))
    assert watched.classes_.tolist() == classes


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ((datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)), "labels of type date"),
        ((Fraction(1, 2), Fraction(1, 3)), "labels of type Fraction"),
        ((pd.Interval(0, 1), pd.Interval(1, 2)), "labels of type Interval"),
        ((2**80, 3), "labels of type int, such as 1208925819614629174706176"),
        ((2**63, -1), "labels of type int"),
    ],
)
def test_labels_that_no_array_holds_are_refused_with_advice(pair, words):
    labels = pd.Series([pair[int(k)] for k in Y], dtype=object)
    with pytest.raises(ValueError, match=f"{words}.*make text of them"):
        model().fit(X, labels)


def test_masked_labels_are_missing_and_masked_cells_too():
    with pytest.raises(ValueError, match="2 of its labels are missing"):
        model().fit(X, np.ma.masked_array(Y, mask=np.arange(N) < 2))
    masked = np.ma.masked_array(X, mask=np.arange(3 * N).reshape(N, 3) % 7 == 0)
    with_nan = masked.filled(np.nan)
    assert np.isnan(with_nan).any()
    expected = model().fit(with_nan, Y).decision_function(with_nan)
    np.testing.assert_array_equal(model().fit(masked, Y).decision_function(masked), expected)


@pytest.mark.parametrize("kind", ["float16", "M8[D]", "m8[us]", "int8", "uint64", "bool", "float32", "U3", "object"])
def test_labels_of_every_type_come_back_from_a_file(tmp_path, kind):
    labels = Y.astype(np.int64).astype(kind)
    fitted = model().fit(X, labels if kind != "object" else np.where(Y, "a", "b").astype(object))
    save_model(fitted, tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.classes_.dtype == fitted.classes_.dtype
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


# ---- tables ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", ["uint8", "uint16", "uint32", "int8", "int64"])
def test_arrow_dictionaries_with_any_indices_may_have_nulls(width):
    town = [None if k % 7 == 0 else "ab"[int(label)] for k, label in enumerate(Y)]
    codes = pa.array([None if t is None else "ab".index(t) for t in town], type=width)
    table = pa.table({"town": pa.DictionaryArray.from_arrays(codes, ["a", "b"])})
    fitted = model().fit(table, Y)
    assert fitted.categories_ == {"town": ["a", "b"]}
    other = pl.DataFrame({"town": pl.Series(town, dtype=pl.Categorical)})
    for same in (other, other.to_arrow(), other.to_pandas()):
        np.testing.assert_array_equal(fitted.decision_function(same), fitted.decision_function(table))


def test_a_record_batch_is_a_table():
    table = pa.table({"town": pa.array(np.where(Y, "a", "b")).dictionary_encode(), "x": X[:, 2]})
    batch = table.to_batches()[0]
    fitted = model().fit(batch, Y)
    assert fitted.feature_names_in_.tolist() == ["town", "x"]
    np.testing.assert_array_equal(fitted.decision_function(batch), model().fit(table, Y).decision_function(table))
    assert len(audit(batch, Y).probability) == N


def test_text_in_an_array_is_refused_with_the_way_out():
    frame = pd.DataFrame({"town": pd.Categorical(np.where(Y, "a", "b")), "x": X[:, 2]})
    columns = ColumnTransformer([("keep", "passthrough", ["town", "x"])])
    with pytest.raises(ValueError, match=r"X holds text, such as '[ab]'.*set_output\(transform=\"pandas\"\)"):
        make_pipeline(columns, model()).fit(frame, Y)
    kept = make_pipeline(columns.set_output(transform="pandas"), model()).fit(frame, Y)
    assert kept.score(frame, Y) == 1.0 and kept[-1].categories_ == {"keep__town": ["a", "b"]}


@pytest.mark.parametrize("kind", ["M8[D]", "M8[ns]", "m8[s]", object])
def test_dates_in_an_array_are_refused_as_in_a_frame(kind):
    dates = np.array([["2020-01-05"], ["2020-03-01"]] * 20, dtype="M8[D]")
    table = (dates - dates[0]).astype(kind) if kind == "m8[s]" else dates.astype(kind)
    with pytest.raises(ValueError, match="X holds dates or times: turn them into numbers first"):
        model().fit(table, [0, 1] * 20)
    fitted = model().fit(np.arange(40.0)[:, None], [0, 1] * 20)
    with pytest.raises(ValueError, match="X holds dates or times"):
        fitted.predict(table)


def test_numbers_that_no_float_can_hold_are_refused():
    with pytest.raises(ValueError, match="no float can hold"):
        model().fit(np.array([[10**400], [1]] * 20, dtype=object), [0, 1] * 20)


def test_missing_values_for_a_vote_of_columns_are_refused():
    signs = np.sign(np.random.default_rng(0).normal(size=(100, 4)))
    fitted = model(learner=Matrix()).fit(signs, signs[:, 0] > 0)
    signs[3, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        fitted.predict(signs)


def test_weights_by_name_are_refused_with_the_function_that_makes_them():
    with pytest.raises(ValueError, match="compute_sample_weight"):
        model().fit(X, Y, sample_weight="balanced")


# ---- parameters of parameters ---------------------------------------------------------------------------------------


def test_a_grid_search_goes_over_the_parameters_of_a_learner():
    parity = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    grid = {"learner__max_depth": [1, 2], "training__seconds": [30, 60]}
    search = GridSearchCV(model(learner=Trees(1), training=Training()), grid, cv=2).fit(X, parity)
    assert search.best_params_["learner__max_depth"] == 2
    assert search.best_estimator_.learner == Trees(2)


def test_records_among_the_parameters_are_replaced_and_never_changed():
    trees = Trees(2)
    first = model(learner=trees)
    second = clone(first).set_params(learner__max_depth=3, nu=0.4)
    assert (trees.max_depth, first.learner, second.learner, second.nu) == (2, trees, Trees(3), 0.4)
    assert second.get_params()["learner__max_depth"] == 3
    assert "learner__max_depth" not in second.get_params(deep=False)
    assert second.set_params(learner=Stumps(), learner__max_bins=16).learner == Stumps(16)
    with pytest.raises(ValueError, match=r"Invalid parameter 'depth' for learner = Stumps.*max_bins"):
        second.set_params(learner__depth=3)
    with pytest.raises(ValueError, match="learner is None, which has no 'max_depth'"):
        model().set_params(learner__max_depth=3)
    with pytest.raises(ValueError, match="Invalid parameter 'nothing'"):
        model().set_params(nothing=3)


# ---- names and sentences --------------------------------------------------------------------------------------------


def test_an_audit_names_the_columns_of_every_frame():
    table = pa.table({"first": X[:, 0], "second": X[:, 1]})
    labels = (X[:, 0] > 0).astype(int)
    odd = int(np.argmax(np.abs(X[:, 0])))
    labels[odd] = 1 - labels[odd]
    tables = (table, table.to_batches()[0], table.to_pandas(), pl.from_arrow(table))
    assert [audit(each, labels).reasons[odd][0][0] for each in tables] == ["first"] * 4
    assert audit(X[:, :2].tolist(), labels).reasons[odd][0][0] == "0"
    with pytest.raises(ValueError, match="table of rows and columns"):
        audit(X[:, 0], labels)
    with pytest.raises(ValueError, match="collect"):
        audit(pl.from_arrow(table).lazy(), labels)


@pytest.mark.parametrize("judge", [LogisticMixtureClassifier, "mixture"])
def test_an_audit_refuses_what_is_no_model(judge):
    with pytest.raises(ValueError, match="must be a noise-aware classifier"):
        audit(X, Y, model=judge)


def test_an_audit_refuses_models_that_know_no_noise():
    with pytest.raises(ValueError, match="AdaBoostClassifier does not"):
        audit(X, Y, model=AdaBoostClassifier(n_estimators=2))


def test_names_that_are_no_strings_are_kept_in_explanations():
    frame = pd.DataFrame({("where", "town"): pd.Categorical(np.where(Y, "a", "b")), ("who", "age"): X[:, 1]})
    for labels in (Y, np.where(X[:, 2] > 0.5, 2, Y)):
        fitted = model().fit(frame, labels)
        assert "('where', 'town') = " + ("a" if Y[0] else "b") in explain(fitted, frame).row(0)
        part = getattr(fitted, "estimators_", [fitted])[0]
        assert {curve.name for curve in shapes(part, frame)} <= {"('where', 'town')", "('who', 'age')"}
    assert explain(model().fit(X, Y), X).feature_names == ("feature 0", "feature 1", "feature 2")


def test_reweight_says_what_to_do_about_categories():
    frame = pd.DataFrame({"town": pd.Categorical(np.where(Y, "a", "b")), "x": X[:, 2]})
    forest = HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype").fit(frame, Y)
    with pytest.raises(ValueError, match="OrdinalEncoder"):
        reweight(forest, frame, Y)


# ---- files ----------------------------------------------------------------------------------------------------------


def test_a_link_to_a_model_stays_a_link(tmp_path):
    first, second = model().fit(X, Y), model(nu=0.6).fit(X, Y)
    save_model(first, tmp_path / "v1")
    (tmp_path / "current").symlink_to("v1")
    save_model(second, tmp_path / "current")
    assert (tmp_path / "current").is_symlink() and load_model(tmp_path / "v1").nu == 0.6


def test_what_is_no_file_is_never_replaced(tmp_path):
    fitted = model().fit(X, Y)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, ""):
        with pytest.raises(IsADirectoryError, match="give the path of a file"):
            save_model(fitted, path)
    with pytest.raises(FileNotFoundError, match=r"nowhere/m cannot be written: there is no directory"):
        save_model(fitted, tmp_path / "nowhere" / "m")
    assert [entry.name for entry in tmp_path.iterdir()] == ["pipe"] and (tmp_path / "pipe").is_fifo()


def test_saving_leaves_the_mask_of_the_process_alone(tmp_path, monkeypatch):
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", None)  # two threads that set it and set it back leave it open
        save_model(model().fit(X, Y), tmp_path / "m")
        assert (tmp_path / "m").stat().st_mode & 0o777 == 0o640
    finally:
        monkeypatch.undo()
        os.umask(before)


@pytest.mark.parametrize("notes", ["text", [1], {1: 2}, {"a": {1, 2}}, {"a": float("nan")}])
def test_notes_that_would_not_come_back_are_refused(tmp_path, notes):
    with pytest.raises(ValueError, match="notes must"):
        save_model(model().fit(X, Y), tmp_path / "m", notes=notes)
    assert not (tmp_path / "m").exists()


# ---- a fitted model answers as it was fitted ------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [Y, np.where(X[:, 2] > 0.5, 2, Y)])
def test_parameters_set_after_a_fit_change_nothing_before_the_next(labels):
    with_chances, without = model(calibrate=True).fit(X, labels), model(calibrate=False).fit(X, labels)
    chances, votes = with_chances.predict_proba(X), without.decision_function(X)
    np.testing.assert_array_equal(with_chances.set_params(calibrate=False).predict_proba(X), chances)
    without.set_params(calibrate=True)
    np.testing.assert_array_equal(without.decision_function(X), votes)
    assert not hasattr(without, "predict_proba")
    assert hasattr(without.fit(X, labels), "predict_proba")
    again = with_chances.fit(X, labels)  # without probabilities now: those of the fit before are gone
    assert not hasattr(again, "predict_proba") and not hasattr(again, "link_")


# ---- curves and tools -----------------------------------------------------------------------------------------------


def towns():
    frame = pd.DataFrame({"town": pd.Categorical(RNG.choice(["Köln", "Paris", "Oslo"], N)), "kind": None, "x": X[:, 0]})
    frame["kind"] = pd.Categorical(RNG.choice([30, 10, 20], N))  # numbers that are not the codes
    frame.loc[::9, "town"] = None
    return frame, frame["town"].isin(["Paris"]) ^ (frame["kind"] == 20) ^ (frame["x"] > 1)


def test_curves_take_what_the_columns_hold():
    frame, labels = towns()
    fitted = model().fit(frame, labels)
    curves = shapes(fitted, frame)
    assert [curve.categories for curve in curves] == [("Köln", "Oslo", "Paris"), (10, 20, 30), ()]
    for table in (frame, pl.from_pandas(frame.astype({"kind": int}))):
        score = fitted.predictor_.base + sum(curve(table[curve.name]) for curve in curves)
        np.testing.assert_allclose(score, fitted.decision_function(frame), atol=1e-12)
    assert curves[0](["nowhere", None, np.nan, pd.NA]).tolist() == [curves[0].missing] * 4


def test_a_curve_is_drawn_by_its_name_with_the_names_of_categories():
    frame, labels = towns()
    fitted = model().fit(frame, labels)
    display = ShapeDisplay.from_estimator(fitted, "town", X=frame)
    assert display.shape.feature == 0
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["Köln", "Oslo", "Paris"]
    with pytest.raises(ValueError, match=r"does not use feature 'nowhere'; its features are .'town'"):
        ShapeDisplay.from_estimator(fitted, "nowhere")
    plt.close("all")


def test_tools_say_where_the_classifier_is_inside():
    pipeline = make_pipeline(model()).fit(X, Y)
    search = GridSearchCV(model(), {"nu": [0.3]}, cv=2).fit(X, Y)
    for tool in (lambda given: explain(given, X), shapes, to_onnx, lambda given: save_model(given, "never")):
        with pytest.raises(ValueError, match=r"not Pipeline: give its last step, \[-1\]"):
            tool(pipeline)
        with pytest.raises(ValueError, match="not GridSearchCV: give its best_estimator_"):
            tool(search)


def test_numbers_of_128_bits_are_numbers():
    frame = pl.DataFrame({"n": pl.Series([int(1000 * x) for x in X[:, 0]]).cast(pl.Int128)})
    np.testing.assert_array_equal(
        model().fit(frame, Y).decision_function(frame),
        model().fit(frame.cast(pl.Int64), Y).decision_function(frame.cast(pl.Int64)),
    )
    with pytest.raises(ValueError, match="are one number in floating"):
        model().fit(pl.DataFrame({"n": pl.Series([2**60 + k for k in range(N)]).cast(pl.Int128)}), Y)


@pytest.mark.parametrize("labels", [Y, np.where(X[:, 2] > 0.5, 2, Y)])
def test_every_classifier_with_probabilities_has_their_logarithm(labels):
    for fitted in (model(calibrate=True).fit(X, labels), AdaBoostClassifier(n_estimators=5).fit(X, labels)):
        np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), fitted.predict_proba(X), rtol=1e-12)
    assert not hasattr(model(calibrate=False), "predict_log_proba")


@pytest.mark.parametrize("kind", MODELS)
def test_a_truth_value_is_no_number_and_a_number_is_no_truth_value(kind):
    """Every parameter of every classifier; `verbose` has always been either."""
    for name, parameter in signature(MODELS[kind]).parameters.items():
        default = parameter.default
        wrong = "no" if isinstance(default, bool) else isinstance(default, (int, float)) and name != "verbose"
        if wrong:
            with pytest.raises(ValueError, match=f"{name} .*, not {wrong!r}"):
                MODELS[kind](**{name: wrong}).fit(X, Y)
    MODELS[kind](verbose=False)._check_parameters()
