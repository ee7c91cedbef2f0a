"""`dualboost predict`: the labels that a model gives to the rows of a file."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from dualboost.cli.guard import bad_input
from dualboost.cli.loading import check_writable, load_fitted, write_pieces
from dualboost.cli.options import FileOptions, OutOption
from dualboost.cli.voice import Voice

if TYPE_CHECKING:
    import numpy as np

    from dualboost.readers import NewValues, Problem

__all__ = ["harmless", "predict"]


def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A file that `dualboost fit` wrote.")],
    file: FileOptions,
    *,
    out: OutOption = "-",
    voice: Voice,
) -> None:
    """Predict the rows of a file of any size: a CSV of labels and probabilities, in the order of the rows."""
    check_writable(out)
    parts = _Predictions(model, file)
    if out != "-":
        write_pieces(out, parts.as_csv())
        voice.note(*parts.notes())
        voice.result({"predictions": out, "rows": parts.count}, [f"Predictions: {out}"])
    elif voice.json:
        columns = [[label for part in column for label in part] for column in zip(*parts.columns(), strict=True)]
        voice.note(*parts.notes())
        sure = dict(zip(parts.names, columns[1:], strict=True))
        voice.result({"target": parts.target, "predictions": columns[0], **sure}, [])
    else:
        sys.stdout.writelines(parts.as_csv())
        voice.note(*parts.notes())


class _Predictions:
    """What the model says about a file of any size, part by part; what is to be told about it is known at the end."""

    def __init__(self, model: str, file: FileOptions):
        self._model, self._schema, _ = load_fitted(model)
        self._file = file
        self._said: dict[str, None] = {}
        self._new: dict[str, NewValues] = {}
        self.count = 0

    @property
    def target(self) -> str:
        return self._schema.target

    @property
    def names(self) -> list[str]:
        """Of the columns beside the labels."""
        classes = self._model.classes_
        if hasattr(self._model, "predict_proba"):
            return [f"probability of {label}" for label in classes]
        return ["vote"] if len(classes) == 2 else [f"vote for {label}" for label in classes]

    def columns(self) -> Iterator[list]:
        """The labels of each part, then its probabilities, or its votes where a model has none."""
        from dualboost.readers import apply, stream

        with bad_input():
            for table in stream(self._file.path, rows=self._file.rows, encoding=self._file.encoding):
                problem = apply(self._schema, table)
                self._remember(problem)
                yield [self._model.predict(problem.X), *self._sure(problem.X)]

    def _sure(self, X) -> Iterable[np.ndarray]:
        if hasattr(self._model, "predict_proba"):
            return self._model.predict_proba(X).T
        votes = self._model.decision_function(X)
        return [votes] if votes.ndim == 1 else votes.T

    def _remember(self, problem: Problem) -> None:
        self.count += len(problem.table)
        told = set(map(str, problem.new))
        self._said |= dict.fromkeys(note for note in (*problem.table.notes, *problem.notes) if note not in told)
        for value in problem.new:
            before = self._new.get(value.column)
            self._new[value.column] = value if before is None else replace(value, count=before.count + value.count)

    def notes(self) -> list[str]:
        return [*self._said, *map(str, self._new.values())]

    def as_csv(self) -> Iterator[str]:
        """Nothing before the first part is known to be fine."""
        header = _line([harmless(self.target), *map(harmless, self.names)])
        for labels, *numbers in self.columns():
            yield header + _rows(labels, numbers)
            header = ""


def _line(cells: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _rows(labels: np.ndarray, numbers: list[np.ndarray]) -> str:
    """Labels are few, so each is quoted once."""
    spelled = {label: _line([harmless(str(label))])[:-1] for label in set(labels.tolist())}
    written = zip(labels.tolist(), *(column.tolist() for column in numbers), strict=True)
    return "".join(f"{spelled[label]},{','.join(f'{number:.6g}' for number in others)}\n" for label, *others in written)


def harmless(cell: str) -> str:
    """Text that a spreadsheet does not run: a formula gets a quote in front; numbers stay numbers."""
    if not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell
