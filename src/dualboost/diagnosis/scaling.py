"""A margin matrix with rows and columns of like sizes, and what it proves in the units of the one that was given.

Positive factors of rows and of columns leave the hard core as it is, but not the numbers that prove it: next to rows
of size 1, one of 1e-9 looks balanced by any weights. The factors here are powers of two, so no entry loses a digit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualboost.diagnosis.finding import Verdict
from dualboost.learners.matrix import MatrixOracle

__all__ = ["Scaled", "within_rounding"]

_ALIKE = 10.0  # powers of two that sizes may be apart and count as alike
_PASSES = 200
_RELATIVE = 1e-9  # of the sizes that were added up: what is smaller may be rounding


@dataclass(frozen=True, eq=False)
class Scaled:
    """A = 2^rows * oracle.A * 2^columns; the largest entry of each row and column of oracle.A is in [1/2, 1], or 0."""

    oracle: MatrixOracle
    rows: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, given: MatrixOracle) -> Scaled:
        i, j, values = sp.find(given.A) if sp.issparse(given.A) else _entries(given.A)
        sizes = np.frexp(np.abs(values))[1].astype(np.float64)
        rows, columns = _alike(i, j, sizes, given.A.shape)
        rows = _tops(i, sizes - columns[j], len(rows))
        columns = _tops(j, sizes - rows[i], len(columns))
        exponents = -(rows[i] + columns[j]).astype(np.int64)
        values = np.ldexp(values, exponents)
        if sp.issparse(given.A):
            A: Any = sp.csc_array((values, (i, j)), shape=given.A.shape)
        else:
            A = np.zeros(given.A.shape, order="F")
            A[i, j] = values
        return cls(MatrixOracle(A, given.rows), rows, columns)

    def back(self, verdict: Verdict, w: np.ndarray, given: MatrixOracle) -> Verdict:
        """What is proved, in the units of the given matrix; `w` has one weight a column of the scaled one.

        Certificates that these units cannot hold (numbers 1e300 times smaller than others) are none.
        """
        psi, w = _rescaled(verdict.psi, self.rows), _rescaled(w, self.columns)
        z = given.A @ w
        edge = float(given.best(psi).bound) if psi.any() else 0.0
        on, off = verdict.on & bool(psi[verdict.on].all()), verdict.off & (z > 0)
        return replace(verdict, on=on, off=off, psi=psi, w=w, margins=z, edge=edge)


def within_rounding(A, verdict: Verdict, w: np.ndarray) -> Verdict:
    """Without what is true only because numbers were added that are far larger than their sum.

    The weighting must balance each column, and the ensemble spare each row, relative to what that column or row adds
    up: then both prove what they do for some matrix with the entries of A, up to rounding.
    """
    sizes = abs(A)
    balanced = np.abs(A.T @ verdict.psi) <= _RELATIVE * (sizes.T @ verdict.psi) + np.finfo(np.float64).eps
    spared = A @ w >= -_RELATIVE * (sizes @ np.abs(w)) - np.finfo(np.float64).eps
    return replace(verdict, on=verdict.on & bool(balanced.all()), off=verdict.off & bool(spared.all()))


def _entries(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    i, j = np.nonzero(A)
    return i, j, A[i, j]


def _alike(i: np.ndarray, j: np.ndarray, sizes: np.ndarray, shape) -> tuple[np.ndarray, np.ndarray]:
    """Exponents of rows and columns that add up to the sizes of the entries as nearly as can be, by least squares.

    (Curtis & Reid: a matrix of signs whose rows and columns were scaled is found again.)
    """
    rows, columns = np.zeros(shape[0]), np.zeros(shape[1])
    if not len(sizes) or np.ptp(sizes) <= _ALIKE:
        return rows, columns
    in_row, in_column = (np.maximum(np.bincount(k, minlength=n), 1) for k, n in ((i, shape[0]), (j, shape[1])))
    for _ in range(_PASSES):
        rows = np.bincount(i, sizes - columns[j], shape[0]) / in_row
        before, columns = columns, np.bincount(j, sizes - rows[i], shape[1]) / in_column
        if np.abs(columns - before).max() < 1e-2:
            break
    return rows, np.rint(columns)


def _tops(k: np.ndarray, sizes: np.ndarray, n: int) -> np.ndarray:
    """The largest size in each row or column; 0 where there is no entry."""
    top = np.full(n, -np.inf)
    np.maximum.at(top, k, sizes)
    return np.where(top > -np.inf, top, 0.0)


def _rescaled(v: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """v / 2^exponents, made to sum 1 in size; 0 stays 0."""
    used = v != 0
    if not used.any():
        return v
    sizes = np.frexp(v)[1] - exponents
    v = np.ldexp(v, (-exponents - sizes[used].max()).astype(np.int64)) * used
    return v / np.abs(v).sum()
