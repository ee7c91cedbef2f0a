"""A progress bar for a run: rounds, the certified interval, time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from dualboost.game import State

__all__ = ["progress"]

Watch = Callable[[State], None]


@contextmanager
def progress(title: str, max_rounds: int, verbose: int) -> Iterator[Watch | None]:
    """A callback for `play` that draws, or None when `verbose` is 0."""
    if not verbose:
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[interval]}"),
    )
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=max_rounds, interval="")
        drawn, seen = 0.0, None

        def watch(state: State) -> None:
            nonlocal drawn, seen
            seen = state
            if monotonic() - drawn >= 0.1:  # redrawing costs more than a round
                drawn = monotonic()
                bar.update(task, completed=state.t, interval=describe(state))

        yield watch
        if seen is not None:
            bar.update(task, total=max(seen.t, 1), completed=max(seen.t, 1), interval=describe(seen))


def describe(state: State) -> str:
    """The certified interval in a few words; without a budget there is only the loss."""
    if state.best.bound == float("inf"):
        return f"loss {-state.best.objective:.4g}"
    return f"margin {state.best.objective:.4f} .. {state.best.bound:.4f}"
