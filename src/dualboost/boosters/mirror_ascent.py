"""MABoost: mirror ascent in the row weights, inside any set of them (Naghibi & Pfister, Algorithm 1, Theorems 1 to 3).

The learner answers for d, and d moves against the answer: active updates start from where the projection left d, lazy
ones from the sum of all moves. The gain of a round is at least edge^2 / (2 size) for each step but "max margin"; it is
what `training_error_bound` and `margin_bound` are made of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from dualboost import kernels
from dualboost.boosters.ascent import Ascent, Unscaled, edge_verdict, grown, weight_set
from dualboost.boosters.base import Booster, Burst
from dualboost.boosters.grid import added, on_grid
from dualboost.boosters.mirror_rounds import averaged, compilable, compiled_rounds
from dualboost.boosters.regularizers import Regularizer, regularizer_of
from dualboost.game import Game, Pool, State
from dualboost.learners.base import Answer
from dualboost.master import longest_ascent

__all__ = ["MirrorAscent"]

_UPDATES = ("active", "lazy")
_STEPS = ("edge", "max margin", "adaptive", "search")
_FURTHEST = 8.0  # times the sure step: a perfect hypothesis would be followed without end


@dataclass(frozen=True, init=False)
class MirrorAscent(Booster):
    """One hypothesis a round, added to the ensemble; the row weights move against it and back into the set.

    The set of row weights comes with the loss: `SoftMargin(Simplex())` is the paper's MABoost, `Capped` in its place
    smooth boosting, `Groups` limits what each source of data may weigh.

    Parameters
    ----------
    regularizer : {"entropic", "euclidean"} or Regularizer
        How far apart two row weights are. "euclidean" makes rows weigh exactly nothing.
    update : {"active", "lazy"}
        Move from the projected row weights, or from the sum of all moves. `lazy=True` says the latter too.
    step : {"edge", "max margin", "adaptive", "search"}
        The edge; the edge over the root of the round's number, whose margin tends to the largest one; the edge over
        the size of the column, longer for hypotheses that abstain; or a search that never gains less than "adaptive".

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import solve
    >>> from dualboost.boosters import MirrorAscent
    >>> from dualboost.losses import SoftMargin
    >>> from dualboost.sets import Simplex
    >>> A = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, -1.0], [-1.0, 1.0, 1.0]])
    >>> solution = solve(A, SoftMargin(Simplex()), MirrorAscent(), max_rounds=50)
    >>> bool(np.all(A @ solution.weights > 0))
    True
    """

    regularizer: Regularizer
    lazy: bool
    step: str

    def __init__(
        self,
        regularizer: str | Regularizer = "entropic",
        update: str = "active",
        step: str = "edge",
        lazy: bool = False,
    ):
        # By hand, because `update` is also what a booster does; `lazy` so that a copy can be made of the fields.
        for name, value, known in (("update", update, _UPDATES), ("step", step, _STEPS)):
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}.")
        chosen = regularizer_of(regularizer)
        lazy = bool(lazy) or update == "lazy"
        if lazy and not chosen.exact:
            raise ValueError(
                "A double projection is no exact one, and the lazy update, which never returns to the projected "
                "weights, would lose its bound: use update='active'."
            )
        for name, field in (("regularizer", chosen), ("lazy", lazy), ("step", step)):
            object.__setattr__(self, name, field)

    def start(self, game: Game, previous: State | None = None) -> State:
        bound_set = weight_set(game, "MirrorAscent")
        self.regularizer.check(bound_set)
        w, z, pool = np.zeros(0), np.zeros(len(game.rows)), Pool()
        mass = 0.0
        if previous is not None:
            w, z, pool = previous.w, previous.z, previous.pool
            mass = previous.memory.mass if isinstance(previous.memory, Ascent) else game.budget
        eta = mass / game.budget
        d = self.regularizer.nearest(bound_set, z, eta) if mass else self._first(bound_set, z)
        gain = self.regularizer.distance(bound_set, d) + eta * game.rows.add(float(d @ z))
        if self._follows_the_sum(bound_set):
            return State(w, z, d, game.loss, pool, memory=Ascent(mass, gain, total=Unscaled(eta * w, eta * z)))
        theta = self.regularizer.gradient(bound_set, d, -eta * z)
        return State(w, z, d, game.loss, pool, memory=Ascent(mass, gain, theta))

    def _first(self, bound_set, z: np.ndarray) -> np.ndarray:
        """The point of the set that is nearest to the prior; a price counts for nothing before the first step."""
        return self.regularizer.nearest(bound_set, z, 1e-12)

    def _follows_the_sum(self, bound_set) -> bool:
        return self.lazy or self.regularizer.forgets_its_path(bound_set)

    def ask(self, game: Game, state: State) -> Answer:
        return game.oracle.best(state.d)

    def verdict(self, game: Game, state: State, answer: Answer) -> str:
        return edge_verdict(game, state, answer)

    def update(self, game: Game, state: State, answer: Answer) -> State:
        edge = abs(float(answer.edges[0]))
        sized = self.step in ("adaptive", "search")
        size = self.regularizer.size(game.rows, answer.columns[0]) if sized else 1.0
        step = edge / size / (sqrt(state.t + 1) if self.step == "max margin" else 1.0)
        step = on_grid(step) if answer.columns[0].dtype == np.int8 else step
        gain = state.memory.gain + step * edge - size * step**2 / 2
        if self.step == "search":
            step = self._longer(game, state, answer, step)
        w, z, mass, total = self._grown(game, state, answer, step)
        d, theta = self._row_weights(game, state, answer, step, z)
        return replace(state, w=w, z=z, d=d, t=state.t + 1, memory=Ascent(mass, gain, theta, total=total))

    def _grown(self, game: Game, state: State, answer: Answer, step: float):
        """(w, z, mass, total) with the answer's best hypothesis added; from the exact sum, where there is one."""
        total = state.memory.total
        if total is None:
            return *grown(game, state, answer, step), None
        mass, signed = state.memory.mass + step, float(np.copysign(step, answer.edges[0]))
        z = np.empty_like(total.z)
        kernels.move(total.z, answer.columns[0], 1.0, signed, z, game.rows.threads)
        number = state.pool.number(answer.hypotheses[0])
        total = Unscaled(added(total.w, len(state.pool), number, signed), z)
        return *averaged(game, total, mass), mass, total

    def _row_weights(self, game: Game, state: State, answer: Answer, step: float, z: np.ndarray):
        """The row weights after this step, and what an active update has to remember of them."""
        bound_set = weight_set(game, "MirrorAscent")
        theta, mass = state.memory.theta, state.memory.mass + step
        if theta is None:
            return self.regularizer.nearest(bound_set, z, mass / game.budget), None
        sign = float(np.copysign(1.0, answer.edges[0]))
        toward = np.empty_like(theta)
        kernels.move(theta, answer.columns[0], -1.0 / step, sign, toward, game.rows.threads)
        d = self.regularizer.nearest(bound_set, toward, step)
        return d, self.regularizer.gradient(bound_set, d, -step * toward)

    def _longer(self, game: Game, state: State, answer: Answer, sure: float) -> float:
        """As far as the hypothesis keeps an edge under the row weights it leads to: there the gain still rises."""

        def edge_after(step: float) -> float:
            _, z, _, _ = self._grown(game, state, answer, step)
            d, _ = self._row_weights(game, state, answer, step, z)
            edge = game.rows.add(kernels.dot(d, answer.columns[0], game.rows.threads))
            return edge * float(np.sign(answer.edges[0]))

        return longest_ascent(edge_after, sure, _FURTHEST * sure)

    def burst(self, game: Game, state: State, count: int) -> Burst | None:
        return compiled_rounds(self, game, state, count) if compilable(self, game, state) else None
