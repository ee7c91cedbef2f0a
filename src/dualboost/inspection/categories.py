"""What a column of a frame holds, as the numbers that stand for it in the model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NoReturn

import numpy as np

__all__ = ["numbers_of"]

_NUMBERS, _TEXT, _TRUTH = "numbers", "text", "truth values"
_Key = tuple[str, Any]  # what sort of label it is, and the label


def numbers_of(x, name: str, labels: Sequence) -> np.ndarray:
    """Label k is k; a missing value and a label that was never met are NaN. Without labels these are numbers already.

    Where no label is a number, a number says at which place its label stands.
    """
    if not labels:
        return np.asarray(x, dtype=np.float64)
    cells = _cells(x)
    number = {_key(label): float(k) for k, label in enumerate(labels)}
    keys = [None if _is_none(cell) else _key(cell) for cell in cells.ravel().tolist()]
    given, known = ({key[0] for key in own if key} for own in (keys, number))
    if _NUMBERS in given - known:
        number |= _places({key for key in keys if key and key[0] == _NUMBERS}, name, labels)
    elif given and not given & known:
        _refuse_sort(given, known, name)
    found = [np.nan if key is None else number.get(key, np.nan) for key in keys]
    return np.array(found, dtype=np.float64).reshape(cells.shape)


def _cells(x) -> np.ndarray:
    coded = getattr(x, "cat", x)  # of a pandas Series
    if hasattr(coded, "categories") and hasattr(coded, "codes"):
        # As they are: pandas makes others of labels such as intervals as soon as one is missing.
        labels = np.empty(len(coded.categories) + 1, dtype=object)
        labels[:-1] = list(coded.categories)
        return labels[np.asarray(coded.codes)]  # -1 is the last, None
    # NumPy takes the last label for what is missing in the chunks of an Arrow dictionary.
    return np.asarray(x.to_pylist() if hasattr(x, "to_pylist") else x, dtype=object)


def _is_none(label) -> bool:
    """None, NaN, or what pandas has for them: the last is neither equal to itself nor different."""
    return label is None or type(label).__name__ in ("NAType", "NaTType") or label != label


def _key(label) -> _Key:
    """True and 1 are different labels, 1 and 1.0 are not; what is none of truth, number and text is kept as text."""
    plain = label.item() if isinstance(label, (np.bool_, np.number)) else label
    if isinstance(plain, bool):
        return _TRUTH, plain
    return (_NUMBERS, plain) if isinstance(plain, (int, float)) else (_TEXT, str(plain))


def _places(given: set[_Key], name: str, labels: Sequence) -> dict[_Key, float]:
    """The places of the labels as labels of their own; the numbers given must be such, and can be nothing else."""
    for label in labels:
        if _reads_as_number(label):
            raise ValueError(
                f"A label of {name!r} is the text {label!r}, so that a number may be a label or its place: give text."
            )
    places = {(_NUMBERS, k): float(k) for k in range(len(labels))}
    if odd := sorted(value for _, value in given - places.keys()):
        raise ValueError(
            f"The labels of {name!r} stand at the places 0 to {len(labels) - 1}, so {odd[0]!r} is none: give labels."
        )
    return places


def _reads_as_number(label) -> bool:
    try:
        return not isinstance(label, bool) and bool(np.isfinite(float(label)))
    except ValueError:
        return False


def _refuse_sort(given: Collection[str], known: Collection[str], name: str) -> NoReturn:
    """A whole column of another sort would be missing, unnoticed."""
    raise ValueError(
        f"Column {name!r} holds {', '.join(sorted(given))}, but its categories were {', '.join(sorted(known))} when "
        "the model was fitted: convert it."
    )
