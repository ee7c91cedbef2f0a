"""A data file of any size as tables of a few rows, one after the other: memory holds one of them at a time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from dualboost.errors import BadInput
from dualboost.readers.content import Content, Opened, called, is_binary, opened
from dualboost.readers.slices import slices
from dualboost.readers.table import FrameTable, Source, Table, is_svmlight, read, sparse_table
from dualboost.readers.text import Form, as_utf8, form_of, parsed

__all__ = ["stream"]

_BLOCK = 1 << 22  # bytes of text
_QUOTE, _LINE_END = ord('"'), ord("\n")


def stream(
    path: str, *, rows: int | None = None, encoding: str | None = None, block: int | None = None
) -> Iterator[Table]:
    """The same rows as `read`, in parts.

    Parameters
    ----------
    path : str
        A file, or "-" for standard input.
    rows : int, optional
        Only the first rows.
    encoding : str, optional
        Of a text file; by default UTF-8.
    block : int, optional
        How many bytes of a text are taken at a time; by default 4 MiB.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from dualboost.readers import stream
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "data.csv"
    >>> _ = path.write_text("age,label\\n" + "3,no\\n40,yes\\n" * 10)
    >>> [len(table) for table in stream(str(path), block=60)]
    [8, 10, 2]
    """
    if rows is not None:  # few enough for the memory, or `read` says so
        yield read(path, rows=rows, encoding=encoding)
        return
    with opened(path) as file:
        if not file.head:
            raise BadInput(f"{called(path)} is empty: give a file with a header and rows.")
        parts = slices(file, path) if is_binary(file.head) else _texts(file, path, encoding, block or _BLOCK)
        empty = True
        for table in parts:
            empty = False
            yield table
    if empty:
        raise BadInput(f"{called(path)} has a header but no rows: there is nothing to predict.")


def _texts(file: Opened, path: str, encoding: str | None, block: int) -> Iterator[Table]:
    name, header, line = called(path), b"", 0
    form: Form | None = None
    source = file.stream if encoding is None else _Recoded(file.stream, file.name, encoding)
    for data in _records(source, block, name):
        data = as_utf8(Content(data, file.name), None)
        if line == 0 and not data.strip():
            raise BadInput(f"{name} is empty: give a file with a header and rows.")
        if form is None and is_svmlight(data):
            yield from _sparse_parts(data, _records(source, block, name), name)
            return
        if form is None:
            form = form_of(data, Content(b"", file.name).suffix)
            header = data.lstrip(b"\r\n").split(b"\n", 1)[0] + b"\n" if form.header else b""
        whole = data if line == 0 else header + data
        frame = parsed(file.name, whole, form, skipped=line - bool(line and header))
        line += data.count(b"\n")
        if frame.height:
            yield FrameTable(frame, Source(name, form.name, "", frame.height), form.notes)


def _sparse_parts(first: bytes, others: Iterator[bytes], name: str) -> Iterator[Table]:
    yield sparse_table(Content(first, name), name)
    for data in others:
        yield sparse_table(Content(data, name), name)


def _records(source: Any, block: int, name: str) -> Iterator[bytes]:
    """Parts of a text that end where a record ends: a line end inside quotes is none."""
    rest = b""
    while piece := source.read(block):
        rest += piece
        end = _last_end(rest)
        if end:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > 64 * block:
            raise BadInput(f"{name} is no readable CSV: a line or a quoted cell in it never ends.")
    if rest:
        yield rest


def _last_end(data: bytes) -> int:
    """Behind the last line end that an even number of quotes precedes; 0 where there is none."""
    if b'"' not in data:
        return data.rfind(b"\n") + 1
    numbers = np.frombuffer(data, dtype=np.uint8)
    inside = np.cumsum(numbers == _QUOTE, dtype=np.uint8) & 1  # modulo 256 an even number stays even
    ends = np.flatnonzero((numbers == _LINE_END) & (inside == 0))
    return int(ends[-1]) + 1 if len(ends) else 0


class _Recoded:
    """A text in another encoding, read as UTF-8."""

    def __init__(self, source: BinaryIO, name: str, encoding: str):
        try:
            self._text = io.TextIOWrapper(source, encoding=encoding, newline="")
        except LookupError as error:
            raise BadInput(f"There is no encoding {encoding!r}; try --encoding latin-1 or utf-16.") from error
        self._name, self._encoding = name, encoding

    def read(self, size: int) -> bytes:
        try:
            return self._text.read(size).encode()
        except UnicodeDecodeError as error:
            raise BadInput(
                f"{self._name} is not {self._encoding} text: say how it is written with --encoding."
            ) from error
