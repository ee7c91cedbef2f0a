"""Data frames of pandas, polars and Arrow: the same model from each, and one clear sentence for what cannot be read."""

import datetime
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from dualboost import (
    AdaBoostClassifier,
    FrankWolfeBoostClassifier,
    LogisticMixtureClassifier,
    LPBoostClassifier,
    MABoostClassifier,
    MarginBoostClassifier,
    audit,
    compare,
    load_model,
    save_model,
)
from dualboost.frames import as_frame
from dualboost.learners import Stumps, Subsets, Union, Words

N = 240
TOWNS = ["Köln", "東京", "Łódź", "Paris", "Oslo"]


def parts():
    """(labels of a category with holes, numbers, truth values, counts with holes, y) as plain lists."""
    rng = np.random.default_rng(0)
    town = rng.integers(0, 5, N)
    x, flag, count = rng.normal(size=N), rng.random(N) < 0.5, rng.integers(0, 4, N)
    y = np.where(2.0 * np.isin(town, [1, 3]) + 0.6 * x + 0.4 * flag + 0.3 * (count > 1) > 1, "ja", "nein")
    towns = [None if i % 40 == 5 else TOWNS[k] for i, k in enumerate(town)]
    counts = [None if i % 30 == 7 else int(k) for i, k in enumerate(count)]
    return towns, x.tolist(), flag.tolist(), counts, y


def pandas_frame(backend: str = "numpy") -> pd.DataFrame:
    towns, x, flag, counts, _ = parts()
    frame = pd.DataFrame({"Stadt": pd.Categorical(towns), "größe": x, "flag": flag})
    frame["n"] = pd.array(counts, dtype="Int64")
    arrow = {"größe": "float64[pyarrow]", "flag": "bool[pyarrow]", "n": "int64[pyarrow]"}
    return frame.astype(arrow) if backend == "pyarrow" else frame


def dictionary_frame() -> pd.DataFrame:
    kind = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    return pandas_frame("pyarrow").assign(Stadt=pd.Series(parts()[0], dtype=kind))


def polars_frame(kind) -> pl.DataFrame:
    towns, x, flag, counts, _ = parts()
    return pl.DataFrame({"Stadt": pl.Series(towns).cast(kind), "größe": x, "flag": flag, "n": counts})


def arrow_table() -> pa.Table:
    towns, x, flag, counts, _ = parts()
    halves = [
        pa.table({"Stadt": pa.array(towns[at]).dictionary_encode(), "größe": x[at], "flag": flag[at],
                  "n": pa.array(counts[at], pa.int32())})
        for at in (slice(0, 100), slice(100, N))
    ]  # fmt: skip
    return pa.concat_tables(halves)  # chunks with dictionaries of their own


FRAMES = {
    "pandas": pandas_frame,
    "pandas, arrow": lambda: pandas_frame("pyarrow"),
    "pandas, arrow dictionary": dictionary_frame,
    "polars": lambda: polars_frame(pl.Categorical),
    "polars, enum": lambda: polars_frame(pl.Enum(["Oslo", "Bern", *TOWNS[:4]])),
    "arrow": arrow_table,
}
every_frame = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)


def model(**parameters) -> MarginBoostClassifier:
    return MarginBoostClassifier(**{"nu": 0.2, "calibrate": False, **parameters})


def by_hand() -> np.ndarray:
    towns, x, flag, counts, _ = parts()
    place = {town: k for k, town in enumerate(sorted(TOWNS))}
    town = [np.nan if t is None else place[t] for t in towns]
    return np.column_stack([town, x, flag, [np.nan if c is None else c for c in counts]]).astype(float)


# ---- the same from every library ------------------------------------------------------------------------------------


@every_frame
def test_a_frame_is_its_numbers(make):
    y = parts()[-1]
    fitted = model().fit(make(), y)
    plain = model(learner=Stumps(categorical=(0,))).fit(by_hand(), y)
    assert fitted.categories_ == {"Stadt": sorted(TOWNS)}
    assert fitted.feature_names_in_.tolist() == ["Stadt", "größe", "flag", "n"]
    np.testing.assert_array_equal(fitted.decision_function(make()), plain.decision_function(by_hand()))
    assert fitted.score(make(), y) > 0.8


@every_frame
def test_one_library_may_predict_what_another_fitted(make):
    y = parts()[-1]
    fitted = model().fit(pandas_frame(), y)
    np.testing.assert_array_equal(fitted.decision_function(make()), fitted.decision_function(pandas_frame()))


@every_frame
def test_a_row_alone_is_that_row_of_many(make):
    """Few rows are read in other ways than many."""
    fitted, frame = model().fit(make(), parts()[-1]), make()
    scores = fitted.decision_function(frame)
    for i in (0, 5, 7, N - 1):  # a present town, a missing one, a missing count
        row = frame.slice(i, 1) if hasattr(frame, "slice") else frame.iloc[i : i + 1]
        assert fitted.decision_function(row)[0] == scores[i]
    together = {pd.DataFrame: pd.concat, pl.DataFrame: pl.concat, pa.Table: pa.concat_tables}[type(frame)]
    np.testing.assert_array_equal(fitted.decision_function(together([frame] * 6)), np.tile(scores, 6))


@pytest.mark.parametrize(
    "classifier",
    [
        AdaBoostClassifier(n_estimators=20),
        FrankWolfeBoostClassifier(nu=0.4, tol=0.1),
        LPBoostClassifier(nu=0.3),
        MABoostClassifier(max_iter=20),
        LogisticMixtureClassifier(max_iter=5, bags=3, random_state=0),
        MarginBoostClassifier(nu="auto", random_state=0),
    ],
    ids=lambda classifier: type(classifier).__name__,
)
def test_every_family_reads_categories(classifier):
    X, y = pandas_frame(), parts()[-1]
    fitted = clone(classifier).fit(X, y)
    assert fitted.score(X, y) > 0.7 and fitted.feature_importances_[0] > 0
    assert fitted.predict_proba(X).shape == (N, 2)


def test_subsets_look_at_the_columns_of_categories():
    frame, y = pandas_frame(), parts()[-1]
    coded = MarginBoostClassifier(nu=0.5, learner=Subsets((0,)), max_iter=5).fit(frame, y)
    told = MarginBoostClassifier(nu=0.5, learner=Subsets(), max_iter=5).fit(frame, y)
    beside = MarginBoostClassifier(nu=0.5, learner=Union((Subsets(), Words(without=(1,)))), max_iter=5).fit(frame, y)
    np.testing.assert_array_equal(coded.decision_function(frame), told.decision_function(frame))
    assert told.feature_importances_[0] == 1 and told.score(frame, y) > 0.7 and beside.score(frame, y) > 0.7


def test_several_classes_copies_and_weights():
    X, (_, x, *_) = pandas_frame(), parts()
    y = np.where(np.array(x) > 0.5, "oben", np.where(np.isin(X["Stadt"], TOWNS[:2]), "west", "ost"))
    fitted = model(nu=0.3).fit(X, y)
    assert fitted.score(X, y) > 0.8 and set(fitted.classes_) == {"oben", "west", "ost"}
    counts = np.random.default_rng(1).integers(0, 3, N)
    weighted = model().fit(X, y == "ost", sample_weight=counts)
    copied = model().fit(X.iloc[np.repeat(np.arange(N), counts)], np.repeat(y == "ost", counts))
    np.testing.assert_allclose(weighted.decision_function(X), copied.decision_function(X), atol=1e-9)


def test_cross_validation_pickles_and_files(tmp_path):
    X, y = pandas_frame(), parts()[-1]
    assert cross_val_score(model(), X, y, cv=3).min() > 0.7
    fitted = MarginBoostClassifier(nu=0.2).fit(X, y)
    save_model(fitted, tmp_path / "m.dualboost")
    for again in (load_model(tmp_path / "m.dualboost"), pickle.loads(pickle.dumps(fitted))):
        assert again.categories_ == fitted.categories_
        np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
        assert np.isfinite(again.decision_function(X.head(1))).all()


def test_audit_and_compare_read_categories():
    X, y = pandas_frame(), parts()[-1].copy()
    y[3] = "ja" if y[3] == "nein" else "nein"
    report = audit(X, y)
    assert 3 in report.ranking[:40] and set(report.reasons) and report.to_frame(3).shape[0] == 3
    assert compare(X, y, nu=0.4, tol=0.1).traces[0].gap <= 0.1


# ---- categories -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [[3, 1, 2], [True, False, True], [0.5, 2.5, -1.0], ["b", "a", "ä"]], ids=str)
def test_labels_of_any_type(tmp_path, labels):
    rng = np.random.default_rng(2)
    column = pd.Categorical([labels[k] for k in rng.integers(0, 3, 90)])
    y = (column == labels[0]).astype(int)
    fitted = model().fit(pd.DataFrame({"c": column}), y)
    assert fitted.categories_["c"] == sorted(set(labels)) and fitted.score(pd.DataFrame({"c": column}), y) == 1.0
    save_model(fitted, tmp_path / "m.dualboost")
    again = load_model(tmp_path / "m.dualboost")
    assert [type(c) for c in again.categories_["c"]] == [type(c) for c in fitted.categories_["c"]]
    assert again.score(pd.DataFrame({"c": column}), y) == 1.0


def test_intervals_are_kept_as_text():
    x = np.linspace(0, 1, 60)
    frame = pd.DataFrame({"bin": pd.cut(x, 4)})
    fitted = model().fit(frame, (x > 0.5).astype(int))
    assert all(isinstance(label, str) for label in fitted.categories_["bin"]) and fitted.score(frame, x > 0.5) == 1.0


def test_an_unseen_category_is_a_missing_value():
    X, y = pandas_frame(), parts()[-1]
    fitted = model().fit(X, y)
    new, gone = X.head(20).copy(), X.head(20).copy()
    new["Stadt"] = pd.Categorical(["Atlantis"] * 20)
    gone["Stadt"] = pd.Categorical([None] * 20, categories=TOWNS)
    np.testing.assert_array_equal(fitted.decision_function(new), fitted.decision_function(gone))


def test_plain_text_is_looked_up_where_categories_are_known():
    X, y = pandas_frame(), parts()[-1]
    fitted = model().fit(X, y)
    as_text = X.assign(Stadt=X["Stadt"].astype(object))
    np.testing.assert_array_equal(fitted.decision_function(as_text), fitted.decision_function(X))


def test_only_categories_that_occur_are_kept():
    column = pd.Categorical(["a", "c"] * 10, categories=["z", "c", "b", "a"])
    assert model().fit(pd.DataFrame({"k": column}), [0, 1] * 10).categories_ == {"k": ["a", "c"]}


def test_a_refit_forgets_old_categories():
    fitted = model().fit(pandas_frame(), parts()[-1])
    fitted.fit(by_hand()[:, 1:], parts()[-1])
    assert fitted.categories_ == {} and not hasattr(fitted, "feature_names_in_")


# ---- refusals -------------------------------------------------------------------------------------------------------


DAY = datetime.date(2020, 1, 1)
REFUSED = {
    "text": ({"straße": ["a"] * 6}, "Column 'straße' holds text: make categories of it with"),
    "several": ({"u": ["a"] * 6, "v": ["b"] * 6}, "Columns 'u', 'v' hold text"),
    "dates": ({"tag": [DAY] * 6}, "Column 'tag' holds dates or times: turn them into numbers first, such as the year"),
    "moments": ({"t": [datetime.datetime(2020, 1, 1)] * 6}, "Column 't' holds dates or times"),
    "spans": ({"t": [datetime.timedelta(days=1)] * 6}, "Column 't' holds dates or times"),
    "lists": ({"l": [[1, 2]] * 6}, "Column 'l' holds neither numbers nor categories"),
}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
@pytest.mark.parametrize(("columns", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused_in_one_sentence(library, columns, sentence):
    table = library({"x": [1.0, 2, 3, 4, 5, 6], **columns})
    with pytest.raises(ValueError, match="^" + sentence) as caught:
        model().fit(table, [0, 1] * 3)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_infinity_is_refused_by_name(library):
    columns = {"größe": np.array([1.0, 2, 3, 4, 5, 6]), "Länge": np.array([1.0, 2, np.inf, 4, -np.inf, 6])}
    fitted = model().fit(library({**columns, "Länge": columns["größe"]}), [0, 1] * 3)
    for ask in (lambda X: model().fit(X, [0, 1] * 3), fitted.predict):
        with pytest.raises(ValueError, match=r"^Column 'Länge' holds infinity: replace it, for example by NaN"):
            ask(library(columns))


def test_duplicate_names_are_refused():
    frame = pd.DataFrame(np.eye(4), columns=["a", "b", "a", "ü"])
    with pytest.raises(ValueError, match=r"^Columns must have different names, but 'a' occurs more than once"):
        model().fit(frame, [0, 1, 0, 1])


@pytest.mark.parametrize("fitted", [["x", "t"], ["x", "z"]])
def test_duplicate_names_are_refused_at_predict(fitted):
    frame = pd.DataFrame({"x": [0.0, 1.0] * 5, "z": 1.0, "t": pd.Categorical(["a", "b"] * 5)})
    model = MarginBoostClassifier(nu=0.5, max_iter=3, calibrate=False).fit(frame[fitted], [0, 1] * 5)
    with pytest.raises(ValueError, match=r"^Columns must have different names, but 'x' .* rename them\.$"):
        model.predict(frame[["x", *fitted]])


def test_columns_at_predict_are_those_of_training():
    X, y = pandas_frame(), parts()[-1]
    fitted = model().fit(X, y)
    for wrong in (X[X.columns[::-1]], X.drop(columns="größe"), X.assign(neu=1.0)):
        with pytest.raises(ValueError, match="feature names should match"):
            fitted.predict(wrong)
    with pytest.raises(ValueError, match=r"^Column 'größe' holds categories, but held numbers when"):
        fitted.predict(X.assign(größe=pd.Categorical(["a"] * N)))


@pytest.mark.parametrize("library", [pl.DataFrame, pa.table], ids=["polars", "arrow"])
def test_other_libraries_check_names_too(library):
    columns = {"a": np.arange(6.0), "b": np.arange(6.0)[::-1].copy()}
    fitted = model().fit(library(columns), [0, 0, 0, 1, 1, 1])
    for wrong in ({"b": columns["b"], "a": columns["a"]}, {"a": columns["a"]}, {**columns, "c": columns["a"]}):
        with pytest.raises(ValueError, match="feature names should match"):
            fitted.predict(library(wrong))


# ---- numbers of every kind ------------------------------------------------------------------------------------------


def test_numbers_of_every_kind_are_numbers():
    values = [0, 1, None, 3, 4, 5]
    y = [0, 0, 0, 1, 1, 1]
    floats = np.array([0, 1, np.nan, 3, 4, 5.0])[:, None]
    expected = model().fit(floats, y).decision_function(floats)
    decimals = [None if v is None else Decimal(v) for v in values]
    tables = [
        pd.DataFrame({"x": pd.array(values, dtype="Float32")}),
        pd.DataFrame({"x": pd.Series(decimals, dtype=object)}),
        pd.DataFrame({"x": pd.Series([pd.NA if v is None else v for v in values], dtype=object)}),
        pd.DataFrame({"x": pd.array(decimals, dtype=pd.ArrowDtype(pa.decimal128(10, 2)))}),
        pl.DataFrame({"x": values}, schema={"x": pl.Int8}),
        pl.DataFrame({"x": decimals}, schema={"x": pl.Decimal(10, 2)}),
        pa.table({"x": pa.array(values, pa.uint16())}),
        pa.table({"x": pa.array(decimals, pa.decimal128(10, 2))}),
    ]
    for table in tables:
        np.testing.assert_array_equal(model().fit(table, y).decision_function(table), expected)


def test_truth_values_and_columns_of_nothing():
    flags = [True, False, None, True, True, False]
    y = [1, 0, 0, 1, 1, 0]
    floats = np.array([[1, 0, np.nan, 1, 1, 0], [np.nan] * 6]).T
    expected = model().fit(floats, y).decision_function(floats)
    tables = [
        pd.DataFrame({"f": pd.array(flags, dtype="boolean"), "nothing": [None] * 6}),
        pl.DataFrame({"f": flags, "nothing": [None] * 6}),
        pa.table({"f": flags, "nothing": pa.nulls(6)}),
    ]
    for table in tables:
        np.testing.assert_array_equal(model().fit(table, y).decision_function(table), expected)


def test_numeric_frames_are_left_to_scikit_learn():
    X = np.random.default_rng(3).normal(size=(50, 3)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    frame = pd.DataFrame(X, columns=list("abc"))
    expected = model().fit(X, y).decision_function(X)
    np.testing.assert_array_equal(model().fit(frame, y).decision_function(frame), expected)
    sparse = frame.astype(pd.SparseDtype(np.float32, 0.0))
    np.testing.assert_array_equal(model().fit(sparse, y).decision_function(sparse), expected)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_few_rows_of_floats_take_a_short_way_to_the_same_answers(library, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    names = ["a", "b", "ä"]
    model = MarginBoostClassifier(nu=0.4, max_iter=20).fit(pd.DataFrame(X, columns=names), X[:, 0] > 0)
    columns = dict(zip(names, X[:9].T, strict=True))
    given = [library(columns), library(columns | {"b": np.arange(9)}), library(columns | {"b": np.arange(9) > 4})]
    quick = [model.predict_proba(frame) for frame in given]
    refused = [dict(reversed(columns.items())), columns | {"b": np.full(9, np.inf)}, dict.fromkeys("abc", X[:9, 0])]

    def sentence(wrong) -> str:
        with pytest.raises(ValueError) as error:
            model.predict_proba(library(wrong))
        return str(error.value)

    sentences = list(map(sentence, refused))
    assert as_frame(given[0]).floats(names) is not None
    monkeypatch.setattr(type(as_frame(given[0])), "floats", lambda frame, names: None)
    for frame, chances in zip(given, quick, strict=True):
        np.testing.assert_array_equal(model.predict_proba(frame), chances)
    assert list(map(sentence, refused)) == sentences


# ---- at prediction: what cannot be labels ---------------------------------------------------------------------------


def numbered_kinds():
    """A frame whose categories are whole numbers, and labels that follow one of them."""
    kinds = np.random.default_rng(0).integers(1, 4, 200)
    return pd.DataFrame({"kind": pd.Categorical(kinds), "x": np.arange(200.0)}), kinds == 2


@pytest.mark.parametrize(
    "form", [lambda X: X.to_numpy(float), lambda X: X.to_numpy(float).tolist()], ids=["array", "list"]
)
@pytest.mark.parametrize("names", [["kind", "x"], [0, 1]], ids=["names", "numbers as names"])
def test_an_array_for_a_frame_with_categories_is_refused(form, names):
    """Its cells were read as the numbers of the labels: the same rows, and most answers wrong without a word."""
    X, y = numbered_kinds()
    X.columns = names
    model = AdaBoostClassifier(n_estimators=5, calibrate=False).fit(X, y)
    assert model.score(X, y) == 1
    for ask in (model.predict, model.decision_function, lambda rows: list(model.staged_predict(rows))):
        with pytest.raises(ValueError, match="held categories when the model was fitted: give a data frame"):
            ask(form(X))
    with pytest.raises(ValueError, match="held categories"):
        AdaBoostClassifier(n_estimators=5).fit(X, y, eval_set=(form(X), y))


OTHERS = {
    "dates": lambda n: pd.DataFrame({"town": pd.date_range("2020", periods=n)}),
    "periods": lambda n: pd.DataFrame({"town": pd.period_range("2020", periods=n)}),
    "bytes": lambda n: pd.DataFrame({"town": [b"a"] * n}),
    "complex": lambda n: pd.DataFrame({"town": np.full(n, 1j)}),
    "polars, dates": lambda n: pl.DataFrame({"town": [datetime.datetime(2020, 1, 1)] * n}),
    "polars, bytes": lambda n: pl.DataFrame({"town": [b"a"] * n}),
    "polars, lists": lambda n: pl.DataFrame({"town": [["a"]] * n}),
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_label_is_refused_in_a_column_of_labels(other):
    """Not taken for labels that were never met."""
    towns = np.random.default_rng(0).integers(0, 4, 100)
    X = pd.DataFrame({"town": pd.Categorical(np.array(TOWNS)[towns])})
    model = AdaBoostClassifier(n_estimators=5, calibrate=False).fit(X, towns > 1)
    with pytest.raises(ValueError, match=r"Column 'town' holds (dates or times|neither numbers nor)"):
        model.predict(OTHERS[other](10))
    assert model.predict(pd.DataFrame({"town": ["Rom", "Ulm"]})).shape == (2,), "labels that were never met are missing"


def test_categories_of_dates_are_labels_like_others():
    days = pd.date_range("2020", periods=4)
    k = np.random.default_rng(0).integers(0, 4, 100)
    X = pd.DataFrame({"day": pd.Categorical(days[k])})
    model = AdaBoostClassifier(n_estimators=5, calibrate=False).fit(X, k > 1)
    assert model.score(X, k > 1) == 1 and model.score(pd.DataFrame({"day": days[k]}), k > 1) == 1
