"""How the rows are judged in an audit: by models that have not seen them, one class against the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv

from dualboost.boosters.leveraging import RATES
from dualboost.estimators.coded import rows_of
from dualboost.losses import LogisticMixture

__all__ = ["NO_SIGNAL", "Judged", "judge", "margins_of", "overall_rate", "probability_of", "scores_of"]

NO_SIGNAL = "the labels carry no signal"


@dataclass(frozen=True, eq=False)
class Judged:
    """One class against the rest: margins of the rows by models that have not seen them."""

    margins: np.ndarray
    noise: np.ndarray
    rate: float
    model: Any
    status: str


def judge(table, side: np.ndarray, template, cv, weights: np.ndarray | None) -> Judged:
    if cv is None:
        model = _fitted(template, table, side, weights)
        margins = getattr(model, "oob_margins_", model.margins_)
        status = NO_SIGNAL if model.noise_rate_ >= RATES[1] else ""
        return Judged(margins, model.label_noise_, model.noise_rate_, model, status)
    margins, rates = np.empty(len(side)), []
    splitter = check_cv(cv, side, classifier=True)
    for train, test in splitter.split(np.zeros(len(side)), side):
        model = _fitted(template, rows_of(table, train), side[train], None if weights is None else weights[train])
        margins[test] = np.where(side[test], 1, -1) * model.decision_function(rows_of(table, test))
        rates.append(model.noise_rate_)
    rate = float(np.mean(rates))
    noise = LogisticMixture(float(np.clip(rate, *RATES))).suspicion(margins)
    return Judged(margins, noise, rate, model, NO_SIGNAL if rate >= RATES[1] else "")


def _fitted(template, table, side: np.ndarray, weights: np.ndarray | None):
    """Models that know no weights are not asked to."""
    model = clone(template)
    model = model.fit(table, side) if weights is None else model.fit(table, side, sample_weight=weights)
    if not hasattr(model, "noise_rate_"):
        raise ValueError(
            f"model must say how many labels are wrong (noise_rate_), and {type(model).__name__} does not: take "
            "LogisticMixtureClassifier() or LogisticDifferenceClassifier()."
        )
    return model


def scores_of(found: Judged, side: np.ndarray) -> np.ndarray:
    """How much speaks for the class, row by row."""
    return np.where(side, found.margins, -found.margins)


def margins_of(scores: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Half the lead of the given class over its strongest rival, and the class with the largest score."""
    own = scores[np.arange(len(codes)), codes]
    rivals = scores.copy()
    rivals[np.arange(len(codes)), codes] = -np.inf
    return (own - rivals.max(axis=1)) / 2, scores.argmax(axis=1)


def probability_of(judged: list[Judged], codes: np.ndarray) -> np.ndarray:
    """That the given label is wrong; of many classes, by the judge of the given one against the rest."""
    if len(judged) == 1:
        return judged[0].noise
    noise = np.column_stack([found.noise for found in judged])
    return noise[np.arange(len(codes)), codes]


def overall_rate(judged: list[Judged], sides: list[np.ndarray]) -> float:
    """Of two classes the rate; of more, the mean probability over the rows of each class by its own judge."""
    if len(judged) == 1:
        return judged[0].rate
    return float(sum(found.noise[side].sum() for found, side in zip(judged, sides, strict=True)) / len(sides[0]))
