"""Real data sets, where the reader has them: $DUALBOOST_DATA, or ../shared/data beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

__all__ = ["TABLES", "folder", "table"]

TABLES = ("heart", "breast_cancer", "diabetis", "german", "titanic_passengers", "image", "spambase", "banana",
          "twonorm", "ringnorm", "madelon", "adult")  # fmt: skip
"""Binary problems that fit in one table, smallest first."""

_GIVE_THE_ANSWER_AWAY = {"titanic_passengers": ["boat", "body", "name", "ticket", "home.dest", "cabin"]}


def folder() -> Path:
    """Where the data are; ends the program with a sentence where they are not."""
    given = os.environ.get("DUALBOOST_DATA")
    place = Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not place.is_dir():
        raise SystemExit(f"No data sets at {place}: set DUALBOOST_DATA to the folder that holds them.")
    return place


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """X (float64, text as codes in order of appearance, NaN where a cell is empty) and y in {0, 1}."""
    import pandas as pd

    if name == "madelon":
        with np.load(folder() / "madelon" / "madelon.npz") as arrays:
            return arrays["X"].astype(np.float64), (arrays["y"] > 0).astype(int)
    if name == "adult":
        parts = [pd.read_csv(folder() / "adult" / f"adult_{part}.csv.gz") for part in ("train", "test")]
        frame = pd.concat(parts, ignore_index=True)
    else:
        frame = pd.read_csv(folder() / name / f"{name}.csv.gz")
    if name == "covtype_sample":
        frame[frame.columns[-1]] = frame[frame.columns[-1]] == 2
    target = "survived" if "survived" in frame.columns else frame.columns[-1]
    y = pd.factorize(frame[target], sort=True)[0]
    frame = frame.drop(columns=[target, "split1", *_GIVE_THE_ANSWER_AWAY.get(name, [])], errors="ignore")
    columns = [_numbers(frame[column]) for column in frame.columns]
    return np.column_stack(columns), y


def _numbers(column) -> np.ndarray:
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    codes = pd.factorize(column)[0].astype(np.float64)
    return np.where(codes < 0, np.nan, codes)
