// Cells of sparse columns, and the entries of each row in them: who changes the weight of a row adds to as many cells
// as the row has entries.
//
// Each column has a cell for every code that is listed; what is not listed is the rest. A column of two codes, such as
// a word that is there or not, has a single cell: those come first and lie side by side.
#pragma once

#include "stumps_blocks.hpp"

namespace dualboost {

class SparseCells {
public:
    // Columns with fewer entries than `fewest` get no cells.
    SparseCells(const StumpBlocks &blocks, int64_t m, int64_t fewest) : start_(blocks.size(), -1) {
        row_start_.assign(static_cast<size_t>(m) + 1, 0);
        auto takes = [&](int32_t b) { return blocks[b].sparse && blocks[b].sparse->count >= fewest; };
        for (bool single : {true, false})
            for (int32_t b = 0; b < static_cast<int32_t>(blocks.size()); ++b)
                if (takes(b) && has_single_cell(blocks, b) == single) claim(blocks, b, single);
        for (size_t i = 1; i < row_start_.size(); ++i) row_start_[i] += row_start_[i - 1];
        cells_of_.resize(static_cast<size_t>(row_start_.back()));
        std::vector<int64_t> next(row_start_.begin(), row_start_.end() - 1);
        for (int32_t b = 0; b < static_cast<int32_t>(blocks.size()); ++b)
            if (takes(b)) enter(blocks, b, next);
    }

    int64_t size() const { return size_; }
    int64_t entries() const { return row_start_.back(); }
    int64_t entries_of(int64_t row) const {
        return row_start_[static_cast<size_t>(row) + 1] - row_start_[static_cast<size_t>(row)];
    }
    int64_t start(int32_t b) const { return start_[static_cast<size_t>(b)]; }  // the first cell of a block; -1 for none
    bool is_single(int32_t b) const { return start(b) >= 0 && start(b) < static_cast<int64_t>(singles_.size()); }
    const std::vector<int32_t> &singles() const { return singles_; }  // the feature of each column of a single cell

    // add(cell) for each entry of a row.
    template <class Add> DUALBOOST_INLINE void each(int64_t row, const Add &add) const {
        const int32_t *cells = cells_of_.data();
        for (int64_t e = row_start_[static_cast<size_t>(row)], end = e + entries_of(row); e < end; ++e) add(cells[e]);
    }

    // Asks for the entries of a row that comes soon.
    void prefetch(int64_t row) const {
#if defined(__GNUC__)
        const int32_t *first = cells_of_.data() + row_start_[static_cast<size_t>(row)];
        for (int64_t e = 0; e < entries_of(row); e += 16) __builtin_prefetch(first + e);
#else
        (void)row;
#endif
    }

private:
    std::vector<int64_t> start_, row_start_;
    std::vector<int32_t> cells_of_;  // the cell of each entry
    std::vector<int32_t> singles_;
    int64_t size_ = 0;

    static bool has_single_cell(const StumpBlocks &blocks, int32_t b) {
        return blocks[b].one_sum && !blocks.members(blocks[b])->missing;
    }

    // The one code that is listed; or codes 0..bins-1, then a missing value.
    void claim(const StumpBlocks &blocks, int32_t b, bool single) {
        start_[static_cast<size_t>(b)] = size_;
        size_ += single ? 1 : blocks[b].bins + 1;
        if (single) singles_.push_back(blocks.members(blocks[b])->feature);
        require(size_ < (int64_t{1} << 31), "too many cells in the sparse columns");
        const SparseColumn &column = *blocks[b].sparse;
        for (int64_t k = 0; k < column.count; ++k) ++row_start_[static_cast<size_t>(column.rows[k]) + 1];
    }

    void enter(const StumpBlocks &blocks, int32_t b, std::vector<int64_t> &next) {
        const SparseColumn &column = *blocks[b].sparse;
        bool single = is_single(b);
        for (int64_t k = 0; k < column.count; ++k) {
            int64_t local = single ? 0 : column.codes[k] == kMissing ? blocks[b].bins : column.codes[k];
            int64_t &place = next[static_cast<size_t>(column.rows[k])];
            cells_of_[static_cast<size_t>(place++)] = static_cast<int32_t>(start(b) + local);
        }
    }
};

}  // namespace dualboost
