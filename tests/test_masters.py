"""The small solvers inside a round against references that share no code: nnls, Clarabel, optimality conditions."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import cython_lapack
from scipy.optimize import linprog, nnls

import reference
from dualboost import kernels
from dualboost.losses import SoftMargin
from dualboost.master import EdgeProgram, L1Ball, descend, entropy_projection, l1_quadratic, nonnegative_quadratic
from dualboost.master.linear import Kinds
from dualboost.master.lists import read_lists
from dualboost.rows import Rows
from dualboost.sets import Capped, Simplex


def quadratic(seed: int, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """A positive definite H, with two nearly equal coordinates, and a c of both signs."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n + 5, n))
    B[:, 1] = B[:, 0] + 1e-3 * rng.normal(size=n + 5)
    return B.T @ B, 5 * rng.normal(size=n)


@given(seed=st.integers(0, 10**6), warm=st.booleans())
def test_nonnegative_quadratic_is_nnls(seed, warm):
    H, c = quadratic(seed)
    root = np.linalg.cholesky(H).T
    expected, _ = nnls(root, np.linalg.solve(root.T, c))
    start = np.abs(np.random.default_rng(seed).normal(size=12)) if warm else np.zeros(12)
    x = nonnegative_quadratic(H, c, start)
    value = lambda x: x @ H @ x / 2 - c @ x  # noqa: E731
    assert x.min() >= 0 and value(x) <= value(expected) + 1e-9 * (1 + abs(value(expected)))
    assert 0 < np.count_nonzero(x) < 12, "some coordinates are in use, some not"


@given(seed=st.integers(0, 10**6), budget=st.sampled_from([0.1, 1.0, 1e3]))
def test_l1_quadratic_meets_its_conditions(seed, budget):
    """On the ball the slopes in use share one price, which no other exceeds; inside it all slopes are 0."""
    H, c = quadratic(seed)
    x = l1_quadratic(H, c, L1Ball(budget), np.zeros(12))
    slope, mass = c - H @ x, np.abs(x).sum()
    assert mass <= budget * (1 + 1e-9)
    used, price = x != 0, np.abs(slope).max()
    assert used.any() and np.all(slope[used] * np.sign(x[used]) >= price - 1e-6 * np.abs(c).max())
    assert price <= 1e-6 * np.abs(c).max() or mass >= budget * (1 - 1e-9)


@given(seed=st.integers(0, 10**6), warm=st.booleans(), sided=st.booleans())
@settings(max_examples=25)
def test_l1_quadratic_of_many_columns_that_look_alike(seed, warm, sided):
    """As neighbouring stumps do: what is dropped from a face at once must come back, some at a time or one by one."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.normal(size=300))
    columns = np.where(x > rng.normal(size=(200, 1)), 1.0, -1.0)
    y = np.where(rng.random(300) < 0.15, -1.0, 1.0) * np.sign(np.sin(2 * x))
    H, c = columns @ columns.T / 300 + 1e-4 * np.eye(200), columns @ y / 300
    start = rng.dirichlet(np.ones(200)) * (1.0 if sided else rng.choice([-1.0, 1.0], 200)) if warm else np.zeros(200)
    ball = L1Ball(3.0, np.full(200, sided))
    found = l1_quadratic(H, c, ball, start)
    slopes = c - H @ found
    assert np.abs(found).sum() <= 3 + 1e-9 and (not sided or found.min() >= 0)
    assert 3 * max(ball.gains(slopes).max(), 0.0) - slopes @ found <= 1e-9 * np.abs(c).max()
    assert (0 if sided else 10) < np.count_nonzero(found) < 200


@pytest.mark.parametrize(("function", "sentence"), [("dpotrf", "same length"), ("dposv", "dpotrf")])
def test_the_compiled_quadratic_checks_what_it_is_given(function, sentence):
    """Arrays that do not fit together; a function of LAPACK that takes other arguments."""
    c = np.ones(3 if function == "dpotrf" else 2)
    with pytest.raises(ValueError, match=sentence):
        kernels.minimise_quadratic(
            np.eye(2), c, 1.0, np.zeros(2, bool), np.zeros(2), cython_lapack.__pyx_capi__[function]
        )


def edge_constraints(seed: int, m: int, n: int, nu: float):
    """Columns, their caps, and the smallest limit that some d below the caps can meet (scipy's program)."""
    rng = np.random.default_rng(seed)
    columns, caps = np.where(rng.random((n, m)) < 0.6, 1.0, -1.0), np.full(m, min(1.0, 1 / (nu * m)))
    result = linprog(
        np.append(np.zeros(m), 1.0), A_ub=np.hstack([columns, -np.ones((n, 1))]), b_ub=np.zeros(n),
        A_eq=np.append(np.ones(m), 0.0)[None], b_eq=[1.0], bounds=[(0, c) for c in caps] + [(None, None)],
    )  # fmt: skip
    return columns, caps, float(result.fun)


def conic_projection(columns, caps, prior, limit) -> float:
    d = cp.Variable(columns.shape[1])
    return reference.conic(cp.sum(cp.rel_entr(d, prior)), [d >= 0, d <= caps, cp.sum(d) == 1, columns @ d <= limit])


@pytest.mark.parametrize("nu", [1e-3, 0.2, 0.6])
@pytest.mark.parametrize("room", [0.05, 1e-3])
@pytest.mark.parametrize("seed", range(3))
def test_the_entropy_projection_is_the_conic_one(nu, room, seed):
    columns, caps, least = edge_constraints(seed, 40, 15, nu)
    weights = np.random.default_rng(seed).integers(1, 4, 40).astype(float) if nu < 0.1 else np.ones(40)
    rows = Rows.of(weights)
    bound_set = (Simplex() if nu < 0.1 else Capped(nu=nu)).bind(rows)
    d, multipliers = entropy_projection(bound_set, columns, least + room)
    assert bound_set.contains(d) and (columns @ d).max() <= least + room + 1e-8
    expected = conic_projection(columns, caps, rows.prior, least + room)
    assert reference.kl(d, rows.prior) == pytest.approx(expected, abs=2e-6)
    assert multipliers.min() >= 0 and multipliers @ np.abs(columns @ d - least - room) <= 1e-8, "complementary"
    assert multipliers.max() > 0, "the prior itself is outside: there was something to do"


def test_a_warm_start_does_not_change_the_projection():
    columns, _, least = edge_constraints(4, 40, 15, 0.2)
    bound_set = Capped(nu=0.2).bind(Rows.of(40))
    _, before = entropy_projection(bound_set, columns[:12], least + 0.02)
    cold, _ = entropy_projection(bound_set, columns, least + 0.01)
    warm, _ = entropy_projection(bound_set, columns, least + 0.01, np.append(before, np.zeros(3)))
    np.testing.assert_allclose(warm, cold, atol=1e-7)


@pytest.mark.parametrize("nu", [0.05, 0.5])
@pytest.mark.parametrize("eta", [5.0, 200.0])
def test_the_entropy_regularised_master_is_the_conic_one(nu, eta):
    """max over the l1 ball of the smoothed margin = min over d of the largest |edge| + KL / eta."""
    rng = np.random.default_rng(3)
    columns, caps = rng.choice([-1.0, 1.0], (8, 30)), np.full(30, 1 / (nu * 30))
    loss = SoftMargin(Capped(nu=nu), eta).bind(Rows.of(30))
    w, z, _ = descend(loss, columns, np.zeros(8), L1Ball(1.0), 1e-8)
    x = cp.Variable(30)
    smallest = reference.conic(
        cp.norm_inf(columns @ x) + cp.sum(cp.rel_entr(x, np.full(30, 1 / 30))) / eta,
        [x >= 0, x <= np.minimum(caps, 1), cp.sum(x) == 1],
    )
    assert -loss.value(z) == pytest.approx(smallest, abs=1e-6) and np.abs(w).sum() <= 1 + 1e-12
    np.testing.assert_allclose(z, w @ columns, atol=1e-13)
    assert np.count_nonzero(w) > 1


def test_the_warm_program_is_the_cold_one():
    """Rows added in pieces, solved in between: the same value as scipy's program over all of them at once."""
    columns, caps, _ = edge_constraints(1, 30, 12, 0.3)
    program = EdgeProgram(caps)
    for first in range(0, 12, 3):
        program.add(columns[first : first + 3])
        d, w = program.solve()
        known = columns[: first + 3]
        value = optimum_by_scipy(known, caps)
        assert max((known @ d).max(), 0) == pytest.approx(value, abs=1e-9)
        assert reference.average_lowest(w @ known, caps) == pytest.approx(value, abs=1e-9), "the other side agrees"
    assert len(program) == 12


@given(seed=st.integers(0, 10**6), m=st.integers(1, 25), sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_rows_that_look_alike_are_one_variable(seed, m, sizes):
    """Whatever is added after whatever was solved: feasible weights, and one value on both sides, which proves it."""
    rng, known = np.random.default_rng(seed), np.empty((0, m))
    caps = rng.uniform(0.5, 3, m)
    caps *= rng.uniform(1, 4) / caps.sum()
    program = EdgeProgram(caps)
    for size in sizes:
        fresh = rng.choice([-1.0, 0.0, 0.5, 1.0], (size, m))
        known = np.concatenate([known, fresh])
        program.add(fresh)
        d, w = program.solve()
        assert abs(d.sum() - 1) <= 1e-12 and (d <= caps + 1e-9).all() and (d >= 0).all()
        value = reference.average_lowest(w @ known, caps)
        assert max((known @ d).max(), 0.0) == pytest.approx(value, abs=1e-8)


@given(seed=st.integers(0, 10**6))
def test_copies_of_a_row_are_the_same_program_as_its_weight(seed):
    rng = np.random.default_rng(seed)
    columns, copies = rng.choice([-1.0, 1.0], (9, 12)), rng.integers(1, 4, 12)
    caps = copies / (0.4 * copies.sum())
    weighted, copied = EdgeProgram(caps), EdgeProgram(np.repeat(caps / copies, copies))
    for first in range(0, 9, 3):
        weighted.add(columns[first : first + 3])
        copied.add(np.repeat(columns[first : first + 3], copies, axis=1))
        (d, w), (many, same) = weighted.solve(), copied.solve()
        np.testing.assert_allclose(same, w, atol=1e-12)
        np.testing.assert_allclose(np.add.reduceat(many, np.cumsum(copies) - copies), d, atol=1e-12)


def optimum_by_scipy(columns: np.ndarray, caps: np.ndarray) -> float:
    m = len(caps)
    return linprog(
        np.append(np.zeros(m), 1.0),
        A_ub=np.hstack([columns, -np.ones((len(columns), 1))]), b_ub=np.zeros(len(columns)),
        A_eq=np.append(np.ones(m), 0.0)[None], b_eq=[1.0], bounds=[(0, c) for c in caps] + [(0, None)],
    ).fun  # fmt: skip


def test_a_program_that_stalls_starts_afresh(monkeypatch):
    """As one with an old basis may: here every iteration is one too many."""
    monkeypatch.setattr("dualboost.master.cutting._AT_LEAST", 0)
    monkeypatch.setattr("dualboost.master.cutting._ENOUGH", 0)
    columns, caps, _ = edge_constraints(1, 30, 12, 0.3)
    program, cleared = EdgeProgram(caps), []
    monkeypatch.setattr(type(program._solver), "clearSolver", counted(type(program._solver).clearSolver, cleared))
    for first in (0, 6):
        program.add(columns[first : first + 6])
        d, _ = program.solve()
        assert max((columns[: first + 6] @ d).max(), 0) == pytest.approx(
            optimum_by_scipy(columns[: first + 6], caps), abs=1e-9
        )
    assert len(cleared) == 2


def counted(work, calls: list):
    def counting(*arguments):
        calls.append(arguments)
        return work(*arguments)

    return counting


@pytest.mark.parametrize("size", [2.0**-1000, 2.0**-200, 2.0**-30, 2.0**30, 2.0**60])
def test_a_program_does_not_hang_on_the_size_of_its_numbers(size):
    """The solver drops entries of 1e-9, refuses those of 1e15, and its tolerances are absolute."""
    rng, caps = np.random.default_rng(0), np.full(40, 1 / 12)
    columns = rng.normal(size=(9, 40)) + 0.5
    program = EdgeProgram(caps)
    for first in range(0, 9, 3):
        program.add(size * columns[first : first + 3])
        d, w = program.solve()
        known = columns[: first + 3]
        value = optimum_by_scipy(known, caps)
        assert (known @ d).max() == pytest.approx(value, abs=1e-9)
        assert reference.average_lowest(w @ known, caps) == pytest.approx(value, abs=1e-9)


def test_a_program_takes_the_smallest_numbers_there_are():
    program = EdgeProgram(np.full(40, 1 / 12))
    program.add(5e-324 * np.random.default_rng(0).integers(-3, 9, (3, 40)))
    d, w = program.solve()
    assert d.sum() == pytest.approx(1) and np.isfinite(w).all()


def test_a_program_takes_numbers_of_another_size_later():
    rng, caps = np.random.default_rng(1), np.full(40, 1 / 12)
    small, large = 1e-12 * rng.normal(size=(3, 40)), rng.normal(size=(3, 40)) + 0.5
    program = EdgeProgram(caps)
    program.add(small)
    program.solve()
    program.add(large)
    d, _ = program.solve()
    columns = np.concatenate([small, large])
    assert max((columns @ d).max(), 0) == pytest.approx(optimum_by_scipy(columns, caps), abs=1e-9)
    assert len(program) == 6


def test_a_program_that_the_solver_has_no_room_for_is_an_error_of_memory():
    program = EdgeProgram(np.full(4, 0.5))
    with pytest.raises(MemoryError, match="no memory left for a linear program"):
        program._check(program._highs.HighsStatus.kError)


def test_a_list_without_memory_is_an_error_of_memory():
    with pytest.raises(MemoryError), read_lists():
        raise RuntimeError("Could not allocate list object!")
    with pytest.raises(RuntimeError, match="something else"), read_lists():
        raise RuntimeError("something else")


# ---- kinds of rows --------------------------------------------------------------------------------------------------


def column_of(rng: np.random.Generator, kind: str, m: int) -> np.ndarray:
    values = {"votes": [-1.0, 1.0], "abstaining": [-1.0, 0.0, 1.0], "few": [-0.5, 0.25, 0.5, 1.0], "large": [-3.0, 2.0]}
    return rng.choice(values[kind], m) if kind in values else rng.uniform(-1, 1, m)


@given(
    seed=st.integers(0, 10**6),
    parts=st.lists(st.lists(st.sampled_from(["votes", "abstaining", "few", "large", "real"]), max_size=5), max_size=4),
)
def test_kinds_are_rows_that_no_column_tells_apart(seed, parts):
    """Against a dictionary of whole rows; kinds are numbered as they appear, and keep their numbers."""
    rng, m = np.random.default_rng(seed), 40
    kinds, met = Kinds(m), np.empty((0, m))
    for part in parts:
        before, known = kinds.of_row.copy(), len(kinds)
        columns = np.array([column_of(rng, kind, m) for kind in part]).reshape(len(part), m)
        parents = kinds.divide(columns)
        met = np.concatenate([met, columns])
        rows = [tuple(row) for row in met.T]
        first = [rows.index(row) for row in rows]
        np.testing.assert_array_equal(kinds.first[kinds.of_row], first)
        assert sorted(kinds.first) == sorted(set(first)) and len(kinds) == len(set(first))
        np.testing.assert_array_equal(parents, before[kinds.first[known:]])
        assert np.all(kinds.of_row[kinds.first[:known]] == np.arange(known)), "the first row keeps its number"
