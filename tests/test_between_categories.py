"""Numbers between the categories of a column: every vote, and all that is made of it, takes them for the same one."""

import numpy as np
import pytest
import scipy.sparse as sp

from dualboost import AdaBoostClassifier, LogisticMixtureClassifier, explain, to_onnx
from dualboost.data import MISSING
from dualboost.inspection.as_trees import plain_trees
from dualboost.learners import LeafTrees, Stumps, Trees
from dualboost.learners.categories import Categories
from dualboost.rows import Rows

NAMED = (0, 2)
MODELS = {
    "stumps": lambda: AdaBoostClassifier(n_estimators=15, learner=Stumps(categorical=NAMED)),
    "two levels": lambda: AdaBoostClassifier(n_estimators=15, learner=Trees(2, categorical=NAMED)),
    "three levels": lambda: AdaBoostClassifier(n_estimators=15, learner=Trees(3, categorical=NAMED)),
    "leaf trees": lambda: LogisticMixtureClassifier(bags=0, learner=LeafTrees(categorical=NAMED), max_iter=15),
    "bags": lambda: LogisticMixtureClassifier(bags=2, learner=LeafTrees(categorical=NAMED), max_iter=15),
}
KNOWN = {
    "small": np.array([0.0, 1, 2, 3, 5, 9]),
    "large": np.array([1.0, 2, 5_000, 5_001, 2.0**31 - 2, 2.0**31 - 1]),
    "many": np.arange(300.0),
}


def beside(known: np.ndarray) -> np.ndarray:
    """Halves, numbers just beside them, other fractions, numbers that are no category, and NaN."""
    halves = np.unique([known - 0.5, known + 0.5])
    near = np.concatenate([np.nextafter(halves, -np.inf), halves, np.nextafter(halves, np.inf)])
    others = [-0.3, -1.0, -7.25, -5e-324, 5e-324, known[-1] + 1, 2.0**31, -(2.0**63), 2.0**63, 2.0**64, 1e300, -1e300]
    return np.concatenate([known, near, known + 0.3, known - 0.2, others, [np.nan]])


def nearest(x: float, known: np.ndarray) -> float:
    """The category of a number: NaN where it has none."""
    held = known[(known - 0.5 < x) & (x <= known + 0.5)]
    return held[0] if len(held) else np.nan


def table(rng, values: np.ndarray, rows: int) -> np.ndarray:
    X = rng.choice(values, (rows, 3))
    X[:, 1] = rng.normal(size=rows)
    return X


def fitted(kind: str, known: np.ndarray, seed: int, missing: bool):
    rng = np.random.default_rng(seed)
    X = table(rng, known, 300)
    signal = 1.5 * (X[:, 0] > np.median(known)) + (X[:, 1] > 0) + np.isin(X[:, 2], known[:: max(2, len(known) // 6)])
    y = signal + 0.3 * rng.normal(size=300) > 1.5
    if missing:
        X[rng.random(300) < 0.1, 0] = np.nan
    model = MODELS[kind]()
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    return model.fit(X, y), rng


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_codes_are_those_of_the_nearest_category(known):
    found = Categories.of(known, Rows.of(len(known)))
    values = np.concatenate([beside(known), [np.inf, -np.inf]])
    codes = dict(zip(known.tolist(), found.codes.tolist(), strict=True))
    assert found.coded(values).tolist() == [codes.get(nearest(x, known), MISSING) for x in values.tolist()]


@pytest.mark.parametrize("seed, missing", [(0, False), (1, True), (2, True)])
@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
@pytest.mark.parametrize("kind", MODELS)
def test_scores_explanations_and_plain_trees_agree(kind, known, seed, missing):
    model, rng = fitted(kind, known, seed, missing)
    new = table(rng, beside(known), 400)
    scores, plain, explained = model.decision_function(new), plain_trees(model.predictor_), explain(model, new)
    size = max(1.0, np.abs(scores).max())
    np.testing.assert_allclose(explained.base + explained.contributions.sum(axis=1), scores, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(plain.scores(new), scores, rtol=0, atol=1e-12 * size)

    rounded = new.copy()
    for j in NAMED:
        rounded[:, j] = [nearest(x, known) for x in new[:, j].tolist()]
    np.testing.assert_array_equal(model.decision_function(rounded), scores, "what is no category counts as missing")
    np.testing.assert_array_equal(model.decision_function(sp.csr_array(new)), scores)
    np.testing.assert_array_equal([model.decision_function(row[None])[0] for row in new[:40]], scores[:40])


@pytest.mark.parametrize("kind", MODELS)
def test_infinity_counts_as_missing(kind):
    """Classifiers refuse it; the votes that they are made of do not."""
    model, rng = fitted(kind, KNOWN["small"], 3, True)
    new = table(rng, np.array([np.inf, -np.inf, 1.0]), 200)
    with pytest.raises(ValueError, match="infinity"):
        model.decision_function([[np.inf, 0.0, 1.0]])
    scores, lost = model.predictor_.scores(new), np.where(np.isinf(new), np.nan, new)
    np.testing.assert_array_equal(scores, model.predictor_.scores(lost))
    np.testing.assert_allclose(plain_trees(model.predictor_).scores(new), scores, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rows", [20, 3_000])
@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
@pytest.mark.parametrize("kind", MODELS)
def test_onnx_agrees(kind, known, rows):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, rng = fitted(kind, known, 4, True)
    new = table(rng, beside(known), rows)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(to_onnx(model).SerializeToString(), options, ["CPUExecutionProvider"])
    np.testing.assert_allclose(
        session.run(["score"], {"X": new})[0], model.decision_function(new), rtol=1e-6, atol=1e-6
    )
