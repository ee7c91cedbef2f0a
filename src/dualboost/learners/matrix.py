"""The columns of a given matrix as hypotheses: A[i, j] = y_i h_j(x_i), dense or sparse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dualboost import kernels
from dualboost.learners.averaging import Averaging, Mixture, parted
from dualboost.learners.base import Answer, Hypothesis, Learner, Listed, Predictor, ranked
from dualboost.one_thread import one_thread
from dualboost.rows import Rows

__all__ = ["Matrix", "MatrixOracle", "MatrixScores"]

_ROUNDING = np.finfo(np.float64).eps
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
    return A


class MatrixOracle(Averaging, Listed):
    """A matrix of margins; its hypotheses are column numbers and mixtures of columns."""

    def __init__(self, A, rows: Rows, finish: Callable[[np.ndarray], Predictor] | None = None):
        """`finish` makes the predictor of the weights of all columns; without it scores are linear in X."""
        self.A, self.rows, self._finish = A, rows, finish
        self._transposed = A.T.tocsr() if sp.issparse(A) else A.T
        self._scale = float(abs(A).max())
        self.log_size = float(np.log(2 * A.shape[1]))

    @property
    def largest_entry(self) -> float:
        return self._scale

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        edges = self.rows.add(self._transposed @ d)
        sizes = np.abs(edges)
        chosen = ranked(sizes, k)
        return Answer(chosen, [self.column(j) for j in chosen], edges[chosen], self._bound(sizes.max(), d))

    def _bound(self, top: float, d: np.ndarray) -> float:
        # A sum of m products is off by at most m units of rounding, relative to the sum of sizes.
        return float(top + len(d) * _ROUNDING * self._scale * float(d.sum()))

    def average(self, d: np.ndarray, eta: float) -> tuple[Answer, float]:
        edges = self.rows.add(self._transposed @ d)
        net = np.empty_like(edges)
        J = kernels.signed_softmax(edges, eta, net)
        mixture = Mixture(net)
        answer = Answer([mixture], [self.A @ net], np.array([edges @ net]), self._bound(np.abs(edges).max(), d))
        return answer, J

    def slope(self, d: np.ndarray, ahead: np.ndarray, behind: np.ndarray, eta: float) -> Callable[[float], float]:
        edges = self.rows.add(self._transposed @ d)
        change = self.rows.add(self._transposed @ (ahead - behind))
        return lambda step: kernels.signed_slope(edges, change, eta, step)

    def level(self, d: np.ndarray, ahead: np.ndarray, behind: np.ndarray, eta: float) -> Callable[[float], float]:
        edges = self.rows.add(self._transposed @ d)
        change = self.rows.add(self._transposed @ (ahead - behind))
        return lambda step: kernels.signed_softmax(edges + step * change, eta, np.empty_like(edges))

    @cached_property
    def _sizes(self):
        return abs(self.A)

    @property
    def everything(self) -> Sequence[int]:
        return range(self.A.shape[1])

    @cached_property
    def all_signs(self) -> bool:
        return not sp.issparse(self.A) and bool(np.all(self._sizes == 1))

    def tally(self, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        edges, sizes = self.rows.add(self._transposed @ d), self.rows.add(self._sizes.T @ d)
        return (sizes + edges) / 2, (sizes - edges) / 2

    def scales(self) -> tuple[np.ndarray, np.ndarray]:
        largest = self._sizes.max(axis=0)
        squares = self.rows.add((self._sizes * self._sizes).T @ self.rows.prior)
        return self.rows.max(largest.toarray().ravel() if sp.issparse(largest) else largest), squares

    def row_mass(self, chosen: np.ndarray) -> float:
        return self.rows.max(float(self._sizes[:, chosen].sum(axis=1).max()))

    def column(self, j: Hypothesis) -> np.ndarray:
        if isinstance(j, Mixture):
            return self.A @ j.values
        return self.A[:, [j]].toarray().ravel() if sp.issparse(self.A) else self.A[:, j]

    def margins(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> np.ndarray:
        return self.A @ self.spread(hypotheses, w)

    def spread(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> np.ndarray:
        """The weights as one vector over all columns."""
        full = np.zeros(self.A.shape[1])
        columns, weights, mixtures = parted(hypotheses, w)
        np.add.at(full, np.asarray(columns, dtype=np.intp), weights)
        for mixture, weight in mixtures:
            full += weight * mixture.values
        return full

    def predictor(self, hypotheses: Sequence[Hypothesis], w: np.ndarray) -> Predictor:
        return (self._finish or MatrixScores)(self.spread(hypotheses, w))

    def forget(self) -> None:
        """Nothing is kept."""


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
