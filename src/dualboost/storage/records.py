"""Records, models, numbers, strings and arrays as JSON with names of arrays in it; and back, for known types only.

A record is a dataclass, a named tuple, a model with its attributes, or a class that says itself what it is made of:
`to_record()` gives its parts, `of_record(**parts)` makes it again. What a model keeps under a name that begins with `_`
stays behind, and a file sets nothing of a model but its parameters and what the reader names for its class.
A list of dataclasses of one kind is kept by columns, field by field: arrays are joined, and a second array has their
lengths. Thousands of small arrays would each need a name, a type and a checksum.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

__all__ = ["decode", "encode"]

_SPECIAL = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
_SHORT = 1024  # bytes beyond go beside the text
_LARGEST_LABELS = 64 << 20  # bytes: the type says how long a label may be, and the memory is taken at once
_PART = 128  # bytes that a field of a record takes in memory besides its numbers, which may be none


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
    if isinstance(value, list) and len(value) > 1 and _are_records(value, types):
        return {"columns": _encode_column(value, arrays, types, where), "count": len(value)}
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
    return {name: part for name, part in vars(value).items() if not name.startswith("_")}


def _encode_bytes(value: bytes, arrays: dict[str, np.ndarray], where: str) -> Any:
    if len(value) <= _SHORT:
        return {"bytes": base64.b64encode(value).decode("ascii")}
    arrays[where] = np.frombuffer(value, np.uint8)
    return {"long bytes": where}


def _encode_array(array: np.ndarray, arrays: dict[str, np.ndarray], where: str) -> Any:
    if _is_numbers(array):
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


def _is_numbers(array: np.ndarray) -> bool:
    return array.dtype.kind in "biuf" and array.dtype.itemsize <= 8 and array.dtype != np.float16


def _are_records(values: Sequence[Any], types: Mapping[str, type]) -> bool:
    """All of one kind, whose fields are always the same."""
    kind = type(values[0])
    return types.get(kind.__name__) is kind and is_dataclass(kind) and all(type(value) is kind for value in values)


def _encode_column(values: Sequence[Any], arrays: dict[str, np.ndarray], types: Mapping[str, type], where: str) -> Any:
    """JSON for the values that a field has in a list of records."""
    if all(type(value) is np.ndarray for value in values):
        return _encode_arrays(values, arrays, where)
    if _are_records(values, types) and (parts := [_parts(value) for value in values])[0]:
        columns = {name: [part[name] for part in parts] for name in parts[0]}
        code = {name: _encode_column(column, arrays, types, f"{where}.{name}") for name, column in columns.items()}
        return {"record": type(values[0]).__name__, "fields": code}
    if all(type(value) is tuple and 0 < len(value) == len(values[0]) for value in values):
        places = enumerate(zip(*values, strict=True))
        return {"tuple": [_encode_column(column, arrays, types, f"{where}.{i}") for i, column in places]}
    return {"each": [encode(value, arrays, types, f"{where}.{i}") for i, value in enumerate(values)]}


def _encode_arrays(values: Sequence[np.ndarray], arrays: dict[str, np.ndarray], where: str) -> Any:
    if all(_same_bits(value, values[0]) for value in values):
        return {"same": _encode_array(values[0], arrays, where)}
    if not all(value.ndim and _is_numbers(value) for value in values):
        return {"each": [_encode_array(value, arrays, f"{where}.{i}") for i, value in enumerate(values)]}
    kinds = [(value.dtype.str, value.shape[1:]) for value in values]
    if len(set(kinds)) > 1:
        return _encode_mixed(values, kinds, arrays, where)
    arrays[where] = np.concatenate(values)
    arrays[f"{where}.lengths"] = np.array([len(value) for value in values], dtype=np.int64)
    return {"joined": where, "lengths": f"{where}.lengths"}


def _encode_mixed(values: Sequence[np.ndarray], kinds: Sequence[Any], arrays: dict[str, np.ndarray], where: str) -> Any:
    """Arrays that cannot all be joined: a column for each kind, and of which kind each array is."""
    known = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
    parts: list[list[np.ndarray]] = [[] for _ in known]
    for value, kind in zip(values, kinds, strict=True):
        parts[known[kind]].append(value)
    arrays[f"{where}.kinds"] = np.array([known[kind] for kind in kinds], dtype=np.int64)
    columns = [_encode_arrays(part, arrays, f"{where}.{number}") for number, part in enumerate(parts)]
    return {"mixed": columns, "kinds": f"{where}.kinds"}


def _same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def decode(
    code: Any,
    arrays: dict[str, Any],
    types: Mapping[str, type],
    max_bytes: float = 1 << 30,
    may_set: Mapping[type, Collection[str]] = MappingProxyType({}),
) -> Any:
    """The value again; KeyError, TypeError or ValueError where the code is none of ours.

    Columns say in a few bytes how many records they make, so what these take is counted against `max_bytes`.
    `may_set` names, for each class of models, the attributes that a file may set besides its parameters.
    """
    return _Decoder(arrays, types, max_bytes, may_set).value(code)


@dataclass
class _Decoder:
    """What decoding one file needs to know."""

    arrays: dict[str, Any]
    types: Mapping[str, type]
    bytes_left: float
    may_set: Mapping[type, Collection[str]]

    def value(self, code: Any) -> Any:
        if code is None or isinstance(code, (bool, int, float, str)):
            return code
        (kind, content), *rest = code.items()
        if kind == "record":
            return self._made(self.types[content], {name: self.value(item) for name, item in code["fields"].items()})
        if kind == "columns":
            return self._column(content, _checked_count(code["count"]))
        if kind == "labels":
            return _labels(content, code["dtype"])
        if rest:
            raise TypeError(f"unknown code {kind!r}")
        return self._plain(kind, content)

    def _made(self, kind: type, parts: dict[str, Any]) -> Any:
        if hasattr(kind, "of_record"):
            return kind.of_record(**parts)
        if is_dataclass(kind) or hasattr(kind, "_fields"):
            return kind(**parts)
        return _revived(kind, parts, self.may_set.get(kind, ()))

    def _plain(self, kind: str, content: Any) -> Any:
        if kind == "number":
            return _SPECIAL[content]
        if kind == "array":
            return self.arrays[content]
        if kind == "bytes":
            return base64.b64decode(content, validate=True)
        if kind == "long bytes":
            return _long_bytes(content, self.arrays)
        if kind == "map":
            return {key: self.value(item) for key, item in content.items()}
        if kind in ("list", "tuple"):
            items = [self.value(item) for item in content]
            return tuple(items) if kind == "tuple" else items
        raise TypeError(f"unknown code {kind!r}")

    def _column(self, code: Any, count: int) -> list[Any]:
        """So many values, or a sentence, before they take any memory."""
        self.bytes_left -= count * _PART
        if self.bytes_left < 0:
            raise ValueError(f"its lists of {count:,} records take more than max_bytes")
        values = self._values(code, count)
        if len(values) != count:
            raise ValueError(f"a column of {len(values):,} values where there should be {count:,}")
        return values

    def _values(self, code: Any, count: int) -> list[Any]:
        (kind, content), *_ = code.items()
        if kind == "joined":
            return _cut(self.arrays[content], self.arrays[code["lengths"]], count)
        if kind == "mixed":
            return self._mixed(content, _whole_numbers(self.arrays[code["kinds"]], count))
        if kind == "same":
            return [self.value(content)] * count
        if kind == "each":
            return [self.value(item) for item in content]
        if kind == "tuple":
            return list(zip(*(self._column(item, count) for item in content), strict=True))
        if kind == "record" and is_dataclass(self.types[content]):
            return self._records(self.types[content], code["fields"], count)
        raise TypeError(f"unknown column {kind!r}")

    def _records(self, kind: type, columns: Mapping[str, Any], count: int) -> list[Any]:
        rows = zip(*(self._column(column, count) for column in columns.values()), strict=True)
        make = getattr(kind, "of_record", kind)
        return [make(**dict(zip(columns, row, strict=True))) for row in rows]

    def _mixed(self, columns: Sequence[Any], kinds: np.ndarray) -> list[Any]:
        counts = np.bincount(kinds[kinds < len(columns)], minlength=len(columns)).tolist()
        parts = [iter(self._column(column, count)) for column, count in zip(columns, counts, strict=True)]
        return [next(parts[kind]) for kind in kinds.tolist()]


def _checked_count(count: Any) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise TypeError("a list whose length is no whole number")
    return count


def _whole_numbers(array: np.ndarray, count: int) -> np.ndarray:
    """So many, none negative."""
    if array.dtype != np.int64 or array.shape != (count,) or np.any(array < 0):
        raise ValueError("a column whose lengths or kinds are no whole numbers")
    return array


def _cut(joined: np.ndarray, lengths: np.ndarray, count: int) -> list[np.ndarray]:
    """The arrays that were joined, as parts of one block of memory."""
    listed = _whole_numbers(lengths, count).tolist()  # Python's own numbers: their sum cannot overflow
    ends = list(accumulate(listed, initial=0))
    if ends[-1] != len(joined):
        raise ValueError("joined arrays that are not as long together as they say")
    return [joined[first:last] for first, last in pairwise(ends)]


def _revived(kind: type, state: dict[str, Any], may_set: Collection[str]) -> Any:
    """A model with these parameters and attributes, none of which its class does not know."""
    value = kind()  # a parameter that is younger than the file has its default
    unknown = state.keys() - {*value.get_params(deep=False), *may_set}
    if unknown:
        raise ValueError(f"it sets {sorted(unknown)[0]!r} of {kind.__name__}")
    for name, part in state.items():
        setattr(value, name, part)
    return value


def _long_bytes(where: str, arrays: dict[str, Any]) -> bytes:
    """Made once, however often a file names them."""
    if isinstance(arrays[where], np.ndarray):
        arrays[where] = arrays[where].astype(np.uint8, casting="no").tobytes()
    return arrays[where]


def _labels(items: Any, name: str) -> np.ndarray:
    if not all(isinstance(item, (str, bool, int, float)) for item in items):
        raise TypeError("labels that are neither text nor numbers")
    kind = np.dtype(object) if name == "object" else np.dtype(name)
    if kind.kind not in "OUMm" and kind != np.float16:
        raise TypeError(f"unknown labels of type {name!r}")
    if kind.itemsize * len(items) > _LARGEST_LABELS:
        raise ValueError(f"labels of type {name!r} would take more memory than any that we write")
    made = np.empty(len(items), dtype=kind)
    made[:] = items
    return made
