"""Who takes part in the comparisons on noisy labels: name -> a fresh classifier; those not installed are left out."""

from __future__ import annotations

from importlib.util import find_spec

from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dualboost import LogisticMixtureClassifier, MarginBoostClassifier

__all__ = ["contenders", "peers"]


def peers(seed: int) -> dict:
    """The others, with their defaults; missing values are filled in where they cannot have any."""
    made = {
        "AdaBoost": make_pipeline(SimpleImputer(), AdaBoostClassifier(random_state=seed)),
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=seed),
        "random forest": RandomForestClassifier(random_state=seed, n_jobs=1),
        "logistic regression": make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000)),
    }
    if find_spec("lightgbm"):
        import lightgbm

        made["LightGBM"] = lightgbm.LGBMClassifier(n_jobs=1, verbose=-1, random_state=seed)
    if find_spec("xgboost"):
        import xgboost

        made["XGBoost"] = xgboost.XGBClassifier(n_jobs=1, random_state=seed)
    return made


def contenders(seed: int) -> dict:
    """Ours first: the default for noisy labels, and the convex competitor on the capped set."""
    ours = {
        "LogisticMixture": LogisticMixtureClassifier(random_state=seed),
        "MarginBoost": MarginBoostClassifier(random_state=seed, tol=0.1, max_iter=300, calibrate=False),
    }
    return ours | peers(seed)
