"""The full linear program over all stumps, scipy's HiGHS, beside our solvers; and what `masters` shares with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from benchmarks import real_data
from benchmarks.timing import Skip, one_cell
from dualboost import solve
from dualboost.boosters import Booster, Corrective, ERLPBoost, LPBoost, TotallyCorrective
from dualboost.game import Game
from dualboost.learners import Stumps
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Capped

SMALL, LARGE = ("heart", "breast_cancer", "diabetis", "german", "titanic_passengers"), ("image",)
SOLVERS: dict[str, Booster] = {
    "TotallyCorrective": TotallyCorrective(),
    "LPBoost": LPBoost(),
    "ERLPBoost": ERLPBoost(),
    "Corrective": Corrective(),
    "Corrective, search": Corrective(step="search", smoothing="halving"),
}
ROUNDS = 20_000
Labelled = tuple[np.ndarray, np.ndarray]


def read(name: str) -> Labelled:
    X, y = real_data.table(name)
    return X, np.where(y > 0, 1, -1).astype(np.int8)


def synthetic(m: int) -> Labelled:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, 20))
    return X, np.where(X[:, :5].sum(axis=1) + 2 * rng.normal(size=m) > 0, 1, -1).astype(np.int8)


def game_of(data: Labelled, nu: float, tol: float) -> Game:
    rows = Rows.of(len(data[1]))
    return Game(SoftMargin(Capped(nu=nu)).bind(rows), Stumps().bind(*data, rows), rows, tol=tol)


def seconds(call: Callable[[], object], repeats: int = 3) -> float:
    """The shortest of a few, or of as many as fit in a second: on a shared machine the others are the neighbours'."""
    took: list[float] = []
    while not took or (len(took) < repeats and max(took) < 2) or (repeats > 1 and sum(took) < 1):
        start = time.process_time()
        call()
        took.append(time.process_time() - start)
    return min(took)


def table(title: str, head: Iterable[str], body: Iterable[Iterable[object]]) -> None:
    head = list(head)
    print(f"## {title}\n", "| " + " | ".join(head) + " |", "|" + " --- |" * len(head), sep="\n", flush=True)
    for row in body:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
    print(flush=True)


# ---- to a gap of 0.01 on stumps -------------------------------------------------------------------------------------


def all_stumps(data: Labelled) -> np.ndarray:
    """The margin matrix of every stump, as the full program needs it."""
    oracle = game_of(data, 0.5, 0.1).oracle
    return np.array([oracle.column(stump) for stump in oracle.everything], dtype=np.float64).T


def cold_program(atoms: np.ndarray, nu: float) -> float:
    """min over d of the largest edge of these rows, by scipy's HiGHS, from nothing."""
    n, m = atoms.shape
    result = linprog(
        np.append(np.zeros(m), 1.0), A_ub=np.hstack([atoms, -np.ones((n, 1))]), b_ub=np.zeros(n),
        A_eq=np.append(np.ones(m), 0.0)[None], b_eq=[1.0], bounds=[(0, 1 / (nu * m))] * m + [(0, None)],
    )  # fmt: skip
    return float(result.fun)


def full_margin_program(A: np.ndarray, nu: float) -> float:
    """The same optimum from the other side: the weights of all stumps and one slack a row."""
    m, n = A.shape
    rows = sp.hstack([sp.csr_array(-A), sp.csr_array(A), np.ones((m, 1)), -sp.eye_array(m)])
    mass = sp.csr_array(np.append(np.ones(2 * n), np.zeros(1 + m))[None])
    cost = np.concatenate([np.zeros(2 * n), [-1.0], np.full(m, 1 / (nu * m))])
    bounds = [(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * m
    result = linprog(cost, A_ub=sp.vstack([rows, mass]).tocsc(), b_ub=np.append(np.zeros(m), 1.0), bounds=bounds)
    return -float(result.fun)


def colboost_seconds(data: Labelled, nu: float) -> str:
    """A fit of its LPBoost on trees of depth one: until it stops by itself or 100 rounds; it certifies nothing."""

    def fit() -> None:
        from colboost.ensemble import EnsembleClassifier

        model = EnsembleClassifier(solver="lp_boost", tradeoff_hyperparam=1 / (nu * len(data[1])), max_iter=100)
        model.fit(np.nan_to_num(data[0]), data[1])  # it takes no missing values

    try:
        with one_cell():
            return f"{seconds(fit, 1):.2f} s"
    except Skip as skip:
        return str(skip)


def to_a_gap(names: Iterable[str], tol: float = 1e-2) -> None:
    def row(name: str, data: Labelled, nu: float) -> Iterator[object]:
        A = all_stumps(data)
        yield from (f"{name} {A.shape[0]:,} × {A.shape[1]:,}", nu)
        full = min(
            seconds(lambda: cold_program(np.vstack([A.T, -A.T]), nu)),
            seconds(lambda: full_margin_program(A, nu)) if len(A) < 1500 else np.inf,
        )
        yield f"{full:.2f} s"
        best = np.inf
        for solver in SOLVERS.values():
            took, done = run(solver, data, nu)
            best = min(best, took if done.gap <= tol else np.inf)
            yield f"{1e3 * took:.3g} ms, {done.n_rounds}" if done.gap <= tol else f"gap {done.gap:.2g}, {done.n_rounds}"
        yield f"**{full / best:.1f} ×**"
        yield colboost_seconds(data, nu)

    def run(solver: Booster, data: Labelled, nu: float):
        found = []

        def once() -> None:
            found.append(solve(game_of(data, nu, tol).oracle, SoftMargin(Capped(nu=nu)), solver, tol, ROUNDS))

        return seconds(once), found[-1]

    head = ("data: rows × stumps", "nu", "full program, scipy", *SOLVERS, "best of ours", "colboost")
    body = (row(name, read(name), nu) for name in names for nu in (0.1, 0.8))
    table(f"CPU time to a certified gap of {tol} on stumps (ms, rounds)", head, body)
