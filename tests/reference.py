"""Slow, obvious twins of what the library computes. They share no code with it: sorts, programs, loops."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.special import xlogy

# ---- distributions under caps ---------------------------------------------------------------------------------------


def average_lowest(v: np.ndarray, caps: np.ndarray) -> float:
    """min <d, v> over {0 <= d <= caps, sum d = 1}: fill the smallest entries first."""
    left, value = 1.0, 0.0
    for i in np.argsort(v, kind="stable"):
        share = min(left, caps[i])
        value += share * v[i]
        left -= share
    return value


def best_level(v: np.ndarray, caps: np.ndarray) -> float:
    """The same number as max over g of g - sum of caps_i [g - v_i]_+ (Corollary 5), attained at some g = v_i."""
    return max(g - caps @ np.maximum(g - v, 0) for g in v)


def entropic_by_sorting(z: np.ndarray, eta: float, caps: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """argmin <d, z> + KL(d | prior) / eta under caps: section 1.5(2), in log space, by one sort."""
    theta = np.log(prior) - eta * z
    order = np.argsort(-(theta - np.log(caps)), kind="stable")
    d = caps.astype(float).copy()
    for position in range(len(z)):
        free, left = order[position:], 1.0 - caps[order[:position]].sum()
        top = theta[free].max()
        x = np.exp(theta[free] - top)
        if left <= 0 or left * x[0] / x.sum() <= caps[order[position]]:
            d[free] = max(left, 0.0) * x / x.sum()
            return d
    return d


def entropic_residual(d, z, eta, caps, prior, atol=1e-13) -> float:
    """How far d is from the optimality conditions: free rows share one multiplier, rows at their cap lie below it.

    The multiplier of row i is log(d_i / prior_i) + eta z_i. Rows that underflowed to 0 say nothing. Relative to
    |eta z|, which is what rounding of the exponent costs.
    """
    positive = d > 1e-250
    multiplier = np.log(d[positive] / prior[positive]) + eta * z[positive]
    capped = d[positive] >= caps[positive] * (1 - atol)
    scale = 1.0 + np.abs(eta * z).max()
    free = multiplier[~capped]
    if free.size == 0:
        return 0.0
    worst = float(free.max() - free.min())
    if capped.any():
        worst = max(worst, float(multiplier[capped].max() - free.min()))
    return worst / scale


def euclidean_by_bisection(v: np.ndarray, caps: np.ndarray, copies: np.ndarray | float = 1.0) -> np.ndarray:
    """The nearest point of {0 <= d <= caps, sum d = 1}: d = clip(v - tau * copies, 0, caps), tau by 200 halvings."""
    low, high = ((v - 1.0 - caps.max()) / copies).min(), (v / copies).max()
    for _ in range(200):
        tau = (low + high) / 2
        low, high = (tau, high) if np.clip(v - tau * copies, 0, caps).sum() >= 1 else (low, tau)
    return np.clip(v - (low + high) / 2 * copies, 0, caps)


def random_points(caps: np.ndarray, count: int, seed: int) -> list[np.ndarray]:
    """Points inside the capped simplex: mixtures of greedy fillings in random order, and the fillings themselves."""
    rng = np.random.default_rng(seed)
    vertices = []
    for _ in range(count):
        d, left = np.zeros(len(caps)), 1.0
        for i in rng.permutation(len(caps)):
            d[i] = min(left, caps[i])
            left -= d[i]
        vertices.append(d)
    mixtures = [rng.dirichlet(np.ones(count)) @ np.array(vertices) for _ in range(count)]
    return vertices + mixtures


def kl(d: np.ndarray, prior: np.ndarray) -> float:
    return float(sum(x * np.log(x / p) for x, p in zip(d, prior, strict=True) if x > 0))


# ---- conic programs -------------------------------------------------------------------------------------------------


def conic(minimand, constraints) -> float:
    """The optimal value by Clarabel; refuses anything short of optimal, so that no comparison passes in silence."""
    import cvxpy as cp

    value = cp.Variable()  # as an epigraph: the value is not recomputed at entries that are a hair below 0
    problem = cp.Problem(cp.Minimize(value), [minimand <= value, *constraints])
    for accuracy in (1e-10, 1e-8):  # not every cone gets as far as the first
        with warnings.catch_warnings(action="ignore"):
            problem.solve(solver=cp.CLARABEL, tol_gap_abs=accuracy, tol_gap_rel=accuracy, tol_feas=accuracy)
        if problem.status == "optimal":
            return float(value.value)
    raise AssertionError(problem.status)


def conic_loss(A, prior, budget, kind: str) -> float:
    """min of the mean logistic or exponential loss over |w|_1 <= budget."""
    import cvxpy as cp

    w = cp.Variable(A.shape[1])
    per_row = cp.logistic(-A @ w) if kind == "logistic" else cp.exp(-A @ w)
    return conic(prior @ per_row, [cp.norm1(w) <= budget])


# ---- models of sets -------------------------------------------------------------------------------------------------


class Model:
    """A set of row weights for rows of given sample weights, said plainly. By default the simplex at no price.

    `caps` bounds each row; `exact` says that d is determined by caps alone, so that sorting and linear programs apply.
    """

    exact = True

    def __init__(self, weights: np.ndarray, caps: np.ndarray | None = None):
        self.weights = np.asarray(weights, dtype=float)
        self.prior = self.weights / self.weights.sum()
        self.caps = np.ones(len(weights)) if caps is None else np.minimum(caps, 1.0)

    def price(self, d: np.ndarray) -> float:
        return 0.0

    def inside(self, d: np.ndarray, atol: float = 1e-12) -> bool:
        return bool(np.all(d >= 0) and np.all(d <= self.caps * (1 + 1e-14) + 1e-16) and abs(d.sum() - 1) <= atol)

    def relaxed_margin(self, z: np.ndarray) -> float:
        return average_lowest(z, self.caps)

    def divergence(self, d: np.ndarray) -> float:
        return kl(d, self.prior)

    def largest_divergence(self) -> float:
        return float(np.log((self.caps / self.prior).max()))

    def points(self, count: int, seed: int) -> list[np.ndarray]:
        return random_points(self.caps, count, seed)

    # the same for the conic solver: expressions of a variable d

    def cost_expression(self, d):
        return 0.0

    def limits(self, d) -> list:
        import cvxpy as cp

        return [d >= 0, d <= self.caps, cp.sum(d) == 1]

    def divergence_expression(self, d):
        import cvxpy as cp

        return cp.sum(cp.rel_entr(d, self.prior))

    def conic_entropic(self, z: np.ndarray, eta: float) -> float:
        import cvxpy as cp

        d = cp.Variable(len(z))
        return conic(z @ d + self.cost_expression(d) + self.divergence_expression(d) / eta, self.limits(d))

    def conic_euclidean(self, v: np.ndarray) -> float:
        import cvxpy as cp

        d = cp.Variable(len(v))
        distance = (1 / self.weights) @ cp.square(d - v) / 2
        return conic(distance + self.cost_expression(d), self.limits(d))

    def conic_game(self, A: np.ndarray) -> float:
        """min over d of the largest |edge| plus the price: what no ensemble of weight 1 exceeds."""
        import cvxpy as cp

        d = cp.Variable(len(A))
        return conic(cp.norm_inf(A.T @ d) + self.cost_expression(d), self.limits(d))

    def game_value(self, A: np.ndarray) -> float:
        return lp_smallest_edge(A, self.caps) if self.exact else self.conic_game(A)


class NormModel(Model):
    """|d|_p <= limit, or the price nu |d|_p. Weight k is k entries of d/k: |d| = (sum of k^(1-p) d^p)^(1/p)."""

    exact = False

    def __init__(self, weights: np.ndarray, p: float, limit: float = np.inf, nu: float = 0.0):
        super().__init__(weights)
        self.p, self.limit, self.nu = p, limit, nu
        self.scale = 1 / self.weights if p == np.inf else self.weights ** ((1 - p) / p)

    def norm(self, d: np.ndarray) -> float:
        return float(np.linalg.norm(self.scale * d, self.p))

    def dual(self, x: np.ndarray) -> float:
        q = 1.0 if self.p == np.inf else np.inf if self.p == 1 else self.p / (self.p - 1)
        return float(np.linalg.norm(x / self.scale, q))

    def price(self, d):
        return self.nu * self.norm(d) if self.nu else 0.0

    def inside(self, d, atol=1e-12):
        return super().inside(d, atol) and self.norm(d) <= self.limit * (1 + 1e-11)

    def relaxed_margin(self, z):
        """max over g of g - limit |[g - z]_+|_dual by golden section; or the largest g with |[g - z]_+|_dual <= nu."""
        low, high = float(z.min()), float(z.min()) + 1e4 * (1 + float(np.ptp(z)))
        if self.nu:
            high = low + self.nu + 1
            for _ in range(100):
                g = (low + high) / 2
                low, high = (g, high) if self.dual(np.maximum(g - z, 0)) <= self.nu else (low, g)
            return low
        gain = lambda g: g - self.limit * self.dual(np.maximum(g - z, 0))  # noqa: E731
        golden = (5**0.5 - 1) / 2
        for _ in range(120):
            left, right = high - golden * (high - low), low + golden * (high - low)
            low, high = (left, high) if gain(left) < gain(right) else (low, right)
        return gain((low + high) / 2)

    def points(self, count, seed):
        """Points of the simplex, drawn towards the prior until the norm fits."""
        return [self.prior + self._share(d) * (d - self.prior) for d in super().points(count, seed)]

    def _share(self, d: np.ndarray) -> float:
        if self.norm(d) <= self.limit:
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (
                (middle, high) if self.norm(self.prior + middle * (d - self.prior)) <= self.limit else (low, middle)
            )
        return low

    def cost_expression(self, d):
        return self.nu * self._norm_expression(d) if self.nu else 0.0

    def limits(self, d):
        return super().limits(d) + ([self._norm_expression(d) <= self.limit] if self.limit < np.inf else [])

    def _norm_expression(self, d):
        import cvxpy as cp

        return cp.norm(cp.multiply(self.scale, d), "inf" if self.p == np.inf else self.p)


class GroupsModel(Model):
    """The total weight of each group within limits; by linear programs."""

    exact = False

    def __init__(self, weights, groups, caps: dict, floors: dict, row_caps=None):
        super().__init__(weights, row_caps)
        self.labels = np.unique(groups)
        self.member = np.array([np.asarray(groups) == label for label in self.labels]).astype(float)
        self.high = np.array([caps.get(label, 1.0) for label in self.labels.tolist()])
        self.low = np.array([floors.get(label, 0.0) for label in self.labels.tolist()])

    def inside(self, d, atol=1e-12):
        total = self.member @ d
        return super().inside(d, atol) and np.all(total <= self.high + atol) and np.all(total >= self.low - atol)

    def _lowest(self, z):
        both = np.vstack([self.member, -self.member])
        scale = np.abs(z).max() or 1.0
        bounds, ones = [(0, c) for c in self.caps], np.ones((1, len(z)))
        value, d = _optimum(z / scale, both, np.concatenate([self.high, -self.low]), bounds, ones, [1.0])
        return scale * value, d

    def relaxed_margin(self, z):
        return self._lowest(z)[0]

    def largest_divergence(self):
        """No row weighs more than it may, nor more than its group: log of the largest limit over the prior."""
        limit = np.minimum(self.caps, self.high @ self.member)
        return float(np.log((limit / self.prior).max()))

    def points(self, count, seed):
        rng = np.random.default_rng(seed)
        corners = [np.clip(self._lowest(rng.normal(size=len(self.caps)))[1], 0, self.caps) for _ in range(count)]
        corners = [d / d.sum() for d in corners]
        return corners + [rng.dirichlet(np.ones(count)) @ np.array(corners) for _ in range(count)]

    def limits(self, d):
        return [*super().limits(d), self.member @ d <= self.high, self.member @ d >= self.low]


class BinaryEntropyModel(Model):
    """The simplex with the binary entropy, summed over copies of d/k each."""

    exact = False

    def divergence(self, d):
        def entropy(d):
            x = d / self.weights
            return float(self.weights @ (xlogy(x, x) + xlogy(1 - x, 1 - x)))

        return entropy(d) - entropy(self.prior)

    def largest_divergence(self):
        M = self.weights.sum()
        return float(np.log(M) + (M - 1) * np.log(M / (M - 1))) if M > 1 else 0.0

    def divergence_expression(self, d):
        import cvxpy as cp

        M, x = self.weights.sum(), cp.multiply(1 / self.weights, d)
        least = self.weights.sum() * (xlogy(1 / M, 1 / M) + xlogy(1 - 1 / M, 1 - 1 / M))
        return -self.weights @ (cp.entr(x) + cp.entr(1 - x)) - least


# ---- linear programs over a matrix ----------------------------------------------------------------------------------


def lp_smallest_edge(A: np.ndarray, caps: np.ndarray) -> float:
    """min over the capped d of the largest |edge|: the left side of Theorem 4 and Corollary 5."""
    m, n = A.shape
    edges = np.block([[A.T, -np.ones((n, 1))], [-A.T, -np.ones((n, 1))]])
    total = np.append(np.ones(m), 0.0)[None]
    bounds = [(0, c) for c in caps] + [(0, None)]
    return _optimum(np.append(np.zeros(m), 1.0), edges, np.zeros(2 * n), bounds, total, [1.0])[0]


def lp_largest_margin(A: np.ndarray, caps: np.ndarray) -> tuple[float, np.ndarray]:
    """max over |w|_1 <= 1 of the relaxed margin of A w, with the w: the right side, g - sum of caps_i xi_i."""
    m, n = A.shape
    # variables w+, w-, g, xi;   g - (A w)_i - xi_i <= 0
    slack = np.hstack([-A, A, np.ones((m, 1)), -np.eye(m)])
    mass = np.concatenate([np.ones(2 * n), np.zeros(1 + m)])[None]
    cost = np.concatenate([np.zeros(2 * n), [-1.0], caps])
    bounds = [(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * m
    value, x = _optimum(cost, np.vstack([slack, mass]), np.append(np.zeros(m), 1.0), bounds)
    return -value, x[:n] - x[n : 2 * n]


def lp_relaxed_margin(v: np.ndarray, caps: np.ndarray) -> float:
    scale = np.abs(v).max() or 1.0  # the solver's tolerances are absolute
    return scale * _optimum(v / scale, None, None, [(0, c) for c in caps], np.ones((1, len(v))), [1.0])[0]


# Margins that differ by 1e-8 are different: HiGHS' own tolerance of 1e-7 would take them for equal.
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def _optimum(cost, A_ub, b_ub, bounds, A_eq=None, b_eq=None) -> tuple[float, np.ndarray]:
    result = linprog(cost, A_ub=A_ub, b_ub=b_ub, A_eq=A_eq, b_eq=b_eq, bounds=bounds, method="highs", options=TIGHT)
    assert result.status == 0, result.message
    return float(result.fun), result.x


# ---- the corrective algorithm ---------------------------------------------------------------------------------------


@dataclass
class SlowRound:
    w: np.ndarray
    d: np.ndarray
    gap: float
    step: float


def slow_corrective(A, caps, prior, tol, radius, n_rounds) -> list[SlowRound]:
    """Figure 1 with the closed step, on the signed columns of A, as in section 1.4; section 9's tie rule."""
    beta, w, trace = tol / (2 * radius), np.zeros(A.shape[1]), []
    for _ in range(n_rounds):
        v = A @ w
        d = entropic_by_sorting(v, 1 / beta, caps, prior)
        edges = A.T @ d
        j = int(np.flatnonzero(np.abs(edges) >= np.abs(edges).max() - 1e-12)[0])
        sign = 1.0 if edges[j] >= 0 else -1.0
        gap = abs(edges[j]) - d @ v
        u = sign * A[:, j] - v
        step = float(np.clip(beta * gap / np.abs(u).max() ** 2, 0, 1))
        trace.append(SlowRound(w.copy(), d, float(gap), step))
        w = (1 - step) * w
        w[j] += step * sign
    return trace


# ---- the class of stumps --------------------------------------------------------------------------------------------


def all_stumps(X: np.ndarray) -> list[tuple[tuple[int, int, int], np.ndarray]]:
    """Every stump in index order with its values h(x): the constant, then (feature, cut, missing_right)."""
    out = [((-1, 0, 0), np.ones(len(X)))]
    for feature, x in enumerate(np.asarray(X, dtype=float).T):
        missing = np.isnan(x)
        values = np.unique(x[~missing])
        for cut in range(len(values) - 1):
            above = np.where(x > values[cut], 1.0, -1.0)
            for side in (0, 1) if missing.any() else (0,):
                out.append(((feature, cut, side), np.where(missing, 1.0 if side else -1.0, above)))
        if missing.any() and len(values):  # missing everywhere is a constant column: no stumps
            out.append(((feature, len(values) - 1, 1), np.where(missing, 1.0, -1.0)))
    return out


def all_columns(X) -> list[tuple[int, np.ndarray]]:
    """Every column of a matrix in index order."""
    dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    return list(enumerate(dense.T))


def all_subsets(X: np.ndarray) -> list[tuple[tuple[int, int], np.ndarray]]:
    """Every subset of the categories of each column, without the lowest one: the constant, then by column and number.

    The number of a subset has a bit for each category by its place among those present; missing is bit 255.
    """
    out = [((-1, 0), np.ones(len(X)))]
    for feature, x in enumerate(np.asarray(X, dtype=float).T):
        missing, values = np.isnan(x), np.unique(x[~np.isnan(x)])
        free = [
            *((k, x == value) for k, value in enumerate(values) if k > 0),
            *([(255, missing)] if missing.any() else []),
        ]
        if not free or not len(values):
            continue
        for chosen in range(2 ** len(free)):
            parts = [free[b] for b in range(len(free)) if chosen >> b & 1]
            inside = np.any([where for _, where in parts], axis=0) if parts else np.zeros(len(x), dtype=bool)
            out.append(((feature, sum(1 << bit for bit, _ in parts)), np.where(inside, 1.0, -1.0)))
    return out
