// The binned data as trees read them: columns of codes in full, and the exceptions of sparse columns row by row.
#pragma once

#include "stumps_blocks.hpp"
#include "stumps_rows.hpp"

namespace dualboost {

// A histogram has one cell for each code of each block. A block in full has 256 cells; the codes of a sparse block
// follow each other (a missing value last), and the rows that it does not list have no cell: they are what is left.
class TreeLayout {
public:
    // `categorical` tells for each feature whether its codes are categories; empty: none are.
    TreeLayout(const StumpLayout &layout, std::vector<uint8_t> categorical)
        : layout(layout), blocks(layout), categorical_(std::move(categorical)) {
        require(categorical_.empty() || categorical_.size() == layout.features(),
                "categorical must have one entry for each feature");
        int64_t cells = 0;
        for (size_t b = 0; b < blocks.size(); ++b) {
            const Block &block = blocks[static_cast<int32_t>(b)];
            first_cell_.push_back(cells);
            if (block.codes) full_.push_back(static_cast<int32_t>(b));
            cells += block.codes ? kCodes : block.bins + 1;
        }
        require(cells < (int64_t{1} << 31), "there are too many columns for trees");
        cells_ = static_cast<size_t>(cells);
        list_exceptions();
        for (int sign : {1, -1})
            for (int64_t i = 0; i < layout.rows(); ++i)
                if (layout.y()[i] == sign) by_label_.push_back(static_cast<int32_t>(i));
    }

    const StumpLayout &layout;
    const StumpBlocks blocks;

    size_t cells() const { return cells_; }
    bool any_categories() const { return !categorical_.empty(); }
    bool categorical(size_t feature) const { return any_categories() && categorical_[feature] != 0; }
    int64_t first_cell(size_t block) const { return first_cell_[block]; }
    const std::vector<int32_t> &full_blocks() const { return full_; }
    bool any_sparse() const { return !exceptions_.empty(); }
    // Rows of label +1, then those of label -1, ascending.
    const std::vector<int32_t> &by_label() const { return by_label_; }

    // The cells of a row's exceptions, in the order of the blocks.
    const int32_t *exceptions_begin(int64_t row) const {
        return exceptions_.data() + row_start_[static_cast<size_t>(row)];
    }
    const int32_t *exceptions_end(int64_t row) const { return exceptions_begin(row + 1); }

    int64_t cell_of(size_t block, int code) const {
        return first_cell_[block] + (code == kMissing ? blocks[static_cast<int32_t>(block)].bins : code);
    }

    // The codes of one feature for rows [begin, end): as stored, or written to `room`.
    const uint8_t *codes(size_t feature, int64_t begin, int64_t end, uint8_t *room) const {
        if (layout.home(feature) == Home::dense) return layout.dense(feature) + begin;
        const SparseColumn &column = layout.sparse(feature);
        std::memset(room, column.fallback, static_cast<size_t>(end - begin));
        Span span = rows_between(column, begin, end);
        for (int64_t k = span.first; k < span.last; ++k) room[column.rows[k] - begin] = column.codes[k];
        return room;
    }

private:
    std::vector<uint8_t> categorical_;
    size_t cells_ = 0;
    std::vector<int64_t> first_cell_, row_start_;
    std::vector<int32_t> full_, exceptions_, by_label_;

    void list_exceptions() {
        row_start_.assign(static_cast<size_t>(layout.rows()) + 1, 0);
        for_exceptions([&](int32_t row, int64_t) { ++row_start_[static_cast<size_t>(row) + 1]; });
        for (size_t i = 1; i < row_start_.size(); ++i) row_start_[i] += row_start_[i - 1];
        exceptions_.resize(static_cast<size_t>(row_start_.back()));
        std::vector<int64_t> next(row_start_.begin(), row_start_.end() - 1);
        for_exceptions([&](int32_t row, int64_t cell) {
            exceptions_[static_cast<size_t>(next[static_cast<size_t>(row)]++)] = static_cast<int32_t>(cell);
        });
    }

    template <class Use> void for_exceptions(const Use &use) const {
        for (size_t b = 0; b < blocks.size(); ++b) {
            const SparseColumn *column = blocks[static_cast<int32_t>(b)].sparse;
            for (int64_t k = 0; column && k < column->count; ++k)
                if (column->codes[k] != column->fallback) use(column->rows[k], cell_of(b, column->codes[k]));
        }
    }
};

}  // namespace dualboost
