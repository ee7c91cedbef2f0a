"""The claim of docs/sources.md on real data: caps on a bad source beat dropping it, mixing it in and weighting it."""

import os
from pathlib import Path

import numpy as np
import pytest

from dualboost import MABoostClassifier, SmoothBoostClassifier

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("DUALBOOST_DATA", ROOT.parent / "shared" / "data"))


@pytest.mark.parametrize("name", ["spambase", "image"])
def test_caps_make_use_of_a_bad_source(name):
    path = DATA / name / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"no data set at {path}: set DUALBOOST_DATA to the folder that holds it")
    table = np.genfromtxt(path, delimiter=",", skip_header=1)
    capped, *others = np.mean([errors(table, seed) for seed in range(3)], axis=0)
    assert capped < 0.9 * min(others)


def errors(table: np.ndarray, seed: int) -> list[float]:
    """Test error with caps, with the bad source dropped, mixed in, weighted down."""
    rng = np.random.default_rng(seed)
    table = table[rng.permutation(len(table))]
    X, y = table[:, :-1], (table[:, -1] > 0).astype(int)
    n = len(y) // 2
    secondary = np.arange(n) >= 0.05 * n
    labels = np.where(secondary & (rng.random(n) < 0.3), 1 - y[:n], y[:n])

    def error(model, rows=slice(None), **given):
        return float(np.mean(model.fit(X[:n][rows], labels[rows], **given).predict(X[n:]) != y[n:]))

    return [
        error(SmoothBoostClassifier(1.1, max_iter=150), secondary=secondary),
        error(MABoostClassifier(max_iter=150), ~secondary),
        error(MABoostClassifier(max_iter=150)),
        error(MABoostClassifier(max_iter=150), sample_weight=np.where(secondary, 0.1, 1.0)),
    ]
