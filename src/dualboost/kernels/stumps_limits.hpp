// Sizes of data at which the stump search changes its way.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dualboost {

// Above kTallRows q leaves the second-level cache, and all blocks of a panel go over one tile of rows together.
constexpr int64_t kTile = 1 << 14;
constexpr int64_t kTallRows = 2 * kTile;
constexpr size_t kPanel = 32;  // blocks that share a tile: 32 histograms of 8 KB
// Additions below which threads do not pay: starting and joining one takes 30 microseconds.
constexpr int64_t kWorthThreads = 1 << 18;
// Columns below which a first rough look at eight of them at once does not pay; on many rows four times as many.
constexpr size_t kWorthFilter = 4;

}  // namespace dualboost
