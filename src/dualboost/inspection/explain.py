"""`explain`: a row's score as a sum of what each feature contributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualboost.estimators.bagging import Average
from dualboost.estimators.base import BoostedClassifier
from dualboost.estimators.new_rows import predict_input
from dualboost.inspection.as_trees import plain_trees, word_steps
from dualboost.inspection.names import check_model, feature_names
from dualboost.inspection.shapley import Shares, background_shares, tree_contributions
from dualboost.inspection.trees import PlainTrees
from dualboost.learners import Predictor
from dualboost.learners.class_stumps import single_votes
from dualboost.learners.matrix import MatrixScores
from dualboost.learners.stumps import StumpScores
from dualboost.learners.union import SumScores
from dualboost.learners.words import WordScores

__all__ = ["Explanation", "explain"]

_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Explanation:
    """What each feature contributes to the scores of some rows; made by `explain`.

    Attributes
    ----------
    contributions : ndarray of shape (n_rows, n_features), or (n_rows, n_features, n_classes)
        base + contributions.sum(axis=1) is the score, up to rounding.
    base : float, or ndarray of shape (n_classes,)
        The score of a row about which nothing is known.
    scores : ndarray of shape (n_rows,), or (n_rows, n_classes)
        The votes: positive speaks for the class.
    feature_names : tuple of str
        Names.
    classes : ndarray
        The class that a positive score speaks for, or one for each column of the scores.
    X : array
        The rows.
    categories : mapping of a column to its labels
        What the numbers in columns of categories stand for.

    Examples
    --------
    See `explain`.

    >>> from dualboost import Explanation
    >>> [name for name in ("row", "of", "to_frame") if callable(getattr(Explanation, name))]
    ['row', 'of', 'to_frame']
    """

    contributions: np.ndarray
    base: Any
    scores: np.ndarray
    feature_names: tuple[str, ...]
    classes: np.ndarray
    X: Any
    categories: Mapping[str, Sequence] = field(default_factory=dict)

    def of(self, label) -> Explanation:
        """The explanation of one class of several."""
        if self.scores.ndim == 1:
            raise ValueError("Two classes have one score, which this explanation is of: no class is to be chosen.")
        at = np.flatnonzero(self.classes == label)
        if not len(at):
            raise ValueError(f"{label!r} is none of the classes {self.classes.tolist()}.")
        k = int(at[0])
        parts = self.contributions[..., k], float(self.base[k]), self.scores[:, k]
        return replace(self, contributions=parts[0], base=parts[1], scores=parts[2], classes=self.classes[[k]])

    def row(self, i: int, count: int = _SHOWN) -> str:
        """One row in words: its score, the base, and the features by the size of what they contribute."""
        if count < 0:
            raise ValueError(f"count is a number of features and must be at least 0, not {count!r}.")
        if self.scores.ndim == 2:
            return "\n".join(self.of(label).row(i, count) for label in self.classes)
        if not -len(self.scores) <= i < len(self.scores):
            raise ValueError(f"This explanation is of {len(self.scores)} rows, and there is no row {i!r} among them.")
        parts = self.contributions[i]
        order = [int(j) for j in np.argsort(-np.abs(parts), kind="stable") if parts[j] != 0]
        lines = [f"score {self.scores[i]:+.4g} for {self.classes[0]}", f"  {self.base:+.4g}  base"]
        lines += [f"  {parts[j]:+.4g}  {self.feature_names[j]} = {self._value(i, j)}" for j in order[:count]]
        if len(order) > count:
            lines.append(f"  {parts[order[count:]].sum():+.4g}  {len(order) - count} other features")
        return "\n".join(lines)

    def _value(self, i: int, j: int) -> str:
        value, labels = self.X[i, j], self.categories.get(self.feature_names[j], ())
        known = float(value).is_integer() and 0 <= value < len(labels)
        return str(labels[int(value)]) if known else "missing" if np.isnan(value) else f"{value:.4g}"

    def to_frame(self):
        """A pandas data frame: base, one column a feature, score; ``base_``, ``score_`` if a feature is called so."""
        if self.scores.ndim == 2:
            raise ValueError("A frame shows one class: ask for explanation.of(label).to_frame().")
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas.") from error
        frame = pd.DataFrame(self.contributions, columns=list(self.feature_names))
        frame.insert(0, self._free_name("base"), self.base)
        frame[self._free_name("score")] = self.scores
        return frame

    def _free_name(self, name: str) -> str:
        return self._free_name(name + "_") if name in self.feature_names else name


def explain(model: BoostedClassifier, X, *, background=None) -> Explanation:
    """Each row's score as a base and what every feature adds to it; the sum is the score, up to rounding.

    Stumps: the value of the feature's step function. Trees, boxes: Shapley values. Linear votes: weight times value.
    Without a background a feature that is not known would go either way at every split, half and half: a stump then
    contributes its vote, and the base is the constant vote. With one, splits part as its rows do, every feature is
    centred on them, and the base is their mean score: what a row has that the average row has not. The base is exact;
    the means of the columns are 0 for steps and linear votes, and near 0 for trees.

    Of two classes the score is `decision_function`. Of several it is the vote of each class against the rest:
    `decision_function` turns these into log-odds, which are no sum.

    Parameters
    ----------
    model : a fitted classifier of dualboost
    X : table of the rows to explain
    background : table, optional
        The rows to compare with, for example the training data or a sample of it.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier, explain
    >>> data = load_breast_cancer(as_frame=True)
    >>> model = MarginBoostClassifier(nu=0.2, max_iter=50).fit(data.data, data.target)
    >>> explanation = explain(model, data.data[:5], background=data.data)
    >>> total = explanation.base + explanation.contributions.sum(axis=1)
    >>> bool(abs(total - model.decision_function(data.data[:5])).max() < 1e-12)
    True
    >>> explanation.row(0, count=1).splitlines()[0].startswith("score -")
    True
    """
    check_model(model)
    X = predict_input(model, X)
    background = None if background is None else predict_input(model, background)
    models = getattr(model, "estimators_", [model])
    parts = [vote for part in models for vote in single_votes(part.predictor_)]
    found = [_explained(vote, X, background) for vote in parts]
    contributions, bases = [part[0] for part in found], [part[1] for part in found]
    scores = [vote.scores(X) for vote in parts]
    names, labels = feature_names(model), getattr(model, "categories_", {})
    if len(parts) == 1:
        return Explanation(contributions[0], bases[0], scores[0], names, model.classes_[1:], X, labels)
    return Explanation(
        np.stack(contributions, axis=2), np.array(bases), np.column_stack(scores), names, model.classes_, X, labels
    )


def _explained(predictor: Predictor, X, background) -> tuple[np.ndarray, float]:
    """(contributions, base) of one vote."""
    known = background is not None
    if isinstance(predictor, StumpScores):
        return _centred(
            _step_values(predictor, X), _step_means(predictor, background) if known else None, predictor.base
        )
    if isinstance(predictor, MatrixScores):
        means = np.asarray(background.mean(axis=0)).ravel() * predictor.weights if known else None
        return _centred(_dense(X) * predictor.weights, means, 0.0)
    if isinstance(predictor, WordScores):
        return _explained(word_steps(predictor), X, background)
    if isinstance(predictor, (Average, SumScores)):
        return _added_up(predictor, X, background)
    trees = plain_trees(predictor)
    return tree_contributions(trees, _dense(X), _shares(trees, background))


def _shares(trees: PlainTrees, background) -> Shares:
    """Only of the columns that are asked about: a background may be wide and sparse."""
    if background is None:
        return background_shares(trees, None)
    used = np.unique(trees.feature[trees.feature >= 0])
    places = np.where(trees.feature < 0, -1, np.searchsorted(used, trees.feature))
    return background_shares(replace(trees, feature=places), _dense(background[:, used]))


def _dense(X):
    return X.toarray() if sp.issparse(X) else X


def _added_up(vote: Average | SumScores, X, background) -> tuple[np.ndarray, float]:
    parts: Sequence = [_explained(part, X, background) for part in vote.parts]
    share, base = (vote.scale / max(len(parts), 1), vote.base) if isinstance(vote, Average) else (1.0, 0.0)
    total = sum((part[0] for part in parts), start=np.zeros(X.shape))
    return share * total, base + share * sum(part[1] for part in parts)


def _centred(values: np.ndarray, means: np.ndarray | None, base: float) -> tuple[np.ndarray, float]:
    """Each feature less its mean over the background, which goes to the base."""
    return (values, base) if means is None else (values - means, base + float(means.sum()))


def _step_means(vote: StumpScores, background) -> np.ndarray:
    means = np.zeros(background.shape[1])
    means[vote.features] = _step_columns(vote, background).mean(axis=0)
    return means


def _step_values(vote: StumpScores, X) -> np.ndarray:
    out = np.zeros(X.shape)
    out[:, vote.features] = _step_columns(vote, X)
    return out


def _step_columns(vote: StumpScores, X) -> np.ndarray:
    """The values of the features in use, a column each."""
    columns = _dense(X[:, vote.features]) if len(vote.features) else np.empty((X.shape[0], 0))
    out = np.empty(columns.shape)
    for u, x in enumerate(columns.T):
        first, last = vote.cut_start[u], vote.cut_start[u + 1]
        piece = np.searchsorted(vote.cuts[first:last], x)  # the cuts below x; a value at a cut lies left of it
        lost = np.isnan(x)
        out[:, u] = np.where(lost, vote.missing[u], vote.tables[first + u + np.where(lost, 0, piece)])
    return out
