"""What the columns of a data file mean to a model: names, kinds, categories. Plain data, kept in the model file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dualboost.errors import BadInput

__all__ = ["KINDS", "Column", "Schema"]

KINDS = ("number", "truth", "date", "category")


@dataclass(frozen=True)
class Column:
    """One column of the file: its kind, and what encodes it."""

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    """Of a category: the values that are told apart, sorted."""
    words: tuple[str, ...] = ()
    """Of numbers: cells that were taken as missing. Of a category: rare values, which count as one, as do new ones."""


@dataclass(frozen=True)
class Schema:
    """How a file becomes X and y.

    Examples
    --------
    >>> from dualboost.readers import Column, Schema
    >>> schema = Schema("survived", columns=(Column("age", "number"), Column("sex", "category", ("female", "male"))))
    >>> schema.features
    ('age', 'sex')
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    target: str
    positive: str | None = None
    """The class against all others, where the target has more than two values."""
    columns: tuple[Column, ...] = ()
    sparse: int = 0
    """The number of features of an SVMlight file; 0 for a table."""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns of X."""
        if self.sparse:
            return tuple(f"feature {j}" for j in range(self.sparse))
        return tuple(column.name for column in self.columns)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, code: Any) -> Schema:
        """The schema again; one sentence where the code is none of ours."""
        try:
            columns = tuple(
                Column(str(c["name"]), str(c["kind"]), _texts(c["levels"]), _texts(c["words"])) for c in code["columns"]
            )
            positive = code["positive"]
            schema = cls(str(code["target"]), positive and str(positive), columns, int(code["sparse"]))
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput("The model file does not say how its data file was read: fit the model again.") from error
        if any(column.kind not in KINDS for column in columns) or schema.sparse < 0:
            raise BadInput("The model file was made by a newer dualboost: upgrade dualboost to use it.")
        return schema


def _texts(items: Any) -> tuple[str, ...]:
    return tuple(str(item) for item in items)
