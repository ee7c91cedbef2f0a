"""Which rows to check: those whose labels held-out votes speak against."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dualboost.estimators.held_out import HeldOut
    from dualboost.readers import Problem
    from dualboost.report import Suspect

__all__ = ["suspects_of"]

_MOST = 200


def suspects_of(model, problem: Problem, judged: HeldOut) -> tuple[tuple[Suspect, ...], float]:
    """The most suspicious rows first, and the estimated share of wrong labels."""
    import numpy as np

    from dualboost.report import Suspect

    signs = np.where(judged.truth == 1, 1.0, -1.0)
    wrong = 1 - model.link_.of(signs * judged.votes) if hasattr(model, "link_") else np.full(len(signs), np.nan)
    order = np.argsort(signs * judged.votes, kind="stable")
    chosen = [int(i) for i in order[:_MOST] if signs[i] * judged.votes[i] < 0]
    return tuple(
        Suspect(
            int(problem.rows[i]) + 1,
            str(judged.classes[judged.truth[i]]),
            str(judged.classes[1 - judged.truth[i]]),
            float(wrong[i]),
            float(signs[i] * judged.votes[i]),
            "",
            problem.cells(i),
        )
        for i in chosen
    ), float("nan")
