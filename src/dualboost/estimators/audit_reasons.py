"""Why a row is suspicious: the features that pull against its label, contradictions, the cap of the soft margin."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from dualboost.boosters.leveraging import RATES
from dualboost.estimators.audit_judging import Judged
from dualboost.estimators.audit_report import Audit
from dualboost.estimators.audit_text import TextModel
from dualboost.estimators.coded import coded, rows_of
from dualboost.estimators.new_rows import predict_input
from dualboost.fingerprints import fingerprints
from dualboost.rows import Rows
from dualboost.sets import Capped

__all__ = ["at_the_cap", "contradictions", "explain_rows", "pulls_of"]

_NOTES = 3  # features named for a row


def contradictions(table, codes: np.ndarray) -> np.ndarray:
    """Which rows occur elsewhere with another label."""
    numbers = table if sp.issparse(table) else np.asarray(coded(table)[0])
    if not sp.issparse(table) and numbers.dtype.kind not in "fiub":
        return np.zeros(len(codes), dtype=bool)
    prints = fingerprints(numbers if sp.issparse(table) else numbers.astype(np.float64), check_random_state(0))
    _, group = np.unique(prints, return_inverse=True)
    low, high = np.full(group.max() + 1, codes.max()), np.zeros(group.max() + 1, dtype=codes.dtype)
    np.minimum.at(low, group, codes)
    np.maximum.at(high, group, codes)
    return (low < high)[group]


def at_the_cap(margin: np.ndarray, rate: float) -> np.ndarray:
    """The rows to which the worst weights for these margins, with the cap 1 / (rate * n), give as much as they may."""
    if not 0 < rate < RATES[1]:
        return np.zeros(len(margin), dtype=bool)
    nu = max(rate, 1 / len(margin))
    worst = Capped(nu=nu).bind(Rows.of(len(margin))).vertex(np.ascontiguousarray(margin, dtype=np.float64))
    return worst >= (1 - 1e-9) / (nu * len(margin))


def explain_rows(report: Audit, table, names: list[str], judged: list[Judged], codes: np.ndarray) -> None:
    """Name the features that speak against the labels of the most suspicious rows."""
    for i in report.ranking[:50]:
        found = judged[0] if len(judged) == 1 else judged[codes[i]]
        for_class = 1.0 if len(judged) > 1 or codes[i] == 1 else -1.0
        pulls = for_class * pulls_of(found.model, rows_of(table, np.array([i])))
        worst = np.argsort(pulls, kind="stable")[:_NOTES]
        report.reasons[int(i)] = [(names[j], float(pulls[j])) for j in worst if pulls[j] < 0]


def pulls_of(model, row) -> np.ndarray:
    """How much each feature of one row moves the vote towards the second class.

    For a linear vote its term; otherwise what the vote loses when the feature is not known.
    """
    if isinstance(model, TextModel):
        return model.terms(row)
    values = predict_input(model, row)
    values = np.asarray(values.toarray() if sp.issparse(values) else values, dtype=np.float64)
    table = np.repeat(values, values.shape[1] + 1, axis=0)
    np.fill_diagonal(table[1:], np.nan)
    votes = model.predictor_.scores(table)
    return votes[0] - votes[1:]
