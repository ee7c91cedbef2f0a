"""The linear algebra of a master takes one thread, whatever the process allows, and then gives the others back."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from dualboost import MarginBoostClassifier
from dualboost.losses import Exponential, SoftMargin
from dualboost.master import L1Ball, descend, entropy_projection, minimise_attained, one_thread
from dualboost.rows import Rows
from dualboost.sets import Capped

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


def test_a_model_does_not_depend_on_the_threads_of_a_product():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8)).round(1)
    y = X @ rng.normal(size=8) + 2 * rng.normal(size=400) > 0

    def bits(limit: int) -> bytes:
        with threadpool_limits(limit):
            return MarginBoostClassifier(0.3, calibrate=False).fit(X, y).decision_function(X).tobytes()

    assert bits(1) == bits(2) == bits(3)
