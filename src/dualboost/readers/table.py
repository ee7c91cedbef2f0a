"""A data file of any known format as a table: CSV and TSV, Parquet, Arrow (Feather), SVMlight, compressed or not."""

from __future__ import annotations

import hashlib
import io
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dualboost.errors import BadInput
from dualboost.readers.content import STDIN, Content, fetch
from dualboost.readers.memory import CELL, Cost, check_memory
from dualboost.readers.polars import require_polars
from dualboost.readers.text import read_text

if TYPE_CHECKING:
    import polars as pl
    import scipy.sparse as sp

__all__ = ["FrameTable", "Source", "SparseTable", "Table", "is_svmlight", "read", "sparse_table"]

_SVMLIGHT = re.compile(rb"\s*[-+.\deE]+(\s+(qid:)?\d+:[-+.\deE]+)+\s*(#.*)?$")


@dataclass(frozen=True)
class Source:
    """Where a table came from, exactly enough to find it again."""

    name: str
    format: str
    sha256: str
    rows: int


class Table(ABC):
    """What was read, before anything is decided about it."""

    source: Source
    notes: tuple[str, ...]

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows."""


@dataclass(frozen=True, eq=False)
class FrameTable(Table):
    """Named columns; those of a text file are all strings."""

    frame: pl.DataFrame
    source: Source
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.frame.height


@dataclass(frozen=True, eq=False)
class SparseTable(Table):
    """Numbered features and labels; feature j of the file is column j here."""

    X: sp.csr_matrix
    labels: np.ndarray
    source: Source
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.X.shape[0]


def read(path: str, *, rows: int | None = None, encoding: str | None = None) -> Table:
    """Read a file, or standard input where `path` is "-".

    Parameters
    ----------
    path : str
    rows : int, optional
        Only the first rows.
    encoding : str, optional
        Of a text file; by default UTF-8.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from dualboost.readers import read
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "data.csv"
    >>> _ = path.write_text("age,label\\n3,no\\n40,yes\\n")
    >>> len(read(str(path))), read(str(path)).source.format
    (2, 'CSV')
    """
    content = fetch(path, rows)
    name = "standard input" if path == STDIN else path
    if is_svmlight(content.data):
        return sparse_table(content, name)
    frame, form, notes = _frame(content, rows, encoding)
    if not frame.height or not frame.width:
        raise BadInput(f"{name} has a header but no rows: nothing can be learned from it.")
    return FrameTable(frame, _source(content, name, form, frame.height), notes)


def _source(content: Content, name: str, form: str, rows: int) -> Source:
    return Source(name, form, hashlib.sha256(content.data).hexdigest(), rows)


def _frame(content: Content, rows: int | None, encoding: str | None) -> tuple[pl.DataFrame, str, tuple[str, ...]]:
    """The frame, its format, and what was noticed."""
    pl = require_polars()
    head = content.data[:8]
    try:
        if head.startswith((b"PAR1", b"ARROW1")):
            _check_cells(content, rows)
        if head.startswith(b"PAR1"):
            return pl.read_parquet(io.BytesIO(content.data), n_rows=rows), "Parquet", ()
        if head.startswith(b"ARROW1"):
            return pl.read_ipc(io.BytesIO(content.data), n_rows=rows), "Arrow", ()
        if head.startswith(b"\xff\xff\xff\xff"):
            return pl.read_ipc_stream(io.BytesIO(content.data), n_rows=rows), "Arrow stream", ()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BadInput(f"{content.name} is damaged ({_first_line(error)}): take it from its source again.") from error
    frame, form = read_text(content, rows, encoding)
    return frame, form.name, form.notes


def _check_cells(content: Content, rows: int | None) -> None:
    """A columnar file says how many cells it has before they are read."""
    pl = require_polars()
    lazy = (pl.scan_parquet if content.data.startswith(b"PAR1") else pl.scan_ipc)(io.BytesIO(content.data))
    height = lazy.select(pl.len()).collect().item()
    cells = len(lazy.collect_schema()) * (height if rows is None else min(rows, height))
    check_memory(content.name, max(len(content.data), 1), Cost(1 + CELL * cells / max(len(content.data), 1)))


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0].rstrip(".")


def is_svmlight(data: bytes) -> bool:
    """Whether the first line of a text looks like it."""
    lines = [line for line in data[:65536].split(b"\n") if line.strip() and not line.startswith(b"#")]
    return bool(lines) and _SVMLIGHT.match(lines[0].rstrip()) is not None


def sparse_table(content: Content, name: str) -> SparseTable:
    """Labels and features of every line."""
    from sklearn.datasets import load_svmlight_file

    try:
        X, labels = load_svmlight_file(io.BytesIO(content.data), zero_based=True)
    except (ValueError, IndexError, OverflowError) as error:
        raise BadInput(f"{name} looks like SVMlight, but a line of it is not: {_first_line(error)}.") from error
    return SparseTable(X, labels, _source(content, name, "SVMlight", X.shape[0]))
