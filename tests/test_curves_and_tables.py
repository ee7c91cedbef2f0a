"""Curves and tables take what the columns of a frame hold, add up to the score, and every curve is drawn."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dualboost import MarginBoostClassifier, explain, pairs, shapes
from dualboost.inspection import PairTable, Shape
from dualboost.inspection.as_trees import plain_trees
from dualboost.learners import Trees
from fitted import fitted, margin, new_rows

ROOT = Path(__file__).parent.parent
CLOSE = {"rtol": 0, "atol": 1e-12}
RNG = np.random.default_rng(0)
N = 400


def frame() -> pd.DataFrame:
    """Labels that are text, numbers other than their places, and truth values; some missing; and numbers."""
    town = pd.Categorical(RNG.choice(["Köln", "Paris", "Oslo"], N))
    kind, member = pd.Categorical(RNG.choice([30, 10, 20], N)), pd.Categorical(RNG.choice([True, False], N))
    numbers = {"x": RNG.normal(size=N), "sure": RNG.normal(size=N)}
    table = pd.DataFrame({"town": town, "kind": kind, "member": member, **numbers})
    table.loc[::9, "town"] = table.loc[1::9, "kind"] = table.loc[2::9, "member"] = None
    return table


FRAME = frame()
TWO = (FRAME["town"] == "Paris") ^ (FRAME["x"] > 0.3), (FRAME["kind"] == 20) ^ FRAME["member"].eq(True)
LABELS = np.where(np.arange(N) % 3 > 0, *TWO) | (FRAME["sure"] > 0.8)
HALF = np.array([0.5])
TOWN = Shape(0, "town", np.array([0.5, 1.5]), np.array([1.0, 2.0, 3.0]), 0.0, categories=("Köln", "Oslo", "Paris"))


@pytest.fixture(scope="module")
def model():
    return margin(nu=0.4, learner=Trees(2), max_iter=40).fit(FRAME, LABELS)


def total(model, columns) -> np.ndarray:
    """Curves, tables and constant votes at these columns, by their names."""
    constant = plain_trees(model.predictor_).by_paths().get(())
    found = np.full(N, plain_trees(model.predictor_).base + (0.0 if constant is None else constant.value.sum()))
    found += sum(curve(columns[curve.name]) for curve in shapes(model))
    return found + sum(table(*(columns[name] for name in table.names)) for table in pairs(model))


# ---- what they take -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hole", [0, 9])
@pytest.mark.parametrize("kind", ["intervals", "large", "spans"])
def test_labels_that_pandas_changes_where_one_is_missing(kind, hole):
    values = np.random.default_rng(0).uniform(0, 50, 200)
    labels = np.asarray(values // 10, dtype=int)
    if hole:
        values[::hole] = np.nan
    column = {
        "intervals": lambda: pd.Series(pd.cut(values, [0, 10, 20, 30, 40, 50])),
        "large": lambda: pd.Series(
            pd.Categorical.from_codes(np.where(np.isnan(values), -1, labels), 2**60 + np.arange(5))
        ),
        "spans": lambda: pd.Series(
            pd.Categorical.from_codes(np.where(np.isnan(values), -1, labels), pd.to_timedelta(np.arange(5), "D"))
        ),
    }[kind]()
    frame = pd.DataFrame({"age": column})
    model = MarginBoostClassifier(nu=0.3, max_iter=20, calibrate=False).fit(frame, labels % 2 == 0)
    (curve,) = shapes(model, frame)
    for given in (frame["age"], frame["age"].array):
        np.testing.assert_allclose(curve(given), model.decision_function(frame) - model.predictor_.base, atol=1e-12)


def test_curves_tables_and_constant_votes_are_the_score_of_a_frame(model):
    tables = pairs(model, FRAME)
    assert {name for table in tables for name in table.names} == set(FRAME.columns), "every column is in some table"
    assert shapes(model), "and some have curves"
    known = {"town": ("Köln", "Oslo", "Paris"), "kind": (10, 20, 30), "member": (False, True)}
    assert all(table.categories == tuple(known.get(name, ()) for name in table.names) for table in tables)
    assert all(table.counts.sum() == N for table in tables)
    np.testing.assert_allclose(total(model, FRAME), model.decision_function(FRAME), **CLOSE)


@pytest.mark.parametrize("kind", ["objects", "polars", "arrow"])
def test_columns_of_every_library(model, kind):
    plain = FRAME.astype({"town": object, "kind": object, "member": object})
    if kind == "polars":
        plain = pl.from_pandas(plain).with_columns(pl.col("town").cast(pl.Categorical))
    if kind == "arrow":
        plain = pa.Table.from_pandas(plain)
        plain = plain.set_column(0, "town", plain["town"].dictionary_encode())
    np.testing.assert_allclose(total(model, plain), model.decision_function(FRAME), **CLOSE)


def test_places_where_no_label_is_a_number(model):
    places = {name: FRAME[name] for name in FRAME.columns}
    for name, labels in (("town", ["Köln", "Oslo", "Paris"]), ("member", [False, True])):
        codes = FRAME[name].cat.set_categories(labels).cat.codes
        places[name] = np.where(codes < 0, np.nan, codes)
    np.testing.assert_allclose(total(model, places), model.decision_function(FRAME), **CLOSE)
    assert TOWN(np.arange(3)).tolist() == TOWN(["Köln", "Oslo", "Paris"]).tolist() == [1, 2, 3]
    assert TOWN([2, "Oslo", None, np.float32(0)]).tolist() == [3, 2, 0, 1]


def test_numbers_that_are_labels_are_no_places():
    kind = Shape(0, "kind", np.array([0.5, 1.5]), np.array([1.0, 2.0, 3.0]), 0.0, categories=(1, 2, 30))
    assert kind([1, 2.0, np.int8(30), 0, np.nan]).tolist() == [1, 2, 3, 0, 0]
    mixed = Shape(0, "kind", np.array([0.5]), np.array([1.0, 2.0]), 0.0, categories=(1, "a"))
    assert mixed([1, "a", 0]).tolist() == [1, 2, 0]
    truth = Shape(0, "truth", np.array([0.5]), np.array([1.0, 2.0]), 0.0, categories=(True, "a"))
    assert truth([True, "a", np.True_, False]).tolist() == [1, 2, 1, 0]
    assert truth([0, 1]).tolist() == [1, 2], "places: no label is a number"


@pytest.mark.parametrize("name", ["town", "kind", "member"])
def test_labels_that_were_never_met_count_as_missing(model, name):
    strange = {"town": "Rom", "kind": 15, "member": True}[name]
    if name == "member":  # both truth values are known to the model: fit to one of them
        kept = FRAME["member"] != strange
        model = margin(nu=0.4, learner=Trees(2), max_iter=40).fit(FRAME[kept], LABELS[kept])
    other = FRAME.assign(**{name: pd.Categorical([strange, FRAME[name].cat.categories[0]] * (N // 2))})
    missing = other.assign(**{name: other[name].cat.remove_categories([strange])})
    np.testing.assert_array_equal(total(model, other), total(model, missing))
    np.testing.assert_allclose(total(model, other), model.decision_function(other), **CLOSE)
    assert any(name in table.names for table in pairs(model))


def test_a_single_label():
    table = PairTable((0, 1), ("x", "town"), (HALF, HALF), np.arange(9).reshape(3, 3), categories=((), ("a", "bc")))
    assert TOWN("Oslo") == TOWN(1) == 2 and TOWN("nowhere") == 0
    assert table(0.0, "bc") == 1 and table(1.0, None) == 5


@pytest.mark.parametrize(
    "labels, given, message",
    [
        (("Köln", "Oslo"), [0, 2], r"^The labels of 'it' stand at the places 0 to 1, so 2 is none: give labels\.$"),
        (("Köln", "Oslo"), [0.5], r"^The labels of 'it' stand .* so 0\.5 is none: give labels\.$"),
        (("Köln", "Oslo"), np.array(["2020-01-01"], "M8[ns]"), r"^The labels of 'it' stand .*: give labels\.$"),
        (("1", "2"), np.array([1, 2]), r"^A label of 'it' is the text '1', so that a number may be .*: give text\.$"),
        ((1, 2), ["1", None], r"^Column 'it' holds text, but its categories were numbers when .*: convert it\.$"),
        ((1, 2), [True], r"^Column 'it' holds truth values, but its categories were numbers when .*: convert it\.$"),
        (("Köln", "Oslo"), [True], r"^Column 'it' holds truth values, but its categories were text .*: convert it\.$"),
    ],
)
def test_what_no_column_holds_is_refused(labels, given, message):
    curve = Shape(0, "it", HALF, np.array([1.0, 2.0]), 0.0, categories=labels)
    table = PairTable((0, 1), ("x", "it"), (HALF, HALF), np.zeros((3, 3)), categories=((), labels))
    with pytest.raises(ValueError, match=message):
        curve(given)
    with pytest.raises(ValueError, match=message):
        table(np.zeros(len(given)), given)


def test_text_that_reads_as_numbers_is_text():
    curve = Shape(0, "it", HALF, np.array([1.0, 2.0]), 0.0, categories=("1", "2"))
    assert curve(["2", "1", "0", None]).tolist() == [2, 1, 0, 0]


def test_labels_of_dates():
    dates = pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01", None]))
    curve = Shape(0, "day", HALF, np.array([1.0, 2.0]), 0.0, categories=tuple(map(str, dates.categories)))
    assert curve(pd.Series(dates)).tolist() == [1, 2, 0]


# ---- what is drawn --------------------------------------------------------------------------------------------------


@pytest.fixture
def plots():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    from dualboost import plots

    yield plots
    pyplot.close("all")


DRAWN = ["bagged stumps", "words", "trees of one level", "leaf stumps", "trees of two levels", "leaf trees", "union"]


@pytest.mark.parametrize("kind", DRAWN)
def test_every_curve_is_drawn(kind, plots):
    model = fitted(kind)
    curves = shapes(model, new_rows(kind))
    assert curves
    for curve in curves:
        display = plots.ShapeDisplay.from_estimator(model, curve.feature, X=new_rows(kind))
        x, score = display.ax_.lines[0].get_data()
        np.testing.assert_array_equal(curve(np.append(x[1:-1], x[-1])), score[:-1])
        np.testing.assert_array_equal(display.shape.counts, curve.counts)
        share = model.feature_importances_[curve.feature]
        assert display.ax_.get_title(loc="left") == f"{'' if curve.whole else 'part of '}{share:.1%} of the vote"
    assert len(plots.shape_figure(model, 2).axes) == min(2, len(curves))


def test_a_curve_is_whole_where_no_tree_looks_at_the_feature_beside_others():
    assert all(curve.whole for kind in DRAWN[:4] for curve in shapes(fitted(kind)))
    model = fitted("trees of two levels")
    joint = {feature for table in pairs(model) for feature in table.features}
    curves = shapes(model)
    assert joint and [curve.whole for curve in curves] == [curve.feature not in joint for curve in curves]


def joint_only():
    """A vote whose trees all look at two features, and a third column that means nothing."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (200, 2))
    table = np.column_stack([signs, np.zeros(200)])
    model = MarginBoostClassifier(nu=0.5, learner=Trees(2), max_iter=1, calibrate=False)
    return model.fit(table, signs[:, 0] * signs[:, 1] > 0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_has_no_curve_is_not_drawn(plots):
    model = joint_only()
    assert not shapes(model) and pairs(model)
    with pytest.raises(ValueError, match=r"^The model looks at feature 0 only together with others, .* or explain\.$"):
        plots.ShapeDisplay.from_estimator(model, 0)
    with pytest.raises(ValueError, match=r"^The model does not use feature 2; its features are \[0, 1\]\.$"):
        plots.ShapeDisplay.from_estimator(model, 2)
    with pytest.raises(ValueError, match=r"^The model looks at features only together, so there is no curve to draw"):
        plots.shape_figure(model)
    with pytest.raises(ValueError, match="the model's is MatrixScores"):
        plots.ShapeDisplay.from_estimator(fitted("linear"), 0)
    with pytest.raises(ValueError, match=r"^count is a number of features and must be at least 1, not 0\.$"):
        plots.shape_figure(fitted("votes"), 0)


def test_a_feature_without_a_curve_among_others_with_one(model, plots):
    with_curve = {curve.name for curve in shapes(model)}
    assert 0 < len(with_curve) < len(FRAME.columns)
    for name in FRAME.columns:
        if name in with_curve:
            assert plots.ShapeDisplay.from_estimator(model, name, X=FRAME).shape.name == name
        else:
            with pytest.raises(ValueError, match=rf"^The model looks at feature '{name}' only .*, or draw one of \["):
                plots.ShapeDisplay.from_estimator(model, name)


# ---- centred features -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["MarginBoostClassifier", "bagged stumps", "linear", "words", "trees of three levels"])
def test_the_means_over_the_background(kind):
    rows = new_rows(kind)
    found = explain(fitted(kind), rows, background=rows)
    means, spread = found.contributions.mean(axis=0), np.ptp(found.contributions, axis=0).max()
    assert found.base == pytest.approx(found.scores.mean(), abs=1e-12)
    if kind.startswith("trees"):
        assert 1e-6 * spread < np.abs(means).max() < 0.1 * spread, "near 0, but not 0"
    else:
        assert np.abs(means).max() < 1e-12
    for text in (explain.__doc__, (ROOT / "docs/inspection.md").read_text()):
        assert "and near 0 for trees" in " ".join(text.split())
