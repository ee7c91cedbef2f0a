"""The types of the compiled functions, by hand from the bindings; `tests/test_kernel_types.py` compares the two.

Arrays are C-contiguous, except `X`, which may have any strides. What is called `out`, `codes` of an encoder, `rows_out`
and `codes_out` is written to.
"""

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray
from typing_extensions import CapsuleType

_Doubles = NDArray[np.float64]
_Ints = NDArray[np.int32]
_Longs = NDArray[np.int64]
_Bytes = NDArray[np.uint8]
_Signs = NDArray[np.int8]
_Floats = NDArray[np.float64] | NDArray[np.float32]
_Column = NDArray[np.int8] | NDArray[np.float64]
_Index = NDArray[np.int32] | NDArray[np.int64]

# ---- row weights

def entropic(
    z: _Doubles, eta: float, caps: _Doubles, offset: _Doubles, start: float, out: _Doubles, threads: int = 1
) -> tuple[float, int]: ...
def entropic_select(z: _Doubles, eta: float, caps: _Doubles, offset: _Doubles, out: _Doubles) -> float: ...
def average_lowest(
    v: _Doubles, caps: _Doubles, centre: float, width: float, threads: int = 1
) -> tuple[float, float]: ...
def vertex(v: _Doubles, caps: _Doubles, out: _Doubles) -> None: ...
def euclidean(z: _Doubles, caps: _Doubles, start: float, out: _Doubles, threads: int = 1) -> float: ...
def euclidean_of_copies(
    z: _Doubles, caps: _Doubles, copies: _Doubles, start: float, out: _Doubles, threads: int = 1
) -> float: ...
def spread(z: _Doubles, column: _Column, sign: float, threads: int = 1) -> float: ...
def move(z: _Doubles, column: _Column, keep: float, step: float, out: _Doubles, threads: int = 1) -> None: ...
def dot(a: _Doubles, column: _Column, threads: int = 1) -> float: ...
def centre(out: _Doubles, centres: _Doubles, factors: _Doubles) -> None: ...

# ---- stumps

class StumpSearch:
    def __init__(
        self,
        n_rows: int,
        y: _Signs,
        cut_counts: _Ints,
        has_missing: _Bytes,
        dense_codes: _Bytes,
        dense_features: _Ints,
        sparse_start: _Longs,
        sparse_rows: _Ints,
        sparse_codes: _Bytes,
        sparse_features: _Ints,
        sparse_default: _Bytes,
    ) -> None: ...
    def best(self, d: _Doubles, k: int = 1, threads: int = 1) -> tuple[_Ints, _Ints, _Bytes, _Doubles, float]: ...
    def column(self, feature: int, cut: int, missing_right: int, out: _Signs, threads: int = 1) -> None: ...
    def margins(
        self, features: _Ints, cuts: _Ints, missing_right: _Bytes, weights: _Doubles, out: _Doubles, threads: int = 1
    ) -> None: ...
    def forget(self) -> None: ...
    @property
    def looked(self) -> int: ...
    @property
    def summed(self) -> int: ...
    @property
    def blocks(self) -> int: ...

# ---- subsets of categories

class SubsetSearch:
    def __init__(
        self,
        n_rows: int,
        y: _Signs,
        cut_counts: _Ints,
        has_missing: _Bytes,
        dense_codes: _Bytes,
        dense_features: _Ints,
        sparse_start: _Longs,
        sparse_rows: _Ints,
        sparse_codes: _Bytes,
        sparse_features: _Ints,
        sparse_default: _Bytes,
    ) -> None: ...
    def best(self, d: _Doubles, k: int = 1, threads: int = 1) -> tuple[list[tuple[int, bytes, float]], float]: ...
    def sums(self, d: _Doubles, out: _Doubles, threads: int = 1) -> tuple[float, float]: ...
    def column(self, feature: int, mask: _Bytes, out: _Signs, threads: int = 1) -> None: ...
    def margins(self, base: float, features: _Ints, tables: _Doubles, out: _Doubles, threads: int = 1) -> None: ...
    def forget(self) -> None: ...
    @property
    def looked(self) -> int: ...

# ---- trees

class TreeSearch:
    def __init__(
        self,
        n_rows: int,
        y: _Signs,
        cut_counts: _Ints,
        has_missing: _Bytes,
        dense_codes: _Bytes,
        dense_features: _Ints,
        sparse_start: _Longs,
        sparse_rows: _Ints,
        sparse_codes: _Bytes,
        sparse_features: _Ints,
        sparse_default: _Bytes,
        categorical: _Bytes | None = None,
    ) -> None: ...
    def greedy(
        self, d: _Doubles, most: tuple[int, int], polish: bool = False, k: int = 1, threads: int = 1
    ) -> tuple[_Ints, _Longs, _Doubles, float]: ...
    def optimal(self, d: _Doubles, k: int = 1, threads: int = 1) -> tuple[_Ints, _Longs, _Doubles, float]: ...
    def column(self, nodes: _Ints, out: _Signs, threads: int = 1) -> None: ...
    def margins(self, nodes: _Ints, start: _Longs, weights: _Doubles, out: _Doubles, threads: int = 1) -> None: ...
    @property
    def contradictions(self) -> int: ...

class TreePredictor:
    def __init__(
        self,
        nodes: _Ints,
        start: _Longs,
        weights: _Doubles,
        features: _Ints,
        cut_start: _Longs,
        cuts: _Doubles,
        met_missing: _Bytes,
    ) -> None: ...
    def add_categories(self, columns: _Ints, start: _Longs, names: _Doubles, codes: _Bytes) -> None: ...
    def dense(self, X: _Floats, out: _Doubles, threads: int) -> None: ...
    def sparse(
        self, n_features: int, indptr: _Index, indices: _Index, data: _Floats, out: _Doubles, threads: int
    ) -> None: ...

# ---- binning

def cut_dense(
    X: _Floats, weights: _Doubles | None, max_bins: int, threads: int, hopeful: bool = False
) -> tuple[_Doubles, _Longs, _Ints, _Doubles]: ...
def cut_sparse(
    n_rows: int, start: _Longs, rows: _Ints, values: _Doubles, weights: _Doubles | None, max_bins: int, threads: int
) -> tuple[_Doubles, _Longs]: ...
def encode_dense(
    X: _Floats, cuts: _Doubles, cut_start: _Longs, codes: _Bytes, threads: int, few: _Ints, known: _Doubles
) -> bool: ...
def encode_sparse(
    start: _Longs, values: _Doubles, cuts: _Doubles, cut_start: _Longs, codes: _Bytes, threads: int
) -> None: ...
def modes_dense(codes: _Bytes, threads: int) -> tuple[_Bytes, _Longs, _Bytes]: ...
def bin_small(X: _Floats, max_bins: int, codes: _Bytes) -> tuple[_Doubles, _Longs, _Bytes, _Longs, _Bytes, _Ints]: ...
def modes_sparse(n_rows: int, start: _Longs, codes: _Bytes, zero_codes: _Bytes) -> tuple[_Bytes, _Longs, _Bytes]: ...
def pack_dense(
    codes: _Bytes, columns: _Ints, defaults: _Bytes, start: _Longs, rows_out: _Ints, codes_out: _Bytes, threads: int
) -> None: ...
def pack_sparse(
    n_rows: int,
    start: _Longs,
    rows: _Ints,
    codes: _Bytes,
    zero_codes: _Bytes,
    columns: _Ints,
    defaults: _Bytes,
    packed_start: _Longs,
    rows_out: _Ints,
    codes_out: _Bytes,
    threads: int,
) -> None: ...
def fill_sparse(
    n_rows: int, start: _Longs, rows: _Ints, codes: _Bytes, zero_codes: _Bytes, columns: _Ints, out: _Bytes
) -> None: ...

# ---- scores

def predict_dense(
    X: _Floats,
    features: _Ints,
    cut_start: _Longs,
    cuts: _Doubles,
    tables: _Doubles,
    missing: _Doubles,
    base: float,
    out: _Doubles,
    threads: int,
) -> None: ...
def predict_sparse(
    n_features: int,
    indptr: _Index,
    indices: _Index,
    data: _Floats,
    features: _Ints,
    cut_start: _Longs,
    cuts: _Doubles,
    tables: _Doubles,
    missing: _Doubles,
    base: float,
    out: _Doubles,
    threads: int,
) -> None: ...

# ---- trees of real values

class LeafSearch:
    def __init__(self, codes: _Bytes, cut_counts: _Ints, categorical: _Bytes) -> None: ...
    def grow(
        self,
        g: _Doubles,
        h: _Doubles,
        leaves: int,
        least: float,
        ridge: float,
        features: float,
        seed: int,
        row: float = 0.0,
    ) -> tuple[_Ints, _Ints, _Bytes, _Ints, _Ints, _Doubles, _Bytes]: ...
    def rounds(
        self,
        y: _Signs,
        prior: _Doubles,
        z: _Doubles,
        mu: float,
        shrink: float,
        path: _Doubles,
        leaves: int,
        least: float,
        features: float,
        seed: int,
        newton: bool = True,
        row: float = 0.0,
    ) -> tuple[tuple[_Ints, _Ints, _Bytes, _Ints, _Ints, _Doubles, _Bytes], _Ints, _Doubles, _Doubles]: ...
    def values(
        self,
        feature: _Ints,
        cut: _Ints,
        missing_right: _Bytes,
        left: _Ints,
        right: _Ints,
        value: _Doubles,
        masks: _Bytes,
        out: _Doubles,
    ) -> None: ...

class LeafPredictor:
    def __init__(
        self,
        feature: _Ints,
        threshold: _Doubles,
        missing_right: _Bytes,
        left: _Ints,
        right: _Ints,
        value: _Doubles,
        roots: _Longs,
    ) -> None: ...
    def add_categories(
        self, mask: _Ints, masks: _Bytes, columns: _Ints, start: _Longs, names: _Doubles, codes: _Bytes
    ) -> None: ...
    def scores(self, X: _Floats, out: _Doubles, threads: int) -> None: ...

# ---- corrective rounds

class _Rounds(TypedDict):
    # of each question
    features: _Ints
    cuts: _Ints
    missing_right: _Bytes
    masks: _Bytes
    edges: _Doubles
    objectives: _Doubles
    bounds: _Doubles
    # of each move
    keep: _Doubles
    added: _Doubles
    # at the end
    z: _Doubles
    d: _Doubles
    best_d: _Doubles | None
    best_objective_at: int
    best_bound_at: int
    warmth: tuple[float, float, float]
    reached: bool
    interrupt: BaseException | None

def corrective_rounds(
    search: StumpSearch,
    z: _Doubles,
    d: _Doubles,
    eta: float,
    caps: _Doubles,
    offset: _Doubles,
    warmth: tuple[float, float, float],
    budget: float,
    accuracy: tuple[float, float],
    best: tuple[float, float],
    rounds: int,
    threads: int = 1,
    subsets: SubsetSearch | None = None,
) -> _Rounds: ...
def shift_weights(w: _Doubles, numbers: _Longs, keep: _Doubles, added: _Doubles, size: int) -> _Doubles: ...

# ---- averages

def signed_softmax(edges: _Doubles, eta: float, out: _Doubles) -> float: ...
def signed_slope(edges: _Doubles, change: _Doubles, eta: float, step: float) -> float: ...
def stump_count(search: StumpSearch) -> int: ...
def stump_edges(search: StumpSearch, d: _Doubles, out: _Doubles, threads: int = 1) -> float: ...
def stump_margins(search: StumpSearch, weights: _Doubles, out: _Doubles, threads: int = 1) -> None: ...
def stump_runs(code_sums: _Doubles, cuts: int, missing: bool, price: float) -> list[tuple[int, int, float]]: ...

# ---- quadratics

def minimise_quadratic(
    H: _Doubles, c: _Doubles, budget: float, directed: NDArray[np.bool], x: _Doubles, potrf: CapsuleType
) -> bool: ...

# ---- diagrams

def nzdd_gather(label_start: _Longs, labels: _Ints, values: _Doubles, out: _Doubles) -> None: ...
def nzdd_scatter(label_start: _Longs, labels: _Ints, flow: _Doubles, out: _Doubles) -> None: ...
def nzdd_push(start: _Longs, head: _Ints, sums: _Doubles, scale: float, total: _Doubles, flow: _Doubles) -> None: ...
def nzdd_extremes(start: _Longs, head: _Ints, sums: _Doubles, low: _Doubles, high: _Doubles) -> None: ...

# ---- coordinate descent

class _DescentRounds(TypedDict):
    # of each question
    features: _Ints
    cuts: _Ints
    missing_right: _Bytes
    masks: _Bytes
    edges: _Doubles
    values: _Doubles
    # of each question, where the rows are surveyed
    least: _Doubles
    wrong: _Doubles
    # of each move
    steps: _Doubles
    # at the end
    z: _Doubles
    reached: bool
    stuck: bool
    interrupt: BaseException | None

def exponential(x: _Doubles) -> _Doubles: ...
def sigmoid(x: _Doubles) -> _Doubles: ...
def softplus(x: _Doubles) -> _Doubles: ...
def scaled_to_one(d: _Doubles, threads: int = 1) -> tuple[_Doubles, float]: ...
def descent_rounds(
    search: StumpSearch,
    kind: tuple[str, str],
    z: _Doubles,
    prior: _Doubles,
    settings: tuple[float, float, float, bool],
    rounds: int,
    threads: int = 1,
    subsets: SubsetSearch | None = None,
) -> _DescentRounds: ...
