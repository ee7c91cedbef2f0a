"""Arrays and sparse matrices by scikit-learn's rules, with masked cells as missing values and a word about text."""

from __future__ import annotations

import datetime
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from dualboost.frames import REFUSED_DATES, is_signalling
from dualboost.learners.base import ChecksSparse
from dualboost.sparse_tables import summed_up

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
_SIGNALLING = "cannot convert signaling NaN"  # Python's words for a decimal


class NoNumbers(TypeError, ValueError):
    """Cells that are no numbers: a `ValueError` as ever here, and the `TypeError` that scikit-learn's checks want."""


def validated(estimator, X, y="no_validation", reset: bool = True):
    """X, or X and y, as scikit-learn checks them; text is refused with what to do about it."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in ("M", "m"):
        raise ValueError(_DATES)
    learner = getattr(estimator, "learner", None)
    if sp.issparse(X) and isinstance(learner, ChecksSparse):
        learner.check_sparse(X)
    if np.ma.isMaskedArray(X):
        X = np.ma.filled(X.astype(np.float64 if kind in "biuf" else object), np.nan)
    try:
        found = validate_data(estimator, X, y=y, reset=reset, **INPUT)
        return (summed_up(found[0]), *found[1:]) if isinstance(found, tuple) else summed_up(found)
    except TypeError as error:
        return validated(estimator, _with_nan(X, error), y=y, reset=reset)
    except OverflowError as error:
        raise ValueError("X holds whole numbers that no float can hold: make them smaller, or drop them.") from error
    except ValueError as error:
        if str(error).startswith("Complex data not supported"):
            raise ValueError(_COMPLEX) from error  # without all of the cells
        if str(error).startswith(_SIGNALLING):
            return validated(estimator, _with_nan(X, error), y=y, reset=reset)
        label = str(error).partition("could not convert string to float: ")[2]
        if not label:
            raise
        raise ValueError(
            f"X holds text, such as {label}, and an array has no place to say what is a category: give a frame with "
            'columns of categories (transformers make one after .set_output(transform="pandas")), or encode it.'
        ) from error


def _with_nan(X, error: TypeError | ValueError) -> np.ndarray:
    """The cells, with NaN for those that are missing and that no float can be made of; refused if there are others."""
    cells = np.asarray(X, dtype=object)
    _check_kinds(cells, error)
    missing = np.array([type(cell).__name__ == "NAType" or is_signalling(cell) for cell in cells.flat], dtype=bool)
    if not missing.any():
        _refuse(X, cells, error)
    return np.where(missing.reshape(cells.shape), np.nan, cells)


def _check_kinds(cells: np.ndarray, error: TypeError | ValueError) -> None:
    """Refuse cells that are no numbers, where there is more to say than that."""
    for cell in cells.flat:
        if isinstance(cell, (complex, np.complexfloating)):
            raise ValueError(_COMPLEX) from error
        if isinstance(cell, _TIMES):
            raise ValueError(_DATES) from error


def _refuse(X, cells: np.ndarray, error: TypeError | ValueError) -> NoReturn:
    """Name what a cell is, if it is the cells that are wrong."""
    if sp.issparse(X):
        raise error  # about something else: it has numbers
    if not cells.ndim:
        raise NoNumbers(f"X must be a table of numbers with rows and columns, not {type(X).__name__}.") from error
    strange = next((type(cell).__name__ for cell in cells.flat if _is_strange(cell)), "")
    if not strange:
        raise error
    raise NoNumbers(
        f"X holds cells that are no numbers, such as one of type {strange}: make numbers of them, or drop their "
        f"columns ({error})."
    ) from error


def _is_strange(cell) -> bool:
    """Whether it is of a type that is never a number."""
    try:
        float(np.nan if cell is None else cell)
    except TypeError:
        return True
    except (ValueError, OverflowError):
        return False  # text, and what is too large
    return False
