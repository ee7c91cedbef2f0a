"""The rate curves are drawn as they are given."""

import doctest

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402

from dualboost.plots import rate_plot, rates  # noqa: E402


def test_lines_are_the_curves():
    excess = np.array([1.0, 0.5, 0.25, 0.0])
    curves = {"above": excess + 1, "below": excess / 2}
    figure, ax = pyplot.subplots()
    assert rate_plot(excess, curves, ax) is ax
    drawn = {line.get_label(): line.get_xydata() for line in ax.get_lines()}
    assert set(drawn) == {"above", "below", "this run"}
    np.testing.assert_array_equal(drawn["above"], np.column_stack([[1, 2, 3, 4], curves["above"]]))
    np.testing.assert_array_equal(drawn["this run"][:3, 1], excess[:3])
    assert np.isnan(drawn["this run"][3, 1]), "a logarithmic axis ends before 0"
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert len({line.get_linestyle() for line in ax.get_lines()}) == 3, "told apart in print"
    pyplot.close(figure)


def test_curves_of_another_length_are_refused():
    with pytest.raises(ValueError, match="one value for each of the 3 rounds"):
        rate_plot(np.ones(3), {"wrong": np.ones(4)})


def test_examples_run():
    result = doctest.testmod(rates)
    pyplot.close("all")
    assert result.attempted > 3 and result.failed == 0
