"""Writes the model files that must load for ever: `python tests/golden.py`, once for every version of the format.

What is there is never written again: a file shows what a version wrote, not what this one would write.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier

from dualboost import reweight, save_model
from dualboost.files.model import _VERSION, MODELS
from dualboost.learners import NZDD, LeafTrees, Matrix, SklearnLearner, Stumps, Subsets, Trees, Union, Words
from dualboost.learners.nzdd import Conjunctions, Intervals, Thresholds
from fitted import bits, coded, counts, quick

FOLDER = Path(__file__).parent / "golden"
X, Y = make_classification(48, 4, n_informative=3, n_redundant=0, random_state=2)
X[::9, 1] = np.nan
WHOLE = np.nan_to_num(X)
THREE = np.array(["a", "b", "ß"])[Y + (X[:, 0] > 0.5)]
SINCE = {"SklearnLearner": 3}
"""Records that older versions could not keep."""


def small(kind: str, **others):
    return quick(kind, **{"max_iter": 8, "n_estimators": 8, "bags": 2, "nu": 0.5, **others})


def margin(**others):
    return small("MarginBoostClassifier", **others)


def steps_of_probability():
    """A link of straight pieces needs many rows; the file should be small all the same."""
    x = np.random.default_rng(0).normal(size=(2500, 1))
    model = margin().fit(x, x[:, 0] + np.random.default_rng(1).normal(size=2500) > 0)
    model.margins_, model.sample_distribution_ = model.margins_[:5], model.sample_distribution_[:5]
    return model, x


def of_a_frame():
    town = pd.Categorical(np.array(["Köln", "Oslo", "Łódź"])[np.arange(48) % 3])
    frame = pd.DataFrame({"größe": WHOLE[:, 0], "Stadt": town})
    return margin().fit(frame, (frame["größe"] > 0) | (frame["Stadt"] == "Oslo")), frame.astype({"Stadt": str})


def one_coded(rows: np.ndarray) -> np.ndarray:
    """Categories in the last column alone: some trees split them, others do not."""
    return np.column_stack([rows[:, :3], coded(rows[:, 3])])


CASES = {
    **{kind: lambda kind=kind: (small(kind).fit(X, Y), X) for kind in MODELS},
    "three": lambda: (margin().fit(X, THREE), X),
    "pairs": lambda: (margin(multiclass="pairs").fit(X, THREE), X),
    "steps": steps_of_probability,
    "subsets": lambda: (margin(learner=Subsets()).fit(coded(X), Y), coded(X)),
    "categories": lambda: (margin(learner=Stumps(categorical=(0, 2))).fit(coded(X), Y), coded(X)),
    "tree-categories": lambda: (margin(learner=Trees(2, categorical=(0, 1))).fit(coded(X), Y), coded(X)),
    "leaf-trees": lambda: (small("LogisticMixtureClassifier", learner=LeafTrees(5)).fit(X, Y), X),
    "leaf-categories": lambda: (
        small("LogisticMixtureClassifier", bags=0, learner=LeafTrees(5, categorical=(0, 1))).fit(coded(X), Y),
        coded(X),
    ),
    "linear": lambda: (margin(learner=Matrix()).fit(np.clip(WHOLE / 5, -1, 1), Y), np.clip(WHOLE / 5, -1, 1)),
    "words": lambda: (margin(learner=Words((0, 1))).fit(counts(WHOLE), Y), counts(WHOLE)),
    "union": lambda: (margin(learner=Union((Trees(2), Words()))).fit(counts(WHOLE), Y), counts(WHOLE)),
    "intervals": lambda: (small("FrankWolfeBoostClassifier", learner=NZDD(Intervals())).fit(X, Y), X),
    "thresholds": lambda: (small("FrankWolfeBoostClassifier", learner=NZDD(Thresholds())).fit(X, Y), X),
    "boxes": lambda: (
        small("FrankWolfeBoostClassifier", nu=0.8, learner=NZDD(Conjunctions(2))).fit(bits(WHOLE), Y),
        bits(WHOLE),
    ),
    "frame": of_a_frame,
    "rounds-of-trees": lambda: (small("AdaBoostClassifier", learner=Trees(2)).fit(X, Y), X),
    "rounds-of-categories": lambda: (
        small("AdaBoostClassifier", learner=Trees(2, categorical=(3,))).fit(one_coded(X), Y),
        one_coded(X),
    ),
    "rounds-of-a-union": lambda: (
        small("LogisticBoostClassifier", learner=Union((Trees(2), Words()))).fit(counts(WHOLE), Y),
        counts(WHOLE),
    ),
    "rounds-of-three": lambda: (small("AdaBoostClassifier").fit(X, THREE), X),
    "trees-of-scikit-learn": lambda: (
        small("AdaBoostClassifier", learner=SklearnLearner(DecisionTreeClassifier(max_depth=2, random_state=0))).fit(
            X, Y
        ),
        X,
    ),
    "reweighted": lambda: (
        reweight(RandomForestClassifier(8, max_depth=3, random_state=0).fit(X[::2], Y[::2]), X, Y, nu=0.5),
        X,
    ),
    "monotone": lambda: (margin(learner=Stumps(monotone=((0, 1),))).fit(X, Y), X),
}


def _with_none(rows: np.ndarray) -> list:
    return [[None if np.isnan(v) else float(v) for v in row] for row in rows]


def write(name: str) -> None:
    path = FOLDER / f"{name}-{_VERSION}.dualboost"
    if path.exists():
        return
    model, rows = CASES[name]()
    rows = rows[:8]
    said = {
        **({"frame": rows.to_dict("list")} if isinstance(rows, pd.DataFrame) else {"X": _with_none(rows)}),
        "scores": model.decision_function(rows).tolist(),
        "labels": model.predict(rows).tolist(),
        "probabilities": model.predict_proba(rows).tolist(),
    }
    if hasattr(model, "staged_decision_function"):
        said["stages"] = [scores.tolist() for scores in model.staged_decision_function(rows)]
    save_model(model, path)
    path.with_suffix(".json").write_text(json.dumps(said), "utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in CASES:
        write(name)
