"""`python -m benchmarks.interrupts [rows]`: how long a fit takes to return after Ctrl-C, with two classes and with ten.

Every classifier, on a table of 28 columns, with parameters that would never let it end. The signal is sent once it has
run for so many seconds; what is shown is the longest time of all moments from the signal to the finished model,
probabilities included, in wall time. A fit that the signal finds before its first round has no model to return, and
says so. Eight minutes.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings

import numpy as np

import dualboost
from benchmarks.shapes import higgs_like
from benchmarks.timing import Skip, one_cell, progress
from dualboost.learners import Trees

MOMENTS = (2.0, 5.0)  # seconds
APART = 3.5  # seconds; two signals within three are meant for a search
CLASSES = (2, 10)
NEVER = {"tol": 1e-9, "max_iter": 10**9, "n_estimators": 10**9, "learning_rate": 1e-3, "nu": 0.6, "bags": 3}
NEVER |= {"smoothness": 5.0, "alpha": 0.1, "random_state": 0}


def endless(kind: str, **others):
    """A classifier with those of the parameters above that it has."""
    model = getattr(dualboost, kind)()
    known = model.get_params()
    return model.set_params(**{name: value for name, value in {**NEVER, **others}.items() if name in known})


MODELS = {kind: (kind, {}) for kind in dualboost.__all__ if kind.endswith("Classifier")}
MODELS |= {
    f"{kind}, trees of 3 levels": (kind, {"learner": Trees(3)})
    for kind in ("MarginBoostClassifier", "AdaBoostClassifier")
}


def seconds_after(model, X: np.ndarray, y: np.ndarray, moment: float) -> float:
    """From the signal to the end of the fit; NaN where there was no first round yet, and so no model."""
    sent = []

    def press() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(moment, press)
    timer.start()
    try:
        model.fit(X, y)
        returned = time.perf_counter()
        model.predict_proba(X[:10])
    except KeyboardInterrupt:
        returned = np.nan
    timer.cancel()
    timer.join()
    if not sent:
        raise Skip(f"done in less than {moment:g} s")
    return returned - sent[0]


def cell(kind: str, own: dict, X: np.ndarray, y: np.ndarray) -> str:
    """The longest of all moments."""
    taken = []
    for moment in MOMENTS:
        try:
            with one_cell():
                taken.append(seconds_after(endless(kind, **own), X, y, moment))
        except Skip as reason:
            return str(reason)
        time.sleep(APART)
    early = np.isnan(taken).sum()
    before = f", {early} before a first round" if early else ""
    return "no model" if early == len(taken) else f"{np.nanmax(taken):.2f} s{before}"


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(20)
    X, _ = higgs_like(rng, rows)
    score = X[:, 1] + np.abs(X[:, 2]) - np.log(X[:, 3]) + X[:, 4] * X[:, 5] + rng.standard_normal(rows)
    ranks = score.argsort().argsort()
    print(
        f"| {rows:,} x 28 | " + " | ".join(f"{count} classes" for count in CLASSES) + " |\n|" + "---|" * 3, flush=True
    )
    for name, (kind, own) in MODELS.items():
        progress(name)
        cells = [cell(kind, own, X, ranks * count // rows) for count in CLASSES]
        print("| " + " | ".join([name, *cells]) + " |", flush=True)


if __name__ == "__main__":
    main()
