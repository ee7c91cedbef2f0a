"""CSV and TSV: separator, header and encoding are found out; every cell stays a string until its column is judged."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from dualboost.errors import BadInput
from dualboost.readers.content import Content
from dualboost.readers.polars import require_polars

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read_text"]

_NAMES = {",": "CSV", ";": "CSV with semicolons", "\t": "TSV", "|": "CSV with bars"}
_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$")
_NO_HEADER = "The first row holds only numbers: the file has no header, its columns are numbered."


def read_text(content: Content, rows: int | None, encoding: str | None) -> tuple[pl.DataFrame, str, tuple[str, ...]]:
    """A frame of strings, the format in words, what was noticed."""
    pl = require_polars()
    data = _as_utf8(content, encoding)
    start = data.lstrip(b"\r\n").split(b"\n", 1)[0].decode()
    separator = _separator(start, content.suffix)
    first = next(csv.reader([start], delimiter=separator))
    header = not all(_NUMBER.match(cell) or not cell.strip() for cell in first)
    frame = _parsed(content.name, data, {"separator": separator, "has_header": header, "n_rows": rows})
    frame.columns = _names(frame.columns, header)
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # empty lines
    if separator == ";":  # where numbers have a decimal comma
        frame = frame.with_columns(pl.all().str.replace(r"^(\s*[-+]?\d+),(\d+\s*)$", "${1}.${2}"))
    return frame, _NAMES[separator], () if header else (_NO_HEADER,)


def _names(given: list[str], header: bool) -> list[str]:
    """Without blanks around them, each a name of its own; numbers from 1 where there is no header."""
    bare = [name.strip() for name in given] if header else [f"column {k + 1}" for k in range(len(given))]
    return bare if len(set(bare)) == len(bare) else given


def _parsed(name: str, data: bytes, options: dict) -> pl.DataFrame:
    pl = require_polars()
    try:
        frame = pl.read_csv(io.BytesIO(data), infer_schema=False, **options)
    except pl.exceptions.NoDataError as error:
        raise BadInput(f"{name} is empty: give a file with a header and rows.") from error
    except pl.exceptions.PolarsError as error:
        _refuse_ragged(name, data, options["separator"])
        raise BadInput(f"{name} is no readable CSV: {str(error).strip().splitlines()[0].rstrip('.')}.") from error
    if frame.width > 1 and frame[:, -1].null_count():  # a row that is too short ends in a missing cell
        _refuse_ragged(name, data, options["separator"])
    return frame


def _as_utf8(content: Content, encoding: str | None) -> bytes:
    """The text in UTF-8, without a mark at its start."""
    try:
        if encoding is not None:
            return content.data.decode(encoding).lstrip("\ufeff").encode()
        content.data.decode("utf-8")
    except LookupError as error:
        raise BadInput(f"There is no encoding {encoding!r}; try --encoding latin-1 or utf-16.") from error
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{content.name} is not {encoding or 'UTF-8'} text (byte {error.start}): say how it is written, "
            f"for example --encoding {_likely(content.data)}."
        ) from error
    return content.data.removeprefix(b"\xef\xbb\xbf")


def _likely(data: bytes) -> str:
    return "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1"


def _separator(line: str, suffix: str) -> str:
    """The one that cuts the first line into most cells."""
    if suffix in (".tsv", ".tab"):
        return "\t"
    return max(_NAMES, key=lambda mark: len(next(csv.reader([line], delimiter=mark), [])))


def _refuse_ragged(name: str, data: bytes, separator: str) -> None:
    """Find the row whose length differs; without one, the missing cells are just missing."""
    csv.field_size_limit(1 << 30)  # texts may be long
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline=""), delimiter=separator)
    try:
        width = len(next(reader))
        for record in reader:
            if record and len(record) != width:
                raise BadInput(
                    f"{name} is ragged: line {reader.line_num} has {len(record)} cells, the first has {width}; "
                    "mend that line or quote its cells."
                )
    except csv.Error as error:
        raise BadInput(f"{name} is no readable CSV: line {reader.line_num}: {error}.") from error
