"""The audit study: flipped rows of tables by average precision, re-checked film reviews by area under the curve.

The baseline is cleanlab's self-confidence: out-of-fold probabilities of the given label, least first. It needs nothing
but scikit-learn, so it is computed here, with the two models that cleanlab's users take.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import lru_cache, partial

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

from benchmarks.kept import Kept
from benchmarks.noisy_flips import pipes
from benchmarks.noisy_peers import peers
from benchmarks.real_data import folder, table
from dualboost import audit

__all__ = ["film_reviews", "flipped_rows", "newsgroup_labels"]

SETS = ("banana", "diabetis", "german", "heart", "image", "ringnorm", "twonorm", "spambase", "adult")
_MOST_ROWS = 10_000


def self_confidence(model, X, y) -> np.ndarray:
    """The out-of-fold probability of the given label."""
    chances = cross_val_predict(model, X, y, cv=5, method="predict_proba")
    return chances[np.arange(len(y)), y]


def flipped_rows(quick: bool, kept: Kept) -> str:
    """Ten per cent of the labels flipped: how well the flipped rows are ranked, and in how much CPU time."""
    import pandas as pd

    records = []
    for seed in range(1 if quick else 3):
        for name in SETS[1:4] if quick else SETS:
            records += _rankings(name, seed, kept)
            print(f"audit: {name}, seed {seed} done", file=sys.stderr, flush=True)
    means = pd.DataFrame(records).groupby(["set", "method"], sort=False)[["precision", "seconds"]].mean().unstack()
    wide = means["precision"].round(3)
    wide["better baseline"] = wide[[c for c in wide.columns if c != "audit"]].max(axis=1)
    wide.loc["mean"] = wide.mean().round(3)
    seconds = means["seconds"].round(2)
    seconds.loc["mean"] = seconds.mean().round(2)
    return f"**Average precision**\n\n{pipes(wide)}\n\n**CPU seconds**\n\n{pipes(seconds)}"


@lru_cache(maxsize=1)
def _flipped(name: str, seed: int):
    """At most 10,000 rows of the table, the labels with flips, and which are flipped."""
    X, y = table(name)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(y))[:_MOST_ROWS])
    wrong = rng.random(len(chosen)) < 0.1
    return X[chosen], np.where(wrong, 1 - y[chosen], y[chosen]), wrong


def _rankings(name: str, seed: int, kept: Kept) -> Iterator[dict]:
    judges: dict[str, Callable] = {"audit": lambda X, y: audit(X, y, random_state=seed).margin}
    for title in ("logistic regression", "LightGBM"):
        model = peers(seed).get(title)
        if model is not None:
            judges[f"self-confidence, {title}"] = partial(self_confidence, model)
    for method, judge in judges.items():
        yield kept.get({"set": name, "seed": seed, "method": method}, lambda judge=judge: _measured(name, seed, judge))


def _measured(name: str, seed: int, judge: Callable) -> dict:
    X, noisy, wrong = _flipped(name, seed)
    start = time.process_time()
    margin = judge(X, noisy)
    seconds = time.process_time() - start
    return {"precision": average_precision_score(wrong, -margin), "seconds": seconds}


def film_reviews(quick: bool) -> str:
    """imdb_label_errors: the labels that people found wrong, above those that they confirmed."""
    import pandas as pd

    place = folder() / "imdb_label_errors"
    X, labels = sp.csr_array(sp.load_npz(place / "imdb_counts.npz")), pd.read_csv(place / "imdb_labels.csv.gz")
    y, status = (labels["label"] > 0).to_numpy().astype(int), labels["status"].to_numpy()
    if quick:
        kept = np.flatnonzero((status != "not_reviewed") | (np.arange(len(y)) % 10 == 0))
        X, y, status = X[kept], y[kept], status[kept]
    judged = np.isin(status, ["wrong", "confirmed"])
    scores = {}
    start = time.process_time()
    scores["audit"] = (-audit(X, y).margin, time.process_time() - start)
    for name, model in _text_baselines(quick).items():
        start = time.process_time()
        scores[name] = (-self_confidence(model, X, y), time.process_time() - start)
    rows = {name: (roc_auc_score(status[judged] == "wrong", s[judged]), t) for name, (s, t) in scores.items()}
    return pipes(pd.DataFrame(rows, index=["area under the curve", "CPU seconds"]).T.round(4))


def _text_baselines(quick: bool) -> dict:
    made = {"logistic regression, tf-idf": make_pipeline(TfidfTransformer(), LogisticRegression(max_iter=1000))}
    if "LightGBM" in peers(0) and not quick:
        made["LightGBM, tf-idf"] = make_pipeline(TfidfTransformer(), peers(0)["LightGBM"])
    return made


def newsgroup_labels(quick: bool) -> str:
    """20newsgroups, the test part: 22 labels that people found wrong, above the 11 that they confirmed."""
    import pandas as pd

    place = folder() / "20newsgroups"
    X = sp.csr_array(sp.load_npz(place / "20news_counts_test.npz"))
    with np.load(place / "20news_labels.npz", allow_pickle=True) as arrays:
        y = arrays["y_test"]
    review = pd.read_csv(place / "20news_test_label_review.csv.gz")
    verdict = dict(zip(review["test_row"], review["majority"], strict=True))
    kept = np.arange(len(y)) if not quick else np.flatnonzero((y < 4) | np.isin(np.arange(len(y)), list(verdict)))
    margin = np.full(len(y), np.nan)
    margin[kept] = audit(X[kept], y[kept]).margin
    right = [row for row, word in verdict.items() if word == "given"]
    others = [row for row, word in verdict.items() if word in ("guessed", "both", "neither")]
    area = roc_auc_score([0] * len(right) + [1] * len(others), -margin[right + others])
    return f"{len(others)} wrong or doubtful against {len(right)} confirmed labels: area under the curve {area:.3f}"
