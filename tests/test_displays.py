"""The displays behave as scikit-learn's: data first, drawn on request, on the axes given, for every classifier."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from dualboost import AdaBoostClassifier, MarginBoostClassifier
from dualboost.files.model import MODELS
from dualboost.plots import (
    ConvergenceDisplay,
    MarginDisplay,
    ShapeDisplay,
    comparison_figure,
    convergence_plot,
    margin_plot,
    shape_figure,
    shape_plot,
)
from fitted import THREE, X, Y, fitted, frame, margin

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

DISPLAYS = [
    MarginDisplay.from_estimator,
    ConvergenceDisplay.from_estimator,
    lambda model, **options: ShapeDisplay.from_estimator(model, int(model.feature_importances_.argmax()), **options),
]
every_display = pytest.mark.parametrize("draw", DISPLAYS, ids=["margins", "convergence", "shape"])


@pytest.fixture(autouse=True)
def close_all():
    yield
    pyplot.close("all")


@every_display
@pytest.mark.parametrize("kind", MODELS)
def test_every_classifier_is_drawn(kind, draw):
    display = draw(fitted(kind))
    assert display.figure_ is display.ax_.figure and display.ax_.lines
    display.figure_.canvas.draw()
    assert display.ax_.get_title(loc="left") and display.ax_.get_xlabel() and display.ax_.get_ylabel()


@every_display
def test_a_display_draws_again_elsewhere(draw):
    _, (first, second) = pyplot.subplots(1, 2)
    display = draw(fitted("MarginBoostClassifier"), ax=first)
    assert display.ax_ is first and display.figure_ is first.figure
    assert display.plot(second) is display and display.ax_ is second
    for one, other in zip(first.lines, second.lines, strict=True):
        np.testing.assert_array_equal(one.get_xydata(), other.get_xydata())


def test_nothing_is_drawn_before_plot():
    drawn = MarginDisplay.from_estimator(fitted("MarginBoostClassifier"))
    again = MarginDisplay(drawn.margins, drawn.weights)
    assert not hasattr(again, "ax_")
    assert again.plot().ax_.lines and not again.ax_.patches, "without a certificate nothing is shaded"


@every_display
def test_models_that_cannot_be_drawn_are_refused(draw):
    with pytest.raises((NotFittedError, AttributeError)):
        draw(MarginBoostClassifier())
    with pytest.raises(ValueError, match=r"estimators_\[k\]"):
        draw(fitted("three classes"))
    assert draw(margin().fit(X, THREE).estimators_[0]).ax_.lines


def test_the_margins_of_a_model_without_a_soft_margin():
    model = AdaBoostClassifier(n_estimators=20).fit(X, Y)
    display = MarginDisplay.from_estimator(model, y=Y)
    assert display.certificate is None and display.nu is None
    z, share = display.ax_.lines[0].get_data()
    assert z[-1] == model.margins_.max() and share[-1] == 1
    low, high = display.ax_.get_xlim()
    assert low < z[0] and z[-1] < high
    assert {text.get_text() for text in display.ax_.texts} == {"0", "1"}


def test_the_loss_of_a_model_without_a_bound():
    model = AdaBoostClassifier(n_estimators=20).fit(X, Y)
    display = ConvergenceDisplay.from_estimator(model)
    rounds, loss = display.ax_.lines[0].get_data()
    np.testing.assert_array_equal(loss, -model.history_["objective"][rounds])
    assert display.ax_.get_ylabel() == "loss" and loss[-1] < loss[0]
    noisy = ConvergenceDisplay.from_estimator(fitted("LogisticMixtureClassifier"))
    assert noisy.ax_.get_ylabel() == "loss"


def asked(**named):
    """ShapeDisplay with the table and the feature in every order, by place and by name."""
    model, feature = fitted("names"), int(fitted("names").feature_importances_.argmax())
    table = frame(X)
    return {
        "feature, table": lambda: ShapeDisplay.from_estimator(model, feature, table, **named),
        "table, feature": lambda: ShapeDisplay.from_estimator(model, table, feature, **named),
        "table, name": lambda: ShapeDisplay.from_estimator(model, table, str(table.columns[feature]), **named),
        "table, feature=": lambda: ShapeDisplay.from_estimator(model, table, feature=feature, **named),
        "X=, feature=": lambda: ShapeDisplay.from_estimator(model, X=table, feature=feature, **named),
    }


@pytest.mark.parametrize("order", asked())
def test_a_feature_and_a_table_are_told_apart(order):
    model = fitted("names")
    expected = ShapeDisplay.from_estimator(model, int(model.feature_importances_.argmax()), X=frame(X))
    np.testing.assert_array_equal(asked()[order]().shape.counts, expected.shape.counts)
    assert asked(name="other")[order]().ax_.get_xlabel() == "other"


def test_any_table_may_be_counted():
    model = fitted("MarginBoostClassifier")
    feature = int(model.feature_importances_.argmax())
    expected = ShapeDisplay.from_estimator(model, feature, X=X).shape.counts
    for table in (X, X.tolist(), sp.csr_matrix(X)):
        np.testing.assert_array_equal(ShapeDisplay.from_estimator(model, table, feature).shape.counts, expected)


WRONG = {
    "no feature": (lambda m: ShapeDisplay.from_estimator(m, frame(X)), "Say which feature to draw, by its number"),
    "an array alone": (lambda m: ShapeDisplay.from_estimator(m, X), "Say which feature to draw, by its number"),
    "two tables": (lambda m: ShapeDisplay.from_estimator(m, X, X), "Give one feature, and besides it at most one"),
    "two features": (lambda m: ShapeDisplay.from_estimator(m, 0, 1), "Give one feature, and besides it at most one"),
    "nothing": (lambda m: ShapeDisplay.from_estimator(m), "feature must be the number or name of one column of X, "),
    "a column": (lambda m: ShapeDisplay.from_estimator(m, frame(X).iloc[:, 0]), "not a value of type Series"),
    "a list": (lambda m: ShapeDisplay.from_estimator(m, ["a", "b"]), "not a value of type list"),
    "a long name": (lambda m: ShapeDisplay.from_estimator(m, "a" * 3000), "does not use feature 'aaaa"),
    "shape_plot": (lambda m: shape_plot(m, frame(X)), "Say which feature to draw, by its number"),
    "margins of X": (lambda m: MarginDisplay.from_estimator(m, X, Y), "give no X, and the labels as y=y"),
    "run of X": (lambda m: ConvergenceDisplay.from_estimator(m, X, Y), "give no X and no y"),
    "X for axes": (lambda m: convergence_plot(m, frame(X)), "ax must be Axes of matplotlib, such as"),
    "many axes": (lambda m: margin_plot(m, pyplot.subplots(2)[1]), "not a value of type ndarray"),
    "X for a count": (lambda m: shape_figure(m, frame(X)), "count is a number of features and must be at least 1"),
    "half a count": (lambda m: shape_figure(m, 1.5), "count is a number of features and must be at least 1, not 1.5"),
    "few names": (lambda m: shape_figure(m, 2, names=["a"]), "names must have one for each of the 5 features, not 1"),
    "dates": (
        lambda m: MarginDisplay.from_estimator(m, sample_weight=np.zeros(len(Y), dtype="datetime64[D]")),
        "sample_weight holds dates",
    ),
    "no comparison": (comparison_figure, "comparison must be what dualboost.compare returned, not a value of type Mar"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_arguments_of_pictures_are_told_in_one_sentence(what):
    draw, words = WRONG[what]
    with pytest.raises(ValueError) as told:
        draw(fitted("MarginBoostClassifier"))
    sentence = str(told.value)
    assert words in sentence and sentence.endswith(".") and "\n" not in sentence and len(sentence) < 200, sentence


def test_a_sentence_lists_some_of_many_features():
    wide = np.random.default_rng(0).normal(size=(300, 60))
    model = AdaBoostClassifier(n_estimators=200, calibrate=False).fit(wide, wide.sum(axis=1) > 0)
    with pytest.raises(ValueError, match=r"its features are \[[\d, ]+, \.\.\.\]\.$") as told:
        ShapeDisplay.from_estimator(model, 99)
    assert str(told.value).count(",") == 20


def test_counts_stand_at_the_foot():
    model = fitted("names")
    feature = int(model.feature_importances_.argmax())
    without = ShapeDisplay.from_estimator(model, feature)
    counted = ShapeDisplay.from_estimator(model, feature, X=frame(X))
    assert without.shape.counts is None and counted.shape.counts.sum() > 0
    assert len(counted.ax_.collections) == len(without.ax_.collections) + 1
    assert counted.ax_.get_xlabel() == frame(X).columns[feature]
    assert ShapeDisplay.from_estimator(model, feature, name="other").ax_.get_xlabel() == "other"
