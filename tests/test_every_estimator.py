"""What every classifier of the package owes its user, one by one: none is left out because its relatives were tried."""

import importlib
import re
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import ConvergenceWarning

import dualboost
from dualboost.learners import Trees
from fitted import quick

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

NAMES = [name for name in dualboost.__all__ if name.endswith("Classifier")]
VARIANTS = {
    **{name: (name, {}) for name in NAMES},
    "LogisticMixtureClassifier, one fit": ("LogisticMixtureClassifier", {"bags": 0}),
    "LogisticDifferenceClassifier, one fit": ("LogisticDifferenceClassifier", {"bags": 0}),
    "pairs of classes": ("MarginBoostClassifier", {"multiclass": "pairs"}),
    "trees": ("MarginBoostClassifier", {"learner": Trees(2)}),
}
every_one = pytest.mark.parametrize("variant", VARIANTS)
two_or_three = pytest.mark.parametrize("classes", [2, 3])


def make(variant: str, **others):
    kind, options = VARIANTS[variant]
    rounds = {"max_iter": 12, "n_estimators": 12, "bags": 2, "nu": 0.4}
    return quick(kind, **{**rounds, **options, **others})


def numbers(classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=90), rng.integers(0, 5, 90), rng.integers(0, 3, 90)]).astype(float)
    y = (X[:, 0] + (X[:, 1] == 2) > 0.3).astype(int)
    return X, y + (X[:, 2] > 1) if classes == 3 else y


def test_scikit_learn_checks_every_classifier():
    checked = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        if "import parametrize_with_checks" in path.read_text("utf-8") and path != Path(__file__):
            for mark in importlib.import_module(path.stem).test_scikit_learn_checks.pytestmark:
                if mark.name == "parametrize":
                    checked |= {type(case.values[0] if hasattr(case, "values") else case[0]) for case in mark.args[1]}
    assert {kind.__name__ for kind in checked} == set(NAMES)


@every_one
@two_or_three
@pytest.mark.parametrize("size", [1e308, 5e-324])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_weights_of_any_size_are_only_a_scale(variant, classes, size):
    X, y = numbers(classes)
    plain = make(variant).fit(X, y)
    heavy = make(variant).fit(X, y, sample_weight=np.full(len(y), size))
    np.testing.assert_allclose(heavy.decision_function(X), plain.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(heavy.predict_proba(X), plain.predict_proba(X), atol=1e-9)


@every_one
@two_or_three
@pytest.mark.parametrize("light, heavy", [(1.0, 1e308), (1e-300, 1.0), (5e-324, 1e308), (1.0, 1e150)])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_weights_that_differ_as_much_as_they_can(variant, classes, light, heavy):
    """Half of the rows count for all there is to count; the others are still rows, with margins of their own."""
    X, y = numbers(classes)
    weights = np.where(np.arange(len(y)) % 2 == 0, heavy, light)
    model = make(variant).fit(X, y, sample_weight=weights)
    assert np.isfinite(model.decision_function(X)).all() and np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.margins_).all() and np.isfinite(model.sample_distribution_).all()
    assert model.score(X[::2], y[::2]) > 1 / classes


@every_one
@two_or_three
def test_the_likeliest_class_is_the_predicted_one(variant, classes):
    X, y = numbers(classes)
    model = make(variant).fit(X, y)
    tied = np.concatenate([X, np.full((1, 3), np.nan), np.zeros((1, 3))])
    P = model.predict_proba(tied)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(tied))


@every_one
@two_or_three
def test_one_row_of_each_class_and_nothing_but_constants(variant, classes):
    labels = ["a", "b", "c"][:classes]
    X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 7.0]])[:classes]
    assert make(variant, nu=0.1).fit(X, labels).predict(X).tolist() == labels
    model = make(variant, nu=0.8).fit(np.full((10, 2), 3.0), np.resize(labels, 10))
    assert np.isfinite(model.predict_proba(np.full((2, 2), 3.0))).all()


@every_one
@pytest.mark.parametrize("seed", [2, 6])
def test_weight_k_is_k_copies_on_rows_never_seen_too(variant, seed):
    """Rows of weight zero are scored as well, some of them with missing values where training had none."""
    X, y = numbers(2)
    X[::11, 1] = np.nan
    y = np.where(np.arange(len(y)) % 13 == 5, 1 - y, y)  # or one stump is nearly all of the vote
    counts = np.random.default_rng(seed).integers(0, 4, len(y))
    weighted = make(variant).fit(X, y, sample_weight=counts)
    copied = make(variant).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.decision_function(X), copied.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-5)


# ---- training -------------------------------------------------------------------------------------------------------


@every_one
@two_or_three
def test_the_bar_shows_rounds_the_value_and_the_time(variant, classes, capsys):
    make(variant, verbose=1).fit(*numbers(classes))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= (1 if classes == 2 or variant == "pairs of classes" else 3)
    for line in lines:
        assert re.search(r" (\d+)/\1 (margin|loss) .*\d \d:\d\d:\d\d \d:\d\d:\d\d$", line), line


@every_one
def test_a_time_limit_ends_every_fit(variant):
    X, y = numbers(3)
    endless = {"max_iter": 10**7, "n_estimators": 10**7, "tol": 1e-9, "training": dualboost.Training(seconds=0.1)}
    start = time.monotonic()
    model = make(variant, **endless).fit(X, y)
    assert time.monotonic() - start < 3.0
    assert np.isfinite(model.predict_proba(X)).all()


@every_one
@two_or_three
@pytest.mark.parametrize("given", [True, False], ids=["eval_set", "validation_fraction"])
def test_rows_held_out_stop_every_fit(variant, classes, given):
    X, y = numbers(classes)
    training = dualboost.Training(patience=3, validation_fraction=None if given else 0.3)
    model = make(variant, training=training).fit(X, y, eval_set=(X[::3], y[::3]) if given else None)
    for k, part in enumerate(getattr(model, "estimators_", [model])):
        if variant == "TotalBoostClassifier" and np.isnan(part.history_["validation"]).all():
            continue  # it had no vote to choose from
        assert "the best on held-out rows, was kept" in part.status_
        best = np.nanmax(part.history_["validation"])
        assert len(part.history_["validation"]) == len(part.history_["validation_loss"]) >= 2
        if given and "no signal" not in part.status_:
            assert best == pytest.approx(part.score(X[::3], y[::3] if part is model else y[::3] == k), abs=1e-12)


@every_one
@two_or_three
def test_a_warm_start_has_the_bits_of_one_run(variant, classes):
    X, y = numbers(classes)
    short, long = make(variant, max_iter=6, n_estimators=6), make(variant, max_iter=14, n_estimators=14)
    model = short.set_params(warm_start=True).fit(X, y)
    model.set_params(**{name: 14 for name in ("max_iter", "n_estimators") if name in model.get_params()}).fit(X, y)
    whole = long.set_params(warm_start=True).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))


@every_one
@two_or_three
def test_callbacks_see_rounds_and_may_stop(variant, classes):
    seen = []

    def look(state):
        seen.append(state.t)
        return "seen enough"

    options = {"nu": 0.2, "tol": 1e-9, "training": dualboost.Training(callbacks=(look,))}
    model = make(variant, **options).fit(*numbers(classes))
    assert set(seen) == {1} and "seen enough" in model.status_


# ---- frames with categories -----------------------------------------------------------------------------------------

TOWNS = np.array(["Köln", "東京", "Łódź", "Paris", "Oslo", "Rom", "Bern", "Wien"])
EAST = ["Łódź", "Oslo", "東京", "Wien"]  # no range of their order
N = 120


def columns(classes: int) -> tuple[list[str], np.ndarray, np.ndarray, list, np.ndarray]:
    rng = np.random.default_rng(1)
    town, x, flag = TOWNS[rng.integers(0, 8, N)], rng.normal(size=N), rng.random(N) < 0.5
    y = np.where(np.isin(town, EAST), "ja", "nein")
    counts = [None if value > 1 else round(3 * value) for value in x]
    return town.tolist(), x, flag, counts, np.where(x > 0.8, "weder", y) if classes == 3 else y


def frames(classes: int) -> dict:
    town, x, flag, counts, _ = columns(classes)
    others = {"größe": x, "flag": flag}
    pandas = pd.DataFrame({"Stadt": pd.Categorical(town), **others, "n": pd.array(counts, dtype="Int64")})
    return {
        "pandas": pandas.astype({"flag": "boolean"}),
        "polars": pl.DataFrame({"Stadt": pl.Series(town).cast(pl.Categorical), **others, "n": counts}),
        "enum": pl.DataFrame({"Stadt": pl.Series(town).cast(pl.Enum(TOWNS.tolist())), **others, "n": counts}),
        "arrow": pa.table({"Stadt": pa.array(town).dictionary_encode(), **others, "n": pa.array(counts)}),
    }


@every_one
@two_or_three
def test_categories_of_every_library_are_one_model(variant, classes):
    tables, y = frames(classes), columns(classes)[-1]
    model = make(variant, nu=0.2).fit(tables["pandas"], y)
    votes = model.decision_function(tables["pandas"])
    assert model.score(tables["pandas"], y) > 0.95 and model.feature_importances_[0] > 0.3
    for name, table in tables.items():
        again = make(variant, nu=0.2).fit(table, y) if classes == 2 else model
        np.testing.assert_array_equal(again.decision_function(table), votes, name)
    new, gone = tables["pandas"].head(9).copy(), tables["pandas"].head(9).copy()
    new["Stadt"] = pd.Categorical(["Atlantis"] * 9)
    gone["Stadt"] = pd.Categorical([None] * 9, categories=TOWNS)
    np.testing.assert_array_equal(model.decision_function(new), model.decision_function(gone))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(tables["pandas"][["größe", "Stadt", "flag", "n"]])


@every_one
def test_more_categories_than_bins(variant):
    rng = np.random.default_rng(2)
    town = np.concatenate([np.arange(400), rng.integers(0, 400, 200)])
    frame = pd.DataFrame({"c": pd.Categorical([f"k{k:03d}" for k in town]), "x": rng.normal(size=600)})
    y = frame["x"] + 0.5 * (town % 2) > 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = make(variant, nu=0.5, max_iter=6, n_estimators=6).fit(frame, y)
    assert len(model.categories_["c"]) == 400
    assert model.score(frame, y) > 0.7 or (
        variant == "TotalBoostClassifier" and "no positive soft margin" in model.status_
    )
