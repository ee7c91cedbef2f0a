"""`save_state` and `load_state`: a run between two rounds as one file of numbers and strings, to be taken up elsewhere.

The loss that is descended differs from the game's by numbers only (a smoothing, a noise rate): these are kept, and the
rest comes from the game again. A state resumed from a file and one that was pickled go on to the same bits.
"""

from __future__ import annotations

import os
from dataclasses import fields, replace
from numbers import Real
from typing import Any

import numpy as np

from dualboost.boosters.active_set import ActiveSet, Atom
from dualboost.boosters.ascent import Ascent, Trail, Unscaled
from dualboost.boosters.column_generation import Collected
from dualboost.boosters.descent_rounds import Moves
from dualboost.boosters.frank_wolfe import Run
from dualboost.boosters.polish import Polish
from dualboost.boosters.star import Progress
from dualboost.game import Best, Game, Pool, State
from dualboost.learners.averaging import Mixture
from dualboost.learners.leaf_scores import LeafTree
from dualboost.losses import Loss
from dualboost.storage.container import DamagedFile, read, write
from dualboost.storage.records import decode, encode

__all__ = ["BROKEN", "TYPES", "load_state", "rebound", "save_state", "state_code", "state_of"]

_FORMAT, _VERSION = "dualboost state", 1
_MEMORIES = (ActiveSet, Atom, Ascent, Collected, Moves, Polish, Progress, Run, Trail, Unscaled)
_HYPOTHESES = (LeafTree, Mixture)
TYPES: dict[str, type] = {kind.__name__: kind for kind in (Best, Pool, *_MEMORIES, *_HYPOTHESES)}
"""What a state is made of, besides numbers, strings, tuples and arrays. A booster's own memory is added here."""

BROKEN = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)
"""What decoding raises where the code is none of ours."""


def save_state(state: State, path: str | os.PathLike) -> None:
    """Write a run between two rounds to a file; what was there is replaced at once or not at all.

    Parameters
    ----------
    state : State
        As `rounds` yields it.
    path : str or path

    Notes
    -----
    Call `game.forget()` on both sides: the run that goes on here and the one resumed elsewhere then agree to the bit.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from itertools import islice
    >>> from dualboost.boosters import Corrective
    >>> from dualboost.game import Game, rounds
    >>> from dualboost.learners import Matrix
    >>> from dualboost.losses import SoftMargin
    >>> from dualboost.rows import Rows
    >>> from dualboost.sets import Simplex
    >>> from dualboost.storage import load_state, save_state
    >>> rows = Rows.of(3)
    >>> A = np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    >>> game = Game(SoftMargin(Simplex()).bind(rows), Matrix().bind(A, None, rows), rows, tol=0.1)
    >>> *_, (state, answer) = islice(rounds(game, Corrective()), 5)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.dualboost"
    >>> save_state(state, path)
    >>> state = load_state(path, game)
    >>> next(rounds(game, Corrective(), state))[0].t
    4
    """
    arrays: dict[str, np.ndarray] = {}
    code = state_code(state, arrays, "state")
    write(path, {"format": _FORMAT, "version": _VERSION, "state": code}, arrays)


def load_state(path: str | os.PathLike, game: Game, *, max_bytes: int = 1 << 32) -> State:
    """Read a state that `save_state` wrote, of a run of the same game. No code runs from the file.

    Parameters
    ----------
    path : str or path
    game : Game
        The same problem: its rows and hypotheses are not in the file.
    max_bytes : int, default 4 GiB
        Refuse files that would take more memory than this.

    Examples
    --------
    See `save_state`.

    >>> from dualboost.storage import load_state
    >>> load_state("nowhere.dualboost", None)
    Traceback (most recent call last):
        ...
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.dualboost'
    """
    header, arrays = read(path, max_bytes)
    if header.get("format") != _FORMAT or header.get("version") != _VERSION:
        raise DamagedFile(f"{path} does not hold the state of a run of this version of dualboost.")
    try:
        return state_of(header["state"], arrays, game)
    except BROKEN as error:
        raise DamagedFile(f"{path} does not hold a state of this game: {error}.") from error


def state_code(state: State, arrays: dict[str, np.ndarray], where: str) -> dict[str, Any]:
    """JSON for the state; its arrays go into `arrays`."""
    parts = {name: getattr(state, name) for name in _names() if name != "loss"}
    code = {name: encode(part, arrays, TYPES, f"{where}.{name}") for name, part in parts.items()}
    return {**code, "loss": [type(state.loss).__name__, encode(_numbers(state.loss), arrays, TYPES, f"{where}.loss")]}


def state_of(code: dict[str, Any], arrays: dict[str, np.ndarray], game: Game) -> State:
    """The state again; one of `BROKEN` where it is none, or belongs to another game."""
    name, numbers = code["loss"]
    if name != type(game.loss).__name__:
        raise ValueError(f"its loss is {name}, that of the game {type(game.loss).__name__}")
    parts = {name: decode(code[name], arrays, TYPES) for name in _names() if name != "loss"}
    state = State(**parts, loss=_with_numbers(game, decode(numbers, arrays, TYPES)))
    _check(state, game)
    return state


def rebound(state: State, game: Game) -> State:
    """The state in a game of the same problem: its loss is the game's own, with the numbers of the old one."""
    return replace(state, loss=_with_numbers(game, _numbers(state.loss)))


def _with_numbers(game: Game, numbers: dict[str, Any]) -> Loss:
    return replace(game.loss, **numbers)  # type: ignore[type-var]


def _names() -> list[str]:
    return [field.name for field in fields(State)]


def _numbers(loss: Loss) -> dict[str, Any]:
    """The parameters of a loss that are plain numbers."""
    values = {field.name: getattr(loss, field.name) for field in fields(loss) if field.init}  # type: ignore[arg-type]
    return {name: float(value) for name, value in values.items() if isinstance(value, Real)}


def _check(state: State, game: Game) -> None:
    """What the kernels and the loop rely on."""
    m, best = len(game.rows), state.best
    if not (isinstance(state.pool, Pool) and isinstance(best, Best) and isinstance(state.status, str)):
        raise ValueError("its parts are of other kinds")
    vectors = [state.z, state.d, *([] if best.d is None else [best.d])]
    if any(v.shape != (m,) or v.dtype != np.float64 or not np.all(np.isfinite(v)) for v in vectors):
        raise ValueError(f"it is of other rows than the {m} of the game")
    if any(w.ndim != 1 or w.dtype != np.float64 or len(w) > len(state.pool) for w in (state.w, best.w)):
        raise ValueError("it weighs hypotheses that it does not know")
    if not isinstance(state.t, int) or state.t < 0:
        raise ValueError("its round is no number")
