"""When a totally corrective run ends: at a proved gap, or where its learner names nothing that could gain the gap."""

import numpy as np
import pytest

from dualboost.boosters import TotallyCorrective
from dualboost.game import Game
from dualboost.learners import Matrix, Stumps, Trees
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped
from dualboost.solve import play

NU = 0.3


def some_data(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 5))
    return X, np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=150) > 0, 1, -1).astype(np.int8)


def average_of_the_lowest(margins: np.ndarray) -> float:
    """The soft margin at nu, by its definition as an average of the lowest nu m margins."""
    count = NU * len(margins)
    shares = np.clip(count - np.arange(len(margins)), 0, 1)
    return float(np.sort(margins) @ shares / count)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("tol", [0.1, 0.02])
def test_greedy_trees_end_where_they_name_nothing_more(seed, tol):
    X, y = some_data(seed)
    rows = Rows.of(len(y))
    oracle = Trees(3).bind(X, y, rows)
    outcome = play(Game(SoftMargin(Capped(nu=NU)).bind(rows), oracle, rows, tol=tol), TotallyCorrective(3), 2000)
    assert outcome.status.startswith("the learner names nothing")
    assert outcome.certificate.gap > tol, "nothing is proved"
    votes = outcome.weights @ np.array([oracle.column(tree) for tree in outcome.hypotheses], dtype=float)
    reached = average_of_the_lowest(votes)
    d = outcome.state.d
    assert d.max() <= 1 / (NU * len(y)) + 1e-12 and d.sum() == pytest.approx(1)
    named = abs(Trees(3).bind(X, y, rows).best(d).edges[0])
    assert 0 <= np.abs(outcome.weights).sum() <= 1 + 1e-12
    assert named - reached <= tol + 1e-9


def test_a_wider_gap_makes_a_smaller_vote():
    X, y = some_data(0)
    rows = Rows.of(len(y))
    loss, oracle = SoftMargin(Capped(nu=NU)).bind(rows), Trees(3).bind(X, y, rows)
    wide, narrow = (
        len(play(Game(loss, oracle, rows, tol=tol), TotallyCorrective(3), 2000).weights) for tol in (0.1, 0.001)
    )
    assert wide < narrow


@pytest.mark.parametrize("learner", [Stumps(), Trees(2, search="optimal"), "matrix"])
def test_exact_learners_end_with_a_proof(learner):
    X, y = some_data(1)
    rows = Rows.of(len(y))
    A = np.random.default_rng(0).choice([-1.0, 1.0], (len(y), 40))
    oracle = Matrix().bind(A, None, rows) if learner == "matrix" else learner.bind(X, y, rows)
    outcome = play(Game(SoftMargin(Capped(nu=NU)).bind(rows), oracle, rows, tol=0.01), TotallyCorrective(), 2000)
    assert outcome.status.startswith("certified") and outcome.certificate.gap <= 0.01
