"""Kernels on row weights against slow twins that share no code with them: sorting, linear programming, bisection."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dualboost import kernels

ZERO = np.zeros(1)
UNKNOWN = float("nan")
LARGE = 70_000  # several chunks, and enough rows for threads to be used
relaxed = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


# ---- Twins --------------------


def log_sum_exp_suffix(theta):
    return np.logaddexp.accumulate(theta[::-1])[::-1]


def entropic_by_sorting(z, eta, caps, offset):
    """ALGORITHMS 1.5(2) with the corrections of section 9: keys sorted, the first row that stays below its cap."""
    caps, offset = np.broadcast_to(caps, z.shape), np.broadcast_to(offset, z.shape)
    origin = z.min()
    key = offset + eta * (origin - z)
    order = np.argsort(-key, kind="stable")
    c, key = caps[order], key[order]
    theta = key + np.log(c)
    suffix = log_sum_exp_suffix(theta)
    rest = 1.0 - np.concatenate([[0.0], np.cumsum(c)[:-1]])
    with np.errstate(divide="ignore", invalid="ignore"):
        below = (rest <= 0) | (np.log(np.maximum(rest, 0)) - suffix + theta <= np.log(c))
    d = np.empty_like(z)
    if not below.any():
        return caps.copy()
    first = int(np.argmax(below))
    x = c[first:] * np.exp(key[first:] - key[first])
    d[order[:first]] = c[:first]
    d[order[first:]] = max(rest[first], 0.0) * x / x.sum()
    return d


def euclidean_by_bisection(z, caps):
    low, high = (z - caps).min(), z.max()
    for _ in range(2000):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if np.clip(z - middle, 0, caps).sum() > 1:
            low = middle
        else:
            high = middle
    return np.clip(z - low, 0, caps)


def vertex_by_sorting(v, caps):
    order = np.argsort(v, kind="stable")
    filled = np.minimum(np.cumsum(caps[order].astype(np.longdouble)), 1)
    d = np.zeros_like(v)
    d[order] = np.diff(filled, prepend=0)
    return d


# ---- Calls --------------------


def entropic(z, eta, caps, offset=ZERO, start=UNKNOWN, threads=1):
    out = np.full(len(z), np.nan)
    level, passes = kernels.entropic(z, eta, caps, offset, start, out, threads)
    assert passes >= 0
    return out, level


def entropic_select(z, eta, caps, offset=ZERO):
    out = np.full(len(z), np.nan)
    return out, kernels.entropic_select(z, eta, caps, offset, out)


def euclidean(z, caps, start=UNKNOWN, threads=1):
    out = np.full(len(z), np.nan)
    tau = kernels.euclidean(z, caps, start, out, threads)
    return out, tau


def vertex(v, caps):
    out = np.full(len(v), np.nan)
    kernels.vertex(v, caps, out)
    return out


# ---- Problems --------------------


@st.composite
def values(draw, most=40):
    m = draw(st.integers(1, most))
    seed = draw(st.integers(0, 2**32 - 1))
    spread = 10.0 ** draw(st.sampled_from([-300, -12, -3, -1, 0, 1, 3, 5]))
    rng = np.random.default_rng(seed)
    z = spread * rng.normal(size=m)
    kind = draw(st.sampled_from(["plain", "ties", "same", "zeros", "shifted", "lattice"]))
    if kind == "ties":
        z = z[rng.integers(0, max(1, m // 3), m)]
    elif kind == "same":
        z = np.full(m, z[0])
    elif kind == "zeros":
        z = np.where(rng.random(m) < 0.5, 0.0, -0.0)
    elif kind == "shifted":
        z = z + 1e3 * spread
    elif kind == "lattice":
        z = spread * rng.integers(-3, 4, m).astype(float)
    return z, rng


@st.composite
def problems(draw, most=40):
    """z, caps (one or each): from the single feasible point to no caps at all."""
    z, rng = draw(values(most))
    m = len(z)
    slack = draw(st.sampled_from([1.0, 1.0 + 1e-10, 1.01, 1.5, 3.0, float(m), 2.0 * m]))
    if draw(st.booleans()):
        caps = np.array([slack / m])
    else:
        shape = 10.0 ** rng.uniform(-draw(st.sampled_from([0.1, 2.0, 8.0])), 0, m)
        caps = shape / shape.sum() * slack
        if caps.sum() < 1:
            caps = caps / caps.sum() * (1 + 1e-15)
    return z, caps, rng


etas = st.sampled_from([1e-6, 1e-2, 1.0, 30.0, 1e3, 1e6])


def assert_entropic_optimal(d, level, z, eta, caps, offset):
    """Feasible; capped rows exactly at the cap with key >= -level; free rows with the exponents they should have."""
    caps, offset = np.broadcast_to(caps, z.shape), np.broadcast_to(offset, z.shape)
    assert np.all(d >= 0) and np.all(d <= caps)
    if caps.sum() <= 1 + 1e-12:
        np.testing.assert_array_equal(d, caps)
        return
    assert abs(d.sum() - 1) <= 4e-15
    exponent = level + offset - eta * z
    rounding = 1e-9 + 1e-14 * (abs(level) + np.abs(eta * z).max() + np.abs(offset).max())
    full = d == caps
    assert np.all(exponent[full] >= -rounding)
    free = ~full & (d > 0) & (d > caps * 1e-290) & (d > 1e-290)
    if free.any():
        residual = np.log(d[free] / caps[free]) - exponent[free]
        assert np.all(residual <= rounding) and np.all(residual >= -rounding)
        # Ratios do not depend on the level: compare them with differences of z, exact however large z is.
        top = np.flatnonzero(free)[np.argmax((d / caps)[free])]
        ratio = np.log(d[free] / caps[free]) - np.log(d[top] / caps[top])
        expected = eta * (z[top] - z[free]) + (offset[free] - offset[top])
        np.testing.assert_allclose(ratio, expected, rtol=1e-12, atol=1e-9)
    zero = d == 0
    assert np.all(exponent[zero] <= -500 + rounding)


# ---- Entropic --------------------


@relaxed
@given(problems(), etas, st.sampled_from(["none", "one", "each"]))
def test_entropic_is_the_sorted_projection(problem, eta, kind):
    z, caps, rng = problem
    offset = {"none": ZERO, "one": np.array([2.5]), "each": rng.normal(size=len(z))}[kind]
    expected = entropic_by_sorting(z, eta, caps, offset)
    # The twin decides by sums of exponents of this size: it may cap or free a row that is that close to its cap.
    twin_error = 1e-12 + min(1e-9, 4e-16 * eta * np.ptp(z))
    for d, level in (entropic(z, eta, caps, offset), entropic_select(z, eta, caps, offset)):
        np.testing.assert_allclose(d, expected, rtol=0, atol=twin_error)
        assert_entropic_optimal(d, level, z, eta, caps, offset)


@relaxed
@given(problems(), etas, st.floats(-1e4, 1e4))
def test_entropic_start_does_not_change_the_answer(problem, eta, error):
    z, caps, _ = problem
    cold, level = entropic(z, eta, caps)
    for start in (level, level + 1e-9, level + 0.3, level - 5, level + error, np.inf, 0.0):
        warm, _ = entropic(z, eta, caps, start=start)
        np.testing.assert_allclose(warm, cold, rtol=0, atol=1e-13)


@pytest.mark.parametrize("eta", [0.1, 30.0, 3000.0, 1e6])
@pytest.mark.parametrize("share", [1.0 / LARGE, 1e-3, 0.1, 0.9, 1.0])
def test_entropic_large(eta, share):
    rng = np.random.default_rng(7)
    z = np.round(rng.normal(size=LARGE), 3)
    for caps in (np.array([1 / (share * LARGE)]), rng.uniform(1, 3, LARGE) / (share * LARGE)):
        for offset in (ZERO, rng.normal(size=LARGE)):
            d, level = entropic(z, eta, caps, offset)
            assert_entropic_optimal(d, level, z, eta, caps, offset)
            np.testing.assert_allclose(d, entropic_by_sorting(z, eta, caps, offset), rtol=0, atol=1e-12)
            moved = z + 0.01 * rng.choice([-1.0, 1.0], LARGE)
            warm, _ = entropic(moved, eta, caps, offset, start=level)
            np.testing.assert_allclose(warm, entropic(moved, eta, caps, offset)[0], rtol=0, atol=1e-13)


def test_entropic_warm_start_takes_two_passes():
    rng = np.random.default_rng(1)
    z, caps, out = rng.normal(size=LARGE), np.array([10.0 / LARGE]), np.empty(LARGE)
    level, _ = kernels.entropic(z, 50.0, caps, ZERO, UNKNOWN, out)
    assert kernels.entropic(z + 1e-3 * rng.choice([-1.0, 1.0], LARGE), 50.0, caps, ZERO, level, out)[1] == 2


@pytest.mark.parametrize("order", ["sorted", "reversed", "periodic"])
def test_entropic_order_of_rows_is_no_trouble(order):
    rng = np.random.default_rng(3)
    z = np.sort(rng.normal(size=LARGE))
    z = {"sorted": z, "reversed": z[::-1].copy(), "periodic": np.tile(z[:100], LARGE // 100)}[order]
    for caps in (np.array([5.0 / LARGE]), rng.uniform(1, 3, LARGE) * 5 / LARGE):
        for eta in (1.0, 1e4):
            d, level = entropic(z, eta, caps)
            assert_entropic_optimal(d, level, z, eta, caps, ZERO)


@pytest.mark.parametrize("seed", [2391, 7331, 17360, 0, 1])
@pytest.mark.parametrize("eta", [1800.0, 1e6])
def test_entropic_where_caps_add_up_to_one_but_for_rounding(seed, eta):
    """All weight is on rows at their caps, the next row is out of sight: the first three sums are not quite one."""
    rng = np.random.default_rng(seed)
    units = int(rng.integers(7, 60))
    low = []
    while sum(low) < units:
        low.append(int(min(rng.integers(1, 3), units - sum(low))))
    caps = np.concatenate([low, rng.integers(1, 3, int(rng.integers(3, 40)))]) / units
    z = np.where(np.arange(len(caps)) < len(low), -1.0, 1.0)
    z[: len(low)] += rng.choice([0, 2e-16, 0.6], len(low))
    out = np.empty(len(z))
    kernels.entropic(z, eta, caps, np.zeros(len(z)), 0.0, out, 1)
    np.testing.assert_allclose(out, np.where(z < 0, caps, 0.0), rtol=0, atol=1e-14)


def test_entropic_without_caps_is_a_stable_softmax():
    z = np.array([1e5, -1e5, -1e5 + 1e-3, 0.0])
    for caps in (np.array([1.0]), np.array([7.0]), np.array([1e300]), np.full(4, 3.0)):
        d, _ = entropic(z, 10.0, caps)
        weights = np.exp(-10.0 * (z - z.min()))
        np.testing.assert_allclose(d, weights / weights.sum(), rtol=1e-12, atol=0)
        assert d[0] == 0.0 and d[3] == 0.0


def test_entropic_level_is_the_documented_one():
    rng = np.random.default_rng(5)
    z = rng.normal(size=50)
    for caps in (np.array([0.1]), np.array([5.0]), rng.uniform(0.1, 3.0, 50)):
        for offset in (np.array([1.5]), rng.normal(size=50)):
            d, level = entropic(z, 3.0, caps, offset)
            np.testing.assert_allclose(d, caps * np.minimum(1, np.exp(level + offset - 3.0 * z)), rtol=1e-13, atol=0)


def test_entropic_minimises_the_objective():
    """d = argmin <d, z> + KL(d || p) / eta, with offset = log(p / c), against small feasible exchanges."""
    rng = np.random.default_rng(6)
    z, p = rng.normal(size=12), rng.dirichlet(np.ones(12))
    caps, eta = np.maximum(p * 1.7, 0.05), 4.0
    d, _ = entropic(z, eta, caps, np.log(p / caps))

    def objective(d):
        return d @ z + np.sum(d * np.log(np.maximum(d, 1e-300) / p)) / eta

    for i in range(12):
        for j in range(12):
            step = 1e-4 * min(d[i], caps[j] - d[j])
            moved = d.copy()
            moved[i] -= step
            moved[j] += step
            assert objective(moved) >= objective(d) - 1e-15


def test_one_row():
    z = np.array([3.0])
    for caps in (np.array([1.0]), np.array([2.0]), np.array([1.0 - 1e-13])):
        assert abs(entropic(z, 2.0, caps)[0][0] - 1) <= 1e-12
        assert abs(euclidean(z, caps)[0][0] - 1) <= 1e-12
        assert abs(vertex(z, caps)[0] - 1) <= 1e-12
        assert kernels.average_lowest(z, caps, UNKNOWN, 0.0) == pytest.approx((3.0, 3.0))


# ---- Linear --------------------


@relaxed
@given(problems())
def test_vertex_and_value_fill_the_smallest_first(problem):
    v, caps, rng = problem
    each = np.broadcast_to(caps, v.shape)
    expected, d = vertex_by_sorting(v, each), vertex(v, caps)
    np.testing.assert_allclose(d, expected, rtol=0, atol=1e-13)
    assert abs(d.sum() - 1) <= max(4e-15, 1.01 * abs(1 - min(each.sum(), 1)))
    scale = np.abs(v).max()
    for centre, width in ((UNKNOWN, 1.0), (rng.choice(v), scale / 10), (0.0, 0.0), (0.0, np.inf), (9 * scale, scale)):
        value, threshold = kernels.average_lowest(v, caps, centre, width)
        assert value == pytest.approx(float(expected @ v), abs=1e-13 * scale)
        assert threshold in v
        dual = threshold - np.sum(each * np.maximum(threshold - v, 0))
        assert dual == pytest.approx(value, abs=1e-12 * scale)


def test_average_lowest_is_the_linear_programme():
    rng = np.random.default_rng(2)
    for _ in range(20):
        m = int(rng.integers(2, 30))
        v, caps = rng.normal(size=m), rng.uniform(0.2, 2.0, m)
        caps *= max(1.0, 1.05 / caps.sum())
        best = linprog(v, A_eq=np.ones((1, m)), b_eq=[1.0], bounds=list(zip(np.zeros(m), caps, strict=True)))
        assert kernels.average_lowest(v, caps, UNKNOWN, 0.0)[0] == pytest.approx(best.fun, abs=1e-12)
        assert vertex(v, caps) @ v == pytest.approx(best.fun, abs=1e-12)


@pytest.mark.parametrize("share", [1e-5, 0.0371, 0.5, 1.0])
@pytest.mark.parametrize("kind", ["random", "ties", "sorted"])
def test_lowest_large(share, kind):
    rng = np.random.default_rng(4)
    v = rng.normal(size=LARGE)
    v = {"random": v, "ties": np.round(v, 1), "sorted": np.sort(v)}[kind]
    for caps in (np.array([min(1.0, 1 / (share * LARGE))]), rng.uniform(1, 3, LARGE) / (share * LARGE)):
        expected = vertex_by_sorting(v, np.broadcast_to(caps, v.shape))
        np.testing.assert_allclose(vertex(v, caps), expected, rtol=0, atol=1e-13)
        value, threshold = kernels.average_lowest(v, caps, UNKNOWN, 0.0)
        assert value == pytest.approx(float(expected @ v), abs=1e-12)
        for width in (1e-3, 0.1, 0.0):
            warm, _ = kernels.average_lowest(v, caps, threshold + width / 2, width)
            assert warm == pytest.approx(value, abs=1e-12)


def test_vertex_gives_ties_to_the_lowest_index():
    d = vertex(np.array([1.0, 0.0, 0.0, -0.0, 0.0]), np.array([0.4]))
    np.testing.assert_allclose(d, [0, 0.4, 0.4, 0.2, 0], atol=1e-15)
    for k in (3, 7, 10, 49):
        d = vertex(np.zeros(100), np.array([1 / k]))
        np.testing.assert_array_equal(d, np.where(np.arange(100) < k, 1 / k, 0.0))


# ---- Euclidean --------------------


@relaxed
@given(problems(), st.floats(-1e3, 1e3))
def test_euclidean_is_the_bisected_projection(problem, error):
    z, caps, _ = problem
    each = np.broadcast_to(caps, z.shape)
    d, tau = euclidean(z, caps)
    if each.sum() <= 1 + 1e-12:
        np.testing.assert_array_equal(d, each)
        return
    assert abs(d.sum() - 1) <= 4e-15
    assert np.all(d >= 0) and np.all(d <= each)
    np.testing.assert_allclose(d, np.clip(z - tau, 0, each), rtol=0, atol=1e-15 + 2e-16 * (np.abs(z).max() + abs(tau)))
    expected = euclidean_by_bisection(z, each)
    np.testing.assert_allclose(d, expected, rtol=0, atol=1e-13 + 1e-15 * np.abs(z).max() * len(z))
    for start in (tau, tau + 1e-6, tau + error, 0.0, np.inf):
        np.testing.assert_allclose(euclidean(z, caps, start)[0], d, rtol=0, atol=1e-13)


@pytest.mark.parametrize("spread", [1e-6, 1e-3, 1.0, 1e4])
@pytest.mark.parametrize("share", [1.0 / LARGE, 1e-2, 0.5])
def test_euclidean_large(spread, share):
    rng = np.random.default_rng(8)
    z = spread * np.round(rng.normal(size=LARGE), 4)
    for caps in (np.array([1 / (share * LARGE)]), rng.uniform(1, 3, LARGE) / (share * LARGE)):
        d, tau = euclidean(z, caps)
        assert abs(d.sum() - 1) <= 1e-14
        expected = euclidean_by_bisection(z, np.broadcast_to(caps, z.shape))
        np.testing.assert_allclose(d, expected, rtol=0, atol=1e-14 + 1e-15 * spread)
        moved = z + 0.01 * spread * rng.choice([-1.0, 1.0], LARGE)
        np.testing.assert_allclose(euclidean(moved, caps, tau)[0], euclidean(moved, caps)[0], rtol=0, atol=1e-13)


@pytest.mark.parametrize("m", [1, 7, 33, 1000, LARGE])
@pytest.mark.parametrize("cap_kind", ["one", "each"])
def test_euclidean_of_copies_is_the_projection_of_the_copies(m, cap_kind):
    rng = np.random.default_rng(m)
    counts = rng.integers(1, 4, m)
    caps = np.array([2.0 / m]) if cap_kind == "one" else rng.uniform(1, 3, m) / m
    copy_of = np.repeat(np.arange(m), counts)
    for z in (rng.normal(size=m), rng.normal(size=m) / m, np.zeros(m)):
        d = np.empty(m)
        tau = kernels.euclidean_of_copies(z, caps, counts.astype(float), UNKNOWN, d)
        copies, its_tau = euclidean(z[copy_of], caps if cap_kind == "one" else caps[copy_of])
        np.testing.assert_allclose(d[copy_of], copies, rtol=0, atol=1e-14)
        assert abs(math.fsum(counts * d) - 1) <= 1e-14
        answers = []
        for threads in (1, 3):
            again = np.empty(m)
            answers.append(
                (kernels.euclidean_of_copies(z, caps, counts.astype(float), tau, again, threads), again.tobytes())
            )
        assert answers[0] == answers[1]
        assert tau == pytest.approx(its_tau, abs=1e-12) or (d == np.broadcast_to(caps, m)).all()


def test_copies_are_checked():
    z, out = np.zeros(5), np.empty(5)
    for copies, words in (
        (np.ones(4), "one for each row"),
        (np.zeros(1), "positive"),
        (np.array([1, 1, -1, 1, 1.0]), "positive"),
        (np.array([1, 1, np.nan, 1, 1]), "positive"),
        (np.full(5, 0.1), "sum"),
        (np.array([0.1]), "sum"),
    ):
        for caps in (np.ones(1), np.ones(5)):
            with pytest.raises(ValueError, match=words):
                kernels.euclidean_of_copies(z, caps, copies, UNKNOWN, out)


# ---- Columns --------------------


@pytest.mark.parametrize("m", [1, 31, 32, 33, 1000, LARGE])
@pytest.mark.parametrize("kind", [np.int8, np.float64])
def test_columns(m, kind):
    rng = np.random.default_rng(m)
    z, column = rng.normal(size=m), rng.integers(-3, 4, m).astype(kind)
    dense, out = column.astype(float), np.full(m, np.nan)
    for sign in (1.0, -1.0):
        assert kernels.spread(z, column, sign) == np.abs(sign * dense - z).max()
    kernels.move(z, column, 0.75, -0.5, out)
    np.testing.assert_array_equal(out, 0.75 * z - 0.5 * dense)
    assert kernels.dot(z, column) == pytest.approx(float(z @ dense), abs=1e-12 * m**0.5)
    place = z.copy()
    kernels.move(place, column, 0.75, -0.5, place)
    np.testing.assert_array_equal(place, out)


@pytest.mark.parametrize("shape", [(1, 1), (3, 33), (50, 100), (2, LARGE), (4, 0), (0, 5)])
def test_centre(shape):
    rng = np.random.default_rng(shape[0])
    table, centres, factors = rng.normal(size=shape), rng.normal(size=shape[0]), rng.random(shape[1])
    out = table.copy()
    kernels.centre(out, centres, factors)
    np.testing.assert_array_equal(out, (table - centres[:, None]) * factors)


# ---- What holds for all --------------------


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(9)
    m = 3 * LARGE + 17
    z, column = rng.normal(size=m), rng.choice(np.array([-1, 1], np.int8), m)
    for caps in (np.array([10.0 / m]), rng.uniform(1, 3, m) * 5 / m):
        answers = []
        for threads in (1, 2, 3):
            d, level = entropic(z, 20.0, caps, threads=threads)
            e, tau = euclidean(1e-4 * z, caps, threads=threads)
            lowest = kernels.average_lowest(z, caps, -1.3, 0.2, threads)
            moved = np.empty(m)
            kernels.move(z, column, 0.9, 0.1, moved, threads)
            numbers = (level, tau, *lowest, kernels.spread(z, column, 1.0, threads), kernels.dot(z, column, threads))
            answers.append(b"".join([d.tobytes(), e.tobytes(), moved.tobytes(), np.array(numbers).tobytes()]))
        assert answers[0] == answers[1] == answers[2]


def test_inputs_are_left_alone():
    rng = np.random.default_rng(10)
    z, caps, offset = rng.normal(size=100), rng.uniform(0.05, 0.1, 100), rng.normal(size=100)
    before = [a.copy() for a in (z, caps, offset)]
    for a in (z, caps, offset):
        a.flags.writeable = False
    entropic(z, 2.0, caps, offset)
    entropic_select(z, 2.0, caps, offset)
    euclidean(z, caps)
    vertex(z, caps)
    kernels.average_lowest(z, caps, 0.0, 0.1)
    for a, b in zip((z, caps, offset), before, strict=True):
        np.testing.assert_array_equal(a, b)


def calls(z, caps, out):
    """Every function that takes row values and caps."""
    return [
        lambda: kernels.entropic(z, 1.0, caps, ZERO, UNKNOWN, out),
        lambda: kernels.entropic(z, 1.0, caps, ZERO, 0.5, out),
        lambda: kernels.entropic_select(z, 1.0, caps, ZERO, out),
        lambda: kernels.average_lowest(z, caps, UNKNOWN, 0.0),
        lambda: kernels.average_lowest(z, caps, 0.0, 1.0),
        lambda: kernels.vertex(z, caps, out),
        lambda: kernels.euclidean(z, caps, UNKNOWN, out),
        lambda: kernels.euclidean(z, caps, 0.5, out),
        lambda: kernels.euclidean_of_copies(z, caps, np.ones(1), 0.5, out),
    ]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("m", [1, 2, 40, LARGE])
def test_values_that_are_not_finite_are_refused(bad, m):
    for where in {0, m // 2, m - 1}:
        z = np.random.default_rng(m).normal(size=m)
        z[where] = bad
        for caps in (np.array([min(1.0, 3.0 / m)]), np.full(m, 1.0 / m), np.full(m, 2.0)):
            for call in calls(z, caps, np.empty(m)):
                with pytest.raises(ValueError, match="finite"):
                    call()
        for call in (
            lambda z=z: kernels.spread(z, np.ones(m), 1.0),
            lambda z=z: kernels.spread(np.ones(m), z, 1.0),
            lambda z=z: kernels.dot(z, np.ones(m, np.int8)),
            lambda z=z: kernels.entropic(np.ones(m), 1.0, np.ones(1), z, 0.0, np.empty(m)),
        ):
            with pytest.raises(ValueError, match="finite"):
                call()


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, -0.0])
def test_bad_caps_are_refused(bad):
    z, out = np.linspace(-1, 1, 40), np.empty(40)
    each = np.full(40, 0.1)
    each[17] = bad
    for caps in (each, np.array([bad])):
        for call in calls(z, caps, out):
            with pytest.raises(ValueError, match="cap"):
                call()


def test_caps_that_sum_to_less_than_one_are_refused():
    z, out = np.linspace(-1, 1, 40), np.empty(40)
    for caps in (np.array([0.99 / 40]), np.full(40, 0.99 / 40), np.full(40, (1 - 1e-11) / 40)):
        for call in calls(z, caps, out):
            with pytest.raises(ValueError, match="sum"):
                call()


def test_wrong_lengths_are_refused():
    z, out = np.zeros(40), np.empty(40)
    for caps in (np.ones(39), np.ones(41), np.ones(0), np.ones(2)):
        for call in calls(z, caps, out):
            with pytest.raises(ValueError, match="one for each row"):
                call()
    short = np.empty(39)
    for call in (
        lambda: kernels.entropic(z, 1.0, np.ones(1), ZERO, 0.0, short),
        lambda: kernels.entropic(z, 1.0, np.ones(1), np.zeros(3), 0.0, out),
        lambda: kernels.entropic_select(z, 1.0, np.ones(1), ZERO, short),
        lambda: kernels.vertex(z, np.ones(1), short),
        lambda: kernels.euclidean(z, np.ones(1), 0.0, short),
        lambda: kernels.move(z, np.ones(40), 1.0, 1.0, short),
        lambda: kernels.move(z, np.ones(39), 1.0, 1.0, out),
        lambda: kernels.spread(z, np.ones(39, np.int8), 1.0),
        lambda: kernels.dot(z, np.ones(41)),
        lambda: kernels.centre(np.ones((2, 40)), np.ones(2), np.ones(39)),
    ):
        with pytest.raises(ValueError, match="row"):
            call()
    with pytest.raises(ValueError, match="column"):
        kernels.centre(np.ones((2, 40)), np.ones(3), np.ones(40))
    for call in calls(np.empty(0), np.ones(1), np.empty(0)):
        with pytest.raises(ValueError, match="at least one row"):
            call()


@pytest.mark.parametrize("eta", [0.0, -1.0, np.nan, np.inf])
def test_bad_eta_is_refused(eta):
    z, out = np.zeros(5), np.empty(5)
    with pytest.raises(ValueError, match="eta"):
        kernels.entropic(z, eta, np.ones(1), ZERO, 0.0, out)
    with pytest.raises(ValueError, match="eta"):
        kernels.entropic_select(z, eta, np.ones(1), ZERO, out)


def test_bad_numbers_are_refused():
    z, out = np.zeros(5), np.empty(5)
    for call in (
        lambda: kernels.entropic(z, 1.0, np.ones(1), ZERO, 0.0, out, 0),
        lambda: kernels.euclidean(z, np.ones(1), 0.0, out, -1),
        lambda: kernels.average_lowest(z, np.ones(1), 0.0, -1.0),
        lambda: kernels.spread(z, np.ones(5), np.nan),
        lambda: kernels.move(z, np.ones(5), np.nan, 1.0, out),
        lambda: kernels.move(z, np.ones(5), 1.0, np.inf, out),
        lambda: kernels.dot(z, np.ones(5), 0),
    ):
        with pytest.raises(ValueError):
            call()


def test_wrong_types_are_refused():
    z, out = np.zeros(6), np.empty(6)
    read_only = np.empty(6)
    read_only.flags.writeable = False
    for call in (
        lambda: kernels.entropic(z.astype(np.float32), 1.0, np.ones(1), ZERO, 0.0, out),
        lambda: kernels.entropic(z, 1.0, np.ones(1, int), ZERO, 0.0, out),
        lambda: kernels.entropic(z, 1.0, np.ones(1), ZERO, 0.0, out.astype(np.float32)),
        lambda: kernels.entropic(z, 1.0, np.ones(1), ZERO, 0.0, read_only),
        lambda: kernels.entropic(z[::2], 1.0, np.ones(1), ZERO, 0.0, np.empty(3)),
        lambda: kernels.entropic(z.reshape(2, 3), 1.0, np.ones(1), ZERO, 0.0, out),
        lambda: kernels.entropic([0.0, 1.0], 1.0, np.ones(1), ZERO, 0.0, out),
        lambda: kernels.spread(z, np.ones(6, np.int64), 1.0),
        lambda: kernels.dot(z, np.ones(6, np.float32)),
        lambda: kernels.vertex(z, None, out),
    ):
        with pytest.raises(TypeError):
            call()


def test_out_must_not_overlap_an_input():
    base = np.linspace(0, 1, 20)
    z, out = base[:10], base[5:15]
    for call in (*calls(z, np.ones(1), out)[:3], *calls(z, np.ones(1), out)[5:], *calls(z + 0, out, out)[:3]):
        with pytest.raises(ValueError, match="share memory"):
            call()
    with pytest.raises(ValueError, match="share memory"):
        kernels.move(z, np.ones(10), 1.0, 1.0, out)
    with pytest.raises(ValueError, match="share memory"):
        kernels.move(np.ones(10), out, 1.0, 1.0, out)
    for inputs in ((out[:2], np.ones(5)), (np.ones(2), z[5:])):
        with pytest.raises(ValueError, match="share memory"):
            kernels.centre(out.reshape(2, 5), *inputs)


def test_values_too_large_for_the_exponent_are_refused_or_projected():
    """Whatever the range, never a crash or a vector that is not a distribution."""
    for top in (1e150, 1e300, 1.7e308):
        z = np.array([-top, 0.0, top])
        for call in (lambda z=z: entropic(z, 1e6, np.array([0.5])), lambda z=z: euclidean(z, np.array([0.5]))):
            try:
                d, _ = call()
            except ValueError:
                continue
            assert abs(d.sum() - 1) <= 1e-14
            np.testing.assert_allclose(np.sort(d), [0, 0.5, 0.5], atol=1e-14)
