"""A zip of named arrays and one JSON header, written atomically, read with suspicion.

Every array is raw little-endian bytes; the header holds its type, shape and SHA-256, and a further entry the SHA-256 of
the header. Small arrays share one entry, and the header says at which byte each begins. Sizes are checked before
anything is inflated, nothing is unpacked to disk, and no code is ever loaded.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import zipfile
import zlib
from math import prod
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["DamagedFile", "read", "write"]

_HEADER, _CHECKSUM, _TOGETHER = "header.json", "header.sha256", "small arrays"
_SMALL = 1 << 14  # bytes: an entry of its own costs a tenth of a millisecond
_KINDS = {"<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "|u1", "<u2", "<u4", "<u8", "|b1"}
_LARGEST_HEADER = 64 << 20
_OVERHEAD = 1 << 20  # bytes of a zip that are no content
_ENTRY = b"PK\x01\x02", 1000  # what an entry of the directory begins with, and takes once it is read
_STAMP = (1980, 1, 1, 0, 0, 0)  # the same model is the same bytes


class DamagedFile(ValueError):
    """The file is not what was written."""


def write(
    path: str | os.PathLike, header: dict[str, Any], arrays: dict[str, np.ndarray], effort: int | None = None
) -> None:
    """Replace the file at once, or leave what was there: a full disk or a crash loses nothing.

    `effort` is that of the compression, 1 to 9; 1 for what is written often and read once.
    """
    target = _checked_target(path)
    data = _packed(header, arrays, effort)
    temporary = target.with_name(f".{secrets.token_hex(8)}")  # not longer: the name may be as long as names can be
    try:
        with temporary.open("xb") as file:  # not by tempfile: it should have the mode that the process gives its files
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)  # Ctrl-C may come before it is made, or after it was renamed
        raise


def _checked_target(path: str | os.PathLike) -> Path:
    """Where a link leads, for the link should stay one; a directory or device is never replaced by a file."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise IsADirectoryError(f"{path} is a directory or a device: give the path of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no directory {target.parent}.")
    return target


def _packed(header: dict[str, Any], arrays: dict[str, np.ndarray], effort: int | None) -> bytes:
    raw = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    parts, index = _parts(raw)
    # Without an indent: only then does the encoder that is written in C do it.
    text = _encoded(json.dumps({**header, "arrays": index}, allow_nan=False, ensure_ascii=False))
    out = io.BytesIO()
    # No `with`: where Ctrl-C or the end of memory breaks an entry off, closing the file would raise over that.
    file = zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=effort)
    try:
        for name, data in {_HEADER: text, _CHECKSUM: _digest(text).encode(), **parts}.items():
            _add(file, name, data)
        file.close()
    except BaseException:
        file.fp = None  # nothing is left to close, not by the garbage collector either
        raise
    return out.getvalue()


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise ValueError(
            f"A name or category holds half a character, {half!r}, which no file can keep: rename it."
        ) from error


def _parts(raw: dict[str, np.ndarray]) -> tuple[dict[str, bytes], dict[str, dict[str, Any]]]:
    """(the bytes of each entry, what the header says of each array)."""
    parts: dict[str, bytes] = {}
    index: dict[str, dict[str, Any]] = {}
    together: list[bytes] = []
    filled = 0
    for name, array in raw.items():
        data = array.tobytes()
        index[name] = {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": _digest(data)}
        if len(data) > _SMALL:
            parts[name] = data
            continue
        index[name]["at"] = filled
        filled += len(data)
        together.append(data)
    return {**parts, _TOGETHER: b"".join(together)}, index


def _add(file: zipfile.ZipFile, name: str, data: bytes) -> None:
    file.writestr(zipfile.ZipInfo(name, _STAMP), data, zipfile.ZIP_DEFLATED, file.compresslevel)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read(path: str | os.PathLike, max_bytes: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays, each proved to be what was written; DamagedFile in one sentence otherwise."""
    if not isinstance(max_bytes, Real) or isinstance(max_bytes, bool):
        raise ValueError(f"max_bytes must be a number of bytes, such as 2**30, not {max_bytes!r}.")
    data = _bytes_of(path, max_bytes)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            _check_entries(file, max_bytes)
            header = _header(file, max_bytes)
            together = _content(file, _TOGETHER) if _TOGETHER in file.namelist() else b""
            sizes = {name: _size(name, entry) for name, entry in header["arrays"].items()}
            _check_small(sizes, header["arrays"], together)
            arrays = {
                name: _array(file, name, entry, sizes[name], together) for name, entry in header["arrays"].items()
            }
            _check_nothing_else(file, header["arrays"])
    except DamagedFile:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise DamagedFile(f"{path} is not a whole model file: {error}; take it from its source again.") from error
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, OverflowError) as error:
        raise DamagedFile(
            f"{path} is damaged: its parts do not fit together; take it from its source again."
        ) from error
    return header, arrays


def _bytes_of(path: str | os.PathLike, max_bytes: float) -> bytes:
    """What can hold no more than max_bytes once it is inflated; nothing is read of a file that is larger."""
    most, parts = max_bytes + _OVERHEAD, []
    with Path(path).open("rb") as file:
        filled = size = os.fstat(file.fileno()).st_size
        if size <= most:
            filled = 0
            while filled <= most and (part := file.read(max(size, _OVERHEAD))):  # a device has no size, perhaps no end
                parts.append(part)
                filled += len(part)
    if filled > most:
        raise DamagedFile(f"{path} is larger than max_bytes = {max_bytes:,}: raise max_bytes if you trust it.")
    data = b"".join(parts)
    sign, each = _ENTRY
    _check_memory(each * data.count(sign), most)  # the directory is read as a whole, before anything can be looked at
    return data


def _check_memory(needed: int, max_bytes: float) -> None:
    if needed > max_bytes:
        raise DamagedFile(
            f"The model file would take {needed:,} bytes of memory, more than max_bytes = {max_bytes:,}: "
            "raise max_bytes if you trust it."
        )


def _check_entries(file: zipfile.ZipFile, max_bytes: int) -> None:
    names = [entry.filename for entry in file.infolist()]
    if len(set(names)) != len(names):
        raise DamagedFile("The model file names a part twice; take it from its source again.")
    if any(entry.compress_type != zipfile.ZIP_DEFLATED for entry in file.infolist()):
        raise DamagedFile("The model file is packed in a way that we never use; take it from its source again.")
    _check_memory(sum(entry.file_size for entry in file.infolist()), max_bytes)


def _content(file: zipfile.ZipFile, name: str) -> bytes:
    """One part; never more than it says, whatever the compressed bytes hold."""
    size = file.getinfo(name).file_size
    with file.open(name) as part:
        data = part.read(size + 1)
    if len(data) != size:
        raise DamagedFile(f"The part {name!r} of the model file is not as long as it says.")
    return data


def _header(file: zipfile.ZipFile, max_bytes: float) -> dict[str, Any]:
    if file.getinfo(_HEADER).file_size > _LARGEST_HEADER:
        raise DamagedFile("The header of the model file is larger than any header we write.")
    text = _content(file, _HEADER)
    if _content(file, _CHECKSUM).decode() != _digest(text):
        raise DamagedFile(
            "The header of the model file was changed after it was written; take it from its source again."
        )
    _check_memory(_parsed_size(text), max_bytes)
    header = json.loads(text, parse_constant=_no_constant)
    if not isinstance(header, dict) or not isinstance(header["arrays"], dict):
        raise DamagedFile("The header of the model file is not a table.")
    return header


def _parsed_size(text: bytes) -> int:
    """In bytes, at most: a table or a list takes many times the memory of its text, and a letter up to eight bytes."""
    tables, lists, further = text.count(b"{"), text.count(b"["), text.count(b",") + text.count(b":")
    return 8 * len(text) + 232 * tables + 96 * lists + 56 * further


def _no_constant(name: str):
    raise DamagedFile(f"The header of the model file holds {name}, which we never write.")


def _check_small(sizes: dict[str, int], index: dict[str, Any], together: bytes) -> None:
    """Arrays that all lay claim to the same bytes would take many times the memory that was counted."""
    if sum(size for name, size in sizes.items() if "at" in index[name]) > len(together):
        raise DamagedFile("The small arrays of the model file overlap; take it from its source again.")


def _size(name: str, entry: dict[str, Any]) -> int:
    """In bytes, as the header has it."""
    kind, shape = entry["dtype"], entry["shape"]
    if kind not in _KINDS or not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in shape):
        raise DamagedFile(f"The array {name!r} of the model file has a type or shape that we never write.")
    return prod(shape) * np.dtype(kind).itemsize


def _array(file: zipfile.ZipFile, name: str, entry: dict[str, Any], size: int, together: bytes) -> np.ndarray:
    kind, shape = entry["dtype"], entry["shape"]
    data = _slice(together, name, entry["at"], size) if "at" in entry else _content(file, name)
    if _digest(data) != entry["sha256"]:
        raise DamagedFile(f"The array {name!r} of the model file was changed after it was written.")
    if len(data) != size:
        raise DamagedFile(f"The array {name!r} of the model file does not fit its shape.")
    return np.frombuffer(data, dtype=kind).reshape(shape).astype(np.dtype(kind).newbyteorder("="))


def _slice(together: bytes, name: str, at: Any, size: int) -> bytes:
    if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at <= len(together) - size:
        raise DamagedFile(f"The array {name!r} of the model file lies outside of its entry.")
    return together[at : at + size]


def _check_nothing_else(file: zipfile.ZipFile, index: dict[str, Any]) -> None:
    own = {name for name, entry in index.items() if "at" not in entry}
    extra = set(file.namelist()) - {_HEADER, _CHECKSUM, _TOGETHER, *own}
    if extra:
        raise DamagedFile(f"The model file holds {sorted(extra)[0]!r}, which its header does not name.")
