"""Weight k is k copies of a row, to the last bit where a last bit may choose between votes: the soft-margin family."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import dualboost
from dualboost import MarginBoostClassifier, TotalBoostClassifier, solve
from dualboost import copies as copies_module
from dualboost.boosters import LPBoost, SoftBoost
from dualboost.copies import Copies
from dualboost.estimators.coded import rows_of
from dualboost.estimators.margin import MarginClassifier
from dualboost.fingerprints import contents, count_distinct, fingerprints
from dualboost.learners import Trees
from dualboost.losses import SoftMargin
from dualboost.sets import Capped, Simplex
from fitted import quick

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

EVERY = [getattr(dualboost, name) for name in dualboost.__all__ if name.endswith("Classifier")]
FAMILY = [kind.__name__ for kind in EVERY if issubclass(kind, MarginClassifier)]
LAID_OUT = {
    "side by side": lambda counts: np.repeat(np.arange(len(counts)), counts),
    "one after the other": lambda counts: np.concatenate([np.flatnonzero(counts > k) for k in range(counts.max())]),
}
layouts = pytest.mark.parametrize("layout", LAID_OUT)


def table(seed: int, classes: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Small tables, most of them with few values: edges of many stumps are equal, and so are many optima."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(8, 40)), int(rng.integers(1, 5))
    X = rng.normal(size=(m, n)) if seed % 3 == 2 else rng.integers(0, (3, 6)[seed % 3], (m, n)).astype(float)
    y = rng.integers(0, classes, m)
    if seed % 2:
        noise, cuts = 0.3 * X.std() * rng.normal(size=m), [1 / 2, 3 / 4][: classes - 1]
        y = np.digitize(X[:, 0] + noise, np.quantile(X[:, 0], cuts))
    counts = rng.integers(0, 4, m)
    y[:classes], counts[:classes] = np.arange(classes), np.maximum(counts[:classes], 1)
    return X, y, counts


def pair(make, X, y, counts, layout: str):
    """(fitted to weights, fitted to copies, which row each copy is of)."""
    at = LAID_OUT[layout](counts)
    return make().fit(X, y, sample_weight=counts), make().fit(X[at], y[at]), at


@layouts
@pytest.mark.parametrize("kind", FAMILY)
@given(seed=st.integers(0, 10**6), nu=st.sampled_from([0.02, 0.1, 0.3, 0.6]))
def test_the_vote_is_the_same_to_the_bit(kind, layout, seed, nu):
    X, y, counts = table(seed)
    weighted, copied, at = pair(lambda: quick(kind, nu=nu, max_iter=300, calibrate=False), X, y, counts, layout)
    np.testing.assert_array_equal(weighted.decision_function(X), copied.decision_function(X))
    assert weighted.certificate_ == copied.certificate_
    assert weighted.status_ == copied.status_ and weighted.n_iter_ == copied.n_iter_
    np.testing.assert_array_equal(weighted.margins_[at], copied.margins_)
    together = np.bincount(at, copied.sample_distribution_, len(y))
    np.testing.assert_allclose(together, weighted.sample_distribution_, rtol=0, atol=1e-15)


@pytest.mark.parametrize("kind", FAMILY)
@given(seed=st.integers(0, 10**6))
def test_what_is_proved_is_proved_of_all_rows(kind, seed):
    """The certificate of the merged rows, recomputed with NumPy from what the model says of every copy."""
    X, y, counts = table(seed)
    at = LAID_OUT["side by side"](counts)
    X, y = X[at], y[at]
    model = quick(kind, nu=0.3, max_iter=300, calibrate=False).fit(X, y)
    d, z, signs = model.sample_distribution_, model.margins_, np.where(y == 1, 1, -1)
    np.testing.assert_allclose(z, signs * model.decision_function(X), atol=1e-12)
    cap = min(1.0, 1 / (model.nu_ * len(y))) if kind != "TotalBoostClassifier" else 1.0
    assert (d >= 0).all() and (d <= cap + 1e-9).all() and abs(d.sum() - 1) <= 1e-9
    lowest, room = 0.0, 1.0
    for margin in np.sort(z):
        lowest += min(cap, room) * margin
        room -= min(cap, room)
    assert model.certificate_.objective == pytest.approx(lowest, abs=1e-9)
    stumps = [np.ones(len(y)), *(np.where(x > cut, 1, -1) for x in X.T for cut in np.unique(x)[:-1])]
    assert model.certificate_.bound >= max(abs(d * signs @ h) for h in stumps) - 1e-12


@layouts
@pytest.mark.parametrize(
    "options",
    [
        {"multiclass": "rest"},
        {"multiclass": "pairs"},
        {"nu": "auto", "random_state": 0},
        {"learner": Trees(2)},
        {"training": dualboost.Training(validation_fraction=0.3, patience=3)},
    ],
    ids=["rest", "pairs", "nu", "trees", "held out"],
)
@pytest.mark.parametrize("seed", range(6))
def test_classes_probabilities_and_what_else_looks_at_rows(options, layout, seed):
    X, y, counts = table(seed, 3)
    chosen = {"nu": 0.4, "max_iter": 60, **options}
    weighted, copied, at = pair(lambda: MarginBoostClassifier(**chosen), X, y, counts, layout)
    np.testing.assert_array_equal(weighted.decision_function(X), copied.decision_function(X))
    np.testing.assert_array_equal(weighted.predict_proba(X), copied.predict_proba(X))
    np.testing.assert_array_equal(weighted.margins_[at], copied.margins_)


@pytest.mark.parametrize("seed", range(10))
def test_copies_in_sparse_tables(seed):
    X, y, counts = table(3 * seed)
    X[::5, 0] = np.nan
    at = LAID_OUT["side by side"](counts)
    votes = [
        TotalBoostClassifier(calibrate=False, max_iter=100).fit(*given).decision_function(X)
        for given in ((X, y, counts), (sp.csr_matrix(X), y, counts), (sp.csc_matrix(X[at]), y[at]))
    ]
    np.testing.assert_array_equal(votes[0], votes[1])
    np.testing.assert_array_equal(votes[0], votes[2])


@pytest.mark.parametrize("booster", [SoftBoost(), LPBoost(1, 0.0)], ids=["soft", "textbook"])
@pytest.mark.parametrize("loss", ["hard", "caps that never bind", "a cap a row"])
def test_rows_of_the_program_share_as_copies_do(booster, loss):
    """At the matrix level nothing is merged, and rows may carry more than their part of the prior."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        A, counts = rng.uniform(-1, 1, (12, 6)), np.append(1, rng.integers(1, 4, 11))
        at, caps = np.repeat(np.arange(12), counts), rng.uniform(0.1, 1.2, 12)
        sets = {
            "hard": (Simplex(), Simplex()),
            "caps that never bind": (Capped(nu=0.02), Capped(nu=0.02)),
            "a cap a row": (Capped(caps=caps), Capped(caps=caps[at])),
        }[loss]
        one = solve(A, SoftMargin(sets[0]), booster, tol=1e-3, sample_weight=counts)
        two = solve(A[at], SoftMargin(sets[1]), booster, tol=1e-3)
        assert one.n_rounds == two.n_rounds > 1
        np.testing.assert_allclose(one.weights, two.weights, atol=1e-9)
        np.testing.assert_allclose(one.distribution, np.bincount(at, two.distribution), atol=1e-9)


# ---- copies among rows ----------------------------------------------------------------------------------------------


def by_hand(X: np.ndarray, codes: np.ndarray) -> list[int]:
    """The first equal row of each."""
    keys = [(*("nan" if np.isnan(v) else v + 0.0 for v in row), code) for row, code in zip(X, codes, strict=True)]
    return [keys.index(key) for key in keys]


@given(seed=st.integers(0, 10**6), m=st.integers(1, 40), n=st.integers(1, 4), form=st.sampled_from(["dense", "sparse"]))
def test_copies_are_equal_rows_of_one_class(seed, m, n, form):
    rng = np.random.default_rng(seed)
    X, codes, weights = rng.choice([0.0, -0.0, 1.0, 2.5, np.nan], (m, n)), rng.integers(0, 2, m), rng.uniform(1, 2, m)
    found, first = Copies.among(sp.csr_matrix(X) if form == "sparse" else X, codes, weights), by_hand(X, codes)
    if found is None:
        assert first == list(range(m))
        return
    assert found.first[found.of].tolist() == first and np.all(np.diff(found.first) > 0)
    np.testing.assert_allclose(found.weights, [weights[np.array(first) == k].sum() for k in found.first], rtol=1e-15)
    np.testing.assert_allclose(np.bincount(found.of, found.shares), 1.0, rtol=1e-14)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_rows_of_one_hash_may_still_differ(form, monkeypatch):
    same = np.zeros(4, np.uint64)
    monkeypatch.setattr(copies_module, "contents", lambda X, seed: contents(X, 1) if seed else same[: X.shape[0]])
    X, codes = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 2.0]]), np.zeros(4, dtype=np.int8)
    found = Copies.among(form(X), codes, None)
    assert found is not None and found.first.tolist() == [0, 1, 3] and found.weights.tolist() == [2.0, 1.0, 1.0]
    assert Copies.among(form(X[1:]), codes[1:], None) is None


@pytest.mark.parametrize("values", [2, 6, 1000])
def test_small_whole_numbers_have_as_many_hashes_as_rows(values):
    """Their bits begin with a dozen that differ and end with zeros, which a product keeps."""
    X = np.random.default_rng(0).integers(0, values, (50_000, 40)).astype(np.float64)
    prints, dealt = contents(X, 0), fingerprints(X, np.random.RandomState(0))
    assert count_distinct(prints) == len(np.unique(X, axis=0)) == len(X)
    for same in (X.astype(np.float32), np.asfortranarray(X), sp.csr_matrix(X), sp.csc_matrix(X)):
        np.testing.assert_array_equal(contents(same, 0), prints)
        np.testing.assert_array_equal(fingerprints(same, np.random.RandomState(0)), dealt)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("chosen", [[], [3], [0, 2, 3, 7], [5, 1, 1, 0], "mask"])
def test_rows_of_a_sparse_table_are_those_of_scipy(kind, chosen):
    table = kind(sp.random_array((9, 6), density=0.4, rng=np.random.default_rng(0)))
    rows = np.arange(9) % 3 > 0 if chosen == "mask" else np.array(chosen, dtype=np.intp)
    found, expected = rows_of(table, rows), table[rows]
    assert type(found) is kind and found.shape == expected.shape
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))
        assert getattr(found, part).dtype == getattr(expected, part).dtype
