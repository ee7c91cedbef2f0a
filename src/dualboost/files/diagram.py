"""`save_diagram` and `load_diagram`: an NZDD in one file, checked like a model file and then like one drawn by hand."""

from __future__ import annotations

import os

import numpy as np

from dualboost.learners.nzdd import Diagram
from dualboost.storage.container import DamagedFile, read, write

__all__ = ["load_diagram", "save_diagram"]

_FORMAT, _VERSION = "dualboost diagram", 1
_ARRAYS = ("start", "head", "label_start", "labels")


def save_diagram(diagram: Diagram, path: str | os.PathLike) -> None:
    """Write a diagram to a file; what was there is replaced at once or not at all.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from dualboost.files import load_diagram, save_diagram
    >>> from dualboost.learners.nzdd import diagram_of_family
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "family.dualboost"
    >>> save_diagram(diagram_of_family([[0], [1, 2]], n_labels=3), path)
    >>> load_diagram(path).count()
    2
    """
    header = {"format": _FORMAT, "version": _VERSION, "n_labels": diagram.n_labels}
    write(path, header, {name: getattr(diagram, name) for name in _ARRAYS})


def load_diagram(path: str | os.PathLike, *, max_bytes: int = 1 << 30) -> Diagram:
    """Read a diagram that `save_diagram` wrote; what would take more than `max_bytes` of memory is refused.

    Examples
    --------
    See `save_diagram`.

    >>> from dualboost.files import load_diagram
    >>> load_diagram("nowhere.dualboost")
    Traceback (most recent call last):
        ...
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.dualboost'
    """
    header, arrays = read(path, max_bytes)
    whole = all(array.dtype.kind == "i" and array.ndim == 1 for array in arrays.values())
    if header.get("format") != _FORMAT or header.get("version") != _VERSION or not whole:
        raise DamagedFile(f"{path} is not a diagram of this version of dualboost.")
    try:
        return _rebuilt(Diagram.of_arrays(int(header["n_labels"]), *(arrays[name] for name in _ARRAYS)))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DamagedFile(f"{path} does not hold a diagram: {error}") from error


def _rebuilt(read: Diagram) -> Diagram:
    """What was read, once a diagram could be drawn from it by hand: so nothing malformed gets through."""
    start, label_start = read.start, read.label_start
    whole = [start[0] == 0, start[-1] == read.n_edges, label_start[0] == 0, label_start[-1] == len(read.labels)]
    rising = np.all(np.diff(start) >= 0) and np.all(np.diff(label_start) >= 0)
    if not (all(whole) and rising and len(label_start) == read.n_edges + 1 and np.all(read.head > read.tails)):
        raise ValueError("its arrays do not fit together.")
    ends = zip(read.tails.tolist(), read.head.tolist(), strict=True)
    drawn = [(tail, head, read.labels_of(e).tolist()) for e, (tail, head) in enumerate(ends)]
    if Diagram.of_edges(drawn, read.n_labels).n_nodes != read.n_nodes:
        raise ValueError("it has nodes without edges.")
    return read
