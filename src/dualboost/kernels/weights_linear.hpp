// Linear passes over margins z and one hypothesis' column: how far it is, moving towards it, its edge.
#pragma once

#include "weights_shared.hpp"

namespace dualboost::weights {

template <class T>
DUALBOOST_INLINE void spread_lanes(const double *z, const T *column, int width, double sign, double *furthest,
                                   double *spoilt) {
    for (int l = 0; l < width; ++l) {
        double distance = std::fabs(sign * static_cast<double>(column[l]) - z[l]);
        furthest[l] = distance > furthest[l] ? distance : furthest[l];
        spoilt[l] += distance * 0.0;  // NaN as soon as one distance is not finite
    }
}

// NaN when an entry is not finite.
template <class T> DUALBOOST_INLINE double spread_body(const double *z, const T *column, int64_t n, double sign) {
    double furthest[kLanes] = {}, spoilt[kLanes] = {};
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) spread_lanes(z + j, column + j, kLanes, sign, furthest, spoilt);
    spread_lanes(z + j, column + j, static_cast<int>(n - j), sign, furthest, spoilt);
    return *std::max_element(furthest, furthest + kLanes) + fold(spoilt);
}

template <class T>
DUALBOOST_INLINE void move_body(const double *z, const T *column, int64_t n, double keep, double step, double *out) {
    for (int64_t i = 0; i < n; ++i) out[i] = keep * z[i] + step * static_cast<double>(column[i]);
}

template <class T> DUALBOOST_INLINE double dot_body(const double *a, const T *column, int64_t n) {
    double lanes[kLanes] = {};
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes)
        for (int l = 0; l < kLanes; ++l) lanes[l] += a[j + l] * static_cast<double>(column[j + l]);
    for (int l = 0; j + l < n; ++l) lanes[l] += a[j + l] * static_cast<double>(column[j + l]);
    return fold(lanes);
}

// Only plain functions are compiled for each machine, hence one per type of column.
DUALBOOST_CLONES inline double spread_chunk(const double *z, const int8_t *column, int64_t n, double sign) {
    return spread_body(z, column, n, sign);
}
DUALBOOST_CLONES inline double spread_chunk(const double *z, const double *column, int64_t n, double sign) {
    return spread_body(z, column, n, sign);
}
DUALBOOST_CLONES inline void move_chunk(const double *z, const int8_t *column, int64_t n, double keep, double step,
                                        double *out) {
    move_body(z, column, n, keep, step, out);
}
DUALBOOST_CLONES inline void move_chunk(const double *z, const double *column, int64_t n, double keep, double step,
                                        double *out) {
    move_body(z, column, n, keep, step, out);
}
DUALBOOST_CLONES inline double dot_chunk(const double *a, const int8_t *column, int64_t n) {
    return dot_body(a, column, n);
}
DUALBOOST_CLONES inline double dot_chunk(const double *a, const double *column, int64_t n) {
    return dot_body(a, column, n);
}

DUALBOOST_CLONES inline void centre_column(double *column, const double *factors, int64_t n, double centre) {
    for (int64_t i = 0; i < n; ++i) column[i] = (column[i] - centre) * factors[i];
}

template <class T> double spread_of(const double *z, const T *column, int64_t m, double sign, int threads) {
    std::vector<double> parts(static_cast<size_t>(chunk_count(m)));
    over_chunks(m, threads, [&](int64_t k, int64_t begin, int64_t n) {
        parts[static_cast<size_t>(k)] = spread_chunk(z + begin, column + begin, n, sign);
    });
    double furthest = 0;
    for (double part : parts) {
        require(std::isfinite(part), "z and column must be finite.");
        furthest = std::max(furthest, part);
    }
    return furthest;
}

template <class T>
void move_to(const double *z, const T *column, int64_t m, double keep, double step, double *out, int threads) {
    over_chunks(m, threads, [&](int64_t, int64_t begin, int64_t n) {
        move_chunk(z + begin, column + begin, n, keep, step, out + begin);
    });
}

template <class T> double dot_of(const double *a, const T *column, int64_t m, int threads) {
    std::vector<double> parts(static_cast<size_t>(chunk_count(m)));
    over_chunks(m, threads, [&](int64_t k, int64_t begin, int64_t n) {
        parts[static_cast<size_t>(k)] = dot_chunk(a + begin, column + begin, n);
    });
    double sum = 0;
    for (double part : parts) sum += part;
    require(std::isfinite(sum), "The vector and the column must be finite.");
    return sum;
}

}  // namespace dualboost::weights
