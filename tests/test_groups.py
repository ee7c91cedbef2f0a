"""Limits on groups of rows: random limits against programs, the two ends, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from dualboost import solve
from dualboost.boosters import MirrorAscent, TotallyCorrective
from dualboost.losses import SoftMargin
from dualboost.rows import Rows
from dualboost.sets import Balanced, Capped, Groups
from dualboost.sets.capped import CappedSimplex
from dualboost.sets.groups import GroupedSimplex


def some_limits(rng: np.random.Generator, m: int):
    """Labels, caps and floors that leave room, sample weights, and caps on rows or none."""
    labels = rng.integers(0, rng.integers(1, 6), m)
    names = np.unique(labels)
    totals = rng.dirichlet(np.ones(len(names)))  # some distribution is to fit
    caps = {int(g): float(min(1.0, t + rng.uniform(0, 0.4))) for g, t in zip(names, totals, strict=True)}
    floors = {int(g): float(max(0.0, t - rng.uniform(0, 0.4))) for g, t in zip(names, totals, strict=True)}
    weights = rng.integers(1, 4, m).astype(float)
    if rng.random() < 0.5:
        return labels, caps, floors, weights, None
    inside = np.array([totals[list(names).index(g)] / np.sum(labels == g) for g in labels])
    return labels, caps, floors, weights, np.minimum(inside * rng.uniform(1, 3, m), 1.0) / weights


@given(st.integers(0, 100_000), st.integers(1, 14))
def test_any_limits(seed, m):
    """Feasible; the margin is the linear program's; both projections cannot be improved towards any other point."""
    rng = np.random.default_rng(seed)
    labels, caps, floors, weights, row_caps = some_limits(rng, m)
    d_set = Groups(labels, caps, floors, row_caps=row_caps).bind(Rows.of(weights))
    model = reference.GroupsModel(weights, labels, caps, floors, None if row_caps is None else row_caps * weights)
    z, eta = rng.normal(size=m), 10.0 ** rng.uniform(-1, 2)
    assert d_set.relaxed_margin(z) == pytest.approx(model.relaxed_margin(z), abs=1e-9)
    entropic, euclidean = d_set.entropic(z, eta), d_set.euclidean(z)
    for d in (entropic, euclidean, d_set.vertex(z)):
        assert model.inside(d, 1e-11) and d_set.contains(d)
    slope = eta * z + np.log(np.maximum(entropic, 1e-300) / model.prior)
    for point in model.points(4, seed):
        assert (point - entropic) @ slope >= -1e-7 * (1 + eta * np.abs(z).max())
        assert (point - euclidean) @ ((euclidean - z) / weights) >= -1e-8 * (1 + np.abs(z).max())


@pytest.mark.parametrize("seed", range(4))
def test_the_projections_are_the_conic_ones(seed):
    rng = np.random.default_rng(seed)
    labels, caps, floors, weights, row_caps = some_limits(rng, 11)
    d_set = Groups(labels, caps, floors, row_caps=row_caps).bind(Rows.of(weights))
    model = reference.GroupsModel(weights, labels, caps, floors, None if row_caps is None else row_caps * weights)
    z = rng.normal(size=11)
    d = d_set.entropic(z, 3.0)
    assert d @ z + d_set.divergence(d) / 3 == pytest.approx(model.conic_entropic(z, 3.0), abs=3e-7)
    d = d_set.euclidean(z)
    assert np.sum((d - z) ** 2 / weights) / 2 == pytest.approx(model.conic_euclidean(z), abs=1e-6)


def test_limits_that_never_bind_are_no_limits():
    z, rows = np.linspace(-1, 1, 12), Rows.of(12)
    labels = np.arange(12) % 3
    assert isinstance(Groups(labels).bind(rows), CappedSimplex)
    loose, plain = Groups(labels, {0: 0.999}).bind(rows), Capped(nu=1e-9).bind(rows)
    assert isinstance(loose, GroupedSimplex)
    np.testing.assert_allclose(loose.entropic(z, 0.3), plain.entropic(z, 0.3), atol=1e-15)
    both = Groups(labels, {0: 0.9}, nu=0.5).bind(rows)
    np.testing.assert_allclose(both.entropic(z, 0.3), Capped(nu=0.5).bind(rows).entropic(z, 0.3), atol=1e-15)


def test_every_group_at_its_limit():
    """Caps that sum to 1: each group is its own simplex."""
    labels, z = np.array(["a", "b", "b", "c", "a"]), np.array([0.3, -1.0, 2.0, 0.0, 0.3])
    d_set = Groups(labels, {"a": 0.5, "b": 0.2, "c": 0.3}).bind(Rows.of(5))
    e = np.exp([1.0, -2.0])
    np.testing.assert_allclose(d_set.entropic(z, 1.0), [0.25, *(0.2 * e / e.sum()), 0.3, 0.25], atol=1e-15)
    assert d_set.radius > 0
    point = Groups(np.arange(3), {0: 0.5, 1: 0.2, 2: 0.3}).bind(Rows.of(3))
    assert point.radius == 0 and point.vertex(z[:3]) == pytest.approx([0.5, 0.2, 0.3], abs=1e-15)


def test_balanced_halves_the_weight():
    y = np.where(np.arange(50) < 4, 1, -1)
    d_set = Balanced(y).bind(Rows.of(50))
    rng = np.random.default_rng(0)
    for d in (
        d_set.entropic(rng.normal(size=50), 5.0),
        d_set.euclidean(rng.normal(size=50)),
        d_set.vertex(rng.normal(size=50)),
    ):
        assert d[y == 1].sum() == pytest.approx(0.5, abs=1e-13)
    three = Balanced(np.arange(9) % 3, nu=0.6).bind(Rows.of(9))
    assert three.low.tolist() == three.high.tolist() == [1 / 3] * 3 and three.caps[0] == pytest.approx(1 / 5.4)


@pytest.mark.parametrize("booster", [TotallyCorrective(), MirrorAscent(step="max margin", update="lazy")])
def test_solve_with_absent_rows(booster):
    """Rows of weight zero are absent, with their group."""
    rng = np.random.default_rng(2)
    A = np.where(rng.random((30, 25)) < 0.65, 1.0, -1.0)
    labels = np.array(["web", "lab", "gone"])[np.arange(30) % 3]
    weights = np.where(labels == "gone", 0.0, 1.0 + np.arange(30) % 2)
    limits = Groups(labels, {"web": 0.25, "gone": 0.1})
    solution = solve(A, SoftMargin(limits), booster, tol=0.05, sample_weight=weights, max_rounds=3000)
    kept = weights > 0
    model = reference.GroupsModel(weights[kept], labels[kept], {"web": 0.25}, {})
    optimum = model.conic_game(A[kept])
    assert solution.objective - 1e-7 <= optimum <= solution.bound + 1e-7 and solution.gap <= 0.05
    assert solution.distribution[labels == "web"].sum() <= 0.25 + 1e-9 and not solution.distribution[~kept].any()


def test_many_rows_and_groups():
    m = 200_000
    rng = np.random.default_rng(3)
    labels, z = rng.integers(0, 40, m), rng.normal(size=m)
    caps = dict.fromkeys(range(20), 0.01)
    d_set = Groups(labels, caps, {39: 0.3}, nu=0.01).bind(Rows.of(m))
    z[labels < 20] -= 1.0
    for d in (d_set.entropic(z, 4.0), d_set.euclidean(-1e-5 * z), d_set.vertex(z)):
        total = np.bincount(labels, d)
        assert abs(d.sum() - 1) <= 1e-11 and np.all(total[:20] <= 0.01 + 1e-12) and total[39] >= 0.3 - 1e-12
        assert d.max() <= 100 / m * (1 + 1e-12) and np.any(total[:20] >= 0.01 - 1e-12)


REFUSED = {
    "unknown label": (lambda: Groups(["a", "b"], {"c": 0.5}), "no row is in that group"),
    "no labels": (lambda: Groups([]), "one label per row"),
    "table": (lambda: Groups(np.zeros((2, 2))), "one label per row"),
    "other length": (lambda: Groups([0, 1, 1]).bind(Rows.of(2)), "one label per row: 2"),
    "cap above 1": (lambda: Groups([0, 1], {0: 1.5}).bind(Rows.of(2)), "shares"),
    "cap of 0": (lambda: Groups([0, 1], {0: 0.0}).bind(Rows.of(2)), "drop a group"),
    "nan": (lambda: Groups([0, 1], {0: np.nan}).bind(Rows.of(2)), "shares"),
    "caps too small": (lambda: Groups([0, 1], 0.4).bind(Rows.of(2)), "raise their caps"),
    "floors too large": (lambda: Groups([0, 1], floors=0.6).bind(Rows.of(2)), "lower them"),
    "floor above cap": (lambda: Groups([0, 1], {0: 0.2}, {0: 0.3}).bind(Rows.of(2)), "lower the floor"),
    "rows cannot": (lambda: Groups([0, 1, 1], floors={0: 0.8}, nu=0.6).bind(Rows.of(3)), "lower the floor"),
}


@pytest.mark.parametrize("make, words", REFUSED.values(), ids=REFUSED)
def test_bad_limits_are_refused(make, words):
    with pytest.raises(ValueError, match=words) as caught:
        make()
    assert str(caught.value).endswith(".")
