// Sparse columns in incremental descent: a changed row costs as many additions as it has entries. What is not listed is
// the rest of the class. Columns of a single cell are judged in one sweep.
#pragma once

#include "descent_lists.hpp"
#include "sparse_cells.hpp"

namespace dualboost::descent {

// The largest |edge| among columns of a single cell. With R the weight of what is listed, the edge of its stump is
// 2 R - total or the opposite.
DUALBOOST_CLONES inline double largest_single(const int64_t *negative, const int64_t *positive, int64_t n,
                                              double scale0, double scale1, double total) {
    constexpr int lanes = 8;
    double most[lanes] = {};
    int64_t s = 0;
    auto edge = [&](int64_t at) {
        return std::fabs(2 * (scale1 * static_cast<double>(positive[at]) - scale0 * static_cast<double>(negative[at])) -
                         total);
    };
    for (; s + lanes <= n; s += lanes)
        for (int j = 0; j < lanes; ++j) {
            double size = edge(s + j);
            most[j] = size > most[j] ? size : most[j];
        }
    for (; s < n; ++s) most[0] = std::max(most[0], edge(s));
    return *std::max_element(most, most + lanes);
}

class SparseUnits {
public:
    SparseUnits(const StumpBlocks &blocks, int64_t m) : blocks_(blocks), places_(blocks, m, 0), size_(places_.size()) {}

    // Cells of one class; those of class -1 come first, then those of +1.
    size_t size() const { return static_cast<size_t>(size_); }

    void add(Changes listed, int64_t begin, int c, int64_t *cells) const {
        int64_t *base = cells + (c ? size_ : 0);
        for (int64_t k = 0; k < listed.count; ++k) {
            int64_t value = listed.change[k];
            places_.each(begin + listed.rows[k], [&](int32_t cell) { base[cell] += value; });
        }
    }

    bool is_single(int32_t b) const { return places_.is_single(b); }

    // The largest |edge| of the columns of a single cell, where the constant has the edge `total`.
    double single_peak(const int64_t *cells, const double *scale, double total) const {
        return largest_single(cells, cells + size_, static_cast<int64_t>(places_.singles().size()), scale[0], scale[1],
                              total);
    }

    // The lowest of their features with an |edge| of at least `reach`.
    int32_t first_single(const int64_t *cells, const double *scale, double total, double reach) const {
        constexpr int64_t run = 256;
        auto count = static_cast<int64_t>(places_.singles().size());
        int32_t feature = std::numeric_limits<int32_t>::max();
        for (int64_t s = 0; s < count; s += run) {
            int64_t n = std::min(run, count - s);
            if (largest_single(cells + s, cells + size_ + s, n, scale[0], scale[1], total) < reach) continue;
            for (int64_t k = s; k < s + n; ++k)
                if (largest_single(cells + k, cells + size_ + k, 1, scale[0], scale[1], total) >= reach)
                    feature = std::min(feature, places_.singles()[static_cast<size_t>(k)]);
        }
        return feature;
    }

    // The whole numbers of one class in each code of a column: out[0..bins-1], out[255]; `all` is their sum.
    void units(int32_t b, int c, const int64_t *cells, int64_t all, int64_t *out) const {
        const int64_t *own = cells + (c ? size_ : 0) + places_.start(b);
        int bins = blocks_[b].bins;
        int64_t listed = 0;
        if (is_single(b)) {
            out[kMissing] = 0;
            out[1 - blocks_[b].sparse->fallback] = own[0];
            out[blocks_[b].sparse->fallback] = all - own[0];
            return;
        }
        for (int code = 0; code < bins; ++code) listed += out[code] = own[code];
        listed += out[kMissing] = own[bins];
        out[blocks_[b].sparse->fallback] += all - listed;
    }

    // The largest |edge| of a column without missing values, where the constant has the edge `total`.
    double peak(int32_t b, const int64_t *cells, const int64_t *all, const double *scale, double total) const {
        const int64_t *negative = cells + places_.start(b), *positive = negative + size_;
        int bins = blocks_[b].bins, fallback = blocks_[b].sparse->fallback;
        int64_t rest[2] = {all[0], all[1]}, left[2] = {0, 0};
        for (int code = 0; code < bins; ++code) rest[0] -= negative[code], rest[1] -= positive[code];
        double peak = 0;
        for (int cut = 0; cut + 1 < bins; ++cut) {
            left[0] += negative[cut] + (cut == fallback ? rest[0] : 0);
            left[1] += positive[cut] + (cut == fallback ? rest[1] : 0);
            double weight = scale[1] * static_cast<double>(left[1]) - scale[0] * static_cast<double>(left[0]);
            peak = std::max(peak, std::fabs(total - 2 * weight));
        }
        return peak;
    }

    // The codes of all rows.
    static void codes(const SparseColumn &column, std::vector<uint8_t> &out) {
        std::fill(out.begin(), out.end(), column.fallback);
        for (int64_t k = 0; k < column.count; ++k) out[static_cast<size_t>(column.rows[k])] = column.codes[k];
    }

private:
    const StumpBlocks &blocks_;
    const SparseCells places_;
    int64_t size_;
};

}  // namespace dualboost::descent
