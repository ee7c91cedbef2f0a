"""The bytes of a file or of standard input, decompressed, and never more of them than memory can hold."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dualboost.errors import BadInput
from dualboost.readers.memory import Cost, check_memory
from dualboost.readers.packing import DAMAGE, SUFFIXES, unpacked

__all__ = ["STDIN", "Content", "Opened", "called", "fetch", "is_binary", "opened"]

STDIN = "-"
_PIECE = 1 << 20


class Content:
    """Bytes with the name they came under; `name` is without the suffix of a compression."""

    def __init__(self, data: bytes, name: str):
        self.data, self.name = data, name

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix.lower()


@dataclass(frozen=True)
class Opened:
    """An open file, unpacked while it is read."""

    stream: io.BufferedReader
    head: bytes
    """Its first bytes, which are still to be read; of what is inside, where it is packed."""
    name: str
    """Without the suffix of a compression."""
    packed: bool


@contextmanager
def opened(path: str) -> Iterator[Opened]:
    """The file, or standard input; BadInput where it cannot be read or is damaged."""
    with _raw(path) as raw:
        inner = unpacked(raw, called(path))
        stream = raw if inner is None else inner
        try:
            yield Opened(stream, stream.peek(8)[:8], _inner_name(path, inner is not None), inner is not None)
        except DAMAGE as error:
            raise BadInput(
                f"{called(path)} is damaged or cut short ({error}): take it from its source again."
            ) from error


def fetch(path: str, rows: int | None = None) -> Content:
    """Everything, or of a text the lines of its first `rows` rows (and one more for the header)."""
    with opened(path) as file:
        part = rows is not None and not is_binary(file.head)
        cost = Cost.of_bytes() if is_binary(file.head) else Cost.of_text(file.stream.peek(1))
        if not (part or file.packed or path == STDIN):
            check_memory(called(path), os.path.getsize(path), cost)
        data = _first_rows(file.stream, rows + 1) if part and rows is not None else _all(file.stream, path, cost)
    if not data.strip():
        raise BadInput(f"{called(path)} is empty: give a file with a header and rows.")
    return Content(data, file.name)


def called(path: str) -> str:
    return "standard input" if path == STDIN else path


@contextmanager
def _raw(path: str) -> Iterator[io.BufferedReader]:
    if path == STDIN:
        yield sys.stdin.buffer  # type: ignore[misc]
        return
    try:
        file = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError as error:
        raise BadInput(f"There is no file {path}.") from error
    except OSError as error:
        raise BadInput(f"Cannot read {path}: {error.strerror or error}.") from error
    with file:
        yield file


def _inner_name(path: str, packed: bool) -> str:
    return str(Path(path).with_suffix("")) if packed and Path(path).suffix in SUFFIXES else path


def is_binary(head: bytes) -> bool:
    """Whether it is Parquet or Arrow."""
    return head.startswith((b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"))


def _all(stream: BinaryIO, path: str, cost: Cost) -> bytes:
    pieces, total = [], 0
    while piece := stream.read(_PIECE):
        pieces.append(piece)
        total += len(piece)
        if total % (64 * _PIECE) < _PIECE:
            check_memory(called(path), total, cost)
    return b"".join(pieces)


def _first_rows(stream: BinaryIO, count: int) -> bytes:
    """As many lines as make `count` records: a line end inside quotes is none."""
    lines: list[bytes] = []
    open_quote = False
    for line in stream:
        lines.append(line)
        open_quote ^= bool(line.count(b'"') % 2)
        count -= not open_quote
        if count <= 0:
            break
    return b"".join(lines)
