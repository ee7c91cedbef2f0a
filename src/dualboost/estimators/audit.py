"""`audit`: which labels are probably wrong, what they should be, and why, as a list that a person can work through."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _num_samples

from dualboost.diagnosis import diagnose
from dualboost.estimators.audit_judging import NO_SIGNAL, judge, margins_of, overall_rate, probability_of, scores_of
from dualboost.estimators.audit_reasons import at_the_cap, contradictions, explain_rows
from dualboost.estimators.audit_report import Audit
from dualboost.estimators.audit_text import TextModel
from dualboost.estimators.coded import coded, rows_of
from dualboost.estimators.noisy import LogisticMixtureClassifier
from dualboost.frames import as_frame, check_row_numbers
from dualboost.labels import as_labels
from dualboost.learners import Stumps
from dualboost.rows import with_absent

__all__ = ["Audit", "audit"]


def audit(
    X, y, *, sample_weight=None, cv=None, feature_names=None, model=None, hard_core=False, random_state=0
) -> Audit:
    """Rank the rows of a data set by how probably their label is wrong.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, features)
        A sparse matrix of counts is taken for text and judged by its words.
    y : array of shape (n,)
        The labels, of any type; more than two classes are judged one against the rest.
    sample_weight : array of shape (n,), optional
        What each row counts. Rows of weight 0 are absent: they teach nothing and are not judged, but keep their
        numbers. For sparse counts 0 or one other number.
    cv : int or splitter, optional
        None judges each row by fits that have not seen it inside one model of averaged trees. A number of folds fits
        to all other folds instead.
    feature_names : sequence of str, optional
        Names for the reasons; by default those of the data frame, or column numbers.
    model : a noise-aware classifier, optional
        By default `LogisticMixtureClassifier` on tables and a linear word model on sparse counts.
    hard_core : bool, default False
        Whether to prove which rows no vote of stumps can put on their side without a loss elsewhere (`diagnose`; of
        more than two classes, the own class against the rest). Takes longer; otherwise only rows that occur with two
        labels are marked.
    random_state : int

    Returns
    -------
    Audit

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import audit
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[[10, 200]] = 1 - y[[10, 200]]
    >>> report = audit(X, y)
    >>> {10, 200} <= set(report.find_label_issues(count=30, return_indices_ranked=True).tolist())
    True
    >>> sorted(report.records(1)[0])
    ['against', 'at_cap', 'contradicted', 'given', 'hard_core', 'margin', 'probability', 'row', 'suggested']
    """
    names, table, labels = _checked(X, y, feature_names)
    weights = _weights(sample_weight, table)
    how = _How(names, _model_for(table, model, random_state), cv, hard_core)
    if weights is None or weights.all():
        return _report(table, labels, weights, how)
    present = weights > 0
    found = _report(rows_of(table, present), labels[present], weights[present], how)
    return with_absent_rows(found, labels, present)


@dataclass(frozen=True)
class _How:
    """What the caller wishes, beside the data."""

    names: list[str]
    template: Any
    cv: Any
    hard_core: bool


def _report(table, labels: np.ndarray, weights: np.ndarray | None, how: _How) -> Audit:
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError("audit needs labels of at least two classes.")
    sides = [codes == 1] if len(classes) == 2 else [codes == k for k in range(len(classes))]
    if sp.issparse(table):
        weights = None  # all equal
    judged = [judge(table, side, how.template, how.cv, weights) for side in sides]
    scores = np.column_stack([scores_of(found, side) for found, side in zip(judged, sides, strict=True)])
    if len(classes) == 2:
        scores = np.column_stack([-scores, scores])
    margin, suggested = margins_of(scores, codes)
    probability = probability_of(judged, codes)
    rate = overall_rate(judged, sides)
    twice = contradictions(table, codes)
    report = Audit(
        labels, classes[suggested], probability, margin, rate, twice, at_the_cap(margin, rate),
        NO_SIGNAL if all(found.status for found in judged) else "ok", {}, twice,
    )  # fmt: skip
    explain_rows(report, table, how.names, judged, codes)
    return report.with_hard_core(own_core(_cores(table, sides), codes)) if how.hard_core else report


def _cores(table, sides: list[np.ndarray]) -> list[np.ndarray]:
    numbers, categorical = coded(table)
    return [diagnose(numbers, side, Stumps(categorical=categorical)).hard_core for side in sides]


def own_core(cores: list[np.ndarray], codes: np.ndarray) -> np.ndarray:
    """Which rows are in the hard core: of many classes, that of their own class against the rest."""
    return cores[0] if len(cores) == 1 else np.column_stack(cores)[np.arange(len(codes)), codes]


def with_absent_rows(found: Audit, labels: np.ndarray, present: np.ndarray) -> Audit:
    """The same findings under the numbers of all rows; nothing is said about a row that is absent."""
    at = np.flatnonzero(present)
    suggested = labels.copy()
    suggested[at] = found.suggested
    return replace(
        found,
        given=labels,
        suggested=suggested,
        probability=with_absent(found.probability, present, np.nan),
        margin=with_absent(found.margin, present, np.nan),
        contradicted=with_absent(found.contradicted, present, False),
        at_cap=with_absent(found.at_cap, present, False),
        hard_core=with_absent(found.hard_core, present, False),
        reasons={int(at[row]): pulls for row, pulls in found.reasons.items()},
    )


def _checked(X, y, feature_names):
    frame = as_frame(X)
    if feature_names is None and frame is not None:
        feature_names = frame.names
    table = sp.csr_array(X) if sp.issparse(X) else np.asarray(X) if isinstance(X, (list, tuple)) else X
    if getattr(table, "ndim", 2) != 2:
        raise ValueError(f"X must be a table of rows and columns, not an array of shape {table.shape}.")
    rows, width = _num_samples(table), table.shape[1]
    labels = as_labels(y)
    if labels.ndim != 1 or len(labels) != rows:
        raise ValueError(f"y must hold one label for each of the {rows} rows.")
    names = [str(j) for j in range(width)] if feature_names is None else [str(name) for name in feature_names]
    if len(names) != width:
        raise ValueError(f"feature_names must name all {width} columns, not {len(names)}.")
    return names, table, labels


def _model_for(table, model, random_state):
    """A classifier with noise rate, label noise and margins, to be cloned."""
    if model is not None:
        if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "get_params")):
            raise ValueError(
                f"model must be a noise-aware classifier, such as LogisticMixtureClassifier(), not {model!r}."
            )
        return model
    if sp.issparse(table):
        return TextModel(random_state=random_state)
    return LogisticMixtureClassifier(bags=6, learning_rate=0.4, max_iter=100, random_state=random_state)


def _weights(sample_weight, table) -> np.ndarray | None:
    if sample_weight is None:
        return None
    check_row_numbers("sample_weight", sample_weight)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (_num_samples(table),) or not np.all(weights >= 0) or not np.all(np.isfinite(weights)):
        raise ValueError("sample_weight must hold one finite number of at least 0 for each row; 0 leaves the row out.")
    if not weights.any():
        raise ValueError("Every sample_weight is 0: there is no row to audit.")
    if sp.issparse(table) and len(np.unique(weights[weights > 0])) > 1:
        raise ValueError("Sparse counts are judged with equal weights, or 0 for absent rows: repeat rows instead.")
    return weights
