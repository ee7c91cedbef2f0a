"""Categories in a margin over several classes: the best of all tables of signs, and the margin by a linear program."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualboost import MarginBoostClassifier, explain, load_model, save_model, to_onnx
from dualboost.boosters import LPBoost, TotallyCorrective
from dualboost.game import Game
from dualboost.learners.class_stumps import ClassStumps
from dualboost.losses import SoftMargin
from dualboost.sets import Capped
from dualboost.solve import play
from test_class_stumps import check_leads, check_outcome, every_column, soft_margin

LEARNER = ClassStumps(255, (1,))


def table(seed: int, n: int, n_classes: int, missing: bool = True):
    """A column of numbers and one of three categories, which says something about the class."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n).astype(float)
    codes = np.where(rng.random(n) < 0.7, kind.astype(int) % n_classes, rng.integers(0, n_classes, n))
    codes[:n_classes] = np.arange(n_classes)
    if missing:
        kind[rng.random(n) < 0.1] = np.nan
    return np.column_stack([np.round(rng.normal(size=n), 1), kind]), codes


def every_table(kind: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """All tables of a sign for each category and class, by hand; (pairs, hypotheses)."""
    place = np.unique(np.where(np.isnan(kind), 9.0, kind), return_inverse=True)[1]
    columns = []
    for signs in product((1.0, -1.0), repeat=n_classes * (place.max() + 1)):
        votes = np.reshape(signs, (-1, n_classes))[place]
        pairs = [(votes[i, codes[i]] - votes[i, r]) / 2 for i in range(len(codes)) for r in range(n_classes)
                 if r != codes[i]]  # fmt: skip
        columns.append(pairs)
    return np.array(columns).T


@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.integers(1, 2))
def test_the_best_of_all_tables_and_all_stumps(seed, n_classes, k):
    X, codes = table(seed, 12, n_classes, missing=seed % 2 == 0 and n_classes == 2)
    rng = np.random.default_rng(seed)
    rows = ClassStumps.rows_of(rng.integers(1, 4, 12).astype(float), n_classes)
    oracle = LEARNER.bind(X, codes, rows)
    d = rng.dirichlet(np.full(len(rows), 0.3))
    answer = oracle.best(d, k)
    everything = np.hstack([every_column(X[:, :1], codes, n_classes), every_table(X[:, 1], codes, n_classes)])
    largest = np.abs(d @ everything).max()
    assert abs(answer.edges[0]) == pytest.approx(largest, abs=1e-12) and largest <= answer.bound <= largest + 1e-9
    for name, column, edge in zip(answer.hypotheses, answer.columns, answer.edges, strict=True):
        assert d @ column == pytest.approx(edge, abs=1e-12)
        np.testing.assert_array_equal(column, oracle.column(name))
        np.testing.assert_allclose(oracle.margins([name], np.ones(1)), column, atol=1e-12)


@pytest.mark.parametrize("booster", [TotallyCorrective(), LPBoost()], ids=lambda b: type(b).__name__)
def test_the_margin_over_pairs_is_that_of_a_linear_program(booster):
    X, codes = table(4, 24, 3, missing=False)
    rows = ClassStumps.rows_of(24, 3)
    oracle = LEARNER.bind(X, codes, rows)
    game = Game(SoftMargin(Capped(nu=0.5)).bind(rows), oracle, rows, tol=1e-3)
    outcome = play(game, booster, 500)
    check_outcome(
        outcome, soft_margin(np.hstack([every_column(X[:, :1], codes, 3), every_table(X[:, 1], codes, 3)]), 0.5)
    )
    check_leads(outcome.margins, oracle.predictor(outcome.hypotheses, outcome.weights).scores(X), codes)


def test_weights_are_copies():
    X, codes = table(7, 40, 3)
    weights = np.random.default_rng(1).integers(1, 4, 40)
    copies = np.repeat(np.arange(40), weights)
    d = np.random.default_rng(2).dirichlet(np.ones(80))
    weighted = LEARNER.bind(X, codes, ClassStumps.rows_of(weights.astype(float), 3))
    copied = LEARNER.bind(X[copies], codes[copies], ClassStumps.rows_of(len(copies), 3))
    spread = np.repeat(d.reshape(40, 2) / weights[:, None], weights, axis=0).ravel()
    one, other = weighted.best(d, 2), copied.best(spread, 2)
    assert one.hypotheses == other.hypotheses
    np.testing.assert_allclose(one.edges, other.edges, atol=1e-12)


def test_a_frame_in_files_explanations_and_onnx(tmp_path):
    ort = pytest.importorskip("onnxruntime")
    X, codes = table(9, 120, 3)
    kinds = pd.Categorical.from_codes(np.where(np.isnan(X[:, 1]), -1, X[:, 1]).astype(int), ["a", "b", "ß"])
    frame = pd.DataFrame({"x": X[:, 0], "kind": kinds})
    model = MarginBoostClassifier(nu=0.6, multiclass="pairs").fit(frame, codes)
    assert model.score(frame, codes) > 0.7 and model.feature_importances_[1] > 0.5
    save_model(model, tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict_proba(frame), model.predict_proba(frame))
    unseen = frame.assign(kind=pd.Categorical(["new"] * 120))
    gone = frame.assign(kind=pd.Categorical([None] * 120, categories=["a"]))
    np.testing.assert_array_equal(model.decision_function(unseen), model.decision_function(gone))
    told = explain(model, frame)
    np.testing.assert_allclose(told.base + told.contributions.sum(axis=1), model.decision_function(frame), atol=1e-12)
    session = ort.InferenceSession(to_onnx(model).SerializeToString())
    coded = np.column_stack([X[:, 0], np.where(kinds.codes < 0, np.nan, kinds.codes)])
    found = session.run(["probabilities"], {session.get_inputs()[0].name: coded})[0]
    np.testing.assert_allclose(found, model.predict_proba(frame), atol=1e-6)
