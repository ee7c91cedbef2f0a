"""MarginBoostClassifier as a scikit-learn user meets it."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dualboost import MarginBoostClassifier
from reference import lp_largest_margin


@parametrize_with_checks([MarginBoostClassifier(), MarginBoostClassifier(nu=0.3, max_iter=200)])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(400, 8, n_informative=4, flip_y=0.1, random_state=3)
    return X, y


def fitted(X, y, **options):
    sample_weight = options.pop("sample_weight", None)
    return MarginBoostClassifier(**{"nu": 0.4, "max_iter": 300, **options}).fit(X, y, sample_weight)


def test_certificate_holds_against_the_lp_over_all_stumps(data):
    X, y = data[0][:80], data[1][:80]
    model = fitted(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    stumps = [np.ones(len(y))] + [
        np.where(X[:, f] > t, 1.0, -1.0) for f in range(X.shape[1]) for t in np.unique(X[:, f])[:-1]
    ]
    A = signs[:, None] * np.array(stumps).T
    optimum, _ = lp_largest_margin(A, np.full(len(y), 1 / (0.4 * len(y))))
    certificate = model.certificate_
    assert certificate.objective <= optimum + 1e-9 <= certificate.bound + 2e-9
    assert certificate.gap <= 0.05 * certificate.objective + 1e-9
    assert model.status_.startswith("certified")


def test_objective_is_the_soft_margin_of_the_model_itself(data):
    X, y = data
    model = fitted(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    margins = signs * model.decision_function(X)
    np.testing.assert_allclose(model.margins_, margins, atol=1e-14)
    worst = np.sort(margins)[: int(0.4 * len(y))]
    assert model.certificate_.objective == pytest.approx(worst.mean(), abs=1e-12)
    assert np.abs(margins).max() <= 1 + 1e-12
    assert model.sample_distribution_.sum() == pytest.approx(1, abs=1e-12)
    assert model.sample_distribution_.max() <= 1 / (0.4 * len(y)) * (1 + 1e-12)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert len(model.history_["objective"]) == model.n_iter_ + 1


def test_a_good_model_with_the_defaults():
    X, y = load_breast_cancer(return_X_y=True)
    folds = cross_validate(MarginBoostClassifier(random_state=0), X, y, cv=3, return_estimator=True)
    assert folds["test_score"].mean() > 0.95
    for model in folds["estimator"]:
        assert model.certificate_.objective > 0
        assert 0 < model.nu_ <= 1


def test_same_bits_for_any_number_of_threads_and_any_container(data):
    X, y = data
    reference = fitted(X, y).decision_function(X)
    names = [f"größe {j}" for j in range(X.shape[1])]
    for other in (
        fitted(X, y, n_jobs=2).decision_function(X),
        fitted(np.asfortranarray(X), y).decision_function(X[:, :]),
        fitted(pd.DataFrame(X, columns=names), y).decision_function(pd.DataFrame(X, columns=names)),
        fitted(pl.DataFrame(X, schema=names), y).decision_function(pl.DataFrame(X, schema=names)),
        pickle.loads(pickle.dumps(fitted(X, y))).decision_function(X),
    ):
        np.testing.assert_array_equal(other, reference)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.coo_array])
def test_sparse_is_dense(data, kind):
    X, y = data
    X = np.where(np.abs(X) < 1, 0.0, np.round(X))
    dense, sparse = fitted(X, y, nu=0.6), fitted(kind(X), y, nu=0.6)
    assert dense.certificate_.objective > 0.02, "a vote with a margin"
    np.testing.assert_allclose(sparse.decision_function(kind(X)), dense.decision_function(X), atol=1e-12)
    np.testing.assert_allclose(sparse.decision_function(X), dense.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("nu", [0.4, "auto"])
def test_weight_k_is_k_copies_and_weight_zero_is_absent(data, nu):
    X, y = data[0][:150].copy(), data[1][:150]
    X[::7, 2] = np.nan
    counts = np.random.RandomState(0).randint(0, 4, len(y))
    order = np.random.RandomState(1).permutation(counts.sum())
    weighted = fitted(X, y, nu=nu, sample_weight=counts, random_state=5)
    copied = fitted(np.repeat(X, counts, axis=0)[order], np.repeat(y, counts)[order], nu=nu, random_state=5)
    assert weighted.nu_ == copied.nu_
    np.testing.assert_allclose(weighted.decision_function(X), copied.decision_function(X), atol=1e-9)
    assert np.isnan(weighted.margins_[counts == 0]).all()
    assert (weighted.sample_distribution_[counts == 0] == 0).all()


@pytest.mark.parametrize("scale", [1e-300, 7.0, 1e300])
def test_the_scale_of_the_weights_does_not_matter(data, scale):
    X, y = data
    weights = np.random.RandomState(0).uniform(0.5, 2, len(y))
    plain = fitted(X, y, sample_weight=weights, nu="auto", random_state=0)
    scaled = fitted(X, y, sample_weight=weights * scale, nu="auto", random_state=0)
    assert scaled.nu_ == plain.nu_
    np.testing.assert_allclose(scaled.decision_function(X), plain.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("labels", [("no", "yes"), (3, -7), (True, False), (0.0, 1.0)])
def test_any_two_labels(data, labels):
    X, y = data
    y = np.array(labels)[y]
    model = fitted(X, y)
    assert set(model.predict(X)) <= set(labels)
    assert model.score(X, y) > 0.8


def test_missing_values_learn_their_side():
    generator = np.random.RandomState(0)
    X = generator.randn(300, 3)
    y = (generator.rand(300) < 0.5).astype(int)
    X[y == 1, 1] = np.where(generator.rand((y == 1).sum()) < 0.9, np.nan, X[y == 1, 1])
    model = fitted(X, y, nu=0.2)
    assert model.score(X, y) > 0.9
    assert model.predict([[0.0, np.nan, 0.0]]) == [1]


# scikit-learn adds up X to see whether it is finite, and 1e308 overflows on both sides.
@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce:RuntimeWarning")
def test_values_that_float32_cannot_tell_apart():
    for low, high in ((1.0, 1.0 + 1e-9), (2.0**53, 2.0**53 + 2), (1e-310, 3e-310), (-1e308, 1e308)):
        X = np.array([[low], [high]] * 10)
        y = np.array([0, 1] * 10)
        assert fitted(X, y).score(X, y) == 1.0


def test_in_a_pipeline_and_a_grid_search(data):
    X, y = data
    search = GridSearchCV(
        make_pipeline(StandardScaler(), MarginBoostClassifier(max_iter=100)),
        {"marginboostclassifier__nu": [0.3, 0.6]},
        cv=3,
    )
    assert search.fit(X, y).best_score_ > 0.7
    assert clone(search.best_estimator_[-1]).nu == search.best_params_["marginboostclassifier__nu"]


def test_no_margin_is_said_with_advice():
    X = np.repeat(np.arange(20.0)[:, None], 2, axis=0)
    y = np.tile([0, 1], 20)  # every row contradicts another
    with pytest.warns(ConvergenceWarning, match="raise nu"):
        model = fitted(X, y, nu=0.1)
    assert "raise nu" in model.status_
    assert model.certificate_.objective <= model.certificate_.bound


def test_verbose_draws_to_stderr_only(data, capfd):
    fitted(*data, verbose=1)
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "margin" in printed.err


GOOD_X, GOOD_Y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": np.array([0, 1, np.nan, 1, 0, 1])}, "NaN"),
        ({"y": np.array([0, 1, np.inf, 1, 0, 1])}, "infinity"),
        ({"y": np.zeros(6)}, "two classes"),
        ({"y": GOOD_Y[:4]}, "inconsistent"),
        ({"X": np.empty((0, 2)), "y": np.empty(0)}, "0 sample"),
        ({"X": np.empty((6, 0))}, "0 feature"),
        ({"X": np.where(GOOD_X == 3, np.inf, GOOD_X)}, "infinity"),
        ({"sample_weight": np.zeros(6)}, "[Aa]ll sample weights are zero|Sample weights must contain at least one"),
        ({"sample_weight": -np.ones(6)}, "[Nn]egative"),
        ({"sample_weight": np.full(6, np.nan)}, "NaN"),
        ({"sample_weight": GOOD_Y}, "two classes"),
        ({"sample_weight": np.ones(3)}, "sample_weight"),
        ({"nu": 0}, "nu is the fraction"),
        ({"nu": 1.5}, "nu is the fraction"),
        ({"nu": "best"}, "nu is the fraction"),
        ({"nu": None}, "nu is the fraction"),
        ({"tol": 0}, "tol"),
        ({"tol": -1.0}, "tol"),
        ({"tol": np.nan}, "tol"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
        ({"max_iter": 2.5}, "max_iter must be a whole number"),
        ({"max_bins": 1}, "max_bins must be a whole number"),
        ({"max_bins": 256}, "max_bins must be a whole number"),
        ({"X": pd.DataFrame({"age": range(6), "stadt": list("abcdef")})}, "Column 'stadt' holds text"),
        ({"X": pl.DataFrame({"age": range(6), "stadt": list("abcdef")})}, "Column 'stadt' holds text"),
    ],
)
def test_bad_input_is_one_sentence(arguments, message):
    call = {"X": GOOD_X, "y": GOOD_Y, **arguments}
    with pytest.raises(ValueError, match=message) as error:
        fitted(call.pop("X"), call.pop("y"), **call)
    assert "\n" not in str(error.value).strip()


def test_columns_that_differ_at_predict_are_refused(data):
    X, y = data
    model = fitted(pd.DataFrame(X).add_prefix("c"), y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X[:, ::-1]).add_prefix("d"))
    with pytest.raises(ValueError, match="features"):
        fitted(X, y).predict(X[:, :3])


def test_interrupting_keeps_the_best_model(data, monkeypatch):
    from dualboost.learners.stumps import StumpOracle

    ask, calls = StumpOracle.best, []

    def interrupted(self, d, k=1):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return ask(self, d, k)

    monkeypatch.setattr(StumpOracle, "best", interrupted)
    model = fitted(*data)
    assert "interrupted" in model.status_
    assert model.score(*data) > 0.7
