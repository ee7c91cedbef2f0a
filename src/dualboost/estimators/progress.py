"""A progress bar for a run: rounds, the certified interval, time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from dualboost.diagnosis import Progress as SearchProgress
from dualboost.game import State

__all__ = ["progress", "search_progress"]

Watch = Callable[..., None]


@contextmanager
def progress(title: str, max_rounds: int, verbose: int) -> Iterator[Watch | None]:
    """A function of the state, and of further words, that draws; None when `verbose` is 0."""
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
        drawn, seen, last = 0.0, None, ""

        def watch(state: State, words: str = "") -> None:
            nonlocal drawn, seen, last
            seen, last = state, words
            if monotonic() - drawn >= 0.1:  # redrawing costs more than a round
                drawn = monotonic()
                bar.update(task, completed=state.t, interval=describe(state) + words)

        yield watch
        if seen is not None:
            bar.update(task, total=max(seen.t, 1), completed=max(seen.t, 1), interval=describe(seen) + last)


def describe(state: State) -> str:
    """The certified interval in a few words; without a budget there is only the loss."""
    if state.best.bound == float("inf"):
        return f"loss {-state.best.objective:.4g}"
    return f"margin {state.best.objective:.4f} .. {state.best.bound:.4f}"


@contextmanager
def search_progress(title: str = "hard core") -> Iterator[Callable[[SearchProgress], None]]:
    """A bar for the `watch` of `diagnose`: rounds, hypotheses collected, rows left, the largest edge left.

    Examples
    --------
    >>> import numpy as np
    >>> from dualboost import diagnose
    >>> from dualboost.estimators.progress import search_progress
    >>> with search_progress() as watch:
    ...     report = diagnose(np.arange(8.0)[:, None], [0, 0, 1, 1, 0, 0, 1, 1], watch=watch)
    >>> report.regime
    'weak learnable'
    """
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.fields[state]}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:  # how many rounds are left nobody knows
        task = bar.add_task(title, total=None, state="")
        yield lambda now: bar.update(task, state=describe_search(now))


def describe_search(now: SearchProgress) -> str:
    """Where a search for the hard core stands, in a few words."""
    left = f"round {now.n_rounds}, {now.n_hypotheses} hypotheses, {now.n_rows} rows not yet separated"
    return left + (f", largest edge {now.edge:.1e}" if now.edge < float("inf") else "")
