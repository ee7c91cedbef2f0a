"""The compiled stump search against a naive twin that lists every hypothesis as an explicit column."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualboost import kernels

MISSING = 255
TIE = 1e-12


@dataclass(frozen=True)
class Table:
    """Codes as one plain matrix, and where each feature is to be stored."""

    codes: np.ndarray  # (m, F) uint8
    cuts: np.ndarray
    missing: np.ndarray
    y: np.ndarray
    homes: tuple  # "dense" | "sparse" | "nowhere", one for each feature
    defaults: np.ndarray  # the code that a sparse feature leaves out


def engine_arrays(table):
    m, n_features = table.codes.shape
    dense = [f for f in range(n_features) if table.homes[f] == "dense"][::-1]  # any order must do
    sparse = [f for f in range(n_features) if table.homes[f] == "sparse"]
    listed = [np.flatnonzero(table.codes[:, f] != table.defaults[f]) for f in sparse]
    rows = np.concatenate([np.zeros(0, int), *listed])
    codes = np.concatenate([np.zeros(0, np.uint8), *[table.codes[r, f] for r, f in zip(listed, sparse, strict=True)]])
    return {
        "n_rows": m,
        "y": table.y.astype(np.int8),
        "cut_counts": table.cuts.astype(np.int32),
        "has_missing": table.missing.astype(np.uint8),
        "dense_codes": np.ascontiguousarray(table.codes[:, dense].T.reshape(len(dense), m)),
        "dense_features": np.array(dense, np.int32),
        "sparse_start": np.cumsum([0, *[len(r) for r in listed]]).astype(np.int64),
        "sparse_rows": rows.astype(np.int32),
        "sparse_codes": codes.astype(np.uint8),
        "sparse_features": np.array(sparse, np.int32),
        "sparse_default": table.defaults[sparse].astype(np.uint8),
    }


def search_of(table):
    return kernels.StumpSearch(**engine_arrays(table))


def hypotheses(table):
    """All (feature, cut, missing_right) in index order."""
    yield (-1, 0, 0)
    for f, (cuts, missing) in enumerate(zip(table.cuts, table.missing, strict=True)):
        for cut in range(cuts):
            yield (f, cut, 0)
            if missing:
                yield (f, cut, 1)
        if missing:
            yield (f, int(cuts), 1)


def naive_column(table, stump):
    f, cut, missing_right = stump
    if f < 0:
        return table.y.astype(float)
    codes = table.codes[:, f].astype(int)
    h = np.where(codes > cut, 1.0, -1.0)
    h[codes == MISSING] = 1.0 if missing_right else -1.0
    return table.y * h


def naive_best(table, d, k):
    """The lowest index that ties with the best, then the same without its group, k times."""
    listed = list(hypotheses(table))
    edges = np.array([d @ naive_column(table, stump) for stump in listed])
    groups = np.array([stump[0] for stump in listed])
    left = np.ones(len(listed), bool)
    chosen = []
    while len(chosen) < k and left.any():
        reach = np.abs(edges[left]).max() - TIE
        winner = int(np.flatnonzero(left & (np.abs(edges) >= reach))[0])
        chosen.append(winner)
        left &= groups != groups[winner]
    return [listed[j] for j in chosen], edges[chosen], np.abs(edges).max()


def unpack(answer):
    features, cuts, missing_right, edges, bound = answer
    assert features.dtype == cuts.dtype == np.int32 and missing_right.dtype == np.uint8 and edges.dtype == np.float64
    stumps = list(zip(features.tolist(), cuts.tolist(), missing_right.tolist(), strict=True))
    return stumps, edges, bound


def same(a, b):
    return all(np.array_equal(x, z) for x, z in zip(a, b, strict=True))


def random_table(rng, m, n_features, max_cuts=6, share_missing=0.3, homes=("dense", "sparse")):
    cuts = rng.integers(0, max_cuts + 1, n_features)
    missing = rng.random(n_features) < share_missing
    codes = rng.integers(0, cuts + 1, (m, n_features)).astype(np.uint8)
    codes[(rng.random((m, n_features)) < 0.3) & missing] = MISSING
    defaults = codes[rng.integers(0, m, n_features), np.arange(n_features)]
    homes = tuple(rng.choice(homes) if c or g else "nowhere" for c, g in zip(cuts, missing, strict=True))
    return Table(codes, cuts, missing, rng.choice([-1, 1], m), homes, defaults)


def dyadic(rng, m, levels=4):
    """Weights whose sums are exact in float64, with many zeros and ties."""
    weights = rng.integers(0, levels, m).astype(float)
    return weights / 2.0 ** np.ceil(np.log2(max(weights.sum(), 1.0)))


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    m=st.integers(1, 120),
    n_features=st.integers(0, 9),
    max_cuts=st.sampled_from([1, 2, 6, 254]),
    share_missing=st.sampled_from([0.0, 0.3, 1.0]),
    levels=st.sampled_from([1, 2, 5, 1000]),
    k=st.integers(1, 12),
)
def test_best_equals_the_naive_twin(seed, m, n_features, max_cuts, share_missing, levels, k):
    rng = np.random.default_rng(seed)
    table = random_table(rng, m, n_features, max_cuts, share_missing)
    if n_features > 2:  # duplicated features tie in every round
        table.codes[:, 1], table.cuts[1], table.missing[1] = table.codes[:, 0], table.cuts[0], table.missing[0]
        table = replace(table, homes=(*table.homes[:1], table.homes[0], *table.homes[2:]))
        table.defaults[1] = table.defaults[0]
    search = search_of(table)
    for _ in range(4):
        d = dyadic(rng, m, levels)
        stumps, edges, bound = unpack(search.best(d, k))
        expected, expected_edges, largest = naive_best(table, d, k)
        assert stumps == expected
        assert np.array_equal(edges, expected_edges)
        slack = (m / 2 + 1) * 2.0**-61
        assert largest <= bound <= largest + 2 * slack + 1e-15


def test_edges_within_a_tie_of_each_other_go_to_the_lowest_index():
    """Feature 0's own ties reach lower than those of a slightly better feature 1: its place has to be found again."""
    step = 0.7e-12
    codes = np.array([[0, 0], [1, 0], [2, 1], [2, 1]], np.uint8)
    y = np.array([-1, 1, 1, 1])
    table = Table(codes, np.array([2, 1]), np.zeros(2, bool), y, ("dense", "dense"), np.zeros(2, int))
    d = np.array([0.25, step / 2, 0.25, 0.25])
    expected, _, _ = naive_best(table, d, 3)
    assert unpack(search_of(table).best(d, 3))[0] == expected
    rng = np.random.default_rng(5)
    again = 0
    for _ in range(300):
        table = random_table(rng, 6, 3, 4, 0.3)
        d = rng.integers(0, 3, 6) / 16 + rng.integers(0, 4, 6) * 0.37e-12
        stumps, edges, _ = unpack(search_of(table).best(d, 4))
        expected, expected_edges, _ = naive_best(table, d, 4)
        assert stumps == expected and np.allclose(edges, expected_edges, rtol=0, atol=1e-15)
        again += np.any(np.diff(np.abs(expected_edges)) > 0)
    assert again > 0  # answers out of order of |edge|: the tie rule did something


def walk(rng, m, rounds):
    d = rng.dirichlet(np.ones(m))
    for t in range(rounds):
        yield d / d.sum()
        size = 10.0 ** rng.uniform(-4, 0)
        d = (1 - size) * d + size * rng.dirichlet(np.full(m, 0.3))
        if t % 7 == 6:
            d = d * (rng.random(m) < 0.9)


@pytest.mark.parametrize(("m", "n_features", "k"), [(50, 12, 1), (300, 40, 5), (20_000, 60, 1), (40_000, 20, 2)])
def test_skipping_and_threads_never_change_the_answer(m, n_features, k):
    rng = np.random.default_rng(m + n_features + k)
    table = random_table(rng, m, n_features, 30)
    signal = table.codes[:, 0] > table.cuts[0] // 2  # one strong feature, or nothing could be skipped
    table = replace(table, y=np.where(signal ^ (rng.random(m) < 0.2), 1, -1))
    kept, fresh, two, three = (search_of(table) for _ in range(4))
    stored = sum(home != "nowhere" for home in table.homes)
    spared = 0
    for d in walk(rng, m, 40 if m < 1000 else 15):
        fresh.forget()
        expected = fresh.best(d, k)
        assert fresh.looked == stored
        assert same(kept.best(d, k), expected)
        assert same(two.best(d, k, threads=2), expected)
        assert same(three.best(d, k, threads=3), expected)
        spared += stored - kept.looked
    assert spared > 0


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("m", "n_features"), [(5_000, 400), (33_000, 150)])
def test_many_columns_take_many_batches(m, n_features, threads):
    rng = np.random.default_rng(n_features)
    table = random_table(rng, m, n_features, 20, 0.0)
    kept, fresh = search_of(table), search_of(table)
    for d in (np.full(m, 1 / m), steep_weights(rng, m, 3.0), steep_weights(rng, m, 40.0)):
        fresh.forget()
        assert same(kept.best(d, 1, threads), fresh.best(d, 1, threads))
        assert same(kept.best(d, 70, threads), fresh.best(d, 70))


def packable_table(rng, m):
    """One-hot columns, independent binary ones, columns of up to 16 codes with and without missing values."""
    category = rng.choice(12, m, p=rng.dirichlet(np.full(12, 0.5)))
    onehot = (category[:, None] == np.arange(12)).astype(np.uint8)
    binary = (rng.random((m, 20)) < rng.random(20)).astype(np.uint8)
    few = rng.integers(0, rng.integers(2, 17, 8), (m, 8)).astype(np.uint8)
    few[(rng.random((m, 8)) < 0.1) & (np.arange(8) % 2 == 0)] = MISSING
    wide = rng.integers(0, 255 if m < 10_000 else 30, (m, 2)).astype(np.uint8)
    codes = np.hstack([wide[:, :1], onehot, binary, few, wide[:, 1:]])
    missing = (codes == MISSING).any(axis=0)
    cuts = np.where(codes == MISSING, 0, codes).max(axis=0).astype(int)
    homes = tuple("dense" if c or g else "nowhere" for c, g in zip(cuts, missing, strict=True))
    return Table(codes, cuts, missing, rng.choice([-1, 1], m), homes, np.zeros(codes.shape[1], int))


@pytest.mark.parametrize("m", [100, 700, 3_000, 34_000])
def test_packed_columns_equal_the_naive_twin(m):
    rng = np.random.default_rng(m)
    table = packable_table(rng, m)
    search = search_of(table)
    assert search.blocks < len(table.cuts) - 5
    for k in (1, 4, 60) if m < 10_000 else (5,):
        d = dyadic(rng, m, 100)
        stumps, edges, _ = unpack(search.best(d, k, threads=2))
        expected, expected_edges, _ = naive_best(table, d, k)
        assert stumps == expected and np.array_equal(edges, expected_edges)


def test_one_hot_columns_cost_one_column():
    rng = np.random.default_rng(1)
    category = rng.integers(0, 200, 4_000)
    codes = (category[:, None] == np.arange(200)).astype(np.uint8)
    y = rng.choice([-1, 1], 4_000)
    table = Table(codes, np.ones(200, int), np.zeros(200, bool), y, ("dense",) * 200, np.zeros(200, int))
    assert search_of(table).blocks == 1


def steep_weights(rng, m, steepness):
    """A few rows carry nearly everything, as towards the end of a soft-margin run."""
    d = np.exp(-steepness * rng.random(m))
    return d / d.sum()


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("steepness", [0.0, 20.0, 60.0, 1e4])
@pytest.mark.parametrize(
    ("m", "n_features", "max_cuts"), [(40, 5, 254), (300, 21, 254), (5_000, 9, 40), (40_000, 8, 30)]
)
def test_rough_first_looks_do_not_change_the_answer(m, n_features, max_cuts, steepness, threads):
    """Weights that span many orders, and copies of columns whose edges differ by less than the rough look can tell."""
    rng = np.random.default_rng(m + int(steepness))
    table = random_table(rng, m, n_features, max_cuts, 0.3, ("dense",))
    table = replace(table, cuts=np.maximum(table.cuts, 17))  # too many codes to share a histogram with others
    for copy, original in ((1, 0), (4, 3)):
        table.codes[:, copy], table.cuts[copy], table.missing[copy] = (
            a[..., original] for a in (table.codes, table.cuts, table.missing)
        )
    light = rng.integers(0, m, 3)
    table.codes[light, 1] = rng.integers(0, table.cuts[1] + 1, 3)
    search = search_of(replace(table, homes=("dense",) * n_features))
    for k in (1, 3, n_features + 1):
        d = steep_weights(rng, m, steepness)
        d[light] *= 1e-9
        stumps, edges, bound = unpack(search.best(d, k, threads))
        expected, expected_edges, largest = naive_best(replace(table, homes=("dense",) * n_features), d, k)
        assert stumps == expected and np.allclose(edges, expected_edges, rtol=0, atol=1e-14)
        assert largest - 1e-14 <= bound <= largest + 1e-13


def test_rare_columns_are_not_even_looked_at():
    rng = np.random.default_rng(11)
    m, rare = 2_000, 300
    codes = np.zeros((m, rare + 1), np.uint8)
    for f in range(rare):
        codes[rng.choice(m, 1 + f % 5, replace=False), f] = 1 + f % 2
    codes[:, rare] = rng.random(m) < 0.1
    y = np.where((codes[:, rare] == 1) ^ (rng.random(m) < 0.3), 1, -1)
    table = Table(
        codes,
        codes.max(axis=0).astype(int),
        np.zeros(rare + 1, bool),
        y,
        ("sparse",) * (rare + 1),
        np.zeros(rare + 1, int),
    )
    search = search_of(table)
    for d in (np.full(m, 1 / m), rng.dirichlet(np.ones(m)), steep_weights(rng, m, 50.0)):
        search.forget()
        stumps, edges, _ = unpack(search.best(d, 1))
        expected, expected_edges, _ = naive_best(table, d, 1)
        assert stumps == expected and np.allclose(edges, expected_edges, rtol=0, atol=1e-14)
        if d.max() < 2e-3:
            assert search.looked < 100


@pytest.mark.parametrize("m", [1, 7, 5_000, 70_001])
def test_wide_codes_and_tall_tables(m):
    rng = np.random.default_rng(m)
    table = random_table(rng, m, *((4, 20) if m > 10_000 else (7, 254)))
    search = search_of(table)
    d = rng.dirichlet(np.ones(m))
    stumps, edges, bound = unpack(search.best(d, 3, threads=2))
    for stump, edge in zip(stumps, edges, strict=True):
        assert edge == pytest.approx(d @ naive_column(table, stump), abs=1e-13)
    _, _, largest = naive_best(table, d, 1)
    assert largest - 1e-13 <= bound <= largest + 1e-12


def test_the_same_weights_again_and_no_weights_at_all():
    rng = np.random.default_rng(3)
    table = random_table(rng, 200, 20)
    search = search_of(table)
    d = rng.dirichlet(np.ones(200))
    first = search.best(d)
    assert same(first, search.best(d)) and search.looked < 20
    stumps, edges, bound = unpack(search.best(np.zeros(200)))
    assert stumps == [(-1, 0, 0)] and edges[0] == 0.0 and 0 <= bound < 1e-15


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("m", [1, 33, 40_000])
def test_columns_and_margins(m, threads):
    rng = np.random.default_rng(m)
    table = random_table(rng, m, 8, 5, 0.5)
    search = search_of(table)
    listed = list(hypotheses(table))
    picked = [listed[j] for j in rng.integers(0, len(listed), 25)] + [(-1, 0, 0)]
    weights = rng.normal(size=len(picked))
    expected = np.zeros(m)
    out = np.empty(m, np.int8)
    for stump, weight in zip(picked, weights, strict=True):
        search.column(*stump, out, threads)
        assert np.array_equal(out, naive_column(table, stump))
        expected += weight * out
    features, cuts, missing_right = (np.array(x) for x in zip(*picked, strict=True))
    args = features.astype(np.int32), cuts.astype(np.int32), missing_right.astype(np.uint8), weights
    margins, single = np.empty(m), np.empty(m)
    search.margins(*args, margins, threads=threads)
    search.margins(*args, single)
    assert np.array_equal(margins, single)
    assert np.allclose(margins, expected, rtol=0, atol=1e-12)
    search.margins(*(a[:0] for a in args), margins)
    assert not margins.any()


def test_the_arrays_outlive_their_names():
    rng = np.random.default_rng(0)
    table = random_table(rng, 500, 5)
    search = search_of(table)
    d = rng.dirichlet(np.ones(500))
    first = search.best(d)
    junk = [np.full((5, 500), 7, np.uint8) for _ in range(20)]
    search.forget()
    assert same(search.best(d), first) and len(junk) == 20


def small_arrays():
    codes = np.array([[0, 1, 0], [2, 0, 1], [1, MISSING, 0], [0, 1, 0]], np.uint8)
    y, homes = np.array([1, -1, 1, -1]), ("dense", "dense", "sparse")
    table = Table(codes, np.array([2, 1, 1]), np.array([0, 1, 0]), y, homes, np.zeros(3, int))
    return engine_arrays(table)


BAD_ARRAYS = {
    "label": ("y", np.array([1, -1, 0, 1], np.int8)),
    "label count": ("y", np.array([1, -1, 1], np.int8)),
    "label dtype": ("y", np.array([1, -1, 1, -1])),
    "cuts below": ("cut_counts", np.array([-1, 1, 1], np.int32)),
    "cuts above": ("cut_counts", np.array([255, 1, 1], np.int32)),
    "cuts dtype": ("cut_counts", np.array([2, 1, 1], np.int64)),
    "code above the cuts": ("cut_counts", np.array([1, 1, 1], np.int32)),
    "sparse code above the cuts": ("cut_counts", np.array([2, 1, 0], np.int32)),
    "missing flag length": ("has_missing", np.zeros(2, np.uint8)),
    "missing flag value": ("has_missing", np.array([0, 2, 0], np.uint8)),
    "missing where there is none": ("has_missing", np.zeros(3, np.uint8)),
    "codes dtype": ("dense_codes", np.zeros((2, 4), np.int32)),
    "codes in Fortran order": ("dense_codes", np.asfortranarray(np.zeros((2, 4), np.uint8))),
    "codes with a gap": ("dense_codes", np.zeros((2, 8), np.uint8)[:, ::2]),
    "codes of other rows": ("dense_codes", np.zeros((2, 5), np.uint8)),
    "codes of other features": ("dense_codes", np.zeros((3, 4), np.uint8)),
    "feature out of range": ("dense_features", np.array([3, 0], np.int32)),
    "negative feature": ("dense_features", np.array([-1, 0], np.int32)),
    "feature twice": ("dense_features", np.array([1, 2], np.int32)),
    "sparse start length": ("sparse_start", np.array([0], np.int64)),
    "sparse start decreasing": ("sparse_start", np.array([1, 1], np.int64)),
    "sparse start beyond the end": ("sparse_start", np.array([0, 9], np.int64)),
    "sparse row out of range": ("sparse_rows", np.array([4], np.int32)),
    "sparse row negative": ("sparse_rows", np.array([-1], np.int32)),
    "sparse lengths": ("sparse_rows", np.array([1, 2], np.int32)),
    "sparse default": ("sparse_default", np.array([2], np.uint8)),
    "no rows": ("n_rows", 0),
    "other rows": ("n_rows", 5),
    "not an array": ("y", [1, -1, 1, -1]),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_bad_arrays_are_refused(name):
    kernels.StumpSearch(**small_arrays())
    argument, value = BAD_ARRAYS[name]
    with pytest.raises((ValueError, TypeError)):
        kernels.StumpSearch(**{**small_arrays(), argument: value})


@pytest.mark.parametrize("rows", [[2, 1], [1, 1]])
def test_sparse_rows_must_ascend(rows):
    arrays = small_arrays() | {
        "sparse_start": np.array([0, 2], np.int64),
        "sparse_rows": np.array(rows, np.int32),
        "sparse_codes": np.ones(2, np.uint8),
    }
    with pytest.raises(ValueError, match="ascend"):
        kernels.StumpSearch(**arrays)


def test_a_feature_with_cuts_must_be_stored():
    arrays = small_arrays()
    fewer = {"dense_codes": arrays["dense_codes"][:1].copy(), "dense_features": np.array([1], np.int32)}
    with pytest.raises(ValueError, match="stored"):
        kernels.StumpSearch(**arrays | fewer)


BAD_WEIGHTS = {
    "negative": [-0.1, 0.5, 0.3, 0.3],
    "not a number": [np.nan, 0.5, 0.2, 0.3],
    "infinite": [np.inf, 0.0, 0.0, 0.0],
    "minus infinity": [-np.inf, 0.0, 0.0, 0.0],
    "sum above one": [0.5, 0.5, 0.5, 0.0],
    "huge": [1e300, 0.0, 0.0, 0.0],
    "just above one": [0.25, 0.25, 0.25, 0.25 + 1e-8],
}


@pytest.mark.parametrize("name", BAD_WEIGHTS)
def test_bad_weights_are_refused_and_leave_no_trace(name):
    search = kernels.StumpSearch(**small_arrays())
    fine = np.array([0.1, 0.2, 0.3, 0.4])
    expected = search.best(fine, 2)
    with pytest.raises(ValueError, match="d must"):
        search.best(np.array(BAD_WEIGHTS[name]))
    assert same(search.best(fine, 2), expected)


def test_bad_arguments_are_refused():
    search = kernels.StumpSearch(**small_arrays())
    d, i32, u8 = np.full(4, 0.25), np.zeros(1, np.int32), np.zeros(1, np.uint8)
    read_only = np.empty(4, np.int8)
    read_only.flags.writeable = False
    for call in (
        lambda: search.best(d[:3].copy()),
        lambda: search.best(d.astype(np.float32)),
        lambda: search.best(np.full(8, 0.125)[::2]),
        lambda: search.best(d, 0),
        lambda: search.best(d, 1, 0),
        lambda: search.column(0, 0, 0, np.empty(3, np.int8)),
        lambda: search.column(0, 0, 0, np.empty(4)),
        lambda: search.column(0, 0, 0, read_only),
        lambda: search.column(0, 2, 0, np.empty(4, np.int8)),
        lambda: search.column(0, -1, 0, np.empty(4, np.int8)),
        lambda: search.column(0, 0, 1, np.empty(4, np.int8)),
        lambda: search.column(1, 1, 0, np.empty(4, np.int8)),
        lambda: search.column(1, 2, 1, np.empty(4, np.int8)),
        lambda: search.column(3, 0, 0, np.empty(4, np.int8)),
        lambda: search.column(-2, 0, 0, np.empty(4, np.int8)),
        lambda: search.column(-1, 1, 0, np.empty(4, np.int8)),
        lambda: search.margins(i32, np.zeros(2, np.int32), u8, np.ones(1), np.empty(4)),
        lambda: search.margins(i32, i32, u8 + np.uint8(2), np.ones(1), np.empty(4)),
        lambda: search.margins(i32, i32 + np.int32(9), u8, np.ones(1), np.empty(4)),
        lambda: search.margins(i32, i32, u8, np.ones(1), np.empty(5)),
        lambda: search.margins(i32, i32, u8, np.ones(2), np.empty(4)),
        lambda: search.margins(i32, i32, u8, np.ones(1), np.empty(4), threads=0),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()
    search.column(1, 1, 1, np.empty(4, np.int8))
