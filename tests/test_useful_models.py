"""Whatever ends a fit leaves a model that is of use, or none: a vote that is not empty, probabilities worth having."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

import dualboost
from dualboost import (
    AdaBoostClassifier,
    LogisticMixtureClassifier,
    MarginBoostClassifier,
    SoftBoostClassifier,
    TotalBoostClassifier,
    Training,
)
from dualboost.learners import Stumps
from fitted import quick
from test_callbacks import StopAfter
from test_every_estimator import VARIANTS, make, numbers

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

LATE = ["LPBoostClassifier", "SoftBoostClassifier", "TotalBoostClassifier", "FrankWolfeBoostClassifier"]
IRIS, KIND = load_iris(return_X_y=True)
VERSICOLOR = KIND == 1


def weak(name: str, **options):
    """A margin that takes rounds to become positive."""
    nu = {} if name == "TotalBoostClassifier" else {"nu": 0.02}
    return getattr(dualboost, name)(**nu, **options)


def better_than_one_class(model, X, y) -> bool:
    return model.score(X, y) > np.bincount(y).max() / len(y) + 0.05


@pytest.mark.parametrize("name", LATE)
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_few_rounds_leave_a_vote(name, rounds):
    """Before its first positive margin a linear program gives weight to nobody."""
    model = weak(name, max_iter=rounds).fit(IRIS, VERSICOLOR)
    assert better_than_one_class(model, IRIS, VERSICOLOR)
    assert model.certificate_.objective <= model.certificate_.bound
    assert np.array_equal(np.sign(model.margins_) > 0, model.predict(IRIS) == VERSICOLOR)


@pytest.mark.parametrize("name", LATE)
def test_callbacks_leave_a_vote(name):
    training = Training(callbacks=(lambda state: "enough" if state.t >= 2 else None,))
    assert better_than_one_class(weak(name, training=training).fit(IRIS, VERSICOLOR), IRIS, VERSICOLOR)


@pytest.mark.parametrize("kind", [SoftBoostClassifier, TotalBoostClassifier])
def test_early_stopping_waits_for_the_first_vote(kind):
    X, y = make_classification(1200, 10, n_informative=5, weights=[0.8], flip_y=0.02, class_sep=1.0, random_state=1)
    training = Training(validation_fraction=0.2)
    model = kind(training=training, calibrate=False, random_state=0).fit(X[:800], y[:800])
    assert set(model.predict(X[800:])) == {0, 1}
    scores = model.history_["validation"]
    assert np.flatnonzero(~np.isnan(scores))[0] > 1, "it began without a vote, and that was not scored"
    assert np.nanmax(scores) > 0.8


def test_early_stopping_without_any_vote_leaves_a_hypothesis():
    training = Training(validation_fraction=0.2)
    model = TotalBoostClassifier(max_iter=2, training=training, random_state=0).fit(IRIS, VERSICOLOR)
    assert better_than_one_class(model, IRIS, VERSICOLOR)
    assert np.isnan(model.history_["validation"]).all()


def test_nothing_to_tell_rows_by_is_no_vote():
    y = np.arange(40) % 2
    model = MarginBoostClassifier(nu=0.5, calibrate=False).fit(np.ones((40, 2)), y)
    assert not model.decision_function(np.ones((3, 2))).any()


def test_more_time_does_not_make_a_first_vote_worse():
    """Of the hypotheses that were met, the first has the largest edge under the given weights."""
    X, y = make_classification(1500, 10, n_informative=5, flip_y=0.2, random_state=1)
    stump = AdaBoostClassifier(n_estimators=1, calibrate=False).fit(X, y).score(X, y)
    for rounds in (3, 40):
        ended = Training(callbacks=(lambda state, rounds=rounds: interrupt() if state.t >= rounds else None,))
        assert TotalBoostClassifier(training=ended, calibrate=False).fit(X, y).score(X, y) == stump


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_fit_that_fails_leaves_no_model(variant):
    X, y = numbers(3)
    model = make(variant).fit(X, y)

    def fails(state):
        raise RuntimeError("a callback that fails")

    model.set_params(training=Training(callbacks=(fails,)))
    with pytest.raises(RuntimeError, match="a callback that fails"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("name", ["LogisticMixtureClassifier", "LogisticDifferenceClassifier"])
def test_callbacks_of_scikit_learn_see_the_rounds_of_bags(name):
    pytest.importorskip("sklearn.callback")
    X, y = numbers(2)
    callback = StopAfter(3)
    model = quick(name, bags=2, max_iter=20).set_callbacks(callback).fit(X, y)
    assert callback.seen >= 3 and callback.ended == 1 and model.n_iter_ <= 3


def test_a_number_is_no_estimator():
    with pytest.raises(ValueError, match="estimator must be a classifier"):
        AdaBoostClassifier(50).fit(IRIS, VERSICOLOR)


# ---- probabilities --------------------------------------------------------------------------------------------------


def rows_with_chances(seed: int, shift: float, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 6))
    p = 1 / (1 + np.exp(-(1.2 * X[:, 0] + 0.8 * X[:, 1] + 0.6 * X[:, 2] * X[:, 3] + shift)))
    return X, (rng.random(rows) < p).astype(int), p


def expected_error(y: np.ndarray, p: np.ndarray) -> float:
    """Of calibration, in ten bins."""
    bins = np.minimum((10 * p).astype(int), 9)
    return sum(abs(y[bins == k].mean() - p[bins == k].mean()) * np.mean(bins == k) for k in np.unique(bins))


CALIBRATED = {
    "soft margin": lambda: MarginBoostClassifier(random_state=0),
    "soft margin, given": lambda: MarginBoostClassifier(nu=0.6),
    "AdaBoost": lambda: AdaBoostClassifier(n_estimators=60),
    "logistic": lambda: dualboost.LogisticBoostClassifier(n_estimators=60),
    "MABoost": lambda: dualboost.MABoostClassifier(max_iter=60),
    "bags": lambda: LogisticMixtureClassifier(bags=4, learner=Stumps(), random_state=0),
    "one noise fit": lambda: LogisticMixtureClassifier(bags=0, random_state=0),
    "one noise fit, difference": lambda: dualboost.LogisticDifferenceClassifier(bags=0, random_state=0),
}


@pytest.mark.parametrize("name", CALIBRATED)
@pytest.mark.parametrize("seed, shift", [(1, 0.0), (2, 0.0), (4, -2.0)])
def test_probabilities_are_calibrated_on_rows_that_come_anew(name, seed, shift):
    """Better than the share of the class, and right to within a few percent; classes may be of unequal size."""
    X, y, _ = rows_with_chances(seed, shift, 9000)
    p = CALIBRATED[name]().fit(X[:1000], y[:1000]).predict_proba(X[1000:])[:, 1]
    constant = log_loss(y[1000:], np.full(8000, y[:1000].mean()))
    assert log_loss(y[1000:], p) < constant and expected_error(y[1000:], p) < 0.11


@pytest.mark.parametrize("factor", [0.01, 1.0, 30.0])
def test_the_size_of_votes_in_a_fold_is_no_matter(monkeypatch, factor):
    """Votes of the same margin may be of any size: only that of the model itself counts."""
    X, y, _ = rows_with_chances(1, 0.0, 800)
    wanted = MarginBoostClassifier(nu=0.6).fit(X, y).link_.slope
    plain, calls = MarginBoostClassifier._fit_two, []

    def other_size(self, data, rows):
        plain(self, data, rows)
        calls.append(1)
        if len(calls) == 3:  # the second of three folds
            self.predictor_ = scaled(self.predictor_, factor)

    monkeypatch.setattr(MarginBoostClassifier, "_fit_two", other_size)
    assert MarginBoostClassifier(nu=0.6).fit(X, y).link_.slope == pytest.approx(wanted, rel=1e-9)
    assert len(calls) == 4


def scaled(predictor, factor: float):
    return replace(
        predictor, base=factor * predictor.base, tables=factor * predictor.tables, missing=factor * predictor.missing
    )
