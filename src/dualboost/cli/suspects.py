"""Which rows to check: what `dualboost.audit` found, in the words of the file."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from dualboost.cli.guard import bad_input

if TYPE_CHECKING:
    import numpy as np

    from dualboost.diagnosis import Diagnosis
    from dualboost.estimators import Audit
    from dualboost.readers import Problem
    from dualboost.report import Suspect

__all__ = ["audited", "suspects_of", "with_core"]


def audited(problem: Problem, seed: int) -> Audit:
    """The audit of all rows."""
    from dualboost.estimators.audit import audit

    with bad_input(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = problem.schema.features
        return audit(problem.X, problem.y, sample_weight=problem.weights, feature_names=names, random_state=seed)


def with_core(found: Audit, diagnoses: dict[str, Diagnosis], problem: Problem) -> Audit:
    """With the rows that these diagnoses, one for each class or one for two, have proved to be in the hard core."""
    import numpy as np

    from dualboost.estimators.audit import own_core

    _, codes = np.unique(problem.y, return_inverse=True)
    return found.with_hard_core(own_core([part.hard_core for part in diagnoses.values()], codes))


def suspects_of(found: Audit, problem: Problem, chosen: np.ndarray) -> tuple[Suspect, ...]:
    """These rows, in their order, with the words and the cells of the file."""
    from dualboost.report import Suspect

    return tuple(
        Suspect(
            int(problem.rows[i]) + 1,
            str(found.given[i]),
            str(found.suggested[i]),
            float(found.probability[i]),
            float(found.margin[i]),
            found.why(int(i)),
            problem.cells(int(i)),
        )
        for i in chosen
    )
