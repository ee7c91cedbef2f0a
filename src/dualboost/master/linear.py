"""The restricted master of column generation: the soft margin over the collected columns, by linear programming.

A warm simplex method (HiGHS) on the dual form, min g such that every collected column has an edge of at most g under d,
with d in the capped simplex: a new hypothesis is one more row, and the old basis stays dual feasible.
"""

from __future__ import annotations

import numpy as np

__all__ = ["EdgeProgram"]


class EdgeProgram:
    """min over d of the largest edge among the atoms; `d`, `w` and `value` are those of the last `solve`."""

    def __init__(self, caps: np.ndarray):
        import highspy  # here: it costs a tenth of a second, and most runs need no linear program

        self._m = len(caps)
        self._optimal = highspy.HighsModelStatus.kOptimal
        self._solver = highspy.Highs()
        self._solver.silent()
        # One thread: the same answer everywhere.
        self._solver.setOptionValue("threads", 1)
        self._solver.setOptionValue("parallel", "off")
        self._rows = 0
        nothing = np.empty(0, dtype=np.int32)
        self._solver.addCols(self._m, np.zeros(self._m), np.zeros(self._m), caps, 0, nothing, nothing, np.empty(0))
        self._solver.addCol(1.0, 0.0, np.inf, 0, nothing, np.empty(0))
        self._solver.addRow(1.0, 1.0, self._m, np.arange(self._m, dtype=np.int32), np.ones(self._m))

    def add(self, atoms: np.ndarray) -> None:
        """One row a hypothesis, of shape (n, m), already with the sign of its weight."""
        for atom in atoms:
            used = np.flatnonzero(atom)
            indices = np.append(used, self._m).astype(np.int32)
            values = np.append(atom[used], -1.0)
            self._solver.addRow(-np.inf, 0.0, len(indices), indices, values)
        self._rows += len(atoms)

    def __len__(self) -> int:
        return self._rows

    def solve(self) -> tuple[np.ndarray, np.ndarray]:
        """(d, w): row weights and non-negative weights of the atoms, of sum at most 1; clipped and normalised."""
        self._solver.run()
        if self._solver.getModelStatus() != self._optimal:
            self._solver.clearSolver()  # a warm basis can go bad: start afresh once
            self._solver.run()
        solution = self._solver.getSolution()
        d = np.maximum(np.asarray(solution.col_value[: self._m]), 0.0)
        w = np.maximum(-np.asarray(solution.row_dual[1:]), 0.0)
        return d / d.sum(), w / max(1.0, w.sum())
