"""What the columns of a new file are and which one is the target: guessed by fixed rules, and said in words."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dualboost.errors import BadInput
from dualboost.readers.cells import as_dates, as_numbers, as_text
from dualboost.readers.polars import require_polars
from dualboost.readers.problem import Problem, against_rest, apply, label_text
from dualboost.readers.schema import Column, Schema
from dualboost.readers.table import FrameTable, SparseTable, Table

__all__ = ["Wishes", "learn"]

_TARGETS = ("target", "label", "class", "y", "outcome", "response", "diagnosis", "survived")
_LEVELS = 250  # categories that are told apart
_OFTEN = 10  # rows that a category of its own has
_WORDS = 20  # different words in a column of numbers that may stand for "missing"
_MOSTLY = 0.9  # of the cells of such a column are numbers
_REPEATED = 0.5  # of the cells of a category repeat another one; below, it is a name or a text
_CLASSES = 50  # more look like a number to predict
_GUESSED = 20  # classes of a target that nobody named
_COUNTING = 20  # rows from which a column that counts them is no accident


@dataclass(frozen=True)
class Wishes:
    """What the caller decides: the target, its positive class, columns to leave out, the column of row weights."""

    target: str | None = None
    positive: str | None = None
    drop: tuple[str, ...] = ()
    weight: str | None = None


def learn(table: Table, wishes: Wishes | None = None) -> Problem:
    """Judge the columns, find the target, and read the table accordingly.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from dualboost.readers import learn, read
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "data.csv"
    >>> _ = path.write_text("age,sex,label\\n3,male,no\\n40,female,yes\\n5,male,no\\n")
    >>> problem = learn(read(str(path)))
    >>> problem.schema.target, problem.schema.features, problem.y.tolist()
    ('label', ('age', 'sex'), ['no', 'yes', 'no'])
    """
    wishes = wishes or Wishes()
    if isinstance(table, SparseTable):
        schema = Schema("label", wishes.positive, sparse=table.X.shape[1])
        notes: tuple[str, ...] = ()
    else:
        assert isinstance(table, FrameTable)
        schema, notes = _judged(table, wishes)
    labels = [label for label in label_text(table, schema.target) if label is not None]
    _check_classes(schema, labels)
    problem = apply(schema, table, with_target=True, weight=wishes.weight)
    counts = _counts([against_rest(label, schema.positive) for label in labels])
    said = f"Target {schema.target!r}: " + ", ".join(f"{label} {count}" for label, count in counts.items()) + "."
    return replace(problem, notes=(*table.notes, said, *notes, *problem.notes))


def _counts(labels: list[str]) -> dict[str, int]:
    values, counts = np.unique(np.array(labels), return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _judged(table: FrameTable, wishes: Wishes) -> tuple[Schema, tuple[str, ...]]:
    _check_names(table, wishes)
    target = _target(table, wishes)
    columns, notes = [], []
    for name in table.frame.columns:
        if name in (target, wishes.weight, *wishes.drop):
            continue
        column, note = _column(table, name)
        notes += [note] if note else []
        columns += [column] if column else []
    if not columns:
        raise BadInput(f"{table.source.name} has no column to learn from beside the target {target!r}.")
    return Schema(target, wishes.positive, tuple(columns)), (_kinds_in_words(columns), *notes)


def _kinds_in_words(columns: list[Column]) -> str:
    counts = _counts([column.kind for column in columns])
    words = {"number": "numbers", "truth": "true or false", "date": "dates", "category": "categories"}
    kinds = ", ".join(f"{counts[kind]} of {word}" for kind, word in words.items() if kind in counts)
    return f"{len(columns)} columns to learn from: {kinds}."


def _check_names(table: FrameTable, wishes: Wishes) -> None:
    for name in (*wishes.drop, *(name for name in (wishes.target, wishes.weight) if name is not None)):
        if name not in table.frame.columns:
            more = f" and {table.frame.width - 8} more" if table.frame.width > 8 else ""
            raise BadInput(
                f"{table.source.name} has no column {name!r}; it has {', '.join(table.frame.columns[:8])}{more}."
            )


def _target(table: FrameTable, wishes: Wishes) -> str:
    """The one asked for; else one with a usual name; else the last; always with few values if it is a guess."""
    if wishes.target is not None:
        return wishes.target
    names = [name for name in table.frame.columns if name not in (*wishes.drop, wishes.weight)]
    usual = sorted((name for name in names if name.lower() in _TARGETS), key=lambda name: _TARGETS.index(name.lower()))
    for name in (*usual, names[-1] if names else ""):
        if name and (wishes.positive is not None or _looks_like_classes(table, name)):
            return name
    if usual and _distinct(table, usual[0]) == 1:
        return usual[0]  # refused below, with a sentence of its own
    binary = [name for name in names if _distinct(table, name) == 2]
    if len(binary) == 1:
        return binary[0]
    choice = f"one of {', '.join(binary[:5])}" if binary else "a column; none has exactly two values"
    raise BadInput(f"Which column of {table.source.name} is the target? Name it with --target: {choice}.")


def _looks_like_classes(table: FrameTable, name: str) -> bool:
    """Two values, or a few with several rows each."""
    distinct = _distinct(table, name)
    return distinct == 2 or 2 < distinct <= min(_GUESSED, len(table) // 5)


def _distinct(table: FrameTable, name: str) -> int:
    return len({label for label in label_text(table, name) if label is not None})


def _check_classes(schema: Schema, labels: list[str]) -> None:
    counts = _counts(labels)
    if not counts:
        raise BadInput(f"The target {schema.target!r} is empty in every row.")
    some = ", ".join(list(counts)[:6]) + (", ..." if len(counts) > 6 else "")
    if len(counts) == 1:
        raise BadInput(f"The target {schema.target!r} has only one value, {some}: there is nothing to learn.")
    if schema.positive is not None and schema.positive not in counts:
        raise BadInput(f"The target {schema.target!r} never has the value {schema.positive!r}; it has {some}.")
    if schema.positive is None and len(counts) > _CLASSES:
        raise BadInput(
            f"The target {schema.target!r} has {len(counts)} values ({some}), too many for classes: choose one to tell "
            "from all others with --positive, or another target with --target."
        )


def _column(table: FrameTable, name: str) -> tuple[Column | None, str]:
    """What the column is, and what to say about it; None where it is left out."""
    pl = require_polars()
    cells = table.frame[name]
    kind = cells.dtype
    if kind == pl.Boolean:
        return Column(name, "truth"), ""
    if kind.is_temporal() and kind not in (pl.Time, pl.Duration):
        return Column(name, "date"), ""
    if kind.is_numeric():
        return _numbers(name, as_numbers(cells))
    if kind.is_nested() or kind == pl.Binary:
        return None, f"Column {name!r} holds {kind} and was left out."
    return _judged_text(name, cells)


def _judged_text(name: str, cells) -> tuple[Column | None, str]:
    text = as_text(cells)
    known = text.drop_nulls()
    if not len(known):
        return None, f"Column {name!r} is empty and was left out."
    numbers = as_numbers(cells)
    words = text.filter(numbers.is_null() & text.is_not_null()).unique().sort()
    if not len(words):
        return _numbers(name, numbers)
    if not as_dates(known).null_count():
        return Column(name, "date"), f"Column {name!r} holds dates: it counts as days."
    share = (len(numbers) - numbers.null_count()) / len(known)
    if share >= _MOSTLY and len(words) <= _WORDS and numbers.n_unique() > 2:
        note = f"Column {name!r} holds numbers, and words such as {words[0][:40]!r}, which count as missing."
        return Column(name, "number", words=tuple(words.to_list())), note
    return _category(name, known, missing=len(known) < len(text))


def _numbers(name: str, numbers) -> tuple[Column | None, str]:
    known = numbers.drop_nulls()
    if not len(known):
        return None, f"Column {name!r} is empty and was left out."
    counts_rows = len(known) == len(numbers) >= _COUNTING and known.n_unique() == len(known)
    if counts_rows and known.max() - known.min() == len(known) - 1:
        return None, f"Column {name!r} only counts the rows and was left out."
    return Column(name, "number"), ""


def _category(name: str, known, missing: bool) -> tuple[Column | None, str]:
    """Rare values count as one: a vote about each of them would only remember rows."""
    counts = dict(known.value_counts().iter_rows())
    repeated = sum(n for n in counts.values() if n > 1)
    if len(counts) > 2 and repeated < _REPEATED * len(known):
        return None, f"Column {name!r} holds names or texts ({len(counts)} different ones) and was left out."
    often = min(_OFTEN, len(known) // 20)
    frequent = sorted((value for value in counts if counts[value] >= often), key=lambda value: (-counts[value], value))
    levels = sorted(frequent[:_LEVELS])
    rare = tuple(sorted(set(counts) - set(levels)))
    if not levels and not missing:
        return None, f"Column {name!r} has {len(counts)} values, none of them in {often} rows, and was left out."
    note = f"Column {name!r} has {len(counts)} values: {len(levels)} are told apart, the rare others count as one."
    return Column(name, "category", tuple(levels), rare), note if rare else ""
