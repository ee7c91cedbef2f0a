"""The bytes of a file or of standard input, decompressed, and never more of them than memory can hold."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zlib
from pathlib import Path
from typing import BinaryIO

from dualboost.errors import BadInput

__all__ = ["Content", "fetch"]

STDIN = "-"
_PIECE = 1 << 20
_SHARE = 0.8  # of the free memory
_COPIES = 4  # the text, its cells, the numbers, their bins


class Content:
    """Bytes with the name they came under; `name` is without the suffix of a compression."""

    def __init__(self, data: bytes, name: str):
        self.data, self.name = data, name

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix.lower()


def fetch(path: str, rows: int | None = None) -> Content:
    """Everything, or of a text the lines of its first `rows` rows (and one more for the header)."""
    with _opened(path) as raw:
        head = raw.peek(8)[:8] if isinstance(raw, (io.BufferedReader, io.BufferedRandom)) else b""
        _refuse_zstandard(head, path)
        stream, packed = _decompressed(raw, head)
        if rows is None and not packed and path != STDIN:
            _check_size(os.path.getsize(path), path)
        try:
            data = _first_rows(stream, rows + 1) if rows is not None and not _is_binary(head) else _all(stream, path)
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise BadInput(
                f"{_called(path)} is damaged or cut short ({error}): take it from its source again."
            ) from error
    if not data.strip():
        raise BadInput(f"{_called(path)} is empty: give a file with a header and rows.")
    return Content(data, _inner_name(path, packed))


def _called(path: str) -> str:
    return "standard input" if path == STDIN else path


def _opened(path: str) -> BinaryIO:
    if path == STDIN:
        return sys.stdin.buffer
    try:
        return open(path, "rb")
    except FileNotFoundError as error:
        raise BadInput(f"There is no file {path}.") from error
    except OSError as error:
        raise BadInput(f"Cannot read {path}: {error.strerror or error}.") from error


def _decompressed(raw: BinaryIO, head: bytes) -> tuple[BinaryIO, bool]:
    """What is inside, and whether it was packed."""
    if head.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=raw), True  # type: ignore[return-value]
    if head.startswith(b"BZh"):
        return bz2.BZ2File(raw), True  # type: ignore[return-value]
    if head.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMAFile(raw), True  # type: ignore[return-value]
    return raw, False


def _refuse_zstandard(head: bytes, path: str) -> None:
    for magic, name, tool in ((b"\x28\xb5\x2f\xfd", "zstd", "zstd -d"), (b"PK\x03\x04", "zip", "unzip")):
        if head.startswith(magic):
            raise BadInput(
                f"{_called(path)} is packed with {name}: unpack it first ({tool}), or use gzip, bzip2 or xz."
            )


def _inner_name(path: str, packed: bool) -> str:
    return str(Path(path).with_suffix("")) if packed and Path(path).suffix in (".gz", ".bz2", ".xz") else path


def _is_binary(head: bytes) -> bool:
    return head.startswith((b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"))


def _all(stream: BinaryIO, path: str) -> bytes:
    pieces, total = [], 0
    while piece := stream.read(_PIECE):
        pieces.append(piece)
        total += len(piece)
        if total % (64 * _PIECE) < _PIECE:
            _check_size(total, path)
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


def _check_size(size: int, path: str) -> None:
    free = free_memory()
    if size * _COPIES > _SHARE * free:
        raise BadInput(
            f"{_called(path)} holds at least {_in_words(size)} and would need some {_in_words(size * _COPIES)} of "
            f"memory, but {_in_words(free)} are free: take a part of it with --rows, or use a larger machine."
        )


def _in_words(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"


def free_memory() -> int:
    """Bytes that can be had without swapping; without an answer from the system, plenty."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError, IndexError):
        return 1 << 40
