"""Where numbers or some of the rows of a table are needed: the same calls for arrays, sparse matrices and frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

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
    if sp.issparse(X) and X.format == "csr":
        return _sparse_rows(X, rows)
    return X.take(rows) if hasattr(X, "take") and hasattr(X, "column_names") else X[rows]


def _sparse_rows(X: Any, rows: np.ndarray) -> Any:
    """X[rows]; SciPy's own takes an index of 32-bit numbers, which ends the process of NumPy where memory runs out."""
    begin, lengths = X.indptr.take(rows).astype(np.intp), np.diff(X.indptr).take(rows)
    start = np.concatenate([np.zeros(1, np.intp), np.cumsum(lengths, dtype=np.intp)])
    cells = np.repeat(begin - start[:-1], lengths)
    cells += np.arange(len(cells))
    parts = X.data.take(cells), X.indices.take(cells), start.astype(X.indptr.dtype)
    return type(X)(parts, shape=(len(rows), X.shape[1]))
