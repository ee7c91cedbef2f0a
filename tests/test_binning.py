"""Binning against naive NumPy twins, and what weights, order, storage and extreme values must not change."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dualboost import kernels
from dualboost.data import MISSING, Bins, bin_columns

FAST = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def column_cuts(bins, j):
    return bins.cuts[bins.cut_start[j] : bins.cut_start[j + 1]]


def full_codes(bins: Bins) -> np.ndarray:
    """All codes, (n_features, n_rows); columns that are not stored are constant."""
    codes = np.zeros((bins.n_features, bins.n_rows), dtype=np.uint8)
    codes[bins.dense_features] = bins.dense_codes
    for s, feature in enumerate(bins.sparse_features):
        part = slice(bins.sparse_start[s], bins.sparse_start[s + 1])
        codes[feature] = bins.sparse_default[s]
        codes[feature, bins.sparse_rows[part]] = bins.sparse_codes[part]
    stored = np.zeros(bins.n_features, dtype=bool)
    stored[bins.dense_features] = stored[bins.sparse_features] = True
    codes[~stored & (bins.has_missing > 0)] = MISSING
    return codes


def naive_codes(x, cuts):
    return np.where(np.isnan(x), MISSING, np.searchsorted(cuts, x, side="left"))


def naive_midpoints(values):
    cuts = []
    for a, b in itertools.pairwise(values.tolist()):
        t = a + (b - a) / 2 if abs(b - a) < float("inf") else a / 2 + b / 2
        cuts.append(t if a <= t < b else a)
    return np.array(cuts)


def check_against_naive(X, bins, max_bins):
    X = np.asarray(X, dtype=np.float64)
    codes = full_codes(bins)
    assert (bins.n_rows, bins.n_features) == X.shape
    assert not set(bins.dense_features) & set(bins.sparse_features)
    for j, x in enumerate(X.T):
        cuts, values = column_cuts(bins, j), np.unique(x[~np.isnan(x)] + 0.0)
        assert np.all(np.diff(cuts) > 0)
        assert len(cuts) <= max_bins - 1
        if len(values) <= max_bins:
            np.testing.assert_array_equal(cuts, naive_midpoints(values))
        np.testing.assert_array_equal(codes[j], naive_codes(x, cuts))
        assert bins.has_missing[j] == np.isnan(x).any()
        stored = j in bins.dense_features or j in bins.sparse_features
        assert stored == (len(np.unique(codes[j])) > 1)


def assert_same(a: Bins, b: Bins):
    for name in Bins.__dataclass_fields__:
        left, right = getattr(a, name), getattr(b, name)
        np.testing.assert_array_equal(left, right, err_msg=name)
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype, name


matrices = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=40),
    elements=st.one_of(
        st.floats(allow_infinity=False),
        st.sampled_from([0.0, -0.0, 1.0, np.nan, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308]),
        st.integers(-3, 3).map(float),
    ),
)


@FAST
@given(matrices, st.integers(2, 255))
def test_any_values(X, max_bins):
    bins = bin_columns(X, max_bins=max_bins)
    check_against_naive(X, bins, max_bins)


@FAST
@given(matrices, st.sampled_from([2, 3, 7, 255]))
def test_sparse_equals_dense(X, max_bins):
    bins = bin_columns(X, max_bins=max_bins)
    assert_same(bin_columns(sp.csr_matrix(X), max_bins=max_bins), bins)
    assert_same(bin_columns(sp.csc_array(X), max_bins=max_bins), bins)


@FAST
@given(
    hnp.arrays(np.float64, st.tuples(st.integers(5, 60), st.just(2)), elements=st.integers(-20, 20).map(float)),
    st.integers(2, 9),
    st.integers(0, 2**32 - 1),
)
def test_weight_is_number_of_copies(X, max_bins, seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 5, len(X))
    weights[0] = 1
    copies = rng.permutation(np.repeat(X, weights, axis=0))
    expected = bin_columns(copies, max_bins=max_bins)
    for scale in (1.0, 1e-300, 1e300, 0.1, 1 / 3):
        bins = bin_columns(X, weights * scale, max_bins=max_bins)
        np.testing.assert_array_equal(bins.cuts, expected.cuts)
        np.testing.assert_array_equal(bins.cut_start, expected.cut_start)
    sparse = bin_columns(sp.csc_matrix(X), weights, max_bins=max_bins)
    np.testing.assert_array_equal(sparse.cuts, expected.cuts)


@pytest.mark.parametrize("max_bins", [2, 16, 255])
def test_weighted_quantiles_continuous(max_bins):
    rng = np.random.default_rng(max_bins)
    X = rng.standard_normal((3_000, 3))
    weights = rng.integers(0, 4, len(X))
    expected = bin_columns(rng.permutation(np.repeat(X, weights, axis=0)), max_bins=max_bins)
    for scale in (1, 1e-300, 1e300, 0.7):
        np.testing.assert_array_equal(bin_columns(X, weights * scale, max_bins=max_bins).cuts, expected.cuts)
    assert np.all(expected.cut_counts == max_bins - 1)


def test_real_weights_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    X, weights = np.round(rng.standard_normal((5_000, 2)), 2), rng.random(5_000)
    order = rng.permutation(len(X))
    np.testing.assert_array_equal(bin_columns(X, weights, 30).cuts, bin_columns(X[order], weights[order], 30).cuts)


def test_quantiles_are_balanced():
    X = np.random.default_rng(1).standard_normal((51_000, 1))
    bins = bin_columns(X)
    counts = np.bincount(full_codes(bins)[0], minlength=255)
    assert bins.cut_counts[0] == 254
    assert counts.min() >= 199 and counts.max() <= 201


def test_heavy_values_get_their_own_bins_and_the_rest_is_spread():
    rng = np.random.default_rng(2)
    x = np.concatenate([np.zeros(9_000), rng.random(900) + 0.1, -rng.random(3) - 0.1, np.full(500, 0.5)])
    bins = bin_columns(rng.permutation(x)[:, None], max_bins=32)
    cuts = column_cuts(bins, 0)
    assert len(cuts) == 31
    codes = np.searchsorted(cuts, x)
    for heavy in (0.0, 0.5):
        assert len(np.unique(x[codes == codes[x == heavy][0]])) == 1
    light = np.bincount(codes[(x > 0) & (x != 0.5)])
    assert light[light > 0].max() <= 1.5 * 900 / 29


def test_many_heavy_values_between_light_ones():
    x = np.concatenate([np.repeat(np.arange(40.0), 50), np.arange(40) + 0.5])
    for max_bins in (2, 3, 10, 41, 79):
        bins = bin_columns(x[:, None], max_bins=max_bins)
        assert bins.cut_counts[0] == max_bins - 1
        counts = np.bincount(full_codes(bins)[0])
        assert counts.max() <= 2.1 * len(x) / max_bins + 51


@pytest.mark.parametrize(
    "values",
    [
        np.arange(5) * 1e-310,
        1 + 1e-9 * np.arange(5),
        2.0**53 + 2.0 * np.arange(5),
        np.array([-1e308, 1e308]),
        np.array([-1.7976931348623157e308, 0, 1.7976931348623157e308]),
        np.array([0.0, 5e-324, 1e-323]),
        np.nextafter(1.0, [0, 1, 2]),
    ],
)
def test_extreme_values_stay_apart(values):
    X = np.tile(values, 2)[:, None]
    bins = bin_columns(X)
    assert bins.cut_counts[0] == len(values) - 1
    check_against_naive(X, bins, 255)


def test_no_copy_of_strange_layouts():
    rng = np.random.default_rng(3)
    base = rng.standard_normal((700, 60))
    base[rng.random(base.shape) < 0.1] = np.nan
    views = [
        np.asfortranarray(base),
        base[::-1],
        base[:, ::-1],
        base[::3, 5::7],
        base.T,
        base[::-2, ::-2],
        base[:, 3:4],
    ]
    for X in views:
        for max_bins in (5, 255):
            assert_same(bin_columns(X, max_bins=max_bins), bin_columns(np.ascontiguousarray(X), max_bins=max_bins))
        check_against_naive(X, bin_columns(X), 255)
    frozen = base.copy()
    frozen.flags.writeable = False
    assert_same(bin_columns(frozen), bin_columns(base))


def test_float32_equals_its_float64_copy():
    X = np.random.default_rng(4).standard_normal((2_000, 5)).astype(np.float32)
    X[::7] = np.nan
    assert_same(bin_columns(X), bin_columns(X.astype(np.float64)))
    assert_same(bin_columns(X[::-1, 1:4]), bin_columns(X[::-1, 1:4].astype(np.float64)))


def test_integers_flags_and_other_byte_orders_are_converted():
    X = np.random.default_rng(5).integers(0, 9, (50, 3))
    expected = bin_columns(X.astype(float))
    for other in (X, X.astype(np.int8), X.astype(">f8"), X.astype(np.float16), X.tolist()):
        assert_same(bin_columns(other), expected)
    assert_same(bin_columns(X > 4), bin_columns((X > 4).astype(float)))


def test_unaligned_data():
    record = np.zeros(100, dtype=[("flag", "u1"), ("x", "f8", 2)])
    record["x"] = np.random.default_rng(6).standard_normal((100, 2))
    assert_same(bin_columns(record["x"]), bin_columns(record["x"].copy()))


def test_threads_do_not_change_anything():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((20_000, 19)) * (rng.random((20_000, 19)) < rng.random(19))
    weights = rng.random(len(X))
    assert_same(bin_columns(X, weights, threads=3), bin_columns(X, weights))
    S = sp.csr_array(X)
    assert_same(bin_columns(S, weights, threads=3), bin_columns(X, weights))


def test_constant_and_missing_columns():
    X = np.ones((20, 4))
    X[:, 1] = np.nan
    X[0, 2] = np.nan
    X[0, 3] = -0.0
    X[1:, 3] = 0.0
    bins = bin_columns(X)
    assert bins.cuts.size == 0
    assert bins.has_missing.tolist() == [0, 1, 1, 0]
    assert bins.dense_features.tolist() == [2]
    check_against_naive(X, bins, 255)
    assert_same(bin_columns(sp.csc_matrix(X)), bins)


def test_storage_follows_the_most_frequent_code():
    rng = np.random.default_rng(8)
    m = 2_000
    X = np.zeros((m, 6))
    X[:200, 0] = rng.random(200)  # 10 % differ: sparse
    X[:, 1] = rng.random(m)  # dense
    X[:, 2] = 7.0
    X[:100, 2] = rng.random(100)  # sparse, the default is not zero
    X[:300, 3] = np.nan  # sparse with missing values
    X[:1_900, 4] = np.nan  # the default is missing
    X[:500, 5] = 1.0  # 25 %: dense
    bins = bin_columns(X)
    assert bins.sparse_features.tolist() == [0, 2, 3, 4]
    assert bins.sparse_default.tolist()[3] == MISSING
    assert np.diff(bins.sparse_start).tolist() == [200, 100, 300, 100]
    check_against_naive(X, bins, 255)
    for S in (sp.csr_matrix(X), sp.csc_matrix(X), sp.coo_array(X)):
        assert_same(bin_columns(S), bins)
    assert bin_columns(X[:900]).sparse_features.size == 0


def test_sparse_matrices_with_explicit_zeros_duplicates_and_any_order():
    rows, columns = np.array([3, 1, 1, 0, 3]), np.array([0, 0, 0, 1, 1])
    values = np.array([2.0, 1.0, 4.0, 0.0, np.nan])
    S = sp.coo_matrix((values, (rows, columns)), shape=(6, 3))
    assert_same(bin_columns(S), bin_columns(S.toarray()))
    unsorted = sp.csc_matrix((np.array([1.0, 2.0]), np.array([4, 2]), np.array([0, 2])), shape=(5, 1))
    before = unsorted.indices.copy()
    assert_same(bin_columns(unsorted), bin_columns(unsorted.toarray()))
    np.testing.assert_array_equal(unsorted.indices, before)
    full = sp.csc_matrix(np.arange(12.0).reshape(4, 3) + 1)
    assert_same(bin_columns(full), bin_columns(full.toarray()))
    assert_same(bin_columns(sp.csc_matrix((4, 3), dtype=np.int8)), bin_columns(np.zeros((4, 3))))


def test_a_million_empty_columns():
    S = sp.csc_matrix((np.ones(3), ([0, 1, 2], [5, 5, 999_999])), shape=(2_000, 1_000_000))
    bins = bin_columns(S)
    assert bins.sparse_features.tolist() == [5, 999_999]
    assert bins.cuts.tolist() == [0.5, 0.5]


def large_matrix():
    rng = np.random.default_rng(9)
    m = 260_000
    X = np.empty((m, 10))
    X[:, 0] = rng.standard_normal(m)
    X[:, 1] = rng.integers(0, 2, m)
    X[:, 2] = rng.integers(0, 200, m)
    X[:, 3] = 0.0
    X[rng.integers(0, m, 1), 3] = 1.0  # one row: a sample will miss it
    X[:, 4] = rng.integers(0, 255, m)
    X[:, 5] = np.where(rng.random(m) < 0.002, rng.random(m), 0.0)  # few values in a sample, many in all
    X[:, 6] = np.nan
    X[12_345, 6] = 3.0
    X[:, 7] = np.arange(m) % 256  # one value too many to be exact
    X[:, 8] = np.where(rng.random(m) < 0.5, np.nan, rng.integers(0, 3, m))
    X[:, 9] = np.arange(m) % 2 * (np.arange(m) < m - 1) + 5.0 * (np.arange(m) == m - 1)
    return X


def test_sampled_columns_stay_exact_when_values_are_few():
    X = large_matrix()
    bins = bin_columns(X)
    check_against_naive(X, bins, 255)
    assert bins.cut_counts[[0, 5, 7]].tolist() == [254, 254, 254]
    assert bins.cut_counts[[3, 6]].tolist() == [1, 0]
    counts = np.bincount(full_codes(bins)[0])
    assert counts.max() < 1.6 * len(X) / 255
    weights = np.ones(len(X))
    assert_same(bin_columns(X, weights), bins)
    assert_same(bin_columns(X, weights * 1e-300, threads=2), bins)


def test_sampled_sparse_equals_dense():
    X = large_matrix()
    weights = np.random.default_rng(10).integers(0, 3, len(X)).astype(float)
    assert_same(bin_columns(sp.csc_matrix(X)), bin_columns(X))
    assert_same(bin_columns(sp.csc_matrix(X), weights), bin_columns(X, weights))


def test_zero_weights_count_as_absent():
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    assert bin_columns(X, [1, 0, 1, 0]).cuts.tolist() == [2.0]
    assert bin_columns(sp.csc_matrix(X - 1), [0, 1, 1, 1]).cuts.tolist() == [1.5, 2.5]
    large = np.arange(300_000.0)[:, None]
    weights = np.zeros(300_000)
    weights[[7, 70_000, 299_999]] = 1, 2, 3
    assert bin_columns(large, weights).cuts.tolist() == naive_midpoints(np.array([7.0, 70_000, 299_999])).tolist()


def test_weights_of_any_ratio():
    X = np.arange(600.0)[:, None]
    for weights in (np.geomspace(1e-300, 1e300, 600), np.where(np.arange(600) % 2, 5e-324, 1.7e308)):
        bins = bin_columns(X, weights, max_bins=20)
        assert 1 <= bins.cut_counts[0] <= 19
        assert np.all(np.diff(bins.cuts) > 0)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"X": np.array([[1.0], [np.inf]])}, ValueError, "infinity"),
        ({"X": np.array([[1.0], [-np.inf]], dtype=np.float32)}, ValueError, "infinity"),
        ({"X": sp.csc_matrix(np.array([[1.0], [np.inf]]))}, ValueError, "infinity"),
        ({"X": np.zeros(3)}, ValueError, "two dimensions"),
        ({"X": np.zeros((2, 2, 2))}, ValueError, "two dimensions"),
        ({"X": np.zeros((0, 3))}, ValueError, "rows"),
        ({"X": sp.csc_matrix((0, 3))}, ValueError, "rows"),
        ({"X": np.array([["a"]])}, TypeError, "real numbers"),
        ({"X": np.zeros((2, 2), dtype=complex)}, TypeError, "real numbers"),
        ({"X": sp.csc_matrix(np.eye(2, dtype=complex))}, TypeError, "real numbers"),
        ({"X": np.eye(2), "max_bins": 1}, ValueError, "max_bins"),
        ({"X": np.eye(2), "max_bins": 256}, ValueError, "max_bins"),
        ({"X": np.eye(2), "max_bins": 2.5}, TypeError, "max_bins"),
        ({"X": np.eye(2), "threads": 0}, ValueError, "threads"),
        ({"X": np.eye(2), "weights": np.ones(3)}, ValueError, "one number"),
        ({"X": np.eye(2), "weights": np.ones((2, 1))}, ValueError, "one number"),
        ({"X": np.eye(2), "weights": [1, -1]}, ValueError, "negative"),
        ({"X": np.eye(2), "weights": [1, np.nan]}, ValueError, "finite"),
        ({"X": np.eye(2), "weights": [1, np.inf]}, ValueError, "finite"),
        ({"X": np.eye(2), "weights": [0, 0]}, ValueError, "positive"),
        ({"X": sp.csc_matrix(np.eye(2)), "weights": [0, 0]}, ValueError, "positive"),
    ],
)
def test_bad_input_raises_one_sentence(arguments, error, words):
    with pytest.raises(error, match=words) as caught:
        bin_columns(**arguments)
    assert "\n" not in str(caught.value)


def test_no_columns():
    bins = bin_columns(np.zeros((3, 0)))
    assert bins.n_features == 0 and bins.cut_start.tolist() == [0]


@pytest.mark.parametrize("n_cuts", [0, 1, 3, 4, 5, 17, 63, 64, 127, 128, 200, 254])
@pytest.mark.parametrize("spread", ["uniform", "skewed", "two-sided", "crowded", "clustered", "extreme", "tiny"])
def test_encode_finds_every_cut(n_cuts, spread):
    """All ways of searching (few cuts, grid, binary) on values at, just below and just above every cut."""
    rng = np.random.default_rng(n_cuts)
    u = np.sort(rng.random(n_cuts))
    cuts = {
        "uniform": u,
        "skewed": np.exp(3 * np.sort(rng.standard_normal(n_cuts))),
        "two-sided": np.sort(rng.choice([-1, 1], n_cuts) * np.exp(6 * rng.standard_normal(n_cuts))),
        "clustered": np.sort(1 + 1e-9 * u + 100 * rng.integers(0, 2, n_cuts)),
        "crowded": np.where(np.arange(n_cuts) == n_cuts - 1, 1e12, u),
        "extreme": np.sort((u - 0.5) * 3.5e308),
        "tiny": np.arange(n_cuts) * 5e-324,
    }[spread]
    cuts = np.unique(cuts)
    x = np.concatenate([cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf), rng.standard_normal(5_000)])
    x = np.concatenate([x, [np.nan, 0.0, -1.7e308, 1.7e308, 5e-324], rng.choice(np.append(cuts, 0.0), 5_000)])
    x = x[~np.isinf(x)]
    for X in (x[:, None], x[:200, None]):
        codes = np.empty((1, len(X)), dtype=np.uint8)
        assert kernels.encode_dense(X, cuts, np.array([0, len(cuts)]), codes, 1, *NOTHING_KNOWN)
        np.testing.assert_array_equal(codes[0], naive_codes(X[:, 0], cuts))


@pytest.mark.parametrize("max_bins", [2, 3, 5, 17, 255])
@pytest.mark.parametrize("kind", ["few", "real", "skewed", "missing", "whole", "one", "far"])
def test_small_tables_are_binned_like_others(kind, max_bins):
    rng = np.random.default_rng(3)
    for n in (1, 2, 5, 127, 128, 600, 4096):
        X = {
            "few": rng.integers(0, 5, (n, 3)) * 1.5,
            "real": rng.standard_normal((n, 2)),
            "skewed": np.exp(20 * rng.standard_normal((n, 2))) * rng.choice([0.0, -1.0, 1.0], (n, 2)),
            "missing": np.where(rng.random((n, 3)) < [0.3, 0.999, 2.0], np.nan, rng.standard_normal((n, 3))),
            "whole": np.rint(rng.gamma(4.0, 20.0, (n, 2))),
            "one": np.full((n, 1), -0.0) + rng.choice([0.0, -0.0], (n, 1)),
            "far": np.where(rng.random((n, 1)) < 0.01, 1e308, rng.standard_normal((n, 1)))
            * rng.choice([-1, 1], n)[:, None],
        }[kind].astype(np.float64)
        codes, expected = (np.empty(X.shape[::-1], dtype=np.uint8) for _ in range(2))
        cuts, start, *modes, varying = kernels.bin_small(np.asfortranarray(X) if n % 2 else X, max_bins, codes)
        cuts_expected, start_expected, *known = kernels.cut_dense(X, None, max_bins, 1)
        kernels.encode_dense(X, cuts_expected, start_expected, expected, 1, *known)
        np.testing.assert_array_equal(cuts, cuts_expected)
        np.testing.assert_array_equal(start, start_expected)
        np.testing.assert_array_equal(codes, expected)
        for found, wanted in zip(modes, kernels.modes_dense(expected, 1), strict=True):
            np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(varying, np.flatnonzero((expected != expected[:, :1]).any(axis=1)))


def test_small_tables_refuse_what_others_refuse():
    codes = np.empty((1, 2), dtype=np.uint8)
    with pytest.raises(ValueError, match="infinity"):
        kernels.bin_small(np.array([[1.0], [np.inf]]), 255, codes)
    with pytest.raises(ValueError, match="few rows"):
        kernels.bin_small(np.zeros((5000, 1)), 255, np.empty((1, 5000), dtype=np.uint8))
    with pytest.raises(ValueError, match="one row for each column"):
        kernels.bin_small(np.zeros((2, 2)), 255, codes)


def test_what_the_sample_showed_is_checked_while_encoding():
    """A hopeful cut trusts the sample; the encoder tells when another row has another value, and says so once."""
    X = np.zeros((300_000, 3))
    X[::2, 1] = 1.0
    X[::3, 2] = np.nan
    for value in (None, 7.0):
        if value is not None:
            X[12_345, 1] = value  # perhaps no sampled row
        cuts, start, few, known = kernels.cut_dense(X, None, 255, 1, True)
        assert few.tolist() == [0, 1, 2]
        codes = np.empty((3, len(X)), dtype=np.uint8)
        seen = value in known
        assert kernels.encode_dense(X, cuts, start, codes, 2, few, known) == (value is None or seen)
    np.testing.assert_array_equal(bin_columns(X).cuts, [0.5, 4.0])


NOTHING_KNOWN = np.empty(0, dtype=np.int32), np.empty(0)

KERNEL_CALLS = {
    "cut_dense": (np.eye(3), None, 255, 1),
    "cut_sparse": (3, np.array([0, 1, 3]), np.array([1, 0, 2], np.int32), np.ones(3), None, 255, 1),
    "encode_dense": (np.eye(3), np.full(3, 0.5), np.arange(4), np.empty((3, 3), np.uint8), 1, *NOTHING_KNOWN),
    "bin_small": (np.eye(3), 255, np.empty((3, 3), np.uint8)),
    "encode_sparse": (np.array([0, 1, 3]), np.ones(3), np.full(2, 0.5), np.arange(3), np.empty(3, np.uint8), 1),
    "modes_dense": (np.zeros((2, 3), np.uint8), 1),
    "modes_sparse": (3, np.array([0, 1, 3]), np.ones(3, np.uint8), np.zeros(2, np.uint8)),
    "pack_dense": (
        np.eye(3, dtype=np.uint8),
        np.array([0, 2], np.int32),
        np.zeros(2, np.uint8),
        np.arange(3),
        np.empty(2, np.int32),
        np.empty(2, np.uint8),
        1,
    ),
    "pack_sparse": (
        3,
        np.array([0, 1, 3]),
        np.array([1, 0, 2], np.int32),
        np.ones(3, np.uint8),
        np.zeros(2, np.uint8),
        np.array([0], np.int32),
        np.zeros(1, np.uint8),
        np.array([0, 1]),
        np.empty(1, np.int32),
        np.empty(1, np.uint8),
        1,
    ),
    "fill_sparse": (
        3,
        np.array([0, 1, 3]),
        np.array([1, 0, 2], np.int32),
        np.ones(3, np.uint8),
        np.zeros(2, np.uint8),
        np.array([1], np.int32),
        np.empty((1, 3), np.uint8),
    ),
}


def mutations(value):
    """Other values of the same kind: longer, shorter, out of range, of another type."""
    if isinstance(value, np.ndarray):
        yield from (value[:-1], np.concatenate([value, value]), value.astype(complex), value[..., None])
        if value.dtype.kind == "i":
            yield from (value - 5, value + 5, value[::-1].copy(), value * 1000)
    elif value is not None:
        yield from (-1, 0, 1, 256, 10**12, "a", 1.5)


@pytest.mark.parametrize("name", KERNEL_CALLS)
def test_kernels_refuse_arrays_that_do_not_fit(name):
    """Whatever one argument is replaced by, the call returns or raises a sentence: it never reads out of range."""
    arguments = KERNEL_CALLS[name]
    kernel = getattr(kernels, name)
    kernel(*arguments)
    refused = 0
    for k, value in enumerate(arguments):
        for other in mutations(value):
            if name.endswith("sparse") and k == 0 and isinstance(other, int) and other > 10**6:
                continue  # a matrix with that many rows is fine, but its masses need not be allocated here
            try:
                kernel(*arguments[:k], other, *arguments[k + 1 :])
            except (ValueError, TypeError):
                refused += 1
    assert refused > len(arguments)


def test_broadcast_rows_and_columns():
    X = np.broadcast_to(np.arange(5.0)[:, None], (5, 3))
    assert_same(bin_columns(X), bin_columns(X.copy()))
    assert bin_columns(np.broadcast_to(np.arange(3.0), (5, 3))).dense_features.size == 0
