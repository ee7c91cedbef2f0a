"""Callbacks, ours and scikit-learn's, on every kind of classifier: they see every round, may stop, change nothing."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris

from dualboost import (
    AdaBoostClassifier,
    LogisticMixtureClassifier,
    MarginBoostClassifier,
    Training,
    load_model,
    save_model,
)
from test_training import XV, YV, X, Y, every_classifier, with_rounds

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# ---- our own, and the record that holds them ------------------------------------------------------------------------


@every_classifier
def test_callbacks_see_every_round_and_may_stop(model):
    seen = []

    def callback(state):
        seen.append(state.t)
        return "that will do" if state.t == 6 else None

    fitted = clone(model).set_params(training=Training(callbacks=(callback,))).fit(X, Y)
    assert seen == list(range(1, len(seen) + 1))
    assert fitted.status_.startswith("that will do") and fitted.n_iter_ == 6 if len(seen) > 5 else fitted.n_iter_ < 6


@pytest.mark.parametrize("name", ["w", "z", "d"])
@every_classifier
def test_callbacks_cannot_change_the_run(model, name):
    """In place, that is: it would go on from what they left, and end with words that are not true."""

    def sort(state):
        getattr(state, name).sort()

    with pytest.raises(ValueError, match="read-only"):
        clone(model).set_params(training=Training(callbacks=(sort,))).fit(X, Y)


def test_callbacks_of_bags_see_the_votes_on_rows_left_out():
    seen = []
    training = Training(callbacks=(lambda state: seen.append(len(state.z)) or ("enough" if state.t == 3 else None),))
    model = LogisticMixtureClassifier(bags=4, training=training, random_state=0).fit(X, Y)
    assert seen == [len(Y)] * 3 and model.status_.startswith("enough")


def test_a_callback_that_returns_something_else_is_told():
    with pytest.raises(TypeError, match="returns a reason to stop as a string"):
        AdaBoostClassifier(training=Training(callbacks=(lambda state: True,))).fit(X, Y)


@pytest.mark.parametrize(
    "wrong",
    [
        {"seconds": 0},
        {"seconds": "60"},
        {"validation_fraction": 1.0},
        {"validation_fraction": True},
        {"patience": 0},
        {"patience": 2.5},
        {"checkpoint": ""},
        {"checkpoint": 3},
        {"checkpoint_seconds": -1},
        {"callbacks": [print]},
        {"callbacks": ("print",)},
    ],
)
def test_wrong_wishes_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Training(**wrong)


class Log:
    """A callback with a memory."""

    def __init__(self):
        self.rounds = []

    def note(self, state) -> None:
        self.rounds.append(state.t)


def test_clones_call_the_same_callbacks():
    log = Log()
    clone(AdaBoostClassifier(n_estimators=4, training=Training(callbacks=(log.note,)))).fit(X, Y)
    assert log.rounds == [1, 2, 3, 4]


@every_classifier
def test_callbacks_that_are_taken_off_keep_no_model_out_of_a_file(model, tmp_path):
    """Nor do those of the parts: each class has a model of its own."""
    several, three = X[:90], np.arange(90) % 3
    training = Training(callbacks=(lambda state: None,))
    for labels in (Y[:90], three):
        fitted = with_rounds(model, 5).set_params(training=training).fit(several, labels)
        assert fitted.training is clone(fitted).training is training
        with pytest.raises(ValueError, match=r"model.training.callbacks.0 holds a function"):
            save_model(fitted, tmp_path / "m")
        save_model(fitted.set_params(training=None), tmp_path / "m")
        again = load_model(tmp_path / "m")
        np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))


def test_parts_of_several_classes_are_watched_and_warm(tmp_path):
    """They have no training of their own, and what the whole is given holds for each."""
    data, target = load_iris(return_X_y=True)
    target = (target + (np.arange(150) % 9 == 0)) % 3
    log = Log()
    training = Training(callbacks=(log.note,), checkpoint=str(tmp_path / "run"))
    model = AdaBoostClassifier(n_estimators=20, warm_start=True, training=training).fit(data, target)
    assert [part.training for part in model.estimators_] == [None] * 3 and len(log.rounds) == 60
    model.set_params(n_estimators=40).fit(data, target)
    assert log.rounds[60:] == 3 * list(range(17, 41))
    whole = AdaBoostClassifier(n_estimators=40, warm_start=True, training=training).fit(data, target)
    np.testing.assert_array_equal(model.decision_function(data), whole.decision_function(data))


def test_training_is_a_parameter_like_any_other():
    training = Training(seconds=5)
    model = AdaBoostClassifier(training=training)
    assert clone(model).get_params()["training"] == training
    with pytest.raises(ValueError, match="training must be a Training"):
        AdaBoostClassifier(training={"seconds": 5}).fit(X, Y)


def test_the_bar_shows_the_held_out_score(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        AdaBoostClassifier(n_estimators=20, verbose=1).fit(X, Y, eval_set=(XV, YV))
    assert "held out" in capsys.readouterr().err


# ---- scikit-learn's own callbacks -----------------------------------------------------------------------------------


class StopAfter:
    """scikit-learn's protocol: stops the innermost tasks after so many."""

    def __init__(self, rounds: int):
        self.rounds, self.seen, self.ended = rounds, 0, 0

    def setup(self, estimator, context):
        self.seen = 0

    def teardown(self, estimator, context):
        self.ended += 1

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.seen += context.task_name == "round"
        return context.task_name == "round" and self.seen >= self.rounds


@every_classifier
def test_callbacks_of_scikit_learn_see_every_round_and_may_stop(model, tmp_path):
    pytest.importorskip("sklearn.callback")
    callback = StopAfter(4)
    fitted = clone(model).set_callbacks(callback).fit(X, Y)
    assert callback.seen == fitted.n_iter_ == 4 and callback.ended == 1
    assert fitted.status_.startswith("stopped by a callback of scikit-learn")
    save_model(fitted, tmp_path / "m")
    assert load_model(tmp_path / "m").n_iter_ == 4


def test_scikit_learn_can_score_every_round():
    monitor = pytest.importorskip("sklearn.callback").ScoringMonitor(scoring="accuracy")
    model = AdaBoostClassifier(n_estimators=12).set_callbacks(monitor).fit(X, Y)
    scored = [entry["accuracy"] for entry in monitor.get_logs().data if entry["task_name"] == "round"]
    assert scored == pytest.approx(list(model.staged_score(X, Y)))
    several, three = load_iris(return_X_y=True)
    assert AdaBoostClassifier(n_estimators=5).set_callbacks(StopAfter(9)).fit(several, three).n_iter_ == 5


def of_rounds(monitor, name: str) -> list[float]:
    return [entry[name] for entry in monitor.get_logs().data if entry["task_name"] == "round"]


@pytest.mark.parametrize("form", ["pandas", "polars"])
@every_classifier
@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_scikit_learn_can_score_frames_with_categories(model, form):
    """Callbacks are given numbers, in which a fitted model would not look for labels."""
    scoring = pytest.importorskip("sklearn.callback").ScoringMonitor
    frame = pd.DataFrame({"size": X[:, 0] + Y, "town": pd.Categorical(np.where(X[:, 1] > 0, "Köln", "Oslo"))})
    for table in (frame, frame[["size"]]):
        monitor = scoring(scoring="accuracy")
        given = pl.from_pandas(table) if form == "polars" else table
        fitted = clone(model).set_callbacks(monitor).fit(given, Y)
        scores = of_rounds(monitor, "accuracy")
        assert len(scores) >= 1 and max(scores) > 0.5 and fitted.predict(given).shape == Y.shape
        if "town" in table:
            with pytest.raises(ValueError, match="column 'town' held categories"):
                fitted.predict(np.zeros((2, 2)))


def test_probabilities_of_every_round_sum_to_one():
    scoring = pytest.importorskip("sklearn.callback").ScoringMonitor
    several, three = load_iris(return_X_y=True)
    monitor = scoring(scoring=lambda fitted, X, y: {"off": float(abs(fitted.predict_proba(X).sum(axis=1) - 1).max())})
    MarginBoostClassifier(0.3, multiclass="pairs", max_iter=4).set_callbacks(monitor).fit(several, three)
    assert max(of_rounds(monitor, "off")) < 1e-12


class Looks:
    """scikit-learn's protocol: looks at the table and at the model after every round."""

    def __init__(self, look):
        self.look, self.names = look, []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, *, X, y):
        pass

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        if fitted_estimator is not None:
            self.names.append(context.task_name)
            self.look(fitted_estimator, X, y)


@every_classifier
def test_the_model_of_every_round_can_be_saved(model, tmp_path):
    pytest.importorskip("sklearn.callback")
    scores = []

    def save(fitted, table, y) -> None:
        save_model(fitted.set_params(training=None), tmp_path / "m")
        scores.append((load_model(tmp_path / "m").decision_function(X), fitted.decision_function(table)))

    looks = Looks(save)
    whole = with_rounds(model, 6).set_callbacks(looks).fit(X, Y)
    assert looks.names == ["round"] * whole.n_iter_ + ["fit"]
    for again, wanted in scores:
        np.testing.assert_array_equal(again, wanted)
    three = with_rounds(model, 3).set_callbacks(Looks(save)).fit(X, np.arange(len(X)) % 3)
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict(X), three.predict(X))


def arrays_of(value, seen: set[int]):
    """All arrays that can be reached from here by way of our own classes."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    if sp.issparse(value) or type(value).__module__.startswith("dualboost"):
        parts = vars(value).values()
    for part in parts:
        yield from arrays_of(part, seen)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix])
@every_classifier
def test_callbacks_of_scikit_learn_cannot_change_the_run(model, form):
    """In place, that is: not the table of the caller, nor the finished model, nor the one of a class."""
    pytest.importorskip("sklearn.callback")
    table, seen = form(np.maximum(np.round(X), 0)), []

    def write(fitted, rows, y) -> None:
        attributes = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
        found = [array for array in arrays_of([rows, y, attributes], set()) if array.size]
        seen.append(len(found))
        for array in found:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = array.flat[0]
        assert fitted.predict(rows).shape == y.shape

    given = table.copy()
    for labels in (Y, np.arange(len(X)) % 3):
        short = with_rounds(model, 5)
        if hasattr(short, "random_state"):
            short.set_params(random_state=0)
        watched = clone(short).set_callbacks(Looks(lambda *seen: None)).fit(table, labels)
        fitted = clone(short).set_callbacks(Looks(write)).fit(given, labels)
        np.testing.assert_array_equal(fitted.decision_function(table), watched.decision_function(table))
        assert abs(given - table).max() == 0 and min(seen) > 3
        assert all(array.flags.writeable for array in (fitted.margins_, fitted.classes_))


def test_callbacks_of_scikit_learn_see_the_table_itself():
    """No copy of it is made, and it can be read like any other."""
    pytest.importorskip("sklearn.callback")
    shared = []

    def look(fitted, rows, y) -> None:
        shared.append(np.shares_memory(rows, X) and not rows.flags.writeable)
        with pytest.raises(ValueError, match="read-only"):
            rows.sort(axis=0)
        assert AdaBoostClassifier(n_estimators=2).fit(rows, y).n_iter_ == 2

    AdaBoostClassifier(n_estimators=3).set_callbacks(Looks(look)).fit(X, Y)
    assert shared == [True] * 4 and X.flags.writeable
