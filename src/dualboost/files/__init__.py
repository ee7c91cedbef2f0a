"""Models in files: numbers and strings only, checked before they are believed. See `container` and `records`."""

from dualboost.files.diagram import load_diagram, save_diagram
from dualboost.files.model import load_model, save_model

__all__ = ["load_diagram", "load_model", "save_diagram", "save_model"]
