// What the kernels on row weights share: lanes for sums, per-row numbers that may be one number, samples, partition.
#pragma once

#include "common.hpp"

#include <array>
#include <memory>
#include <optional>
#include <utility>

namespace dualboost {

// Sums run in this many independent lanes that are folded at the end. The order of additions is then fixed by the
// source, not by the vector width of the machine. More lanes than the compiler would unroll, so that it vectorises.
constexpr int kLanes = 32;
// Below this many rows a thread costs more than it brings, and giving the interpreter away costs more than holding it.
constexpr int64_t kRowsForThreads = 1 << 16;
constexpr int64_t kRowsForRelease = 1 << 13;
// The caps sum to one, up to this: then the caps themselves are the only feasible point.
constexpr double kFullMass = 1e-12;
// A result whose sum is this close to one is exact for all practical purposes: rounding alone makes this difference.
constexpr double kSumTolerance = 2e-15;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// 1 or 0: sums of products with masks vectorise where choices become branches.
DUALBOOST_INLINE double mask(bool condition) { return condition ? 1.0 : 0.0; }

// exp(x) for x <= 709, to about one unit in the last place; 0 below -708. As fast_exp, with a minimax polynomial (relative
// error 1e-17) evaluated as a tree: a chain of eleven dependent steps would leave the arithmetic units waiting.
DUALBOOST_INLINE double tree_exp(double x) {
    constexpr double log2e = 1.4426950408889634, ln2_hi = 6.93147180369123816490e-01, ln2_lo = 1.90821492927058770002e-10;
    constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer in the low bits
    double clipped = x < -708.0 ? -708.0 : x;
    double shifted = clipped * log2e + magic;
    double n = shifted - magic;
    double r = (clipped - n * ln2_hi) - n * ln2_lo, r2 = r * r, r4 = r2 * r2;
    double a = 5.00000000000001110e-01 + 1.66666666666664132e-01 * r;
    double b = 4.16666666665301486e-02 + 8.33333333349445260e-03 * r;
    double c = 1.38888889436321176e-03 + 1.98412695066079451e-04 * r;
    double d = 2.48014930967294283e-05 + 2.75575863406224127e-06 * r;
    double e = 2.76302491704414188e-07 + 2.50000738033067034e-08 * r;
    double p = 1.0 + (r + r2 * ((a + b * r2) + r4 * ((c + d * r2) + e * r4)));
    uint64_t bits;
    std::memcpy(&bits, &shifted, 8);
    bits = (bits + 1023u) << 52;
    double scale;
    std::memcpy(&scale, &bits, 8);
    double value = p * scale;
    return x < -708.0 ? 0.0 : value;
}

DUALBOOST_INLINE double fold(const double *lanes) {
    double t[kLanes / 2];
    for (int l = 0; l < kLanes / 2; ++l) t[l] = lanes[l] + lanes[l + kLanes / 2];
    for (int width = kLanes / 4; width > 0; width /= 2)
        for (int l = 0; l < width; ++l) t[l] += t[l + width];
    return t[0];
}

// One number for every row, or one for all.
struct PerRow {
    const double *data;  // null: the same value for all rows
    double value;
    double operator[](int64_t i) const { return data ? data[i] : value; }
    PerRow from(int64_t i) const { return {data ? data + i : nullptr, value}; }
};

// Hands out `kLanes` numbers at a time: a view of the array, or the same constants again and again (they stay in L1).
struct Blocks {
    explicit Blocks(const PerRow &rows) : data(rows.data) { std::fill(constant, constant + kLanes, rows.value); }
    DUALBOOST_INLINE const double *at(int64_t i) const { return data ? data + i : constant; }
    const double *data;
    double constant[kLanes];
};

// The caps as scale * weight. One cap for all is weight 1 and scale c, so that masses are exact counts times c.
struct Caps {
    PerRow weight;
    double scale;
    double total;
    double operator[](int64_t i) const { return scale * weight[i]; }
    bool equal() const { return weight.data == nullptr; }
};

template <class Work> void over_chunks(int64_t m, int threads, const Work &work) {
    parallel(chunk_count(m), m < kRowsForThreads ? 1 : threads,
             [&](int64_t k) { work(k, k * kChunk, std::min(kChunk, m - k * kChunk)); });
}

// A small fixed generator: pivots and samples must be the same on every machine, and not in step with the data.
struct Lottery {
    uint64_t state = 0x9E3779B97F4A7C15u;
    int64_t below(int64_t n) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<int64_t>(((state >> 32) * static_cast<uint64_t>(n)) >> 32);
    }
};

// Positions of a sample: one random row in each of `count` equal stretches (all rows when there are no more).
inline std::vector<int64_t> sample_rows(int64_t m, int64_t count) {
    count = std::min(count, m);
    std::vector<int64_t> rows(static_cast<size_t>(count));
    Lottery lottery;
    for (int64_t k = 0; k < count; ++k) {
        int64_t begin = k * m / count, end = (k + 1) * m / count;
        rows[static_cast<size_t>(k)] = begin + lottery.below(end - begin);
    }
    return rows;
}

// The distance from the centre within which about one row in eight lies, from a small sample of distances.
inline double eighth_nearest(std::vector<double> &distances) {
    auto eighth = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 8);
    std::nth_element(distances.begin(), eighth, distances.end());
    return *eighth;
}
inline int64_t width_sample(int64_t m) { return std::clamp<int64_t>(m / 32, 1, 128); }

DUALBOOST_CLONES inline double lane_sum(const double *values, int64_t n) {
    double lanes[kLanes] = {};
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes)
        for (int l = 0; l < kLanes; ++l) lanes[l] += values[j + l];
    for (int l = 0; j + l < n; ++l) lanes[l] += values[j + l];
    return fold(lanes);
}

// Sum of weight * exp(key - top) over keys that are <= top.
DUALBOOST_CLONES inline double sum_of_exponentials(const double *keys, const double *weights, int64_t n, double top) {
    Blocks weight(PerRow{weights, 1.0});
    double lanes[kLanes] = {};
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) {
        const double *w = weight.at(j);
        for (int l = 0; l < kLanes; ++l) lanes[l] += w[l] * tree_exp(keys[j + l] - top);
    }
    const double *w = weight.at(j);
    for (int l = 0; j + l < n; ++l) lanes[l] += w[l] * tree_exp(keys[j + l] - top);
    return fold(lanes);
}

// The median of a few random keys: good enough for expected linear time, whatever the order of the rows.
inline double pivot_of(const double *keys, int64_t n, Lottery &lottery) {
    std::array<double, 15> few;
    for (double &key : few) key = keys[lottery.below(n)];
    std::nth_element(few.begin(), few.begin() + 7, few.end());
    return few[7];
}

// Reorders to [keys > pivot | keys == pivot | keys < pivot], the weights (if any) alongside; returns the two borders.
inline std::pair<int64_t, int64_t> partition_around(double *keys, double *weights, int64_t n, double pivot) {
    int64_t high = 0, k = 0, low = n;
    auto exchange = [&](int64_t a, int64_t b) {
        std::swap(keys[a], keys[b]);
        if (weights) std::swap(weights[a], weights[b]);
    };
    while (k < low) {
        if (keys[k] > pivot)
            exchange(k++, high++);
        else if (keys[k] < pivot)
            exchange(k, --low);
        else
            ++k;
    }
    return {high, low};
}

}  // namespace dualboost
