// What the kernels on row weights share: lanes for sums, per-row numbers that may be one number, samples, partition.
#pragma once

#include "common.hpp"

#include <array>
#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace dualboost::weights {

// Sums run in this many independent lanes that are folded at the end. The order of additions is then fixed by the
// source, not by the vector width of the machine. More lanes than the compiler would unroll, so that it vectorises.
constexpr int kLanes = 32;
// Below this many rows a thread costs more than it brings, and giving the interpreter away costs more than holding it.
constexpr int64_t kRowsForThreads = 1 << 16;
constexpr int64_t kRowsForRelease = 1 << 13;
// The caps sum to one, up to this: then the caps themselves are the only feasible point.
constexpr double kFullMass = 1e-12;
// A result whose sum, measured in floating point, is this close to one is accepted at once; a wider miss is tried once
// more from a better origin, and then accepted if no more than rounding can be the cause.
constexpr double kSumTolerance = 2e-15, kLooseTolerance = 1e-13;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// 1 or 0: sums of products with masks vectorise where choices become branches.
DUALBOOST_INLINE double mask(bool condition) { return condition ? 1.0 : 0.0; }

// Smaller and larger as the one instruction they are on x86; the constant comes second and replaces a NaN.
DUALBOOST_INLINE double at_most(double x, double bound) { return x < bound ? x : bound; }
DUALBOOST_INLINE double at_least(double x, double bound) { return x > bound ? x : bound; }

// Exponents of two are brought into this range: below it the power is zero, above it a row is at its cap in any case.
constexpr double kLog2e = 1.4426950408889634, kLowestPower = -1023.0, kHighestPower = 58.0;

// 2^x within the range above, to about one unit in the last place, and exactly 0 below -1022.5. Powers of two need no
// reduction by log 2 (the factor goes into eta). A minimax polynomial (relative error 2e-17) evaluated as a tree: a
// chain of dependent steps would leave the arithmetic units waiting.
DUALBOOST_INLINE double power_of_two(double x) {
    constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer in the low bits
    double shifted = x + magic;
    double f = x - (shifted - magic), f2 = f * f, f4 = f2 * f2;
    double a = 2.40226506959101221e-01 + 5.55041086648207366e-02 * f;
    double b = 9.61812910759696563e-03 + 1.33335581466863576e-03 * f;
    double c = 1.54035304540926370e-04 + 1.52527335466575534e-05 * f;
    double d = 1.32154365943099117e-06 + 1.01781847274399346e-07 * f;
    double e = 7.07358213687538925e-09 + 4.43629517837656593e-10 * f;
    double p = 1.0 + (6.93147180559945286e-01 * f + f2 * ((a + b * f2) + f4 * ((c + d * f2) + e * f4)));
    uint64_t bits;
    std::memcpy(&bits, &shifted, 8);
    bits = (bits + 1023u) << 52;  // two to the integer part; at the lower end of the range these are the bits of zero
    double scale;
    std::memcpy(&scale, &bits, 8);
    return p * scale;
}

DUALBOOST_INLINE double fold(const double *lanes) {
    static_assert(kLanes == 32, "the sums below halve 32 lanes");
    double t[16];
    for (int l = 0; l < 16; ++l) t[l] = lanes[l] + lanes[l + 16];
    for (int l = 0; l < 8; ++l) t[l] += t[l + 8];
    for (int l = 0; l < 4; ++l) t[l] += t[l + 4];
    return (t[0] + t[2]) + (t[1] + t[3]);
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

// Calls work(chunk, first row, number of rows) for every chunk. The only thing work may throw is that memory is short,
// and that must not leave a thread.
template <class Work> void over_chunks(int64_t m, int threads, const Work &work) {
    std::atomic<bool> short_of_memory{false};
    parallel(chunk_count(m), m < kRowsForThreads ? 1 : threads, [&](int64_t k) {
        try {
            work(k, k * kChunk, std::min(kChunk, m - k * kChunk));
        } catch (const std::bad_alloc &) {
            short_of_memory = true;
        }
    });
    if (short_of_memory) throw std::bad_alloc();
}

// Numbers collected in unknown quantity, at most one for each row of a chunk; what is reserved is neither cleared nor
// touched before it is used.
class Pile {
public:
    // Keeps little memory: a pile of most rows comes up when many are equal, and seldom twice.
    void clear() {
        size_ = 0;
        if (capacity_ <= kChunk / 2) return;
        data_.reset();
        capacity_ = 0;
    }
    double *end() { return data_.get() + size_; }
    const double *data() const { return data_.get(); }
    int64_t size() const { return size_; }
    void grow(int64_t count) { size_ += count; }
    void reserve(int64_t more) {
        if (size_ + more <= capacity_) return;
        capacity_ = std::max(size_ + more, std::min(2 * (size_ + more), kChunk));
        std::unique_ptr<double[]> larger(new double[static_cast<size_t>(capacity_)]);
        std::copy(data_.get(), data_.get() + size_, larger.get());
        data_ = std::move(larger);
    }

private:
    std::unique_ptr<double[]> data_;
    int64_t size_ = 0, capacity_ = 0;
};

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

// The value with rank n (from 0) among a few; reorders them. A small rank is found by so many searches for the least.
inline double nth_smallest(double *values, int64_t count, int64_t n) {
    if (n > 4) {
        std::nth_element(values, values + n, values + count);
        return values[n];
    }
    for (int64_t k = 0;; ++k) {
        int64_t least = k;
        for (int64_t j = k + 1; j < count; ++j) least = values[j] < values[least] ? j : least;
        std::swap(values[k], values[least]);
        if (k == n) return values[n];
    }
}

// The distance from a guess within which about one row in eight lies, from the distances of a small sample.
template <class Distance> double eighth_nearest(int64_t m, const Distance &distance) {
    std::array<double, 128> distances;
    int64_t count = std::clamp<int64_t>(m / 32, 1, 128);
    for (int64_t k = 0; k < count; ++k) distances[static_cast<size_t>(k)] = distance((2 * k + 1) * m / (2 * count));
    return nth_smallest(distances.data(), count, count / 8);
}

DUALBOOST_CLONES inline double lane_sum(const double *values, int64_t n) {
    double lanes[kLanes] = {};
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes)
        for (int l = 0; l < kLanes; ++l) lanes[l] += values[j + l];
    for (int l = 0; j + l < n; ++l) lanes[l] += values[j + l];
    return fold(lanes);
}

DUALBOOST_CLONES inline double lane_dot(const double *a, const double *b, int64_t n) {
    double lanes[kLanes] = {};
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes)
        for (int l = 0; l < kLanes; ++l) lanes[l] += a[j + l] * b[j + l];
    for (int l = 0; j + l < n; ++l) lanes[l] += a[j + l] * b[j + l];
    return fold(lanes);
}

DUALBOOST_INLINE void sum_exponential_lanes(const double *keys, const double *weight, int width, double top,
                                            double *sum) {
    double e[kLanes];
    for (int l = 0; l < width; ++l) e[l] = at_least(kLog2e * (keys[l] - top), kLowestPower);
    for (int l = 0; l < width; ++l) sum[l] += weight[l] * power_of_two(e[l]);
}

// Sum of weight * exp(key - top) over keys that are <= top.
DUALBOOST_CLONES inline double sum_of_exponentials(const double *keys, const double *weights, int64_t n, double top) {
    Blocks weight(PerRow{weights, 1.0});
    double sum[kLanes] = {};
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) sum_exponential_lanes(keys + j, weight.at(j), kLanes, top, sum);
    sum_exponential_lanes(keys + j, weight.at(j), static_cast<int>(n - j), top, sum);
    return fold(sum);
}

// The median of a few random keys: good enough for expected linear time, whatever the order of the rows.
inline double pivot_of(const double *keys, int64_t n, Lottery &lottery) {
    std::array<double, 15> few;
    for (double &key : few) key = keys[lottery.below(n)];
    std::nth_element(few.begin(), few.begin() + 7, few.end());
    return few[7];
}

// Moves the rows that `first` accepts to the front, without a branch that depends on the keys; returns their number.
template <class First> int64_t to_front(double *keys, double *weights, int64_t n, const First &first) {
    int64_t front = 0;
    for (int64_t k = 0; k < n; ++k) {
        double key = keys[k];
        keys[k] = keys[front];
        keys[front] = key;
        if (weights) std::swap(weights[k], weights[front]);
        front += static_cast<int64_t>(first(key));
    }
    return front;
}

// Reorders to [keys > pivot | keys == pivot | keys < pivot], the weights (if any) alongside; returns the two borders.
inline std::pair<int64_t, int64_t> partition_around(double *keys, double *weights, int64_t n, double pivot) {
    int64_t high = to_front(keys, weights, n, [=](double key) { return key > pivot; });
    int64_t equal =
        to_front(keys + high, weights ? weights + high : nullptr, n - high, [=](double key) { return key == pivot; });
    return {high, high + equal};
}

}  // namespace dualboost::weights
