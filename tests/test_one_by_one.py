"""The hypotheses of a vote one by one: the same arrays as of votes of one hypothesis."""

import copy
import pickle
from dataclasses import fields

import numpy as np
import pytest

from dualboost import AdaBoostClassifier, load_model, save_model
from dualboost.learners import LeafTrees, Stumps, Subsets, Trees, Union
from dualboost.rows import Rows

LEARNERS = {
    "stumps": Stumps(),
    "stumps with few bins": Stumps(max_bins=3),
    "monotone": Stumps(monotone=((2, 1), (3, -1))),
    "categories": Stumps(categorical=(0, 1)),
    "subsets": Subsets((0, 1)),
    "two levels": Trees(2),
    "three levels": Trees(3, categorical=(0, 1)),
    "eight leaves": Trees(None, max_leaves=8, categorical=(1,)),
    "leaf trees": LeafTrees(4, categorical=(0, 1)),
    "stumps and trees": Union((Stumps(), Trees(2))),
}


def table(rng, missing: float):
    """Two columns of categories, three of numbers, one that is constant."""
    X = rng.integers(0, 20, (300, 6)).astype(float)
    X[:, 2:5] += rng.normal(size=(300, 3))
    X[:, 5] = 1.0
    X[rng.random(X.shape) < missing] = np.nan
    return X, np.where(np.isin(X[:, 0], [1, 4, 9]) ^ (X[:, 2] > X[:, 3]) ^ (rng.random(300) < 0.2), 1, -1)


def assert_same(one, other) -> None:
    """Equal types, and arrays that are equal to the bit."""
    assert type(one) is type(other)
    for name in (field.name for field in fields(one)):
        left, right = getattr(one, name), getattr(other, name)
        if isinstance(left, tuple):
            for part, own in zip(left, right, strict=True):
                assert_same(part, own)
        elif isinstance(left, np.ndarray):
            assert (left.dtype, left.shape, left.tobytes()) == (right.dtype, right.shape, right.tobytes()), name
            assert right.flags.c_contiguous
        else:
            assert type(left) is type(right) and left == right, name


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("name", LEARNERS)
def test_each_is_the_vote_of_one(name, missing):
    rng = np.random.default_rng(0)
    X, y = table(rng, missing)
    oracle = LEARNERS[name].bind(X, y.astype(np.int8), Rows.of(300))
    answers = [oracle.best(rng.dirichlet(np.full(300, 0.05)), 3) for _ in range(40)]
    answers += [oracle.best(np.where(y > 0, 1 / 300, 1e-9), 3)]  # where a constant is best
    found = list(dict.fromkeys(hypothesis for answer in answers for hypothesis in answer.hypotheses))
    single = oracle.predictors(found)
    for hypothesis, own in zip(found, single, strict=True):
        assert_same(oracle.predictor([hypothesis], np.ones(1)), own)
        assert_same(own, pickle.loads(pickle.dumps(own)))
        assert_same(own, copy.deepcopy(own))
    assert oracle.predictors([]) == []


@pytest.mark.parametrize("name", ["categories", "three levels"])
def test_stages_of_copies_and_files_are_the_same(name, tmp_path):
    X, y = table(np.random.default_rng(1), 0.1)
    model = AdaBoostClassifier(n_estimators=40, learner=LEARNERS[name]).fit(X, y)
    stages = list(model.staged_decision_function(X))
    np.testing.assert_allclose(stages[-1], model.decision_function(X), atol=1e-12)
    save_model(model, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), load_model(tmp_path / "model")):
        np.testing.assert_array_equal(list(again.staged_decision_function(X)), stages)
        for one, other in zip(model.members_, again.members_, strict=True):
            assert_same(one, other)
