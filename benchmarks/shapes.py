"""The five data shapes: where stump learners spend their time differently.

All data are float64 (CSR for text) and come from a seeded generator, so two runs see the same bits.
Labels are -1 and +1, made from a few columns plus noise: without noise, peers would stop early.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

Data = tuple[Any, np.ndarray]
NOISE = 1.0  # standard deviation of the label noise, beside a score of unit variance


@dataclass(frozen=True)
class Shape:
    """One data set; `goal` is how many times faster than LightGBM a round of ours should be."""

    name: str
    kind: str
    goal: float
    build: Callable[[np.random.Generator, int], Data]
    rows: int
    quick_rows: int

    def make(self, quick: bool = False) -> Data:
        return self.build(np.random.default_rng(20), self.quick_rows if quick else self.rows)


def noisy_sign(score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Balanced +-1 labels that follow `score` but not always."""
    standard = (score - score.mean()) / score.std()
    return np.where(standard + NOISE * rng.standard_normal(len(score)) > 0, 1.0, -1.0)


def higgs_like(rng: np.random.Generator, rows: int) -> Data:
    """28 real columns, a third of them skewed like momenta."""
    X = rng.standard_normal((rows, 28))
    X[:, ::3] = np.exp(X[:, ::3])
    return X, noisy_sign(X[:, 1] + np.abs(X[:, 2]) - np.log(X[:, 3]) + X[:, 4] * X[:, 5], rng)


def one_hot(rng: np.random.Generator, rows: int, width: int) -> np.ndarray:
    """A block of 0/1 columns with one 1 a row; a few categories hold most rows, as soil types do."""
    shares = 1.0 / np.arange(1, width + 1)
    chosen = rng.choice(width, size=rows, p=shares / shares.sum())
    block = np.zeros((rows, width))
    block[np.arange(rows), chosen] = 1.0
    return block


def covtype_like(rng: np.random.Generator, rows: int) -> Data:
    """10 columns of whole numbers with many values (metres, degrees), then one-hot blocks of 4 and 40."""
    real = np.rint(rng.gamma(4.0, 200.0, size=(rows, 10)))
    X = np.hstack([real, one_hot(rng, rows, 4), one_hot(rng, rows, 40)])
    return X, noisy_sign(real[:, 0] - 0.5 * real[:, 3] + 400.0 * (X[:, 10] - X[:, 14] + X[:, 17]), rng)


def wide(rng: np.random.Generator, rows: int) -> Data:
    """A real column for every four rows, 50 of which matter."""
    X = rng.standard_normal((rows, rows // 4))
    return X, noisy_sign(X[:, :50] @ rng.standard_normal(50), rng)


def breast_cancer(rng: np.random.Generator, rows: int) -> Data:
    """scikit-learn's own data: here the fixed cost of a round shows."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return X, np.where(y == 1, 1.0, -1.0)


def text_like(rng: np.random.Generator, rows: int) -> Data:
    """Word counts: words are drawn with Zipf frequencies; repeats of a word make its count."""
    words, draws = 47_000, 95  # 95 draws leave about 75 distinct words a row
    cumulative = np.cumsum(1.0 / np.arange(1, words + 1))
    drawn = np.searchsorted(cumulative, rng.random(rows * draws) * cumulative[-1])
    row = np.repeat(np.arange(rows), draws)
    X = sp.coo_matrix((np.ones(len(row)), (row, drawn)), shape=(rows, words)).tocsr()
    effect = rng.standard_normal(words) * (rng.random(words) < 0.05)
    return X, noisy_sign(np.asarray(X @ effect).ravel(), rng)


SHAPES = (
    Shape("higgs", "real", 4, higgs_like, 1_000_000, 100_000),
    Shape("covtype", "10 real, 44 one-hot", 3, covtype_like, 581_012, 58_101),
    Shape("wide", "real", 3, wide, 20_000, 2_000),
    Shape("cancer", "real", 5, breast_cancer, 569, 569),
    Shape("text", "sparse, 75 a row", 9, text_like, 20_000, 2_000),
)
