// The sums of one feature in one node, and the loops over its cuts: the largest edge, the lowest criterion.
#pragma once

#include "tree_weights.hpp"

namespace dualboost {

struct LabelSums {
    int64_t positive = 0, negative = 0;

    int64_t mass() const { return positive + negative; }
    int64_t edge() const { return positive - negative; }
    bool pure() const { return positive == 0 || negative == 0; }
    LabelSums operator-(const LabelSums &other) const { return {positive - other.positive, negative - other.negative}; }
};

DUALBOOST_INLINE double impurity(int64_t positive, int64_t negative) {
    return std::sqrt(static_cast<double>(positive) * static_cast<double>(negative));
}

// The extent of the edges left of the first `cuts` cuts. A split has the edge max(|all|, |all - 2 left|), so the lowest
// and the highest know the largest, on whichever side the missing values are.
DUALBOOST_CLONES static Extent extent_of(const int64_t *positive, const int64_t *negative, int cuts) {
    Extent left{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
    for (int cut = 0; cut < cuts; ++cut) {
        int64_t edge = positive[cut] - negative[cut];
        left.low = edge < left.low ? edge : left.low;
        left.high = edge > left.high ? edge : left.high;
    }
    return left;
}

// |P - N| summed over codes.
DUALBOOST_CLONES static int64_t sum_of_edges(const int64_t *positive, const int64_t *negative, int codes) {
    int64_t sum = 0;
    for (int code = 0; code < codes; ++code) {
        int64_t edge = positive[code] - negative[code];
        sum += edge < 0 ? -edge : edge;
    }
    return sum;
}

// The nearest double of 0 <= value < 2^62, as a cast gives it, but in a form that vectorises: both halves are written
// into the low bits of a double, and of the three numbers that are added only the last sum rounds.
DUALBOOST_INLINE double as_double(int64_t value) {
    uint64_t low = (static_cast<uint64_t>(value) & 0xffffffffu) | 0x4330000000000000u;  // 2^52 + low
    uint64_t high = (static_cast<uint64_t>(value) >> 32) | 0x4530000000000000u;  // 2^84 + 2^32 high
    double low_part, high_part;
    std::memcpy(&low_part, &low, 8);
    std::memcpy(&high_part, &high, 8);
    return (high_part - 19342813118337666422669312.0) + low_part;  // 2^84 + 2^52
}

// The lowest criterion of the first `count` cuts, whose left sides gain `more`, to within kRoughShare of the weight of
// the node. A split without weight on one side has the criterion of the whole node, which no split exceeds.
constexpr double kRoughShare = 1.0 / (1 << 21);

DUALBOOST_CLONES static float rough_cost_of(const int64_t *positive, const int64_t *negative, int count, LabelSums more,
                                            LabelSums whole) {
    float cost[kCodes];
    double all_p = static_cast<double>(whole.positive), all_n = static_cast<double>(whole.negative);
    for (int cut = 0; cut < count; ++cut) {
        double p = as_double(positive[cut] + more.positive), n = as_double(negative[cut] + more.negative);
        float left = static_cast<float>(p * n), right = static_cast<float>((all_p - p) * (all_n - n));
        cost[cut] = std::sqrt(left) + std::sqrt(right);
    }
    int32_t best = 0x7f800000;  // infinity; numbers that are not negative are in the order of their bits
    for (int cut = 0; cut < count; ++cut) {
        int32_t bits;
        std::memcpy(&bits, &cost[cut], 4);
        best = bits < best ? bits : best;
    }
    float lowest;
    std::memcpy(&lowest, &best, 4);
    return lowest;
}

// The same to the bit: those of one cut after the other, but first all become doubles, then several roots are taken
// side by side.
DUALBOOST_CLONES static double lowest_cost_of(const int64_t *positive, const int64_t *negative, int count,
                                              LabelSums more, LabelSums whole) {
    constexpr int kLanes = 8;
    double p[kCodes + kLanes], n[kCodes + kLanes], other_p[kCodes + kLanes], other_n[kCodes + kLanes], best[kLanes];
    for (int cut = 0; cut < count; ++cut) {
        p[cut] = static_cast<double>(positive[cut] + more.positive);
        n[cut] = static_cast<double>(negative[cut] + more.negative);
        other_p[cut] = static_cast<double>(whole.positive - more.positive - positive[cut]);
        other_n[cut] = static_cast<double>(whole.negative - more.negative - negative[cut]);
    }
    for (int cut = count; cut < count + kLanes; ++cut) p[cut] = n[cut] = other_p[cut] = other_n[cut] = 0.0;
    for (int k = 0; k < kLanes; ++k) best[k] = HUGE_VAL;
    for (int first = 0; first < count; first += kLanes)
        for (int k = 0; k < kLanes; ++k) {
            int cut = first + k;
            double cost = std::sqrt(p[cut] * n[cut]) + std::sqrt(other_p[cut] * other_n[cut]);
            bool fine = (p[cut] + n[cut] > 0.0) & (other_p[cut] + other_n[cut] > 0.0);
            cost = fine ? cost : HUGE_VAL;
            best[k] = cost < best[k] ? cost : best[k];
        }
    return *std::min_element(best, best + kLanes);
}

// The sums left of each cut of one feature in one node; entry `cuts` is all that is present.
struct FeatureSums {
    int cuts = 0;
    bool missing = false;
    LabelSums whole, absent;
    int64_t positive[kCodes], negative[kCodes];

    // From sums by code, which may stand here.
    void run(const int64_t *positive_of, const int64_t *negative_of) {
        LabelSums sum;
        for (int code = 0; code <= cuts; ++code) {
            positive[code] = sum.positive += positive_of[code];
            negative[code] = sum.negative += negative_of[code];
        }
    }

    LabelSums left(int cut, int missing_right) const {
        LabelSums sums{positive[cut], negative[cut]};
        return missing_right ? sums : LabelSums{sums.positive + absent.positive, sums.negative + absent.negative};
    }

    // Calls visit(cut, missing_right, sums on the left) in index order until it returns true.
    template <class Visit> void splits(const Visit &visit) const {
        for (int cut = 0; cut <= cuts; ++cut) {
            if (cut < cuts && visit(cut, 0, left(cut, 0))) return;
            if (missing && visit(cut, 1, left(cut, 1))) return;
        }
    }

    // The criterion of a split; one that leaves a side without weight is none.
    double cost(const LabelSums &left) const {
        LabelSums right = whole - left;
        if (left.mass() == 0 || right.mass() == 0) return HUGE_VAL;
        return impurity(left.positive, left.negative) + impurity(right.positive, right.negative);
    }

    // The largest edge of a cut; at least that of the whole, which is no split's.
    int64_t largest_edge() const {
        int64_t all = whole.edge(), right = positive[cuts] - negative[cuts];
        Extent left = extent_of(positive, negative, cuts);
        int64_t largest = missing ? magnitude(all - 2 * right) : 0;
        if (cuts == 0) return largest;
        for (int64_t edge : {left.low, left.high}) {
            largest = std::max(largest, magnitude(all - 2 * absent.edge() - 2 * edge));
            if (missing) largest = std::max(largest, magnitude(all - 2 * edge));
        }
        return largest;
    }

    int64_t edge(const LabelSums &left) const { return magnitude(left.edge()) + magnitude((whole - left).edge()); }
};

}  // namespace dualboost
