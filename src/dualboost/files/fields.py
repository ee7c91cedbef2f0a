"""What a model file may say besides parameters: a closed list of fields, each with what its value must be.

A record sets nothing else: scikit-learn writes some attributes of an estimator into a page as they are. And of a value
of another type nobody would hear before a curve is drawn, in words that do not name the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any

import numpy as np

from dualboost.estimators.bagging import Average
from dualboost.estimators.base import BoostedClassifier
from dualboost.estimators.calibration import Link, Sigmoid, Softmax, Steps
from dualboost.game import Certificate
from dualboost.learners import Predictor
from dualboost.learners.class_stumps import ClassScores
from dualboost.learners.leaf_scores import LeafScores
from dualboost.learners.matrix import MatrixScores
from dualboost.learners.nzdd.boxes import BoxScores
from dualboost.learners.stumps import StumpScores
from dualboost.learners.tree_scores import TreeScores
from dualboost.learners.union import SumScores
from dualboost.learners.words import WordScores

__all__ = ["FITTED", "PREDICTORS", "check_fields", "check_known"]

Check = Callable[[Any], bool]

PREDICTORS = (
    StumpScores,
    MatrixScores,
    TreeScores,
    BoxScores,
    LeafScores,
    SumScores,
    WordScores,
    ClassScores,
    Average,
)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _of_kind(kind: type | tuple[type, ...]) -> Check:
    return lambda value: isinstance(value, kind)


def _one_or_list(check: Check) -> Check:
    """Of two classes one, of several a list of one for each."""
    return lambda value: all(map(check, value)) if isinstance(value, list) else check(value)


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, (list, tuple)) and all(map(check, value))


def _table_of(check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(_is_text, value)) and all(map(check, value.values()))


def _array(kind: type, *dimensions: int) -> Check:
    """Of this type, or of one that it can hold: Python and the kernels must see the same numbers."""
    wanted, kinds = np.dtype(kind), "iu" if issubclass(kind, np.integer) else "iuf"

    def check(value: Any) -> bool:
        if not isinstance(value, np.ndarray) or value.ndim not in dimensions:
            return False
        return value.dtype is wanted or (value.dtype.kind in kinds and np.can_cast(value.dtype, wanted))

    return check


def _are_classes(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and len(value) >= 2


def _are_names(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype == object and all(map(_is_text, value))


def _is_box(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(side, tuple) and _is_side(*side) for side in value)


def _is_side(feature: Any = None, low: Any = None, high: Any = None, *others: Any) -> bool:
    return _is_whole(feature) and _is_number(low) and _is_number(high) and not others


_vector, _codes, _places = _array(np.float64, 1), _array(np.uint8, 1), _array(np.int64, 1)
_columns = _array(np.int32, 1)
_vote, _votes = _of_kind(PREDICTORS), _list_of(_of_kind(Predictor))

FITTED: Mapping[str, Check] = {
    "bounds_": _one_or_list(_table_of(_is_text)),
    "categories_": _table_of(_list_of(_of_kind((str, bool, int, float)))),
    "certificate_": _of_kind(Certificate),
    "classes_": _are_classes,
    "column_names_": _list_of(_is_text),
    "estimators_": _list_of(_of_kind(BoostedClassifier)),
    "feature_importances_": _vector,
    "feature_names_in_": _are_names,
    "history_": _one_or_list(_table_of(_vector)),
    "label_noise_": _vector,
    "link_": _of_kind(Link),
    "loss_history_": _one_or_list(_vector),
    "margins_": _array(np.float64, 1, 2),
    "members_": _list_of(_vote),
    "n_features_in_": _is_whole,
    "n_iter_": _is_whole,
    "noise_rate_": _is_number,
    "nu_": _is_number,
    "oob_margins_": _vector,
    "predictor_": _vote,
    "sample_distribution_": _array(np.float64, 1, 2),
    "stages_": _places,
    "status_": _is_text,
    "steps_": _vector,
}
"""What a fit gives a classifier."""

_PARTS: Mapping[str, Check] = {
    **dict.fromkeys(("base", "bound", "objective", "scale", "slope"), _is_number),
    **dict.fromkeys(("feature", "features", "left", "mask", "named", "right"), _columns),
    **dict.fromkeys(("cut_start", "name_start", "roots", "start"), _places),
    **dict.fromkeys(("met_missing", "missing_right", "name_codes"), _codes),
    **dict.fromkeys(("cuts", "levels", "missing", "names", "probabilities", "scores", "share", "tables"), _vector),
    **dict.fromkeys(("threshold", "value", "weight", "weights"), _vector),
    "boxes": _list_of(_is_box),
    "masks": _array(np.uint8, 2),
    "nodes": _array(np.int32, 2),
    "parts": _votes,
}
"""What a fit is made of: a name says the same in every kind of vote."""

_RULES: dict[type, Mapping[str, Check]] = {
    **{kind: {f.name: _PARTS[f.name] for f in fields(kind)} for kind in (*PREDICTORS, Certificate)},
    **{kind: {f.name: _PARTS[f.name] for f in fields(kind)} for kind in (Sigmoid, Softmax, Steps)},
}
_RULES[WordScores] = {**_RULES[WordScores], "weights": _array(np.float64, 2)}


def _are_trees(vote: LeafScores) -> bool:
    """Whether tree follows tree, and all that is named is there: the kernels do not look at what leaves name."""
    count, children = len(vote.feature), np.concatenate([vote.left, vote.right])
    follow = len(vote.weight) == len(vote.roots) and np.all(np.diff(vote.roots, prepend=-1, append=count) > 0)
    first = not count or (len(vote.roots) > 0 and vote.roots[0] == 0)
    named = np.all((children >= -1) & (children < count))
    return bool(follow and first and named and not np.isnan(vote.threshold[vote.feature >= 0]).any())


def check_fields(value: Any, where: str) -> None:
    """Refuse a model, or what it is made of, in which a field is of another type than a fit gives."""
    if isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            check_fields(part, f"{where}.{i}")
        return
    rules = FITTED if isinstance(value, BoostedClassifier) else _RULES.get(type(value), {})
    own = vars(value) if rules else {}
    for name, check in rules.items():
        if name not in own:
            continue
        part = own[name]
        if not check(part):
            raise ValueError(f"{where}.{name} is not what a fit gives, but {_named(part)}")
        if not isinstance(part, np.ndarray):  # as most are, and there may be thousands of votes
            check_fields(part, f"{where}.{name}")
    if isinstance(value, LeafScores) and not _are_trees(value):
        raise ValueError(f"{where} holds no trees")


def _named(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with {value.ndim} dimensions"
    return f"a {type(value).__name__}"


def check_known(model: BoostedClassifier, where: str) -> None:
    """Refuse to keep what would not be read again."""
    known = {*model.get_params(deep=False), *FITTED}
    others = [name for name in vars(model) if not (name in known or name.startswith("_"))]
    if others:
        raise ValueError(
            f"{where}.{others[0]} is neither a parameter nor what a fit gives, and a model file keeps nothing else: "
            "delete it, or give it to save_model among the notes."
        )
    for i, part in enumerate(getattr(model, "estimators_", ())):
        check_known(part, f"{where}.estimators_.{i}")
