"""dualboost: boosting that proves what it did.

>>> from dualboost import MarginBoostClassifier, solve
"""

# mypy: disable-error-code="no-redef"

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dualboost.diagnosis import Diagnosis, diagnose
    from dualboost.estimators import (
        AdaBoostClassifier,
        Audit,
        Comparison,
        ERLPBoostClassifier,
        FrankWolfeBoostClassifier,
        LogisticBoostClassifier,
        LogisticDifferenceClassifier,
        LogisticMixtureClassifier,
        LPBoostClassifier,
        MABoostClassifier,
        MadaBoostClassifier,
        MarginBoostClassifier,
        MLPBoostClassifier,
        SmoothBoostClassifier,
        SoftBoostClassifier,
        SparseBoostClassifier,
        TotalBoostClassifier,
        Training,
        audit,
        compare,
        reweight,
    )
    from dualboost.export import to_onnx
    from dualboost.files import load_model, load_notes, save_model
    from dualboost.inspection import Explanation, PairTable, Shape, explain, pairs, shapes
    from dualboost.solve import Solution, solve

__all__ = [
    "AdaBoostClassifier",
    "Audit",
    "Comparison",
    "Diagnosis",
    "ERLPBoostClassifier",
    "Explanation",
    "FrankWolfeBoostClassifier",
    "LPBoostClassifier",
    "LogisticBoostClassifier",
    "LogisticDifferenceClassifier",
    "LogisticMixtureClassifier",
    "MABoostClassifier",
    "MLPBoostClassifier",
    "MadaBoostClassifier",
    "MarginBoostClassifier",
    "PairTable",
    "Shape",
    "SmoothBoostClassifier",
    "SoftBoostClassifier",
    "Solution",
    "SparseBoostClassifier",
    "TotalBoostClassifier",
    "Training",
    "audit",
    "compare",
    "diagnose",
    "explain",
    "load_model",
    "load_notes",
    "pairs",
    "reweight",
    "save_model",
    "shapes",
    "solve",
    "to_onnx",
]
_HOMES = (
    "dualboost.solve",
    "dualboost.diagnosis",
    "dualboost.estimators",
    "dualboost.files",
    "dualboost.inspection",
    "dualboost.export",
)


def __getattr__(name: str):
    """Import what is asked for when it is asked for: scikit-learn takes seconds, `dualboost --help` should not."""
    if name == "__version__":
        from importlib.metadata import version

        return version("dualboost")
    if name in __all__:
        for home in _HOMES:
            module = import_module(home)
            if name in module.__all__:
                globals()[name] = getattr(module, name)
                return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, "__version__"])


class _Package(ModuleType):
    """A function with the name of its module stays the function when the module is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
