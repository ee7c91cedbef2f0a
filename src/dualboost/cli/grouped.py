"""Commands that take records: the parser sees every field of a group as an option, the command gets the group."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, get_origin, get_type_hints

__all__ = ["grouped"]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the parameters of its groups in their place.

    Examples
    --------
    >>> import inspect
    >>> from dualboost.cli.grouped import grouped
    >>> from dualboost.cli.predict import predict
    >>> list(inspect.signature(predict).parameters), list(inspect.signature(grouped(predict)).parameters)
    (['model', 'file', 'out', 'voice'], ['model', 'path', 'rows', 'encoding', 'out', 'json', 'quiet'])
    """
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters
    flat = [option for name in own for option in _options(name, hints[name], own[name].default)]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        command(**{name: _filled(hints[name], given) if is_dataclass(hints[name]) else given[name] for name in own})

    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in flat}
    return run


def _options(name: str, hint: Any, default: Any) -> Iterator[inspect.Parameter]:
    """A group is all of its fields; what is not annotated for the parser is no option."""
    if is_dataclass(hint):
        inner = get_type_hints(hint, include_extras=True)
        for part in fields(hint):
            yield from _options(part.name, inner[part.name], part.default)
    elif get_origin(hint) is Annotated:
        empty = inspect.Parameter.empty
        default = empty if default is MISSING else default
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _filled(group: Any, given: dict[str, Any]) -> Any:
    inner = get_type_hints(group, include_extras=True)
    values = {part.name: given[part.name] for part in fields(group) if part.name in given}
    groups = {part.name: _filled(inner[part.name], given) for part in fields(group) if is_dataclass(inner[part.name])}
    return group(**values, **groups)
