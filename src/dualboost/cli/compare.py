"""`dualboost compare`: every algorithm on the same rows: accuracy, margin, sparsity, seconds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualboost.cli.algorithms import choose, known, make
from dualboost.cli.guard import OutOfTime, at_most, bad_input
from dualboost.cli.loading import load_data
from dualboost.cli.options import DataOptions, Folds, RunOptions
from dualboost.cli.voice import Voice, aligned

if TYPE_CHECKING:
    from dualboost.readers import Problem

__all__ = ["compare"]


@dataclass(frozen=True)
class _Trial:
    """How an algorithm is tried."""

    folds: Folds = 3
    seconds: Annotated[float, typer.Option(min=0.1, help="Most time for one fit; the best until then is kept.")] = 20.0


def compare(
    data: DataOptions,
    *,
    algorithm: Annotated[
        list[str] | None, typer.Option("--algorithm", "-a", help="Only these; may be repeated.")
    ] = None,
    trial: _Trial,
    run: RunOptions,
    voice: Voice,
) -> None:
    """Run every algorithm on a data file: accuracy on held-out rows, margin, sparsity, seconds."""
    kinds = {name: choose(name)[0] for name in algorithm or known()}
    problem = load_data(data, voice)
    runs = []
    for name, kind in kinds.items():
        if voice.progress:
            voice.note(f"{name} ...")
        runs.append({"name": name, **_run(make(kind, run), problem, trial, run.random_state)})
    voice.result({"rows": len(problem.y), "folds": trial.folds, "runs": runs}, _lines(runs, trial.folds))


def _run(model, problem: Problem, trial: _Trial, seed: int) -> dict[str, Any]:
    """One algorithm: fitted once to everything for the certificate and the time, and to the folds for the accuracy."""
    name = type(model).__name__
    with bad_input(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = perf_counter()
        try:
            with at_most(trial.seconds):
                model.fit(problem.X, problem.y, sample_weight=problem.weights)
        except OutOfTime:
            return {
                "algorithm": name,
                "status": "out of time before the first round",
                "seconds": perf_counter() - start,
            }
        seconds = perf_counter() - start
        accuracy = _accuracy(model, problem, trial, seed)
    return {"algorithm": name, "seconds": seconds, "accuracy": accuracy, **_measures(model)}


def _accuracy(model, problem: Problem, trial: _Trial, seed: int) -> dict[str, float] | None:
    """On held-out rows; None where the time did not suffice for all folds."""
    from dualboost.estimators.held_out import held_out

    try:
        with at_most(trial.folds * trial.seconds):
            return vars(held_out(model, problem.X, problem.y, trial.folds, seed, None, problem.weights).accuracy)
    except OutOfTime:
        return None


def _measures(model) -> dict[str, Any]:
    import numpy as np

    runs = model.history_ if isinstance(model.history_, list) else [model.history_]
    return {
        "smallest_margin": float(np.nanmin(model.margins_)),
        "median_margin": float(np.nanmedian(model.margins_)),
        "objective": model.certificate_.objective,
        "gap": model.certificate_.gap,
        "hypotheses": int(sum(run["size"][-1] for run in runs)) if "size" in runs[0] else None,
        "features_used": int((model.feature_importances_ > 0).sum()),
        "rounds": model.n_iter_,
        "status": model.status_,
    }


_HEADER = ("", "accuracy", "95% interval", "median margin", "gap", "hypotheses", "rounds", "seconds")


def _lines(runs: list[dict[str, Any]], folds: int) -> list[str]:
    judged = [run for run in runs if run.get("accuracy")]
    lines = aligned([_HEADER, *(_cells(run) for run in runs)])
    if judged:
        best = max(judged, key=lambda run: run["accuracy"]["value"])
        lines.append(f"Accuracy from {folds} folds of held-out rows; the highest is that of {best['name']}.")
    return lines


def _cells(run: dict[str, Any]) -> tuple[str, ...]:
    seconds = f"{run['seconds']:.2f}"
    if "rounds" not in run:
        return run["name"], "out of time", *("" for _ in _HEADER[3:]), seconds
    accuracy = run["accuracy"]
    share = f"{accuracy['value']:.1%}" if accuracy else "out of time"
    interval = f"{accuracy['low']:.1%} to {accuracy['high']:.1%}" if accuracy else ""
    gap = f"{run['gap']:.2g}" if run["gap"] < float("inf") else "-"
    numbers = (f"{run['median_margin']:.4f}", gap, str(run["hypotheses"] or "-"), str(run["rounds"]))
    return run["name"], share, interval, *numbers, seconds
