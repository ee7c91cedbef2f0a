"""The trees of fitted forests and boosters of other libraries, as trees of our own that say the same of raw values.

Where a model asks what ours cannot (categories, zeros that count as missing), there is None: it must be asked itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from dualboost.learners.raw_trees import RawTree, of_single_precision, scikit_tree

__all__ = ["check_single_vote", "listed_members", "raw_trees"]


def raw_trees(ensemble: Any) -> list[RawTree] | None:
    """Every tree of the ensemble, saying its vote for the second class; None where one of them cannot be read."""
    if hasattr(ensemble, "save_raw"):
        learner = json.loads(ensemble.save_raw("json"))["learner"]
        counts = (int(learner["learner_model_param"].get(name, 1)) for name in ("num_class", "num_target"))
        check_single_vote(max(counts))
        return _of_xgboost(learner["gradient_booster"])
    if hasattr(ensemble, "dump_model"):
        model = _dumped(ensemble)
        check_single_vote(model["num_tree_per_iteration"])
        return _all(_of_lightgbm(tree["tree_structure"]) for tree in model["tree_info"])
    if hasattr(ensemble, "_predictors"):
        # Where a column holds categories, all columns are put into another order first.
        plain = getattr(ensemble, "is_categorical_", None) is None
        return [_of_histograms(tree.nodes) for stage in ensemble._predictors for tree in stage] if plain else None
    if not hasattr(ensemble, "estimators_"):
        return None
    members = listed_members(ensemble)
    columns = getattr(ensemble, "estimators_features_", [None] * len(members))
    return _all(_of_scikit_learn(member, own) for member, own in zip(members, columns, strict=True))


def listed_members(ensemble: Any) -> list:
    """Those of gradient boosting stand in a table. Members may be ensembles themselves, which NumPy would unroll."""
    rows = ensemble.estimators_
    return [member for row in rows for member in (row if isinstance(row, np.ndarray) else [row])]


def check_single_vote(count: int) -> None:
    """One for all classes, whose sign is the answer."""
    if count > 1:
        raise ValueError(
            f"reweight is for a single vote on two classes; the ensemble has {count}, of several classes or labels: "
            "fit it to two classes, with a binary objective."
        )


def _all(found: Iterable[RawTree | None]) -> list[RawTree] | None:
    listed = list(found)
    read = [tree for tree in listed if tree is not None]
    return read if len(read) == len(listed) else None


# ---- scikit-learn ---------------------------------------------------------------------------------------------------


def _of_scikit_learn(member: Any, columns: np.ndarray | None) -> RawTree | None:
    """The difference of the shares of two classes, or what a regression tree says."""

    def vote(values: np.ndarray) -> np.ndarray:
        if not hasattr(member, "classes_"):
            return values[:, 0]
        if len(member.classes_) == 1:  # a bootstrap sample of one class, which has its number
            return np.full(len(values), 1.0 if int(member.classes_[0]) == 1 else -1.0)
        return values[:, 1] - values[:, 0]

    tree = scikit_tree(member, vote)
    return tree if tree is None or columns is None else tree.on(np.asarray(columns))


def _of_histograms(nodes: np.ndarray) -> RawTree:
    """Of HistGradientBoosting, which shows its trees to nobody: in a private table of nodes."""
    leaf = nodes["is_leaf"] > 0
    return RawTree.of(
        np.where(leaf, -1, nodes["feature_idx"]), np.where(leaf, 0.0, nodes["num_threshold"]),
        ~leaf & (nodes["missing_go_to_left"] == 0), (nodes["left"], nodes["right"]), np.where(leaf, nodes["value"], 0),
    )  # fmt: skip


# ---- LightGBM and XGBoost -------------------------------------------------------------------------------------------

_INFINITE = 1e300  # as LightGBM writes it
_ZERO = float(np.float32(1e-35))  # what is no larger counts as 0 when it is given rows


def _dumped(booster: Any) -> dict[str, Any]:
    try:
        return booster.dump_model(num_iteration=-1)
    except json.JSONDecodeError as error:
        raise ValueError(
            "LightGBM cannot list its trees, which say NaN where their leaves are linear: fit it without linear_tree."
        ) from error


def _of_lightgbm(root: dict[str, Any]) -> RawTree | None:
    """From nested nodes to a list, parents first."""
    nodes: list[tuple] = []
    children: list[list[int]] = []
    waiting: list[tuple[dict[str, Any], int, int]] = [(root, -1, 0)]
    while waiting:
        node, parent, side = waiting.pop()
        here = len(nodes)
        if parent >= 0:
            children[parent][side] = here
        children.append([0, 0])
        if "leaf_value" in node:
            if "leaf_coeff" in node:
                return None  # linear in its leaves
            nodes.append((-1, 0.0, 0, node["leaf_value"]))
            continue
        if node["decision_type"] != "<=" or node["missing_type"] == "Zero":
            return None
        # Where training met none, a missing value counts as zero.
        left = node["default_left"] if node["missing_type"] == "NaN" else node["threshold"] >= 0
        nodes.append((node["split_feature"], _light_threshold(node["threshold"]), not left, 0.0))
        waiting += [(node["right_child"], here, 1), (node["left_child"], here, 0)]
    feature, threshold, missing_right, value = zip(*nodes, strict=True)
    return RawTree.of(feature, threshold, missing_right, zip(*children, strict=True), value)


def _light_threshold(threshold: float) -> float:
    """All values that count as 0 are on one side of it."""
    if threshold >= _INFINITE:
        return np.inf
    if -_ZERO <= threshold < _ZERO:
        return float(np.nextafter(-_ZERO, -1)) if threshold < 0 else _ZERO
    return threshold


def _of_xgboost(booster: dict[str, Any]) -> list[RawTree] | None:
    """Values are rounded to single precision, and go left below the threshold, not at it."""
    if booster["name"] == "gblinear":
        raise ValueError('reweight needs trees, and XGBoost\'s gblinear has none: fit with booster="gbtree".')
    if booster["name"] != "gbtree":
        return None  # dart weights its trees
    trees = booster["model"]["trees"]
    if any(any(tree["split_type"]) or int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
        return None
    return [_of_xgboost_tree(tree) for tree in trees]


def _of_xgboost_tree(tree: dict[str, Any]) -> RawTree:
    left, right = (np.array(tree[f"{side}_children"]) for side in ("left", "right"))
    leaf, numbers = left < 0, np.array(tree["split_conditions"], dtype=np.float32)
    below = np.nextafter(numbers, np.float32(-np.inf)).astype(np.float64)
    return RawTree.of(
        np.where(leaf, -1, tree["split_indices"]), np.where(leaf, 0.0, of_single_precision(below)),
        ~leaf & (np.array(tree["default_left"]) == 0), (np.where(leaf, 0, left), np.where(leaf, 0, right)),
        np.where(leaf, numbers, 0.0),
    )  # fmt: skip
