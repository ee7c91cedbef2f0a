// The Cholesky factor of a submatrix that changes by a few rows at a time.
// A face of an active set differs from the last one by a coordinate or two: to append or to remove one costs k^2, to
// factor anew k^3. Many changes at once are left to LAPACK, by the function pointer that SciPy publishes.
#pragma once

#include "common.hpp"

namespace dualboost {

using Potrf = void (*)(char *, int *, double *, int *, int *);

class Cholesky {
public:
    // Of H + ridge, H of n rows, both triangles filled.
    Cholesky(const double *H, int n, double ridge, Potrf potrf)
        : H(H), n(n), ridge(ridge), potrf(potrf), L(new double[static_cast<size_t>(n) * n]), place(n, -1) {}

    const std::vector<int> &used() const { return order; }

    // Brings the factor to the coordinates j with wanted(j). False: that submatrix is not positive definite.
    template <class Wanted> bool follow(Wanted wanted) {
        int leaving = 0, entering = 0;
        for (int j = 0; j < n; ++j) {
            leaving += place[j] >= 0 && !wanted(j);
            entering += place[j] < 0 && wanted(j);
        }
        if (leaving + entering > 2 + static_cast<int>(order.size()) / 16) return anew(wanted);
        for (int j = 0; j < n; ++j)
            if (place[j] >= 0 && !wanted(j)) remove(place[j]);
        for (int j = 0; j < n; ++j)
            // What rounding has added up over many changes a fresh start takes away.
            if (place[j] < 0 && wanted(j) && !append(j)) return anew(wanted);
        return true;
    }

    // x, in place: the solution of (the submatrix) x = x, in the order of used().
    void solve(double *x) const {
        const int k = static_cast<int>(order.size());
        forward(x, k);
        for (int a = k - 1; a >= 0; --a) {
            const double *row = at(a);
            const double value = x[a] /= row[a];
            for (int b = 0; b < a; ++b) x[b] -= value * row[b];
        }
    }

private:
    const double *H;
    int n;
    double ridge;
    Potrf potrf;
    std::unique_ptr<double[]> L;  // lower triangle by rows, n apart; what no face needs is never touched
    std::vector<int> order, place;
    std::vector<std::pair<double, double>> turns;

    double *at(int row) { return L.get() + static_cast<int64_t>(row) * n; }
    const double *at(int row) const { return L.get() + static_cast<int64_t>(row) * n; }

    template <class Wanted> bool anew(Wanted wanted) {
        order.clear();
        for (int j = 0; j < n; ++j) {
            place[j] = wanted(j) ? static_cast<int>(order.size()) : -1;
            if (wanted(j)) order.push_back(j);
        }
        int k = static_cast<int>(order.size()), apart = n, failed = 0;
        for (int a = 0; a < k; ++a) gather(order[a], a, at(a));
        char triangle = 'U';  // ours by rows is LAPACK's by columns
        if (k) potrf(&triangle, &k, at(0), &apart, &failed);
        return !failed;
    }

    // The entries of row j of H at the first `count` coordinates in use, then its own.
    void gather(int j, int count, double *out) const {
        const double *row = H + static_cast<int64_t>(j) * n;
        for (int b = 0; b < count; ++b) out[b] = row[order[b]];
        out[count] = row[j] + ridge;
    }

    bool append(int j) {
        const int k = static_cast<int>(order.size());
        double *row = at(k);
        gather(j, k, row);
        forward(row, k);
        const double left = row[k] - dot(row, row, k);
        // Less is left than rounding can tell from nothing.
        if (!(left > 1e-12 * row[k])) return false;
        row[k] = std::sqrt(left);
        place[j] = k;
        order.push_back(j);
        return true;
    }

    // Takes a row out; the rows below stand out by one column, which rotations turn back in.
    void remove(int gone) {
        const int k = static_cast<int>(order.size());
        place[order[gone]] = -1;
        turns.clear();
        for (int r = gone; r + 1 < k; ++r) {
            double *row = at(r);
            std::copy(at(r + 1), at(r + 1) + r + 2, row);
            for (int c = gone; c < r; ++c) rotate(row + c, turns[c - gone]);
            const double length = std::hypot(row[r], row[r + 1]);
            turns.emplace_back(row[r] / length, row[r + 1] / length);
            row[r] = length;
            order[r] = order[r + 1];
            place[order[r]] = r;
        }
        order.pop_back();
    }

    static void rotate(double *pair, const std::pair<double, double> &turn) {
        const double first = pair[0];
        pair[0] = turn.first * first + turn.second * pair[1];
        pair[1] = turn.first * pair[1] - turn.second * first;
    }

    // x, in place: the solution of L x = x over the first k rows.
    void forward(double *x, int k) const {
        for (int a = 0; a < k; ++a) x[a] = (x[a] - dot(at(a), x, a)) / at(a)[a];
    }

    static double dot(const double *a, const double *b, int count) {
        double sums[4] = {};  // one sum would wait for itself
        int i = 0;
        for (; i + 4 <= count; i += 4)
            for (int lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
        for (; i < count; ++i) sums[0] += a[i] * b[i];
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
};

}  // namespace dualboost
