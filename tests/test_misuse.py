"""What a first user does wrong, and the odd corners of real tables: one clear sentence, or the right answer."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dualboost import MarginBoostClassifier, audit, diagnose

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
    with pytest.raises(ValueError, match="labels are missing. Drop these rows"):
        USES[use](y)


@pytest.mark.parametrize("use", USES)
def test_text_beside_numbers_is_told(use):
    with pytest.raises(ValueError, match="y mixes labels that are text with others, such as 'a' and 1"):
        USES[use](np.array(["a", 1] * (N // 2), dtype=object))


def test_the_only_class_is_shown_as_it_was_given():
    with pytest.raises(ValueError, match=r"of one class, 1\.0\.$"):
        model().fit(X, np.ones(N))


def test_two_eval_sets_are_refused():
    with pytest.raises(ValueError, match="eval_set must be"):
        model().fit(X, Y, eval_set=[(X, Y), (X, Y)])
