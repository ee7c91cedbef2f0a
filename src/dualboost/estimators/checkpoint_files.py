"""Files of checkpoints, whatever they keep: one sentence for what is wrong with one, none lost to a full disk."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dualboost.storage.container import DamagedFile, read, write
from dualboost.storage.state import BROKEN

__all__ = ["OtherFit", "broken_checkpoint", "check_same_fit", "read_checkpoint", "write_checkpoint"]

_LARGEST = 1 << 36
_ADVICE = "delete it to start anew"


class OtherFit(ValueError):
    """A checkpoint that belongs to another problem."""


def check_same_fit(path: str, same: bool) -> None:
    """Refuse the checkpoint of another fit, in one sentence."""
    if not same:
        raise OtherFit(
            f"The checkpoint {path!r} is of a fit to other data or with other parameters: "
            f"give this fit another file, or {_ADVICE}."
        )


def read_checkpoint(path: str, kind: tuple[str, int]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a file of this format and version; one sentence if it is damaged."""
    try:
        header, arrays = read(path, _LARGEST)
        if (header.get("format"), header.get("version")) != kind:
            raise ValueError("it is no checkpoint of this version")
    except BROKEN as error:
        raise broken_checkpoint(path, error) from error
    return header, arrays


def write_checkpoint(path: str, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> bool:
    """Whether it was written: a full disk or memory is no reason to lose the run."""
    try:
        write(path, header, arrays, effort=1)
    except (OSError, MemoryError) as error:
        reason = "there is no memory left" if isinstance(error, MemoryError) else error.strerror
        words = f"The checkpoint {path!r} could not be written ({reason}): the run goes on without."
        warnings.warn(words, RuntimeWarning, stacklevel=2)
        return False
    return True


def broken_checkpoint(path: str, error: Exception) -> DamagedFile:
    """What to say of a file that is none of ours, or no longer."""
    return DamagedFile(f"The checkpoint {path!r} cannot be taken up ({error}): {_ADVICE}.")
