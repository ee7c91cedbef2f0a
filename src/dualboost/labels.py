"""Labels as an array, checked: none is missing, all can be sorted among each other, and no two become one.

Nullable columns and lists of Python objects become an array of the plain type that they hold: scikit-learn would make
floats of whole numbers and of truth values, and floats cannot tell large numbers apart.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

__all__ = ["as_labels", "check_text"]


def as_labels(y) -> np.ndarray:
    """One array of what was given, of any shape; refused where labels are missing or of sorts that have no order.

    >>> as_labels(["yes", "no"]).tolist()
    ['yes', 'no']
    """
    labels = _made(y)
    lost = _missing(labels) + int(np.ma.count_masked(y) if np.ma.isMaskedArray(y) else 0)
    if lost:
        raise ValueError(f"y contains NaN, None or the like: {lost} of its labels are missing. Drop these rows.")
    return _plain(labels) if labels.dtype.kind in "OS" and labels.ndim else labels


def _made(y) -> np.ndarray:
    """An array whose type has not changed what was given: numpy makes text of NaN beside text, and floats of 2^63."""
    labels = np.asarray(y)
    if labels.dtype.kind == "T":  # numpy's own strings: few know them
        return labels.astype(object)
    if labels.dtype.kind not in "USf" or hasattr(y, "dtype"):
        return labels
    listed = np.asarray(y, dtype=object)
    if labels.dtype.kind != "U" or not all(isinstance(label, str) for label in listed.flat):
        return listed
    cut = next((label for label in listed.flat if label[-1:] == "\0"), None)
    if cut is not None:  # scikit-learn would count each of them as wrong
        raise ValueError(f"y has the label {cut!r}, which ends in a NUL that arrays of text do not keep: rename it.")
    return labels


def _plain(labels: np.ndarray) -> np.ndarray:
    """Labels in objects: text as it is, numbers as numbers."""
    listed = labels.ravel().tolist()
    others = [label for label in listed if not isinstance(label, str)]
    if 0 < len(others) < len(listed):
        text = next(label for label in listed if isinstance(label, str))
        raise ValueError(
            f"y mixes labels that are text with others, such as {text!r} and {others[0]!r}: make all of them text."
        )
    return _numbers(labels) if others else labels


def _numbers(labels: np.ndarray) -> np.ndarray:
    """Numbers in objects as an array that holds each of them exactly."""
    listed = labels.ravel().tolist()
    if not listed:
        return labels  # scikit-learn says that there are no rows
    strange = [label for label in listed if not isinstance(label, (Real, np.bool_))]
    whole = not strange and all(isinstance(label, Integral) for label in listed)
    if whole and not -(1 << 63) <= min(listed) <= max(listed) < (1 << 63):
        made = np.array(listed, dtype=np.uint64 if 0 <= min(listed) <= max(listed) < (1 << 64) else object)
    else:
        made = labels if strange else np.array(listed)
    if made.dtype.kind not in "biuf":
        label = strange[0] if strange else max(listed, key=abs)
        raise ValueError(
            f"y holds labels of type {type(label).__name__}, such as {label!r}: make text of them, for example with "
            "[str(label) for label in y]."
        )
    return made.reshape(labels.shape)


def check_text(classes: np.ndarray) -> None:
    """Refuse labels with half a character, a surrogate without its other half: no file could hold the model.

    >>> check_text(as_labels(["yes", "no"]))
    """
    for label in classes.tolist():
        try:
            str(label).encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"y has the label {label!r}, which holds half a character and can be kept in no file: rename it."
            ) from error


def _missing(labels: np.ndarray) -> int:
    if labels.dtype.kind in "Mm":
        return int(np.isnat(labels).sum())
    if labels.dtype.kind == "O":
        return sum(_is_missing(label) for label in labels.ravel().tolist())
    return int(np.isnan(labels).sum()) if labels.dtype.kind == "f" else 0


def _is_missing(label) -> bool:
    """None, pandas.NA, NaT, or NaN."""
    return (
        label is None or type(label).__name__ in ("NAType", "NaTType") or (isinstance(label, float) and label != label)
    )
