"""`dualboost predict`: the labels that a model gives to the rows of a file."""

from __future__ import annotations

import csv
import io
from typing import Annotated

import typer

from dualboost.cli import options as use
from dualboost.cli.guard import bad_input
from dualboost.cli.loading import check_writable, load_fitted, write_text
from dualboost.cli.voice import Voice

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
    """Predict the rows of a file: a CSV of labels and votes, in the order of the rows."""
    from dualboost.readers import apply, read

    voice = Voice(json, quiet)
    check_writable(out)
    fitted, schema, _ = load_fitted(model)
    with bad_input():
        problem = apply(schema, read(data, rows=rows, encoding=encoding))
        votes = fitted.decision_function(problem.X)
    voice.note(*problem.table.notes, *problem.notes)
    labels = fitted.classes_[(votes > 0).astype(int)]
    if out != "-":
        write_text(out, _as_csv(schema.target, labels, votes))
        voice.result({"predictions": out, "rows": len(votes)}, [f"Predictions: {out}"])
    elif json:
        voice.result({"target": schema.target, "predictions": labels, "votes": votes}, [])
    else:
        print(_as_csv(schema.target, labels, votes), end="")


def _as_csv(target: str, labels, votes) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([harmless(target), "vote"])
    writer.writerows((harmless(str(label)), f"{vote:.6g}") for label, vote in zip(labels, votes, strict=True))
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
