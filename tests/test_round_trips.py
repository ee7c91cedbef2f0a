"""Every kind of model survives pickle, joblib and its own files to the bit; plain tables skip checks that pass."""

import io
import pickle
import warnings

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from dualboost import load_model, save_model
from dualboost.estimators.arrays import INPUT
from dualboost.estimators.new_rows import _is_plain
from fitted import KINDS, NEW, WHOLE, fitted, frame, new_rows


def pickled(model, path):
    return pickle.loads(pickle.dumps(model))


def dumped(model, path):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def saved(model, path):
    save_model(model, path)
    return load_model(path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("trip", [pickled, dumped, saved], ids=["pickle", "joblib", "file"])
def test_a_model_comes_back_to_the_bit(kind, trip, tmp_path):
    model, rows = fitted(kind), new_rows(kind)
    again = trip(model, tmp_path / "m")
    assert type(again) is type(model) and again.get_params().keys() == model.get_params().keys()
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))


# ---- the short way into predict -------------------------------------------------------------------------------------


def test_the_short_way_gives_what_the_checks_give():
    model = fitted("MarginBoostClassifier")
    for rows in (NEW, NEW[:1], NEW[::2], np.asfortranarray(NEW), WHOLE):
        assert _is_plain(model, rows)
        np.testing.assert_array_equal(validate_data(model, rows, reset=False, **INPUT), rows)
    read_only = NEW.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(model.decision_function(read_only), model.decision_function(NEW))


@pytest.mark.parametrize(
    "rows",
    [
        NEW.astype(np.float32),
        NEW.astype(">f8"),
        NEW.astype(object),
        WHOLE.astype(int),
        WHOLE.tolist(),
        sp.csr_array(WHOLE),
        frame(NEW),
        np.matrix(WHOLE),
        np.ma.masked_array(WHOLE),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_everything_else_takes_the_long_way(rows):
    assert not _is_plain(fitted("MarginBoostClassifier"), rows)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (NEW[:, :4], "4 features"),
        (NEW[:0], "0 sample"),
        (NEW[0], "1D array"),
        (np.where(np.isnan(NEW), np.inf, NEW), "infinity"),
        (NEW[None], "dim 3"),
    ],
)
def test_what_is_wrong_is_still_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        fitted("MarginBoostClassifier").predict_proba(rows)


def test_a_model_with_names_still_warns_about_their_absence():
    with pytest.warns(UserWarning, match="valid feature names"):
        fitted("names").predict(NEW)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted("names").predict(frame(NEW))
