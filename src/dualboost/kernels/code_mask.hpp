// Subsets of the codes of a column: where a hypothesis or a split on categories goes right.
#pragma once

#include "stumps_layout.hpp"

#include <array>

namespace dualboost {

using CodeMask = std::array<uint8_t, kCodes / 8>;  // bit c % 8 of byte c / 8 is code c

inline bool holds(const uint8_t *mask, int code) { return (mask[code / 8] >> (code % 8)) & 1; }
inline bool holds(const CodeMask &mask, int code) { return holds(mask.data(), code); }
inline void put_if(CodeMask &mask, int code, bool wanted) {
    mask[static_cast<size_t>(code / 8)] |= static_cast<uint8_t>(int{wanted} << (code % 8));
}
inline void take_out(CodeMask &mask, int code) {
    mask[static_cast<size_t>(code / 8)] &= static_cast<uint8_t>(~(1 << (code % 8)));
}
inline void put(CodeMask &mask, int code) {
    mask[static_cast<size_t>(code / 8)] |= static_cast<uint8_t>(1 << (code % 8));
}

// Code 0 stays outside, so that a subset and the rest have one name; all codes must be those of the column.
inline void check_mask(const StumpLayout &layout, size_t feature, const uint8_t *mask) {
    int last = layout.cuts(feature);
    for (int first = 0; first < kCodes; first += 8) {
        int codes = std::min(std::max(last + 1 - first, 0), 8);
        int known = ((1 << codes) - 1) & (first == 0 ? 254 : 255);
        if (first + 7 == kMissing && layout.missing(feature)) known |= 128;
        require((mask[first / 8] & ~known) == 0, "a mask holds code 0 or a code that its feature does not have");
    }
}

}  // namespace dualboost
