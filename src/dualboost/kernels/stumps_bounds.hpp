// What is known of each block's edges without a look: the base on which the search skips blocks.
//
// |edge_h(d) - edge_h(d')| <= ||d - d'||_1. So a block whose best |edge| was e when it was last summed, with weights
// that have travelled a distance s since, cannot exceed e + s now. And a column with n exceptions to its default code
// differs from a constant by no more than 2 n times the largest weight.
#pragma once

#include "stumps_blocks.hpp"
#include "stumps_sums.hpp"

namespace dualboost {

// Bounds are kept in units of 2^-41, rounded up: coarse enough to add up over millions of rounds without overflow.
constexpr int kCoarse = 20;
inline int64_t coarse_up(int64_t value) { return (value >> kCoarse) + 1; }

// A block that may still matter, with the upper bound of its |edges|, coarse.
struct Survivor {
    int32_t block;
    int64_t bound;
};

class StumpBounds {
public:
    explicit StumpBounds(const StumpBlocks &blocks) : survivors_(blocks.size() + 1), order_(blocks.size()) {
        for (int32_t b = 0; b < static_cast<int32_t>(blocks.size()); ++b) {
            const SparseColumn *column = blocks[b].sparse;
            exceptions_.push_back(column ? static_cast<int32_t>(column->count) : kDense);
            any_sparse_ |= column != nullptr;
        }
        forget();
    }

    void forget() {
        key_.assign(exceptions_.size(), kUnseen);
        odometer_ = 0;
    }

    // New weights q of n rows, with these sums.
    void travel(int64_t travelled, int64_t total, int64_t mass, const int64_t *q, int64_t n) {
        odometer_ += travelled == 0 ? 0 : coarse_up(travelled);
        if (odometer_ > kOdometerEnd) forget();
        most_ = coarse_up(mass);
        constant_ = coarse_up(magnitude(total));
        most_exceptions_ = 0;
        if (!any_sparse_) return;
        // With more exceptions than `most_exceptions_` their bound would say nothing, or overflow.
        per_exception_ = 2 * coarse_up(largest_size(q, n));
        most_exceptions_ = std::min<int64_t>(most_ / per_exception_, kDense - 1);
    }

    int64_t most() const { return most_; }  // what holds for every block

    // The largest |edge| of a block was found to be, or not to exceed, this.
    void learn(int32_t b, int64_t peak) { key_[static_cast<size_t>(b)] = coarse_up(peak) - odometer_; }
    void sharpen(int32_t b, int64_t peak) {
        int64_t &key = key_[static_cast<size_t>(b)];
        key = std::min(key, coarse_up(peak) - odometer_);
    }

    // Blocks that may reach `floor`, by descending upper bound: the first of `order()`; returns their number. A
    // counting sort into a few classes is enough: a bound is tested again before the look.
    size_t sort(int64_t floor) {
        constexpr int kClasses = 64;
        floor >>= kCoarse;
        int64_t highest = floor;
        size_t count = 0;
        auto end = static_cast<int32_t>(reaching(floor));
        for (int32_t b = 0; b < end; ++b) {
            int64_t bound = upper(static_cast<size_t>(b));
            survivors_[count] = {b, bound};
            count += bound >= floor ? 1 : 0;
            highest = std::max(highest, bound);
        }
        int shift = 0;
        while (((highest - floor) >> shift) >= kClasses) ++shift;
        int32_t place[kClasses + 1] = {};
        auto rank = [&](const Survivor &s) { return kClasses - 1 - ((s.bound - floor) >> shift); };
        for (size_t s = 0; s < count; ++s) ++place[rank(survivors_[s]) + 1];
        for (int c = 0; c < kClasses; ++c) place[c + 1] += place[c];
        for (size_t s = 0; s < count; ++s) order_[static_cast<size_t>(place[rank(survivors_[s])]++)] = survivors_[s];
        return count;
    }

    const std::vector<Survivor> &order() const { return order_; }

    // Blocks from here on have too few exceptions to reach `floor`, which is coarse.
    size_t reaching(int64_t floor) const {
        auto reaches = [&](int32_t count) {
            return count > most_exceptions_ || constant_ + count * per_exception_ >= floor;
        };
        return static_cast<size_t>(std::partition_point(exceptions_.begin(), exceptions_.end(), reaches) -
                                   exceptions_.begin());
    }

private:
    static constexpr int64_t kUnseen = int64_t{1} << 62;
    static constexpr int64_t kOdometerEnd = int64_t{1} << 61;
    static constexpr int32_t kDense = std::numeric_limits<int32_t>::max();

    std::vector<int64_t> key_;  // last best |edge| - odometer at that look; key + odometer bounds the edge now
    std::vector<int32_t> exceptions_;  // listed rows of a sparse column, descending; dense blocks come before
    std::vector<Survivor> survivors_, order_;
    bool any_sparse_ = false;
    int64_t odometer_ = 0, most_ = 0, constant_ = 0;
    int64_t most_exceptions_ = 0, per_exception_ = 0;

    int64_t upper(size_t b) const {
        int64_t bound = std::min(key_[b] + odometer_, most_);
        if (exceptions_[b] > most_exceptions_) return bound;
        return std::min(bound, constant_ + exceptions_[b] * per_exception_);
    }
};

}  // namespace dualboost
