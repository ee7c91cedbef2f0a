// Sorting short lists of keys. The values of a small column are dealt by their place between the least and the largest,
// twice by eight bits, and what shares a place is ordered last: no branch that a comparison of two keys would decide.
#pragma once

#include "search.hpp"

namespace dualboost {

// Doubles as integers in the same order; -0.0 and 0.0 are one value. No number maps to 0 (only a NaN would).
constexpr uint64_t kSignBit = uint64_t{1} << 63;

DUALBOOST_INLINE uint64_t to_key(double x) {
    x += 0.0;  // -0.0 becomes 0.0
    uint64_t bits;
    std::memcpy(&bits, &x, 8);
    return bits & kSignBit ? ~bits : bits | kSignBit;
}

DUALBOOST_INLINE double from_key(uint64_t key) {
    uint64_t bits = key & kSignBit ? key & ~kSignBit : ~key;
    double x;
    std::memcpy(&x, &bits, 8);
    return x;
}

// A value of a column where all rows count the same.
struct Item {
    uint64_t key;
    DUALBOOST_INLINE int64_t mass_or(int64_t unit) const { return unit; }
};

constexpr int kPlaceBits = 12;
constexpr size_t kShort = size_t{1} << kPlaceBits;  // the longest list
constexpr uint32_t kRanks = 1 << 16, kDigit = 255;

struct KeyRange {
    uint64_t least, most, differing;  // the bits in which not all agree
};

DUALBOOST_CLONES inline KeyRange key_range(const Item *items, size_t n) {
    int64_t least = std::numeric_limits<int64_t>::max(), most = std::numeric_limits<int64_t>::min();
    uint64_t differing = 0, first = items[0].key;
    for (size_t i = 0; i < n; ++i) {
        auto key = static_cast<int64_t>(items[i].key ^ kSignBit);  // signed numbers compare faster
        least = std::min(least, key), most = std::max(most, key);
        differing |= items[i].key ^ first;
    }
    return {static_cast<uint64_t>(least) ^ kSignBit, static_cast<uint64_t>(most) ^ kSignBit, differing};
}

// What the keys are dealt by: sixteen bits each, which never decrease in the key, above its place in the list. They are
// a place between the least and the largest value; or the highest bits that differ, in effect the logarithm of the
// value.
DUALBOOST_CLONES inline void tag_by_value(const Item *items, size_t n, double low, double scale, uint32_t *tags) {
    for (size_t i = 0; i < n; ++i) {
        double place = (from_key(items[i].key) - low) * scale;
        auto rank = static_cast<uint32_t>(static_cast<int32_t>(place < kRanks - 1 ? place : kRanks - 1));
        tags[i] = rank << kPlaceBits | static_cast<uint32_t>(i);
    }
}

inline void tag_by_bits(const Item *items, size_t n, uint64_t differing, uint32_t *tags) {
    int shift = std::max(0, bit_width(differing) - bit_width(kRanks - 1));
    for (size_t i = 0; i < n; ++i) {
        auto rank = static_cast<uint32_t>((items[i].key >> shift) % kRanks);
        tags[i] = rank << kPlaceBits | static_cast<uint32_t>(i);
    }
}

constexpr int kLower = kPlaceBits, kUpper = kPlaceBits + 8;  // where the two digits of a tag begin

inline void counts_to_places(uint16_t *counts) {
    uint16_t sum = 0;
    for (uint32_t digit = 0; digit <= kDigit; ++digit) {
        uint16_t count = counts[digit];
        counts[digit] = sum;
        sum = static_cast<uint16_t>(sum + count);
    }
}

// Sorts the tags, but for their places in the list, by two passes.
inline void deal(uint32_t *tags, size_t n) {
    uint32_t dealt[kShort];
    uint16_t lower[kDigit + 1] = {}, upper[kDigit + 1] = {};
    for (size_t i = 0; i < n; ++i) {
        ++lower[tags[i] >> kLower & kDigit];
        ++upper[tags[i] >> kUpper];
    }
    counts_to_places(lower);
    counts_to_places(upper);
    for (size_t i = 0; i < n; ++i) dealt[lower[tags[i] >> kLower & kDigit]++] = tags[i];
    for (size_t i = 0; i < n; ++i) tags[upper[dealt[i] >> kUpper]++] = dealt[i];
}

// Moves the keys that are not yet in order, with their places. False where that would take too long.
inline bool order_neighbours(Item *sorted, uint32_t *order, size_t n) {
    size_t moves = 0;
    for (size_t i = 1; i < n; ++i) {
        if (sorted[i - 1].key <= sorted[i].key) continue;
        Item item = sorted[i];
        uint32_t place = order[i];
        size_t at = i;
        for (; at > 0 && sorted[at - 1].key > item.key; --at) sorted[at] = sorted[at - 1], order[at] = order[at - 1];
        sorted[at] = item, order[at] = place;
        moves += i - at;
        if (moves > 4 * n) return false;
    }
    return true;
}

// The order of the keys, given their tags in `order`. False where too many keys share a rank.
inline bool order_tagged(const Item *items, size_t n, Item *sorted, uint32_t *order) {
    deal(order, n);
    for (size_t i = 0; i < n; ++i) {
        order[i] %= kShort;
        sorted[i] = items[order[i]];
    }
    return order_neighbours(sorted, order, n);
}

// Sorts up to kShort keys; `order` tells where in the list each was.
inline void sort_keys(const Item *items, size_t n, Item *sorted, uint32_t *order) {
    KeyRange range = key_range(items, n);
    double low = from_key(range.least), scale = (kRanks - 1) / (from_key(range.most) - low);
    if (scale > 0.0 && scale <= std::numeric_limits<double>::max()) {
        tag_by_value(items, n, low, scale, order);
        if (order_tagged(items, n, sorted, order)) return;
    }
    tag_by_bits(items, n, range.differing, order);
    if (order_tagged(items, n, sorted, order)) return;
    for (size_t i = 0; i < n; ++i) order[i] = static_cast<uint32_t>(i);
    std::sort(order, order + n, [items](uint32_t a, uint32_t b) { return items[a].key < items[b].key; });
    for (size_t i = 0; i < n; ++i) sorted[i] = items[order[i]];
}

}  // namespace dualboost
