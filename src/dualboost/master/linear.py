"""The restricted master of column generation: the soft margin over the collected columns, by linear programming.

A warm simplex method (HiGHS) on the dual form, min g such that every collected column has an edge of at most g under d,
with d in the capped simplex: a new hypothesis is one more row, and the old basis stays dual feasible.

Rows of the data that no collected hypothesis tells apart are one variable of the program, bounded by the sum of their
caps. It is small as long as the ensemble is, and k copies of a row are the same program as one of weight k. They share
its value as the prior does: by the caps alone a row that may carry everything would get as much as all of its copies.
"""

from __future__ import annotations

import numpy as np

from dualboost.cutting import check_cut
from dualboost.master.cutting import run_warm_program
from dualboost.master.lists import read_lists

__all__ = ["EdgeProgram", "Kinds"]

_SPAN = 2.0**10  # from 1: the solver drops entries below 1e-9, refuses those above 1e15, and has absolute tolerances
_LEAST = -1023  # of exponents: a larger power of two would be no number
_ABOVE = 1 + 1e-12  # what is more than a cap by more than rounding
_SPARSE = 8  # times as many keys as rows are better sorted than tabled


class EdgeProgram:
    """min over d of the largest edge among the atoms; `caps` bound the row weights.

    Of equally good d, the one in which rows that look alike are as near to the prior (by default the caps) as can be.
    """

    def __init__(self, caps: np.ndarray, prior: np.ndarray | None = None):
        self._caps, self._prior = caps, caps if prior is None else prior
        self._begin(1.0)

    def _begin(self, scale: float) -> None:
        """Without atoms; those to come are multiplied by a power of two, which g is too."""
        import highspy  # here: it costs a tenth of a second, and most runs need no linear program

        self._scale, self._atoms = scale, np.empty((0, len(self._caps)))
        self._kinds = Kinds(len(self._caps))
        self._highs = highspy
        self._solver = highspy.Highs()
        self._solver.silent()
        # One thread: the same answer everywhere.
        self._solver.setOptionValue("threads", 1)
        self._solver.setOptionValue("parallel", "off")
        nothing = np.empty(0, dtype=np.int32)
        self._solver.addCol(1.0, 0.0, np.inf, 0, nothing, np.empty(0))  # g
        self._solver.addCol(0.0, 0.0, 1.0, 0, nothing, np.empty(0))
        self._solver.addRow(1.0, 1.0, 1, np.array([1], dtype=np.int32), np.ones(1))

    def add(self, atoms: np.ndarray) -> None:
        """One row a hypothesis, of shape (n, m), already with the sign of its weight."""
        largest = float(np.abs(atoms).max(initial=0.0))
        if self._scale * largest > _SPAN or (not len(self) and 0 < largest < 1 / _SPAN):
            atoms = np.concatenate([self._atoms, atoms])
            self._begin(2.0 ** -max(int(np.frexp(largest)[1]), _LEAST))
        self._tell_apart(atoms)
        count = len(atoms)
        table = _packed(np.column_stack([np.full(count, -1.0), self._scale * atoms[:, self._kinds.first]]))
        self._check(self._solver.addRows(count, np.full(count, -np.inf), np.zeros(count), *table))
        self._atoms = np.concatenate([self._atoms, atoms]) if len(self) else atoms

    def _check(self, status) -> None:
        """The numbers are finite and of a size that the solver takes, so there is one reason to refuse them."""
        if status == self._highs.HighsStatus.kError:
            raise MemoryError("There is no memory left for a linear program.")

    def _tell_apart(self, atoms: np.ndarray) -> None:
        """A variable for each kind of rows that the new atoms divide, a copy of that of the kind it was part of."""
        before, basis = len(self._kinds), self._solver.getBasis()
        parents = self._kinds.divide(atoms)
        if not len(parents):
            return
        # No more than all: caps that do not bind must not differ between a row and its copies either.
        limits = np.minimum(np.bincount(self._kinds.of_row, self._caps), 1.0)
        old = np.arange(before, dtype=np.int32)
        self._solver.changeColsBounds(before, 1 + old, np.zeros(before), limits[:before])
        count = len(parents)
        entries = self._scale * self._atoms[:, self._kinds.first[before:]].T
        table = _packed(np.column_stack([np.ones(count), entries]))
        self._check(self._solver.addCols(count, np.zeros(count), np.zeros(count), limits[before:], *table))
        if basis.valid:
            with read_lists():
                held = list(basis.col_status)  # every look at it is a copy
            basis.col_status = [*held, *(self._beside(held[1 + kind]) for kind in parents)]
            self._solver.setBasis(basis)

    def _beside(self, status):
        """A copy of a variable at a bound is at that bound; of a basic one it has the same price, and may be at 0."""
        known = self._highs.HighsBasisStatus
        return known.kLower if status == known.kBasic else status

    def __len__(self) -> int:
        return len(self._atoms)

    def solve(self) -> tuple[np.ndarray, np.ndarray]:
        """(d, w): row weights and non-negative weights of the atoms, of sum at most 1; clipped and normalised.

        A program that was cut is to be made anew.
        """
        solved = run_warm_program(self._solver, len(self._atoms) * len(self._kinds))
        solution = self._solver.getSolution()
        with read_lists():
            masses, multipliers = np.asarray(solution.col_value)[1:], np.asarray(solution.row_dual)[1:]
        if not solved and not (np.isfinite(masses).all() and masses.max(initial=0.0) > 0):
            raise ArithmeticError("A linear program was not solved: the hypotheses are badly scaled.")
        d, w = self._shared(np.maximum(masses, 0.0)), np.maximum(-multipliers, 0.0)
        return d / d.sum(), w / max(1.0, w.sum())

    def _shared(self, masses: np.ndarray) -> np.ndarray:
        """What each kind carries, shared by its rows: in proportion to the prior, but for those at their cap."""
        kinds, caps, free = self._kinds.of_row, self._caps, self._prior
        d = np.zeros(len(caps))
        while True:
            level = masses / np.maximum(np.bincount(kinds, free), np.finfo(np.float64).tiny)
            over = (free > 0) & (level[kinds] * free > caps * _ABOVE)
            d = np.where(over, caps, d)
            if not over.any():
                return np.minimum(d + level[kinds] * free, caps)
            masses = np.maximum(masses - np.bincount(kinds, np.where(over, caps, 0.0)), 0.0)
            free = np.where(over, 0.0, free)


def _packed(table: np.ndarray) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """The entries that are not 0, line by line: how many, where each line starts, their places, their values."""
    lines, places = np.nonzero(table)
    starts = np.searchsorted(lines, np.arange(len(table))).astype(np.int32)
    return len(lines), starts, places.astype(np.int32), table[lines, places]


class Kinds:
    """Rows of one kind have the same values in all columns met so far; kinds are numbered as they appear."""

    def __init__(self, m: int):
        self.of_row, self.first = np.zeros(m, dtype=np.intp), np.zeros(1, dtype=np.intp)

    def __len__(self) -> int:
        return len(self.first)

    def divide(self, columns: np.ndarray) -> np.ndarray:
        """Divide the kinds by new columns; the kind that each new one was part of. The first row keeps its number."""
        before, known = self.of_row, len(self)
        for column in columns:
            check_cut()
            codes, width = _codes(column)
            first, part = _first_and_number(self.of_row * width + codes, len(self) * width)
            new = np.sort(first[first != self.first[self.of_row[first]]])
            numbers = np.empty(len(first), dtype=np.intp)
            self.first = np.append(self.first, new)
            numbers[part[self.first]] = np.arange(len(self))
            self.of_row = numbers[part]
        return before[self.first[known:]]


def _codes(column: np.ndarray) -> tuple[np.ndarray, int]:
    """(a whole number for each value, more than the largest of them); most columns say -1, 0 or 1."""
    votes = np.rint(column)
    if np.array_equal(votes, column) and np.abs(votes).max(initial=0.0) <= 1:
        return votes.astype(np.intp) + 1, 3
    return np.unique(column, return_inverse=True)[1].ravel(), len(column)


def _first_and_number(keys: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """(where each key comes first, the number of each one among the sorted keys); keys are below `width`."""
    if width > _SPARSE * len(keys):
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        return first, number.ravel()
    at = np.full(width, -1, dtype=np.intp)
    at[keys[::-1]] = np.arange(len(keys) - 1, -1, -1)  # of equal keys the last assignment stays
    known = at >= 0
    return at[known], (np.cumsum(known) - 1)[keys]
