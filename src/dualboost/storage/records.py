"""Records, models, numbers, strings and arrays as JSON with names of arrays in it; and back, for known types only.

A record is a dataclass, a named tuple, a model with its attributes, or a class that says itself what it is made of:
`to_record()` gives its parts, `of_record(**parts)` makes it again. What a model names in `NOT_IN_FILES` stays behind.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

__all__ = ["decode", "encode"]

_SPECIAL = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
_SHORT = 1024  # bytes beyond go beside the text


def encode(value: Any, arrays: dict[str, np.ndarray], types: Mapping[str, type], where: str) -> Any:
    """JSON for this value; its arrays go into `arrays` under the name of their place."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (np.bool_, np.integer, int)):
        return bool(value) if isinstance(value, np.bool_) else int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else {"number": str(float(value))}
    if isinstance(value, np.ndarray):
        return _encode_array(value, arrays, where)
    if isinstance(value, bytes):
        return _encode_bytes(value, arrays, where)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [encode(item, arrays, types, f"{where}.{i}") for i, item in enumerate(value)]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"map": {key: encode(item, arrays, types, f"{where}.{key}") for key, item in value.items()}}
    if types.get(type(value).__name__) is type(value):
        parts = {name: encode(part, arrays, types, f"{where}.{name}") for name, part in _parts(value).items()}
        return {"record": type(value).__name__, "fields": parts}
    raise ValueError(
        f"{where} holds a {type(value).__name__}, which a model file cannot keep: only numbers, strings and our own "
        "records; use pickle or joblib for this model, and load such files only from people you trust."
    )


def _parts(value: Any) -> dict[str, Any]:
    if hasattr(value, "to_record"):
        return value.to_record()
    if hasattr(value, "_fields"):
        return value._asdict()
    if is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    return {name: part for name, part in vars(value).items() if name not in getattr(value, "NOT_IN_FILES", ())}


def _encode_bytes(value: bytes, arrays: dict[str, np.ndarray], where: str) -> Any:
    if len(value) <= _SHORT:
        return {"bytes": base64.b64encode(value).decode("ascii")}
    arrays[where] = np.frombuffer(value, np.uint8)
    return {"long bytes": where}


def _encode_array(array: np.ndarray, arrays: dict[str, np.ndarray], where: str) -> Any:
    if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8 and array.dtype != np.float16:
        arrays[where] = array
        return {"array": where}
    if array.dtype.kind in "Mm":  # dates as labels: their numbers, and the unit that these count
        return {"labels": array.view(np.int64).tolist(), "dtype": array.dtype.newbyteorder("<").str}
    items = array.tolist()
    if array.ndim == 1 and all(
        isinstance(item, (str, bool, int)) or (isinstance(item, float) and np.isfinite(item)) for item in items
    ):
        return {"labels": items, "dtype": "object" if array.dtype == object else array.dtype.str}
    raise ValueError(f"{where} holds an array of {array.dtype}, which a model file cannot keep.")


def decode(code: Any, arrays: Mapping[str, np.ndarray], types: Mapping[str, type]) -> Any:
    """The value again; KeyError or TypeError where the code is none of ours."""
    if code is None or isinstance(code, (bool, int, float, str)):
        return code
    (kind, content), *rest = code.items()
    if kind == "record":
        made = {name: decode(item, arrays, types) for name, item in code["fields"].items()}
        return _made(types[content], made)
    if kind == "labels":
        return np.array(content, dtype=object if code["dtype"] == "object" else _label_type(code["dtype"]))
    if rest:
        raise TypeError(f"unknown code {kind!r}")
    return _decode_plain(kind, content, arrays, types)


def _made(kind: type, parts: dict[str, Any]) -> Any:
    if hasattr(kind, "of_record"):
        return kind.of_record(**parts)
    return kind(**parts) if is_dataclass(kind) or hasattr(kind, "_fields") else _revived(kind, parts)


def _revived(kind: type, state: dict[str, Any]) -> Any:
    """A model with these parameters and fitted attributes; nothing may shadow a method."""
    value = kind()  # a parameter that is younger than the file has its default
    for name, part in state.items():
        if name.startswith("__") or callable(getattr(kind, name, None)):
            raise ValueError(f"it names {name!r}")
        setattr(value, name, part)
    return value


def _decode_plain(kind: str, content: Any, arrays: Mapping[str, np.ndarray], types: Mapping[str, type]) -> Any:
    if kind == "number":
        return _SPECIAL[content]
    if kind == "array":
        return arrays[content]
    if kind == "bytes":
        return base64.b64decode(content, validate=True)
    if kind == "long bytes":
        return arrays[content].astype(np.uint8, casting="no").tobytes()
    if kind == "map":
        return {key: decode(item, arrays, types) for key, item in content.items()}
    if kind in ("list", "tuple"):
        items = [decode(item, arrays, types) for item in content]
        return tuple(items) if kind == "tuple" else items
    raise TypeError(f"unknown code {kind!r}")


def _label_type(name: str) -> np.dtype:
    kind = np.dtype(name)
    if kind.kind not in "UMm" and kind != np.float16:
        raise TypeError(f"unknown labels of type {name!r}")
    return kind
