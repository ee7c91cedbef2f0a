"""Parquet and Arrow files in parts, each read from the disk when its turn comes."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from dualboost.errors import BadInput
from dualboost.readers.content import STDIN, Opened, called
from dualboost.readers.polars import require_polars
from dualboost.readers.table import FrameTable, Source, Table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["slices"]

_CELLS = 1 << 20  # of a part


def slices(file: Opened, path: str) -> Iterator[Table]:
    """By slices that are read from the disk when their turn comes; what has no place there yet gets one."""
    pl = require_polars()
    form = "Parquet" if file.head.startswith(b"PAR1") else "Arrow"
    if file.head.startswith(b"\xff\xff\xff\xff"):
        yield from _messages(file.stream, path)
        return
    with _on_disk(file, path) as place:
        try:
            lazy = pl.scan_parquet(place) if form == "Parquet" else pl.scan_ipc(place)
            step = max(1, _CELLS // max(1, len(lazy.collect_schema())))
            start = 0
            while (frame := lazy.slice(start, step).collect()).height:
                yield _part(frame, called(path), form)
                start += frame.height
        except (pl.exceptions.PolarsError, OSError) as error:
            raise BadInput(f"{called(path)} is damaged ({_first(error)}): take it from its source again.") from error


def _first(error: Exception) -> str:
    return str(error).strip().split("\n")[0].rstrip(".")


def _part(frame: pl.DataFrame, name: str, form: str) -> FrameTable:
    return FrameTable(frame, Source(name, form, "", frame.height))


@contextmanager
def _on_disk(file: Opened, path: str) -> Iterator[str]:
    """The path, or that of a copy which is gone afterwards."""
    if path != STDIN and not file.packed:
        yield path
        return
    handle, copy = tempfile.mkstemp(prefix="dualboost.")
    try:
        with os.fdopen(handle, "wb") as out:
            shutil.copyfileobj(file.stream, out, 1 << 20)
        yield copy
    finally:
        os.unlink(copy)


def _messages(source: BinaryIO, path: str) -> Iterator[Table]:
    """The batches of an Arrow stream, one by one where pyarrow is there to read them."""
    pl = require_polars()
    try:
        import pyarrow
    except ImportError:
        frame = pl.read_ipc_stream(io.BytesIO(source.read()))
        yield _part(frame, called(path), "Arrow stream")
        return
    try:
        with pyarrow.ipc.open_stream(source) as reader:
            for batch in reader:
                if batch.num_rows:
                    yield _part(pl.from_arrow(pyarrow.Table.from_batches([batch])), called(path), "Arrow stream")
    except pyarrow.ArrowException as error:
        raise BadInput(f"{called(path)} is damaged ({_first(error)}): take it from its source again.") from error
