"""A linear vote to begin with: what a straight line explains, trees need not learn in steps.

The columns are the places of the bins, standardised, or the categories one by one, so that the vote is a step function
of each feature and knows what to do with missing values. All bags move at once. A round minimises a quadratic that lies
above the bounded loss and touches it: the curvature of the loss is at most a quarter of the Gram matrix. That is the
parallel step of Krause & Singer with the whole matrix in the place of its largest singular value, and as sure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dualboost.data import MISSING, Bins
from dualboost.estimators.bag_fits import Bags
from dualboost.estimators.bagging import loss_where, mean_margins
from dualboost.estimators.folds import sampled
from dualboost.estimators.noise_rate import TIE
from dualboost.fingerprints import count_distinct
from dualboost.learners.leaf_trees import LeafOracle
from dualboost.learners.step_functions import step_scores
from dualboost.learners.stumps import StumpScores
from dualboost.losses import LogisticMixture
from dualboost.losses.logistic_difference import bounded_slope
from dualboost.rows import Rows

__all__ = ["Design", "LinearVotes", "design_of", "linear_votes"]

_RIDGES = (100.0, 10.0, 1.0)  # as many copies of a row would pull a weight to 0
_ROUNDS = 15  # for each ridge, at most
_SETTLED = 1e-3  # of a weight that no round changes any more
_FREE = 1e-3  # the ridge of the constant, as a part of the others
_FARTHEST = 3.0  # standard deviations: what lies beyond is pulled in
_MOST_COLUMNS = 500
_MOST_CATEGORIES = 1000  # in all columns together
_MOST_ROWS = 20_000  # more would not make a few weights better
_CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of a linear vote, each a function of the bin of one feature; the last is the constant."""

    features: np.ndarray
    tables: np.ndarray
    """One row a column: its value for each code."""

    def of(self, codes: np.ndarray) -> np.ndarray:
        """The columns for rows of these codes."""
        return self.tables[np.arange(len(self.features)), codes[:, self.features]]

    def votes(self, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """One line of votes for each line of weights; not all columns are held at once."""
        chunks = [codes[at : at + _CHUNK] for at in range(0, len(codes), _CHUNK)]
        return np.concatenate([self.of(chunk) @ weights.T for chunk in chunks]).T

    def predictor(self, oracle: LeafOracle, weights: np.ndarray) -> StumpScores:
        """The vote of these weights as step functions of the features."""
        bins, features, steps, missing, size = oracle.bins, np.unique(self.features[:-1]), [], [], []
        for feature in features.tolist():
            own = np.flatnonzero(self.features[:-1] == feature)
            table = weights[own] @ self.tables[own]
            if feature in oracle.categories:
                steps.append(oracle.categories[feature].steps(table, float(table[MISSING])))
            else:
                cuts = bins.cuts[bins.cut_start[feature] : bins.cut_start[feature + 1]]
                steps.append((cuts, table[: len(cuts) + 1]))
            missing.append(table[MISSING])
            size.append(float(np.abs(weights[own]).sum()))
        return step_scores(float(weights[-1]), features, steps, missing, size)


@dataclass(frozen=True, eq=False)
class LinearVotes:
    """A linear vote of each bag."""

    design: Design
    weights: np.ndarray
    """(bags, columns)."""
    margins: np.ndarray
    """(bags, rows)."""

    def predictor(self, oracle: LeafOracle, scale: float) -> StumpScores:
        """The mean vote of the bags, scaled."""
        return self.design.predictor(oracle, scale * self.weights.mean(axis=0))


def linear_votes(oracle: LeafOracle, bags: Bags, prints: np.ndarray, loss: LogisticMixture) -> LinearVotes | None:
    """The vote of each bag, with the ridge that does best on rows left out; None where there are too many columns."""
    many = sum(found.count for found in oracle.categories.values())
    if oracle.bins.n_features > _MOST_COLUMNS or many > _MOST_CATEGORIES:
        return None
    rows, kept = oracle.rows, sampled(prints, len(bags), _MOST_ROWS)
    design = design_of(oracle, kept)
    part = Rows.of(np.ascontiguousarray(rows.prior[kept]))
    descent = _Descent(design.of(oracle.codes[kept]), oracle.y[kept], Bags(bags.inside[:, kept]), part, loss)
    weights, least, distinct = descent.weights, np.inf, count_distinct(prints[kept])
    for ridge in _RIDGES:
        found = descent.descended(ridge / distinct)
        if found >= least - TIE:
            break
        least, weights = found, descent.weights
    return LinearVotes(design, weights, oracle.y * design.votes(oracle.codes, weights))


def design_of(oracle: LeafOracle, kept: np.ndarray) -> Design:
    """One column for a number, one for its absence where some are missing, one for each category; a constant."""
    bins, codes, prior = oracle.bins, oracle.codes[kept], oracle.rows.prior[kept]
    features, tables = [], []
    for feature in np.flatnonzero(bins.stored).tolist():
        mass = np.bincount(codes[:, feature], prior, minlength=MISSING + 1)
        named = feature in oracle.categories
        alone = np.flatnonzero(mass if named else np.where(np.arange(len(mass)) < MISSING, 0.0, mass))
        columns = [np.arange(MISSING + 1) == code for code in alone]
        if not named:
            columns.append(_places(bins, feature))
        for column in columns:
            features.append(feature)
            tables.append(_standardised(column.astype(np.float64), mass))
    return Design(np.array([*features, 0]), np.array([*tables, np.ones(MISSING + 1)]))


def _places(bins: Bins, feature: int) -> np.ndarray:
    """Where each bin lies, halfway between its cuts; NaN for what is missing."""
    out = np.full(MISSING + 1, np.nan)
    cuts = bins.cuts[bins.cut_start[feature] : bins.cut_start[feature + 1]]
    if len(cuts) < 2:
        out[:2] = -1.0, 1.0
        return out
    cuts = cuts / np.abs(cuts).max()
    ends = 1.5 * cuts[0] - cuts[1] / 2, 1.5 * cuts[-1] - cuts[-2] / 2
    out[: len(cuts) + 1] = [ends[0], *((cuts[1:] + cuts[:-1]) / 2), ends[1]]
    return out


def _standardised(table: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Mean 0 and variance 1 over rows of this mass a code, twice: far values are pulled in first. NaN is the mean."""
    known = ~np.isnan(table)
    share = np.where(known, mass, 0.0) / max(float(mass[known].sum()), np.finfo(np.float64).tiny)
    values = np.where(known, table, 0.0)
    for _ in range(2):
        centred = values - share @ values
        spread = float(np.sqrt(share @ centred**2))
        values = np.clip(centred / spread if spread > 0 else 0 * centred, -_FARTHEST, _FARTHEST)
    return np.where(known, values, 0.0)


class _Descent:
    """The weights of all bags, one line each, on the way down a path of ridges."""

    def __init__(self, table: np.ndarray, signs: np.ndarray, bags: Bags, rows: Rows, loss: LogisticMixture):
        self.table, self.bags, self.loss = signs[:, None] * table, bags, loss.bind(rows)
        inside = bags.inside * rows.prior
        self.prior = inside / inside.sum(axis=1, keepdims=True)
        # No bag gives a row more than this many times its share: one matrix is above the curvature of all of them.
        self.gram = (self.table.T * rows.prior) @ self.table * (self.prior / rows.prior).max() / 4
        self.weights = np.zeros((len(bags), table.shape[1]))

    def descended(self, ridge: float) -> float:
        """Some rounds with this ridge from where the weights are; the loss on rows left out."""
        ridges = np.full(self.table.shape[1], ridge)
        ridges[-1] *= _FREE
        factor = cho_factor(self.gram + np.diag(ridges))
        for _ in range(_ROUNDS):
            slopes = self.prior * bounded_slope(self.weights @ self.table.T, self.loss.mu)
            step = cho_solve(factor, (slopes @ self.table - ridges * self.weights).T).T
            self.weights = self.weights + step
            if np.abs(step).max() <= _SETTLED:
                break
        margins = mean_margins(self.weights @ self.table.T, self.bags)
        return loss_where(self.loss, margins, self.bags.times_out > 0)
