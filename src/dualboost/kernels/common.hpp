// What all kernels share: array types checked at the boundary, deterministic parallel chunks, a fast exponential.
#pragma once

#include "breakable.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

// Hot loops are compiled twice, for AVX2 and for any x86-64, and the loader picks: one wheel runs everywhere.
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define DUALBOOST_CLONES __attribute__((target_clones("avx2", "default")))
#define DUALBOOST_AVX2_AT_RUN_TIME  // code for AVX2 can be written, and chosen when it runs
#else
#define DUALBOOST_CLONES
#endif
#if defined(_MSC_VER)
#define DUALBOOST_INLINE __forceinline
#else
#define DUALBOOST_INLINE inline __attribute__((always_inline))
#endif

namespace dualboost {

namespace nb = nanobind;

template <class T> using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Grid = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline void require(bool fine, const char *sentence) {
    if (!fine) throw std::invalid_argument(sentence);
}

// Rows are always summed in chunks of this size, in this order: the bits do not depend on the number of threads.
constexpr int64_t kChunk = 1 << 14;
inline int64_t chunk_count(int64_t n) { return (n + kChunk - 1) / kChunk; }

// Calls work(k) once for every k in [0, count). Threads are started per call and joined: nothing survives that a fork
// could break, and a start costs microseconds where a pass costs milliseconds. What `work` throws (memory may run out)
// ends the work of all threads, and is thrown when they are joined. Helpers do not look up: whether to is a number of
// each thread, and the first to ask for it where there is no memory left would end the process.
template <class Work> void parallel(int64_t count, int threads, const Work &work) {
    std::atomic<int64_t> next{0};
    std::atomic<bool> failed{false};
    std::exception_ptr error;
    auto drain = [&](bool helps) {
        try {
            for (int64_t k; (k = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
                work(k);
                if (!helps) Breakable::look_up();
            }
        } catch (...) {
            next.store(count, std::memory_order_relaxed);
            if (!failed.exchange(true)) error = std::current_exception();
        }
    };
    int64_t extra = std::min<int64_t>(threads, count) - 1;
    std::vector<std::thread> helpers;
    helpers.reserve(static_cast<size_t>(std::max<int64_t>(extra, 0)));
    try {
        for (int64_t k = 0; k < extra; ++k) helpers.emplace_back(drain, true);
    } catch (const std::exception &) {
        // No more threads to be had: the ones we have do the work.
    }
    drain(false);
    for (auto &helper : helpers) helper.join();
    if (error) std::rethrow_exception(error);
}

// exp(x) for x <= 709, to about one unit in the last place; 0 below -708. Branch-free, so that loops vectorise.
DUALBOOST_INLINE double fast_exp(double x) {
    constexpr double log2e = 1.4426950408889634, ln2_hi = 6.93147180369123816490e-01,
                     ln2_lo = 1.90821492927058770002e-10;
    constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer in the low bits
    double clipped = x < -708.0 ? -708.0 : x;
    double shifted = clipped * log2e + magic;
    int64_t bits;
    std::memcpy(&bits, &shifted, 8);
    double n = shifted - magic;
    double r = (clipped - n * ln2_hi) - n * ln2_lo;
    // Taylor to degree 13 on |r| <= ln2/2: the remainder is below 2e-17.
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    int64_t scale_bits = static_cast<int64_t>((static_cast<uint64_t>(bits) + 1023u) << 52);
    double scale;
    std::memcpy(&scale, &scale_bits, 8);
    double value = p * scale;
    return x < -708.0 ? 0.0 : value;
}

void bind_weights(nb::module_ &m);
void bind_stumps(nb::module_ &m);
void bind_binning(nb::module_ &m);
void bind_scores(nb::module_ &m);
void bind_corrective(nb::module_ &m);
void bind_trees(nb::module_ &m);
void bind_tree_scores(nb::module_ &m);
void bind_average(nb::module_ &m);
void bind_nzdd(nb::module_ &m);
void bind_descent(nb::module_ &m);
void bind_leaf_trees(nb::module_ &m);
void bind_leaf_scores(nb::module_ &m);
void bind_subsets(nb::module_ &m);
void bind_quadratic(nb::module_ &m);
void bind_stump_runs(nb::module_ &m);

}  // namespace dualboost
