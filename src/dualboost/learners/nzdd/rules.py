"""Rules as diagrams: what a user can state, the diagram of it over training rows, and its scores on new rows.

A path captures rows; its hypothesis is +1 on the rows it captures and -1 on all others (negations come with the sign of
the weight). Every edge has a test on x, and the rows that pass it are its labels. So a weighting of all paths, mixtures
included, is a flow on the edges, and scores a new row by the flow through the edges whose tests it passes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dualboost.learners.base import Predictor
from dualboost.learners.nzdd.diagram import Diagram

__all__ = ["BoundRules", "Rules", "as_dense"]


class Rules(ABC):
    """A class of rules: a frozen record of parameters, without data."""

    @abstractmethod
    def bind(self, X) -> BoundRules:
        """The diagram of the rules over these rows."""


@dataclass(frozen=True, eq=False)
class BoundRules(ABC):
    """A diagram over training rows, and how its flows score other rows."""

    diagram: Diagram

    @abstractmethod
    def predictor(self, flow: np.ndarray, total: float) -> Predictor:
        """The scores of a flow: 2 * (flow through the tests passed) - total."""


def as_dense(X) -> np.ndarray:
    """X as a dense matrix of floats; NaN is a missing value."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    if X.ndim != 2 or not X.shape[0]:
        raise ValueError("X must have two dimensions, rows and columns, and at least one row.")
    if np.isinf(X).any():
        raise ValueError("X contains infinity; remove or replace those entries first.")
    return X
