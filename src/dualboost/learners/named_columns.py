"""The categories of several columns as four flat arrays: how finished votes keep them.

(the columns, ascending; where the categories of each begin, and the last ones end; the categories; the code of each)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from dualboost.learners.categories import Categories

__all__ = ["HoldsCategories", "NamedColumns", "flattened"]

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


class HoldsCategories:
    """A finished vote with these four arrays. Abstract."""

    named: np.ndarray
    name_start: np.ndarray
    names: np.ndarray
    name_codes: np.ndarray

    @property
    def named_columns(self) -> NamedColumns:
        """What the columns that hold categories hold."""
        return self.named, self.name_start, self.names, self.name_codes

    def categories_of(self, column: int) -> Categories:
        """The categories of one of these columns again."""
        place = int(np.searchsorted(self.named, column))
        span = slice(*self.name_start[place : place + 2].tolist())
        return Categories(self.names[span], self.name_codes[span])
