"""What a first user does wrong, and the odd corners of real tables: one clear sentence, or the right answer."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression

from dualboost import (
    LogisticMixtureClassifier,
    MarginBoostClassifier,
    Training,
    audit,
    diagnose,
    explain,
    pairs,
    shapes,
    to_onnx,
)
from dualboost.learners import Stumps, Trees, Union
from dualboost.plots import ConvergenceDisplay, MarginDisplay, ShapeDisplay

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)


def model(**parameters):
    return MarginBoostClassifier(**{"nu": 0.3, "max_iter": 20, "calibrate": False, **parameters})


# ---- frames ---------------------------------------------------------------------------------------------------------


def test_a_null_in_an_arrow_dictionary_is_a_missing_value():
    codes = pa.array([0, 1] * (N // 2))
    inside = pa.table({"k": pa.DictionaryArray.from_arrays(codes, pa.array([None, "x"]))})
    outside = pa.table({"k": pa.array([None, "x"] * (N // 2)).dictionary_encode()})
    fitted = model().fit(inside, [0, 1] * (N // 2))
    assert fitted.categories_ == {"k": ["x"]}
    np.testing.assert_array_equal(fitted.decision_function(inside), fitted.decision_function(outside))


def test_large_whole_numbers_of_arrow_are_numbers():
    values = 2**62 + np.arange(N) * 2**40
    as_floats = model().fit(values[:, None].astype(float), Y).decision_function(values[:, None].astype(float))
    table = pa.table({"id": pa.array(values)})
    np.testing.assert_array_equal(model().fit(table, Y).decision_function(table), as_floats)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pl.DataFrame({"a": X[:, 0]}).lazy(), "collect()"),
        (lambda: pd.DataFrame(index=range(N)), "0 feature"),
        (lambda: pa.table({"a": pa.array(["x"] * N, type=pa.string_view())}), "holds text"),
    ],
)
def test_tables_that_cannot_be_read_are_refused_in_one_sentence(make, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(").replace(")", r"\)")):
        model().fit(make(), Y)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pl.Series(["1", "2"] * (N // 2)).cast(pl.Categorical), "holds text, but its categories were numbers"),
        (pl.Series([True, False] * (N // 2)), "holds truth values, but its categories were numbers"),
    ],
)
def test_labels_of_another_sort_are_not_taken_for_missing_ones(column, words):
    frame = pd.DataFrame({"k": pd.Categorical([1, 2] * (N // 2))})
    fitted = model().fit(frame, [0, 1] * (N // 2))
    with pytest.raises(ValueError, match=words):
        fitted.predict(pl.DataFrame({"k": column}))
    assert fitted.predict(pl.DataFrame({"k": [1, 2]})).tolist() == [0, 1]
    lost = pl.DataFrame({"k": pl.Series([None, None], dtype=pl.String)})
    np.testing.assert_array_equal(fitted.decision_function(lost), fitted.decision_function(pd.DataFrame({"k": [9, 9]})))


def test_lists_in_place_of_categories_are_refused():
    fitted = model().fit(pd.DataFrame({"k": pd.Categorical(["a", "b"] * (N // 2))}), [0, 1] * (N // 2))
    with pytest.raises(ValueError, match="Column 'k' holds neither numbers nor categories"):
        fitted.predict(pd.DataFrame({"k": [[1], [2]]}))


def test_rows_without_weight_bring_no_categories():
    frame = pd.DataFrame({"k": pd.Categorical(["a", "m", "z"] * (N // 3)), "x": X[:, 0]})
    there = frame["k"] != "m"
    bagged = LogisticMixtureClassifier(bags=2, max_iter=10, random_state=0)  # deals rows to bags by their content
    weighted = clone(bagged).fit(frame, Y, sample_weight=there.astype(float))
    alone = clone(bagged).fit(frame[there], Y[there])
    assert weighted.categories_ == alone.categories_ == {"k": ["a", "z"]}
    np.testing.assert_array_equal(weighted.decision_function(frame), alone.decision_function(frame))
    for wrong in (["w"] * N, np.ones(3)):
        with pytest.raises(ValueError):
            model().fit(frame, Y, sample_weight=wrong)


def test_a_diagnosis_reads_frames_as_numbers_and_refuses_text():
    wanted = diagnose(X, Y)
    for frame in (pd.DataFrame(X), pd.DataFrame(X).convert_dtypes(), pl.DataFrame(X)):
        np.testing.assert_array_equal(diagnose(frame, Y).hard_core, wanted.hard_core)
    with pytest.raises(ValueError, match="diagnose reads plain numbers: encode categories"):
        diagnose(np.array([["a"], ["b"]] * (N // 2), dtype=object), Y)


# ---- labels ---------------------------------------------------------------------------------------------------------

MISSING = [
    np.array([None, "a", "b"] * (N // 3), dtype=object),
    pd.Series([None, "a", "b"] * (N // 3), dtype="string"),
    np.where(Y == 1, np.nan, 1.0),
    np.array([np.nan, "a", "b"] * (N // 3), dtype=object),
    pd.Series(pd.to_datetime([None, "2020", "2021"] * (N // 3))),
    pl.Series([None, "a", "b"] * (N // 3)),
]
USES = {
    "fit": lambda y: model().fit(X, y),
    "eval_set": lambda y: model().fit(X, Y, eval_set=(X, y)),
    "audit": lambda y: audit(X, y),
    "diagnose": lambda y: diagnose(X, y),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("y", MISSING, ids=range(len(MISSING)))
def test_missing_labels_are_no_class(y, use):
    with pytest.raises(ValueError, match=r"labels are missing\. Drop these rows"):
        USES[use](y)


@pytest.mark.parametrize("use", USES)
def test_text_beside_numbers_is_told(use):
    with pytest.raises(ValueError, match="y mixes labels that are text with others, such as 'a' and 1"):
        USES[use](np.array(["a", 1] * (N // 2), dtype=object))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("form", [list, tuple])
@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a", float("nan")], r"labels are missing\. Drop these rows"),
        (["a", 1], "y mixes labels that are text with others, such as 'a' and 1"),
        ([True, "a"], "y mixes labels that are text with others, such as 'a' and True"),
        ([b"a", "b"], "y mixes labels that are text with others, such as 'b' and b'a'"),
        ([b"a", b"b"], "y holds labels of type bytes, such as b'a'"),
    ],
    ids=str,
)
def test_lists_of_labels_are_read_as_they_are(use, form, labels, words):
    """NumPy would make one sort of text of them all: "nan" and "1" would be classes."""
    with pytest.raises(ValueError, match=words):
        USES[use](form(labels * (N // 2)))


def test_labels_that_arrays_do_not_keep_are_refused():
    with pytest.raises(ValueError, match="ends in a NUL that arrays of text do not keep: rename it"):
        model().fit(X, ["a\0", "a", "b"] * (N // 3))


def test_a_list_of_text_of_any_kind_is_an_array_of_text():
    for labels in (list(np.where(Y, "yes", "no")), np.where(Y, "yes", "no").tolist()):
        fitted = model(max_iter=2).fit(X, labels)
        assert fitted.classes_.dtype == "<U3" and fitted.predict(X).dtype == "<U3"


def test_text_of_numpy_is_text():
    y = np.array([np.str_("a"), "b"] * (N // 2), dtype=object)
    assert model().fit(X, y).classes_.tolist() == ["a", "b"]


def test_the_only_class_is_shown_as_it_was_given():
    with pytest.raises(ValueError, match=r"of one class, 1\.0\.$"):
        model().fit(X, np.ones(N))


def test_two_eval_sets_are_refused():
    with pytest.raises(ValueError, match="eval_set must be"):
        model().fit(X, Y, eval_set=[(X, Y), (X, Y)])


# ---- fits that fail -------------------------------------------------------------------------------------------------


def fail(state):
    raise RuntimeError("no more")


def test_a_fit_that_failed_leaves_no_model():
    fitted = model(training=Training(callbacks=(fail,)))
    with pytest.raises(RuntimeError, match="no more"):
        fitted.fit(X, Y)
    with pytest.raises(NotFittedError):
        fitted.predict(X)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_fit_that_failed_does_not_leave_the_model_of_other_data(classes):
    fitted = model().fit(X, X[:, 0].argsort().argsort() * classes // N)
    with pytest.raises(RuntimeError, match="no more"):
        fitted.set_params(training=Training(callbacks=(fail,))).fit(-X, Y)
    with pytest.raises(NotFittedError):
        fitted.predict(X)


def test_a_directory_is_no_checkpoint(tmp_path):
    with pytest.raises(ValueError, match="is a directory: give the path of a file"):
        model(training=Training(checkpoint=str(tmp_path))).fit(X, Y)


def test_a_run_that_was_too_short_proves_nothing_about_the_hypotheses():
    with pytest.warns(ConvergenceWarning, match="give it more rounds or time; or raise nu"):
        model(training=Training(seconds=1e-9)).fit(X, np.random.default_rng(0).permutation(Y))
    same = np.repeat(np.arange(N // 2), 2)[:, None].astype(float)
    with pytest.warns(ConvergenceWarning, match="cannot put all but 30% of the rows on their side; raise nu"):
        model(max_iter=200).fit(same, np.arange(N) % 2)


def test_directions_deep_in_a_union_are_refused_for_several_classes():
    learner = Union((Union((Stumps(monotone=[(0, 1)]),)), Trees(2)))
    with pytest.raises(ValueError, match="monotone speaks of the vote for one of two classes"):
        model(learner=learner).fit(X, np.arange(N) % 3)


# ---- looking at models ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "look",
    [
        lambda found: explain(found, X),
        shapes,
        pairs,
        to_onnx,
        MarginDisplay.from_estimator,
        ConvergenceDisplay.from_estimator,
        lambda found: ShapeDisplay.from_estimator(found, 0),
    ],
)
@pytest.mark.parametrize("found", [LogisticRegression().fit(X, Y), None, "model"], ids=["sklearn", "None", "str"])
def test_only_our_own_models_can_be_looked_at(look, found):
    with pytest.raises(ValueError, match="needs a fitted classifier of dualboost, not"):
        look(found)


def named():
    """A frame with awkward names and a column of categories."""
    towns = pd.Categorical(np.where(np.arange(N) % 7 == 0, None, np.where(X[:, 2] > 0, "Oslo", "Paris")))
    return pd.DataFrame({"base": X[:, 0], "score": X[:, 1], "town": towns})


def test_features_may_be_called_base_and_score():
    frame = named()
    explanation = explain(model().fit(frame, Y), frame)
    table = explanation.to_frame()
    assert table.columns.tolist() == ["base_", "base", "score", "town", "score_"]
    np.testing.assert_array_equal(table["score"], explanation.contributions[:, 1])
    np.testing.assert_array_equal(table["score_"], explanation.scores)


def test_a_row_in_words_names_categories_and_what_is_missing():
    frame = named()
    y = np.where(frame["town"] == "Oslo", 1, 0)
    explanation = explain(model().fit(frame, y), frame)
    oslo = int(np.flatnonzero(frame["town"] == "Oslo")[0])
    assert "town = Oslo" in explanation.row(oslo) and "town = missing" in explanation.row(0)
    with pytest.raises(ValueError, match="count is a number of features"):
        explanation.row(0, -1)


def test_the_part_of_one_class_reads_the_frame_of_all():
    frame = named()
    y = np.array(["a", "b", "c"])[(X[:, 0] > 0.5).astype(int) + (frame["town"] == "Oslo").to_numpy()]
    fitted = model().fit(frame, y)
    for part in fitted.estimators_:
        curves = shapes(part, frame)
        assert {curve.name for curve in curves} <= set(frame.columns)
        assert all(curve.counts.sum() + curve.missing_count == N for curve in curves)
