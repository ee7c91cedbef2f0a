"""Classifiers by short names, and which one to take when the caller has no wish."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dualboost.cli.options import AUTO, RunOptions, Tuning
from dualboost.cli.voice import Voice
from dualboost.errors import BadInput

if TYPE_CHECKING:
    from dualboost.estimators.base import BoostedClassifier

__all__ = ["choose", "chosen", "known", "make"]

_WHY = (
    "its soft margin forgives rows that contradict the others, by a share nu, chosen on held-out rows unless given, "
    "and its certificate says how far from the best vote it can be"
)


def known() -> dict[str, type[BoostedClassifier]]:
    """Every classifier of the library under a short name."""
    import inspect

    from dualboost import estimators
    from dualboost.estimators.base import BoostedClassifier

    kinds = (getattr(estimators, name) for name in estimators.__all__)
    return {_short(k.__name__): k for k in kinds if inspect.isclass(k) and issubclass(k, BoostedClassifier)}


def _short(name: str) -> str:
    """MarginBoostClassifier -> margin, LogisticMixtureClassifier -> logistic-mixture."""
    words = name.removesuffix("Classifier").removesuffix("Boost")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", words).lower()


def choose(algorithm: str) -> tuple[type[BoostedClassifier], str]:
    """The class, and why in words (empty where the caller chose)."""
    names = known()
    if algorithm == AUTO:
        return names["margin"], _WHY
    wanted = algorithm.lower()
    for short, kind in names.items():
        if wanted in (short, kind.__name__.lower(), kind.__name__.lower().removesuffix("classifier")):
            return kind, ""
    raise BadInput(f"There is no algorithm {algorithm!r}; choose auto or one of {', '.join(names)}.")


def chosen(tuning: Tuning, voice: Voice) -> BoostedClassifier:
    """The classifier that the caller wants, or the usual one, and why; BadInput where it has no such parameter."""
    kind, why = choose(tuning.algorithm)
    model = make(kind, tuning.run, voice.progress)
    asked = {name: value for name, value in (("nu", tuning.nu), ("tol", tuning.tol)) if value is not None}
    for name in sorted(asked.keys() - model.get_params(deep=False).keys()):
        raise BadInput(f"{kind.__name__} has no {name}: leave --{name} out or choose another --algorithm.")
    voice.note(f"Algorithm: {kind.__name__}" + (f", because {why}." if why else "."))
    return model.set_params(**asked)


def make(kind: type[BoostedClassifier], run: RunOptions, verbose: int = 0) -> BoostedClassifier:
    """The classifier with those of these parameters that it has."""
    model = kind()
    own = model.get_params(deep=False)
    wanted = {**vars(run), "verbose": verbose}
    return model.set_params(**{name: value for name, value in wanted.items() if name in own and value is not None})
