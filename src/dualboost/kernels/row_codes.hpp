// Rows of raw values as bytes, column by column: what the splits of finished trees compare.
#pragma once

#include "category_codes.hpp"

#include <optional>

namespace dualboost {

// One byte a value: the number of the column's cuts below it, or the code of its category; kMissing for a missing one.
struct CodedColumn {
    int32_t feature;
    std::vector<double> cuts;  // at most 254
    std::optional<CategoryCodes> categories = std::nullopt;

    uint8_t code(double x) const {
        if (categories) return categories->code(x);
        return x == x ? code_of_number(x) : static_cast<uint8_t>(kMissing);
    }
    uint8_t code_of_number(double x) const {
        return static_cast<uint8_t>(count_below(cuts.data(), static_cast<int64_t>(cuts.size()), x));
    }
};

using CodedColumns = std::vector<CodedColumn>;

inline int32_t largest_feature(const CodedColumns &columns) {
    int32_t last = -1;
    for (const CodedColumn &column : columns) last = std::max(last, column.feature);
    return last;
}

// The codes of a dense matrix, for any run of its rows.
class DenseCodes {
public:
    DenseCodes(const CodedColumns &columns, const Matrix &x) : columns_(columns), x_(x) {
        if (x.rows <= kFewRows) return;
        for (const CodedColumn &column : columns) {
            features_.push_back(column.feature);
            index_.push_back(
                make_cut_index(column.cuts.data(), static_cast<int64_t>(column.cuts.size()), x.rows, kMissing));
        }
    }

    // room(u) is where the codes of column u begin.
    template <class Room> void read(int64_t first, int n, const Room &room) const {
        if (index_.empty()) return read_few(first, n, room);
        Tile tile;
        for (int from = 0; from < n; from += kTileRows) {
            int rows = std::min(kTileRows, n - from);
            int64_t start = first + from;
            for (size_t u = 0; u < columns_.size(); u += kTileColumns) {
                int width = static_cast<int>(std::min<size_t>(kTileColumns, columns_.size() - u));
                load_tile(x_, [start](int i) { return start + i; }, rows, features_.data() + u, width, tile);
                for (int c = 0; c < width; ++c)
                    read_column(u + static_cast<size_t>(c), tile[c], rows, room(u + static_cast<size_t>(c)) + from);
            }
        }
    }

private:
    const CodedColumns &columns_;
    const Matrix &x_;
    std::vector<int32_t> features_;
    std::vector<CutIndex> index_;

    template <class Room> void read_few(int64_t first, int n, const Room &room) const {
        for (size_t u = 0; u < columns_.size(); ++u)
            for (int i = 0; i < n; ++i) room(u)[i] = columns_[u].code(value_at(x_, first + i, columns_[u].feature));
    }

    void read_column(size_t u, const double *values, int rows, uint8_t *codes) const {
        if (columns_[u].categories)
            for (int i = 0; i < rows; ++i) codes[i] = columns_[u].code(values[i]);
        else
            for_codes(index_[u], values, rows, [codes](int i, int32_t code) { codes[i] = static_cast<uint8_t>(code); });
    }
};

}  // namespace dualboost
