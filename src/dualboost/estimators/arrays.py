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
_COMPLEX = "Complex data not supported: give real and imaginary parts as columns of their own, or drop them."
_TIMES = datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64


def validated(estimator, X, y="no_validation", reset: bool = True):
    """X, or X and y, as scikit-learn checks them; text is refused with what to do about it."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in ("M", "m"):
        raise ValueError(_DATES)
    if np.ma.isMaskedArray(X):
        X = np.ma.filled(X.astype(np.float64 if kind in "biuf" else object), np.nan)
    try:
        return validate_data(estimator, X, y=y, reset=reset, **INPUT)
    except TypeError as error:
        cells = np.asarray(X, dtype=object)
        _check_kinds(cells, error)
        missing = np.array([type(cell).__name__ == "NAType" for cell in cells.flat], dtype=bool)
        if not missing.any():
            raise
        return validated(estimator, np.where(missing.reshape(cells.shape), np.nan, cells), y=y, reset=reset)
    except OverflowError as error:
        raise ValueError("X holds whole numbers that no float can hold: make them smaller, or drop them.") from error
    except ValueError as error:
        if str(error).startswith("Complex data not supported"):
            raise ValueError(_COMPLEX) from error  # without all of the cells
        label = str(error).partition("could not convert string to float: ")[2]
        if not label:
            raise
        raise ValueError(
            f"X holds text, such as {label}, and an array has no place to say what is a category: give a frame with "
            'columns of categories (transformers make one after .set_output(transform="pandas")), or encode it.'
        ) from error


def _check_kinds(cells: np.ndarray, error: TypeError) -> None:
    """Refuse cells that are no numbers, where there is more to say than that."""
    for cell in cells.flat:
        if isinstance(cell, (complex, np.complexfloating)):
            raise ValueError(_COMPLEX) from error
        if isinstance(cell, _TIMES):
            raise ValueError(_DATES) from error
