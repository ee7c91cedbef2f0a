"""Linear algebra takes one thread, whatever the process allows, and then gives the others back: bits are the same."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from dualboost import MarginBoostClassifier
from dualboost.learners import Matrix
from dualboost.losses import Exponential, SoftMargin
from dualboost.master import L1Ball, descend, entropy_projection, minimise_attained
from dualboost.one_thread import one_thread
from dualboost.rows import Rows
from dualboost.sets import Capped
from faults import KINDS

BLAS = ThreadpoolController().select(user_api="blas")
COLUMNS = np.random.default_rng(0).choice([-1.0, 1.0], (8, 30))
ROWS = Rows.of(30)
MARGIN = SoftMargin(Capped(nu=0.3), 50.0)
MASTERS = {
    "descend": lambda: descend(MARGIN.bind(ROWS), COLUMNS, np.zeros(8), L1Ball(1.0), 1e-8),
    "entropy_projection": lambda: entropy_projection(Capped(nu=0.3).bind(ROWS), COLUMNS, 0.1),
    "minimise_attained": lambda: minimise_attained(
        Exponential().bind(ROWS), np.linalg.qr(COLUMNS.T)[0][:, :5], np.zeros(30)
    ),
}


def threads() -> set[int]:
    return {library.get_num_threads() for library in BLAS.lib_controllers}


@pytest.fixture
def two_threads():
    with threadpool_limits(2):
        if threads() != {2}:
            pytest.skip("a BLAS that knows no threads")
        yield


@pytest.mark.parametrize("name", MASTERS)
def test_no_thread_of_a_product_waits_for_another(name, monkeypatch, two_threads):
    """Counted at every second derivative, the largest product there is."""
    seen = []
    for kind in (SoftMargin, Exponential):
        plain = kind.hessian
        monkeypatch.setattr(kind, "hessian", lambda self, *a, plain=plain: (seen.append(threads()), plain(self, *a))[1])
    MASTERS[name]()
    assert len(seen) > 1 and all(count == {1} for count in seen)
    assert threads() == {2}, "given back"


def test_given_back_after_an_error(two_threads):
    with pytest.raises(ValueError, match="mismatch"):
        descend(MARGIN.bind(ROWS), COLUMNS, np.zeros(3), L1Ball(1.0), 1e-8)
    assert threads() == {2}


def test_fits_in_two_threads_give_back_what_the_first_one_found(two_threads):
    """The second one begins and ends later: what it found was the limit of the first."""
    inside, over = Event(), Event()

    def second():
        with one_thread():
            inside.set()
            assert over.wait(30)

    with ThreadPoolExecutor(1) as pool:
        with one_thread():
            later = pool.submit(second)
            assert inside.wait(30) and threads() == {1}
        over.set()
        later.result()
    assert threads() == {2}


def test_one_inside_another_changes_nothing(two_threads):
    with one_thread():
        with one_thread():
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {2}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", KINDS)
def test_models_do_not_depend_on_the_number_of_threads(name):
    """Sums over so many rows are shared among them; weights that differ, for sums of equal ones are not BLAS's."""
    kind = KINDS[name]
    rows, labels = kind.table(300 if "nzdd" in name else 12_000)
    weights = np.random.default_rng(2).uniform(0.5, 1.5, len(labels))

    def bits(limit: int) -> list[bytes]:
        with threadpool_limits(limit):
            model = kind.make().set_params(n_jobs=limit).fit(rows, labels, sample_weight=weights)
            found = model.decision_function(rows), model.margins_, model.sample_distribution_
            return [repr(model.certificate_).encode(), *(part.tobytes() for part in found)]

    assert bits(1) == bits(2) == bits(3)


def test_columns_and_their_scores_do_not_depend_on_it():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (3000, 200))
    y = X @ rng.normal(size=200) + 8 * rng.normal(size=3000) > 0

    def bits(limit: int) -> list[bytes]:
        with threadpool_limits(limit):
            model = MarginBoostClassifier(0.3, learner=Matrix(), calibrate=False, max_iter=5).fit(X, y)
            return [model.predictor_.weights.tobytes(), model.decision_function(X).tobytes()]

    assert bits(1) == bits(2) == bits(3)
