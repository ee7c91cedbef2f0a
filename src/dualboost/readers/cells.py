"""One column as a model reads it, by its kind: the same rules when a model is fitted and when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualboost.errors import BadInput
from dualboost.readers.polars import require_polars
from dualboost.readers.schema import Column

if TYPE_CHECKING:
    import polars as pl

__all__ = ["OTHERS", "as_dates", "as_numbers", "as_text", "as_truth", "encode"]

MISSING = ("", "?", "NA", "N/A", "n/a", "na", "nan", "NaN", "NAN", "null", "NULL", "None", "none", "#N/A")
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}
_DATE = r"^\d{4}-\d{2}-\d{2}([T ].*)?$"
OTHERS = "(others)"
"""What rare and new categories are called."""
_DAY = 86_400_000_000  # microseconds


def as_text(cells: pl.Series) -> pl.Series:
    """Strings without blanks around them; the usual words for "missing" are missing."""
    pl = require_polars()
    text = cells.cast(pl.String, strict=False).str.strip_chars()
    return text.set(text.is_in(list(MISSING)), None)


def as_numbers(cells: pl.Series) -> pl.Series:
    """Floats; what is no number becomes missing."""
    pl = require_polars()
    numbers = cells.cast(pl.Float64, strict=False)
    if cells.dtype == pl.String and numbers.null_count() > cells.null_count():  # blanks, or words
        numbers = as_text(cells).cast(pl.Float64, strict=False)
    return numbers.fill_nan(None)


def as_truth(cells: pl.Series) -> pl.Series:
    """1 and 0; what is neither becomes missing."""
    pl = require_polars()
    if cells.dtype == pl.Boolean:
        return cells.cast(pl.Float64)
    return as_text(cells).str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=pl.Float64)


def as_dates(cells: pl.Series) -> pl.Series:
    """Days since 1970; what is no date becomes missing."""
    pl = require_polars()
    if cells.dtype.is_temporal():
        return cells.cast(pl.Datetime("us"), strict=False).to_physical() / _DAY
    text = as_text(cells)
    text = text.set(~text.str.contains(_DATE), None).str.replace("T", " ")
    short = text.str.slice(0, 19)
    moments = short.str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False, time_unit="us")
    days = short.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us"))
    return moments.fill_null(days).to_physical() / _DAY


_READERS = {"number": as_numbers, "truth": as_truth, "date": as_dates}


def encode(cells: pl.Series, column: Column) -> pl.Series:
    """Floats, or categories; null is missing. BadInput where a cell is not of its kind."""
    if column.kind == "category":
        return _categories(as_text(cells), column).alias(column.name)
    values = _READERS[column.kind](cells)
    _check_kind(cells, values, column)
    infinite = values.is_infinite().fill_null(False)
    if infinite.any():
        row = infinite.arg_true()[0] + 1
        raise BadInput(f"Column {column.name!r} is infinite in row {row}: replace it by a number or leave it empty.")
    return values.alias(column.name)


def _categories(text: pl.Series, column: Column) -> pl.Series:
    """New values are like the rare ones; where none were rare, they are missing."""
    pl = require_polars()
    if not column.words:
        return text.cast(pl.Enum(column.levels), strict=False)
    known = text.is_in([*column.levels]) | text.is_null()
    return text.set(~known, OTHERS).cast(pl.Enum([*column.levels, OTHERS]), strict=False)


def _check_kind(cells: pl.Series, values: pl.Series, column: Column) -> None:
    if values.null_count() == cells.null_count():
        return
    text = as_text(cells)
    wrong = (values.is_null() & ~text.is_null() & ~text.is_in(list(column.words))).to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        raise BadInput(
            f"Column {column.name!r} is a {column.kind} for this model, but row {row + 1} holds {text[row][:40]!r}: "
            "mend that cell or leave it empty."
        )
