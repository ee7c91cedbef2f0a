"""`pairs`: one table for every two features that meet in a tree, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dualboost.estimators.base import BoostedClassifier
from dualboost.inspection.categories import numbers_of
from dualboost.inspection.names import column_labels, feature_names
from dualboost.inspection.shapes import columns_of, cuts_of, grouped_leaves, pieces_of, representatives
from dualboost.inspection.trees import PlainTrees

__all__ = ["PairTable", "pairs"]


@dataclass(frozen=True, eq=False)
class PairTable:
    """What all leaves whose paths look at the same two features add to the score.

    Attributes
    ----------
    features : (int, int)
    names : (str, str)
    edges : (ndarray, ndarray)
        Where the first and the second feature are cut.
    values : ndarray of shape (n1 + 2, n2 + 2)
        values[i, j] counts for edges[0][i - 1] < x <= edges[0][i], and j likewise; the last row and the last column are
        of missing values.
    counts : ndarray of the same shape or None
        How many rows of the X given fall in each cell.
    categories : (tuple, tuple)
        The labels of each of the two columns, if it holds categories of a frame: label k stands at x = k.

    Examples
    --------
    See `pairs`.

    >>> import numpy as np
    >>> from dualboost import PairTable
    >>> half = np.array([0.5])
    >>> table = PairTable((0, 1), ("a", "b"), (half, half), np.array([[-1, 1, 0], [1, -1, 0], [0, 0, 0]]))
    >>> table(np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    array([-1,  1])
    >>> named = PairTable((0, 1), ("a", "b"), (half, half), table.values, categories=((), ("Köln", "Oslo")))
    >>> named([0.0, 0.0, 1.0], ["Köln", "Oslo", None])
    array([-1,  1,  0])
    """

    features: tuple[int, int]
    names: tuple[str, str]
    edges: tuple[np.ndarray, np.ndarray]
    values: np.ndarray
    counts: np.ndarray | None = None
    categories: tuple[tuple, tuple] = ((), ())

    def __call__(self, first, second) -> np.ndarray:
        """The value at these values of the two features, which are what the columns hold, as for a `Shape`."""
        given = zip((first, second), self.names, self.categories, self.edges, strict=True)
        return self.values[tuple(pieces_of(numbers_of(x, name, labels), edges) for x, name, labels, edges in given)]


def pairs(model: BoostedClassifier, X=None) -> list[PairTable]:
    """The table of every two features that trees of the model look at together; by feature.

    Raw, not purified: a table holds all that its trees say, also what one of the two features would say alone. So the
    tables, the curves of `shapes` and the constant votes add up to the score. A tree of two levels that splits its two
    sides by different features has a part in two tables. Paths through three features have none and are refused.

    Parameters
    ----------
    model : a fitted classifier of dualboost for two classes
    X : table, optional
        Rows to count in the cells, such as the training data.

    Returns
    -------
    list of PairTable

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import MarginBoostClassifier, pairs
    >>> from dualboost.learners import Trees
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = MarginBoostClassifier(nu=0.1, learner=Trees(max_depth=2), max_iter=20).fit(X, y)
    >>> [table.features for table in pairs(model)]
    [(0, 1)]
    """
    groups, columns = grouped_leaves(model, X)
    most = max(map(len, groups), default=0)
    if most > 2:
        raise ValueError(
            f"Some paths look at {most} features, which is no table: fit with learner=Trees(max_depth=2), or ask "
            "explain about rows."
        )
    names, labels = feature_names(model), column_labels(model)
    tables = [
        _table(trees, key, (names[key[0]], names[key[1]]), columns)
        for key, trees in sorted(groups.items())
        if len(key) == 2
    ]
    return [replace(table, categories=(labels[table.features[0]], labels[table.features[1]])) for table in tables]


def _table(trees: PlainTrees, key: tuple[int, ...], names: tuple[str, str], X) -> PairTable:
    first, second = key
    edges = cuts_of(trees, first), cuts_of(trees, second)
    here, there = (representatives(cuts) for cuts in edges)
    grid = np.zeros((len(here) * len(there), trees.feature.max() + 1))
    grid[:, first], grid[:, second] = np.repeat(here, len(there)), np.tile(there, len(here))
    values = trees.scores(grid).reshape(len(here), len(there))
    if X is None:
        return PairTable((first, second), names, edges, values)
    columns = columns_of(X, [first, second])
    places = [pieces_of(columns[:, k], edges[k]) for k in range(2)]
    counts = np.bincount(places[0] * len(there) + places[1], minlength=values.size).reshape(values.shape)
    return PairTable((first, second), names, edges, values, counts)
