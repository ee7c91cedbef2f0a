"""The trees of a fitted forest or boosted model as hypotheses: each member votes in [-1, 1] for the second class.

A vote is a difference of probabilities where the member is a classifier, and its raw score over its largest raw score
where it is a regression tree of a gradient booster. The constant vote is one more member: boosters have a base score.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import scipy.sparse as sp

from dualboost.estimators.foreign_trees import listed_members, raw_trees
from dualboost.learners import Answer, Matrix, Oracle, Predictor
from dualboost.learners.base import ChecksSparse
from dualboost.learners.leaf_scores import LeafScores
from dualboost.learners.raw_trees import RawTree, places_among
from dualboost.rows import Rows
from dualboost.sparse_tables import written_out

__all__ = ["FittedMembers", "Members", "ReadTrees", "booster_of", "members_of"]


class Members(ABC):
    """What is asked of a fitted ensemble: the votes of its members, and a weighting of some of them."""

    absent_is_missing: bool = False
    """Whether what a sparse table does not list is missing to the ensemble, as it is to XGBoost; else it is 0."""

    @abstractmethod
    def votes(self, X) -> np.ndarray:
        """Raw votes, one row a member."""

    @abstractmethod
    def weighted(self, chosen: np.ndarray, w: np.ndarray, largest: np.ndarray, base: float) -> Predictor:
        """base + the sum over the chosen members of w times their votes over `largest`, cut off at -1 and 1."""


@dataclass(frozen=True, eq=False)
class ReadTrees(Members):
    """Trees that could be read, and need their library no more."""

    trees: list[RawTree] = field(repr=False)
    absent_is_missing: bool = False

    def votes(self, X) -> np.ndarray:
        if not sp.issparse(X):
            return np.array([_alone(tree).scores(X) for tree in self.trees])
        columns = np.unique(np.concatenate([tree.feature[tree.feature >= 0] for tree in self.trees]))
        place = places_among(columns)
        single, out = [_alone(tree.on(place)) for tree in self.trees], np.empty((len(self.trees), X.shape[0]))
        for rows, part in written_out(X, columns):
            out[:, rows] = [vote.scores(part) for vote in single]
        return out

    def weighted(self, chosen: np.ndarray, w: np.ndarray, largest: np.ndarray, base: float) -> Predictor:
        kept = [self.trees[j].saying(partial(_cut_off, size)) for j, size in zip(chosen, largest, strict=True)]
        return LeafScores.of_raw([*kept, RawTree.constant(1.0)], np.append(w, base))


def _alone(tree: RawTree) -> LeafScores:
    return LeafScores.of_raw([tree], np.ones(1))


def _cut_off(largest: float, votes: np.ndarray) -> np.ndarray:
    return np.clip(votes / largest, -1, 1)


class AskedMembers(Members):
    """Members that only their library can ask. Abstract."""

    @abstractmethod
    def keep(self, chosen: np.ndarray) -> AskedMembers:
        """Only these members, in this order."""

    @abstractmethod
    def importances(self, n_features: int) -> np.ndarray:
        """One row a member: how much it relies on each feature; zeros where it does not say."""

    def weighted(self, chosen: np.ndarray, w: np.ndarray, largest: np.ndarray, base: float) -> Predictor:
        return MemberScores(self.keep(chosen), w, largest, base)


@dataclass(frozen=True, eq=False)
class Classifiers(AskedMembers):
    """Forests, bagging, AdaBoost of what is no tree: every member is a classifier, perhaps on some of the features."""

    members: Sequence
    features: Sequence | None

    def votes(self, X) -> np.ndarray:
        return np.array([self._vote(j, X) for j in range(len(self.members))])

    def _vote(self, j: int, X) -> np.ndarray:
        member = self.members[j]
        seen = X if self.features is None else X[:, self.features[j]]
        if hasattr(member, "predict_proba"):
            shares = member.predict_proba(seen)
            if shares.shape[1] == 2:
                return shares[:, 1] - shares[:, 0]
        # A bootstrap sample of one class, or a classifier without probabilities.
        return np.where(_codes(member.predict(seen), member) == 1, 1.0, -1.0)

    def keep(self, chosen: np.ndarray) -> Classifiers:
        features = None if self.features is None else [self.features[j] for j in chosen]
        return Classifiers([self.members[j] for j in chosen], features)

    def importances(self, n_features: int) -> np.ndarray:
        table = np.zeros((len(self.members), n_features))
        for j, member in enumerate(self.members):
            where = slice(None) if self.features is None else self.features[j]
            table[j, where] = getattr(member, "feature_importances_", 0.0)
        return table


def _codes(labels: np.ndarray, member) -> np.ndarray:
    """Forests give their trees the codes 0 and 1, whatever the classes are called."""
    classes = np.asarray(member.classes_)
    return np.asarray(labels).astype(int) if len(classes) == 1 else np.searchsorted(classes, labels)


@dataclass(frozen=True, eq=False)
class Stages(AskedMembers):
    """HistGradientBoosting with categories: its trees show as the steps of its staged scores."""

    model: object
    chosen: np.ndarray

    def votes(self, X) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")  # checked before
            scores = np.array([np.ravel(stage) for stage in self.model.staged_decision_function(X)])  # type: ignore[attr-defined]
        base = np.full((1, scores.shape[1]), np.ravel(self.model._baseline_prediction)[0])  # type: ignore[attr-defined]
        return np.diff(np.concatenate([base, scores]), axis=0)[self.chosen]

    def keep(self, chosen: np.ndarray) -> Stages:
        return replace(self, chosen=self.chosen[chosen])

    def importances(self, n_features: int) -> np.ndarray:
        return np.zeros((len(self.chosen), n_features))


@dataclass(frozen=True, eq=False)
class LightTrees(AskedMembers):
    """LightGBM with categories and the like: single-tree boosters."""

    members: Sequence

    def votes(self, X) -> np.ndarray:
        return np.array([member.predict(X, raw_score=True, num_threads=1) for member in self.members])

    def keep(self, chosen: np.ndarray) -> LightTrees:
        return LightTrees([self.members[j] for j in chosen])

    def importances(self, n_features: int) -> np.ndarray:
        return np.array([member.feature_importance("gain") for member in self.members]).reshape(-1, n_features)


@dataclass(frozen=True, eq=False)
class XGTrees(AskedMembers):
    """XGBoost with categories, on sparse tables and the like: single-tree boosters."""

    members: Sequence
    absent_is_missing: bool = True

    def votes(self, X) -> np.ndarray:
        from xgboost import DMatrix

        data = DMatrix(X, base_margin=np.zeros(X.shape[0]))
        return np.array(
            [member.predict(data, output_margin=True, validate_features=False) for member in self.members], np.float64
        )

    def keep(self, chosen: np.ndarray) -> XGTrees:
        return XGTrees([self.members[j] for j in chosen])

    def importances(self, n_features: int) -> np.ndarray:
        table = np.zeros((len(self.members), n_features))
        for j, member in enumerate(self.members):
            names = member.feature_names or [f"f{number}" for number in range(n_features)]
            for name, gain in member.get_score(importance_type="gain").items():
                table[j, names.index(name)] = gain
        return table


def members_of(ensemble, sparse: bool = False) -> Members:
    """The members of a fitted ensemble of a kind we know, for tables that are sparse or not."""
    ensemble = booster_of(ensemble)
    trees, absent_is_missing = raw_trees(ensemble), hasattr(ensemble, "save_raw")
    if trees is None or (sparse and absent_is_missing):
        return _asked(ensemble)
    return ReadTrees(trees, absent_is_missing)


def booster_of(ensemble):
    """What the scikit-learn classes of LightGBM and XGBoost hold; any other ensemble as it is."""
    ensemble = getattr(ensemble, "booster_", ensemble)
    return ensemble.get_booster() if hasattr(ensemble, "get_booster") else ensemble


def _asked(ensemble) -> AskedMembers:
    if hasattr(ensemble, "model_to_string"):
        single = [_light_tree(ensemble, t) for t in range(ensemble.num_trees())]
        return LightTrees(single)
    if hasattr(ensemble, "num_boosted_rounds"):
        return XGTrees([ensemble[t : t + 1] for t in range(ensemble.num_boosted_rounds())])
    if hasattr(ensemble, "staged_decision_function") and hasattr(ensemble, "_baseline_prediction"):
        return Stages(ensemble, np.arange(ensemble.n_iter_))
    if hasattr(ensemble, "estimators_"):
        listed = listed_members(ensemble)
        if all(hasattr(member, "classes_") for member in listed):
            return Classifiers(listed, getattr(ensemble, "estimators_features_", None))
    raise ValueError(
        "reweight needs a fitted forest, bagging or boosted classifier of scikit-learn, LightGBM or XGBoost, "
        f"not {type(ensemble).__name__}: fit it first, or give its votes as a matrix to solve."
    )


def _light_tree(booster, t: int):
    text = booster.model_to_string(num_iteration=1, start_iteration=t)
    return type(booster)(model_str=text)


@dataclass(frozen=True, eq=False)
class FittedMembers(ChecksSparse):
    """The members of a fitted ensemble and the constant vote, as a class of hypotheses."""

    members: Members

    def check_sparse(self, X) -> None:
        if not self.members.absent_is_missing:
            return
        if isinstance(self.members, ReadTrees):
            raise ValueError(
                "The ensemble was reweighted on a dense table, and what a sparse one does not list is missing to "
                "XGBoost and 0 here: give a dense table, with NaN for what is missing."
            )
        X = sp.csr_array(X)
        if X.count_nonzero() < X.nnz:
            raise ValueError(
                "X lists zeros, which are values to XGBoost, and 0 is what is not listed here: call "
                "X.eliminate_zeros() if they are missing too, else give a dense table with NaN for what is missing."
            )

    def bind(self, X, y: np.ndarray | None, rows: Rows) -> MembersOracle:
        if y is None:
            raise ValueError("Members of an ensemble need labels: bind(X, y, rows) with a y of +1 and -1.")
        votes = self.members.votes(X)
        largest = np.maximum(np.abs(votes).max(axis=1), np.finfo(np.float64).tiny)
        table = np.concatenate([np.clip(votes / largest[:, None], -1, 1), np.ones((1, len(y)))])
        return MembersOracle(self.members, largest, Matrix().bind(table.T, y, rows))


class MembersOracle(Oracle):
    """The votes as a matrix; its last column is the constant."""

    def __init__(self, members: Members, largest: np.ndarray, table: Oracle):
        self.members, self.largest, self.table, self.rows = members, largest, table, table.rows

    def best(self, d: np.ndarray, k: int = 1) -> Answer:
        return self.table.best(d, k)

    def column(self, hypothesis: int) -> np.ndarray:
        return self.table.column(hypothesis)

    def margins(self, hypotheses: Sequence[int], w: np.ndarray) -> np.ndarray:
        return self.table.margins(hypotheses, w)

    def predictor(self, hypotheses: Sequence[int], w: np.ndarray) -> Predictor:
        chosen, w = np.asarray(hypotheses, dtype=np.intp), np.asarray(w, dtype=np.float64)
        voting = chosen < len(self.largest)
        base = float(w[~voting].sum())
        kept = chosen[voting]
        return self.members.weighted(kept, w[voting], self.largest[kept], base)

    def forget(self) -> None:
        self.table.forget()


@dataclass(frozen=True, eq=False)
class MemberScores(Predictor):
    """The members that were kept, and their weights."""

    members: AskedMembers
    weights: np.ndarray
    largest: np.ndarray
    """The largest raw vote of each member on the rows it was weighted on."""
    base: float

    def __len__(self) -> int:
        return len(self.weights)

    def scores(self, X, threads: int = 1) -> np.ndarray:
        if not len(self.weights):
            return np.full(X.shape[0], self.base)
        votes = self.members.votes(X) / self.largest[:, None]
        return self.base + self.weights @ np.clip(votes, -1, 1)

    def importances(self, n_features: int) -> np.ndarray:
        if not len(self.weights):
            return np.zeros(n_features)
        own = self.members.importances(n_features)
        own = own / np.maximum(own.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        share = np.abs(self.weights) @ own
        return share / max(share.sum(), np.finfo(np.float64).tiny)
