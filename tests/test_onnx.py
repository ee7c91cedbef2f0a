"""ONNX models say what the classifiers say: labels, scores and probabilities, with missing values, in doubles."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from dualboost import AdaBoostClassifier, MarginBoostClassifier, to_onnx
from dualboost.estimators.calibration import Sigmoid, Steps
from dualboost.learners import Matrix, SklearnLearner, Stumps, Union
from fitted import KINDS, NEW, WHOLE, X, Y, fitted, margin, new_rows

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def answers(model, rows) -> dict[str, np.ndarray]:
    """What onnxruntime makes of the exported model."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(to_onnx(model).SerializeToString(), options, ["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    table = np.ascontiguousarray(rows, dtype=np.float64)
    return dict(zip(names, session.run(None, {"X": table}), strict=True))


def assert_same(model, rows) -> dict[str, np.ndarray]:
    found = answers(model, rows)
    np.testing.assert_array_equal(found["label"], model.predict(rows))
    wanted = model.decision_function(rows)
    assert found["score"].dtype == np.float64 and found["score"].shape == wanted.shape
    np.testing.assert_allclose(found["score"], wanted, rtol=1e-12, atol=1e-9)
    assert ("probabilities" in found) == hasattr(model, "predict_proba")
    if "probabilities" in found:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), rtol=0, atol=1e-12)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_classifier_says_the_same(kind, capfd):
    assert_same(fitted(kind), new_rows(kind))
    assert not capfd.readouterr().err, "onnxruntime has no warning to give about the graph"


def test_values_that_single_precision_would_join():
    x = np.arange(200.0)[:, None] * 1e-9 + 1
    model = MarginBoostClassifier(nu=0.1, calibrate=False).fit(x, np.arange(200) >= 77)
    assert answers(model, x)["label"].sum() == 200 - 77


@pytest.mark.parametrize("rows", [7, 300, 4000])
@pytest.mark.parametrize(
    "scores", [[-1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 1.0, 1.0], [-1.0, -1.0, -1.0, -0.5], [0.5, 0.5, 0.5, 0.5]]
)
def test_a_link_jumps_where_scores_are_equal(scores, rows):
    """The piece before equal scores ends at the first point, the one after them begins at the last."""
    model = MarginBoostClassifier(nu=0.3, max_iter=20).fit(X, Y)
    model.link_ = Steps(np.array(scores), np.array([0.1, 0.3, 0.6, 0.9]))
    table = np.tile(X, (-(-rows // len(X)), 1))[:rows]
    expected = np.interp(model.decision_function(table), scores, [0.1, 0.3, 0.6, 0.9])
    np.testing.assert_allclose(answers(model, table)["probabilities"][:, 1], expected, rtol=0, atol=1e-12)


def test_labels_that_onnx_does_not_know_are_refused():
    labels = np.array([1, 2**64 - 1], dtype=np.uint64)[(np.asarray(Y) == Y[0]).astype(int)]
    model = MarginBoostClassifier(nu=0.3, max_iter=5).fit(X, labels)
    with pytest.raises(ValueError, match="up to 2\\^63 - 1"):
        to_onnx(model)


def test_labels_that_end_in_nothing_are_refused():
    labels = np.array(["b" if label == Y[0] else "a\0" for label in Y], dtype=object)
    model = MarginBoostClassifier(nu=0.3, max_iter=5).fit(X, labels)
    with pytest.raises(ValueError, match="ONNX knows labels"):
        to_onnx(model)


@pytest.mark.parametrize("rounds", [30, 150])
def test_log_odds_of_classes_that_are_all_but_certain(rounds):
    """Where no class is likely, as far out as probabilities go, no digit is lost on either side."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])[y] + rng.uniform(-1, 1, (600, 2))
    model = AdaBoostClassifier(n_estimators=rounds, calibrate=False).fit(centres, y)
    rows = np.concatenate([centres, rng.uniform(-3, 7, (900, 2))])
    assert_same(model, rows)
    odds = [part.link_.slope * part.decision_function(rows) for part in model.estimators_]
    most = np.log((1 - 1e-12) / 1e-12)
    np.testing.assert_allclose(model.decision_function(rows), np.clip(odds, -most, most).T, rtol=1e-13)


@pytest.mark.parametrize("several", [False, True])
def test_columns_beside_stumps(several):
    rng = np.random.default_rng(0)
    signs = np.sign(rng.normal(size=(300, 4)))
    y = signs[:, 0] * signs[:, 1] + rng.normal(size=300) > 0
    labels = y + several * (signs[:, 2] > 0)
    model = MarginBoostClassifier(nu=0.5, learner=Union((Matrix(), Stumps())), max_iter=10).fit(signs, labels)
    assert_same(model, signs)
    model = MarginBoostClassifier(nu=0.5, learner=Union((Matrix(), Matrix())), max_iter=10).fit(signs, labels)
    assert_same(model, signs)


def test_a_link_of_pieces():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 3))
    y = rows.sum(axis=1) + rng.normal(size=3000) > 0
    model = MarginBoostClassifier(nu=0.4, max_iter=40).fit(rows, y)
    assert isinstance(model.link_, Steps)
    found = assert_same(model, rows)
    assert len(np.unique(found["probabilities"])) > 10
    several = MarginBoostClassifier(nu=0.6, max_iter=10).fit(rows, y + (rows[:, 1] > 0.5).astype(int))
    assert isinstance(several.estimators_[0].link_, Steps)
    assert_same(several, rows)


@pytest.mark.parametrize("points", [2, 128, 129, 700])
def test_a_link_of_any_number_of_pieces(points):
    """A few cuts are compared with every score; more are looked up, or walked for a few rows."""
    rng = np.random.default_rng(points)
    model = margin().fit(X, Y)
    votes = model.decision_function(X)
    places = np.sort(np.append(rng.uniform(votes.min(), votes.max(), points - 1), 0.0))
    model.link_ = Steps(places, 0.5 + 0.4 * np.tanh(places))
    for rows in (X[:1], X[:40], np.tile(X, (8, 1))):
        assert_same(model, rows)


def test_a_slope_near_one_is_not_left_out():
    model = margin().fit(X, Y)
    model.link_ = Sigmoid(1 + 1e-8)
    assert_same(model, NEW)


@pytest.mark.parametrize("labels", [("nein", "größe"), (3, -7), (True, False), (2.0, 1.0)])
@pytest.mark.parametrize("objects", [False, True])
def test_labels_of_any_kind(labels, objects):
    y = np.array(labels)[Y]
    if objects and isinstance(labels[0], str):
        y = y.astype(object)
    assert_same(margin(calibrate=False).fit(X, y), X)


def test_a_vote_without_a_split():
    x = np.ones((20, 2))
    model = MarginBoostClassifier(nu=0.9, calibrate=False).fit(x, np.arange(20) < 5)
    assert_same(model, np.array([[1.0, np.nan], [-3.0, 2.0]]))


def test_one_row_and_none():
    model = fitted("MarginBoostClassifier")
    assert answers(model, NEW[:1])["probabilities"].shape == (1, 2)
    assert answers(model, NEW[:0])["label"].shape == (0,)


def test_the_export_keeps_names():
    exported = to_onnx(fitted("names"))
    notes = {entry.key: entry.value for entry in exported.metadata_props}
    assert notes["model"] == "MarginBoostClassifier" and "gr\\u00f6\\u00dfe" in notes["features"]


def test_what_cannot_be_exported_is_refused():
    with pytest.raises(NotFittedError):
        to_onnx(MarginBoostClassifier())
    learner = SklearnLearner(LogisticRegression())
    model = MarginBoostClassifier(nu=0.3, max_iter=3, learner=learner, calibrate=False).fit(WHOLE, Y)
    with pytest.raises(ValueError, match="needs a vote of stumps, trees or boxes"):
        to_onnx(model)


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install \"dualboost\[onnx\]\""):
        to_onnx(fitted("MarginBoostClassifier"))
