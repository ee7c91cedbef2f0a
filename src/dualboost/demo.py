"""`python -m dualboost.demo`: a certified model of real data in a few seconds, with pictures."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binomtest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from dualboost.estimators import MarginBoostClassifier

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console
    from rich.table import Table

__all__ = ["Experiment", "main", "run"]

_SEED = 0
_BAR = 24  # characters of the longest bar


@dataclass(frozen=True, eq=False)
class Experiment:
    """A model, the data it was fitted to and judged on, and how long the fit took."""

    model: MarginBoostClassifier
    X: np.ndarray
    y: np.ndarray
    names: np.ndarray
    train: np.ndarray
    """Row numbers in the data set."""
    test: np.ndarray
    seconds: float


def run(verbose: int = 0) -> Experiment:
    """Fit breast cancer: 70% of the rows, each class in proportion, always the same ones.

    Examples
    --------
    >>> from dualboost.demo import run
    >>> experiment = run()
    >>> experiment.model.score(experiment.X[experiment.test], experiment.y[experiment.test]) > 0.9
    True
    """
    data = load_breast_cancer()
    y = data.target_names[data.target]
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=_SEED)
    model = MarginBoostClassifier(random_state=_SEED, verbose=verbose)
    start = perf_counter()
    model.fit(data.data[train], y[train])
    return Experiment(model, data.data, y, data.feature_names, train, test, perf_counter() - start)


def print_results(console: Console, experiment: Experiment) -> None:
    """Everything that a reader should know, each part under its own headline."""
    for part in (_print_data, _print_certificate, _print_accuracy, _print_features, _print_hardest):
        part(console, experiment)
        console.print()


def _print_data(console: Console, experiment: Experiment) -> None:
    rows, features = experiment.X.shape
    classes = " or ".join(str(label) for label in experiment.model.classes_)
    console.print(
        f"Breast cancer: {rows} rows, {features} features, {classes}; "
        f"{len(experiment.train)} rows to train, {len(experiment.test)} to test."
    )


def _print_certificate(console: Console, experiment: Experiment) -> None:
    model, certificate = experiment.model, experiment.model.certificate_
    share = floor(1000 * certificate.objective / certificate.bound) / 10 if certificate.bound > 0 else 0.0
    _headline(console, "The certificate")
    console.print(
        f"The soft margin of this vote, the average of the lowest {model.nu_:.1%} of its margins, "
        f"is {certificate.objective:.5f}; no vote of any stumps on the same cuts has one above {certificate.bound:.5f}."
        + (f" That is at least {share:g}% of the best possible." if share > 0 else "")
    )
    table = _table("", ">")
    table.add_row("soft margin reached", f"{certificate.objective:.5f}")
    table.add_row("bound", f"{certificate.bound:.5f}")
    table.add_row("gap", f"{certificate.gap:.5f}")
    table.add_row("rounds", str(model.n_iter_))
    table.add_row("seconds", f"{experiment.seconds:.2f}")
    console.print(table)
    console.print(f"Why it stopped: {model.status_}.")


def _print_accuracy(console: Console, experiment: Experiment) -> None:
    model, truth = experiment.model, experiment.y[experiment.test]
    labels, counts = np.unique(experiment.y[experiment.train], return_counts=True)
    majority = labels[counts.argmax()]
    _headline(console, f"Accuracy on the {len(truth)} test rows")
    table = _table("", ">right", ">accuracy", ">95% interval (Wilson)")
    for name, guess in (("this model", model.predict(experiment.X[experiment.test])), (f"always {majority}", majority)):
        right = int(np.sum(guess == truth))
        interval = binomtest(right, len(truth)).proportion_ci(method="wilson")
        table.add_row(name, str(right), f"{right / len(truth):.1%}", f"{interval.low:.1%} to {interval.high:.1%}")
    console.print(table)


def _print_features(console: Console, experiment: Experiment) -> None:
    shares = experiment.model.feature_importances_
    top = np.argsort(-shares, kind="stable")[: min(10, np.count_nonzero(shares))]
    _headline(console, f"{np.count_nonzero(shares)} of {len(shares)} features have a vote; the first {len(top)}")
    block = "#" if console.options.ascii_only else "█"
    table = _table("", ">share", "")
    for feature in top:
        bar = block * max(1, round(_BAR * shares[feature] / shares[top[0]]))
        table.add_row(str(experiment.names[feature]), f"{shares[feature]:.1%}", bar)
    console.print(table)


def _print_hardest(console: Console, experiment: Experiment) -> None:
    model = experiment.model
    hardest = np.argsort(model.margins_, kind="stable")[:5]
    cap = min(1.0, 1 / (model.nu_ * len(experiment.train)))
    _headline(console, f"The {len(hardest)} hardest training rows (no row may weigh more than {cap:.2%})")
    table = _table(">row", "label", ">margin", ">weight")
    for i in hardest:
        row, weight = experiment.train[i], model.sample_distribution_[i]
        table.add_row(str(row), str(experiment.y[row]), f"{model.margins_[i]:+.4f}", f"{weight:.2%}")
    console.print(table)


def _headline(console: Console, text: str) -> None:
    console.print(text, style="bold", highlight=False)


def _table(*columns: str) -> Table:
    """A table without rules; a column whose name starts with > holds numbers."""
    from rich.table import Table

    table = Table(box=None, show_header=any(name.strip(">") for name in columns), pad_edge=False, padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name.lstrip(">"), justify="right" if name.startswith(">") else "left", no_wrap=True)
    return table


def write_pictures(experiment: Experiment, folder: Path) -> list[Path]:
    """Draw and write; the names of the files."""
    from dualboost.plots import shape_figure, summary_figure

    model = experiment.model
    figures = {
        "margins_and_gap.png": summary_figure(model, y=experiment.y[experiment.train]),
        "shape_curves.png": shape_figure(model, names=experiment.names),
    }
    for name, figure in figures.items():
        _write_whole(figure, folder / name)
    return [folder / name for name in figures]


def _write_whole(figure: Figure, path: Path) -> None:
    """All of the picture or nothing: a reader never meets half a file."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        figure.savefig(unfinished, format="png", dpi=150)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _make_writable(folder: Path) -> None:
    """Make the folder and try it; raises OSError when nothing can be written there."""
    folder.mkdir(parents=True, exist_ok=True)
    trial = folder / f".trial.{os.getpid()}"
    trial.touch()
    trial.unlink()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dualboost.demo", description="Train on real data, certify, draw.")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, default=Path("demo"), help="folder of the pictures (default: demo)"
    )
    parser.add_argument("--quiet", action="store_true", help="print only where the pictures are")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    from rich.console import Console

    from dualboost.plots import require_matplotlib

    options = _parser().parse_args(arguments)
    try:
        _make_writable(options.out)
        require_matplotlib()  # before training, not after
    except OSError as error:
        return _refuse(f"Cannot write to {options.out}: {error.strerror or error}; choose another folder with --out.")
    except ImportError as error:
        return _refuse(str(error))
    experiment = run(verbose=0 if options.quiet else 1)
    if not options.quiet:
        print_results(Console(), experiment)
    try:
        files = write_pictures(experiment, options.out)
    except OSError as error:
        return _refuse(f"Cannot write to {options.out}: {error.strerror or error}.")
    # Plain print: a path may be longer than the console is wide, or hold what rich takes for markup.
    print("Pictures: " + ", ".join(str(file) for file in files))
    return 0


def _refuse(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
