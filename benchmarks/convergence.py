"""`python -m benchmarks.convergence`: how the loss falls, by loss and line search; Markdown on stdout.

The loss is given as a share of its start after so many rounds, on breast cancer (which stumps fit exactly) and on noisy
rows (which they cannot fit), with the CPU time of a round.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.report import duration, table
from benchmarks.shapes import Data, breast_cancer, higgs_like

AFTER = (1, 3, 10, 30, 100, 300)
SEARCHES = {"exponential": ("adaboost", "closed", "wolfe"), "logistic": ("closed", "wolfe", "exact")}
DATA = {"breast cancer, 569 × 30": (breast_cancer, 569), "noisy, 2,000 × 28": (higgs_like, 2_000)}


def losses_of(data: Data, loss_name: str, line_search: str) -> tuple[np.ndarray, float]:
    """The loss before each round as a share of the first, and CPU seconds a round."""
    from dualboost.boosters import CoordinateDescent
    from dualboost.game import Game
    from dualboost.learners import Stumps
    from dualboost.losses import Exponential, Logistic
    from dualboost.rows import Rows
    from dualboost.solve import play

    X, y = data
    rows = Rows.of(len(y))
    loss = {"exponential": Exponential, "logistic": Logistic}[loss_name]().bind(rows)
    game = Game(loss, Stumps().bind(X, y, rows), rows, budget=np.inf, tol=1e-12)
    began = time.process_time()
    outcome = play(game, CoordinateDescent(line_search), max(AFTER))
    taken = time.process_time() - began
    values = -outcome.history["objective"]
    return values / values[0], taken / max(outcome.n_rounds, 1)


def rows_of(data: Data) -> Iterator[list[str]]:
    for loss, searches in SEARCHES.items():
        for search in searches:
            shares, seconds = losses_of(data, loss, search)
            cells = [f"{shares[t]:.3g}" if t < len(shares) else "ended" for t in AFTER]
            yield [loss, search, *cells, duration(seconds)]


def main() -> None:
    print("# Loss as a share of its start, after this many rounds\n")
    for name, (build, rows) in DATA.items():
        data = build(np.random.default_rng(20), rows)
        header = ["loss", "line search", *(str(t) for t in AFTER), "a round"]
        print(f"## {name}\n\n{table(header, list(rows_of(data)))}\n")


if __name__ == "__main__":
    main()
