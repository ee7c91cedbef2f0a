"""Scores from lookup tables against a naive twin."""

import numpy as np
import pytest
import scipy.sparse as sp

from dualboost import kernels


def make_model(rng, n_features, used, most_cuts=20, pool=None):
    features = rng.permutation(n_features)[:used].astype(np.int32)
    counts = rng.integers(0, most_cuts + 1, used)
    draw = rng.standard_normal if pool is None else (lambda n: rng.choice(pool, n))
    per_feature = [np.unique(draw(c)) for c in counts]
    cut_start = np.concatenate(([0], np.cumsum([len(c) for c in per_feature]))).astype(np.int64)
    cuts = np.concatenate([*per_feature, []]).astype(np.float64)
    tables = rng.standard_normal(len(cuts) + used)
    return {
        "features": features,
        "cut_start": cut_start,
        "cuts": cuts,
        "tables": tables,
        "missing": rng.standard_normal(used),
        "base": 0.25,
    }


def naive(X, model):
    out = np.full(len(X), model["base"])
    for u, feature in enumerate(model["features"]):
        begin, end = model["cut_start"][u], model["cut_start"][u + 1]
        x = np.asarray(X[:, feature], dtype=np.float64)
        table = model["tables"][begin + u : end + u + 1]
        out += np.where(
            np.isnan(x),
            model["missing"][u],
            table[np.searchsorted(model["cuts"][begin:end], x, side="left").clip(0, end - begin)],
        )
    return out


def predict(X, model, threads=1):
    out = np.full(len(X), np.nan)
    kernels.predict_dense(X, **model, out=out, threads=threads)
    return out


def predict_sparse(S, model, threads=1, **changes):
    S = sp.csr_matrix(S)
    arguments = {"n_features": S.shape[1], "indptr": S.indptr, "indices": S.indices, "data": S.data, **model, **changes}
    out = np.full(S.shape[0], np.nan)
    kernels.predict_sparse(**arguments, out=out, threads=threads)
    return out


@pytest.mark.parametrize("rows", [0, 1, 2, 8, 9, 30, 100, 256, 1_000, 40_000])
@pytest.mark.parametrize("most_cuts", [1, 20, 300])
def test_dense_equals_naive_to_the_bit(rows, most_cuts):
    rng = np.random.default_rng(rows + most_cuts)
    X = rng.standard_normal((rows, 11))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.01] = np.inf
    X[rng.random(X.shape) < 0.01] = -np.inf
    model = make_model(rng, 11, 9, most_cuts)
    np.testing.assert_array_equal(predict(X, model), naive(X, model))
    np.testing.assert_array_equal(predict(X, model, threads=3), naive(X, model))


def test_layouts_and_precision():
    rng = np.random.default_rng(1)
    base = rng.standard_normal((900, 40)).astype(np.float32)
    model = make_model(rng, 8, 8, 30, pool=base.ravel().astype(np.float64))
    for X in (base[:, :8], np.asfortranarray(base[:, :8]), base[::-1, 7::-1], base[::5, 1:9], base[:32].T[:, ::4]):
        np.testing.assert_array_equal(predict(X, model), naive(X, model))
        np.testing.assert_array_equal(predict(X.astype(np.float64), model), naive(X, model))


def test_values_on_the_cuts():
    rng = np.random.default_rng(2)
    pool = np.array([-1.7e308, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1.0 + 2**-52, 1e300, 1.7e308, 3.0])
    X = rng.choice(pool, (3_000, 6))
    model = make_model(rng, 6, 6, 10, pool=pool)
    np.testing.assert_array_equal(predict(X, model), naive(X, model))


def test_a_feature_may_have_very_many_cuts():
    rng = np.random.default_rng(3)
    X, cuts = rng.standard_normal((2_000, 1)), np.unique(rng.standard_normal(70_000))
    model = {
        "features": np.array([0], np.int32),
        "cut_start": np.array([0, len(cuts)]),
        "cuts": cuts,
        "missing": np.zeros(1),
        "base": 0.0,
    }
    model["tables"] = rng.standard_normal(len(cuts) + 1)
    np.testing.assert_array_equal(predict(X, model), naive(X, model))


def test_no_features_used():
    model = make_model(np.random.default_rng(4), 3, 0)
    assert predict(np.zeros((300, 3)), model).tolist() == [0.25] * 300
    assert predict_sparse(np.zeros((4, 3)), model).tolist() == [0.25] * 4


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("value", [np.float32, np.float64])
def test_sparse_equals_dense(index, value):
    rng = np.random.default_rng(5)
    X = np.where(rng.random((500, 30)) < 0.2, rng.standard_normal((500, 30)), 0.0).astype(value)
    X[rng.random(X.shape) < 0.02] = np.nan
    model = make_model(rng, 30, 20)
    S = sp.csr_matrix(X)
    parts = {"indptr": S.indptr.astype(index), "indices": S.indices.astype(index)}
    scores = predict_sparse(S, model, **parts)
    np.testing.assert_allclose(scores, naive(X, model), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(predict_sparse(S, model, threads=2, **parts), scores)


def test_one_sparse_row_of_a_very_wide_matrix():
    n = 5_000_000
    S = sp.csr_matrix((np.array([2.0]), np.array([n - 1]), np.array([0, 1])), shape=(1, n))
    model = {"features": np.array([n - 1, 0], np.int32), "cut_start": np.array([0, 1, 2]), "cuts": np.array([0.5, 0.5])}
    model |= {"tables": np.array([-1.0, 1.0, 3.0, 4.0]), "missing": np.zeros(2), "base": 0.0}
    assert predict_sparse(S, model).tolist() == [4.0]


def good():
    return {
        "features": np.array([0, 2], np.int32),
        "cut_start": np.array([0, 1, 3]),
        "cuts": np.array([0.0, 0.0, 1.0]),
        "tables": np.arange(5.0),
        "missing": np.zeros(2),
        "base": 0.0,
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"features": np.array([0, 3], np.int32)}, "feature number"),
        ({"features": np.array([-1, 2], np.int32)}, "feature number"),
        ({"cut_start": np.array([0, 4, 3])}, "decrease"),
        ({"cut_start": np.array([0, -1, 3])}, "decrease"),
        ({"cut_start": np.array([1, 1, 3])}, "cut_start"),
        ({"cut_start": np.array([0, 3])}, "cut_start"),
        ({"cut_start": np.array([0, 1, 4])}, "cut_start"),
        ({"cuts": np.array([0.0, 1.0, 1.0])}, "must ascend"),
        ({"cuts": np.array([0.0, 1.0, -1.0])}, "must ascend"),
        ({"cuts": np.array([np.nan, 0.0, 1.0])}, "must ascend"),
        ({"tables": np.arange(4.0)}, "tables"),
        ({"missing": np.zeros(3)}, "missing"),
    ],
)
def test_bad_models_raise_one_sentence(changes, words):
    with pytest.raises(ValueError, match=words):
        predict(np.zeros((2, 3)), {**good(), **changes})
    with pytest.raises(ValueError, match=words):
        predict_sparse(np.eye(3), {**good(), **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"indptr": np.array([0, 2, 1, 3], np.int32)}, "indptr"),
        ({"indptr": np.array([0, 1, 2, 4], np.int32)}, "indptr"),
        ({"indptr": np.array([1, 1, 2, 3], np.int32)}, "indptr"),
        ({"indices": np.array([0, 1, 3], np.int32)}, "column number"),
        ({"indices": np.array([0, -1, 2], np.int32)}, "column number"),
        ({"indices": np.array([0, 1], np.int32)}, "fit together"),
        ({"n_features": -1}, "n_features"),
        ({"features": np.array([2, 2], np.int32)}, "twice"),
        ({"threads": 0}, "threads"),
    ],
)
def test_bad_sparse_rows_raise_one_sentence(changes, words):
    changes = dict(changes)
    threads = changes.pop("threads", 1)
    with pytest.raises(ValueError, match=words):
        predict_sparse(np.eye(3), good(), threads=threads, **changes)


def test_wrong_types_and_shapes():
    with pytest.raises(TypeError):
        predict(np.zeros((2, 3), dtype=np.int32), good())
    with pytest.raises(TypeError):
        predict(np.zeros(3), good())
    with pytest.raises(ValueError, match="out"):
        kernels.predict_dense(np.zeros((2, 3)), **good(), out=np.zeros(3), threads=1)
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    for out in (frozen, np.zeros(2, dtype=np.float32), np.zeros(4)[::2], [0.0, 0.0], None):  # never written to a copy
        with pytest.raises(TypeError):
            kernels.predict_dense(np.zeros((2, 3)), **good(), out=out, threads=1)
        with pytest.raises(TypeError):
            predict_sparse_to(out)


def predict_sparse_to(out):
    S = sp.csr_matrix(np.eye(2, 3))
    kernels.predict_sparse(3, S.indptr, S.indices, S.data, **good(), out=out, threads=1)
