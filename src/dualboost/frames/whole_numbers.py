"""Numbers that floating point cannot hold apart: of whole ones from 2^53 on, neighbours become the same double.

Two such numbers in one column would be one value to every learner, and nobody would be told. So a fit refuses them;
large numbers that stay apart, such as most 64-bit keys, pass. The same holds for decimals, fractions and long doubles.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import pairwise
from numbers import Rational
from operator import index
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualboost.frames.tables import Frame, Kind

__all__ = ["check_whole_numbers"]

_EXACT = 1 << 53
_NOISE = 1 << 60
_DIGITS = 16  # of the smallest number that may merge


def check_whole_numbers(X: Any, frame: Frame | None) -> None:
    """Refuse a table with a column of numbers that would merge."""
    if frame is not None:
        columns = _frame_columns(frame)
    else:
        columns = _sparse_columns(X) if sp.issparse(X) else _dense_columns(X)
    for name, values in columns:
        _check(values, name)


def _frame_columns(frame: Frame) -> Iterator[tuple[str, np.ndarray]]:
    for j, name in enumerate(frame.names):
        if frame.kind(j) is Kind.NUMBER:
            yield repr(name), frame.wholes(j)


def _sparse_columns(X: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Those with several entries, if any entry is one that may merge: numbers of this size are rare in such tables."""
    if X.ndim != 2 or X.dtype.kind not in "iuf":
        return
    if _may_merge(X.data if X.format in ("csr", "csc") else X.tocsr().data):
        table = X.tocsc()
        for j, (begin, end) in enumerate(pairwise(table.indptr.tolist())):
            if end - begin > 1:
                yield str(j), table.data[begin:end]


def _dense_columns(X: Any) -> Iterator[tuple[str, np.ndarray]]:
    table = X if np.ma.isMaskedArray(X) else _as_array(X)
    while table.dtype.names is not None and len(table.dtype.names) == 1:  # scikit-learn looks into a single field
        table = table[table.dtype.names[0]]
    if table.ndim == 2 and _may_merge(table):
        for j in range(table.shape[1]):
            yield str(j), table[:, j]


def _as_array(X: Any) -> np.ndarray:
    """The cells as they are; whatever cannot be an array is refused later, with a better sentence."""
    try:
        table = np.asarray(X)
        if table.dtype == np.float64 and not hasattr(X, "__array__") and (np.abs(table) >= _EXACT).any():
            return np.asarray(X, dtype=object)  # lists: NumPy makes floats of whole numbers beside a float
        return table
    except (ValueError, TypeError, OverflowError):
        return np.empty(0)


def _may_merge(cells: np.ndarray) -> bool:
    """Whether there may be numbers that a double does not hold; of a table of doubles the type says it."""
    kind, width, cells = cells.dtype.kind, cells.dtype.itemsize, np.ma.getdata(cells)
    if kind in "iu" and width == 8 and cells.size:
        return int(cells.max()) >= _EXACT or int(cells.min()) <= -_EXACT
    if kind == "f" and width > 8:
        with np.errstate(over="ignore"):
            return bool(np.any((cells.astype(np.float64) != cells) & (cells == cells)))
    return kind in "OSTU"


def _check(values: np.ndarray, name: str) -> None:
    values = values.compressed() if isinstance(values, np.ma.MaskedArray) else values
    if not _may_merge(values):
        return
    different = _different(values)
    try:
        with np.errstate(over="ignore"):
            floats = different.astype(np.float64)
        lost = bool(np.isinf(floats).any())
    except OverflowError:
        lost = True
    if lost:
        raise ValueError(f"Column {name} holds a number that no float can hold: make it smaller, or drop it.")
    for k in np.flatnonzero(floats[1:] == floats[:-1]).tolist():
        if not _is_noise(different[k], different[k + 1]):
            raise ValueError(_refusal(name, different[k], different[k + 1]))


def _is_noise(low: Any, high: Any) -> bool:
    """Whether two fractions are as near as the rounding of sums and quotients in their own arithmetic brings them."""
    one, two = _fraction(low), _fraction(high)
    if one.denominator == two.denominator == 1:
        return False
    return float(two) == 0.0 or two - one <= abs(two) / _NOISE


def _fraction(value: Any) -> Fraction:
    return Fraction(*(value if hasattr(value, "as_integer_ratio") else int(value)).as_integer_ratio())


def _refusal(name: str, low: Any, high: Any) -> str:
    pair = [int(value) if int(value) == value else value for value in (low, high)]
    large = all(isinstance(value, int) for value in pair)
    why, other = (", as neighbours above 2^53 are", "") if large else ("", ", or round it")
    return (
        f"Column {name} holds {pair[0]!s} and {pair[1]!s}, which are one number in floating point{why}: subtract the "
        f"smallest value of the column from all of it first{other}."
    )


def _different(values: np.ndarray) -> np.ndarray:
    """The different numbers of a column in order, each exact; rounding keeps the order, so neighbours merge first."""
    if values.dtype.kind not in "OSTU":
        return np.unique(values[np.isfinite(values)])
    found = {number for cell in values.tolist() if (number := _exact(cell)) is not None}
    return np.array(sorted(found), dtype=object)


def _exact(cell: Any) -> int | Decimal | Fraction | None:
    """A number as it is; None for doubles, what is missing, and what is none."""
    if cell is None or isinstance(cell, float):
        return None
    if isinstance(cell, (str, bytes)):
        return _spelled(cell)
    if isinstance(cell, Decimal):
        return cell if cell.is_finite() else None
    if isinstance(cell, np.floating):
        return Fraction(*cell.as_integer_ratio()) if np.isfinite(cell) else None
    try:
        return index(cell)
    except TypeError:
        return Fraction(cell) if isinstance(cell, Rational) else None


def _spelled(text: str | bytes) -> int | Decimal | None:
    """A whole number in digits. Of fractions no two texts are the same double by chance: 0.1 and its 17 digits are."""
    if len(text) < _DIGITS and not {"e", "E", *b"eE"} & {*text}:
        return None
    try:
        number = Decimal(text if isinstance(text, str) else text.decode())
    except (InvalidOperation, UnicodeDecodeError):
        return None
    return number if number.is_finite() and number == number.to_integral_value() else None
