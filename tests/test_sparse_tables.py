"""Sparse tables in any form: the same model as of the dense one, and the caller's table is left as it was."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from dualboost import LPBoostClassifier, MarginBoostClassifier, diagnose, solve
from dualboost.learners import Matrix, Stumps, Trees, Words
from dualboost.sparse_tables import summed_up, without_zeros, written_out

RNG = np.random.default_rng(0)
DENSE = np.maximum(np.floor(2 * RNG.normal(size=(150, 6))), 0) / 16
Y = (DENSE[:, 0] > DENSE[:, 1]).astype(int)
SIGNS = np.where(RNG.random((150, 6)) < 0.5, np.sign(RNG.normal(size=(150, 6))), 0.0)


def listed_twice(dense: np.ndarray, kind: type) -> sp.sparray:
    """Each cell in two halves, the places of a line from last to first, and a zero in each line."""
    table = kind(dense)
    lines = [slice(*ends) for ends in zip(table.indptr, table.indptr[1:], strict=False)]
    places = [np.concatenate([table.indices[line], table.indices[line], [0]])[::-1] for line in lines]
    values = [np.concatenate([table.data[line] / 2, table.data[line] / 2, [0.0]])[::-1] for line in lines]
    ends = np.cumsum([0, *map(len, places)])
    return kind((np.concatenate(values), np.concatenate(places), ends), shape=dense.shape)


def parts_of(table) -> list[bytes]:
    return [part.tobytes() for part in (table.data, table.indices, table.indptr)]


KINDS = [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix]
LEARNERS = [Stumps(), Trees(2), Words(), Matrix()]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_cells_that_are_listed_twice_are_summed_and_stay_the_callers(learner, kind):
    table = listed_twice(DENSE, kind)
    before = parts_of(table)
    whole, model = (LPBoostClassifier(nu=0.5, max_iter=10, learner=learner) for _ in range(2))
    expected = whole.fit(DENSE, Y).decision_function(DENSE)
    model.fit(table, Y)
    for votes in (model.decision_function(table), model.predictor_.scores(table), model.decision_function(DENSE)):
        np.testing.assert_allclose(votes, expected, atol=1e-12)
    assert parts_of(table) == before


def test_nothing_is_shared_that_is_summed_in_place():
    """Places that two tables shared were moved by one of them: the process ended."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\nimport test_sparse_tables as tables\n"
    code += "for kind in tables.KINDS:\n    tables.fit_columns(kind)"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def fit_columns(kind: type) -> None:
    for _ in range(3):
        LPBoostClassifier(nu=0.5, max_iter=10, learner=Matrix()).fit(listed_twice(DENSE, kind), Y)


@pytest.mark.parametrize("kind", KINDS)
def test_matrices_of_margins_stay_the_callers_too(kind):
    table = listed_twice(SIGNS, kind)
    before = parts_of(table)
    assert solve(table, max_rounds=50).objective == pytest.approx(solve(SIGNS, max_rounds=50).objective, abs=1e-12)
    np.testing.assert_array_equal(diagnose(table).hard_core, diagnose(SIGNS).hard_core)
    np.testing.assert_array_equal(diagnose(table, Y).hard_core, diagnose(SIGNS, Y).hard_core)
    assert parts_of(table) == before


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_listed(kind):
    table = listed_twice(DENSE, kind)
    before = parts_of(table)
    for once in (summed_up(table), without_zeros(table)):
        assert once.has_canonical_format
        np.testing.assert_array_equal(once.toarray(), DENSE)
    assert without_zeros(table).nnz == np.count_nonzero(DENSE) < summed_up(table).nnz
    canonical = kind(DENSE)
    assert summed_up(canonical) is canonical and summed_up(DENSE) is DENSE
    for rows, part in written_out(table, np.array([1, 4])):
        np.testing.assert_array_equal(part, DENSE[rows][:, [1, 4]])
    assert parts_of(table) == before


def test_a_margin_of_a_table_that_lists_cells_twice_is_certified():
    model = MarginBoostClassifier(nu=0.5, learner=Matrix(), calibrate=False).fit(listed_twice(DENSE, sp.csc_array), Y)
    signs = np.where(Y == 1, 1.0, -1.0)
    np.testing.assert_allclose(model.margins_, signs * model.decision_function(DENSE), atol=1e-12)
