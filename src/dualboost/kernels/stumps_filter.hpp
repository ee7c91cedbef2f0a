// A cheap upper bound on the best edge of many columns at once, to tell which ones deserve exact sums.
//
// Weights are rounded to 32-bit integers, and the distance `delta` between them and the exact ones is known: a
// hypothesis has values +-1, so its edge is off by at most delta. Rows whose weight rounds to zero are left out:
// towards the end of a soft-margin run these are most of them. On few rows so are light ones, whose weight goes into
// delta: a few dozen rounds of boosting make most rows light, and a column more to be summed costs little. Sums of
// eight columns lie side by side, so that the eight scans for their extremes are one scan with vectors.
#pragma once

#include "stumps_sums.hpp"

namespace dualboost {

constexpr int kGroup = 8;
// The sum of all |q| is at most 2^61, so sums of rounded weights stay below 2^31 for up to 2^30 rows.
constexpr int kRounding = 31;
constexpr int64_t kMostRowsToRound = int64_t{1} << 30;

DUALBOOST_INLINE int32_t rounded(int64_t q) {
    return static_cast<int32_t>((q + (int64_t{1} << (kRounding - 1))) >> kRounding);
}

// The rounded weights, and the sum of the distances to the exact ones.
DUALBOOST_CLONES static uint64_t round_weights(const int64_t *q, int64_t n, int32_t *out) {
    uint64_t distance = 0;
    for (int64_t i = 0; i < n; ++i) {
        int32_t value = rounded(q[i]);
        int64_t off = q[i] - value * (int64_t{1} << kRounding);
        distance += static_cast<uint64_t>(off < 0 ? -off : off);
        out[i] = value;
    }
    return distance;
}

// Row numbers and weights of the rows whose weight exceeds `light`; returns their number. The arrays have room for all.
static int64_t list_rows(const int32_t *weights, int64_t n, int32_t light, int32_t *rows, int32_t *kept_weights) {
    int64_t kept = 0;
    for (int64_t i = 0; i < n; ++i) {
        rows[kept] = static_cast<int32_t>(i);
        kept_weights[kept] = weights[i];
        kept += (weights[i] < 0 ? -weights[i] : weights[i]) > light ? 1 : 0;
    }
    return kept;
}

// The sum of weights and of their sizes.
struct WeightSums {
    int64_t signed_sum = 0, sizes = 0;
};

DUALBOOST_CLONES static WeightSums sum_weights(const int32_t *weights, int64_t n) {
    WeightSums sums;
    for (int64_t i = 0; i < n; ++i) sums.signed_sum += weights[i];
    for (int64_t i = 0; i < n; ++i) sums.sizes += weights[i] < 0 ? -int64_t{weights[i]} : int64_t{weights[i]};
    return sums;
}

static void add_group(const uint8_t *const *columns, const int32_t *weights, int64_t n, int32_t *cells) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
#pragma GCC unroll 8
        for (int f = 0; f < kGroup; ++f) {
            uint64_t word = eight_codes(columns[f] + i);
#pragma GCC unroll 8
            for (int k = 0; k < 8; ++k) cells[code_at(word, k) * kGroup + static_cast<size_t>(f)] += weights[i + k];
        }
    for (; i < n; ++i)
        for (int f = 0; f < kGroup; ++f) cells[columns[f][i] * kGroup + f] += weights[i];
}

static void add_listed(const uint8_t *const *columns, const int32_t *rows, const int32_t *weights, int64_t count,
                       int32_t *cells) {
    const uint8_t *column[kGroup];
    std::copy(columns, columns + kGroup, column);
    for (int64_t k = 0; k < count; ++k) {
        size_t row = static_cast<size_t>(rows[k]);
        int32_t weight = weights[k];
#pragma GCC unroll 8
        for (int f = 0; f < kGroup; ++f) cells[column[f][row] * kGroup + f] += weight;
    }
}

// The extremes of the running sums of each column, and its sum over all cells, which are cleared.
DUALBOOST_CLONES static void scan_group(int32_t *cells, int codes, int32_t *low, int32_t *high, int32_t *sum) {
    int32_t run[kGroup] = {}, lowest[kGroup], highest[kGroup];
    for (int f = 0; f < kGroup; ++f) lowest[f] = std::numeric_limits<int32_t>::max();
    for (int f = 0; f < kGroup; ++f) highest[f] = std::numeric_limits<int32_t>::min();
    // One loop for each step: written together they would not become vectors.
    for (int code = 0; code < codes; ++code, cells += kGroup) {
        int32_t next[kGroup];
        for (int f = 0; f < kGroup; ++f) next[f] = run[f] + cells[f];
        for (int f = 0; f < kGroup; ++f) run[f] = next[f];
        for (int f = 0; f < kGroup; ++f) lowest[f] = next[f] < lowest[f] ? next[f] : lowest[f];
        for (int f = 0; f < kGroup; ++f) highest[f] = next[f] > highest[f] ? next[f] : highest[f];
        for (int f = 0; f < kGroup; ++f) cells[f] = 0;
    }
    for (int f = 0; f < kGroup; ++f) low[f] = lowest[f];
    for (int f = 0; f < kGroup; ++f) high[f] = highest[f];
    for (int f = 0; f < kGroup; ++f) sum[f] = run[f];
}

// A column to be judged.
struct Judged {
    const uint8_t *codes;
    int cuts;
    bool missing;
};

class StumpFilter {
public:
    // The largest |edge| of a column is within `delta` of what `judge` says.
    int64_t delta() const { return delta_; }

    // Takes the weights in, unless leaving out light rows would not spare enough of them. `edge` is about the largest.
    bool load(const int64_t *q, int64_t n, int64_t edge) {
        bool small = n <= kSmallRows;
        if (n > kMostRowsToRound || (!small && heavy_share(q, n) > 0.5)) return false;
        weights_.resize(static_cast<size_t>(n));
        uint64_t distance = round_weights(q, n, weights_.data());
        if (distance > kUselessDelta) return false;
        delta_ = static_cast<int64_t>(distance);
        rows_.resize(static_cast<size_t>(n));
        kept_.resize(static_cast<size_t>(n));
        count_ = list_rows(weights_.data(), n, small ? light(n, edge) : 0, rows_.data(), kept_.data());
        listed_ = !small || 4 * count_ < 3 * n;
        WeightSums all = sum_weights(weights_.data(), n);
        total_ = all.signed_sum;
        if (small && listed_) leave_out_light(all);
        return true;
    }

    // Additions that one column costs.
    int64_t work() const { return listed_ ? count_ : static_cast<int64_t>(weights_.size()); }

    // The largest |edge| of up to eight columns, roughly. `cells` are kCells zeros, and are zeros again afterwards.
    static constexpr size_t kCells = kCodes * kGroup;
    void judge(const Judged *columns, size_t count, int32_t *cells, int64_t *peaks) const {
        const uint8_t *codes[kGroup];
        for (size_t f = 0; f < kGroup; ++f) codes[f] = columns[std::min(f, count - 1)].codes;
        if (listed_) add_listed(codes, rows_.data(), kept_.data(), count_, cells);
        else add_group(codes, weights_.data(), static_cast<int64_t>(weights_.size()), cells);
        // What lies right of the last cut is taken out, so that it is not mistaken for a cut of its own.
        int32_t last[kGroup], missing[kGroup], low[kGroup], high[kGroup], left[kGroup];
        int most = 0;
        for (size_t f = 0; f < kGroup; ++f) {
            int cuts = columns[std::min(f, count - 1)].cuts;
            last[f] = take(cells, cuts, f);
            missing[f] = take(cells, kMissing, f);
            most = std::max(most, cuts);
        }
        scan_group(cells, most, low, high, left);
        for (size_t f = 0; f < count; ++f) {
            int64_t present = int64_t{left[f]} + last[f];
            peaks[f] = peak(columns[f], low[f], high[f], present, missing[f]) * (int64_t{1} << kRounding);
        }
    }

    // As many columns as that many threads take at once, a group each.
    void judge_all(const std::vector<Judged> &columns, size_t threads, std::vector<int64_t> &peaks) {
        size_t groups = (columns.size() + kGroup - 1) / kGroup;
        peaks.resize(columns.size());
        if (cells_.size() < threads) cells_.resize(threads, std::vector<int32_t>(kCells, 0));
        parallel(static_cast<int64_t>(groups), static_cast<int>(groups), [&](int64_t g) {
            size_t first = static_cast<size_t>(g) * kGroup, size = std::min<size_t>(kGroup, columns.size() - first);
            judge(&columns[first], size, cells_[static_cast<size_t>(g)].data(), &peaks[first]);
        });
    }

private:
    static constexpr int64_t kSmallRows = 4096;  // here the scan costs as much as the sums
    static constexpr uint64_t kUselessDelta = uint64_t{1} << 56;  // 1/32: no column would be ruled out

    std::vector<int32_t> weights_, rows_, kept_;
    std::vector<std::vector<int32_t>> cells_;  // one workspace for each thread, all zeros between uses
    int64_t delta_ = 0, total_ = 0, count_ = 0;
    bool listed_ = false;

    // In units of rounded weights: an eighth of the mean weight, in a boosted table most rows are lighter. All light
    // rows together weigh no more than a quarter of the largest edge, or they would hide which columns are far from it.
    static int32_t light(int64_t n, int64_t edge) {
        constexpr int64_t everything = int64_t{1} << (kFixedBits - kRounding);
        return static_cast<int32_t>(std::min(everything / 8, (edge >> kRounding) / 4) / n);
    }

    void leave_out_light(const WeightSums &all) {
        WeightSums kept = sum_weights(kept_.data(), count_);
        total_ = kept.signed_sum;
        delta_ += (all.sizes - kept.sizes) * (int64_t{1} << kRounding);
    }

    static double heavy_share(const int64_t *q, int64_t n) {
        constexpr int64_t sample = 1024;
        int64_t heavy = 0;
        for (int64_t k = 0; k < sample; ++k) heavy += rounded(q[k * n / sample]) != 0 ? 1 : 0;
        return static_cast<double>(heavy) / sample;
    }

    static int32_t take(int32_t *cells, int code, size_t f) {
        int32_t &cell = cells[static_cast<size_t>(code) * kGroup + f];
        int32_t value = cell;
        cell = 0;
        return value;
    }

    int64_t peak(const Judged &column, int64_t low, int64_t high, int64_t present, int64_t missing) const {
        int64_t peak = column.missing ? magnitude(total_ - 2 * present) : 0;
        if (column.cuts == 0) return peak;
        for (int64_t outside : {int64_t{0}, missing})
            for (int64_t left : {low, high}) peak = std::max(peak, magnitude(total_ - 2 * (left + outside)));
        return peak;
    }
};

}  // namespace dualboost
