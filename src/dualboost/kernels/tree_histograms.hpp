// Histograms of a node's rows: the weight of either label in every cell, exact integers.
#pragma once

#include "tree_blocks.hpp"
#include "tree_weights.hpp"

namespace dualboost {

// Rows of label +1 first, then those of label -1, with their weights |q| beside them.
struct NodeRows {
    const int32_t *rows;
    const int64_t *weights;
    int64_t positives, negatives;

    int64_t size() const { return positives + negatives; }
};

constexpr int64_t kTreeTile = 1 << 13;  // rows whose numbers and weights stay in the second-level cache
constexpr size_t kTreePanel = 16;  // columns that go over a tile together

// Several columns at once: each row number and weight is loaded once for all of them, and an add to one histogram does
// not wait for the add before it.
template <int columns>
static void add_codes(const uint8_t *const *codes, const int32_t *rows, const int64_t *weights, int64_t n,
                      int64_t *cells) {
    const uint8_t *column[columns];
    for (int c = 0; c < columns; ++c) column[c] = codes[c];
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
            int32_t row = rows[i + k];
            int64_t weight = weights[i + k];
#pragma GCC unroll 4
            for (int c = 0; c < columns; ++c) cells[kCodes * c + column[c][row]] += weight;
        }
    for (; i < n; ++i)
        for (int c = 0; c < columns; ++c) cells[kCodes * c + column[c][rows[i]]] += weights[i];
}

// Any number of columns; the histograms follow each other at `cells`.
inline void add_columns_of(const uint8_t *const *codes, size_t count, const int32_t *rows, const int64_t *weights,
                           int64_t n, int64_t *cells) {
    size_t c = 0;
    for (; c + 4 <= count; c += 4) add_codes<4>(codes + c, rows, weights, n, cells + kCodes * c);
    if (count - c == 3) add_codes<3>(codes + c, rows, weights, n, cells + kCodes * c);
    if (count - c == 2) add_codes<2>(codes + c, rows, weights, n, cells + kCodes * c);
    if (count - c == 1) add_codes<1>(codes + c, rows, weights, n, cells + kCodes * c);
}

DUALBOOST_CLONES static void subtract_cells(const int64_t *whole, const int64_t *part, size_t n, int64_t *out) {
    for (size_t i = 0; i < n; ++i) out[i] = whole[i] - part[i];
}

// Cells of one node: those of label +1, then those of label -1.
class TreeHistograms {
public:
    explicit TreeHistograms(const TreeLayout &layout) : layout_(layout) {
        for (int32_t block : layout.full_blocks()) codes_.push_back(layout.blocks[block].codes);
        panels_ = (codes_.size() + kTreePanel - 1) / kTreePanel;
        for (size_t b = 0; b < layout.blocks.size(); ++b) use_cells_of(b);
    }

    size_t size() const { return 2 * layout_.cells(); }

    void fill(const NodeRows &node, int64_t *cells, int threads) const {
        for_used([&](size_t first, size_t count) { std::fill_n(cells + first, count, 0); });
        int64_t tasks = 2 * static_cast<int64_t>(panels_ + (layout_.any_sparse() ? 1 : 0));
        bool worth = node.size() * static_cast<int64_t>(codes_.size() + 1) >= kWorthTreeThreads;
        parallel(tasks, worth ? threads : 1, [&](int64_t task) {
            bool positive = task % 2 == 0;
            int64_t from = positive ? 0 : node.positives, count = positive ? node.positives : node.negatives;
            int64_t *plane = positive ? cells : cells + layout_.cells();
            add(static_cast<size_t>(task / 2), node.rows + from, node.weights + from, count, plane);
        });
    }

    // The rows of a whole less those of a part.
    void subtract(const int64_t *whole, const int64_t *part, int64_t *out) const {
        for_used([&](size_t first, size_t n) { subtract_cells(whole + first, part + first, n, out + first); });
    }

private:
    struct Cells {
        size_t first, count;
    };

    const TreeLayout &layout_;
    std::vector<const uint8_t *> codes_;  // of the blocks in full, which come first
    size_t panels_;
    std::vector<Cells> used_;  // of one label; codes that do not occur have cells that nobody looks at

    void use_cells_of(size_t b) {
        const Block &block = layout_.blocks[static_cast<int32_t>(b)];
        size_t first = static_cast<size_t>(layout_.first_cell(b)), bins = static_cast<size_t>(block.bins);
        constexpr size_t many = kCodes * 3 / 4;  // from here on the gap is too short to be worth a jump
        if (!block.codes || bins >= many) return use({first, block.codes ? size_t{kCodes} : bins + 1});
        use({first, bins});
        use({first + kMissing, 1});
    }

    void use(Cells more) {
        if (!used_.empty() && used_.back().first + used_.back().count == more.first) used_.back().count += more.count;
        else used_.push_back(more);
    }

    template <class Work> void for_used(const Work &work) const {
        for (size_t plane : {size_t{0}, layout_.cells()})
            for (const Cells &cells : used_) work(plane + cells.first, cells.count);
    }

    void add(size_t panel, const int32_t *rows, const int64_t *weights, int64_t n, int64_t *plane) const {
        if (panel == panels_) return add_exceptions(rows, weights, n, plane);
        size_t first = panel * kTreePanel, count = std::min(kTreePanel, codes_.size() - first);
        for (int64_t begin = 0; begin < n; begin += kTreeTile)
            add_columns_of(&codes_[first], count, rows + begin, weights + begin, std::min(kTreeTile, n - begin),
                           plane + kCodes * first);
    }

    void add_exceptions(const int32_t *rows, const int64_t *weights, int64_t n, int64_t *plane) const {
        for (int64_t i = 0; i < n; ++i) {
            const int32_t *end = layout_.exceptions_end(rows[i]);
            for (const int32_t *cell = layout_.exceptions_begin(rows[i]); cell != end; ++cell)
                plane[*cell] += weights[i];
        }
    }
};

}  // namespace dualboost
