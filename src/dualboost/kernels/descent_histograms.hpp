// Where the histograms of incremental descent lie, how a list of changes is added to them, and how they are read.
#pragma once

#include "descent_sparse.hpp"

namespace dualboost::descent {

// Rows of a tile whose weights change: their place, the place of their class in a histogram, the change.
struct Listed {
    std::vector<uint16_t> rows = std::vector<uint16_t>(kTileRows + 8);
    std::vector<uint16_t> offsets = std::vector<uint16_t>(kTileRows);
    std::vector<int64_t> change = std::vector<int64_t>(kTileRows);
    int64_t begin = 0, count = 0, units[2] = {0, 0};
};

// The cells are one array, which each thread may have for itself; the last group of columns are the sparse ones.
class Histograms {
public:
    Histograms(const StumpBlocks &blocks, int64_t m) : blocks_(blocks), start_(blocks.size(), 0), sparse_(blocks, m) {
        auto count = static_cast<int32_t>(blocks.size());
        for (int32_t b = 0; b < count; ++b)
            if (blocks[b].codes && !blocks[b].crowded) order_.push_back(b);
        plain_ = order_.size();
        for (int32_t b = 0; b < count; ++b)
            if (blocks[b].codes && blocks[b].crowded) order_.push_back(b);
        for (int32_t b : order_) {
            start_[static_cast<size_t>(b)] = sparse_start_;
            sparse_start_ += static_cast<size_t>(kCells) * static_cast<size_t>(planes(b));
        }
    }

    size_t size() const { return sparse_start_ + 2 * sparse_.size(); }
    size_t groups() const { return (plain_ + kTogether - 1) / kTogether + (order_.size() - plain_) + 1; }

    // Adds a list to group g of columns: four plain ones (or the few that are left), one crowded one, all sparse ones.
    void add(size_t g, const Listed &listed, int64_t *cells) const {
        size_t plain_groups = (plain_ + kTogether - 1) / kTogether;
        const uint16_t *rows = listed.rows.data(), *offsets = listed.offsets.data();
        const int64_t *change = listed.change.data();
        auto codes = [&](size_t k) { return blocks_[order_[k]].codes + listed.begin; };
        auto place = [&](size_t k) { return cells + start_[static_cast<size_t>(order_[k])]; };
        if (g + 1 == groups()) {
            sparse_.add(rows, offsets, change, listed.begin, listed.count, cells + sparse_start_);
            return;
        }
        if (g >= plain_groups) {
            size_t k = plain_ + g - plain_groups;
            add_one<kCrowdedPlanes>(codes(k), rows, offsets, change, listed.count, place(k));
            return;
        }
        size_t first = g * kTogether, end = std::min(first + kTogether, plain_);
        if (end - first == kTogether) {
            const uint8_t *four[kTogether] = {codes(first), codes(first + 1), codes(first + 2), codes(first + 3)};
            add_four(four, rows, offsets, change, listed.count, place(first));
            return;
        }
        for (size_t k = first; k < end; ++k) add_one<1>(codes(k), rows, offsets, change, listed.count, place(k));
    }

    // The whole numbers of one class in each code of a column; `all` is their sum.
    void units(int32_t b, int c, const int64_t *cells, int64_t all, int64_t *out) const {
        if (blocks_[b].sparse) return sparse_.units(b, c, cells + sparse_start_, all, out);
        const int64_t *own = cells + start_[static_cast<size_t>(b)] + 256 * c;
        for (int code = 0; code < kCodes; ++code)
            for (int plane = 0; plane < planes(b); ++plane) out[code] += own[plane * kCells + code];
    }

    // What weighs in each code of a column: the positive class minus the negative one.
    void join(int32_t b, const int64_t *cells, const int64_t *all, const double *scale, double *sums) const {
        int bins = blocks_[b].bins;
        if (blocks_[b].sparse) {
            int64_t negative[kCodes], positive[kCodes];
            sparse_.units(b, 0, cells + sparse_start_, all[0], negative);
            sparse_.units(b, 1, cells + sparse_start_, all[1], positive);
            for (int code = 0; code < bins; ++code) sums[code] = joined(negative[code], positive[code], scale);
            sums[kMissing] = joined(negative[kMissing], positive[kMissing], scale);
            return;
        }
        const int64_t *own = cells + start_[static_cast<size_t>(b)];
        join_classes(own, planes(b), scale[0], scale[1], 0, bins, sums);
        if (bins <= kMissing) join_classes(own, planes(b), scale[0], scale[1], kMissing, kMissing + 1, sums);
    }

    double sparse_peak(int32_t b, const int64_t *cells, const int64_t *all, const double *scale, double total) const {
        return sparse_.peak(b, cells + sparse_start_, all, scale, total);
    }

private:
    const StumpBlocks &blocks_;
    std::vector<int32_t> order_;  // dense blocks: plain ones, four to a group, then crowded ones
    size_t plain_ = 0;            // how many are plain
    std::vector<size_t> start_;   // of each dense block
    size_t sparse_start_ = 0;
    SparseUnits sparse_;

    int planes(int32_t b) const { return blocks_[b].crowded ? kCrowdedPlanes : 1; }
    static double joined(int64_t negative, int64_t positive, const double *scale) {
        return scale[1] * static_cast<double>(positive) - scale[0] * static_cast<double>(negative);
    }
};

}  // namespace dualboost::descent
