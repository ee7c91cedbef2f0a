"""One number for each row, such as its weight, from any library.

NumPy makes floats of dates and durations in silence, nanoseconds since 1970, and drops the half of a complex number:
nobody means that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualboost.frames.tables import is_date
from dualboost.frames.words import in_words
from dualboost.rows import refuse_masked

__all__ = ["check_row_numbers"]

_DATES = "holds dates, times or durations: give a plain number for each row, such as an age in days."
_COMPLEX = "holds complex numbers: give a real number for each row."
_HUGE = "holds a number that no float can hold: divide all of them by the largest."


def check_row_numbers(name: str, values: Any) -> None:
    """Refuse what has no number for each row; whoever asks checks how many there are, and what they may be.

    >>> check_row_numbers("sample_weight", [1, 2.5, None])
    >>> check_row_numbers("sample_weight", np.array(["1971-01-01"], dtype="datetime64[D]"))
    Traceback (most recent call last):
    ValueError: sample_weight holds dates, times or durations: give a plain number for each row, such as an age in days.
    """
    refuse_masked(name, values)
    try:
        cells = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must hold one number for each row, not lists of different lengths.") from error
    if cells.dtype.kind in "mM":
        raise ValueError(f"{name} {_DATES}")
    if cells.dtype.kind == "c":
        raise ValueError(f"{name} {_COMPLEX}")
    if cells.dtype.kind not in "biuf":
        for cell in cells.ravel().tolist():
            _check(name, cell)


def _check(name: str, cell: Any) -> None:
    """One cell of a list or of an array of objects; what is missing is told later."""
    if cell is None or type(cell).__name__ == "NAType":
        return
    if is_date(cell):
        raise ValueError(f"{name} {_DATES}")
    if isinstance(cell, (complex, np.complexfloating)):
        raise ValueError(f"{name} {_COMPLEX}")
    try:
        float(cell)
    except OverflowError as error:
        raise ValueError(f"{name} {_HUGE}") from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold one number for each row, not {in_words(cell)}.") from error
