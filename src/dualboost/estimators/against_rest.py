"""Several classes as one model for each against the rest: fitted in turn, then joined.

Once the time is over, by its limit or by Ctrl-C, the classes that are left are fitted to a sample of the rows, the same
for all of them. Even a first round on a large table is a tenth of a second, and there may be many classes. What is
proved on a sample is not proved for all rows, so such a class has the widest certificate that its kind of vote allows.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from dualboost.data import binned_once
from dualboost.estimators.haste import sample_of
from dualboost.estimators.hooks import Hooks
from dualboost.estimators.validation import TrainingData
from dualboost.game import Certificate

if TYPE_CHECKING:
    from dualboost.estimators.base import BoostedClassifier

__all__ = ["fit_each_against_rest"]

_OF_ROWS = ("margins_", "sample_distribution_")


def fit_each_against_rest(
    whole: BoostedClassifier, data: TrainingData, earlier: list[BoostedClassifier], tasks: int | None
) -> None:
    """Fit `whole` as one model a class, which goes on where the one of an `earlier` fit ended if it may."""
    models = [clone(whole) for _ in data.classes]
    for model, before in zip(models, earlier, strict=False):
        model._unfinished = before._unfinished
    # A line for each class, filled here: fresh memory takes its time, which Ctrl-C would wait for later.
    of_rows = {name: np.full((len(models), data.n_given), np.nan) for name in _OF_ROWS}
    with ExitStack() as bins:
        turns = _Turns(whole, data, bins)
        for k, model in enumerate(models):
            hooks = data.control.hooks and data.control.hooks.part("class", tasks)
            turns.fit(model, k, hooks)
            if hooks is not None:
                hooks.end()
            for name, lines in of_rows.items():
                lines[k] = getattr(model, name)
                setattr(model, name, lines[k])
    whole.estimators_ = models  # not before all are fitted
    _join(whole, data.classes, models)
    for name, lines in of_rows.items():
        setattr(whole, name, lines.T)


class _Turns:
    """Fits class after class, to all rows while there is time."""

    def __init__(self, whole: BoostedClassifier, data: TrainingData, bins: ExitStack):
        self._whole, self._data, self._bins = whole, data, bins
        self._rows, self._control = data, data.control
        self._settled: dict = {}
        bins.enter_context(binned_once(data.X))

    def fit(self, model: BoostedClassifier, k: int, hooks: Hooks | None) -> None:
        self._introduce(model)
        if k:
            self._control.ctrl_c.once_more(self._control.clock, partial(self._fit, model, k, hooks))
        else:  # there is no vote yet that Ctrl-C could lose
            self._fit(model, k, hooks)
        self._settled = self._settled or model._settled()

    def _introduce(self, model: BoostedClassifier) -> None:
        """A part can be looked at on its own."""
        whole = self._whole
        model.training = None  # the data has it; and callbacks in a part would keep the whole out of a model file
        model.n_features_in_, model.classes_ = whole.n_features_in_, np.array([0, 1])
        model.categories_, model.column_names_ = whole.categories_, whole.column_names_
        if hasattr(whole, "feature_names_in_"):
            model.feature_names_in_ = whole.feature_names_in_

    def _fit(self, model: BoostedClassifier, k: int, hooks: Hooks | None) -> None:
        self._control.ctrl_c.begin()
        if k and self._control.clock.over:
            self._hurry()
        part = self._rows.against_rest(k)
        control = replace(self._control.of_class(k, len(self._data.classes)), hooks=hooks)
        if self._rows is self._data:
            model._fit_and_calibrate(replace(part, control=control))
        else:
            self._fit_to_sample(model, replace(part, control=control.unkept()))

    def _hurry(self) -> None:
        """From here on there is a sample, unless all rows take hardly longer."""
        if self._rows is self._data:
            self._rows = sample_of(self._data, getattr(self._whole, "learner", None))
            if self._rows is not self._data:
                self._bins.enter_context(binned_once(self._rows.X))

    def _fit_to_sample(self, model: BoostedClassifier, part: TrainingData) -> None:
        """What an earlier class has chosen from the data is not chosen again: in no time it would be a poor choice."""
        part.control.broken_off.add(part.control.part)
        own = {name: getattr(model, name) for name in self._settled}
        model.set_params(**self._settled)
        model._fit_and_calibrate(part)
        model.set_params(**own)
        model._forget_proofs(f"fitted in haste to {len(part.codes):,} of {len(self._data.codes):,} rows")


def _join(whole: BoostedClassifier, classes: np.ndarray, models: list[BoostedClassifier]) -> None:
    """The least of their values is reached, and none of all votes exceeds the least bound."""
    whole.certificate_ = Certificate(
        min(model.certificate_.objective for model in models), min(model.certificate_.bound for model in models)
    )
    whole.n_iter_ = max(model.n_iter_ for model in models)
    whole.status_ = "; ".join(f"{label}: {model.status_}" for label, model in zip(classes, models, strict=True))
    whole.history_ = [model.history_ for model in models]
    shares = [model.feature_importances_ for model in models]
    voting = [share for share in shares if share.any()]  # a part that found no signal votes on no feature
    whole.feature_importances_ = np.mean(voting or shares, axis=0)
