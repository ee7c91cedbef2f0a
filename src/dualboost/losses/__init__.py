"""What is minimised over the margins: one file a loss, see `base` for what a loss must say."""

from dualboost.losses.base import Loss
from dualboost.losses.exponential import Exponential
from dualboost.losses.logistic import Logistic
from dualboost.losses.logistic_difference import LogisticDifference
from dualboost.losses.logistic_mixture import LogisticMixture
from dualboost.losses.separable import Separable
from dualboost.losses.soft_margin import SoftMargin

__all__ = ["Exponential", "Logistic", "LogisticDifference", "LogisticMixture", "Loss", "Separable", "SoftMargin"]
