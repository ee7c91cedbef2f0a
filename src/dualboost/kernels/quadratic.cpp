// A convex quadratic over the l1 ball or over x >= 0, by an active set (in the manner of Lawson and Hanson).
// The faces have tens or hundreds of coordinates and are visited thousands of times: in Python the calls would cost
// more than the arithmetic, and a factor made anew for each face more than all the rest.
#include "cholesky.hpp"

namespace dualboost {
namespace {

// SciPy names its capsules by their C types, where its own name of double is mangled.
Potrf potrf_of(const nb::capsule &capsule) {
    const std::string name = capsule.name() ? capsule.name() : "";
    require(name.rfind("void (char *, int *, ", 0) == 0 && std::count(name.begin(), name.end(), ',') == 4,
            "potrf is the capsule of dpotrf in scipy.linalg.cython_lapack.");
    return reinterpret_cast<Potrf>(capsule.data());
}

struct Quadratic {
    const double *H, *c;
    int n;
    double budget, ridge;
    const bool *directed;  // x >= 0 there
    Potrf potrf;
};

class Faces {
public:
    Faces(const Quadratic &problem, double *x)
        : p(problem), x(x), slope(problem.n), sign(problem.n), factor(p.H, p.n, p.ridge, p.potrf), used(factor.used()) {
        for (int j = 0; j < p.n; ++j) sign[j] = x[j] > 0 ? 1 : x[j] < 0 ? -1 : 0;
    }

    // From face to face. Each visit to a new face lowers the value, which makes it end. False: H is not convex.
    bool run() {
        double largest = 0.0;
        for (int j = 0; j < p.n; ++j) largest = std::max(largest, std::abs(p.c[j]));
        int some = kSome;
        size_t before = 0;
        for (int visit = 0; visit < 20 * p.n + 20; ++visit) {
            // All at once finds most of the face, or drops too much of it; some at a time bring that back; one by one
            // is what is sure to end.
            const bool at_once = visit < kAtOnce;
            double price = 0.0;
            if (!minimise_on_face(at_once, price)) return false;
            if (!at_once) some = used.size() > before ? std::min(2 * some, kSome) : std::max(1, some / 4);
            before = used.size();
            differentiate();
            if (!enter(at_once ? p.n : some, price + 1e-12 * largest)) break;
        }
        return true;
    }

private:
    static constexpr int kAtOnce = 2, kSome = 64;
    const Quadratic &p;
    double *x;
    std::vector<double> slope;
    std::vector<int> sign, outside;
    Cholesky factor;
    const std::vector<int> &used;
    std::vector<double> target, pull;  // over the face: where to go, and how the budget pulls at it

    // Moves x to the minimiser over the coordinates of these signs, dropping those that turn.
    bool minimise_on_face(bool at_once, double &price) {
        while (true) {
            if (!factor.follow([this](int j) { return sign[j] != 0; })) return false;
            if (used.empty()) return true;
            solve_face(price);
            if (at_once ? !drop_turned() : !walk_to_turn()) return true;
            price = 0.0;
        }
    }

    // target = argmin over the face with sum(sign * x) <= budget; the price is the multiplier of that constraint.
    void solve_face(double &price) {
        const size_t k = used.size();
        target.resize(k);
        pull.resize(k);
        for (size_t a = 0; a < k; ++a) {
            target[a] = p.c[used[a]];
            pull[a] = sign[used[a]];
        }
        factor.solve(target.data());
        factor.solve(pull.data());
        const double mass = along_signs(target), pulled = along_signs(pull);
        price = std::max(0.0, (mass - p.budget) / pulled);
        double due = price;
        if (mass > 1e3 * p.budget) {
            // Nearly linear: the difference of two huge solutions is noise, the solution of the difference is not.
            for (size_t a = 0; a < k; ++a) target[a] = p.c[used[a]] - price * sign[used[a]];
            factor.solve(target.data());
            due = (along_signs(target) - p.budget) / pulled;
            price = std::max(0.0, price + due);
        }
        for (size_t a = 0; a < k; ++a) target[a] -= due * pull[a];
    }

    double along_signs(const std::vector<double> &values) const {
        double sum = 0.0;
        for (size_t a = 0; a < used.size(); ++a) sum += sign[used[a]] * values[a];
        return sum;
    }

    bool turns(size_t a) const { return target[a] * sign[used[a]] < 0; }

    void leave(int j) {
        x[j] = 0.0;
        sign[j] = 0;
    }

    // To the target, or away with all that would turn: true if there were any.
    bool drop_turned() {
        bool any = false;
        for (size_t a = 0; a < used.size(); ++a) any = any || turns(a);
        for (size_t a = 0; a < used.size(); ++a) {
            if (!any) x[used[a]] = target[a];
            else if (turns(a)) leave(used[a]);
        }
        return any;
    }

    // Towards the target, as far as the first coordinate that would turn; that one leaves.
    bool walk_to_turn() {
        double share = 1.0;
        for (size_t a = 0; a < used.size(); ++a)
            if (turns(a)) share = std::min(share, share_of(a));
        bool any = false;
        for (size_t a = 0; a < used.size(); ++a) {
            const bool first = turns(a) && share_of(a) == share;
            any = any || turns(a);
            if (first) leave(used[a]);
            else x[used[a]] += share * (target[a] - x[used[a]]);
        }
        return any;
    }

    double share_of(size_t a) const { return x[used[a]] / (x[used[a]] - target[a]); }

    // slope = c - H x
    void differentiate() {
        std::copy(p.c, p.c + p.n, slope.begin());
        for (const int j : used) {
            if (!sign[j]) continue;
            const double *row = p.H + static_cast<int64_t>(j) * p.n;
            const double at = x[j];
            for (int i = 0; i < p.n; ++i) slope[i] -= at * row[i];
            slope[j] -= at * p.ridge;
        }
    }

    // Of those whose slope beats the price of the budget the best enter, so many at most.
    bool enter(int most, double price) {
        outside.clear();
        for (int j = 0; j < p.n; ++j)
            if (!sign[j] && gain(j) > price) outside.push_back(j);
        if (outside.size() > static_cast<size_t>(most)) {
            std::nth_element(outside.begin(), outside.begin() + most, outside.end(),
                             [this](int i, int j) { return gain(i) != gain(j) ? gain(i) > gain(j) : i < j; });
            outside.resize(most);
        }
        for (const int j : outside) sign[j] = slope[j] > 0 ? 1 : -1;
        return !outside.empty();
    }

    double gain(int j) const { return p.directed[j] ? slope[j] : std::abs(slope[j]); }
};

// x, in place: argmin of x'Hx/2 - c'x over |x|_1 <= budget, x >= 0 where directed; false if H is not convex.
bool minimise_quadratic(Grid<const double> H, Vector<const double> c, double budget, Vector<const bool> directed,
                        Vector<double> x, nb::capsule potrf) {
    const size_t n = x.shape(0);
    require(n < (1u << 15), "A quadratic has at most 32,767 variables.");
    require(H.shape(0) == n && H.shape(1) == n && c.shape(0) == n && directed.shape(0) == n,
            "H, c, directed and x must have the same length.");
    require(budget > 0, "The budget must be positive.");
    double largest = 0.0;
    for (size_t j = 0; j < n; ++j) largest = std::max(largest, H.data()[j * n + j]);
    if (!(largest > 0)) largest = 1.0;
    const Quadratic problem{H.data(),        c.data(),        static_cast<int>(n), budget,
                            1e-13 * largest, directed.data(), potrf_of(potrf)};
    nb::gil_scoped_release free;
    return Faces(problem, x.data()).run();
}

}  // namespace

void bind_quadratic(nb::module_ &m) {
    m.def("minimise_quadratic", &minimise_quadratic, nb::arg("H").noconvert(), nb::arg("c").noconvert(),
          nb::arg("budget"), nb::arg("directed").noconvert(), nb::arg("x").noconvert(), nb::arg("potrf"));
}

}  // namespace dualboost
