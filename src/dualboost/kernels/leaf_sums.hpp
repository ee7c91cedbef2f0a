// What a node of a tree with real values sums over its rows.
#pragma once

#include <cstdint>

namespace dualboost {

// In fixed point: exact, so a sibling is a difference and no order matters.
struct LeafSums {
    int64_t g = 0, h = 0;
    LeafSums &operator+=(const LeafSums &other) {
        g += other.g;
        h += other.h;
        return *this;
    }
    LeafSums operator-(const LeafSums &other) const { return {g - other.g, h - other.h}; }
    LeafSums operator+(const LeafSums &other) const { return {g + other.g, h + other.h}; }
};

}  // namespace dualboost
