"""Arrays and sparse matrices by scikit-learn's rules, with masked cells as missing values and a word about text."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from dualboost.frames import REFUSED_DATES

__all__ = ["INPUT", "validated"]

INPUT: dict[str, Any] = {
    "accept_sparse": ("csr", "csc"),
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": "allow-nan",
}
"""What all tables of numbers are checked for."""

_DATES = f"X holds {REFUSED_DATES}"
_TIMES = datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64


def validated(estimator, X, y="no_validation", reset: bool = True):
    """X, or X and y, as scikit-learn checks them; text is refused with what to do about it."""
    if getattr(getattr(X, "dtype", None), "kind", "") in ("M", "m"):
        raise ValueError(_DATES)
    if np.ma.isMaskedArray(X):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    try:
        return validate_data(estimator, X, y=y, reset=reset, **INPUT)
    except TypeError as error:
        if not any(isinstance(cell, _TIMES) for cell in np.asarray(X, dtype=object).ravel()):
            raise
        raise ValueError(_DATES) from error
    except OverflowError as error:
        raise ValueError("X holds whole numbers that no float can hold: make them smaller, or drop them.") from error
    except ValueError as error:
        label = str(error).partition("could not convert string to float: ")[2]
        if not label:
            raise
        raise ValueError(
            f"X holds text, such as {label}, and an array has no place to say what is a category: give a frame with "
            'columns of categories (transformers make one after .set_output(transform="pandas")), or encode it.'
        ) from error
