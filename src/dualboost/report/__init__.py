"""A study of a model as one HTML file that needs nothing else: no network, no server, no library."""

from dualboost.report.page import page
from dualboost.report.study import Study, Suspect

__all__ = ["Study", "Suspect", "page"]
