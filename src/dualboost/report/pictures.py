"""The pictures of a report: margins by class, certificate by round, what a vote was worth."""

from __future__ import annotations

import numpy as np

from dualboost.estimators.intervals import wilson
from dualboost.report.study import Study
from dualboost.report.svg import Frame, svg

__all__ = ["calibration", "convergence", "margins", "promises"]

_BINS = 40
_POINTS = 160
_GROUPS = 10


def margins(study: Study) -> str:
    """How many rows of each class have which margin: one class upwards, the other downwards."""
    model = study.model
    present = ~np.isnan(model.margins_)
    z, labels = model.margins_[present], study.y[present]
    spread = 0.0 if np.ptp(z) > 1e-6 else 0.01  # all the same: a bar of some width
    edges = np.linspace(z.min() - spread, z.max() + spread, _BINS + 1)
    up, down = (np.histogram(z[labels == label], edges)[0] for label in study.classes)
    low, high = _with_room(edges[0], edges[-1], study)
    frame = Frame((low, high), (-1.12 * max(down.max(), 1), 1.3 * max(up.max(), 1)))
    parts = [frame.axes("margin of a training row", "rows", y_absolute=True)]
    for k in range(_BINS):
        part = (float(edges[k]), float(edges[k + 1]))
        for counts, sign, kind, label in ((up, 1, "first", study.classes[0]), (down, -1, "second", study.classes[1])):
            if counts[k]:
                words = f"margin {part[0]:.3f} to {part[1]:.3f}: {counts[k]} rows of {label}"
                parts.append(frame.box(part, (0, sign * int(counts[k])), kind, words))
    if low < 0 < high:
        parts.append(frame.vertical(0.0, "zero"))
    parts += _interval(study, frame)
    first, second = study.classes
    return svg(frame, f"Margins of the training rows: {first} upwards, {second} downwards.", parts)


def _with_room(low: float, high: float, study: Study) -> tuple[float, float]:
    certificate = study.model.certificate_
    if _certified(study):
        low, high = min(low, certificate.objective), max(high, certificate.bound)
    room = 0.03 * (high - low) or 0.1
    return low - room, high + room


def _certified(study: Study) -> bool:
    """Whether the certificate is an interval of margins that can be drawn."""
    return hasattr(study.model, "nu_") and np.isfinite(study.model.certificate_.gap)


def _interval(study: Study, frame: Frame) -> list[str]:
    if not _certified(study):
        return []
    certificate = study.model.certificate_
    left, right = frame.share(certificate.objective) < 0.45, frame.share(certificate.bound) > 0.55
    words = f"soft margin {certificate.objective:.4f}", f"no vote exceeds {certificate.bound:.4f}"
    reached = frame.vertical(certificate.objective, "reached", words[0], 0, "start" if left else "end")
    bound = frame.vertical(certificate.bound, "bound", words[1], int(left or right), "end" if right else "start")
    return [reached, bound]


def convergence(study: Study) -> str:
    """The value reached and its bound after each round."""
    every, bounds = _course(study.model.history_)
    last = len(every) - 1
    rounds = np.unique(np.geomspace(1, max(last, 1), _POINTS).round().astype(int))
    entries = np.minimum(rounds, last)
    reached, bound = every[entries], bounds[entries]
    bounded = bool(np.isfinite(bound).all())
    top = float(bound.max()) if bounded else float(reached.max())
    room = max(0.06 * (top - float(reached.min())), 0.01 * abs(top), 1e-9)
    frame = Frame((1, max(last, 2)), (float(reached.min()) - room, top + room), log_x=True)
    parts = [frame.axes("rounds", "soft margin" if hasattr(study.model, "nu_") else "objective")]
    if bounded:
        parts += [frame.area(rounds, reached, bound, "between"), frame.line(rounds, bound, "bound")]
    parts.append(frame.line(rounds, reached, "reached"))
    for k, t in enumerate(rounds):
        words = f"round {t}: reached {reached[k]:.5f}" + (
            f", no vote exceeds {bound[k]:.5f}, gap {bound[k] - reached[k]:.2g}" if bounded else ""
        )
        if len(rounds) == 1:  # no line to point at
            parts.append(frame.dot(1.0, float(reached[0]), "point", words))
        parts.append(frame.strip((_between(rounds, k - 1), _between(rounds, k)), words))
    return svg(frame, "The value reached and its bound, round by round; the interval between them closes.", parts)


def _course(history) -> tuple[np.ndarray, np.ndarray]:
    """Values and bounds by round; a model without a certificate has only its loss, turned round."""
    if "objective" in history:
        return history["objective"], history["bound"]
    return -np.asarray(history["loss"]), np.full(len(history["loss"]), np.inf)


def _between(rounds: np.ndarray, k: int) -> float:
    """The border, on a logarithmic scale, between round k and the next; the first and the last have one border each."""
    k, after = (min(max(place, 0), len(rounds) - 1) for place in (k, k + 1))
    return float(np.sqrt(rounds[k] * rounds[after]))


def calibration(study: Study) -> str:
    """Held-out rows in groups of equal size by their vote: how many of each were of the second class."""
    held, second = study.held_out, study.held_out.classes[1]
    groups = [part for part in np.array_split(np.argsort(held.votes, kind="stable"), _GROUPS) if len(part)]
    votes = [float(held.votes[part].mean()) for part in groups]
    shares = [wilson(int(held.truth[part].sum()), len(part)) for part in groups]
    room = 0.05 * (max(votes) - min(votes)) or 0.1
    frame = Frame((min(votes) - room, max(votes) + room), (-0.02, 1.02))
    parts = [frame.axes(f"vote for {second} of models that have not seen the row", f"were {second}", y_percent=True)]
    parts += [frame.vertical(0.0, "zero")] if frame.x[0] < 0 < frame.x[1] else []
    parts += [frame.line(*_promised(study, frame), "bound")] if promises(study) else []
    for part, vote, share in zip(groups, votes, shares, strict=True):
        words = f"{len(part)} rows with a mean vote of {vote:+.3f}: {share.value:.0%} were {second} "
        words += f"(95% interval {share.low:.0%} to {share.high:.0%})"
        parts += [frame.bar(vote, (share.low, share.high), "error"), frame.dot(vote, share.value, "point", words)]
    return svg(frame, f"Share of {second} among held-out rows, by the strength of the vote.", parts)


def promises(study: Study) -> bool:
    """Whether the votes of held-out rows are on the scale of the model's probabilities; those of several are not."""
    return hasattr(study.model, "link_") and study.names is None


def _promised(study: Study, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """The probability that the model gives to each vote."""
    votes = np.linspace(*frame.x, 121)
    return votes, study.model.link_.of(votes)
