// Columns of codes, stored in full or as the exceptions to their most frequent code.
#pragma once

#include "search.hpp"

namespace dualboost {

constexpr uint8_t kMissing = 255;

// The most frequent code of a column (the lowest of equals), how many rows have it, and whether any value is missing.
struct Modes {
    std::vector<uint8_t> code, missing;
    std::vector<int64_t> count;
    explicit Modes(int64_t columns)
        : code(static_cast<size_t>(columns)), missing(static_cast<size_t>(columns)),
          count(static_cast<size_t>(columns)) {}

    void set(int64_t column, const int64_t *counts) {
        auto j = static_cast<size_t>(column);
        int64_t most = 0;
        for (int c = 0; c < 256; ++c) most = std::max(most, counts[c]);
        code[j] = static_cast<uint8_t>(std::find(counts, counts + 255, most) - counts);
        count[j] = most;
        missing[j] = counts[kMissing] > 0;
    }
    void set_constant(int64_t column, uint8_t only_code, int64_t rows) {
        auto j = static_cast<size_t>(column);
        code[j] = only_code;
        count[j] = rows;
        missing[j] = only_code == kMissing;
    }
};

inline void count_codes(const uint8_t *codes, int64_t n, int64_t *counts) {
    // Four tables: equal neighbours would wait for each other in one.
    uint32_t tables[4][256] = {};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; ++k) ++tables[k][codes[i + k]];
    for (; i < n; ++i) ++tables[0][codes[i]];
    for (int b = 0; b < 256; ++b) counts[b] = int64_t{tables[0][b]} + tables[1][b] + tables[2][b] + tables[3][b];
}

// Where the exceptions of some columns go: those of columns[s] to [start[s], start[s + 1]).
struct PackedColumns {
    int64_t count;
    const int32_t *columns;
    const uint8_t *defaults;
    const int64_t *start;
    int32_t *rows;
    uint8_t *codes;
};

inline PackedColumns checked_packing(int64_t n_columns, const Ints &columns, const Bytes &defaults, const Longs &start,
                                     const Vector<int32_t> &rows, const Vector<uint8_t> &codes) {
    auto count = static_cast<int64_t>(columns.shape(0)), entries = static_cast<int64_t>(rows.shape(0));
    require(static_cast<int64_t>(defaults.shape(0)) == count && static_cast<int64_t>(start.shape(0)) == count + 1 &&
                start.data()[0] == 0 && start.data()[count] == entries &&
                static_cast<int64_t>(codes.shape(0)) == entries &&
                std::is_sorted(start.data(), start.data() + count + 1),
            "The arrays of the sparse columns do not fit together.");
    for (int64_t s = 0; s < count; ++s)
        require(columns.data()[s] >= 0 && columns.data()[s] < n_columns, "A column number is out of range.");
    return {count, columns.data(), defaults.data(), start.data(), rows.data(), codes.data()};
}

// Writes one exception after the other, never beyond the place reserved; `complete` tells whether the number was right.
class PackWriter {
public:
    PackWriter(const PackedColumns &packed, int64_t s)
        : packed_(packed), at_(packed.start[s]), end_(packed.start[s + 1]), usual_(packed.defaults[s]) {}

    DUALBOOST_INLINE void write(int64_t row, uint8_t code) {
        if (code == usual_) return;
        if (at_ < end_) packed_.rows[at_] = static_cast<int32_t>(row), packed_.codes[at_] = code;
        ++at_;
    }
    bool complete() const { return at_ == end_; }

private:
    const PackedColumns &packed_;
    int64_t at_, end_;
    uint8_t usual_;
};

inline bool pack_full_column(const uint8_t *codes, int64_t n_rows, const PackedColumns &packed, int64_t s) {
    PackWriter writer(packed, s);
    uint64_t usual = 0x0101010101010101u * packed.defaults[s];
    int64_t i = 0;
    for (; i + 8 <= n_rows; i += 8) {
        uint64_t eight;
        std::memcpy(&eight, codes + i, 8);
        if (eight == usual) continue;
        for (int k = 0; k < 8; ++k) writer.write(i + k, codes[i + k]);
    }
    for (; i < n_rows; ++i) writer.write(i, codes[i]);
    return writer.complete();
}

// The codes of sparse columns: those of the listed entries, and one for everything else.
struct SparseCodes {
    int64_t n_rows, n_columns;
    const int64_t *start;
    const int32_t *rows;
    const uint8_t *codes;
    const uint8_t *zero_codes;
};

inline SparseCodes checked_codes(int64_t n_rows, const Longs &start, const Ints &rows, const Bytes &codes,
                                 const Bytes &zero_codes) {
    auto columns = static_cast<int64_t>(zero_codes.shape(0)), entries = static_cast<int64_t>(rows.shape(0));
    require(static_cast<int64_t>(start.shape(0)) == columns + 1 && start.data()[0] == 0 &&
                start.data()[columns] == entries && static_cast<int64_t>(codes.shape(0)) == entries &&
                std::is_sorted(start.data(), start.data() + columns + 1),
            "The column starts, rows and codes of a sparse matrix do not fit together.");
    bool fine = true;
    for (int64_t k = 0; k < entries; ++k) fine &= rows.data()[k] >= 0 && rows.data()[k] < n_rows;
    require(fine, "A row number of a sparse matrix is out of range.");
    return {n_rows, columns, start.data(), rows.data(), codes.data(), zero_codes.data()};
}

inline void fill_column(const SparseCodes &x, int64_t column, uint8_t *out) {
    std::memset(out, x.zero_codes[column], static_cast<size_t>(x.n_rows));
    for (int64_t k = x.start[column]; k < x.start[column + 1]; ++k) out[x.rows[k]] = x.codes[k];
}

inline bool pack_sparse_column(const SparseCodes &x, const PackedColumns &packed, int64_t s) {
    int64_t column = packed.columns[s];
    if (packed.defaults[s] != x.zero_codes[column]) {
        // Then most rows are listed, and a full column is no waste.
        std::vector<uint8_t> full(static_cast<size_t>(x.n_rows));
        fill_column(x, column, full.data());
        return pack_full_column(full.data(), x.n_rows, packed, s);
    }
    PackWriter writer(packed, s);
    for (int64_t k = x.start[column]; k < x.start[column + 1]; ++k) writer.write(x.rows[k], x.codes[k]);
    return writer.complete();
}

}  // namespace dualboost
