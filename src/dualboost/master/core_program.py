"""The hard core of a margin matrix by one linear program (Telgarsky, section 5; simplex method of HiGHS).

    maximise sum of s over s in [0, 1], r >= 0 with A'(s + r) = 0

Every optimum has s equal to 1 on the rows that carry weight in some balanced weighting and 0 on the others; s + r is
such a weighting, and the multipliers are an ensemble with margin 0 on the first kind and at least 1 on the second.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dualboost.master.cutting import run_program
from dualboost.master.lists import read_lists

__all__ = ["core_program"]


def core_program(A) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """(core, psi, w) for a dense or sparse A; as the solver left them, so to be verified. None where it failed."""
    import highspy  # here: it costs a tenth of a second, and most runs need no linear program

    m = A.shape[0]
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("threads", 1)  # the same answer everywhere
    solver.setOptionValue("parallel", "off")
    solver.setOptionValue("solver", "simplex")
    solver.passModel(_model(highspy, sp.csc_array(A.T)))
    run_program(solver, 2 * A.shape[0] * A.shape[1])
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution = solver.getSolution()
    with read_lists():
        s, r = np.asarray(solution.col_value).reshape(2, m)
        w = np.asarray(solution.row_dual)
    core = s > 0.5
    # The sign of multipliers is the solver's convention; the rows off the core have the last word.
    return core, np.where(core, np.maximum(s + r, 0.0), 0.0), w if (A @ w).sum() >= 0 else -w


def _model(highspy, transposed):
    n, m = transposed.shape
    both = sp.csc_array(sp.hstack([transposed, transposed], format="csc"))
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = 2 * m, n
    model.col_cost_ = np.concatenate([-np.ones(m), np.zeros(m)])
    model.col_lower_ = np.zeros(2 * m)
    model.col_upper_ = np.concatenate([np.ones(m), np.full(m, np.inf)])
    model.row_lower_ = model.row_upper_ = np.zeros(n)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = both.indptr, both.indices, both.data
    return model
