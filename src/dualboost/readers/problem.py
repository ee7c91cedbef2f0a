"""A table as the numbers that a model takes, by a schema."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualboost.errors import BadInput
from dualboost.readers.cells import as_numbers, as_text, encode
from dualboost.readers.polars import require_polars
from dualboost.readers.schema import Schema
from dualboost.readers.table import FrameTable, SparseTable, Table

__all__ = ["NewValues", "Problem", "against_rest", "apply", "label_text", "typed_labels"]


@dataclass(frozen=True)
class NewValues:
    """Cells of a category that the model has not met. They are no error, but worth a word."""

    column: str
    count: int
    example: str
    rare: bool
    """Whether they count like the rare ones, not as missing."""

    def __str__(self) -> str:
        how = "like rare ones" if self.rare else "as missing"
        return f"Column {self.column!r}: {self.count} cells such as {self.example[:40]!r} are new and count {how}."


@dataclass(frozen=True, eq=False)
class Problem:
    """X, y, and everything one needs to speak about them."""

    X: Any
    """A data frame of floats and categories; CSR for an SVMlight file."""
    y: np.ndarray
    """Whole numbers or strings; empty where no labels were asked for."""
    schema: Schema
    table: Table
    rows: np.ndarray
    """The row of the file, from 0, of each row here."""
    notes: tuple[str, ...] = ()
    """What was guessed or left out, in words."""
    new: tuple[NewValues, ...] = ()
    """Categories that the model has not met; the notes speak of them too."""
    weights: np.ndarray | None = None
    """What each row counts, all positive; None for one each."""

    def cells(self, row: int) -> dict[str, str]:
        """What the file holds in a row of X, by column; nothing for an SVMlight file."""
        if not isinstance(self.table, FrameTable):
            return {}
        record = self.table.frame.row(int(self.rows[row]), named=True)
        return {name: "" if cell is None else str(cell) for name, cell in record.items()}


def apply(schema: Schema, table: Table, *, with_target: bool = False, weight: str | None = None) -> Problem:
    """The table as this schema reads it; BadInput where its columns differ.

    `with_target` wants labels too, and leaves out the rows that have none. `weight` names a column of row weights; rows
    of weight 0 are left out.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from dualboost.readers import Column, Schema, apply, read
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "data.csv"
    >>> _ = path.write_text("age,sex\\n3,male\\n40,female\\n")
    >>> apply(Schema("alive", columns=(Column("sex", "category", ("female", "male")),)), read(str(path))).X.rows()
    [('male',), ('female',)]
    """
    _check_form(schema, table)
    new: tuple[NewValues, ...] = ()
    if isinstance(table, SparseTable):
        X, notes = _known_features(schema, table)
    else:
        assert isinstance(table, FrameTable)
        _check_columns(schema, table, with_target)
        X = require_polars().DataFrame([encode(table.frame[column.name], column) for column in schema.columns])
        new = _new_values(schema, table)
        notes = tuple(map(str, new))
    every = Problem(X, np.empty(0), schema, table, np.arange(len(table)), notes, new)
    if weight is not None:
        every = _with_weights(every, weight)
    return _with_labels(every) if with_target else every


def _with_weights(problem: Problem, name: str) -> Problem:
    if not isinstance(problem.table, FrameTable):
        raise BadInput("An SVMlight file has no column of weights: leave --weight out.")
    if name not in problem.table.frame.columns:
        raise BadInput(f"{problem.table.source.name} has no column {name!r} to weigh the rows by.")
    weights = as_numbers(problem.table.frame[name]).to_numpy().astype(np.float64)
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        cell = problem.table.frame[name][int(wrong.argmax())]
        raise BadInput(
            f"Row {int(wrong.argmax()) + 1} holds {'nothing' if cell is None else repr(str(cell)[:40])} as its weight "
            f"in {name!r}: give every row a number of at least 0."
        )
    kept = np.flatnonzero(weights > 0)
    if not len(kept):
        raise BadInput(f"Every weight in {name!r} is 0: give at least one row of each class a positive weight.")
    notes = problem.notes + _left_out(len(weights) - len(kept), "of weight 0")
    return replace(problem, X=problem.X[kept], rows=kept, notes=notes, weights=weights[kept])


def _with_labels(problem: Problem) -> Problem:
    """y beside X; rows without a label are left out."""
    every = label_text(problem.table, problem.schema.target)
    text = [every[row] for row in problem.rows]
    kept = np.flatnonzero([cell is not None for cell in text])
    if not len(kept):
        raise BadInput(f"The target {problem.schema.target!r} is empty in every row.")
    notes = problem.notes + _left_out(len(text) - len(kept), "without a target")
    y = typed_labels([against_rest(text[i], problem.schema.positive) for i in kept])
    weights = None if problem.weights is None else problem.weights[kept]
    return replace(problem, X=problem.X[kept], y=y, rows=problem.rows[kept], notes=notes, weights=weights)


def _left_out(count: int, which: str) -> tuple[str, ...]:
    rows = "1 row {} was" if count == 1 else f"{count} rows {{}} were"
    return (f"{rows.format(which)} left out.",) if count else ()


def _check_form(schema: Schema, table: Table) -> None:
    if isinstance(table, SparseTable) != bool(schema.sparse):
        raise BadInput(
            f"The model was fitted to {'an SVMlight file' if schema.sparse else 'a table with named columns'}, "
            f"but {table.source.name} is {table.source.format}: give data of the same kind."
        )


def _check_columns(schema: Schema, table: FrameTable, with_target: bool) -> None:
    wanted = [column.name for column in schema.columns] + [schema.target] * with_target
    absent = [name for name in wanted if name not in table.frame.columns]
    if absent:
        names = ", ".join(repr(name) for name in absent[:5]) + (", ..." if len(absent) > 5 else "")
        raise BadInput(
            f"{table.source.name} has no column {names}, which the model needs: "
            "give a file with the columns that the model was fitted to."
        )


def _new_values(schema: Schema, table: FrameTable) -> tuple[NewValues, ...]:
    found = []
    for column in schema.columns:
        if column.kind == "category":
            seen = as_text(table.frame[column.name]).drop_nulls()
            new = seen.filter(~seen.is_in([*column.levels, *column.words]))
            found += [NewValues(column.name, len(new), new[0], bool(column.words))] if len(new) else []
    return tuple(found)


def _known_features(schema: Schema, table: SparseTable) -> tuple[sp.csr_matrix, tuple[str, ...]]:
    X = table.X
    if X.shape[1] < schema.sparse:
        X = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], schema.sparse))
    more = X.shape[1] > schema.sparse
    note = f"Features above {schema.sparse - 1} are not known to the model and were left out."
    return X[:, : schema.sparse], (note,) if more else ()


def label_text(table: Table, target: str) -> list[str | None]:
    """The labels as strings, numbers in one spelling, None where missing."""
    if isinstance(table, SparseTable):
        return [_one_spelling(str(label)) for label in table.labels]
    assert isinstance(table, FrameTable)
    return [None if cell is None else _one_spelling(cell) for cell in as_text(table.frame[target]).to_list()]


def _one_spelling(label: str) -> str:
    """1, +1 and 1.0 are one label."""
    try:
        number = float(label)
    except ValueError:
        return label
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else label


def against_rest(label: str | None, positive: str | None) -> str:
    assert label is not None
    return label if positive is None or label == positive else f"not {positive}"


def typed_labels(labels: list[str]) -> np.ndarray:
    """Whole numbers where all of them are, strings otherwise."""
    try:
        return np.array([int(label) for label in labels], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array(labels)
