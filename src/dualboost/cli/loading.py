"""From the options of a command to data, a classifier, and a place to write to."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterable
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dualboost.cli.guard import bad_input
from dualboost.cli.options import DataOptions
from dualboost.cli.voice import Voice
from dualboost.errors import BadInput

if TYPE_CHECKING:
    from dualboost.estimators.base import BoostedClassifier
    from dualboost.readers import Problem, Schema

__all__ = [
    "check_writable",
    "load_data",
    "load_fitted",
    "provenance",
    "stem_of",
    "write_pieces",
    "write_text",
]

SUFFIX = ".dualboost"
_PACKED = (".gz", ".bz2", ".xz", ".zst")
_SUFFIXES = (*_PACKED, ".csv", ".tsv", ".parquet", ".arrow", ".feather", ".svm", ".svmlight", ".txt")
typed: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())


def load_data(options: DataOptions, voice: Voice) -> Problem:
    """Read, judge, and say what was guessed."""
    from dualboost.readers import Wishes, learn, read

    with bad_input():
        table = read(options.file.path, rows=options.file.rows, encoding=options.file.encoding)
        source = table.source
        voice.note(f"{source.name}: {source.format}, {source.rows} rows.")
        problem = learn(table, Wishes(options.target, options.positive, tuple(options.drop or ()), options.weight))
    voice.note(*problem.notes)
    return problem


def load_fitted(path: str) -> tuple[BoostedClassifier, Schema, dict[str, Any]]:
    """A model file with how its data was read."""
    from dualboost.files import load_model, load_notes
    from dualboost.readers import Schema

    if not Path(path).is_file():
        raise BadInput(f"There is no model file {path}: make one with dualboost fit.")
    with bad_input():
        model, notes = load_model(path), load_notes(path)
    if "schema" not in notes:
        raise BadInput(f"{path} does not say how its columns were read: make it with dualboost fit.")
    schema = Schema.from_json(notes["schema"])
    if len(schema.features) != model.n_features_in_:
        raise BadInput(f"{path} was made by an older dualboost, which read categories otherwise: fit the model again.")
    return model, schema, notes


def provenance(problem: Problem) -> dict[str, Any]:
    """What is kept beside a model: how to read such data again, and where it came from."""
    source = problem.table.source
    origin = {"file": source.name, "format": source.format, "sha256": source.sha256, "rows": source.rows}
    return {"schema": problem.schema.to_json(), "origin": {**origin, "command": command_line()}}


def command_line() -> str:
    """What the user typed."""
    return shlex.join(["dualboost", *typed.get()])


def stem_of(path: str) -> str:
    """The name of the data without folder and suffixes, to name what is made of it."""
    name = Path(path).name
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name if name not in ("", "-") else "data"


def check_writable(*paths: str | None) -> None:
    """Refuse, before any work, what could not be written after it."""
    for path in paths:
        if path is None or path == "-":
            continue
        target = Path(path)
        if target.is_dir():
            raise BadInput(f"Cannot write to {path}: it is a folder; name a file in it.")
        try:
            with tempfile.TemporaryFile(dir=target.parent):
                pass
        except OSError as error:
            raise BadInput(f"Cannot write to {path}: {error.strerror or error}; choose another place.") from error


def write_text(path: str, text: str) -> None:
    """All of the file or nothing."""
    write_pieces(path, [text])


def write_pieces(path: str, pieces: Iterable[str]) -> None:
    """The same of a text that is made while it is written."""
    target = Path(path)
    handle, unfinished = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)
        os.chmod(unfinished, 0o644)
        os.replace(unfinished, target)
    except BadInput:  # of what was to be written
        Path(unfinished).unlink(missing_ok=True)
        raise
    except OSError as error:
        Path(unfinished).unlink(missing_ok=True)
        raise BadInput(f"Cannot write to {path}: {error.strerror or error}; choose another place.") from error
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
