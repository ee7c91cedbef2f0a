"""Compressed files, known by their first bytes: gzip, bzip2, xz and zstd, unpacked while they are read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from pathlib import Path
from typing import Any, BinaryIO

from dualboost.errors import BadInput

__all__ = ["DAMAGE", "SUFFIXES", "unpacked"]

DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError)
SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
_KINDS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_PIECE = 4096  # packed bytes at a time: they may hold 30,000 times as many
_ZSTD, _ZIP = b"\x28\xb5\x2f\xfd", b"PK\x03\x04"

_ANY = "is packed with zip: unpack it first (unzip), or use gzip, bzip2, xz or zstd"
_ZIPPED = {
    ".npz": "holds NumPy arrays without names: write them as CSV, Parquet or SVMlight",
    ".xlsx": "is a spreadsheet: save it as CSV",
    ".ods": "is a spreadsheet: save it as CSV",
    ".dualboost": "is a model: name the data first",
}


def unpacked(raw: io.BufferedReader, name: str) -> io.BufferedReader | None:
    """What is inside; None where the file is not packed."""
    head = raw.peek(8)[:8]
    if head.startswith(_ZIP):
        raise BadInput(f"{name} {_ZIPPED.get(Path(name).suffix.lower(), _ANY)}.")
    if head.startswith(_ZSTD):
        return io.BufferedReader(_Frames(raw, name))
    for magic, kind in _KINDS.items():
        if head.startswith(magic):
            return io.BufferedReader(kind(raw))  # type: ignore[operator]
    return None


class _Frames(io.RawIOBase):
    """zstd, one frame after the other. One that is cut short is an error, which not every reader of zstd says."""

    def __init__(self, raw: BinaryIO, name: str):
        try:
            import zstandard
        except ImportError as error:
            advice = 'pip install "dualboost[cli]"'
            raise BadInput(f"{name} is packed with zstd, which needs zstandard: {advice}.") from error
        self._raw, self._library, self._out, self._rest = raw, zstandard, b"", b""
        self._frame: Any = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        while not self._out and self._more():
            pass
        size = min(len(buffer), len(self._out))
        buffer[:size], self._out = self._out[:size], self._out[size:]
        return size

    def _more(self) -> bool:
        """Unpack a little more; whether there was something left."""
        piece = self._rest or self._raw.read(_PIECE)
        if not piece:
            if self._frame is not None:
                raise EOFError("a zstd frame has no end")
            return False
        self._frame = self._frame or self._library.ZstdDecompressor().decompressobj()
        try:
            self._out = self._frame.decompress(piece)
        except self._library.ZstdError as error:
            raise OSError(str(error)) from error
        self._rest = self._frame.unused_data if self._frame.eof else b""
        self._frame = None if self._frame.eof else self._frame
        return True
