"""`dualboost diagnose`: can votes of stumps fit these labels, and which rows make it impossible?"""

from __future__ import annotations

import csv
import io
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualboost.cli.guard import bad_input
from dualboost.cli.loading import check_writable, load_data, write_text
from dualboost.cli.options import DataOptions
from dualboost.cli.predict import harmless
from dualboost.cli.voice import Voice

if TYPE_CHECKING:
    import numpy as np

    from dualboost.diagnosis import Diagnosis
    from dualboost.readers import Problem

__all__ = ["diagnose", "diagnoses_of"]

_SECONDS = 60.0


def diagnose(
    data: DataOptions,
    *,
    out: Annotated[str | None, typer.Option("--out", "-o", help="CSV file: what each row is.")] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="Most time; what is proved until then is told.")] = _SECONDS,
    voice: Voice,
) -> None:
    """Say whether votes of stumps can fit the labels, and prove which rows cannot be separated."""
    check_writable(out)
    problem = load_data(data, voice)
    found = diagnoses_of(problem, seconds)
    if out is not None:
        write_text(out, _as_csv(found, problem))
    written = [f"Rows: {out}"] if out is not None else []
    lines = [line for subject, part in found.items() for line in (subject, *part.summary().splitlines()) if line]
    if len(found) == 1:
        record = _record(next(iter(found.values())), problem)
    else:
        record = {"classes": {subject: _record(part, problem) for subject, part in found.items()}}
    voice.result({**record, "rows_file": out}, [*lines, *written])


def diagnoses_of(problem: Problem, seconds: float = _SECONDS) -> dict[str, Diagnosis]:
    """What is proved when the time is over, by subject: of two classes one, without a name; else one for each class."""
    import numpy as np

    classes = sorted(set(problem.y.tolist()))
    if len(classes) == 2:
        return {"": _diagnosis_of(problem, problem.y, seconds)}
    share = seconds / len(classes)
    return {
        f"{label} against the rest": _diagnosis_of(problem, np.where(problem.y == label, "yes", "no"), share)
        for label in classes
    }


def _diagnosis_of(problem: Problem, y: np.ndarray, seconds: float) -> Diagnosis:
    from dualboost import diagnose as search
    from dualboost.estimators.coded import coded
    from dualboost.learners import Stumps

    end = monotonic() + seconds
    message = f"out of time: {seconds:g} seconds"
    with bad_input():
        table, categorical = coded(problem.X)
        learner = Stumps(categorical=categorical)
        return search(
            table,
            y,
            learner,
            sample_weight=problem.weights,
            watch=lambda _: message if monotonic() > end else None,
        )


def _record(found: Diagnosis, problem: Problem) -> dict[str, Any]:
    return {
        "regime": found.regime,
        "hard_core": (problem.rows[found.hard_core] + 1).tolist(),
        "undecided": (problem.rows[found.undecided] + 1).tolist(),
        "gamma": found.gamma,
        "gamma_bound": found.gamma_bound,
        "contradictions": [[(problem.rows[part] + 1).tolist() for part in pair] for pair in found.contradictions],
        "rounds": found.n_rounds,
        "status": found.status,
        "summary": found.summary(),
    }


def _as_csv(found: dict[str, Diagnosis], problem: Problem) -> str:
    """A line for each row; of several classes one for each row and class."""
    several = len(found) > 1
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "label", *(["question"] * several), "kind", "weight", "margin"])
    for subject, part in found.items():
        question = [harmless(subject)] * several
        for i, label in enumerate(problem.y):
            kind = "hard core" if part.hard_core[i] else "undecided" if part.undecided[i] else "separable"
            numbers = (f"{part.weighting[i]:.6g}", f"{part.margins[i]:.6g}")
            writer.writerow([int(problem.rows[i]) + 1, harmless(str(label)), *question, kind, *numbers])
    return text.getvalue()
