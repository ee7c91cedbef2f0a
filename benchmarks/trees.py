"""`python -m benchmarks.trees`: trees of three levels beside LightGBM's of eight leaves, a round and a prediction.

A round of ours asks for a tree, certifies and moves (corrective soft margin, as in `ours`); "the tree alone" is the
question without the rest. LightGBM's round is a step of logistic gradient boosting. All on one thread, in turns.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import report
from benchmarks.ours import NU, TOL
from benchmarks.peers import MAX_BINS, Contender, LightGBM
from benchmarks.sections import Effort, Results, prepare_all
from benchmarks.shapes import SHAPES, Data
from benchmarks.timing import Clock, Sampler, Skip, differences, interleave, one_cell, progress, time_each

DEPTH = 3
TREES = 500
SHRINKAGE = 0.1


class DualboostTrees:
    """The loop itself with `Trees(max_depth=3)`."""

    name = "dualboost"
    binning: float | None = None
    mode = ""

    def prepare(self, X: Any, y: np.ndarray, threads: int = 1) -> None:
        from dualboost.game import Game
        from dualboost.learners import Trees
        from dualboost.losses import SoftMargin
        from dualboost.rows import Rows
        from dualboost.sets import Capped

        rows = Rows.of(len(y), threads)

        def bind() -> None:
            self._oracle = Trees(max_depth=DEPTH, max_bins=MAX_BINS).bind(X, y, rows)

        self.binning = time_each(bind, 1)[0]
        self._game = Game(SoftMargin(Capped(nu=NU)).bind(rows), self._oracle, rows, tol=TOL)
        self._play = self._endless()

    def _endless(self) -> Iterator[Any]:
        from dualboost.boosters import Corrective
        from dualboost.game import rounds

        while True:
            yield from (state for state, _ in rounds(self._game, Corrective()))

    def rounds(self, n: int, clock: Clock = time.process_time) -> list[float]:
        next(self._play)  # so that the first tick is at a round's end
        return differences([clock(), *(clock() for _ in islice(self._play, n))])

    def predict(self, X: Any) -> np.ndarray:
        return self._ensemble().scores(X)

    def _ensemble(self) -> Any:
        """500 different trees: small exponential steps, so that each round asks for another one."""
        if not hasattr(self, "_predictor"):
            d, trees = np.full(len(self._game.rows), 1.0 / len(self._game.rows)), []
            for _ in range(TREES):
                answer = self._oracle.best(d)
                d = d * np.exp(-SHRINKAGE * np.sign(answer.edges[0]) * answer.columns[0])
                d /= d.sum()
                trees.append(answer.hypotheses[0])
            self._predictor = self._oracle.predictor(trees, np.full(TREES, 1.0 / TREES))
        return self._predictor


class DualboostTreeAlone(DualboostTrees):
    """One question to the learner: the tree and its column."""

    name = "dualboost, the tree alone"

    def rounds(self, n: int, clock: Clock = time.process_time) -> list[float]:
        weights = np.random.default_rng(0).dirichlet(np.ones(len(self._game.rows)))
        return time_each(lambda: self._oracle.best(weights), n, clock)


class LightGBMTrees(LightGBM):
    """Its trees of eight leaves, otherwise with its defaults."""

    limits = MappingProxyType({"num_leaves": 2**DEPTH})


RACERS: tuple[type[Contender], ...] = (DualboostTrees, DualboostTreeAlone, LightGBMTrees)
PREDICTORS: tuple[type[Contender], ...] = (DualboostTrees, LightGBMTrees)


def tree_rounds(data: Data, effort: Effort) -> Results:
    """CPU seconds per round."""
    results: Results = {}
    samplers: dict[str, Sampler] = {}
    for name, contender in prepare_all(RACERS, data, results).items():
        contender.rounds(2)
        samplers[name] = lambda contender=contender: contender.rounds(effort.rounds)
        results[name].mode = contender.mode
    progress("  rounds, in turns")
    for name, turns in interleave(samplers, effort.turns, effort.budget).items():
        results[name].turns += turns
    return results


def tree_prediction(data: Data, effort: Effort, training_rows: int = 20_000) -> Results:
    """CPU seconds to score all rows with 500 trees from raw values; the trees come from the first rows."""
    X, y = data
    results: Results = {}
    samplers: dict[str, Sampler] = {}
    for name, contender in prepare_all(PREDICTORS, (X[:training_rows], y[:training_rows]), results).items():
        progress(f"  {TREES} trees of {name}")
        try:
            with one_cell():
                if isinstance(contender, LightGBM):
                    contender.rounds(TREES)
                contender.predict(X[:1000])
        except Skip as skip:
            results[name].reason = str(skip)
            continue
        samplers[name] = lambda contender=contender: time_each(lambda: contender.predict(X), 1)
    progress("  prediction, in turns")
    for name, turns in interleave(samplers, effort.turns, effort.budget).items():
        results[name].turns += turns
    return results


def tree_table(title: str, results: Results, data: Data) -> str:
    columns = list(results)
    size = "{:,} × {:,}".format(*data[0].shape)
    row = report.results_row(f"higgs: {size}", results, columns)
    return f"## {title}\n\n" + report.table(["shape", *columns], [row])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trees", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, few turns")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample there too")
    options = parser.parse_args(arguments)
    data = SHAPES[0].make(options.quick)
    effort = Effort(3, 2, 5.0) if options.quick else Effort(5, 3, 30.0)
    with threadpool_limits(1):
        found = {"tree rounds": tree_rounds(data, effort), "tree prediction": tree_prediction(data, effort)}
    print(tree_table("CPU time per round of depth-3 trees, one thread", found["tree rounds"], data), end="\n\n")
    print(tree_table(f"CPU time of prediction, {TREES} depth-3 trees", found["tree prediction"], data))
    if options.json:
        samples = {part: {name: result.turns for name, result in results.items()} for part, results in found.items()}
        options.json.write_text(json.dumps(samples, indent=1))


if __name__ == "__main__":
    main()
