"""Pictures, the only home of matplotlib: each function draws on the axes it is given (or new ones) and returns them."""

from dualboost.plots.comparison import comparison_figure
from dualboost.plots.convergence import ConvergenceDisplay
from dualboost.plots.figures import convergence_plot, margin_plot, shape_figure, shape_plot, summary_figure
from dualboost.plots.margins import MarginDisplay
from dualboost.plots.rates import rate_plot
from dualboost.plots.shape import ShapeDisplay
from dualboost.plots.style import require_matplotlib

__all__ = [
    "ConvergenceDisplay",
    "MarginDisplay",
    "ShapeDisplay",
    "comparison_figure",
    "convergence_plot",
    "margin_plot",
    "rate_plot",
    "require_matplotlib",
    "shape_figure",
    "shape_plot",
    "summary_figure",
]
