"""`python -m benchmarks.latency [rows ...]`: loading a saved model, probabilities of one row, the same model in ONNX.

Each model is fitted, written, loaded in turn; one value in twenty is missing, or eight of 28 columns hold categories.
No two calls in a row have the same rows: a processor learns the turns of a few rows by heart, and walks them faster
than any that come anew. Loading and single rows are medians of many calls in wall time; the ONNX columns are ratios to
our own time in the same short turn, with as many threads each, so below 1 ONNX is faster: CPU time of one thread, and
in the last column wall time with all cores, of the fastest calls, for which all cores were free. Eight minutes.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.timing import Clock, progress, time_each
from dualboost import (
    AdaBoostClassifier,
    LogisticMixtureClassifier,
    MarginBoostClassifier,
    load_model,
    save_model,
    to_onnx,
)
from dualboost.learners import LeafTrees, Stumps, Trees
from dualboost.learners.base import Learner

NAMED = tuple(range(20, 28))
BATCHES = (1, 100, 1_000, 10_000)
_TURNS = 21


def as_it_is(X: np.ndarray) -> np.ndarray:
    return X


def with_missing(X: np.ndarray) -> np.ndarray:
    return np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)


def with_categories(X: np.ndarray) -> np.ndarray:
    """Eight columns of 5 to 200 categories: parts of a column's range, in any order."""
    rng, X = np.random.default_rng(0), X.copy()
    for j, width in zip(NAMED, np.geomspace(5, 200, len(NAMED)).astype(int), strict=True):
        X[:, j] = rng.permutation(width)[X[:, j].argsort().argsort() * width // len(X)]
    return X


def boosted(n_estimators: int, learner: Learner):
    return lambda: AdaBoostClassifier(n_estimators=n_estimators, learner=learner)


MODELS = {
    "soft margin, stumps": (lambda: MarginBoostClassifier(nu=0.6, tol=0.1, max_iter=100), as_it_is),
    "AdaBoost, 500 stumps": (boosted(500, Stumps()), as_it_is),
    "AdaBoost, 500 stumps, categories": (boosted(500, Stumps(categorical=NAMED)), with_categories),
    "AdaBoost, 100 trees of 2 levels": (boosted(100, Trees(2)), as_it_is),
    "AdaBoost, 100 trees of 3 levels": (boosted(100, Trees(3)), as_it_is),
    "AdaBoost, 100 trees of 3 levels, missing values": (boosted(100, Trees(3)), with_missing),
    "AdaBoost, 100 trees of 3 levels, categories": (boosted(100, Trees(3, categorical=NAMED)), with_categories),
    "AdaBoost, 100 trees of 5 levels": (boosted(100, Trees(5)), as_it_is),
    "noisy labels, 5 bags of trees": (
        lambda: LogisticMixtureClassifier(bags=5, max_iter=40, random_state=0),
        as_it_is,
    ),
    "noisy labels, 5 bags of trees, categories": (
        lambda: LogisticMixtureClassifier(
            learner=LeafTrees(10, categorical=NAMED), bags=5, max_iter=40, random_state=0
        ),
        with_categories,
    ),
    "noisy labels, a single fit": (lambda: LogisticMixtureClassifier(bags=0, random_state=0), as_it_is),
}


def runner(model, threads: int = 1) -> Callable[[np.ndarray], object] | None:
    """The exported model in onnxruntime; None where that is not installed."""
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString(), options, ["CPUExecutionProvider"])
    return lambda rows: session.run(["probabilities"], {"X": rows})


def parts_of(X: np.ndarray, rows: int) -> Iterator[np.ndarray]:
    """So many rows after the other, and from the beginning again."""
    return cycle([X[first : first + rows] for first in range(0, len(X) - rows + 1, rows)])


def seconds(call: Callable[[np.ndarray], object], parts: Iterator[np.ndarray], n: int, clock: Clock) -> list[float]:
    """Of so many calls, each for other rows."""
    return time_each(lambda: call(next(parts)), n, clock)


def onnx_ratio(model, X: np.ndarray, rows: int, threads: int = 1) -> str:
    """The median over turns of their time over ours: of the median call, or of several threads of the fastest one."""
    model.set_params(n_jobs=threads)
    clock, of_calls = (time.process_time, median) if threads == 1 else (time.perf_counter, min)
    theirs, ours, n = parts_of(X, rows), parts_of(X, rows), max(3, min(200, 5_000 // rows))
    ratios = []
    for _ in range(_TURNS):
        run = runner(model, threads)  # anew: two threads of onnxruntime may have a good or a bad start
        if run is None:
            return "-"
        seconds(run, theirs, n, clock)  # its threads and its memory take some calls to settle
        own = of_calls(seconds(model.predict_proba, ours, n, clock))
        ratios.append(of_calls(seconds(run, theirs, n, clock)) / own)
    return f"{median(ratios):.2f}"


def line(name: str, X: np.ndarray, y: np.ndarray, folder: Path, batches: Sequence[int]) -> str:
    progress(name)
    make, change = MODELS[name]
    X, path = change(X), folder / "model"
    save_model(make().fit(X[:4000], y[:4000]), path)
    loading = median(time_each(lambda: load_model(path), 30, time.perf_counter))
    model = load_model(path)
    one = median(seconds(model.predict_proba, parts_of(X, 1), 1000, time.perf_counter))
    ratios = [onnx_ratio(model, X, n) for n in batches]
    ratios.append(onnx_ratio(model, X, batches[-1], os.cpu_count() or 1))
    return " | ".join([name, f"{1e3 * loading:.1f} ms", f"{1e6 * one:.0f} µs", *ratios])


def main() -> None:
    batches = [int(text) for text in sys.argv[1:]] or BATCHES
    X, y = make_classification(max(BATCHES), 28, n_informative=15, random_state=0)
    columns = ["model", "loading", "one row, `predict_proba`", *(f"ONNX / ours, {n:,} rows" for n in batches)]
    columns.append(f"the same, {os.cpu_count()} threads")
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            print(f"| {line(name, X, y, Path(folder), batches)} |", flush=True)


if __name__ == "__main__":
    main()
