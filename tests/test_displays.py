"""The displays behave as scikit-learn's: data first, drawn on request, on the axes given, for every classifier."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dualboost import AdaBoostClassifier, MarginBoostClassifier
from dualboost.files.model import MODELS
from dualboost.plots import ConvergenceDisplay, MarginDisplay, ShapeDisplay
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


def test_counts_stand_at_the_foot():
    model = fitted("names")
    feature = int(model.feature_importances_.argmax())
    without = ShapeDisplay.from_estimator(model, feature)
    counted = ShapeDisplay.from_estimator(model, feature, X=frame(X))
    assert without.shape.counts is None and counted.shape.counts.sum() > 0
    assert len(counted.ax_.collections) == len(without.ax_.collections) + 1
    assert counted.ax_.get_xlabel() == frame(X).columns[feature]
    assert ShapeDisplay.from_estimator(model, feature, name="other").ax_.get_xlabel() == "other"
