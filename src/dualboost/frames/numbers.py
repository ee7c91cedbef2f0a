"""Data frames as numbers: categories become the codes that training gave them, everything else is read or refused.

Columns of categories (pandas category, polars Categorical and Enum, Arrow dictionary) are numbered by their labels in
training, in sorted order. At prediction a label that was never met counts as missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

import numpy as np

from dualboost.frames.tables import Frame, Kind, is_date

__all__ = [
    "REFUSED_DATES",
    "FrameNumbers",
    "check_different_names",
    "check_infinity",
    "encode_frame",
    "frame_numbers",
    "refuse_array",
    "unmet_labels",
]

Labels = Mapping[str, Sequence]

_MIDNIGHT = " 00:00:00"

REFUSED_DATES = "dates or times: turn them into numbers first, such as the year or an age in days, or drop them."


class FrameNumbers:
    """A frame as a table of floats, and its categories."""

    def __init__(self, table: np.ndarray, categories: Labels, columns: tuple[int, ...]):
        self.table, self.categories, self.columns = table, dict(categories), columns


def frame_numbers(frame: Frame, present: np.ndarray | slice = slice(None)) -> FrameNumbers:
    """Read a frame for training: the labels of its present rows are the categories."""
    kinds = _checked(frame, frame.kinds)
    columns = tuple(j for j, kind in enumerate(kinds) if kind is Kind.CATEGORY)
    categories = {}
    for j in columns:
        values, places = frame.labels(j)
        met = {_plain(values[k]) for k in np.unique(places[present]).tolist() if k >= 0}
        categories[frame.names[j]] = sorted(met, key=lambda label: (type(label).__name__, label))
    return FrameNumbers(_table(frame, categories), categories, columns)


def encode_frame(frame: Frame, categories: Labels) -> np.ndarray:
    """Read a frame for prediction, by the categories of training."""
    kinds = []
    for name, kind in zip(frame.names, frame.kinds, strict=True):
        if kind is Kind.CATEGORY and name not in categories:
            raise ValueError(f"Column {name!r} holds categories, but held numbers when the model was fitted.")
        kinds.append(Kind.CATEGORY if name in categories else kind)
    _checked(frame, kinds)
    return _table(frame, categories)


def unmet_labels(frame: Frame, table: np.ndarray, categories: Labels) -> Iterator[str]:
    """What to warn of: columns of the frame, read into this table, all of whose labels were never met in training.

    Of a single label that is nothing unusual, and a row alone has no other.
    """
    for j, name in enumerate(frame.names):
        if not categories.get(name) or not np.isnan(table[:, j]).all():
            continue
        values, places = frame.labels(j)
        given = np.unique(places[places >= 0]).tolist()
        if len(given) > 1:
            yield (
                f"Column {name!r} holds no label that was met in training, only such as {_plain(values[given[0]])!r} "
                f"where there were such as {categories[name][0]!r}: all count as missing, so convert it if they mean "
                "the same."
            )


def refuse_array(X, categories: Labels) -> NoReturn:
    """Its cells may be labels or their numbers: nothing tells, and to guess would be wrong in silence."""
    columns = "columns" if len(categories) > 1 else "column"
    raise ValueError(
        f"X is {type(X).__name__}, but {columns} {_listed(list(categories))} held categories when the model was "
        "fitted: give a data frame with the same columns, which has their labels."
    )


def check_infinity(frame: Frame, table: np.ndarray | None = None) -> None:
    """Refuse infinite numbers by the name of their columns; the frame may have been read into a table already."""

    def infinite(j: int) -> bool:
        if frame.kinds[j] is not Kind.NUMBER:
            return False
        return bool(np.isinf(table[:, j] if table is not None else frame.numbers(j).astype(np.float64)).any())

    if table is not None and not np.isinf(table).any():
        return
    found = [name for j, name in enumerate(frame.names) if infinite(j)]
    if found:
        raise ValueError(f"{_subject(found)} infinity: replace it, for example by NaN, which is a missing value.")


def check_different_names(frame: Frame) -> None:
    """Refuse names that occur twice; scikit-learn would look at the names first, and not say what to do."""
    twice = [name for name, count in Counter(frame.names).items() if count > 1]
    if twice:
        raise ValueError(f"Columns must have different names, but {_listed(twice)} occurs more than once: rename them.")


def _checked(frame: Frame, kinds: Sequence[Kind]) -> Sequence[Kind]:
    check_different_names(frame)
    for kind in (Kind.TEXT, Kind.DATE, Kind.OTHER):
        found = [name for name, own in zip(frame.names, kinds, strict=True) if own is kind]
        if found:
            raise ValueError(f"{_subject(found)} {_refusal(kind, frame)}")
    return kinds


def _subject(names: Sequence[str]) -> str:
    return f"Column {_listed(names)} holds" if len(names) == 1 else f"Columns {_listed(names)} hold"


def _refusal(kind: Kind, frame: Frame) -> str:
    if kind is Kind.TEXT:
        return f"text: make categories of it with {frame.advice}, or drop it."
    if kind is Kind.DATE:
        return REFUSED_DATES
    return "neither numbers nor categories: convert or drop it."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:5]) + (", ..." if len(names) > 5 else "")


def _table(frame: Frame, categories: Labels) -> np.ndarray:
    out = np.empty((len(frame), len(frame.names)), order="F")
    for j, name in enumerate(frame.names):
        out[:, j] = _codes(frame, j, categories[name]) if name in categories else frame.numbers(j)
    return out


def _codes(frame: Frame, j: int, labels: Sequence) -> np.ndarray:
    """The number of each row's label among these; NaN where it is missing or none of them."""
    number: Mapping[tuple, int] = {_key(label): k for k, label in enumerate(labels)}
    try:
        values, places = frame.labels(j)
    except (TypeError, NotImplementedError) as error:
        raise ValueError(f"{_subject([frame.names[j]])} {_refusal(Kind.OTHER, frame)}") from error
    keys, number = _of_one_width([_met(value, number) for value in values], number)
    now, then = ({_sort(label): None for label in found if label[1] == label[1]} for found in (keys, number))
    if now and then and not now.keys() & then.keys():
        raise ValueError(
            f"Column {frame.names[j]!r} holds {', '.join(now)}, but its categories were {', '.join(then)} "
            "when the model was fitted: convert it."
        )
    if frame.kinds[j] in (Kind.DATE, Kind.OTHER) and keys and not any(key in number for key in keys):
        raise ValueError(f"{_subject([frame.names[j]])} {_refusal(frame.kinds[j], frame)}")
    return np.array([*(number.get(key, np.nan) for key in keys), np.nan])[places]


def _sort(key: tuple) -> str:
    """No label of one sort is one of another: a whole column of another sort would be missing, unnoticed."""
    truth, label = key
    return "truth values" if truth else "text" if isinstance(label, str) else "numbers"


def _plain(label):
    """As a model file can keep it."""
    label = label.item() if isinstance(label, np.generic) else label
    return label if isinstance(label, (str, bool, int, float)) else str(label)


def _key(label) -> tuple:
    """True and 1 are different labels, 1 and 1.0 are not."""
    return isinstance(label, bool), label


def _met(value, number: Mapping[tuple, int]) -> tuple:
    """The key of a label, by the name that it had in training: a day is the same as its midnight."""
    key = _key(_plain(value))
    if key in number or not (is_date(value) and isinstance(key[1], str)):
        return key
    day = key[1].removesuffix(_MIDNIGHT)
    other = _key(day if day != key[1] else day + _MIDNIGHT)
    return other if other in number else key


def _of_one_width(keys: list[tuple], number: Mapping[tuple, int]) -> tuple[list[tuple], Mapping[tuple, int]]:
    """Labels of 32-bit floats beside such of 64 bits: those are rounded, unless two of training would become one."""
    single = [_single(key) for key in keys]
    if single == keys and set(keys) <= number.keys():
        return keys, number
    rounded = {_single(key): k for key, k in number.items()}
    if (single == keys) == (rounded == number) or len(rounded) < len(number):
        return keys, number
    return single, rounded


def _single(key: tuple) -> tuple:
    """Its fraction as 32 bits have it; what is whole stays, for it may be a number that somebody was given."""
    truth, label = key
    if not isinstance(label, float) or label != label or label.is_integer():
        return key
    with np.errstate(over="ignore"):
        return truth, float(np.float32(label))
