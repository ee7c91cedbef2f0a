// The hot loops of incremental descent: rows whose weight changes are listed, their change becomes an integer, and the
// integers are added to histograms.
#pragma once

#include "descent_math.hpp"

#include <array>

namespace dualboost::descent {

constexpr int64_t kTileRows = 1 << 13;  // rows inside a tile are told by 16 bits
// A histogram of one class: 256 codes, and a line of cache more, so that equal codes of columns that lie side by side
// do not fall into the same set of the cache.
constexpr int kCells = 256 + 8;
constexpr int kTogether = 8;  // columns that share one walk through a list
constexpr int kCrowdedPlanes = 4;  // copies of the histogram of a column with a very common code

// Positions of the ones in each byte: eight rows are listed at once, without a branch.
struct OnesTable {
    std::array<std::array<uint16_t, 8>, 256> positions{};
    std::array<uint8_t, 256> count{};
    OnesTable() {
        for (size_t byte = 0; byte < 256; ++byte)
            for (uint16_t bit = 0; bit < 8; ++bit)
                if (byte >> bit & 1u) positions[byte][count[byte]++] = bit;
    }
};

// Which rows of each class lie on the side that is listed: there `right` (0 or 1) is the listed side of class -1, +1.
struct Side {
    uint8_t cut, last;  // a row is right where cut < code <= last
    uint8_t right[2];
};

// How many rows of each class are on the right.
DUALBOOST_CLONES inline void count_right(const uint8_t *codes, const int8_t *y, int64_t n, uint8_t cut, uint8_t last,
                                         int64_t *counts) {
    constexpr int64_t strip = 240;  // sums of bytes do not overflow
    for (int64_t begin = 0; begin < n; begin += strip) {
        int64_t end = std::min(begin + strip, n);
        uint8_t all = 0, positive = 0;
        for (int64_t i = begin; i < end; ++i) {
            uint8_t right = static_cast<uint8_t>((codes[i] > cut) & (codes[i] <= last));
            all = static_cast<uint8_t>(all + right);
            positive = static_cast<uint8_t>(positive + (right & (y[i] > 0 ? 1 : 0)));
        }
        counts[0] += all - positive;
        counts[1] += positive;
    }
}

// 1 where a row of this class (-1 or 1) is listed.
DUALBOOST_CLONES inline void mark_rows(const uint8_t *codes, const int8_t *y, int64_t n, Side side, int8_t of_class,
                                       uint8_t *marks) {
    uint8_t listed = side.right[of_class > 0 ? 1 : 0];
    for (int64_t i = 0; i < n; ++i) {
        uint8_t right = static_cast<uint8_t>((codes[i] > side.cut) & (codes[i] <= side.last));
        marks[i] = static_cast<uint8_t>((right == listed) & ((y[i] > 0) == (of_class > 0)));
    }
}

// The marked rows, ascending; `rows` has room for eight more than there can be. `marks` ends on a multiple of eight.
inline int64_t list_marked(const uint8_t *marks, int64_t n, uint16_t *rows) {
    static const OnesTable ones;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += 8) {
        size_t byte = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        for (int k = 0; k < 8; ++k) byte |= static_cast<size_t>(marks[i + k]) << k;
#else
        uint64_t word;
        std::memcpy(&word, marks + i, 8);
        byte = static_cast<size_t>((word * 0x0102040810204080u) >> 56);
#endif
        // Four rows to a word: no sum of a position and i reaches 2^16.
        uint64_t four[2];
        std::memcpy(four, ones.positions[byte].data(), 16);
        for (uint64_t &part : four) part += 0x0001000100010001u * static_cast<uint64_t>(i);
        std::memcpy(rows + count, four, 16);
        count += ones.count[byte];
    }
    return count;
}

// Numbers in [0, 2^62) to whole numbers, ties to even: two halves that are exact, since AVX2 converts only to 32 bits.
DUALBOOST_INLINE int64_t whole(double value) {
    constexpr double magic = 6755399441055744.0, two32 = 4294967296.0;
    constexpr uint64_t magic_bits = 0x4338000000000000u;
    double shifted = value * (1.0 / two32) + magic, rest = (value - (shifted - magic) * two32) + magic;
    uint64_t high, low;
    std::memcpy(&high, &shifted, 8);
    std::memcpy(&low, &rest, 8);
    return static_cast<int64_t>(((high - magic_bits) << 32) + (low - magic_bits));
}

// out <- e^x as whole numbers, x below 43.
DUALBOOST_CLONES inline void whole_exponentials(const double *x, int64_t n, int64_t *out) {
    for (int64_t i = 0; i < n; ++i) out[i] = whole(fast_exp(x[i]));
}

constexpr int64_t kLine = 64;  // bytes that are fetched at once
template <class T> DUALBOOST_INLINE void prefetch(const T *place) {
#if defined(__GNUC__)
    __builtin_prefetch(place);
#else
    (void)place;
#endif
}

// Rows of one class, and the change of their weights.
struct Changes {
    const uint16_t *rows;
    const int64_t *change;
    int64_t count;
};

// Adds the changes to the histograms of `columns` columns that lie side by side in `cells`. Few of the bytes that are
// loaded are used, and the processor's own guess of what comes next is late: meanwhile the columns `next` are fetched.
template <int columns>
inline void add_together(const uint8_t *const *codes, const uint8_t *const *next, Changes listed, int64_t *cells) {
    const uint8_t *own[columns];
    std::copy(codes, codes + columns, own);
    constexpr int64_t lines = kTileRows / kLine;
    for (int64_t line = 0, k = 0; line < lines; ++line) {
        for (int j = 0; next && j < kTogether; ++j) prefetch(next[j] + line * kLine);
        for (int64_t end = (line + 1) * listed.count / lines; k < end; ++k) {
            size_t row = listed.rows[k];
            int64_t value = listed.change[k];
            for (int j = 0; j < columns; ++j) cells[j * kCells + own[j][row]] += value;
        }
    }
}

// The same for one column with a very common code, into `planes` histograms in turn.
template <int planes> inline void add_one(const uint8_t *codes, Changes listed, int64_t *cells) {
    for (int64_t k = 0; k < listed.count; ++k) cells[(k % planes) * kCells + codes[listed.rows[k]]] += listed.change[k];
}

// From the histograms of both classes to edges: out <- scale1 * positive - scale0 * negative, planes joined.
DUALBOOST_CLONES inline void join_classes(const int64_t *negative_cells, const int64_t *positive_cells, int planes,
                                          double scale0, double scale1, int from, int to, double *out) {
    for (int code = from; code < to; ++code) {
        int64_t negative = 0, positive = 0;
        for (int plane = 0; plane < planes; ++plane) {
            negative += negative_cells[plane * kCells + code];
            positive += positive_cells[plane * kCells + code];
        }
        out[code] = scale1 * static_cast<double>(positive) - scale0 * static_cast<double>(negative);
    }
}

}  // namespace dualboost::descent
