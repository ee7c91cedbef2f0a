"""`python -m benchmarks.masters`: what a round of the totally corrective boosters costs beside generic solvers.

CPU seconds, one thread, Markdown on stdout.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.programs import LARGE, SMALL, cold_program, game_of, read, seconds, synthetic, table, to_a_gap
from benchmarks.timing import progress
from dualboost import solve
from dualboost.boosters import ERLPBoost, LPBoost, SoftBoost
from dualboost.boosters.column_generation import new_atoms, optimum, signed_columns
from dualboost.game import Game, rounds
from dualboost.losses import SoftMargin
from dualboost.master import L1Ball, descend, entropy_projection
from dualboost.sets import Capped


def warm_and_cold(m: int, first: int, count: int, nu: float = 0.1) -> None:
    """A round of LPBoost with the warm program, and scipy's over the same columns from nothing."""
    game, booster = game_of(synthetic(m), nu, 1e-9), LPBoost(columns=1, stabilise=0)
    warm, cold = [], []
    for state, answer in rounds(game, booster):
        held = state.memory.atoms
        if len(held) >= first + count:
            break
        if len(held) < first:
            continue
        atoms = held + new_atoms(state, answer)
        warm.append(seconds(lambda atoms=atoms, state=state: optimum(game, state.pool, atoms), 1))
        columns = signed_columns(game, state.pool, atoms)
        cold.append(seconds(lambda columns=columns: cold_program(columns, nu), 1))
        progress(f"  {len(atoms)} columns: {warm[-1]:.3f} s, {cold[-1]:.3f} s")
    ratio = median(c / w for w, c in zip(warm, cold, strict=True))
    head = ("rows", "columns", "warm", "scipy's linprog, cold", "ratio")
    row = (
        f"{m:,}",
        f"{first} to {first + count}",
        f"{median(warm):.3f} s",
        f"{median(cold):.3f} s",
        f"**{ratio:.1f} ×**",
    )
    table("LPBoost: the program of a round, warm and cold", head, [row])


def columns_and_stabilisation(names: Iterable[str], tol: float = 1e-3) -> None:
    variants = {f"{k} a round, {s}": LPBoost(columns=k, stabilise=s) for k in (1, 5, 10) for s in (0.0, 0.5)}

    def row(name: str, nu: float) -> Iterator[object]:
        data = read(name)
        yield from (name, nu)
        for booster in variants.values():
            game = game_of(data, nu, tol)
            start = time.process_time()
            solution = solve(game.oracle, SoftMargin(Capped(nu=nu)), booster, tol, 1000)
            yield f"{solution.n_rounds}, {time.process_time() - start:.2f} s"

    body = (row(name, nu) for name in names for nu in (0.1, 0.8))
    table(
        f"LPBoost: rounds and CPU time to a gap of {tol}; columns a round, stabilisation",
        ("data", "nu", *variants),
        body,
    )


def conic_seconds(build: Callable, m: int, nu: float) -> float:
    """cvxpy and Clarabel, for min over the capped simplex of an expression in d."""
    import cvxpy as cp

    d = cp.Variable(m)
    minimand, limits = build(cp, d)
    problem = cp.Problem(cp.Minimize(minimand), [d >= 0, d <= 1 / (nu * m), cp.sum(d) == 1, *limits])
    return seconds(lambda: problem.solve(solver=cp.CLARABEL), 1)


def inner_problem(m: int, at: Iterable[int], nu: float = 0.1, tol: float = 0.01) -> None:
    """ERLPBoost's: max of the smoothed margin over the columns met, from the last round's weights."""

    def body() -> Iterator[tuple]:
        game = game_of(synthetic(m), nu, tol)
        loss = game.loss.smoothed(tol)
        for state, answer in islice(rounds(game, ERLPBoost()), max(at) + 1):
            if state.t not in at:
                continue
            used = np.union1d(np.flatnonzero(state.w), [state.pool.number(answer.hypotheses[0])])
            columns = game.columns_of(state.pool.keys[j] for j in used)
            w = np.concatenate([state.w, np.zeros(len(state.pool) - len(state.w))])[used]
            ours = seconds(lambda columns=columns, w=w: descend(loss, columns, w, L1Ball(1.0), tol / 100))
            whole = conic_seconds(lambda cp, d, columns=columns: _smoothed_edge(cp, d, columns, loss.eta), m, nu)
            yield (
                state.t,
                len(used),
                f"{1e3 * ours:.2f} ms",
                f"{whole:.2f} s",
                f"**{whole / ours:.0f} ×**",
            )

    head = ("round", "columns", "ours", "cvxpy + Clarabel", "ratio")
    table(f"ERLPBoost: the problem of a round, {m:,} rows", head, body())


def _smoothed_edge(cp, d, columns: np.ndarray, eta: float):
    return cp.norm_inf(columns @ d) + cp.sum(cp.rel_entr(d, np.full(columns.shape[1], 1 / columns.shape[1]))) / eta, []


def projections(m: int, at: Iterable[int], nu: float = 0.1, tol: float = 0.01) -> None:
    """SoftBoost's: the row weights nearest to the prior under edge constraints, from the last round's multipliers."""

    def body() -> Iterator[tuple]:
        game = game_of(synthetic(m), nu, tol)
        for state, answer in islice(rounds(game, SoftBoost()), max(at) + 1):
            if state.t not in at:
                continue
            columns = signed_columns(game, state.pool, state.memory.atoms + new_atoms(state, answer))
            limit, start = state.best.bound - tol, np.zeros(len(columns))
            last = game.live["multipliers"]
            start[: len(last)] = last
            ours = seconds(lambda columns=columns, start=start, limit=limit: _project(game, columns, limit, start))
            build = lambda cp, d, columns=columns, limit=limit: (  # noqa: E731
                cp.sum(cp.rel_entr(d, np.full(m, 1 / m))), [columns @ d <= limit],
            )  # fmt: skip
            whole = conic_seconds(build, m, nu)
            row = state.t, len(columns), f"{1e3 * ours:.2f} ms", f"{whole:.2f} s"
            yield *row, f"**{whole / ours:.0f} ×**"

    head = ("round", "columns", "ours", "cvxpy + Clarabel", "ratio")
    table(f"SoftBoost: the projection of a round, {m:,} rows", head, body())


def _project(game: Game, columns: np.ndarray, limit: float, start: np.ndarray) -> None:
    entropy_projection(game.loss.set, columns, limit, start)


SECTIONS: dict[str, Callable[[bool], None]] = {
    "gap": lambda large: to_a_gap(SMALL + LARGE if large else SMALL),
    "warm": lambda large: warm_and_cold(5000, 100, 8) if large else warm_and_cold(1500, 60, 8),
    "columns": lambda large: columns_and_stabilisation(SMALL if large else SMALL[:1]),
    "inner": lambda large: inner_problem(5000 if large else 2000, (10, 20, 40)),
    "projection": lambda large: projections(5000 if large else 2000, (10, 20, 40)),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.masters", description=__doc__)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--large", action="store_true", help="also image, and 5,000 rows: some ten minutes")
    options = parser.parse_args()
    with threadpool_limits(1):
        for name in options.sections:
            progress(name)
            SECTIONS[name](options.large)


if __name__ == "__main__":
    main()
