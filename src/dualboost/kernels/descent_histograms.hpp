// Where the histograms of incremental descent lie, how a list of changes is added to them, and how they are read.
#pragma once

#include "descent_sparse.hpp"

namespace dualboost::descent {

// Rows of a tile whose weights change, by their place in it, and the change: class -1 first, then +1.
struct Listed {
    std::vector<uint16_t> rows = std::vector<uint16_t>(kTileRows + 8);
    std::vector<int64_t> change = std::vector<int64_t>(kTileRows);
    int64_t begin = 0, count[2] = {0, 0}, units[2] = {0, 0};

    int64_t first(int c) const { return c ? count[0] : 0; }
    Changes of_class(int c) const { return {rows.data() + first(c), change.data() + first(c), count[c]}; }
};

// The cells are one array, which each thread may have for itself; the last group of columns are the sparse ones.
class Histograms {
public:
    Histograms(const StumpBlocks &blocks, int64_t m) : blocks_(blocks), start_(blocks.size(), 0), sparse_(blocks, m) {
        auto count = static_cast<int32_t>(blocks.size());
        for (int32_t b = 0; b < count; ++b)
            if (blocks[b].codes && !crowded(b)) order_.push_back(b);
        plain_ = order_.size();
        for (int32_t b = 0; b < count; ++b)
            if (blocks[b].codes && crowded(b)) order_.push_back(b);
        for (int32_t b : order_) {
            start_[static_cast<size_t>(b)] = class_size_;
            class_size_ += static_cast<size_t>(kCells) * static_cast<size_t>(planes(b));
        }
        sparse_start_ = 2 * class_size_;
    }

    size_t size() const { return sparse_start_ + 2 * sparse_.size(); }
    size_t groups() const { return (plain_ + kTogether - 1) / kTogether + (order_.size() - plain_) + 1; }

    // Adds a list to group g of columns: eight plain ones (or the few that are left), one crowded one, all sparse ones.
    void add(size_t g, const Listed &listed, int64_t *cells) const {
        for (int c = 0; c < 2; ++c) add_class(g, listed, c, cells);
    }

    // The whole numbers of one class in each code of a column; `all` is their sum.
    void units(int32_t b, int c, const int64_t *cells, int64_t all, int64_t *out) const {
        if (blocks_[b].sparse) return sparse_.units(b, c, cells + sparse_start_, all, out);
        const int64_t *own = cells + start(b, c);
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
        const int64_t *negative = cells + start(b, 0), *positive = cells + start(b, 1);
        auto part = [&](int from, int to) {
            join_classes(negative, positive, planes(b), scale[0], scale[1], from, to, sums);
        };
        part(0, bins);
        if (bins <= kMissing) part(kMissing, kMissing + 1);
    }

    bool is_single(int32_t b) const { return sparse_.is_single(b); }
    double single_peak(const int64_t *cells, const double *scale, double total) const {
        return sparse_.single_peak(cells + sparse_start_, scale, total);
    }
    int32_t first_single(const int64_t *cells, const double *scale, double total, double reach) const {
        return sparse_.first_single(cells + sparse_start_, scale, total, reach);
    }

    double sparse_peak(int32_t b, const int64_t *cells, const int64_t *all, const double *scale, double total) const {
        return sparse_.peak(b, cells + sparse_start_, all, scale, total);
    }

private:
    const StumpBlocks &blocks_;
    std::vector<int32_t> order_;  // dense blocks: plain ones, eight to a group, then crowded ones
    size_t plain_ = 0;  // how many are plain
    std::vector<size_t> start_;  // of each dense block, in the cells of class -1; those of class +1 follow
    size_t class_size_ = 0, sparse_start_ = 0;
    SparseUnits sparse_;

    size_t start(int32_t b, int c) const { return start_[static_cast<size_t>(b)] + (c ? class_size_ : 0); }

    void add_class(size_t g, const Listed &listed, int c, int64_t *cells) const {
        size_t plain_groups = (plain_ + kTogether - 1) / kTogether;
        Changes changes = listed.of_class(c);
        auto codes = [&](size_t k) { return blocks_[order_[k]].codes + listed.begin; };
        auto place = [&](size_t k) { return cells + start(order_[k], c); };
        if (g + 1 == groups()) {
            if (sparse_.size() > 0) sparse_.add(changes, listed.begin, c, cells + sparse_start_);
            return;
        }
        if (g >= plain_groups) {
            size_t k = plain_ + g - plain_groups;
            add_one<kCrowdedPlanes>(codes(k), changes, place(k));
            return;
        }
        size_t first = g * kTogether, width = std::min<size_t>(kTogether, plain_ - first);
        size_t then =
            first + 2 * kTogether <= plain_ ? first + kTogether : 0;  // the next group, or the first of the next tile
        const uint8_t *own[kTogether] = {}, *next[kTogether] = {};
        for (size_t j = 0; j < width; ++j) own[j] = codes(first + j);
        for (size_t j = 0; j < kTogether && plain_ >= kTogether; ++j)
            next[j] = codes(then + j) + (then ? 0 : kTileRows);
        add_group(own, c && plain_ >= kTogether ? next : nullptr, width, changes, place(first));
    }

    static void add_group(const uint8_t *const *codes, const uint8_t *const *next, size_t width, Changes changes,
                          int64_t *cells) {
        if (width == kTogether) return add_together<kTogether>(codes, next, changes, cells);
        for (size_t j = 0; j < width;) {
            if (width - j >= 4) {
                add_together<4>(codes + j, next, changes, cells + j * kCells);
                j += 4;
            } else {
                add_together<1>(codes + j, nullptr, changes, cells + j * kCells);
                ++j;
            }
        }
    }

    // Between two rows come the adds to other columns: only a very common code makes adds wait for each other.
    bool crowded(int32_t b) const { return blocks_[b].crowding > 0.3; }
    int planes(int32_t b) const { return crowded(b) ? kCrowdedPlanes : 1; }
    static double joined(int64_t negative, int64_t positive, const double *scale) {
        return scale[1] * static_cast<double>(positive) - scale[0] * static_cast<double>(negative);
    }
};

}  // namespace dualboost::descent
