"""Classifiers by short names, and which one to take when the caller has no wish."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dualboost.errors import BadInput

if TYPE_CHECKING:
    from dualboost.estimators.base import BoostedClassifier

__all__ = ["Tuning", "choose", "known", "make"]

AUTO = "auto"
_WHY = (
    "its soft margin forgives rows that contradict the others, by a share nu, chosen on held-out rows unless given, "
    "and its certificate says how far from the best vote it can be"
)


@dataclass(frozen=True)
class Tuning:
    """Parameters that most classifiers have; None leaves the classifier's own."""

    nu: float | None = None
    tol: float | None = None
    max_iter: int | None = None
    random_state: int = 0
    n_jobs: int | None = None
    verbose: int = 0


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


def make(kind: type[BoostedClassifier], tuning: Tuning) -> BoostedClassifier:
    """The classifier with these parameters; BadInput where it has none of that name."""
    model = kind()
    own = model.get_params(deep=False)
    for name, value in vars(tuning).items():
        if name in own and value is not None:
            model.set_params(**{name: value})
        elif value is not None and name in ("nu", "tol"):
            raise BadInput(f"{kind.__name__} has no {name}: leave --{name} out or choose another --algorithm.")
    return model
