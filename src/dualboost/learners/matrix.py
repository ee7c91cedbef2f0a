"""The columns of a given matrix as hypotheses: A[i, j] = y_i h_j(x_i), dense or sparse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dualboost.learners.averaging import Mixture
from dualboost.learners.base import Hypothesis, Learner, Predictor
from dualboost.learners.columns import ColumnOracle
from dualboost.one_thread import one_thread
from dualboost.rows import Rows, refuse_masked
from dualboost.sparse_tables import summed_up

__all__ = ["Matrix", "MatrixOracle", "MatrixScores"]

_SMALL = 4096  # numbers whose product no BLAS shares among threads
_NOT_FINITE = "The margin matrix contains NaN or infinity; remove or replace those entries first."


@dataclass(frozen=True)
class Matrix(Learner):
    """Every column of X is a hypothesis.

    With `y` the rows are multiplied by it; without it X already holds y_i h_j(x_i).

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.learners import Matrix
    >>> from dualboost.rows import Rows
    >>> A = np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, -1.0]])
    >>> answer = Matrix().bind(A, None, Rows.of(3)).best(np.array([0.5, 0.25, 0.25]))
    >>> answer.hypotheses, answer.edges
    ([0], array([0.5]))
    """

    def bind(self, X, y: np.ndarray | None, rows: Rows) -> MatrixOracle:
        A = _checked(X)
        if A.shape[0] != len(rows):
            raise ValueError(f"The matrix has {A.shape[0]} rows, but there are {len(rows)} row weights.")
        return MatrixOracle(A if y is None else _turned(A, np.asarray(y, dtype=np.float64)), rows)


def _turned(A, signs: np.ndarray):
    """Each row times its sign, by columns: NumPy takes a buffer for all at once, and crashes where memory runs out."""
    if not sp.issparse(A):
        turned = A.copy(order="F")
        for column in turned.T:
            column *= signs
        return turned
    return sp.csc_array((A.data * signs.take(A.indices), A.indices, A.indptr), shape=A.shape)


def _checked(X):
    """X as float64 with contiguous columns; finite, two-dimensional, not empty."""
    refuse_masked("The margin matrix", X)
    try:
        X = X if sp.issparse(X) else np.asarray(X)
        if np.iscomplexobj(X):
            raise TypeError("complex")  # a cast would drop the imaginary parts
        A = sp.csc_array(X, dtype=np.float64) if sp.issparse(X) else np.asfortranarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("The margin matrix must hold real numbers, in two dimensions.") from error
    if A.ndim != 2 or 0 in A.shape:
        raise ValueError(f"The margin matrix must have rows and columns; its shape is {A.shape}.")
    if not np.all(np.isfinite(A.data if sp.issparse(A) else A)):
        raise ValueError(_NOT_FINITE)
    return summed_up(A)


class MatrixOracle(ColumnOracle):
    """A matrix of margins."""

    def __init__(self, A, rows: Rows, finish: Callable[[np.ndarray], Predictor] | None = None):
        """`finish` makes the predictor of the weights of all columns; without it scores are linear in X."""
        self.A, self.rows, self._finish = A, rows, finish
        self._transposed = A.T.tocsr() if sp.issparse(A) else A.T
        self.largest_entry, self.n_columns = float(abs(A).max()), A.shape[1]

    def _edges(self, d: np.ndarray) -> np.ndarray:
        return self.rows.add(self._transposed @ d)

    def _masses(self, d: np.ndarray) -> np.ndarray:
        return self.rows.add(self._sizes.T @ d)

    def _combined(self, weights: np.ndarray) -> np.ndarray:
        return self.A @ weights

    @cached_property
    def _sizes(self):
        return abs(self.A)

    @cached_property
    def all_signs(self) -> bool:
        return not sp.issparse(self.A) and bool(np.all(self._sizes == 1))

    def scales(self) -> tuple[np.ndarray, np.ndarray]:
        largest = self._sizes.max(axis=0)
        squares = self.rows.add((self._sizes * self._sizes).T @ self.rows.prior)
        return self.rows.max(largest.toarray().ravel() if sp.issparse(largest) else largest), squares

    def row_mass(self, chosen: np.ndarray) -> float:
        return self.rows.max(float(self._sizes[:, chosen].sum(axis=1).max()))

    def column(self, j: Hypothesis) -> np.ndarray:
        if isinstance(j, Mixture):
            return self._combined(j.values)
        return self.A[:, [j]].toarray().ravel() if sp.issparse(self.A) else self.A[:, j]

    def predictor(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> Predictor:
        return (self._finish or MatrixScores)(self.spread(hypotheses, w))


@dataclass(frozen=True, eq=False)
class MatrixScores(Predictor):
    """A linear score."""

    weights: np.ndarray

    def scores(self, X, threads: int = 1) -> np.ndarray:
        with nullcontext() if X.shape[0] * X.shape[1] < _SMALL else one_thread():
            scores = X @ self.weights
        if np.isnan(scores).any():
            raise ValueError(_NOT_FINITE)
        return scores

    def importances(self, n_features: int) -> np.ndarray:
        share = np.abs(self.weights)
        return share / max(share.sum(), np.finfo(np.float64).tiny)
