"""What a fit holds in memory at its peak: bytes of arrays, never the size of a process."""

from __future__ import annotations

import tracemalloc
import warnings
import weakref

import numpy as np
import pytest

from dualboost import MarginBoostClassifier
from dualboost.boosters import Corrective
from dualboost.estimators.validation import training_data
from dualboost.game import Game
from dualboost.learners import Stumps
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped
from dualboost.solve import play

ROWS, COLUMNS = 30_000, 4


@pytest.fixture(scope="module")
def table():
    random = np.random.RandomState(0)
    X = random.normal(size=(ROWS, COLUMNS))
    return X, (X[:, 0] + random.normal(size=ROWS) > 0).astype(np.float64)


def test_a_run_lets_go_of_the_state_it_began_with(table):
    X, y = table[0][:500], np.where(table[1][:500] > 0, 1, -1).astype(np.int8)
    rows = Rows.of(500)
    game = Game(SoftMargin(Capped(nu=0.3)).bind(rows), Stumps().bind(X, y, rows), rows, tol=1e-6)
    alive, seen = [], []

    class Noted(Corrective):
        def start(self, game, previous=None):
            state = super().start(game, previous)
            alive.append(weakref.ref(state.z))
            return state

    play(game, Noted(), 300, None, lambda state: seen.append(alive[0]() is not None))
    assert len(seen) >= 2
    # Whoever looks first may still see it: the burst that made the new state has not returned.
    assert not any(seen[1:])


@pytest.mark.parametrize("classes", [2, 3, 200])
def test_the_numbers_of_classes_take_few_bytes(classes):
    y = np.arange(1000) % classes
    data = training_data(MarginBoostClassifier(), np.zeros((1000, 1)), y.astype(np.float64), None)
    assert data.codes.itemsize == (1 if classes < 128 else 2)
    np.testing.assert_array_equal(data.classes[data.codes], y)
    np.testing.assert_array_equal(data.against_rest(1).codes, y == 1)


def test_peak_of_a_fit(table):
    """The codes, a few vectors over the rows, and nothing else: what the kernels hold is not counted here."""
    model = MarginBoostClassifier(nu=0.3, booster=Corrective(), tol=1e-9, max_iter=20, calibrate=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table[0][:200], table[1][:200])  # what is imported late does not count
        tracemalloc.start()
        try:
            model.fit(*table)
            peak = tracemalloc.get_traced_memory()[1] / ROWS
        finally:
            tracemalloc.stop()
    codes, labels, margins_and_weights, slack = COLUMNS, 2, 16, 6
    assert peak <= codes + labels + margins_and_weights + slack
