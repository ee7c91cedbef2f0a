"""`save_model` and `load_model`: a fitted classifier in one file that any later version can read."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Collection, Iterator
from dataclasses import is_dataclass
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils.validation import check_is_fitted

import dualboost.boosters
import dualboost.estimators
import dualboost.learners
import dualboost.losses
import dualboost.sets
from dualboost.estimators.base import BoostedClassifier
from dualboost.estimators.calibration import Sigmoid, Softmax, Steps
from dualboost.estimators.inside import way_in
from dualboost.estimators.members import FittedMembers, ReadTrees
from dualboost.estimators.training import Training
from dualboost.files.fields import FITTED, PREDICTORS, check_fields, check_known
from dualboost.game import Certificate
from dualboost.learners.nzdd import Conjunctions, Intervals, Paths, Thresholds
from dualboost.learners.raw_trees import RawTree
from dualboost.storage.container import DamagedFile, read, write
from dualboost.storage.records import decode, encode
from dualboost.storage.state import BROKEN

__all__ = ["load_model", "load_notes", "save_model"]

_FORMAT, _VERSION = "dualboost model", 3
_RULES = (Conjunctions, Intervals, Paths, Thresholds)


def _public(module: ModuleType) -> Iterator[type]:
    return (value for value in (getattr(module, name) for name in module.__all__) if inspect.isclass(value))


_PARTS = (dualboost.boosters, dualboost.learners, dualboost.losses, dualboost.sets)
_RECORDS = (
    *(kind for part in _PARTS for kind in _public(part) if is_dataclass(kind)),
    *(Certificate, Sigmoid, Softmax, Steps, Training, *_RULES),
    *(DecisionTreeClassifier, ExtraTreeClassifier),  # what SklearnLearner was given: parameters alone
    *(FittedMembers, ReadTrees, RawTree),  # what reweight was given
)
MODELS = {kind.__name__: kind for kind in _public(dualboost.estimators) if issubclass(kind, BoostedClassifier)}
_MAY_SET: dict[type, Collection[str]] = dict.fromkeys(MODELS.values(), FITTED.keys())
TYPES: dict[str, type] = {**MODELS, **{kind.__name__: kind for kind in (*_RECORDS, *PREDICTORS)}}


def save_model(model: BoostedClassifier, path: str | os.PathLike, *, notes: dict[str, Any] | None = None) -> None:
    """Write a fitted classifier to a file; what was there is replaced at once or not at all.

    Parameters
    ----------
    model : a fitted classifier of dualboost
    path : str or path
    notes : dict, optional
        Whatever should stay beside the model and can be JSON; `load_notes` gives it back.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier, load_model, save_model
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "cancer.dualboost"
    >>> save_model(MarginBoostClassifier(nu=0.2).fit(X, y), path)
    >>> load_model(path).score(X, y) > 0.95
    True
    """
    if MODELS.get(type(model).__name__) is not type(model):
        raise ValueError(
            f"save_model keeps fitted classifiers of dualboost, not {type(model).__name__}{way_in(model)}."
        )
    check_is_fitted(model)
    check_known(model, "model")
    _check_notes(notes)
    arrays: dict[str, np.ndarray] = {}
    code = encode(model, arrays, TYPES, "model")
    check_fields(model, "model")  # what could not be read again is not written
    header = {"format": _FORMAT, "version": _VERSION, "made_with": dualboost.__version__, "notes": notes or {}}
    write(path, {**header, "model": code}, arrays)


def _check_notes(notes: Any) -> None:
    """What would come back changed, or not at all, is refused."""
    if notes is None:
        return
    if not isinstance(notes, dict) or not all(isinstance(key, str) for key in notes):
        raise ValueError(f"notes must be a dict whose keys are strings, not {notes!r}.")
    try:
        json.dumps(notes, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"notes must hold what JSON can: {error}.") from error


def load_model(path: str | os.PathLike, *, max_bytes: int = 1 << 30) -> BoostedClassifier:
    """Read a classifier that `save_model` wrote. No code runs from the file, whoever made it.

    Parameters
    ----------
    path : str or path
    max_bytes : int, default 1 GiB
        Refuse files that would take more memory than this.

    Returns
    -------
    the classifier, fitted

    Examples
    --------
    See `save_model`.

    >>> from dualboost import load_model
    >>> load_model("nowhere.dualboost")
    Traceback (most recent call last):
        ...
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.dualboost'
    """
    header, arrays = read(path, max_bytes)
    _check_version(header, path)
    try:
        model = decode(header["model"], arrays, TYPES, max_bytes, _MAY_SET)
        _check(model, max_bytes)
    except BROKEN as error:
        raise DamagedFile(f"{path} does not hold a model of this version: {error}.") from error
    return model


def load_notes(path: str | os.PathLike, *, max_bytes: int = 1 << 30) -> dict[str, Any]:
    """The notes that `save_model` kept beside a model.

    Parameters
    ----------
    path : str or path
    max_bytes : int, default 1 GiB

    Returns
    -------
    dict, empty where none were given; "made_with" is the version of dualboost that wrote the file

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier, load_notes, save_model
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "cancer.dualboost"
    >>> save_model(MarginBoostClassifier(nu=0.2).fit(X, y), path, notes={"source": "scikit-learn"})
    >>> load_notes(path)["source"]
    'scikit-learn'
    """
    header, _ = read(path, max_bytes)
    _check_version(header, path)
    notes = header.get("notes", {})
    if not isinstance(notes, dict):
        raise DamagedFile(f"The notes of {path} are none of ours; take it from its source again.")
    return {**notes, "made_with": str(header.get("made_with", ""))}


def _check_version(header: dict[str, Any], path) -> None:
    version = header.get("version")
    if header.get("format") != _FORMAT or type(version) is not int or version < 1:
        raise DamagedFile(f"{path} is not a model file of dualboost.")
    if version > _VERSION:
        raise ValueError(f"{path} was made by a newer dualboost (format {version}): upgrade dualboost to read it.")


def _check(model: BoostedClassifier, max_bytes: int) -> None:
    """A fitted classifier whose tables the kernels accept, and that has an answer for a row."""
    if type(model) not in MODELS.values():
        raise ValueError("it is no classifier")
    check_fields(model, "model")
    parts = getattr(model, "estimators_", [model])
    if len(parts) not in (1, len(model.classes_)):
        raise ValueError("it does not have a model for each class")
    for part in (model, *parts):
        _check_columns(part, model.n_features_in_)
        _check_stages(part)
    if 8 * model.n_features_in_ > max_bytes:
        raise ValueError(f"a row of {model.n_features_in_:,} features takes more than max_bytes")
    _check_answer(model, np.zeros((1, model.n_features_in_)))


def _check_columns(model: BoostedClassifier, count: int) -> None:
    """Every part of a model is about the same columns, and has a name for each or for none."""
    listed = [len(getattr(model, name, ())) for name in ("column_names_", "feature_names_in_")]
    if model.n_features_in_ != count or not {0, count}.issuperset(listed):
        raise ValueError(f"its parts are not about the same {count:,} columns")


def _check_stages(model: BoostedClassifier) -> None:
    """Each of its rounds has a hypothesis and a step, where it keeps them."""
    stages, steps, members = (getattr(model, name, ()) for name in ("stages_", "steps_", "members_"))
    if len(stages) != len(steps) or np.any((np.asarray(stages) < 0) | (np.asarray(stages) >= len(members))):
        raise ValueError("its rounds do not fit its hypotheses")


def _check_answer(model: BoostedClassifier, row: np.ndarray) -> None:
    """As `predict` and `predict_proba` find it."""
    votes = model._votes(row) if hasattr(model, "estimators_") else model._scores(row)
    if votes.shape != ((1,) if len(model.classes_) == 2 else (1, len(model.classes_))):
        raise ValueError("it does not have a vote for each class")
    if hasattr(model, "predict_proba") and not np.all(np.isfinite(model._chances(votes))):
        raise ValueError("its probabilities are no numbers")
