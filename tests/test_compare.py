"""Every solver on the same game."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from dualboost import compare
from dualboost.boosters import Corrective, LPBoost, TotallyCorrective
from dualboost.estimators.compare import SOLVERS
from dualboost.plots import comparison_figure
from reference import lp_largest_margin

X, Y = make_classification(80, 5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=0)


@pytest.fixture(scope="module")
def runs():
    return compare(X, Y, nu=0.4, tol=0.02)


def stump_matrix() -> np.ndarray:
    signs = np.where(Y == 1, 1.0, -1.0)
    cuts = [(f, t) for f in range(X.shape[1]) for t in np.unique(X[:, f])[:-1]]
    return signs[:, None] * np.array([np.ones(len(Y)), *(np.where(X[:, f] > t, 1.0, -1.0) for f, t in cuts)]).T


def test_all_solvers_enclose_the_optimum(runs):
    optimum, _ = lp_largest_margin(stump_matrix(), np.full(len(Y), 1 / (0.4 * len(Y))))
    assert [trace.name for trace in runs.traces] == list(SOLVERS)
    for trace in runs.traces:
        assert trace.objectives[-1] - 1e-9 <= optimum <= trace.bounds[-1] + 1e-9
        assert trace.gap <= 0.02
        assert trace.size >= 2


def test_traces_only_improve(runs):
    for trace in runs.traces:
        assert len(trace.rounds) >= 2
        assert np.all(np.diff(trace.rounds) >= 0) and np.all(np.diff(trace.seconds) >= 0)
        assert np.all(np.diff(trace.objectives) >= -1e-9) and np.all(np.diff(trace.bounds) <= 1e-9)


def test_the_table_says_what_the_traces_say(runs):
    lines = str(runs).splitlines()
    assert "nu = 0.4" in lines[0]
    assert len(lines) == 2 + len(runs.traces)
    for line, trace in zip(lines[2:], runs.traces, strict=True):
        assert line.startswith(trace.name)
        assert f"{trace.objectives[-1]:.5f}" in line and "certified" in line


def test_the_picture_has_a_curve_for_every_solver(runs):
    figure = comparison_figure(runs)
    assert [len(ax.get_lines()) for ax in figure.axes] == [len(runs.traces) + 1] * 2  # and the gap asked
    assert runs.plot().axes


def test_limits_end_a_run():
    slow = compare(X, Y, nu=0.4, tol=1e-9, boosters={"one": Corrective()}, max_rounds=3)
    assert slow.traces[0].rounds[-1] == 3 and "max_rounds" in slow.traces[0].status
    late = compare(X, Y, nu=0.4, tol=1e-9, boosters={"one": LPBoost(columns=1)}, seconds=1e-9)
    assert "out of time" in late.traces[0].status


def test_weights_are_copies():
    counts = np.random.RandomState(0).randint(0, 3, len(Y))
    two = {"entropy": TotallyCorrective()}
    weighted = compare(X, Y, nu=0.4, tol=1e-6, boosters=two, sample_weight=counts).traces[0]
    copied = compare(np.repeat(X, counts, axis=0), np.repeat(Y, counts), nu=0.4, tol=1e-6, boosters=two).traces[0]
    assert weighted.objectives[-1] == pytest.approx(copied.objectives[-1], abs=2e-6)


@pytest.mark.parametrize("wrong", [{"nu": 0}, {"nu": 1.5}, {"tol": -1}, {"seconds": 0}, {"max_rounds": 0}])
def test_bad_input_is_one_sentence(wrong):
    with pytest.raises(ValueError, match="must be"):
        compare(X, Y, **wrong)
