// The categories of a column in the order of a share that each has: buckets first, then what is left to do.
#pragma once

#include "stumps_layout.hpp"

namespace dualboost {

// The shares into buckets by their size, as words: a share with its number in the place of the last bits.
inline void spread_shares(const double *shares, int count, uint64_t *words) {
    uint16_t start[2 * kCodes + 2] = {0}, bucket[kCodes];
    double low = shares[0], high = shares[0];
    for (int k = 1; k < count; ++k) {
        low = std::min(low, shares[k]);
        high = std::max(high, shares[k]);
    }
    double scale = high > low ? 2 * count / (high - low) : 0.0;
    for (int k = 0; k < count; ++k) {
        bucket[k] = static_cast<uint16_t>(static_cast<int>((shares[k] - low) * scale));
        ++start[bucket[k] + 1];
    }
    for (int b = 0; b < 2 * count; ++b) start[b + 1] = static_cast<uint16_t>(start[b + 1] + start[b]);
    for (int k = 0; k < count; ++k) {
        uint64_t word;
        std::memcpy(&word, &shares[k], 8);
        words[start[bucket[k]]++] = (word << 1 & ~uint64_t{255}) | static_cast<uint64_t>(k);
    }
}

// The numbers of up to 256 shares, none negative, by share and among equals by number. Twice as many buckets as shares
// leave little to do; then a share and its number are one word to sort by. Where the bits that the number takes would
// have mattered, another pass.
inline void sort_shares(const double *shares, int count, uint8_t *order) {
    uint64_t words[kCodes];
    spread_shares(shares, count, words);
    for (int k = 1; k < count; ++k) {
        uint64_t word = words[k];
        int to = k;
        for (; to > 0 && words[to - 1] > word; --to) words[to] = words[to - 1];
        words[to] = word;
    }
    bool sorted = true;
    for (int k = 0; k < count; ++k) {
        order[k] = static_cast<uint8_t>(words[k]);
        sorted &= k == 0 || shares[order[k - 1]] <= shares[order[k]];
    }
    if (sorted) return;
    std::stable_sort(order, order + count,
                     [shares](uint8_t a, uint8_t b) { return shares[a] != shares[b] ? shares[a] < shares[b] : a < b; });
}

}  // namespace dualboost
