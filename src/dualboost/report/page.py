"""The page itself: words around the numbers, all of them escaped, one script that only its own hash may run."""

from __future__ import annotations

import base64
import hashlib
import math
from importlib.resources import files
from typing import Any

import numpy as np

from dualboost.report import pictures
from dualboost.report.curves import curves
from dualboost.report.study import Study

__all__ = ["page", "require_jinja2", "verdict"]

_PARTS = 12  # classes with pictures of their own
_NAMED = 5  # classes in the first sentence
_LISTED = 200  # rows of a hard core
_CELLS = 6  # columns of the file beside each suspicious row


def require_jinja2() -> None:
    """Raise ImportError in one sentence where reports cannot be written."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise ImportError('The report needs jinja2: pip install "dualboost[cli]".') from error


def page(study: Study) -> str:
    """The whole report as HTML.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dualboost import MarginBoostClassifier
    >>> from dualboost.estimators.held_out import held_out
    >>> from dualboost.report import Study, page
    >>> data = load_breast_cancer()
    >>> model = MarginBoostClassifier(nu=0.2, max_iter=50).fit(data.data, data.target)
    >>> result = held_out(model, data.data, data.target, folds=2)
    >>> study = Study("Cancer", model, data.target, tuple(data.feature_names), result, (), np.nan, {})
    >>> page(study).startswith("<!doctype html>")
    True
    """
    require_jinja2()
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    script = _asset("table.js")
    loader = PackageLoader("dualboost.report", "assets")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    parts = study.parts()
    return environment.get_template("page.html").render(
        study=study,
        verdict=verdict(study),
        certificate=_certificate(study),
        measures=_measures(study),
        confusion=[[f"{count:.6g}" for count in row] for row in study.held_out.confusion.tolist()],
        columns=_columns(study),
        whole=None if parts else _shown(study, 12),
        parts=[_shown(part, 6) for part in parts[:_PARTS]],
        left_out=len(parts[_PARTS:]),
        diagnoses=[_diagnosis(study, *item) for item in study.diagnoses.items()],
        style=Markup(_asset("style.css")),
        script=Markup(script),
        hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _shown(study: Study, count: int) -> dict[str, Any]:
    """The pictures of a model of two classes, and its numbers."""
    from markupsafe import Markup

    return {
        "title": study.title,
        "classes": study.classes,
        "certificate": _certificate(study),
        "margins": Markup(pictures.margins(study)),
        "convergence": Markup(pictures.convergence(study)),
        "curves": [(curve, Markup(curve.picture)) for curve in curves(study, count)],
        "calibration": Markup(pictures.calibration(study)),
        "promises": pictures.promises(study),
    }


def _asset(name: str) -> str:
    return (files("dualboost.report") / "assets" / name).read_text(encoding="utf-8")


def verdict(study: Study) -> str:
    """The whole report in one sentence."""
    accuracy = study.held_out.accuracy
    sentence = (
        f"{_task(study.classes)} and is right about {accuracy.value:.1%} of held-out rows "
        f"(95% interval {accuracy.low:.1%} to {accuracy.high:.1%}; always saying the largest class: "
        f"{study.held_out.majority.value:.1%})"
    )
    share = share_of_best(study)
    if share is not None:
        whose = "its" if len(study.classes) == 2 else "the least of its"
        margin = "soft margin is" if len(study.classes) == 2 else "soft margins is"
        sentence += f"; {whose} {margin} proved to be at least {share:.1%} of the best that any such vote can have"
    count = len(study.suspects) + study.unlisted
    if count:
        sentence += f"; {count} {'row deserves' if count == 1 else 'rows deserve'} a second look"
    return sentence + "."


def _task(classes: tuple) -> str:
    if len(classes) == 2:
        return f"Tells {classes[1]} from {classes[0]}"
    if len(classes) > _NAMED:
        return f"Tells {len(classes)} classes apart"
    return f"Tells {', '.join(map(str, classes[:-1]))} and {classes[-1]} apart"


def share_of_best(study: Study) -> float | None:
    """Reached over bound, rounded down; None where there is no positive certificate."""
    certificate = study.model.certificate_
    if not (math.isfinite(certificate.bound) and certificate.objective > 0):
        return None
    return math.floor(1000 * min(certificate.objective / certificate.bound, 1.0)) / 1000


def _certificate(study: Study) -> list[tuple[str, str]]:
    model, certificate = study.model, study.model.certificate_
    soft = hasattr(model, "nu_")
    rows = [("Soft margin reached" if soft else "Objective reached", f"{certificate.objective:.5f}")]
    if math.isfinite(certificate.bound):
        rows += [("No vote exceeds", f"{certificate.bound:.5f}"), ("Gap", f"{certificate.gap:.5f}")]
    if soft:
        rows.append(("Share of rows that may fall inside the margin (nu)", f"{model.nu_:.3g}"))
    used = int(np.count_nonzero(model.feature_importances_))
    rows += [("Rounds", str(model.n_iter_)), ("Features with a vote", f"{used} of {len(study.features)}")]
    several = hasattr(model, "estimators_")
    return [*rows, ("Why it stopped", "each class by its own rule, see below" if several else model.status_)]


def _measures(study: Study) -> list[tuple[str, str, str]]:
    held = study.held_out
    named = {"Accuracy": held.accuracy}
    named |= {f"Recognised of {label}": part for label, part in zip(held.classes, held.recalls, strict=True)}
    named |= {"Area under the ROC curve": held.area} if held.area is not None else {}
    named["Always the largest class"] = held.majority
    return [(name, f"{i.value:.1%}", f"{i.low:.1%} to {i.high:.1%}") for name, i in named.items()]


def _columns(study: Study) -> list[str]:
    """Which cells of the suspicious rows are shown: those of the columns with the largest shares of the vote."""
    if not study.suspects:
        return []
    known = list(study.suspects[0].cells)
    shares = dict.fromkeys(known, 0.0)
    for feature, share in zip(study.features, study.model.feature_importances_, strict=True):
        if feature in shares:
            shares[feature] = float(share)
    return sorted((name for name in known if shares[name] > 0), key=lambda name: -shares[name])[:_CELLS]


def _diagnosis(study: Study, subject: str, found: Any) -> dict[str, Any]:
    core = np.flatnonzero(found.hard_core)
    core = core if study.rows is None else study.rows[core]
    rows = [int(row) + 1 for row in core[:_LISTED]]
    return {"subject": subject, "lines": found.summary().splitlines(), "rows": rows, "count": len(core)}
