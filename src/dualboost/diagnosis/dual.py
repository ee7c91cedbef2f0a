"""The dual of unbounded boosting: the balanced row weights, their optimum, and the projection onto them.

    inf F(A w) over w   =   max of -F*(-psi) over psi >= 0 with A'psi = 0

Telgarsky, Theorem 4. The optimum is attained and unique; it is positive on the hard core and 0 elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dualboost.diagnosis.hard_core import diagnose
from dualboost.frames import check_row_numbers
from dualboost.losses import Exponential, Loss, Separable
from dualboost.master import minimise_attained
from dualboost.rows import Rows, refuse_masked

__all__ = ["DualOptimum", "bregman_projection", "dual_optimum", "suboptimality"]

_BALANCED = 1e-12


@dataclass(frozen=True, eq=False)
class DualOptimum:
    """The best balanced weighting, and the loss that no ensemble beats."""

    psi: np.ndarray
    """Row weights, 0 off the hard core."""
    w: np.ndarray
    """An ensemble with the best loss on the core: psi is its weights there."""
    value: float
    """The infimum of the loss."""
    gap: float
    """Loss of the core under w plus the conjugate at psi: 0 up to rounding, which proves both optimal."""
    edge: float
    """The largest edge of a column under psi, relative to its sum: 0 up to rounding."""


def dual_optimum(A, loss: Loss | None = None, core: np.ndarray | None = None, sample_weight=None) -> DualOptimum:
    """The dual optimum of minimising a loss over all ensembles, without a bound on their weight.

    Parameters
    ----------
    A : array or sparse matrix of shape (m, n)
        A[i, j] = y_i h_j(x_i).
    loss : Separable, default Exponential()
        Exponential(), Logistic(), or one of your own.
    core : bool array of shape (m,), optional
        The hard core, if it is known: `diagnose(A).hard_core`.
    sample_weight : array of shape (m,), optional
        Positive; weight k is k copies.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.diagnosis import dual_optimum
    >>> best = dual_optimum(np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]))
    >>> best.psi.round(6), round(best.value, 6)
    (array([0.333333, 0.333333, 0.      ]), 0.666667)
    """
    A, rows = _matrix(A), _rows(A, sample_weight)
    core = diagnose(A).hard_core if core is None else np.asarray(core, dtype=bool)
    return _on_core(A, _smooth(loss), core, rows, np.zeros(A.shape[0]))


def bregman_projection(A, d: np.ndarray, loss: Loss | None = None, core: np.ndarray | None = None) -> np.ndarray:
    """The balanced weights nearest to d > 0 in the divergence of the loss's conjugate.

    From the row weights of any ensemble this is the dual optimum (Telgarsky, section 5).

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.diagnosis import bregman_projection
    >>> A = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    >>> bregman_projection(A, np.array([0.4, 0.1, 0.3])).round(6)
    array([0.2, 0.2, 0. ])
    """
    A, loss = _matrix(A), _smooth(loss)
    refuse_masked("d", d)
    rows = Rows.of(A.shape[0])
    core = diagnose(A).hard_core if core is None else np.asarray(core, dtype=bool)
    share = np.asarray(d, dtype=np.float64) / rows.prior
    if share.shape != core.shape or not np.all((share > 0) & np.isfinite(loss.dual(share + 1e-9))):
        raise ValueError("d must hold one positive weight per row, below the row's prior for the logistic loss.")
    return _on_core(A, loss, core, rows, -loss.where_slope(share)).psi


def suboptimality(loss: Loss, z: np.ndarray, psi: np.ndarray, edge: float) -> float:
    """How far the loss of margins z is from its infimum over all ensembles, at most; infinite: no certificate.

    `loss` is bound to rows; psi are row weights under which no hypothesis has an edge above `edge`. An ensemble of any
    size is allowed, so weights that are not balanced prove nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost.diagnosis import suboptimality
    >>> from dualboost.losses import Exponential
    >>> from dualboost.rows import Rows
    >>> loss = Exponential().bind(Rows.of(3))
    >>> round(suboptimality(loss, np.zeros(3), np.array([1 / 3, 1 / 3, 0.0]), edge=0.0), 6)
    0.333333
    >>> suboptimality(loss, np.zeros(3), np.array([0.5, 0.3, 0.2]), edge=0.4)
    inf
    """
    if edge > _BALANCED * float(psi.sum()):
        return np.inf
    return loss.value(z) + loss.conjugate(psi)


def _on_core(A: np.ndarray, loss: Separable, core: np.ndarray, rows: Rows, offset: np.ndarray) -> DualOptimum:
    psi, w = np.zeros(len(core)), np.zeros(A.shape[1])
    if not core.any():
        return DualOptimum(psi, w, 0.0, 0.0, 0.0)
    U, sizes, V = np.linalg.svd(A[core], full_matrices=False)
    seen = sizes > sizes.max() * max(A.shape) * np.finfo(np.float64).eps
    part = loss.bind(Rows.of(np.array(rows.prior[core])))
    x = minimise_attained(part, U[:, seen], offset[core])
    z, mass = offset[core] + U[:, seen] @ x, float(rows.prior[core].sum())
    psi[core] = mass * part.weights(z)  # the part's own prior sums to 1
    w = V[seen].T @ (x / sizes[seen])
    value = mass * part.value(z)
    edge = float(np.abs(A.T @ psi).max() / psi.sum())
    return DualOptimum(psi, w, value, value + loss.bind(rows).conjugate(psi), edge)


def _matrix(A) -> np.ndarray:
    refuse_masked("The margin matrix", A)
    A = A.toarray() if sp.issparse(A) else np.asarray(A, dtype=np.float64)
    if A.ndim != 2 or 0 in A.shape or not np.all(np.isfinite(A)):
        raise ValueError("The margin matrix must be two-dimensional, not empty, and hold finite numbers.")
    return A


def _rows(A: np.ndarray, sample_weight) -> Rows:
    check_row_numbers("sample_weight", sample_weight)
    rows = Rows.of(A.shape[0] if sample_weight is None else np.asarray(sample_weight, dtype=np.float64))
    if len(rows) != A.shape[0]:
        raise ValueError(f"sample_weight must hold one positive number for each of the {A.shape[0]} rows.")
    return rows


def _smooth(loss: Loss | None) -> Separable:
    loss = Exponential() if loss is None else loss
    if not isinstance(loss, Separable):
        raise ValueError(f"The dual is computed for losses that add up over the rows, as Logistic(), not for {loss!r}.")
    return loss
