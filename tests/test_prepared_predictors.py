"""Predictors prepare their arrays once for many calls: one row, a batch, a copy and a file give the same bits."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dualboost import kernels
from dualboost.learners import LeafTrees, Trees
from dualboost.learners.base import Predictor
from dualboost.rows import Rows


def a_vote_of_trees(seed: int, count: int = 21) -> tuple[Predictor, np.ndarray]:
    """A vote of trees, and rows to score: some have a value missing in a column that had none in training."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 5)).round(1)
    X[rng.random(80) < 0.2, 1] = np.nan
    oracle = Trees(3).bind(X, np.where(rng.random(80) < 0.5, 1, -1).astype(np.int8), Rows.of(80))
    trees = [oracle.best(rng.dirichlet(np.ones(80))).hypotheses[0] for _ in range(count)]
    rows = rng.normal(size=(60, 5)).round(1)
    rows[rng.random(rows.shape) < 0.05] = np.nan
    return oracle.predictor(trees, rng.normal(size=count)), rows


def a_vote_of_leaf_trees() -> tuple[Predictor, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 4))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1).astype(np.int8)
    oracle = LeafTrees(max_leaves=5).bind(X, y, Rows.of(80))
    trees = [oracle.best(rng.dirichlet(np.ones(80))).hypotheses[0] for _ in range(3)]
    return oracle.predictor(trees, np.array([0.5, -1.0, 2.0])), X


@given(st.integers(0, 10**6), st.integers(1, 20))
def test_a_row_has_the_same_score_alone_in_a_part_and_in_a_batch(seed, size):
    model, X = a_vote_of_trees(seed)
    whole = model.scores(X)
    parts = [model.scores(X[first : first + size]) for first in range(0, len(X), size)]
    assert np.array_equal(np.concatenate(parts), whole)
    assert np.array_equal([model.scores(row[None])[0] for row in X], whole)
    assert np.array_equal(model.scores(sp.csr_array(X)), whole)
    surprised = np.isnan(np.delete(X, 1, axis=1)).any(axis=1)
    assert surprised.any()
    assert not surprised.all()


@pytest.mark.parametrize("make", [lambda: a_vote_of_trees(0), a_vote_of_leaf_trees], ids=["trees", "leaf trees"])
def test_a_used_predictor_can_be_copied_and_pickled(make):
    model, X = make()
    expected = model.scores(X)
    model.scores(sp.csr_array(np.nan_to_num(X)))
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert not {"_prepared", "_narrow"} & vars(other).keys()
        assert np.array_equal(other.scores(X), expected)


def test_arrays_that_change_later_do_not_reach_a_prepared_predictor():
    model, X = a_vote_of_trees(1)
    expected = model.scores(X)
    for name in ("nodes", "start", "weights", "features", "cut_start", "cuts", "met_missing"):
        getattr(model, name)[...] = 100
    assert np.array_equal(model.scores(X), expected)


def test_leaf_trees_that_do_not_fit_are_refused():
    model, X = a_vote_of_leaf_trees()
    names = ("feature", "threshold", "missing_right", "left", "right", "value", "roots")
    good = [getattr(model, name) for name in names]
    size = len(model.feature)
    wrong = {
        "threshold": np.zeros(size + 1),
        "left": np.zeros(size, dtype=np.int32),
        "right": np.full(size, size, dtype=np.int32),
        "value": np.zeros(size - 1),
        "roots": np.array([size]),
    }
    for name, value in wrong.items():
        place = names.index(name)
        with pytest.raises(ValueError, match=r"tree|root|Trees"):
            kernels.LeafPredictor(*good[:place], value, *good[place + 1 :])
    ready = kernels.LeafPredictor(*good)
    with pytest.raises(ValueError, match="does not have"):
        ready.scores(np.ascontiguousarray(X[:, :0]), np.empty(len(X)), 1)
    with pytest.raises(ValueError, match="out must"):
        ready.scores(X, np.empty(len(X) - 1), 1)
