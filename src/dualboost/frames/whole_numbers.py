"""Whole numbers that floating point cannot hold apart: from 2^53 on, neighbours become the same double.

Two such numbers in one column would be one value to every learner, and nobody would be told. So a fit refuses them;
large numbers that stay apart, such as most 64-bit keys, pass.
"""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualboost.frames.tables import Frame, Kind

__all__ = ["check_whole_numbers"]

_EXACT = 1 << 53


def check_whole_numbers(X: Any, frame: Frame | None) -> None:
    """Refuse a table with a column of whole numbers that would merge."""
    if frame is not None:
        for j, name in enumerate(frame.names):
            if frame.kind(j) is Kind.NUMBER:
                _check(frame.wholes(j), repr(name))
        return
    if sp.issparse(X):
        if X.dtype.kind in "iu":  # all columns at once: numbers of this size are rare in sparse tables
            _check(X.tocsr().data, "X")
        return
    table = X if isinstance(X, np.ndarray) else _as_array(X)
    wide = table.dtype.itemsize > 8 if table.dtype.kind == "f" else table.dtype.itemsize == 8
    if table.ndim == 2 and (table.dtype == object or (table.dtype.kind in "iuf" and wide)):
        for j in range(table.shape[1]):
            _check(table[:, j], str(j))


def _as_array(X: Any) -> np.ndarray:
    """Lists of numbers; whatever cannot be an array is refused later, with a better sentence."""
    if not isinstance(X, (list, tuple)):
        return np.empty(0)
    try:
        return np.asarray(X)
    except (ValueError, TypeError, OverflowError):
        return np.empty(0)


def _is_large(value: Any) -> bool:
    """Whether it is a whole number that a float may not hold."""
    if isinstance(value, Decimal):
        return value.is_finite() and abs(value) >= _EXACT and value == int(value)
    return isinstance(value, int) and abs(value) >= _EXACT


def _check(values: np.ndarray, name: str) -> None:
    if values.dtype == object:
        whole = [int(value) for value in values.tolist() if _is_large(value)]
    elif values.dtype.kind == "f" and values.dtype.itemsize > 8:
        whole = [int(value) for value in values[np.isfinite(values) & (np.abs(values) >= _EXACT)]]
    elif values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        large = values >= _EXACT
        if values.dtype.kind == "i":
            large |= values <= -_EXACT
        whole = values[large].tolist() if large.any() else []
    else:
        return
    told: dict[float, int] = {}
    for value in whole:
        if abs(value) > sys.float_info.max:
            raise ValueError(f"Column {name} holds a whole number that no float can hold: make it smaller, or drop it.")
        other = told.setdefault(float(value), value)
        if other != value:
            raise ValueError(
                f"Column {name} holds {min(value, other)} and {max(value, other)}, which are one number in floating "
                "point, as neighbours above 2^53 are: subtract the smallest value of the column from all of it first."
            )
