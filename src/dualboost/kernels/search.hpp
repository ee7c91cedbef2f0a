// Raw values to codes: a strided view of a matrix, tiles of it, and the search among a feature's cuts.
#pragma once

#include "common.hpp"

#include <cstdlib>

namespace dualboost {

inline int bit_width(uint64_t x) {
    int bits = 0;
    for (; x; x >>= 1) ++bits;
    return bits;
}

constexpr int kTileRows = 256;  // with eight columns a tile is 16 kB: it stays in the first-level cache
constexpr int kTileColumns = 8;  // eight doubles are one cache line of a row-major matrix

using Tile = double[kTileColumns][kTileRows];

// Read-only arguments, by what they hold.
using Doubles = Vector<const double>;
using Ints = Vector<const int32_t>;
using Longs = Vector<const int64_t>;
using Bytes = Vector<const uint8_t>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

// A matrix as NumPy sees it: any strides (in items), float64 or float32; nothing is copied.
struct Matrix {
    const void *data;
    int64_t rows, columns, row_stride, column_stride;
    bool is_double;
};

inline Matrix view(const AnyMatrix &x) {
    bool is_double = x.dtype() == nb::dtype<double>();
    if (!is_double && x.dtype() != nb::dtype<float>())
        throw nb::type_error("X must be an array of float64 or float32.");
    return {x.data(), static_cast<int64_t>(x.shape(0)), static_cast<int64_t>(x.shape(1)), x.stride(0), x.stride(1),
            is_double};
}

inline double value_at(const Matrix &x, int64_t row, int64_t column) {
    int64_t at = row * x.row_stride + column * x.column_stride;
    return x.is_double ? static_cast<const double *>(x.data)[at]
                       : static_cast<double>(static_cast<const float *>(x.data)[at]);
}

constexpr int kAhead = 12;  // rows that are asked for before they are read: they may lie far apart

template <class T> DUALBOOST_INLINE void ask_for(const T *row, const int64_t *offset) {
#if defined(__GNUC__)
    __builtin_prefetch(row + offset[0]);
    __builtin_prefetch(row + offset[kTileColumns - 1]);
#else
    (void)row, (void)offset;
#endif
}

// Copies x[row(i), columns[c]] to tile[c][i]. The loops run along memory: a row-major matrix is read once, line by
// line, and rows whose distance is a power of two do not throw each other out of the cache.
template <class T, class RowOf>
void load_tile_of(const T *x, const Matrix &m, RowOf row_of, int rows, const int32_t *columns, int width, Tile &tile) {
    if (std::abs(m.row_stride) >= std::abs(m.column_stride)) {
        int64_t offset[kTileColumns];  // always eight, the last one repeated: a loop of known length is faster
        for (int c = 0; c < kTileColumns; ++c) offset[c] = columns[std::min(c, width - 1)] * m.column_stride;
        for (int i = 0; i < rows; ++i) {
            const T *row = x + row_of(i) * m.row_stride;
            ask_for(x + row_of(std::min(i + kAhead, rows - 1)) * m.row_stride, offset);
            for (int c = 0; c < kTileColumns; ++c) tile[c][i] = static_cast<double>(row[offset[c]]);
        }
    } else {
        for (int c = 0; c < width; ++c) {
            const T *column = x + columns[c] * m.column_stride;
            for (int i = 0; i < rows; ++i) tile[c][i] = static_cast<double>(column[row_of(i) * m.row_stride]);
        }
    }
}

template <class RowOf>
void load_tile(const Matrix &m, RowOf row_of, int rows, const int32_t *columns, int width, Tile &tile) {
    if (m.is_double) load_tile_of(static_cast<const double *>(m.data), m, row_of, rows, columns, width, tile);
    else load_tile_of(static_cast<const float *>(m.data), m, row_of, rows, columns, width, tile);
}

// The number of cuts below x (0 for NaN): a binary search without branches, for single values.
DUALBOOST_INLINE int64_t count_below(const double *cuts, int64_t n, double x) {
    if (n == 0) return 0;
    const double *base = cuts;
    while (n > 1) {
        int64_t half = n / 2;
        base += base[half - 1] < x ? half : 0;
        n -= half;
    }
    return (base - cuts) + (*base < x ? 1 : 0);
}

// The cuts of one feature, prepared for many values. The range of the cuts is divided into cells, equal ones or, for
// skewed features, equal in the logarithm. cell(x) never decreases in x, whatever the rounding, so the cuts in lower
// cells are below x and those in higher cells above it: only the `probes` cuts that share the cell of x remain to be
// compared.
struct CutIndex {
    enum class Way {
        all,  // a handful of cuts: compare with each
        linear,  // compare with the cuts of one cell
        logarithmic,  // the same
        binary,  // the cuts crowd in few cells: `levels` steps in the padded table
    };
    Way way = Way::binary;
    int32_t cells = 0, probes = 0, levels = 0;
    double low = 0.0, scale = 0.0;  // linear: cell = (x - low) * scale
    int32_t lowest = 0, highest = 0, shift = 0;  // logarithmic: cell = (upper half of x - lowest) >> shift
    int32_t missing_code = 0;
    std::vector<uint16_t> start;  // for each cell, the number of cuts in lower cells; at last the missing code
    std::vector<double> cuts;  // padded with +inf, so that no probe leaves the table
};

// So few rows are looked up value by value: to prepare anything would cost more than it saves.
constexpr int64_t kFewRows = 8;

// `rows` is how many values will be looked up: a finer grid is faster but must pay for its construction. NaN gets
// `missing_code`, which must be larger than n.
CutIndex make_cut_index(const double *cuts, int64_t n, int64_t rows, int32_t missing_code);

// For n <= kTileRows values: codes, or cells to be probed.
void compare_with_all(const CutIndex &index, const double *x, int n, int32_t *code);
void find_linear_cells(const CutIndex &index, const double *x, int n, int32_t *cell);
void find_log_cells(const CutIndex &index, const double *x, int n, int32_t *cell);
void search_padded(const CutIndex &index, const double *x, int n, int32_t *code);

template <int Probes, class Use>
void probe_cells(const CutIndex &index, const double *x, int n, const int32_t *cell, const Use &use) {
    const uint16_t *start = index.start.data();
    const double *cuts = index.cuts.data();
    for (int i = 0; i < n; ++i) {
        int32_t first = start[cell[i]], code = first;
        for (int k = 0; k < Probes; ++k) code += cuts[first + k] < x[i] ? 1 : 0;
        use(i, code);
    }
}

// Calls use(i, number of cuts below x[i], or the missing code) for i < n <= kTileRows.
template <class Use> void for_codes(const CutIndex &index, const double *x, int n, const Use &use) {
    int32_t found[kTileRows];
    if (index.way == CutIndex::Way::linear || index.way == CutIndex::Way::logarithmic) {
        if (index.way == CutIndex::Way::linear) find_linear_cells(index, x, n, found);
        else find_log_cells(index, x, n, found);
        if (index.probes == 1) return probe_cells<1>(index, x, n, found, use);
        if (index.probes == 2) return probe_cells<2>(index, x, n, found, use);
        return probe_cells<4>(index, x, n, found, use);
    }
    if (index.way == CutIndex::Way::all) compare_with_all(index, x, n, found);
    else search_padded(index, x, n, found);
    for (int i = 0; i < n; ++i) use(i, found[i]);
}

}  // namespace dualboost
