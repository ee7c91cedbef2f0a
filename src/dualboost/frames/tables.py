"""Tables with named columns of many types, from pandas, polars or Arrow: what each column is, and its values.

None of these libraries is imported before the user has: a frame is known by the module that its type comes from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from enum import Enum
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

__all__ = ["ArrowFrame", "Frame", "Kind", "PandasFrame", "PolarsFrame", "as_frame", "is_date", "is_signalling"]


_FEW = 1000  # rows that Python reads sooner than polars plans to
_RUNS = "run_end_encoded"  # how the name of such an Arrow type begins
_READERS = {"__dataframe__": "pyarrow.interchange.from_dataframe(X)", "__arrow_c_stream__": "pyarrow.table(X)"}


class Kind(Enum):
    """What a column holds."""

    NUMBER = "numbers"
    CATEGORY = "categories"
    DATE = "dates or times"
    TEXT = "text"
    OTHER = "neither numbers nor categories"


class Frame(ABC):
    """A table by columns."""

    advice: str
    """How a column of text becomes one of categories."""
    choice: str
    """What has the columns of a list of names, in their order."""

    def __init__(self, table: Any):
        self.table = table

    @property
    @abstractmethod
    def plain(self) -> bool:
        """Whether it is a table of floats and integers under different names, which needs no reading."""

    @cached_property
    def names(self) -> list[str]:
        """Of the columns, in order."""
        return self._names()

    @cached_property
    def kinds(self) -> list[Kind]:
        """What each column holds."""
        return [self.kind(j) for j in range(len(self.names))]

    @abstractmethod
    def _names(self) -> list[str]: ...

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows."""

    @abstractmethod
    def kind(self, j: int) -> Kind:
        """What column j holds."""

    def numbers(self, j: int) -> np.ndarray:
        """Column j of numbers or truth values as floats; NaN where missing."""
        try:
            return self._numbers(j)
        except OverflowError as error:
            raise ValueError(
                f"Column {self.names[j]!r} holds a number that no float can hold: make it smaller, or drop it."
            ) from error

    @abstractmethod
    def _numbers(self, j: int) -> np.ndarray: ...

    @abstractmethod
    def wholes(self, j: int) -> np.ndarray:
        """The present values of column j of numbers as they are, where doubles may not hold them; else any doubles."""

    @property
    def odd_names(self) -> list[str]:
        """The names of the columns where these are not strings, which scikit-learn does not compare."""
        return []

    def floats(self, names: list[str]) -> np.ndarray | None:
        """All cells, if these are the names of the columns and all of them hold 64-bit floats; quick on few rows."""
        return None

    @abstractmethod
    def labels(self, j: int) -> tuple[list, np.ndarray]:
        """(different values, the place of each row's value among them or -1 where missing) of a column of any kind."""


def as_frame(X: Any) -> Frame | None:
    """The frame that X is; None for arrays and whatever else scikit-learn reads by itself."""
    makers: dict[str, Callable[[Any], Frame]]
    makers = {"pandas.DataFrame": PandasFrame, "polars.DataFrame": PolarsFrame}
    makers |= {"pyarrow.Table": ArrowFrame, "pyarrow.RecordBatch": ArrowFrame}
    for base in type(X).__mro__:
        if "interchange" in base.__module__:
            continue  # of the protocol __dataframe__, whatever its name
        name = f"{base.__module__.partition('.')[0]}.{base.__name__}"
        if name == "polars.LazyFrame":
            raise ValueError("A LazyFrame has no rows yet: give X.collect().")
        maker = makers.get(name)
        if maker is not None:
            return maker(X)
    _refuse_protocols(X)
    return None


def _refuse_protocols(X: Any) -> None:
    """Of a table that shows its cells by a protocol only, other libraries make a frame."""
    if hasattr(X, "__array__"):
        return
    for protocol, reader in _READERS.items():
        if hasattr(X, protocol):
            raise ValueError(f"X is of type {type(X).__name__}, which has {protocol} and no cells: give {reader}.")


class PandasFrame(Frame):
    """A pandas DataFrame with columns of any backend."""

    advice = '.astype("category")'
    choice = "X[{}]"

    @property
    def plain(self) -> bool:
        dtypes = list(self.table.dtypes)
        fine = all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in dtypes)
        return fine and len(dtypes) > 0 and self.table.columns.is_unique

    def _names(self) -> list[str]:
        return [str(name) for name in self.table.columns]

    def __len__(self) -> int:
        return len(self.table)

    def kind(self, j: int) -> Kind:
        column = self._columns[j]
        dtype = column.dtype
        if type(dtype).__name__ == "CategoricalDtype":
            return Kind.CATEGORY
        if hasattr(dtype, "pyarrow_dtype"):
            return arrow_kind(dtype.pyarrow_dtype)
        if dtype.kind in "Mm" or type(dtype).__name__ == "PeriodDtype":
            return Kind.DATE
        if dtype.kind in "biuf":
            return Kind.NUMBER
        if type(dtype).__name__ == "StringDtype":
            return Kind.TEXT
        return object_kind(column[column.notna()].tolist()) if dtype.kind == "O" else Kind.OTHER

    def _numbers(self, j: int) -> np.ndarray:
        column = self._columns[j]
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
            return column.to_numpy()
        return column.to_numpy(dtype=np.float64, na_value=np.nan)

    def wholes(self, j: int) -> np.ndarray:
        column = self._columns[j]
        if isinstance(column.dtype, np.dtype):
            return column.to_numpy()
        if "decimal" in str(column.dtype):
            return column.dropna().to_numpy(dtype=object)
        return column.dropna().to_numpy(dtype=f"{column.dtype.kind}8") if column.dtype.kind in "iu" else np.empty(0)

    def floats(self, names: list[str]) -> np.ndarray | None:
        if np.asarray(self.table.columns, dtype=object).tolist() != names:
            return None
        try:
            cells = self.table.to_numpy()
        except NotImplementedError:  # of columns with run ends
            return None
        return cells if cells.dtype == np.float64 else None

    @cached_property
    def _columns(self) -> list:
        """Asked for one by one, each takes as long as reading a thousand numbers."""
        return [_readable(column) for _, column in self.table.items()]

    @property
    def odd_names(self) -> list[str]:
        names = list(self.table.columns)
        return [] if all(isinstance(name, str) for name in names) else [str(name) for name in names]

    def labels(self, j: int) -> tuple[list, np.ndarray]:
        column = self._columns[j]
        if hasattr(column.dtype, "pyarrow_dtype"):
            return arrow_labels(column.array.__arrow_array__())
        cells = (column if type(column.dtype).__name__ == "CategoricalDtype" else column.astype("category")).array
        return cells.categories.tolist(), cells.codes


def _readable(column: Any) -> Any:
    """A column of pandas that can be looked at: without run ends, and nothing in it that no comparison survives."""
    dtype = column.dtype
    if hasattr(dtype, "pyarrow_dtype") and str(dtype.pyarrow_dtype).startswith(_RUNS):
        with suppress(NotImplementedError):  # of text in views, which is refused by its type
            return type(column)(type(column.array)(without_runs(column.array.__arrow_array__())))
    if isinstance(dtype, np.dtype) and dtype.kind == "O" and any(is_signalling(cell) for cell in column.array):
        return type(column)([None if is_signalling(cell) else cell for cell in column.array], dtype=object)
    return column


def is_signalling(cell: Any) -> bool:
    """Whether it is a decimal that is no number and raises wherever it is met: a missing value too."""
    return isinstance(cell, Decimal) and cell.is_snan()


def object_kind(values: list) -> Kind:
    """What these Python objects are; nothing at all counts as missing numbers."""
    if all(isinstance(value, (Real, Decimal, np.bool_)) for value in values):
        return Kind.NUMBER
    if all(isinstance(value, str) for value in values):
        return Kind.TEXT
    return Kind.DATE if all(map(is_date, values)) else Kind.OTHER


def is_date(value: Any) -> bool:
    """Whether it is of numpy or of Python's datetime, whose clock is not wanted here."""
    return isinstance(value, (np.datetime64, np.timedelta64)) or any(
        base.__module__ == "datetime" for base in type(value).__mro__
    )


class PolarsFrame(Frame):
    """A polars DataFrame."""

    advice = ".cast(pl.Categorical)"
    choice = "X[{}]"

    @property
    def plain(self) -> bool:
        return False

    def _names(self) -> list[str]:
        return list(self.table.columns)

    def __len__(self) -> int:
        return self.table.height

    def kind(self, j: int) -> Kind:
        dtype = self.table.dtypes[j]
        name = str(dtype).partition("(")[0]
        if name in ("Categorical", "Enum"):
            return Kind.CATEGORY
        if dtype.is_numeric() or name in ("Boolean", "Null"):
            return Kind.NUMBER
        if name == "Object":
            return object_kind([value for value in self.table.to_series(j).to_list() if value is not None])
        return Kind.DATE if dtype.is_temporal() else Kind.TEXT if name == "String" else Kind.OTHER

    def _numbers(self, j: int) -> np.ndarray:
        column = self.table.to_series(j)
        if str(column.dtype) == "Object":
            return np.array([None if is_signalling(cell) else cell for cell in column.to_list()], dtype=np.float64)
        return column.cast(float).to_numpy()

    def floats(self, names: list[str]) -> np.ndarray | None:
        same = self.table.columns == names and set(map(str, self.table.dtypes)) == {"Float64"}
        return self.table.to_numpy() if same else None

    def wholes(self, j: int) -> np.ndarray:
        column = self.table.to_series(j)
        if str(column.dtype).startswith(("Object", "Int128", "UInt128", "Decimal")):  # numpy has no such numbers
            return np.array(column.to_list(), dtype=object)
        return column.drop_nulls().to_numpy() if column.dtype.is_integer() else np.empty(0)

    def labels(self, j: int) -> tuple[list, np.ndarray]:
        column = self.table.to_series(j)
        texts = self.kind(j) in (Kind.CATEGORY, Kind.TEXT)
        cells = column.cast(str) if texts else column
        if texts and len(self) <= _FEW:
            found = cells.to_list()
            places_of = {label: k for k, label in enumerate(dict.fromkeys(text for text in found if text is not None))}
            return list(places_of), np.array([places_of.get(text, -1) for text in found], dtype=np.int64)
        values = cells.drop_nulls().unique().sort().to_list()
        if not values:
            return [], np.full(len(self), -1)
        places = cells.replace_strict(values, list(range(len(values))), default=-1, return_dtype=int)
        return values, places.fill_null(-1).to_numpy()


class ArrowFrame(Frame):
    """A pyarrow Table, or one batch of one."""

    advice = "pyarrow.compute.dictionary_encode"
    choice = "X.select({})"

    def __init__(self, table: Any):
        from pyarrow import Table

        super().__init__(table if isinstance(table, Table) else Table.from_batches([table]))

    @property
    def plain(self) -> bool:
        return False

    def _names(self) -> list[str]:
        return list(self.table.column_names)

    def __len__(self) -> int:
        return self.table.num_rows

    def kind(self, j: int) -> Kind:
        return arrow_kind(self.table.schema.field(j).type)

    def _column(self, j: int) -> Any:
        column = self.table.column(j)
        return without_runs(column) if str(column.type).startswith(_RUNS) else column

    def _numbers(self, j: int) -> np.ndarray:
        column = self._column(j)
        if str(column.type) == "null":
            return np.full(len(self), np.nan)
        if str(column.type) == "bool":
            column = column.cast("uint8")
        return column.cast("float64", safe=False).to_numpy().astype(np.float64)  # whole numbers may be above 2^53

    def wholes(self, j: int) -> np.ndarray:
        column = self._column(j)
        if str(column.type).startswith("decimal"):
            return np.array(column.drop_null().to_pylist(), dtype=object)
        return column.drop_null().to_numpy() if str(column.type).lstrip("u").startswith("int") else np.empty(0)

    def labels(self, j: int) -> tuple[list, np.ndarray]:
        return arrow_labels(self._column(j))


def without_runs(column: Any) -> Any:
    """A run-end-encoded Arrow column in chunks, cell by cell. Arrow's own function does not know categories."""
    from pyarrow import array, chunked_array

    cells = []
    for chunk in column.chunks:
        ends = np.asarray(chunk.run_ends)
        places = np.searchsorted(ends, np.arange(chunk.offset, chunk.offset + len(chunk)), side="right")
        cells.append(chunk.values.take(array(places)))
    return chunked_array(cells, type=column.type.value_type)


def arrow_labels(column: Any) -> tuple[list, np.ndarray]:
    """`Frame.labels` of an Arrow column in chunks."""
    if not str(column.type).startswith("dictionary"):
        column = column.dictionary_encode()
    values: dict = {}
    parts = [np.empty(0, dtype=np.int64)]
    for chunk in column.chunks:
        met = chunk.dictionary.to_pylist()
        own = [-1 if value is None else values.setdefault(value, len(values)) for value in met]
        parts.append(np.array([*own, -1])[chunk.indices.cast("int64").fill_null(-1)])
    return list(values), np.concatenate(parts)


def arrow_kind(dtype: Any) -> Kind:
    """What a column of this Arrow type holds."""
    from pyarrow import types

    if types.is_run_end_encoded(dtype):
        dtype = dtype.value_type
    if types.is_dictionary(dtype):
        return Kind.CATEGORY
    numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    if any(test(dtype) for test in numeric):
        return Kind.NUMBER
    if types.is_temporal(dtype):
        return Kind.DATE
    return Kind.TEXT if str(dtype) in ("string", "large_string", "string_view") else Kind.OTHER
