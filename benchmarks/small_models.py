"""`python -m benchmarks.small_models`: test error against size, for small certified votes and for the usual ensembles.

Each data set is split five times, three quarters to train on. Size is the number of leaves of all trees. The reweighted
ensembles are grown on two thirds of the training rows and weighted on the rest; the ensembles they are compared with
are grown on all of them. No parameter is chosen by data set, and none by looking at a test row.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import mean
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from benchmarks.real_data import TABLES, table
from benchmarks.timing import progress
from dualboost import LPBoostClassifier, MarginBoostClassifier, reweight
from dualboost.learners import Trees
from dualboost.learners.leaf_scores import LeafScores
from dualboost.learners.stumps import StumpScores
from dualboost.learners.tree_scores import TreeScores

Fit = Callable[[np.ndarray, np.ndarray], "Fitted"]


@dataclass(frozen=True)
class Fitted:
    """A model, and what it costs to keep it."""

    model: Any
    trees: int
    leaves: int


def trees(depth: int) -> Fit:
    def fit(X: np.ndarray, y: np.ndarray) -> Fitted:
        model = MarginBoostClassifier(learner=Trees(max_depth=depth), calibrate=False, random_state=0).fit(X, y)
        vote = model.predictor_
        assert isinstance(vote, TreeScores)
        return Fitted(model, len(vote.weights), int(np.count_nonzero(vote.nodes[:, 0] < 0)))

    return fit


def stumps(X: np.ndarray, y: np.ndarray) -> Fitted:
    model = LPBoostClassifier(calibrate=False, random_state=0).fit(X, y)
    assert isinstance(model.predictor_, StumpScores)
    cuts = len(model.predictor_.cuts)
    return Fitted(model, cuts, 2 * cuts)


def xgboost(X: np.ndarray, y: np.ndarray) -> Fitted:
    from xgboost import XGBClassifier

    model = XGBClassifier(n_jobs=1).fit(X, y)
    leaves = int((model.get_booster().trees_to_dataframe()["Feature"] == "Leaf").sum())
    return Fitted(model, model.get_booster().num_boosted_rounds(), leaves)


def lightgbm(X: np.ndarray, y: np.ndarray) -> Fitted:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_jobs=1, verbose=-1).fit(X, y)
    trees = model.booster_.dump_model()["tree_info"]
    return Fitted(model, len(trees), sum(tree["num_leaves"] for tree in trees))


def forest(X: np.ndarray, y: np.ndarray) -> Fitted:
    model = RandomForestClassifier(300, random_state=0).fit(X, y)
    return Fitted(model, 300, sum(tree.tree_.n_leaves for tree in model.estimators_))


def reweighted(grow: Fit) -> Fit:
    def fit(X: np.ndarray, y: np.ndarray) -> Fitted:
        grown, kept, y_grown, y_kept = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)
        whole = grow(grown, y_grown)
        small = reweight(whole.model, kept, y_kept)
        vote = small.predictor_
        assert isinstance(vote, LeafScores)
        return Fitted(small, len(vote), int(np.count_nonzero(vote.feature < 0)) - 1)  # the constant is no tree

    return fit


CONTENDERS: dict[str, Fit] = {
    "stumps, LPBoost": stumps,
    "trees of depth 2": trees(2),
    "trees of depth 3": trees(3),
    "XGBoost": xgboost,
    "XGBoost, reweighted": reweighted(xgboost),
    "LightGBM": lightgbm,
    "LightGBM, reweighted": reweighted(lightgbm),
    "random forest": forest,
    "random forest, reweighted": reweighted(forest),
}


Scores = tuple[float, float, float]


def scores(name: str, splits: int, contenders: list[str]) -> dict[str, Scores]:
    """Mean test error in %, trees and leaves of the contenders on one data set."""
    X, y = table(name)
    found: dict[str, list[Scores]] = {who: [] for who in contenders}
    for seed in range(splits):
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
        for who in contenders:
            fitted = CONTENDERS[who](train, y_train)
            error = 100 * float(np.mean(fitted.model.predict(test) != y_test))
            found[who].append((error, fitted.trees, fitted.leaves))
    return {who: averaged(values) for who, values in found.items()}


def averaged(values: Iterable[Scores]) -> Scores:
    error, trees, leaves = (mean(column) for column in zip(*values, strict=True))
    return error, trees, leaves


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small_models", description=__doc__)
    small = [name for name in TABLES if name not in ("madelon", "adult")]
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=small)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore", category=ConvergenceWarning)  # a path of nu tries small ones
    rows = {}
    print("Test error in %, trees, leaves: means over splits.\n")
    print("| data | " + " | ".join(options.contenders) + " |")
    print("|---" * (len(options.contenders) + 1) + "|")
    for name in options.tables:
        progress(name)
        rows[name] = scores(name, options.splits, options.contenders)
        print(line(name, rows[name]), flush=True)
    print(line("mean", {who: averaged(row[who] for row in rows.values()) for who in options.contenders}))


def line(name: str, row: dict[str, Scores]) -> str:
    cells = (f"{error:.1f}, {trees:.0f}, {leaves:.0f}" for error, trees, leaves in row.values())
    return f"| {name} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main(sys.argv[1:])
