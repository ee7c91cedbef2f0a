"""What went wrong in silence elsewhere: whole numbers that merge, columns that change places, senseless parameters."""

from decimal import Decimal

import numpy as np
import pytest
import scipy.sparse as sp

from dualboost import AdaBoostClassifier, MarginBoostClassifier, load_model, save_model
from dualboost.plots import ShapeDisplay
from fitted import X, Y

LARGE = 2**53
MERGE = r"^Column .* holds 9007199254740992 and 9007199254740993, which are one number in floating point.*\.$"


def model():
    return MarginBoostClassifier(nu=0.1, max_iter=20, calibrate=False)


def tables(values) -> dict:
    """The same whole numbers as every kind of table that we read, beside a column of small numbers."""
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    small = list(range(len(values)))
    columns = {"key": values, "small": small}
    signed = np.array([values, small], dtype=np.int64).T
    decimals, wide = list(map(Decimal, values)), pa.decimal128(30, 2)
    return {
        "int64": signed,
        "uint64": signed.astype(np.uint64),
        "objects": signed.astype(object),
        "lists": signed.tolist(),
        "sparse": sp.csr_array(signed),
        "sparse, by rows": sp.lil_array(signed),
        "pandas": pd.DataFrame(columns),
        "pandas, nullable": pd.DataFrame({"key": pd.array([*values[:-1], None], "Int64"), "small": small}),
        "pandas, Arrow": pd.DataFrame(columns).astype({"key": "int64[pyarrow]"}),
        "pandas, objects": pd.DataFrame(columns).astype({"key": object}),
        "polars": pl.DataFrame(columns),
        "polars, missing": pl.DataFrame({"key": [*values[:-1], None], "small": small}),
        "arrow": pa.table(columns),
        "long doubles": signed.astype(np.longdouble),
        "decimals": np.array([decimals, small], dtype=object).T,
        "pandas, decimals": pd.DataFrame({"key": decimals, "small": small}),
        "pandas, decimals of Arrow": pd.DataFrame({"key": pd.array(decimals, pd.ArrowDtype(wide)), "small": small}),
        "polars, decimals": pl.DataFrame({"key": pl.Series(decimals, dtype=pl.Decimal(30, 2)), "small": small}),
        "arrow, decimals": pa.table({"key": pa.array(decimals, wide), "small": small}),
    }


KINDS = list(tables([0, 1]))


@pytest.mark.parametrize("kind", KINDS)
def test_whole_numbers_that_floats_would_merge_are_refused(kind):
    y = [0, 1, 0, 1, 0, 1]
    with pytest.raises(ValueError, match=MERGE):
        model().fit(tables([LARGE, LARGE + 1, 5, 6, 7, 8])[kind], y)


@pytest.mark.parametrize("kind", KINDS)
def test_whole_numbers_above_2_53_that_stay_apart_are_separated(kind):
    values = [LARGE + 2 * k for k in range(40)]
    table = tables(values)[kind]
    key = np.arange(40) >= 23
    fitted = model().fit(table, key)
    assert fitted.score(table, key) == 1.0


def test_the_other_end_of_the_line():
    with pytest.raises(ValueError, match=r"^Column 0 holds -9007199254740993 and -9007199254740992"):
        model().fit(np.array([[-LARGE], [-LARGE - 1], [3], [4]]), [0, 1, 0, 1])


def test_columns_without_names_of_strings_may_not_change_places(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X)
    fitted = model().fit(frame, Y)
    save_model(fitted, tmp_path / "model")
    for own in (fitted, load_model(tmp_path / "model")):
        np.testing.assert_array_equal(own.predict(frame), own.predict(X))
        with pytest.raises(ValueError, match=r"^Column 0 of X is named 4, and was 0 when the model was fitted: .*\.$"):
            own.predict(frame[frame.columns[::-1]])
        with pytest.raises(ValueError, match="features"):
            own.predict(frame.iloc[:, :3])
    fitted.fit(X, Y)
    fitted.predict(frame[frame.columns[::-1]])  # nobody told it names


@pytest.mark.parametrize("wrong", ["a", 1.5, True, 0])
def test_a_number_of_threads(wrong):
    for made in (MarginBoostClassifier(max_iter=2, n_jobs=wrong), AdaBoostClassifier(n_jobs=wrong)):
        with pytest.raises(ValueError, match=r"^n_jobs must be None, a number of threads such as 2, or -1 .*\.$"):
            made.fit(X, Y)


def test_more_threads_than_there_can_be():
    with pytest.raises(ValueError, match=r"^n_jobs may be at most 65536, not 100000\.$"):
        MarginBoostClassifier(max_iter=2, n_jobs=100_000).fit(X, Y)


@pytest.mark.parametrize("wrong", [[0], 1.0, None, True])
def test_a_curve_is_of_one_feature(wrong):
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match=r"^feature must be the number or name of one column of X, such as 0, not"):
        ShapeDisplay.from_estimator(model().fit(X, Y), wrong)


def test_a_number_of_bytes(tmp_path):
    save_model(model().fit(X, Y), tmp_path / "model")
    for wrong in ("a", None, True):
        with pytest.raises(ValueError, match=r"^max_bytes must be a number of bytes, such as 2\*\*30, not"):
            load_model(tmp_path / "model", max_bytes=wrong)
