"""ONNX models of averages and sums, however deep, that hold linear votes."""

from dataclasses import replace

import numpy as np
import pytest

from dualboost import LogisticDifferenceClassifier, LogisticMixtureClassifier
from dualboost.estimators.bagging import Average
from dualboost.learners import LeafTrees, Matrix, Stumps, Trees, Union
from dualboost.learners.union import SumScores
from test_onnx import answers, assert_same

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (300, 4))
Y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=300) > 0
LEARNERS = {
    "linear": Matrix(),
    "stumps and linear": Union((Stumps(), Matrix())),
    "linear and trees": Union((Matrix(), Trees(2))),
    "a union in a union": Union((Union((Matrix(), Trees(2))), LeafTrees(4))),
}


def bagged(learner, kind=LogisticMixtureClassifier, labels=Y):
    return kind(learner=learner, bags=3, max_iter=5, random_state=0).fit(X, labels)


@pytest.mark.parametrize("kind", [LogisticMixtureClassifier, LogisticDifferenceClassifier])
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("labels", [Y, Y + (X[:, 3] > 0.5)], ids=["two classes", "three classes"])
def test_bags_of_linear_votes(kind, learner, labels):
    model = bagged(LEARNERS[learner], kind, labels)
    parts = getattr(model, "estimators_", [model])
    assert all(isinstance(part.predictor_, Average) and part.predictor_.parts for part in parts)
    assert np.ptp(assert_same(model, X)["score"]) > 0


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_scales_and_constants_of_every_level_count(depth):
    """Averages of unequal size in sums in averages, with constants of their own; and nothing but a constant."""
    model, stumps = bagged(Matrix()), bagged(Stumps()).predictor_
    linear = model.predictor_
    vote = replace(linear, base=0.3, scale=1.7)
    for _ in range(depth):
        vote = SumScores((vote, Average((), 0.2), replace(stumps, base=-0.1)), np.ones(3))
        vote = Average((vote, linear), base=0.4, scale=2.5)
    model.predictor_ = vote
    np.testing.assert_allclose(answers(model, X)["score"], vote.scores(X), rtol=1e-12, atol=1e-12)
    model.predictor_ = Average((Average((), 0.7, 2.0),), base=-0.2, scale=3.0)
    np.testing.assert_allclose(answers(model, X)["score"], 1.9, rtol=1e-12)


def test_a_mean_of_zero_votes_for_columns_is_its_constant():
    model = bagged(Matrix())
    one = model.predictor_.parts[0]
    model.predictor_ = Average((one, replace(one, weights=-one.weights)), base=0.25)
    np.testing.assert_array_equal(answers(model, X)["score"], np.full(len(X), 0.25))
