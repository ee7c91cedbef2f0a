"""`dualboost compare`: every algorithm on the same rows: accuracy, margin, sparsity, seconds."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualboost.cli import options as use
from dualboost.cli.algorithms import Tuning, choose, known, make
from dualboost.cli.guard import OutOfTime, at_most, bad_input
from dualboost.cli.loading import DataOptions, load_data
from dualboost.cli.voice import Voice, aligned

if TYPE_CHECKING:
    from dualboost.readers import Problem

__all__ = ["compare"]


def compare(
    data: use.Data,
    algorithm: Annotated[
        list[str] | None, typer.Option("--algorithm", "-a", help="Only these; may be repeated.")
    ] = None,
    target: use.Target = None,
    positive: use.Positive = None,
    drop: use.Drop = None,
    weight: use.Weight = None,
    max_rounds: use.Rounds = None,
    folds: use.Folds = 3,
    seed: use.Seed = 0,
    jobs: use.Jobs = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="Most time for one fit; the best until then is kept.")] = 20.0,
    rows: use.Rows = None,
    encoding: use.Encoding = None,
    json: use.Json = False,
    quiet: use.Quiet = False,
) -> None:
    """Run every algorithm on a data file: accuracy on held-out rows, margin, sparsity, seconds."""
    voice = Voice(json, quiet)
    kinds = {name: choose(name)[0] for name in algorithm or known()}
    problem = load_data(DataOptions(data, target, positive, tuple(drop or ()), rows, encoding, weight), voice)
    runs = []
    for name, kind in kinds.items():
        if voice.progress:
            voice.note(f"{name} ...")
        model = make(kind, Tuning(max_iter=max_rounds, random_state=seed, n_jobs=jobs))
        runs.append({"name": name, **_run(model, problem, (folds, seed), seconds)})
    voice.result({"rows": len(problem.y), "folds": folds, "runs": runs}, _lines(runs, folds))


def _run(model, problem: Problem, dealing: tuple[int, int], limit: float) -> dict[str, Any]:
    """One algorithm: fitted once to everything for the certificate and the time, and to the folds for the accuracy."""
    name = type(model).__name__
    with bad_input(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = perf_counter()
        try:
            with at_most(limit):
                model.fit(problem.X, problem.y, sample_weight=problem.weights)
        except OutOfTime:
            return {
                "algorithm": name,
                "status": "out of time before the first round",
                "seconds": perf_counter() - start,
            }
        seconds = perf_counter() - start
        accuracy = _accuracy(model, problem, dealing, limit)
    return {"algorithm": name, "seconds": seconds, "accuracy": accuracy, **_measures(model)}


def _accuracy(model, problem: Problem, dealing: tuple[int, int], limit: float) -> dict[str, float] | None:
    """On held-out rows; None where the time did not suffice for all folds."""
    from dualboost.estimators.held_out import held_out

    folds, seed = dealing
    try:
        with at_most(folds * limit):
            return vars(held_out(model, problem.X, problem.y, folds, seed, None, problem.weights).accuracy)
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
