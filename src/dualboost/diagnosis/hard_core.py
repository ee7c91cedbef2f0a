"""Is a problem weak learnable, attainable, or a mixture, and which rows make it so (Telgarsky, section 5).

The hard core is the largest set of rows that some weighting, positive on all of them, balances for every hypothesis.
No rows: every row can have a positive margin (Theorem 11). All rows: the loss is minimised somewhere (Theorem 14).
Otherwise the problem falls into these two (Theorem 17).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualboost.diagnosis.duplicates import Duplicates
from dualboost.diagnosis.finding import Finding, Verdict, Watch, by_program, verify
from dualboost.diagnosis.generation import CoreSearch
from dualboost.diagnosis.margin import LISTED, largest_margin
from dualboost.diagnosis.rates import promises
from dualboost.diagnosis.report import Diagnosis
from dualboost.diagnosis.scaling import Scaled, within_rounding
from dualboost.frames import as_frame, check_row_numbers, frame_numbers
from dualboost.labels import as_labels
from dualboost.learners import Learner, Matrix, Oracle, Stumps
from dualboost.learners.base import Directed
from dualboost.learners.categories import with_categories
from dualboost.learners.matrix import MatrixOracle
from dualboost.rows import Rows, refuse_masked, with_absent

__all__ = ["diagnose"]


def diagnose(
    A,
    y=None,
    learner: Learner | None = None,
    *,
    sample_weight=None,
    max_rounds: int = 1000,
    watch: Watch | None = None,
) -> Diagnosis:
    """Say whether these hypotheses can fit these labels, which rows make it impossible, and prove it.

    Parameters
    ----------
    A : array or scipy.sparse matrix of shape (m, n), or Oracle
        Without `y`: the margin matrix A[i, j] = y_i h_j(x_i), or a learner that has been bound to data. With `y`: the
        features of the rows; data frames are read as the classifiers read them, categories as such.
    y : array of shape (m,), optional
        Labels of two classes, of any type.
    learner : Learner, default Stumps()
        The hypotheses; used with `y` only.
    sample_weight : array of shape (m,), optional
        Rows of weight 0 are absent. Other weights do not change the hard core, only the constants of the rates (and
        where a binning learner cuts).
    max_rounds : int
        The most rounds of column generation; matrices of moderate size need none.
    watch : callable, optional
        Gets a `Progress` every round; a string that it returns ends the search, with what is known by then.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import diagnose
    >>> report = diagnose(np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]))
    >>> report.regime, report.hard_core
    ('mixed', array([ True,  True, False]))
    >>> X, y = np.array([[1.0], [2.0], [3.0], [3.0]]), ["no", "yes", "no", "yes"]
    >>> print(diagnose(X, y).summary().splitlines()[1])
    Of 4 rows, 2 are separable and 2 are in the hard core.
    """
    _check(learner, max_rounds)
    if isinstance(A, Oracle):
        if y is not None or sample_weight is not None:
            raise ValueError("A bound learner has its labels and row weights already: give it alone.")
        return _of_class(A, Duplicates.unknown(len(A.rows)), max_rounds, watch)
    if y is None and learner is not None:
        raise ValueError("A learner needs labels: diagnose(X, y, learner).")
    A, categorical = _read(A, y, sample_weight)
    present, rows = _rows_of(sample_weight, A.shape[0])
    A = A if present.all() else A[present]
    if y is None:
        found = _of_matrix(Matrix().bind(A, None, rows), LISTED, max_rounds, watch)
    else:
        signs = _signs(y, present)
        told = with_categories(Stumps() if learner is None else learner, categorical)
        oracle = told.bind(A, signs, rows)
        found = _of_class(oracle, Duplicates.in_data(A, signs), max_rounds, watch)
    return found if present.all() else _with_absent_rows(found, present)


# ---- input ----------------------------------------------------------------------------------------------------------


def _check(learner, max_rounds) -> None:
    if not (isinstance(max_rounds, (int, np.integer)) and not isinstance(max_rounds, bool) and max_rounds >= 1):
        raise ValueError(f"max_rounds must be a whole number of at least 1, not {max_rounds!r}.")
    if not (learner is None or isinstance(learner, Learner)):
        raise ValueError(f"learner must be a Learner such as Stumps(), not {learner!r}.")


def _read(A, y, sample_weight) -> tuple[Any, tuple[int, ...]]:
    """(the table, which of its columns hold categories): those of a data frame of features, by the rows with weight."""
    check_row_numbers("sample_weight", sample_weight)
    if np.ma.isMaskedArray(A):
        A = _unmasked(A, y)
    frame = None if y is None else as_frame(A)
    if frame is None or frame.plain:
        return _table(A), ()
    weights = np.ones(len(frame)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    read = frame_numbers(frame, weights > 0 if weights.shape == (len(frame),) else slice(None))
    return _table(read.table), read.columns


def _unmasked(A: np.ma.MaskedArray, y) -> np.ndarray:
    """Of features what is masked is missing, as the classifiers read it; of a margin nothing may be."""
    if y is None:
        refuse_masked("The margin matrix", A)
    if A.dtype.kind in "fiub" and np.ma.is_masked(A):
        return np.ma.filled(A.astype(np.float64), np.nan)
    return np.asarray(A)


def _table(A):
    A = A.tocsr() if hasattr(A, "tocsr") else np.asarray(A)
    if A.dtype.kind not in "fiub":
        raise ValueError(
            "diagnose reads plain numbers: encode categories and text first, for example with OneHotEncoder, and turn "
            "nullable columns into floats."
        )
    if A.ndim != 2 or 0 in A.shape:
        raise ValueError(
            "diagnose needs a table that is not empty: a margin matrix A[i, j] = y_i h_j(x_i), or features with labels."
        )
    return A


def _rows_of(sample_weight, m: int) -> tuple[np.ndarray, Rows]:
    """Which rows are present, and what they count."""
    if sample_weight is None:
        return np.ones(m, dtype=bool), Rows.of(m)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (m,) or not np.all(weights >= 0) or not weights.max() > 0:
        raise ValueError("sample_weight must hold one non-negative finite number per row, and not only zeros.")
    return weights > 0, Rows.of(weights[weights > 0])


def _signs(y, present: np.ndarray) -> np.ndarray:
    y = as_labels(y)
    if y.shape != present.shape:
        raise ValueError(f"y must hold one label for each of the {len(present)} rows, not be of shape {y.shape}.")
    classes, codes = np.unique(y[present], return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"diagnose needs rows of two classes, but y has {len(classes)}.")
    return np.where(codes == 1, 1, -1).astype(np.int8)


# ---- the search -----------------------------------------------------------------------------------------------------


def _of_matrix(given: MatrixOracle, listed: int, max_rounds: int, watch: Watch | None) -> Diagnosis:
    """With rows and columns of like sizes for the search, which leaves the core as it is.

    One linear program for up to `listed` entries.
    """
    scaled, duplicates = Scaled.of(given), Duplicates.in_matrix(given.A)
    finding, verdict = _program(scaled.oracle, duplicates, listed) or _generation(
        scaled.oracle, duplicates, max_rounds, watch
    )
    verdict = scaled.back(verdict, scaled.oracle.spread(finding.hypotheses, verdict.w), given)
    return _diagnosis(given, replace(finding, hypotheses=range(len(verdict.w))), verdict, duplicates)


def _program(oracle: MatrixOracle, duplicates: Duplicates, listed: int) -> tuple[Finding, Verdict] | None:
    """None where the matrix is too large, or the answer proves too little."""
    if np.prod(oracle.A.shape) > listed:
        return None
    finding = by_program(oracle.A.toarray() if sp.issparse(oracle.A) else oracle.A, duplicates.copy_of)
    verdict = _proved(oracle, finding)
    return (finding, verdict) if (verdict.on | verdict.off).all() else None


def _generation(oracle: MatrixOracle, duplicates: Duplicates, max_rounds: int, watch: Watch | None):
    finding = CoreSearch(oracle, duplicates.copy_of).run(max_rounds, watch)
    return finding, _proved(oracle, finding)


def _proved(oracle: MatrixOracle, finding: Finding) -> Verdict:
    verdict = verify(oracle, finding)
    return within_rounding(oracle.A, verdict, oracle.spread(finding.hypotheses, verdict.w))


def _of_class(oracle: Oracle, duplicates: Duplicates, max_rounds: int, watch: Watch | None) -> Diagnosis:
    if isinstance(oracle, MatrixOracle):
        return _of_matrix(oracle, 0, max_rounds, watch)
    if isinstance(oracle, Directed):
        raise ValueError("A diagnosis is of hypotheses that count with both signs: use Stumps() without monotone.")
    finding = CoreSearch(oracle, duplicates.copy_of).run(max_rounds, watch)
    verdict = verify(oracle, finding)
    kept = np.flatnonzero(verdict.w)
    finding = replace(finding, hypotheses=[finding.hypotheses[j] for j in kept.tolist()])
    return _diagnosis(oracle, finding, replace(verdict, w=verdict.w[kept]), duplicates)


# ---- the record -----------------------------------------------------------------------------------------------------


def _diagnosis(oracle: Oracle, finding: Finding, verdict: Verdict, duplicates: Duplicates) -> Diagnosis:
    pairs = duplicates.contradictions()
    if not verdict.on.any() and not verdict.off.all():
        verdict = _interim(oracle, verdict, pairs)
    undecided = ~(verdict.on | verdict.off)
    regime = _regime(verdict.on, verdict.off)
    gamma, gamma_bound = largest_margin(oracle, finding.hypotheses, verdict)
    unit = max(1.0, oracle.largest_entry) if isinstance(oracle, MatrixOracle) else 1.0  # the theorems' is 1
    return Diagnosis(
        regime, verdict.on, undecided, verdict.psi, verdict.w, verdict.margins, verdict.edge, gamma, gamma_bound,
        pairs, promises(regime, gamma / unit, oracle.rows), finding.hypotheses, finding.n_rounds, finding.status,
    )  # fmt: skip


def _interim(oracle: Oracle, verdict: Verdict, pairs) -> Verdict:
    """A search that ended early proves nothing by its weighting; rows that contradict each other prove themselves."""
    psi = np.zeros(len(verdict.on))
    for one, other in pairs:
        psi[one], psi[other] = 0.5 / len(pairs) / len(one), 0.5 / len(pairs) / len(other)
    edge = float(oracle.best(psi).bound) if pairs else 0.0
    return replace(verdict, on=psi > 0, off=verdict.off & (psi == 0), psi=psi, edge=edge)


def _regime(on: np.ndarray, off: np.ndarray) -> str:
    if off.all():
        return "weak learnable"
    if on.all():
        return "attainable"
    return "mixed" if on.any() and off.any() else "undecided"


def _with_absent_rows(found: Diagnosis, present: np.ndarray) -> Diagnosis:
    """Rows of weight 0 belong to neither side: not in the core, without weight, their margin unknown."""
    number = np.flatnonzero(present)
    return replace(
        found,
        hard_core=with_absent(found.hard_core, present, False),
        undecided=with_absent(found.undecided, present, False),
        weighting=with_absent(found.weighting, present, 0.0),
        margins=with_absent(found.margins, present, np.nan),
        contradictions=tuple((number[one], number[other]) for one, other in found.contradictions),
    )
