// Cuts, codes and commonest codes of a small table at once: a sorted column gives them all in one sweep.
#pragma once

#include "code_storage.hpp"
#include "cut_columns.hpp"

namespace dualboost {

constexpr int64_t kSmallTable = static_cast<int64_t>(kShort);  // rows: all take part, and sorting is quick

// Memory that is used for column after column.
struct SmallBuffers {
    std::vector<Item> items, sorted;  // the present values; in order, where there are more than a few
    bool some_missing;
    std::vector<uint32_t> rows;  // the row of each item, where some are missing; else they are in order
    std::vector<uint32_t> order;  // of each sorted item its place among the items
    std::vector<uint32_t> first;  // of each distinct value its first sorted item, and at last their number
    std::vector<uint8_t> begins;  // 1 where a code begins among the sorted items
    Distinct distinct;
    Quantiles quantiles;

    explicit SmallBuffers(size_t n) : items(n), sorted(n), rows(n), order(n), first(n + 1), begins(n) {}
};

DUALBOOST_CLONES inline void keys_of(const double *x, int64_t n, Item *out) {
    for (int64_t i = 0; i < n; ++i) out[i].key = to_key(x[i]);
}

DUALBOOST_CLONES inline bool any_missing(const double *x, int64_t n) {
    int found = 0;
    for (int64_t i = 0; i < n; ++i) found |= x[i] != x[i];
    return found != 0;
}

// The columns of a group, one after the other.
inline void load_columns(const Matrix &x, const ColumnGroup &group, double *out) {
    for_tiles(x, group, [&](int64_t first, int rows, const Tile &tile) {
        for (int c = 0; c < group.width; ++c) std::copy(tile[c], tile[c] + rows, out + c * x.rows + first);
        return true;
    });
}

// The present values with their rows.
inline void list_present(const double *x, int64_t n, SmallBuffers &buffers) {
    buffers.items.resize(static_cast<size_t>(n));
    keys_of(x, n, buffers.items.data());
    buffers.some_missing = any_missing(x, n);
    if (!buffers.some_missing) return;
    size_t kept = 0;
    for (int64_t i = 0; i < n; ++i) {
        buffers.items[kept] = buffers.items[static_cast<size_t>(i)];
        buffers.rows[kept] = static_cast<uint32_t>(i);
        kept += x[i] == x[i] ? 1 : 0;
    }
    buffers.items.resize(kept);
}

// Few values need no sorting and have few cuts.
inline void compare_codes(const SmallBuffers &buffers, const std::vector<double> &cuts, uint8_t *codes,
                          int64_t *counts) {
    for (size_t k = 0; k < buffers.items.size(); ++k) {
        double x = from_key(buffers.items[k].key);
        int code = 0;
        for (double cut : cuts) code += cut < x ? 1 : 0;
        codes[buffers.some_missing ? buffers.rows[k] : k] = static_cast<uint8_t>(code);
        ++counts[code];
    }
}

inline void sort_values(SmallBuffers &buffers, int64_t unit) {
    size_t n = buffers.items.size(), count = 0;
    buffers.sorted.resize(n);
    sort_keys(buffers.items.data(), n, buffers.sorted.data(), buffers.order.data());
    for (size_t k = 0; k < n; ++k) {  // without a branch: whether neighbours are equal cannot be foreseen
        buffers.first[count] = static_cast<uint32_t>(k);
        count += k == 0 || buffers.sorted[k].key != buffers.sorted[k - 1].key;
    }
    buffers.first[count] = static_cast<uint32_t>(n);
    buffers.distinct.value.resize(count), buffers.distinct.mass.resize(count);
    for (size_t v = 0; v < count; ++v) {
        buffers.distinct.value[v] = from_key(buffers.sorted[buffers.first[v]].key);
        buffers.distinct.mass[v] = unit * int64_t{buffers.first[v + 1] - buffers.first[v]};
    }
}

inline void write_codes(const uint8_t *begins, const uint32_t *rows, size_t n, uint8_t *codes) {
    uint8_t code = 0;
    for (size_t k = 0; k < n; ++k) codes[rows[k]] = code = static_cast<uint8_t>(code + begins[k]);
}

// A row gets the number of cuts below its value, by its place among the sorted ones.
inline void rank_codes(SmallBuffers &buffers, size_t cuts, uint8_t *codes, int64_t *counts) {
    size_t n = buffers.items.size();
    std::fill(buffers.begins.begin(), buffers.begins.end(), uint8_t{0});
    uint32_t begin = 0;
    for (size_t k = 0; k < cuts; ++k) {
        uint32_t end = buffers.first[buffers.quantiles.before()[k]];
        buffers.begins[end] = 1;
        counts[k] = end - begin;
        begin = end;
    }
    counts[cuts] = static_cast<int64_t>(n) - begin;
    if (buffers.some_missing)
        for (size_t k = 0; k < n; ++k) buffers.order[k] = buffers.rows[buffers.order[k]];
    write_codes(buffers.begins.data(), buffers.order.data(), n, codes);
}

// One column of n values, of which all rows count the same.
inline std::vector<double> bin_small_column(const double *x, int64_t n, int max_bins, SmallBuffers &buffers,
                                            uint8_t *codes, int64_t *counts) {
    std::fill(codes, codes + n, kMissing);
    std::fill(counts, counts + 256, int64_t{0});
    list_present(x, n, buffers);
    counts[kMissing] = n - static_cast<int64_t>(buffers.items.size());
    int64_t unit = equal_masses(n).unit;
    bool few = collect_few(buffers.items, unit, buffers.distinct);
    if (!few) sort_values(buffers, unit);
    std::vector<double> cuts = buffers.quantiles.cuts(buffers.distinct, max_bins);
    if (few) compare_codes(buffers, cuts, codes, counts);
    else rank_codes(buffers, cuts.size(), codes, counts);
    return cuts;
}

}  // namespace dualboost
