// Cuts, codes and commonest codes of a small table at once: a sorted column gives them all in one sweep.
#pragma once

#include "code_storage.hpp"
#include "cut_columns.hpp"

namespace dualboost {

constexpr int64_t kSmallTable = static_cast<int64_t>(kShort);  // rows: all take part, and sorting is quick

struct RowItem {
    uint64_t key;
    int64_t row;
    DUALBOOST_INLINE int64_t mass_or(int64_t unit) const { return unit; }
};

struct SmallBuffers {
    std::vector<RowItem> items, spare;
    std::vector<uint8_t> code_of;  // of a distinct value
    Distinct distinct;
};

// The present values with their rows; missing ones get their code at once.
inline void list_present(const double *x, int64_t n, SmallBuffers &buffers, uint8_t *codes) {
    buffers.items.resize(static_cast<size_t>(n));
    size_t kept = 0;
    for (int64_t i = 0; i < n; ++i) {
        codes[i] = kMissing;
        buffers.items[kept] = {to_key(x[i]), i};
        kept += x[i] == x[i] ? 1 : 0;
    }
    buffers.items.resize(kept);
}

// Few values need no sorting and have few cuts.
inline void compare_codes(const std::vector<RowItem> &items, const std::vector<double> &cuts, uint8_t *codes,
                          int64_t *counts) {
    for (const RowItem &item : items) {
        double x = from_key(item.key);
        int code = 0;
        for (double cut : cuts) code += cut < x ? 1 : 0;
        codes[item.row] = static_cast<uint8_t>(code);
        ++counts[code];
    }
}

// The items are sorted: a row looks up the code of its value.
inline void rank_codes(const SmallBuffers &buffers, uint8_t *codes, int64_t *counts) {
    const std::vector<RowItem> &items = buffers.items;
    const uint8_t *code_of = buffers.code_of.data();
    uint64_t previous = items[0].key;
    for (const RowItem &item : items) {
        code_of += item.key != previous ? 1 : 0;
        previous = item.key;
        codes[item.row] = *code_of;
        ++counts[*code_of];
    }
}

// One column of n values, of which all rows count the same.
inline std::vector<double> bin_small_column(const double *x, int64_t n, int max_bins, SmallBuffers &buffers,
                                            uint8_t *codes, int64_t *counts) {
    list_present(x, n, buffers, codes);
    if (buffers.items.empty())
        buffers.distinct.clear();
    else
        collect_distinct(buffers.items, buffers.spare, equal_masses(n).unit, buffers.distinct);
    std::vector<double> cuts = place_cuts(buffers.distinct, max_bins, &buffers.code_of);
    std::fill(counts, counts + 256, int64_t{0});
    if (cuts.size() < kKnown) compare_codes(buffers.items, cuts, codes, counts);
    else rank_codes(buffers, codes, counts);
    counts[kMissing] = n - static_cast<int64_t>(buffers.items.size());
    return cuts;
}

}  // namespace dualboost
