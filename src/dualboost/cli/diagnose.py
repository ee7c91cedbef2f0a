"""`dualboost diagnose`: can votes of stumps fit these labels, and which rows make it impossible?"""

from __future__ import annotations

import csv
import io
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualboost.cli import options as use
from dualboost.cli.guard import bad_input
from dualboost.cli.loading import DataOptions, check_two, check_writable, load_data, write_text
from dualboost.cli.predict import harmless
from dualboost.cli.voice import Voice

if TYPE_CHECKING:
    from dualboost.diagnosis import Diagnosis
    from dualboost.readers import Problem

__all__ = ["diagnose", "diagnosis_of"]

_SECONDS = 60.0


def diagnose(
    data: use.Data,
    out: Annotated[str | None, typer.Option("--out", "-o", help="CSV file: what each row is.")] = None,
    target: use.Target = None,
    positive: use.Positive = None,
    drop: use.Drop = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="Most time; what is proved until then is told.")] = _SECONDS,
    rows: use.Rows = None,
    encoding: use.Encoding = None,
    json: use.Json = False,
    quiet: use.Quiet = False,
) -> None:
    """Say whether votes of stumps can fit the labels, and prove which rows cannot be separated."""
    voice = Voice(json, quiet)
    check_writable(out)
    problem = load_data(DataOptions(data, target, positive, tuple(drop or ()), rows, encoding), voice)
    check_two(problem, "A diagnosis")
    found = diagnosis_of(problem, seconds)
    if out is not None:
        write_text(out, _as_csv(found, problem))
    written = [f"Rows: {out}"] if out is not None else []
    voice.result({**_record(found, problem), "rows_file": out}, [*found.summary().splitlines(), *written])


def diagnosis_of(problem: Problem, seconds: float = _SECONDS) -> Diagnosis:
    """The diagnosis, or what is proved when the time is over."""
    from dualboost import diagnose as search
    from dualboost.estimators.coded import coded
    from dualboost.learners import Stumps

    end = monotonic() + seconds
    message = f"out of time: {seconds:g} seconds"
    with bad_input():
        table, categorical = coded(problem.X)
        learner = Stumps(categorical=categorical)
        return search(table, problem.y, learner, watch=lambda _: message if monotonic() > end else None)


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


def _as_csv(found: Diagnosis, problem: Problem) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "label", "kind", "weight", "margin"])
    for i, label in enumerate(problem.y):
        kind = "hard core" if found.hard_core[i] else "undecided" if found.undecided[i] else "separable"
        numbers = (f"{found.weighting[i]:.6g}", f"{found.margins[i]:.6g}")
        writer.writerow([int(problem.rows[i]) + 1, harmless(str(label)), kind, *numbers])
    return text.getvalue()
