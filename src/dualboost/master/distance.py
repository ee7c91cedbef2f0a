"""How far row weights are from the balanced ones inside a box, in the l1 norm, by a warm linear program (HiGHS)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dualboost.master.cutting import run_warm_program

__all__ = ["BalancedBox"]


class BalancedBox:
    """The weights psi with A'psi = 0 and low <= psi <= high; the box must hold one."""

    def __init__(self, A: np.ndarray, low: np.ndarray, high: np.ndarray):
        import highspy  # here: it costs a tenth of a second, and most runs need no linear program

        self._m, self._entries = len(low), A.size
        self._scale = 1.0 / max(float(high.max(initial=0.0)), 1e-300)  # the solver's tolerances are absolute
        self._solver = highspy.Highs()
        self._solver.silent()
        for option, value in (("threads", 1), ("parallel", "off"), ("primal_feasibility_tolerance", 1e-10)):
            self._solver.setOptionValue(option, value)
        self._solver.passModel(_model(highspy, A, low * self._scale, high * self._scale))

    def distance(self, d: np.ndarray) -> float:
        """min of |d - psi|_1 over the box."""
        if not self._m:
            return 0.0
        for row, weight in enumerate((d * self._scale).tolist()):
            self._solver.changeRowBounds(row, weight, weight)
        if not run_warm_program(self._solver, self._entries):
            raise ArithmeticError("The linear program of a dual distance was not solved: the data are badly scaled.")
        return float(self._solver.getInfo().objective_function_value) / self._scale


def _model(highspy, A: np.ndarray, low: np.ndarray, high: np.ndarray):
    """Columns psi, over, under; rows psi + over - under = d, then A'psi = 0."""
    m, n = A.shape
    one = sp.eye_array(m)
    matrix = sp.csc_array(sp.block_array([[one, one, -one], [sp.csc_array(A.T), None, None]], format="csc"))
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = 3 * m, m + n
    model.col_cost_ = np.concatenate([np.zeros(m), np.ones(2 * m)])
    model.col_lower_ = np.concatenate([low, np.zeros(2 * m)])
    model.col_upper_ = np.concatenate([high, np.full(2 * m, np.inf)])
    model.row_lower_ = model.row_upper_ = np.zeros(m + n)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
    model.a_matrix_.value_ = matrix.data
    return model
