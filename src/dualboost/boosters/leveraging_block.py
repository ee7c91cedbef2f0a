"""Hypotheses that move together in a round of leveraging, with the sums that their steps depend on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dualboost.game import Game, State
from dualboost.learners.base import Answer, Listed
from dualboost.master import largest_singular_value

__all__ = ["Block", "all_of", "block_of_all", "block_of_answer", "block_of_used", "pick"]

_ROUNDING = np.finfo(np.float64).eps
_TIE = 1e-12


@dataclass(frozen=True, eq=False)
class Block:
    """Columns A[:, j], seen through sums over the rows."""

    numbers: np.ndarray
    """Of the hypotheses in the pool."""
    right: np.ndarray
    """Sums of d_i |A[i, j]| over the rows with A[i, j] > 0; `wrong` over those below 0."""
    wrong: np.ndarray
    squares: np.ndarray
    """Sums of p_i A[i, j]^2."""
    row_mass: float
    """The largest sum over j of |A[i, j]|."""
    norm: Callable[[], float]
    """The largest singular value of the columns, rows scaled by the root of the prior."""
    shift: Callable[[np.ndarray], np.ndarray]
    """What steps of these sizes add to the margins."""


def all_of(game: Game) -> Listed:
    """The oracle as one that can list its class."""
    if isinstance(game.oracle, Listed):
        return game.oracle
    raise ValueError(
        'template="parallel" needs a class that can be listed, such as Matrix(), or Stumps() without monotone.'
    )


def block_of_answer(game: Game, state: State, answer: Answer) -> Block:
    """The hypothesis that the learner gave, alone."""
    column = np.asarray(answer.columns[0], dtype=np.float64)
    return _block_of_columns(game, state, np.array([state.pool.number(answer.hypotheses[0])]), column[None, :])


def block_of_used(game: Game, state: State) -> Block:
    """Every hypothesis of the ensemble."""
    keys = state.pool.keys[: len(state.w)]
    return _block_of_columns(game, state, np.arange(len(keys)), game.columns_of(keys))


def _block_of_columns(game: Game, state: State, numbers: np.ndarray, columns: np.ndarray) -> Block:
    rows = game.rows
    sums = rows.add(np.maximum(columns, 0) @ state.d), rows.add(np.maximum(-columns, 0) @ state.d)
    squares = rows.add(columns**2 @ rows.prior)

    def norm() -> float:
        if len(columns) == 1:
            return float(np.sqrt(squares[0]))
        return float(np.linalg.norm(columns * np.sqrt(rows.prior), 2)) * (1 + 1e-12)

    row_mass = rows.max(float(np.abs(columns).sum(axis=0).max()))
    return Block(numbers, *sums, squares, row_mass, norm, lambda steps: steps @ columns)


def block_of_all(game: Game, state: State) -> Block:
    """The whole class of an oracle that can list it."""
    oracle = all_of(game)
    keys = oracle.everything
    right, wrong = _tally(game, state.d)
    fixed = game.live.setdefault("leveraging", {})
    if not fixed:  # these depend on the data only
        fixed.update(squares=oracle.scales()[1], mass=oracle.row_mass(np.arange(len(keys))))

    def norm() -> float:
        if "norm" not in fixed:
            fixed["norm"] = _norm_of_all(game)
        return fixed["norm"]

    def shift(steps: np.ndarray) -> np.ndarray:
        return oracle.margins(keys, steps)

    return Block(np.arange(len(keys)), right, wrong, fixed["squares"], fixed["mass"], norm, shift)


def _norm_of_all(game: Game) -> float:
    """The largest singular value by products with the matrix of the class."""
    oracle, root = all_of(game), np.sqrt(game.rows.prior)
    keys = oracle.everything

    def backward(u: np.ndarray) -> np.ndarray:
        right, wrong = oracle.tally(root * np.ravel(u))
        return right - wrong

    return largest_singular_value(
        lambda x: root * oracle.margins(keys, np.ravel(x)), backward, (len(game.rows), len(keys))
    )


def pick(game: Game, d: np.ndarray, gains: Callable) -> Answer:
    """The hypothesis of a listed class that gains most; of equal ones the first."""
    oracle = all_of(game)
    right, wrong = _tally(game, d)
    if "scales" not in game.live:
        game.live["scales"] = oracle.scales()
    gain, edges = gains(right, wrong, game.live["scales"]), right - wrong
    j = int(np.argmax(gain >= gain.max() - _TIE * max(gain.max(), 0)))
    key = oracle.everything[j]
    rounding = 2 * len(d) * _ROUNDING * float((right + wrong).max())
    return Answer([key], [oracle.column(key)], edges[[j]], float(np.abs(edges).max() + rounding))


def _tally(game: Game, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What each hypothesis gets right and wrong under d; kept from the question for the step."""
    known = game.live.get("tally")
    if known is None or known[0] is not d:
        game.live["tally"] = known = (d, *oracle_sums(game, d))
    return known[1], known[2]


def oracle_sums(game: Game, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tally, with the rounding below zero cut off."""
    right, wrong = all_of(game).tally(d)
    return np.maximum(right, 0.0), np.maximum(wrong, 0.0)
