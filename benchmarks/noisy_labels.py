"""Noisy labels: the experiments of Krause & Singer, a study with flipped labels, a study of the audit.

python -m benchmarks.noisy_labels                              # everything: hours
python -m benchmarks.noisy_labels figure flips --quick         # some of it, small: minutes; not for claims
python -m benchmarks.noisy_labels flips --keep flips.jsonl     # goes on where it was interrupted
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.kept import Kept
from benchmarks.noisy_audit import film_reviews, flipped_rows, newsgroup_labels
from benchmarks.noisy_flips import flip_study, markdown
from benchmarks.real_data import folder
from dualboost.boosters import Leveraging
from dualboost.game import Game
from dualboost.learners import Matrix
from dualboost.losses import Logistic, LogisticDifference, LogisticMixture
from dualboost.rows import Rows
from dualboost.solve import play


def methods(rate: float, template: str) -> dict:
    """The four of the figure: (loss, booster)."""
    mu = float(np.log((1 - rate) / rate))
    return {
        "boosting": (Logistic(), Leveraging(template=template)),
        "LLM": (LogisticMixture(rate), Leveraging(template=template)),
        "LLD printed": (LogisticDifference(mu), Leveraging("difference", template, "printed")),
        "LLD spectral": (LogisticDifference(mu), Leveraging("difference", template)),
    }


def weights_of(X, signs, loss, booster, count: int) -> np.ndarray:
    rows = Rows.of(len(signs))
    game = Game(loss.bind(rows), Matrix().bind(X, signs, rows), rows, budget=np.inf, tol=1e-300)
    outcome = play(game, booster, count)
    return game.oracle.spread(outcome.hypotheses, outcome.weights)


def gaussian(repeat: int, p: float, groups: int):
    """The data of the figure: the surest `groups` quarters flipped with probability p."""
    rng = np.random.default_rng(1000 + repeat)
    X, direction = rng.normal(size=(1000, 40)), rng.normal(size=40)
    test, chance = rng.normal(size=(1000, 40)), rng.random(1000)
    score = X @ direction
    quarter = np.argsort(np.argsort(-np.abs(score), kind="stable")) // 250
    signs = np.where((quarter < groups) & (chance < p), -np.sign(score), np.sign(score))
    return X, signs, test, np.sign(test @ direction)


def figure(quick: bool) -> str:
    """Figure 4: mean test error, by the number of contaminated quarters."""
    lines = ["| rounds | p | method | 0 | 1 | 2 | 3 | 4 |", "|---|---|---|---|---|---|---|---|"]
    for count in (200,) if quick else (1000, 3000):
        for p in (0.2,) if quick else (0.1, 0.2, 0.3, 0.4):
            for name, parts in methods(p, "parallel").items():
                errors = [
                    np.mean([_error(gaussian(r, p, g), parts, count) for r in range(2 if quick else 10)])
                    for g in range(5)
                ]
                lines.append(f"| {count} | {p} | {name} | " + " | ".join(f"{100 * e:.2f}" for e in errors) + " |")
    return "\n".join(lines)


def _error(data, parts, count: int) -> float:
    X, signs, test, truth = data
    return float(np.mean(np.sign(test @ weights_of(X, signs, *parts, count)) != truth))


def digits(quick: bool) -> str:
    """USPS, one digit against the rest, one training label in ten flipped; sequential and parallel."""
    with np.load(folder() / "usps" / "usps.npz") as arrays:
        X, y, test, truth = (arrays[k] for k in ("X_train", "y_train", "X_test", "y_test"))
    X, test = 2.0 * X - 1, 2.0 * test - 1
    X, y = (X[:1500], y[:1500]) if quick else (X, y)
    return _one_against_rest(X, y, test, truth, range(2) if quick else range(10), 100 if quick else 1000)


def _one_against_rest(X, y, test, truth, classes, count: int) -> str:
    rng = np.random.default_rng(0)
    flips = np.where(rng.random(len(y)) < 0.1, -1.0, 1.0)
    lines = ["| template | method | mean test error % |", "|---|---|---|"]
    for template in ("sequential", "parallel"):
        for name, parts in methods(0.1, template).items():
            errors = [
                np.mean(
                    np.sign(test @ weights_of(X, flips * np.where(y == c, 1.0, -1.0), *parts, count))
                    != np.where(truth == c, 1, -1)
                )
                for c in classes
            ]
            lines.append(f"| {template} | {name} | {100 * np.mean(errors):.2f} |")
    return "\n".join(lines)


def newsgroups(quick: bool) -> str:
    """Pairs of newsgroups by their words (present or not), one training label in ten flipped."""
    place = folder() / "20newsgroups"
    X, test = (
        sp.csr_array(sp.load_npz(place / f"20news_counts_{part}.npz") > 0, dtype=float) for part in ("train", "test")
    )
    with np.load(place / "20news_labels.npz", allow_pickle=True) as arrays:
        y, truth, names = arrays["y_train"], arrays["y_test"], arrays["target_names"]
    pairs = [(0, 19), (3, 4), (9, 10), (16, 18), (12, 13)]
    rng = np.random.default_rng(0)
    lines = ["| pair | template | method | test error % |", "|---|---|---|---|"]
    for a, b in pairs[:1] if quick else pairs:
        rows, others = np.isin(y, (a, b)), np.isin(truth, (a, b))
        signs = np.where(y[rows] == a, 1.0, -1.0) * np.where(rng.random(rows.sum()) < 0.1, -1.0, 1.0)
        for template in ("sequential", "parallel"):
            for name, parts in methods(0.1, template).items():
                w = weights_of(X[rows], signs, *parts, 50 if quick else 500)
                error = np.mean(np.where(test[others] @ w > 0, 1, -1) != np.where(truth[others] == a, 1, -1))
                lines.append(f"| {names[a]} / {names[b]} | {template} | {name} | {100 * error:.2f} |")
    return "\n".join(lines)


STUDIES: dict[str, Callable[[bool, Kept], str]] = {
    "figure": lambda quick, kept: figure(quick),
    "digits": lambda quick, kept: digits(quick),
    "newsgroups": lambda quick, kept: newsgroups(quick),
    "flips": lambda quick, kept: markdown(flip_study(quick, kept)),
    "audit": flipped_rows,
    "reviews": lambda quick, kept: film_reviews(quick),
    "news-labels": lambda quick, kept: newsgroup_labels(quick),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", choices=[*STUDIES, []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="few rows, few repeats: to see that it runs")
    parser.add_argument("--keep", type=Path, help="a file for the results of flips and audit, to go on after a stop")
    parser.add_argument("--again", nargs="*", default=(), metavar="METHOD", help="methods to run anew")
    options = parser.parse_args()
    kept = Kept(options.keep, tuple(options.again))
    for name in options.studies or STUDIES:
        print(f"## {name}\n\n{STUDIES[name](options.quick, kept)}\n", flush=True)


if __name__ == "__main__":
    main()
