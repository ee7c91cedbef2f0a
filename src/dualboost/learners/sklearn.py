"""Any scikit-learn classifier as a learner: it is fitted to the row weights, and its predictions are the hypothesis.

It sees equal rows of one class as one row: a regularised fit follows the number of its rows, and ties follow the last
bits of sums over them, so weight k would not be k copies otherwise.

Nothing is known about the best hypothesis of such a class, so the bound of an answer is the sum of the weights: the
certificate stays true and says little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from dualboost.copies import Copies
from dualboost.learners.base import Answer, Learner, Oracle, Predictor
from dualboost.learners.leaf_scores import LeafScores
from dualboost.learners.raw_trees import RawTree, scikit_tree
from dualboost.products import times
from dualboost.rows import Rows

__all__ = ["FittedHypothesis", "FittedScores", "SklearnLearner", "SklearnOracle"]

_ROUNDING = np.finfo(np.float64).eps
_LIGHTEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class SklearnLearner(Learner):
    """Fits a clone of `estimator` to each question.

    Parameters
    ----------
    estimator : classifier
        Its `fit` must take `sample_weight`. Give it a `random_state` if it has one: the run is then the same each time.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from dualboost import solve
    >>> from dualboost.boosters import LPBoost
    >>> from dualboost.learners import SklearnLearner
    >>> from dualboost.rows import Rows
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    >>> learner = SklearnLearner(DecisionTreeClassifier(max_depth=2, random_state=0))
    >>> oracle = learner.bind(X, y, Rows.of(60))
    >>> solution = solve(oracle, booster=LPBoost(), max_rounds=10)
    >>> scores = oracle.predictor(solution.hypotheses, solution.weights).scores(X)
    >>> bool(np.mean(np.sign(scores) == y) > 0.9), bool(solution.bound >= solution.objective)
    (True, True)
    """

    estimator: Any

    def __post_init__(self):
        if not hasattr(self.estimator, "fit") or not hasattr(self.estimator, "predict"):
            raise ValueError(f"SklearnLearner needs a classifier with fit and predict, not {self.estimator!r}.")
        if not has_fit_parameter(self.estimator, "sample_weight"):
            name = type(self.estimator).__name__
            raise ValueError(f"The fit of {name} takes no sample_weight, which boosting needs: choose one that does.")

    def bind(self, X, y: np.ndarray | None, rows: Rows) -> SklearnOracle:
        if y is None:
            raise ValueError("A classifier needs labels: bind(X, y, rows) with a y of +1 and -1.")
        X = _narrow(sp.csr_array(X)) if sp.issparse(X) else np.asarray(X)  # rows are picked from it
        return SklearnOracle(self.estimator, X, np.asarray(y, dtype=np.int8), rows)


class FittedHypothesis:
    """A fitted classifier, known by its column: two that agree on every training row are the same hypothesis.

    It carries its classifier (None for a constant), so that a stored run can be taken up again elsewhere.
    """

    __slots__ = ("constant", "estimator", "signs")

    def __init__(self, signs: bytes, estimator: Any, constant: int = 0):
        self.signs, self.estimator, self.constant = signs, estimator, constant

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FittedHypothesis) and self.signs == other.signs

    def __hash__(self) -> int:
        return hash(self.signs)

    def predict(self, X) -> np.ndarray:
        """+1 or -1 a row, as int8."""
        if self.estimator is None:
            return np.full(X.shape[0], self.constant, dtype=np.int8)
        return _as_signs(self.estimator.predict(X))

    def tree(self) -> RawTree | None:
        """As a tree that says +1 or -1; None where the classifier is no tree."""
        if self.estimator is None:
            return RawTree.constant(float(self.constant))
        return scikit_tree(self.estimator, _leaf_signs)

    def importances(self, n_features: int) -> np.ndarray:
        """The classifier's own, which sum to 1; from its coefficients if it has those; zeros if it has neither."""
        own = getattr(self.estimator, "feature_importances_", None)
        if own is None:
            own = np.abs(getattr(self.estimator, "coef_", np.zeros((1, n_features)))).sum(axis=0)
        return np.asarray(own, dtype=np.float64) / max(float(np.sum(own)), np.finfo(np.float64).tiny)


class SklearnOracle(Oracle):
    """A classifier to clone, with its data."""

    def __init__(self, estimator: Any, X, y: np.ndarray, rows: Rows):
        self.estimator, self.X, self.y, self.rows = estimator, X, y, rows
        self._copies = Copies.among(X, y, None) if X.dtype.kind in "biuf" else None
        self._known: dict[FittedHypothesis, FittedHypothesis] = {}

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        """One hypothesis, whatever k: a fit has one answer."""
        hypothesis = self._fitted(d)
        column = self.column(hypothesis)
        edge = float(column @ d)
        return Answer([hypothesis], [column], np.array([edge]), float(d.sum()) * (1 + len(d) * _ROUNDING))

    def _fitted(self, d: np.ndarray) -> FittedHypothesis:
        copies = self._copies
        together = d if copies is None else np.bincount(copies.of, d)
        weighing = np.flatnonzero(together > 0)
        used = weighing if copies is None else copies.first[weighing]
        labels = np.unique(self.y[used])
        if len(labels) > 1:
            estimator, constant = clone(self.estimator), 0
            # In single precision: the last bits of sums over copies have no say. What is too light for it still counts.
            weights = (together[weighing] / together.max()).astype(np.float32).astype(np.float64)
            weights = np.maximum(weights, _LIGHTEST)
            weights *= len(used) / weights.sum()
            estimator.fit(self.X[used], self.y[used].astype(np.int64), sample_weight=weights)
            signs = _as_signs(estimator.predict(self.X))
        else:  # one class: most classifiers refuse, and the answer is plain
            estimator, constant = None, int(labels[0]) if len(labels) else 1
            signs = np.full(len(self.y), constant, dtype=np.int8)
        found = FittedHypothesis((signs * self.y).tobytes(), estimator, constant)
        return self._known.setdefault(found, found)

    def column(self, hypothesis: FittedHypothesis) -> np.ndarray:
        return np.frombuffer(hypothesis.signs, dtype=np.int8)

    def margins(self, hypotheses: Sequence[FittedHypothesis], w: np.ndarray) -> np.ndarray:
        z = np.zeros(len(self.y))
        for hypothesis, weight in zip(hypotheses, w, strict=True):
            z += times(self.column(hypothesis), weight)
        return z

    def predictor(self, hypotheses: Sequence[FittedHypothesis], w: np.ndarray) -> Predictor:
        trees = [hypothesis.tree() for hypothesis in hypotheses]
        plain = [tree for tree in trees if tree is not None]
        if len(plain) == len(trees):
            return LeafScores.of_raw(plain, w)
        return FittedScores(tuple(hypotheses), np.array(w, dtype=np.float64))

    def forget(self) -> None:
        self._known.clear()


@dataclass(frozen=True, eq=False)
class FittedScores(Predictor):
    """The weighted vote of fitted classifiers."""

    hypotheses: tuple[FittedHypothesis, ...]
    weights: np.ndarray

    def scores(self, X, threads: int = 1) -> np.ndarray:
        out = np.zeros(X.shape[0])
        for hypothesis, weight in zip(self.hypotheses, self.weights, strict=True):
            out += weight * hypothesis.predict(X)
        return out

    def importances(self, n_features: int) -> np.ndarray:
        share = np.zeros(n_features)
        for hypothesis, weight in zip(self.hypotheses, self.weights, strict=True):
            share += abs(weight) * hypothesis.importances(n_features)
        return share / max(share.sum(), np.finfo(np.float64).tiny)


def _leaf_signs(said: np.ndarray) -> np.ndarray:
    """From the shares of both classes, or the mean of a regressor."""
    return np.where(said[:, -1] > (said[:, 0] if said.shape[1] == 2 else 0.0), 1.0, -1.0)


def _narrow(X: sp.csr_array) -> sp.csr_array:
    """With indices of 32 bits where these will do: scikit-learn's trees read no others."""
    if max(X.nnz, X.shape[1]) >= 1 << 31:
        return X
    return sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _as_signs(labels: np.ndarray) -> np.ndarray:
    return np.where(np.asarray(labels) > 0, 1, -1).astype(np.int8)
