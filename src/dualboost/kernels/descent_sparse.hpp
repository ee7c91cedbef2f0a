// Sparse columns in incremental descent: a row knows its entries, so a changed row costs as many additions as it has.
//
// Each column has a cell for every code that is listed; what is not listed is the rest of the class. A column of two
// codes, such as a word that is there or not, has a single cell: those lie side by side and are judged in one sweep.
#pragma once

#include "descent_lists.hpp"
#include "stumps_blocks.hpp"

namespace dualboost::descent {

// The largest |edge| among columns of a single cell. With R the weight of what is listed, the edge of its stump is
// 2 R - total or the opposite.
DUALBOOST_CLONES inline double largest_single(const int64_t *negative, const int64_t *positive, int64_t n, double scale0,
                                              double scale1, double total) {
    constexpr int lanes = 8;
    double most[lanes] = {};
    int64_t s = 0;
    auto edge = [&](int64_t at) {
        return std::fabs(2 * (scale1 * static_cast<double>(positive[at]) - scale0 * static_cast<double>(negative[at])) - total);
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
    SparseUnits(const StumpBlocks &blocks, int64_t m) : blocks_(blocks), start_(blocks.size(), -1) {
        row_start_.assign(static_cast<size_t>(m) + 1, 0);
        for (bool single : {true, false})
            for (int32_t b = 0; b < static_cast<int32_t>(blocks.size()); ++b)
                if (blocks[b].sparse && has_single_cell(b) == single) claim(b, single);
        for (size_t i = 1; i < row_start_.size(); ++i) row_start_[i] += row_start_[i - 1];
        cells_of_.resize(static_cast<size_t>(row_start_.back()));
        std::vector<int64_t> next(row_start_.begin(), row_start_.end() - 1);
        for (int32_t b = 0; b < static_cast<int32_t>(blocks.size()); ++b)
            if (blocks[b].sparse) enter(b, next);
    }

    // Cells of one class; those of class -1 come first, then those of +1.
    size_t size() const { return static_cast<size_t>(size_); }

    void add(Changes listed, int64_t begin, int c, int64_t *cells) const {
        int64_t *base = cells + (c ? size_ : 0);
        for (int64_t k = 0; k < listed.count; ++k) {
            auto row = static_cast<size_t>(begin + listed.rows[k]);
            int64_t value = listed.change[k];
            for (int64_t e = row_start_[row]; e < row_start_[row + 1]; ++e) base[cells_of_[static_cast<size_t>(e)]] += value;
        }
    }

    bool is_single(int32_t b) const {
        int64_t first = start_[static_cast<size_t>(b)];
        return first >= 0 && first < static_cast<int64_t>(singles_.size());
    }

    // The largest |edge| of the columns of a single cell, where the constant has the edge `total`.
    double single_peak(const int64_t *cells, const double *scale, double total) const {
        return largest_single(cells, cells + size_, static_cast<int64_t>(singles_.size()), scale[0], scale[1], total);
    }

    // The lowest of their features with an |edge| of at least `reach`.
    int32_t first_single(const int64_t *cells, const double *scale, double total, double reach) const {
        constexpr int64_t run = 256;
        auto count = static_cast<int64_t>(singles_.size());
        int32_t feature = std::numeric_limits<int32_t>::max();
        for (int64_t s = 0; s < count; s += run) {
            int64_t n = std::min(run, count - s);
            if (largest_single(cells + s, cells + size_ + s, n, scale[0], scale[1], total) < reach) continue;
            for (int64_t k = s; k < s + n; ++k)
                if (largest_single(cells + k, cells + size_ + k, 1, scale[0], scale[1], total) >= reach)
                    feature = std::min(feature, singles_[static_cast<size_t>(k)]);
        }
        return feature;
    }

    // The whole numbers of one class in each code of a column: out[0..bins-1], out[255]; `all` is their sum.
    void units(int32_t b, int c, const int64_t *cells, int64_t all, int64_t *out) const {
        const int64_t *own = cells + (c ? size_ : 0) + start_[static_cast<size_t>(b)];
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
        const int64_t *negative = cells + start_[static_cast<size_t>(b)], *positive = negative + size_;
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
    std::vector<int64_t> start_;      // of each block; -1 for a dense one
    std::vector<int64_t> row_start_;  // entries of each row
    std::vector<int32_t> cells_of_;   // the cell of each entry
    std::vector<int32_t> singles_;    // the feature of each column of a single cell; these cells come first
    int64_t size_ = 0;

    bool has_single_cell(int32_t b) const {
        return blocks_[b].one_sum && !blocks_.members(blocks_[b])->missing;
    }

    // The one code that is listed; or codes 0..bins-1, then a missing value.
    void claim(int32_t b, bool single) {
        start_[static_cast<size_t>(b)] = size_;
        size_ += single ? 1 : blocks_[b].bins + 1;
        if (single) singles_.push_back(blocks_.members(blocks_[b])->feature);
        require(size_ < (int64_t{1} << 31), "too many cells in the sparse columns");
        const SparseColumn &column = *blocks_[b].sparse;
        for (int64_t k = 0; k < column.count; ++k) ++row_start_[static_cast<size_t>(column.rows[k]) + 1];
    }

    void enter(int32_t b, std::vector<int64_t> &next) {
        const SparseColumn &column = *blocks_[b].sparse;
        int64_t first = start_[static_cast<size_t>(b)];
        for (int64_t k = 0; k < column.count; ++k) {
            int64_t local = column.codes[k] == kMissing ? blocks_[b].bins : column.codes[k];
            if (is_single(b)) local = 0;
            cells_of_[static_cast<size_t>(next[static_cast<size_t>(column.rows[k])]++)] = static_cast<int32_t>(first + local);
        }
    }
};

}  // namespace dualboost::descent
