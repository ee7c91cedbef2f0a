// Sparse columns in incremental descent: a row knows its entries, so a changed row costs as many additions as it has.
//
// Each column has a cell for every code that is listed; what is not listed is the rest of the class.
#pragma once

#include "descent_lists.hpp"
#include "stumps_blocks.hpp"

namespace dualboost::descent {

class SparseUnits {
public:
    SparseUnits(const StumpBlocks &blocks, int64_t m) : blocks_(blocks), start_(blocks.size(), -1) {
        row_start_.assign(static_cast<size_t>(m) + 1, 0);
        for (int32_t b = 0; b < static_cast<int32_t>(blocks.size()); ++b)
            if (blocks[b].sparse) claim(b);
        for (size_t i = 1; i < row_start_.size(); ++i) row_start_[i] += row_start_[i - 1];
        cells_of_.resize(static_cast<size_t>(row_start_.back()));
        std::vector<int64_t> next(row_start_.begin(), row_start_.end() - 1);
        for (int32_t b = 0; b < static_cast<int32_t>(blocks.size()); ++b)
            if (blocks[b].sparse) enter(b, next);
    }

    // Cells of one class; those of class -1 come first, then those of +1.
    size_t size() const { return static_cast<size_t>(size_); }

    void add(const uint16_t *rows, const uint16_t *offsets, const int64_t *change, int64_t begin, int64_t count,
             int64_t *cells) const {
        for (int64_t k = 0; k < count; ++k) {
            size_t row = static_cast<size_t>(begin + rows[k]);
            int64_t value = change[k], *base = cells + (offsets[k] ? size_ : 0);
            for (int64_t e = row_start_[row]; e < row_start_[row + 1]; ++e) base[cells_of_[static_cast<size_t>(e)]] += value;
        }
    }

    // The whole numbers of one class in each code of a column: out[0..bins-1], out[255]; `all` is their sum.
    void units(int32_t b, int c, const int64_t *cells, int64_t all, int64_t *out) const {
        const int64_t *own = cells + (c ? size_ : 0) + start_[static_cast<size_t>(b)];
        int bins = blocks_[b].bins;
        int64_t listed = 0;
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
    int64_t size_ = 0;

    // Codes 0..bins-1, then a missing value.
    void claim(int32_t b) {
        start_[static_cast<size_t>(b)] = size_;
        size_ += blocks_[b].bins + 1;
        require(size_ < (int64_t{1} << 31), "too many cells in the sparse columns");
        const SparseColumn &column = *blocks_[b].sparse;
        for (int64_t k = 0; k < column.count; ++k) ++row_start_[static_cast<size_t>(column.rows[k]) + 1];
    }

    void enter(int32_t b, std::vector<int64_t> &next) {
        const SparseColumn &column = *blocks_[b].sparse;
        int64_t first = start_[static_cast<size_t>(b)];
        for (int64_t k = 0; k < column.count; ++k) {
            int64_t local = column.codes[k] == kMissing ? blocks_[b].bins : column.codes[k];
            cells_of_[static_cast<size_t>(next[static_cast<size_t>(column.rows[k])]++)] = static_cast<int32_t>(first + local);
        }
    }
};

}  // namespace dualboost::descent
