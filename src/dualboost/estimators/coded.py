"""Where numbers or some of the rows of a table are needed: the same calls for arrays, sparse matrices and frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualboost.frames import as_frame, frame_numbers

__all__ = ["coded", "rows_of"]


def coded(X: Any) -> tuple[Any, tuple[int, ...]]:
    """(X as numbers, the columns whose numbers stand for categories); whatever is no frame stays as it is.

    Examples
    --------
    >>> import pandas as pd
    >>> from dualboost.estimators.coded import coded
    >>> table, categorical = coded(pd.DataFrame({"age": [3, 40], "town": pd.Categorical(["Rome", "Oslo"])}))
    >>> table.tolist(), categorical
    ([[3.0, 1.0], [40.0, 0.0]], (1,))
    """
    frame = as_frame(X)
    if frame is None:
        return X, ()
    numbers = frame_numbers(frame)
    return numbers.table, numbers.columns


def rows_of(X: Any, chosen: np.ndarray) -> Any:
    """Some rows, by a mask or by their numbers."""
    rows = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.take(rows) if hasattr(X, "take") and hasattr(X, "column_names") else X[rows]
