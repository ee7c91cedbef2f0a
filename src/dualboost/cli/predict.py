"""`dualboost predict`: the labels that a model gives to the rows of a file."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Annotated

import typer

from dualboost.cli import options as use
from dualboost.cli.guard import bad_input
from dualboost.cli.loading import check_writable, load_fitted, write_text
from dualboost.cli.voice import Voice

if TYPE_CHECKING:
    import numpy as np

__all__ = ["harmless", "predict"]


def predict(
    model: Annotated[str, typer.Argument(help="A file that `dualboost fit` wrote.")],
    data: use.Data,
    out: Annotated[str, typer.Option("--out", "-o", help="CSV file to write; - for standard output.")] = "-",
    rows: use.Rows = None,
    encoding: use.Encoding = None,
    json: use.Json = False,
    quiet: use.Quiet = False,
) -> None:
    """Predict the rows of a file: a CSV of labels and probabilities, in the order of the rows."""
    from dualboost.readers import apply, read

    voice = Voice(json, quiet)
    check_writable(out)
    fitted, schema, _ = load_fitted(model)
    with bad_input():
        problem = apply(schema, read(data, rows=rows, encoding=encoding))
        labels, sure = fitted.predict(problem.X), _probabilities(fitted, problem.X)
    voice.note(*problem.table.notes, *problem.notes)
    if out != "-":
        write_text(out, _as_csv(schema.target, labels, sure))
        voice.result({"predictions": out, "rows": len(labels)}, [f"Predictions: {out}"])
    elif json:
        voice.result({"target": schema.target, "predictions": labels, **sure}, [])
    else:
        print(_as_csv(schema.target, labels, sure), end="")


def _probabilities(fitted, X) -> dict[str, np.ndarray]:
    """A column for each class; the votes where a model has no probabilities."""
    if hasattr(fitted, "predict_proba"):
        return {
            f"probability of {label}": p for label, p in zip(fitted.classes_, fitted.predict_proba(X).T, strict=True)
        }
    votes = fitted.decision_function(X)
    if votes.ndim == 1:
        return {"vote": votes}
    return {f"vote for {label}": vote for label, vote in zip(fitted.classes_, votes.T, strict=True)}


def _as_csv(target: str, labels, sure: dict[str, np.ndarray]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([harmless(target), *map(harmless, sure)])
    for label, *numbers in zip(labels, *sure.values(), strict=True):
        writer.writerow([harmless(str(label)), *(f"{number:.6g}" for number in numbers)])
    return text.getvalue()


def harmless(cell: str) -> str:
    """Text that a spreadsheet does not run: a formula gets a quote in front; numbers stay numbers."""
    if not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell
