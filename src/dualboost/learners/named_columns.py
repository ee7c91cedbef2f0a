"""The categories of several columns as four flat arrays: how finished votes keep them.

(the columns, ascending; where the categories of each begin, and the last ones end; the categories; the code of each)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np

from dualboost.learners.categories import Categories

__all__ = ["NamedColumns", "categories_by_column", "flattened"]

NamedColumns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def flattened(categories: Mapping[int, Categories], columns: Iterable[int]) -> NamedColumns:
    """The categories of these columns, as far as they hold any."""
    named = sorted({int(column) for column in columns} & categories.keys())
    known = [categories[column] for column in named]
    return (
        np.array(named, dtype=np.int32),
        np.cumsum([0, *(len(found.values) for found in known)], dtype=np.int64),
        np.concatenate([np.empty(0), *(found.values for found in known)]),
        np.concatenate([np.empty(0, dtype=np.uint8), *(found.codes for found in known)]),
    )


def categories_by_column(columns: NamedColumns) -> dict[int, Categories]:
    """The categories of each column again."""
    named, start, names, codes = columns
    spans = pairwise(start.tolist())
    return {
        column: Categories(names[first:last], codes[first:last])
        for column, (first, last) in zip(named.tolist(), spans, strict=True)
    }
