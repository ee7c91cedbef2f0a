"""The other libraries, each behind the same three methods: prepare, rounds, predict.

All grow trees of two leaves. XGBoost and HistGradientBoosting search the same stumps as ours: no minimum of rows
or of hessian in a leaf. LightGBM runs twice: so, and with its defaults (leaves of 20 rows or more), because on text
the defaults drop every rarer word before the first round, which is less work and another problem.
Each is imported when it is prepared, so a missing one costs a table cell and nothing else.
"""

from __future__ import annotations

import contextlib
import io
import statistics
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from benchmarks.timing import Clock, Skip, differences, time_each

MAX_BINS = 255


class Contender(Protocol):
    """`binning` is the CPU time spent on bins in `prepare` (None where it cannot be told apart)."""

    name: str
    binning: float | None
    mode: str

    def prepare(self, X: Any, y: np.ndarray, threads: int = 1) -> None: ...
    def rounds(self, n: int, clock: Clock = time.process_time) -> list[float]: ...
    def predict(self, X: Any) -> np.ndarray: ...


class LightGBM:
    """Booster.update on a constructed Dataset, column-wise or row-wise: whichever is faster here."""

    name = "LightGBM"
    binning: float | None = None
    mode = ""
    layouts: tuple[str, ...] = ("col", "row")
    limits: Mapping[str, float] = MappingProxyType({})

    def prepare(self, X: Any, y: np.ndarray, threads: int = 1) -> None:
        import lightgbm

        params = {
            "objective": "binary",
            "num_leaves": 2,
            "max_bin": MAX_BINS,
            "num_threads": threads,
            "verbosity": -1,
            "metric": "None",
            **self.limits,
        }
        self._params, self._booster = params, None
        self._data = lightgbm.Dataset(X, label=(y > 0).astype(float), params=params)
        self.binning = time_each(self._data.construct, 1)[0]

    def _choose_layout(self) -> None:
        """A short race: one round to allocate, then two turns of two rounds each."""
        import lightgbm

        modes = {
            mode: lightgbm.Booster({**self._params, f"force_{mode}_wise": True}, self._data) for mode in self.layouts
        }
        times: dict[str, list[float]] = {mode: [] for mode in modes}
        for booster in modes.values():
            booster.update()
        for _ in range(2):
            for mode, booster in modes.items():
                times[mode] += time_each(booster.update, 2)
        best = min(times, key=lambda mode: statistics.median(times[mode]))
        self.mode, self._booster = f"{best}-wise", modes[best]

    def rounds(self, n: int, clock: Clock = time.process_time) -> list[float]:
        if self._booster is None:
            self._choose_layout()
        return time_each(self._booster.update, n, clock)

    def predict(self, X: Any) -> np.ndarray:
        return self._booster.predict(X, raw_score=True, num_threads=self._params["num_threads"])


class LightGBMAllStumps(LightGBM):
    """The same stumps as ours: no limit on the rows of a leaf or of a bin."""

    name = "LightGBM, all stumps"
    limits = MappingProxyType({"min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0.0, "min_data_in_bin": 1})


class LightGBMLean(LightGBM):
    """For memory: one layout from the start, the one that keeps no second copy of the bins."""

    layouts = ("col",)


class XGBoost:
    """Booster.update with depth one on a QuantileDMatrix."""

    name = "XGBoost"
    binning: float | None = None
    mode = ""

    def prepare(self, X: Any, y: np.ndarray, threads: int = 1) -> None:
        import xgboost

        params = {
            "objective": "binary:logistic",
            "tree_method": "hist",
            "max_depth": 1,
            "max_bin": MAX_BINS,
            "min_child_weight": 0.0,
            "nthread": threads,
            "verbosity": 0,
        }
        label = (y > 0).astype(float)

        def construct() -> None:
            self._data = xgboost.QuantileDMatrix(X, label, max_bin=MAX_BINS, nthread=threads)

        self.binning = time_each(construct, 1)[0]
        self._booster = xgboost.Booster(params, [self._data])
        self._done = 0

    def _update(self) -> None:
        self._booster.update(self._data, self._done)
        self._done += 1

    def rounds(self, n: int, clock: Clock = time.process_time) -> list[float]:
        return time_each(self._update, n, clock)

    def predict(self, X: Any) -> np.ndarray:
        return self._booster.inplace_predict(X, predict_type="margin")


class RoundTicks(io.TextIOBase):
    """A stream for HistGradientBoosting's progress: notes the time when the line "[3/10] ..." of a round begins."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.ticks: list[float] = []

    def write(self, text: str) -> int:
        if text.startswith("["):
            self.ticks.append(self._clock())
        return len(text)


class HistGradientBoosting:
    """It bins again in every fit, so a round is timed from one line of its progress report to the next."""

    name = "sklearn HGB"
    binning: float | None = None
    mode = ""

    def prepare(self, X: Any, y: np.ndarray, threads: int = 1) -> None:
        if sp.issparse(X):
            raise Skip("dense only")
        self._X, self._y, self._threads = X, y, threads

    def rounds(self, n: int, clock: Clock = time.process_time) -> list[float]:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits

        self._model = HistGradientBoostingClassifier(
            max_leaf_nodes=2, max_bins=MAX_BINS, min_samples_leaf=1, max_iter=n + 1, early_stopping=False, verbose=2
        )
        stream = RoundTicks(clock)
        with contextlib.redirect_stdout(stream), threadpool_limits(self._threads):
            self._model.fit(self._X, self._y)
        return differences(stream.ticks)

    def predict(self, X: Any) -> np.ndarray:
        return self._model.decision_function(X)


class AdaBoost:
    """scikit-learn's AdaBoost; a round is timed from the start of one stump's fit to the next."""

    name = "sklearn AdaBoost"
    binning: float | None = None
    mode = ""

    def prepare(self, X: Any, y: np.ndarray, threads: int = 1) -> None:
        self._X, self._y = X, y

    def rounds(self, n: int, clock: Clock = time.process_time) -> list[float]:
        from sklearn.ensemble import AdaBoostClassifier
        from sklearn.tree import DecisionTreeClassifier

        ticks: list[float] = []

        class TickingStump(DecisionTreeClassifier):
            def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Any:
                ticks.append(clock())
                return super().fit(X, y, sample_weight=sample_weight, check_input=check_input)

        self._model = AdaBoostClassifier(TickingStump(max_depth=1), n_estimators=n + 1)
        self._model.fit(self._X, self._y)
        return differences(ticks)

    def predict(self, X: Any) -> np.ndarray:
        return self._model.decision_function(X)
