"""Every solver on the same game: what each reached and proved, after how many rounds and seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from time import perf_counter

import numpy as np

from dualboost.boosters import Booster, Corrective, ERLPBoost, LPBoost, MLPBoost, SoftBoost, TotallyCorrective
from dualboost.estimators.base import check_learner
from dualboost.estimators.margin import MarginBoostClassifier
from dualboost.estimators.progress import progress
from dualboost.estimators.validation import check_whole_number, training_data
from dualboost.game import Game, State
from dualboost.losses import SoftMargin
from dualboost.sets import Capped
from dualboost.solve import play

__all__ = ["SOLVERS", "Comparison", "Trace", "compare"]

SOLVERS: dict[str, Booster] = {
    "TotallyCorrective": TotallyCorrective(),
    "LPBoost": LPBoost(),
    "LPBoost, textbook": LPBoost(columns=1, stabilise=0),
    "ERLPBoost": ERLPBoost(),
    "MLPBoost": MLPBoost(),
    "SoftBoost": SoftBoost(),
    "Corrective, search": Corrective(step="search", smoothing="halving"),
    "Corrective": Corrective(),
}


@dataclass(frozen=True, eq=False)
class Trace:
    """One run: after `rounds[i]` rounds and `seconds[i]` seconds, the best value and the best bound so far."""

    name: str
    rounds: np.ndarray
    seconds: np.ndarray
    objectives: np.ndarray
    bounds: np.ndarray
    size: int
    """Hypotheses in the final ensemble."""
    status: str

    @property
    def gap(self) -> float:
        return float(self.bounds[-1] - self.objectives[-1])


@dataclass(frozen=True, eq=False)
class Comparison:
    """The runs, in the order asked. Print it for a table; `plot()` draws the gaps."""

    traces: tuple[Trace, ...]
    nu: float
    tol: float

    def __str__(self) -> str:
        width = max(len(trace.name) for trace in self.traces)
        units = f"{'reached':>9}  {'bound':>9}  {'gap':>8}  {'rounds':>7}  {'seconds':>8}  {'size':>5}  stopped"
        lines = [
            f"{trace.name:<{width}}  {trace.objectives[-1]:9.5f}  {trace.bounds[-1]:9.5f}  {trace.gap:8.2g}  "
            f"{trace.rounds[-1]:7d}  {trace.seconds[-1]:8.3f}  {trace.size:5d}  {_in_short(trace.status)}"
            for trace in self.traces
        ]
        title = f"soft margin at nu = {self.nu:g}, gap asked {self.tol:g}"
        return "\n".join([title, f"{'solver':<{width}}  {units}", *lines])

    def plot(self):
        """The gap against rounds and seconds, as a matplotlib figure."""
        from dualboost import plots

        return plots.comparison_figure(self)


def _in_short(status: str) -> str:
    return status.split(":")[0]


def compare(
    X,
    y,
    *,
    nu: float = 0.1,
    learner=None,
    boosters: Mapping[str, Booster] | None = None,
    tol: float = 0.01,
    max_rounds: int = 10_000,
    seconds: float = 60.0,
    sample_weight=None,
    verbose: int = 0,
) -> Comparison:
    """Play the soft-margin game with every solver and see who is how far, when.

    Parameters
    ----------
    X, y : training data, two classes
    nu : float in (0, 1], default 0.1
        The fraction of the rows that may fall inside the margin.
    learner : Learner, default Stumps()
    boosters : mapping of name to Booster, optional
        Which solvers, by default all of them.
    tol : float, default 0.01
        The gap to reach, a difference of margins in [-1, 1].
    max_rounds, seconds
        The most rounds and time for each.
    sample_weight : array, optional
    verbose : int, default 0
        1 shows a progress bar for each.

    Returns
    -------
    Comparison
        Prints as a table; `traces` holds the curves; `plot()` draws them.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import compare
    >>> from dualboost.boosters import LPBoost, TotallyCorrective
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> runs = compare(X, y, nu=0.2, boosters={"LP": LPBoost(), "entropy": TotallyCorrective()})
    >>> all(trace.gap <= 0.01 for trace in runs.traces)
    True
    """
    _check(nu, tol, seconds)
    check_whole_number("max_rounds", max_rounds, 1)
    solvers = SOLVERS if boosters is None else boosters
    data = training_data(MarginBoostClassifier(), X, y, sample_weight)
    if len(data.classes) != 2:
        raise ValueError(
            f"compare plays a game of two classes; y has {len(data.classes)}: compare one of them with y == it."
        )
    rows = data.rows(1)
    oracle = data.bound(check_learner(learner, 255), rows)
    game = Game(SoftMargin(Capped(nu=nu)).bind(rows), oracle, rows, tol=tol)
    return Comparison(
        tuple(_run(game, name, booster, (max_rounds, seconds, verbose)) for name, booster in solvers.items()), nu, tol
    )


def _check(nu, tol, seconds) -> None:
    for name, value, high in (("nu", nu, 1.0), ("tol", tol, np.inf), ("seconds", seconds, np.inf)):
        if not (isinstance(value, Real) and 0 < float(value) <= high):
            raise ValueError(f"{name} must be a number above 0{' and at most 1' if high == 1 else ''}, not {value!r}.")


def _run(game: Game, name: str, booster: Booster, limits: tuple[int, float, int]) -> Trace:
    """One solver from a cold start; the clock stands while the certificate is recomputed at the end."""
    max_rounds, seconds, verbose = limits
    game.forget()
    seen: list[tuple[int, float, float, float]] = []
    with progress(name, max_rounds, verbose) as draw:
        start = perf_counter()

        def watch(state: State) -> str:
            spent = perf_counter() - start
            seen.append((state.t, spent, state.best.objective, state.best.bound))
            if draw is not None:
                draw(state)
            return f"out of time: {seconds:g} seconds" if spent > seconds else ""

        outcome = play(game, booster, max_rounds, watch=watch)
    certificate = outcome.certificate  # recomputed from scratch: what the last entry says must be true
    seen[-1] = (outcome.n_rounds, seen[-1][1], certificate.objective, certificate.bound)
    rounds, times, objectives, bounds = (np.array(column) for column in zip(*seen, strict=True))
    return Trace(name, rounds, times, objectives, bounds, len(outcome.weights), outcome.status)
