"""Labels as an array, checked: none is missing, and all can be sorted among each other."""

from __future__ import annotations

import numpy as np

__all__ = ["as_labels"]


def as_labels(y) -> np.ndarray:
    """One array of what was given, of any shape; refused where labels are missing or of sorts that have no order.

    >>> as_labels(["yes", "no"]).tolist()
    ['yes', 'no']
    """
    labels = np.asarray(y)
    lost = _missing(labels)
    if lost:
        raise ValueError(f"y contains NaN, None or the like: {lost} of its labels are missing. Drop these rows.")
    listed = labels.ravel().tolist() if labels.dtype.kind == "O" else []
    others = [label for label in listed if not isinstance(label, str)]
    if 0 < len(others) < len(listed):
        text = next(label for label in listed if isinstance(label, str))
        raise ValueError(
            f"y mixes labels that are text with others, such as {text!r} and {others[0]!r}: make all of them text."
        )
    return labels


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
