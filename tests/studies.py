"""Small studies to make reports of, one of them with hostile names and cells."""

from __future__ import annotations

import numpy as np

from dualboost import MarginBoostClassifier, diagnose
from dualboost.estimators.held_out import held_out
from dualboost.report import Study, Suspect

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
FORMULA = '=HYPERLINK("http://evil.example","x")'
ROWS, FEATURES = 240, 5


def data(labels=("no", "yes")):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES))
    X[::17, 2] = np.nan
    codes = (X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=ROWS) > 0).astype(int)
    return X, np.array(labels)[codes]


def study(labels=("no", "yes"), names=None, suspects=None, model=None) -> Study:
    X, y = data(labels)
    model = (model or MarginBoostClassifier(0.3, max_iter=60, random_state=0)).fit(X, y)
    judged = held_out(model, X, y, 3)
    names = names or tuple(f"feature {j}" for j in range(FEATURES))
    if suspects is None:
        suspects = tuple(
            Suspect(k, "no", "yes", 0.9 - k / 10, -k / 7, "feature 0", {names[0]: str(k), names[1]: FORMULA, "id": "7"})
            for k in (3, 1, 2)
        )
    origin = {"Data": "memory", "Odd": HOSTILE}
    return Study("A study", model, y, names, judged, suspects, 0.05, origin, ("dualboost predict m new.csv",))


def several_study() -> Study:
    """Three classes, one of them with a hostile name."""
    X, _ = data()
    y = np.array(["low", HOSTILE, "high"])[np.digitize(X[:, 0], [-0.5, 0.6])]
    model = MarginBoostClassifier(0.3, max_iter=30, random_state=0).fit(X, y)
    names = tuple(f"feature {j}" for j in range(FEATURES))
    suspects = (Suspect(1, "low", HOSTILE, 0.5, -0.1, "feature 0", {names[0]: "1"}),)
    found = {f"{label} against the rest": diagnose(np.nan_to_num(X), y == label) for label in model.classes_}
    return Study("Several", model, y, names, held_out(model, X, y, 2), suspects, 0.05, {}, diagnoses=found)


def hostile_study() -> Study:
    """Scripts and formulas wherever a user can put text."""
    names = (HOSTILE, "</title><script>alert(3)</script>", "</svg>", "a = b", "x" * 500)
    cells = {HOSTILE: HOSTILE, "a = b": FORMULA}
    return study((HOSTILE, "yes"), names, (Suspect(1, HOSTILE, "yes", 0.5, -0.1, HOSTILE, cells),))
