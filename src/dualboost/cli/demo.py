"""`dualboost demo`: the main job on real data whose wrong labels are known, because they were planted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualboost.cli.algorithms import chosen
from dualboost.cli.fit import certificate_lines, record_of
from dualboost.cli.guard import bad_input
from dualboost.cli.loading import check_writable, load_data, write_text
from dualboost.cli.options import DataOptions, FileOptions, Tuning
from dualboost.cli.report import Made, study_of, write_study
from dualboost.cli.voice import Voice
from dualboost.errors import BadInput

if TYPE_CHECKING:
    from dualboost.report import Study

__all__ = ["demo", "planted"]

_FLIPPED = 20
_SEED = 0


def demo(
    *,
    out: Annotated[str, typer.Option("--out", "-o", help="Folder for the data, the model and the report.")] = "demo",
    pictures: Annotated[bool, typer.Option("--pictures", help="Draw PNG files too; needs matplotlib.")] = False,
    voice: Voice,
) -> None:
    """Breast cancer with 20 labels turned round: a certified model, the planted errors found, a report."""
    folder = Path(out)
    _make(folder)
    made = Made(str(folder / "breast_cancer.html"), str(folder / "breast_cancer.dualboost"), 5)
    data = str(folder / "breast_cancer.csv")
    check_writable(data, made.page, made.model)
    text, turned = planted()
    write_text(data, text)
    problem = load_data(DataOptions(FileOptions(data)), voice)
    study = study_of(chosen(Tuning(), voice), problem, made, voice)
    write_study(study, problem, made)
    files = [*(_draw(study, folder) if pictures else []), data, made.model]
    found = _found(study, turned)
    record = {**record_of(study.model, problem), "held_out_accuracy": vars(study.held_out.accuracy), **found}
    lines = [
        *certificate_lines(record),
        *_sentences(study, found),
        f"Files: {', '.join(files)}",
        f"Report: {made.page}",
    ]
    voice.result({**record, "files": files, "report": made.page}, lines)


def planted() -> tuple[str, list[int]]:
    """scikit-learn's breast cancer data as CSV, and the rows (from 1) whose labels were turned round."""
    import csv
    import io

    import numpy as np
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    turned = np.sort(np.random.default_rng(_SEED).choice(len(data.target), _FLIPPED, replace=False))
    labels = data.target.copy()
    labels[turned] = 1 - labels[turned]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*data.feature_names, "diagnosis"])
    writer.writerows([*row, data.target_names[label]] for row, label in zip(data.data.tolist(), labels, strict=True))
    return text.getvalue(), [int(row) + 1 for row in turned]


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"Cannot write to {folder}: {error.strerror or error}; choose another folder.") from error


def _found(study: Study, turned: list[int]) -> dict[str, Any]:
    """How many planted errors the list of suspects names, and how many among as many rows as were planted."""
    rows = [suspect.row for suspect in study.suspects]
    first = [row for row in rows[: len(turned)] if row in turned]
    return {"planted": turned, "suspects": rows, "found": sum(row in rows for row in turned), "found_first": len(first)}


def _sentences(study: Study, found: dict[str, Any]) -> list[str]:
    from dualboost.report.page import verdict

    count = len(found["planted"])
    return [
        verdict(study),
        f"{count} labels were turned round before: {found['found']} of them are among the {len(found['suspects'])} "
        f"rows to check, {found['found_first']} among the first {count}.",
    ]


def _draw(study: Study, folder: Path) -> list[str]:
    """The pictures of the README."""
    with bad_input():
        try:
            from dualboost.plots import require_matplotlib, shape_figure, summary_figure

            require_matplotlib()
        except ImportError as error:
            raise BadInput(str(error)) from error
        figures = {
            "margins_and_gap.png": summary_figure(study.model, y=study.y),
            "shape_curves.png": shape_figure(study.model, names=study.features),
        }
        for name, figure in figures.items():
            figure.savefig(folder / name, dpi=150)
    return [str(folder / name) for name in figures]
