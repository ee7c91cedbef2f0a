"""CSV and TSV: separator, header and encoding are found out; every cell stays a string until its column is judged."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dualboost.errors import BadInput
from dualboost.readers.content import Content
from dualboost.readers.polars import require_polars

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Form", "as_utf8", "form_of", "parsed", "read_text"]

_NAMES = {",": "CSV", ";": "CSV with semicolons", "\t": "TSV", "|": "CSV with bars"}
_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$")
_START = 4096  # bytes that show how a text is written
_NO_HEADER = "The first row holds only numbers: the file has no header, its columns are numbered."


@dataclass(frozen=True)
class Form:
    """How the cells of a text are written."""

    separator: str
    header: bool

    @property
    def name(self) -> str:
        return _NAMES[self.separator]

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self.header else (_NO_HEADER,)


def read_text(content: Content, rows: int | None, encoding: str | None) -> tuple[pl.DataFrame, Form]:
    """A frame of strings, and how it was written."""
    data = as_utf8(content, encoding)
    form = form_of(data, content.suffix)
    return parsed(content.name, data, form, rows), form


def form_of(data: bytes, suffix: str) -> Form:
    """Found out from the first line of a text in UTF-8."""
    start = data.lstrip(b"\r\n").split(b"\n", 1)[0].decode()
    separator = _separator(start, suffix)
    first = next(csv.reader([start], delimiter=separator))
    return Form(separator, not all(_NUMBER.match(cell) or not cell.strip() for cell in first))


def parsed(name: str, data: bytes, form: Form, rows: int | None = None, skipped: int = 0) -> pl.DataFrame:
    """The cells of a text in UTF-8; `skipped` lines of the file came before these, less the header."""
    pl = require_polars()
    frame = _cells(Content(data, name), form, rows, skipped)
    frame.columns = _names(frame.columns, form.header)
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # empty lines
    if form.separator == ";":  # where numbers have a decimal comma
        frame = frame.with_columns(pl.all().str.replace(r"^(\s*[-+]?\d+),(\d+\s*)$", "${1}.${2}"))
    return frame


def _names(given: list[str], header: bool) -> list[str]:
    """Without blanks around them, each a name of its own; numbers from 1 where there is no header."""
    bare = [name.strip() for name in given] if header else [f"column {k + 1}" for k in range(len(given))]
    return bare if len(set(bare)) == len(bare) else given


def _cells(content: Content, form: Form, rows: int | None, skipped: int) -> pl.DataFrame:
    pl = require_polars()
    name, options = content.name, {"separator": form.separator, "has_header": form.header, "n_rows": rows}
    try:
        frame = pl.read_csv(io.BytesIO(content.data), infer_schema=False, **options)
    except pl.exceptions.NoDataError as error:
        raise BadInput(f"{name} is empty: give a file with a header and rows.") from error
    except pl.exceptions.PolarsError as error:
        _refuse_ragged(content, form.separator, skipped)
        raise BadInput(f"{name} is no readable CSV: {str(error).strip().splitlines()[0].rstrip('.')}.") from error
    if frame.width > 1 and frame[:, -1].null_count():  # a row that is too short ends in a missing cell
        _refuse_ragged(content, form.separator, skipped)
    return frame


def as_utf8(content: Content, encoding: str | None) -> bytes:
    """The text in UTF-8, without a mark at its start."""
    try:
        if encoding is not None:
            return content.data.decode(encoding).lstrip("\ufeff").encode()
        if b"\0" in content.data[:_START]:
            raise BadInput(_no_text(content))
        content.data.decode("utf-8")
    except LookupError as error:
        raise BadInput(f"There is no encoding {encoding!r}; try --encoding latin-1 or utf-16.") from error
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{content.name} is not {encoding or 'UTF-8'} text (byte {error.start}): say how it is written, "
            f"for example --encoding {_likely(content.data)}."
        ) from error
    return content.data.removeprefix(b"\xef\xbb\xbf")


def _no_text(content: Content) -> str:
    """What to do with zero bytes, which UTF-8 allows and no text has."""
    if _likely(content.data).startswith("utf-16"):
        return (
            f"{content.name} is not UTF-8 text: say how it is written, for example --encoding {_likely(content.data)}."
        )
    return f"{content.name} is no text file, nor Parquet or Arrow: save the data as CSV."


def _likely(data: bytes) -> str:
    """Of letters of two bytes one is mostly zero."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    first, second = (data[k:_START:2].count(0) / max(1, len(data[k:_START:2])) for k in (0, 1))
    return "utf-16-le" if second > 0.5 > first else "utf-16-be" if first > 0.5 > second else "latin-1"


def _separator(line: str, suffix: str) -> str:
    """The one that cuts the first line into most cells."""
    if suffix in (".tsv", ".tab"):
        return "\t"
    return max(_NAMES, key=lambda mark: len(next(csv.reader([line], delimiter=mark), [])))


def _refuse_ragged(content: Content, separator: str, skipped: int) -> None:
    """Find the row whose length differs; without one, the missing cells are just missing."""
    csv.field_size_limit(1 << 30)  # texts may be long
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(content.data), encoding="utf-8", newline=""), delimiter=separator)
    try:
        width = len(next(reader))
        for record in reader:
            if record and len(record) != width:
                raise BadInput(
                    f"{content.name} is ragged: line {skipped + reader.line_num} has {len(record)} cells, "
                    f"the first has {width}; mend that line or quote its cells."
                )
    except csv.Error as error:
        where = f"line {skipped + reader.line_num}"
        raise BadInput(f"{content.name} is no readable CSV: {where}: {error}.") from error
