"""`audit`: which labels are probably wrong, what they should be, and why, as a list that a person can work through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from dualboost.boosters.leveraging import RATES
from dualboost.estimators.audit_report import Audit
from dualboost.estimators.audit_text import TextModel
from dualboost.estimators.coded import coded, rows_of
from dualboost.estimators.folds import fingerprints
from dualboost.estimators.noisy import LogisticMixtureClassifier
from dualboost.estimators.validation import predict_input
from dualboost.labels import as_labels
from dualboost.losses import LogisticMixture
from dualboost.rows import Rows
from dualboost.sets import Capped

__all__ = ["Audit", "audit"]

_NOTES = 3  # features named for a row
_NO_SIGNAL = "the labels carry no signal"


def audit(X, y, *, sample_weight=None, cv=None, feature_names=None, model=None, random_state=0) -> Audit:
    """Rank the rows of a data set by how probably their label is wrong.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, features)
        A sparse matrix of counts is taken for text and judged by its words.
    y : array of shape (n,)
        The labels, of any type; more than two classes are judged one against the rest.
    sample_weight : array of shape (n,), optional
        What each row counts, all positive: leave rows out that do not count. Not for sparse counts.
    cv : int or splitter, optional
        None judges each row by fits that have not seen it inside one model of averaged trees. A number of folds fits
        to all other folds instead.
    feature_names : sequence of str, optional
        Names for the reasons; by default those of the data frame, or column numbers.
    model : a noise-aware classifier, optional
        By default `LogisticMixtureClassifier` on tables and a linear word model on sparse counts.
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
    ['against', 'at_cap', 'contradicted', 'given', 'margin', 'probability', 'row', 'suggested']
    """
    names, table, labels = _checked(X, y, feature_names)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError("audit needs labels of at least two classes.")
    template = _model_for(table, model, random_state)
    sides = [codes == 1] if len(classes) == 2 else [codes == k for k in range(len(classes))]
    weights = _weights(sample_weight, table)
    judged = [_judge(table, side, template, cv, weights) for side in sides]
    scores = np.column_stack([_scores(found, side) for found, side in zip(judged, sides, strict=True)])
    if len(classes) == 2:
        scores = np.column_stack([-scores, scores])
    margin, suggested = _margins(scores, codes)
    probability = _probability(judged, codes)
    rate = _overall_rate(judged, sides)
    report = Audit(
        labels, classes[suggested], probability, margin, rate, contradictions(table, codes), at_the_cap(margin, rate),
        _NO_SIGNAL if all(found.status for found in judged) else "ok", {},
    )  # fmt: skip
    _explain(report, table, names, judged, codes)
    return report


@dataclass(frozen=True, eq=False)
class _Judged:
    """One class against the rest: margins of the rows by models that have not seen them."""

    margins: np.ndarray
    noise: np.ndarray
    rate: float
    model: Any
    status: str


def _checked(X, y, feature_names):
    if feature_names is None:
        feature_names = getattr(X, "columns", None)
    table = sp.csr_array(X) if sp.issparse(X) else X
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
        return model
    if sp.issparse(table):
        return TextModel(random_state=random_state)
    return LogisticMixtureClassifier(bags=6, learning_rate=0.4, max_iter=100, random_state=random_state)


def _weights(sample_weight, table) -> np.ndarray | None:
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (_num_samples(table),) or not np.all(weights > 0) or not np.all(np.isfinite(weights)):
        raise ValueError("sample_weight must hold one positive finite number for each row: leave rows of weight 0 out.")
    if sp.issparse(table):
        raise ValueError("Sparse counts are judged without sample_weight: repeat rows instead.")
    return weights


def _judge(table, side: np.ndarray, template, cv, weights: np.ndarray | None) -> _Judged:
    if cv is None:
        model = _fitted(template, table, side, weights)
        margins = getattr(model, "oob_margins_", model.margins_)
        status = _NO_SIGNAL if model.noise_rate_ >= RATES[1] else ""
        return _Judged(margins, model.label_noise_, model.noise_rate_, model, status)
    margins, rates = np.empty(len(side)), []
    splitter = check_cv(cv, side, classifier=True)
    for train, test in splitter.split(np.zeros(len(side)), side):
        model = _fitted(template, rows_of(table, train), side[train], None if weights is None else weights[train])
        margins[test] = np.where(side[test], 1, -1) * model.decision_function(rows_of(table, test))
        rates.append(model.noise_rate_)
    rate = float(np.mean(rates))
    noise = LogisticMixture(float(np.clip(rate, *RATES))).suspicion(margins)
    return _Judged(margins, noise, rate, model, _NO_SIGNAL if rate >= RATES[1] else "")


def _fitted(template, table, side: np.ndarray, weights: np.ndarray | None):
    """Models that know no weights are not asked to."""
    model = clone(template)
    return model.fit(table, side) if weights is None else model.fit(table, side, sample_weight=weights)


def _scores(found: _Judged, side: np.ndarray) -> np.ndarray:
    """How much speaks for the class, row by row."""
    return np.where(side, found.margins, -found.margins)


def _margins(scores: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Half the lead of the given class over its strongest rival, and the class with the largest score."""
    own = scores[np.arange(len(codes)), codes]
    rivals = scores.copy()
    rivals[np.arange(len(codes)), codes] = -np.inf
    return (own - rivals.max(axis=1)) / 2, scores.argmax(axis=1)


def _probability(judged: list[_Judged], codes: np.ndarray) -> np.ndarray:
    """That the given label is wrong; of many classes, by the judge of the given one against the rest."""
    if len(judged) == 1:
        return judged[0].noise
    noise = np.column_stack([found.noise for found in judged])
    return noise[np.arange(len(codes)), codes]


def _overall_rate(judged: list[_Judged], sides: list[np.ndarray]) -> float:
    """Of two classes the rate; of more, the mean probability over the rows of each class by its own judge."""
    if len(judged) == 1:
        return judged[0].rate
    return float(sum(found.noise[side].sum() for found, side in zip(judged, sides, strict=True)) / len(sides[0]))


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


def _explain(report: Audit, table, names: list[str], judged: list[_Judged], codes: np.ndarray) -> None:
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
