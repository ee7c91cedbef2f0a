"""Rows to judge a run by: given as an `eval_set`, or held out by their content, so that equal rows stay together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dualboost.estimators.training import Training
from dualboost.estimators.validation import TrainingData, further_data
from dualboost.fingerprints import fingerprints

__all__ = ["held_out_rows", "with_held_out"]


def with_held_out(estimator, data: TrainingData, eval_set, training: Training) -> TrainingData:
    """The data with the rows to judge by, if any were given or asked for."""
    if eval_set is not None:
        return replace(data, held_out=_given(estimator, data, eval_set))
    if training.validation_fraction is None:
        return data
    out = held_out_rows(data.X, data.codes, training.validation_fraction)
    if not out.any():
        raise ValueError(
            f"validation_fraction = {training.validation_fraction:g} holds none of these rows out: "
            "raise it, or give fit an eval_set."
        )
    return replace(data.only(~out), held_out=data.only(out))


def _given(estimator, data: TrainingData, eval_set) -> TrainingData:
    """(X, y) or (X, y, sample_weight); also as the only one of a list, as other libraries want it."""
    if isinstance(eval_set, (list, tuple)) and len(eval_set) == 1:
        eval_set = eval_set[0]
    if not (isinstance(eval_set, (list, tuple)) and len(eval_set) in (2, 3)) or isinstance(eval_set[0], tuple):
        raise ValueError("eval_set must be (X, y) or (X, y, sample_weight).")
    X, y, weights = (*eval_set, None)[:3]
    try:
        return further_data(estimator, X, y, weights, data.classes)
    except ValueError as error:
        raise ValueError(f"eval_set: {error}") from error


def held_out_rows(X, codes: np.ndarray, fraction: float) -> np.ndarray:
    """A mask: about this share of the different rows of each class, and rows of each class left."""
    _, group = np.unique(fingerprints(X, np.random.RandomState(0)), return_inverse=True)
    label = np.full(group.max() + 1, np.iinfo(np.intp).max)
    np.minimum.at(label, group, codes)  # copies of a row may have different labels
    out = np.zeros(len(label), dtype=bool)
    for k in np.unique(label):
        members = np.flatnonzero(label == k)  # in the order of the fingerprints, which is a random one
        out[members[: min(round(fraction * len(members)), len(members) - 1)]] = True
    for k in np.unique(codes):
        own = group[codes == k]  # among rows of another class perhaps, all of which may be out
        if out[own].all():
            out[own.min()] = False
    return out[group]
