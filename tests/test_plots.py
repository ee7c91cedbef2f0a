"""The plots show the model's own numbers, claim nothing that is false, and leave matplotlib's state alone."""

import doctest
import re
import runpy
import sys
from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError

from dualboost import MarginBoostClassifier, plots
from dualboost.learners import Matrix
from dualboost.plots import comparison, convergence, figures, margins, shape

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

NU = 0.06


@pytest.fixture(scope="module")
def data():
    data = load_breast_cancer()
    return data.data, data.target_names[data.target], data.feature_names


@pytest.fixture(scope="module")
def model(data):
    return MarginBoostClassifier(nu=NU, tol=0.2, max_iter=400).fit(*data[:2])


@pytest.fixture
def ax():
    figure, ax = pyplot.subplots()
    yield ax
    pyplot.close(figure)


def line(ax, label):
    return next(line for line in ax.lines if line.get_label() == label)


def number_in(text):
    return float(re.search(r"-?\d+\.?\d*", text).group())


def test_margin_plot_marks_the_certified_interval(model, ax):
    assert plots.margin_plot(model, ax) is ax
    assert set(line(ax, "soft margin reached").get_xdata()) == {model.certificate_.objective}
    assert set(line(ax, "bound").get_xdata()) == {model.certificate_.bound}
    texts = " ".join(text.get_text() for text in ax.texts)
    assert f"{model.certificate_.objective:.4f}" in texts and f"{model.certificate_.bound:.4f}" in texts


def test_margin_plot_draws_the_cumulative_distribution(model, ax):
    plots.margin_plot(model, ax)
    z, share = ax.lines[0].get_data()
    for at in np.linspace(-1, 1, 41):
        drawn = share[z <= at].max(initial=0.0)
        assert drawn == pytest.approx(np.mean(model.margins_ <= at), abs=1e-12)


def test_margin_plot_shades_up_to_the_nu_quantile(model, ax):
    plots.margin_plot(model, ax)
    (span,) = ax.patches
    rank = int(np.ceil(NU * len(model.margins_)))
    assert span.get_extents().transformed(ax.transData.inverted()).x1 == pytest.approx(
        np.sort(model.margins_)[rank - 1]
    )


def test_margin_plot_title_is_true(model, ax):
    title = plots.margin_plot(model, ax).get_title(loc="left")
    claimed = number_in(title)
    assert title.startswith("Half of the rows have a margin of at least")
    assert np.mean(model.margins_ >= claimed) >= 0.5
    assert np.mean(model.margins_ >= claimed + 0.02) < 0.6  # and not idle


def test_margin_plot_names_each_class_on_its_own_curve(model, data, ax):
    plots.margin_plot(model, ax, y=data[1])
    for label in model.classes_:
        (text,) = [text for text in ax.texts if text.get_text() == label]
        curve = next(line for line in ax.lines if line.get_color() == text.get_color())
        assert curve.get_xdata()[0] == model.margins_[data[1] == label].min()
        assert curve.get_xdata()[-1] == model.margins_[data[1] == label].max()


def test_margin_plot_of_a_weighted_fit(data, ax):
    X, y, _ = data
    weights = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    weighted = MarginBoostClassifier(nu=0.2, max_iter=50).fit(X, y, weights)
    copies = np.repeat(weighted.margins_, weights.astype(int))
    claimed = number_in(plots.margin_plot(weighted, ax, sample_weight=weights).get_title(loc="left"))
    assert np.mean(copies >= claimed) >= 0.5
    with pytest.raises(ValueError, match="pass the sample_weight of the fit"):
        plots.margin_plot(weighted, ax)
    with pytest.raises(ValueError, match="sample_weight must be that of the fit"):
        plots.margin_plot(weighted, ax, sample_weight=np.ones(len(y)))


def test_margin_plot_refuses_foreign_labels(model, data, ax):
    with pytest.raises(ValueError, match="labels of the 569 training rows"):
        plots.margin_plot(model, ax, y=data[1][:-1])
    with pytest.raises(ValueError, match="y must hold the training labels"):
        plots.margin_plot(model, ax, y=np.zeros(len(data[1])))


def test_convergence_plot_follows_the_history(model, ax):
    assert plots.convergence_plot(model, ax) is ax
    assert ax.get_xscale() == "log"
    for label, key in (("soft margin reached", "objective"), ("bound", "bound")):
        rounds, values = line(ax, label).get_data()
        assert rounds[0] == 1 and rounds[-1] == model.n_iter_ and len(rounds) > 5
        np.testing.assert_array_equal(values, model.history_[key][rounds])
    left = ax.lines[-1]
    assert set(left.get_xdata()) == {model.n_iter_}
    assert tuple(left.get_ydata()) == (model.certificate_.objective, model.certificate_.bound)


def test_convergence_plot_claims_no_more_than_is_proved(model, ax):
    title = plots.convergence_plot(model, ax).get_title(loc="left")
    proved = 100 * model.certificate_.objective / model.certificate_.bound
    assert proved - 0.1 <= number_in(title) <= proved
    assert title.endswith(f"{model.n_iter_} rounds")
    assert any(f"gap {model.certificate_.gap:.2g}" in text.get_text() for text in ax.texts)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_plots_of_a_model_without_a_margin(ax):
    rows = np.repeat(np.random.default_rng(0).normal(size=(100, 2)), 2, axis=0)
    hopeless = MarginBoostClassifier(nu=0.05, max_iter=20).fit(rows, np.tile([0, 1], 100))  # every row with both labels
    assert hopeless.certificate_.objective <= 0
    title = plots.convergence_plot(hopeless, ax).get_title(loc="left")
    assert title.startswith("No soft margin above") and number_in(title) >= hopeless.certificate_.bound
    plots.summary_figure(hopeless).draw_without_rendering()


@pytest.mark.parametrize("max_iter", [1, 2, 12])
def test_plots_of_a_short_run(data, max_iter):
    X, y, _ = data
    short = MarginBoostClassifier(nu=0.3, tol=1e-6, max_iter=max_iter).fit(X, y)
    assert_labels_are_readable(plots.summary_figure(short, y=y))


def test_shape_plot_is_the_predictor(model, data, ax):
    X, _, names = data
    feature = int(model.feature_importances_.argmax())
    plots.shape_plot(model, feature, ax, name=names[feature])
    x, vote = ax.lines[0].get_data()
    at = (x[:-1] + x[1:]) / 2
    rows = np.repeat(X[:1], len(at), axis=0)
    rows[:, feature] = at
    scores = model.decision_function(rows)
    np.testing.assert_allclose(scores - scores[0], vote[:-1] - vote[0], atol=1e-12)
    assert np.ptp(vote) > 0 and ax.get_xlabel() == names[feature]


def test_shape_plot_refuses_an_unused_feature(model, ax):
    with pytest.raises(ValueError, match="does not use feature 99"):
        plots.shape_plot(model, 99, ax)


def test_shape_figure_shows_the_largest_shares_first(model, data):
    figure = plots.shape_figure(model, 4, names=data[2])
    shown = [ax for ax in figure.axes if ax.get_visible()]
    order = np.argsort(-model.feature_importances_, kind="stable")[:4]
    assert [ax.get_xlabel() for ax in shown] == [data[2][k] for k in order]
    assert f"{model.feature_importances_[order].sum():.0%}" in figure.get_suptitle()


def test_feature_names_of_a_data_frame_are_used(data, ax):
    pandas = pytest.importorskip("pandas")
    X, y, names = data
    named = MarginBoostClassifier(nu=0.3, max_iter=3).fit(pandas.DataFrame(X, columns=names), y)
    feature = int(named.feature_importances_.argmax())
    assert plots.shape_plot(named, feature, ax).get_xlabel() == names[feature]


def test_labels_do_not_overlap(model, data):
    assert_labels_are_readable(plots.summary_figure(model, y=data[1]))


def assert_labels_are_readable(figure):
    """Every label inside the picture, and none on top of another of the same axes."""
    figure.canvas.draw()
    for ax in figure.axes:
        boxes = [box_of(text) for text in [*ax.texts, ax._left_title]]
        assert len(boxes) >= 3
        for box in boxes:
            assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
            assert figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def box_of(text):
    if getattr(text, "arrow_patch", None) is not None:
        text.arrowprops = text.arrow_patch = None  # the text alone, without its leader
    return text.get_window_extent()


def test_plots_leave_no_trace(model, data):
    before, figures = dict(matplotlib.rcParams), pyplot.get_fignums()
    plots.summary_figure(model, y=data[1])
    plots.shape_figure(model)
    assert dict(matplotlib.rcParams) == before and pyplot.get_fignums() == figures


def test_without_axes_a_new_figure_is_made(model):
    one, other = plots.margin_plot(model), plots.convergence_plot(model)
    assert one.figure is not other.figure
    pyplot.close(one.figure)
    pyplot.close(other.figure)


@pytest.mark.parametrize("plot", [plots.margin_plot, plots.convergence_plot, plots.summary_figure, plots.shape_figure])
def test_an_unfitted_model_is_refused(plot):
    with pytest.raises(NotFittedError):
        plot(MarginBoostClassifier())


def test_without_matplotlib_one_sentence_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for plot in (plots.margin_plot, plots.convergence_plot, plots.summary_figure, plots.shape_figure):
        with pytest.raises(ImportError, match=r'^The plots need matplotlib: pip install "dualboost\[plots\]"\.$'):
            plot(model)


def test_the_module_loads_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "margin_plot" in runpy.run_path(figures.__file__)


def test_examples_run():
    results = [doctest.testmod(part) for part in (figures, margins, convergence, shape, comparison)]
    pyplot.close("all")
    assert all(result.attempted > 4 and result.failed == 0 for result in results)


def test_curves_are_for_two_classes_and_votes_that_have_some():
    X, y = load_breast_cancer(return_X_y=True)
    linear = MarginBoostClassifier(nu=0.5, max_iter=3, learner=Matrix(), calibrate=False).fit(X / X.max(axis=0), y)
    several = MarginBoostClassifier(nu=0.5, max_iter=3, calibrate=False).fit(X, np.arange(len(y)) % 3)
    for plot in (lambda model: plots.shape_plot(model, 0), plots.shape_figure):
        with pytest.raises(ValueError, match="needs a vote of stumps, trees or boxes"):
            plot(linear)
        with pytest.raises(ValueError, match="several classes"):
            plot(several)


def test_margins_of_one_vote_for_several_classes_are_drawn_without_its_certificate(ax):
    X, y = load_iris(return_X_y=True)
    model = MarginBoostClassifier(nu=0.3, multiclass="pairs", max_iter=20, calibrate=False).fit(X, y)
    display = plots.MarginDisplay.from_estimator(model, ax=ax)
    assert display.certificate is None and len(display.margins) == 150
    with pytest.raises(ValueError, match=r"the model has 3: leave it out\.$"):
        plots.MarginDisplay.from_estimator(model, y=y)
