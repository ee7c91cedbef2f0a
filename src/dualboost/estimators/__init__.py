"""scikit-learn classes: they choose the parts, play the game and keep flat arrays."""

from dualboost.estimators.margin import MarginBoostClassifier

__all__ = ["MarginBoostClassifier"]
