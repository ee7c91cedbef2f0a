"""What to call the features of a model."""

from __future__ import annotations

__all__ = ["feature_names"]


def feature_names(model) -> tuple[str, ...]:
    """Their names in the training data frame, or their numbers."""
    names = getattr(model, "feature_names_in_", None)
    return tuple(f"feature {j}" for j in range(model.n_features_in_)) if names is None else tuple(map(str, names))
