// Sharp bounds for pairs of columns at half the additions of exact sums.
//
// The codes of a column are cut into sixteen parts, and one byte a row tells the parts of two columns: one histogram of
// these gives both columns' sums at the boundaries of their parts. Inside a part the sums up to each cut are known from
// a survey, a round in which all columns were summed exactly: since then they have moved by no more than the weights of
// the part's rows have. So the slack is what travelled inside one part, not all that travelled, and most columns are
// ruled out. An addition carries two numbers of 32 bits: the rounded weight, and how far it is from that of the survey,
// rounded up.
#pragma once

#include "stumps_blocks.hpp"
#include "stumps_filter.hpp"
#include "stumps_limits.hpp"

namespace dualboost {

constexpr int kParts = 16;

// packed_i = rounded weight * 2^32 + distance to the reference. Returns the sum of what rounding did to the weights.
DUALBOOST_CLONES static uint64_t pack_weights(const int64_t *q, const int64_t *reference, int64_t n, int64_t *packed) {
    constexpr int64_t unit = int64_t{1} << kRounding;
    uint64_t distance = 0;
    for (int64_t i = 0; i < n; ++i) {
        // A shift of signed words is no vector instruction: made non-negative, they shift as unsigned ones.
        auto lifted = static_cast<uint64_t>(q[i]) + (uint64_t{1} << 62) + (uint64_t{1} << (kRounding - 1));
        int64_t value = static_cast<int64_t>(lifted >> kRounding) - (int64_t{1} << (62 - kRounding));
        int64_t off = q[i] - static_cast<int64_t>(static_cast<uint64_t>(value) << kRounding);
        int64_t step = q[i] - reference[i];
        step = step < 0 ? -step : step;
        distance += static_cast<uint64_t>(off < 0 ? -off : off);
        uint64_t moved = static_cast<uint64_t>(step + (unit - 1)) >> kRounding;
        packed[i] = static_cast<int64_t>((static_cast<uint64_t>(value) << 32) + moved);
    }
    return distance;
}

class JointBounds {
public:
    JointBounds(const StumpLayout &layout, const StumpBlocks &blocks)
        : rows_(layout.rows()), blocks_(blocks), place_(blocks.size(), -1) {
        if (rows_ < kFewestRows || rows_ > kTallRows) return;
        for (int32_t b = 0; b < static_cast<int32_t>(blocks.size()); ++b) {
            const Member &member = blocks.members(blocks[b])[0];
            if (!blocks.plain(b) || member.missing || member.cuts < 2 * kParts) continue;
            place_[static_cast<size_t>(b)] = static_cast<int32_t>(columns_.size());
            columns_.push_back(b);
        }
        if (columns_.size() < kFewestColumns) columns_.clear();
    }

    const std::vector<int32_t> &columns() const { return columns_; }
    bool has(int32_t block) const { return !columns_.empty() && place_[static_cast<size_t>(block)] >= 0; }

    void forget() {
        stage_ = Stage::away;
        pause_ = 0;
        backoff_ = kFirstPause;
    }

    bool surveying() const { return stage_ == Stage::survey; }
    bool surveyed() const { return stage_ == Stage::judge; }

    // ---- a survey --------------------

    // Whether all columns shall be summed now, under the weights q.
    bool survey(const int64_t *q) {
        if (!surveying()) return false;
        if (joint_.empty()) join_codes();
        reference_.assign(q, q + rows_);
        inside_.resize(columns_.size());
        return true;
    }

    // From the running sums of a column, by the thread that made them.
    void remember(int32_t block, const int64_t *sums) {
        if (!has(block)) return;
        Inside &inside = inside_[static_cast<size_t>(place_[static_cast<size_t>(block)])];
        int cuts = cuts_of(block);
        for (int part = 0; part < kParts; ++part) {
            int begin = first_code(part, cuts), end = first_code(part + 1, cuts);
            int64_t before = begin > 0 ? sums[begin - 1] : 0;
            int64_t low = std::numeric_limits<int64_t>::max(), high = std::numeric_limits<int64_t>::min();
            for (int code = begin; code < std::min(end, cuts); ++code) {
                low = std::min(low, sums[code] - before);
                high = std::max(high, sums[code] - before);
            }
            inside.low[part] = low >> kRounding;
            inside.high[part] = (high >> kRounding) + 1;
            inside.sum[part] = (sums[end - 1] - before) >> kRounding;
        }
    }

    // ---- bounds --------------------

    // Upper bounds of the |edges| of all columns under the weights q, in the order of columns().
    void judge(const int64_t *q, int64_t total, int threads, std::vector<int64_t> &bounds) {
        load(q, threads);
        bounds.resize(columns_.size());
        size_t pairs = (columns_.size() + 1) / 2;
        if (cells_.size() < static_cast<size_t>(threads)) cells_.resize(static_cast<size_t>(threads));
        std::atomic<size_t> next{0};
        with_workers(threads, [&](int64_t worker) {
            std::vector<int64_t> &cells = cells_[static_cast<size_t>(worker)];
            cells.resize(kPanelPairs * kCodes);
            for (size_t first; (first = next.fetch_add(kPanelPairs, std::memory_order_relaxed)) < pairs;) {
                size_t count = std::min(kPanelPairs, pairs - first);
                sum_panel(first, count, cells.data());
                for (size_t k = 0; k < count; ++k) bound_pair(first + k, cells.data() + k * kCodes, total, bounds);
            }
        });
    }

    // ---- when --------------------

    // A call of the search has ended, in which so many of the columns were summed exactly.
    void settle(size_t looks) {
        if (columns_.empty()) return;
        if (stage_ == Stage::survey) {
            stage_ = Stage::judge;
            age_ = 0;
        } else if (stage_ == Stage::judge) {
            ++age_;
            if (4 * looks > columns_.size()) give_up();
        } else if (pause_ > 0) {
            --pause_;
        } else if (2 * looks > columns_.size()) {
            stage_ = Stage::survey;
        }
    }

private:
    // On tall tables little is gained, and what is kept for each row and code would be a tenth of the data.
    static constexpr int64_t kFewestRows = 4096;
    static constexpr size_t kFewestColumns = 24;
    static constexpr int kFirstPause = 4, kLongestPause = 64;
    static constexpr int64_t kTileRows = 1 << 13;  // packed weights that stay in the cache while pairs go over them
    static constexpr size_t kPanelPairs = 16;  // their histograms of 2 KB share the first-level cache with the rows

    enum class Stage { away, survey, judge };  // what the next call does

    // What a survey found, in units of rounded weights: for each part the extremes of the sums up to its cuts, and its
    // sum.
    struct Inside {
        int64_t low[kParts], high[kParts], sum[kParts];
    };

    int64_t rows_;
    const StumpBlocks &blocks_;
    std::vector<int32_t> columns_, place_;  // blocks; of a block its place in that list, or -1
    LargeVector<uint8_t> joint_;  // pair after pair: the parts of both columns of each row
    LargeVector<int64_t> reference_, packed_;
    std::vector<Inside> inside_;
    std::vector<std::vector<int64_t>> cells_;  // one workspace for each thread
    int64_t error_ = 0;
    Stage stage_ = Stage::away;
    int age_ = 0, pause_ = 0, backoff_ = kFirstPause;

    int cuts_of(int32_t block) const { return blocks_.members(blocks_[block])[0].cuts; }
    static int first_code(int part, int cuts) { return (part * (cuts + 1) + kParts - 1) / kParts; }

    // A survey that is out of date at once was in vain: the weights move too fast for a while.
    void give_up() {
        stage_ = age_ > 2 ? Stage::survey : Stage::away;
        pause_ = backoff_;
        backoff_ = age_ > 2 ? kFirstPause : std::min(2 * backoff_, kLongestPause);
    }

    void load(const int64_t *q, int threads) {
        packed_.resize(static_cast<size_t>(rows_));
        std::atomic<uint64_t> distance{0};
        parallel(chunk_count(rows_), threads, [&](int64_t chunk) {
            int64_t begin = chunk * kChunk, length = std::min(kChunk, rows_ - begin);
            distance += pack_weights(q + begin, reference_.data() + begin, length, packed_.data() + begin);
        });
        error_ = static_cast<int64_t>(distance >> kRounding) + 1;
    }

    void join_codes() {
        size_t pairs = (columns_.size() + 1) / 2, n = static_cast<size_t>(rows_);
        joint_.resize(pairs * n);
        for (size_t pair = 0; pair < pairs; ++pair) {
            int32_t a = columns_[2 * pair], b = columns_[std::min(2 * pair + 1, columns_.size() - 1)];
            uint8_t upper[kCodes], lower[kCodes];
            for (int code = 0; code < kCodes; ++code) {
                upper[code] = static_cast<uint8_t>(kParts * part_of(code, cuts_of(a)));
                lower[code] = static_cast<uint8_t>(part_of(code, cuts_of(b)));
            }
            const uint8_t *codes_a = blocks_[a].codes, *codes_b = blocks_[b].codes;
            uint8_t *out = joint_.data() + pair * n;
            for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(upper[codes_a[i]] | lower[codes_b[i]]);
        }
    }

    static int part_of(int code, int cuts) { return std::min(code, cuts) * kParts / (cuts + 1); }

    void sum_panel(size_t first, size_t count, int64_t *cells) const {
        std::memset(cells, 0, count * kCodes * sizeof(int64_t));
        for (int64_t begin = 0; begin < rows_; begin += kTileRows) {
            int64_t length = std::min(kTileRows, rows_ - begin);
            for (size_t k = 0; k < count; k += 2) {
                const uint8_t *a = joint_.data() + (first + k) * static_cast<size_t>(rows_) + begin;
                const uint8_t *b = k + 1 < count ? a + rows_ : nullptr;
                add_columns(a, b, packed_.data() + begin, length, 1, cells + k * kCodes, cells + (k + 1) * kCodes);
            }
        }
    }

    void bound_pair(size_t pair, const int64_t *cells, int64_t total, std::vector<int64_t> &bounds) const {
        int64_t upper[kParts] = {}, lower[kParts] = {};
        for (int a = 0; a < kParts; ++a)
            for (int b = 0; b < kParts; ++b) {
                upper[a] += cells[a * kParts + b];
                lower[b] += cells[a * kParts + b];
            }
        bounds[2 * pair] = bound(inside_[2 * pair], upper, total);
        if (2 * pair + 1 < columns_.size()) bounds[2 * pair + 1] = bound(inside_[2 * pair + 1], lower, total);
    }

    // In units of rounded weights throughout; the errors of the rows left of a cut add up to no more than `error_`.
    int64_t bound(const Inside &inside, const int64_t *packed, int64_t total) const {
        constexpr int64_t everything = int64_t{1} << (kFixedBits - kRounding);
        int64_t whole = total >> kRounding, left = 0, peak = 0;
        for (int part = 0; part < kParts; ++part) {
            int64_t now = packed[part] >> 32, moved = packed[part] & 0xffffffff, change = now - inside.sum[part];
            int64_t highest = left + inside.high[part] + (moved + change) / 2 + 1;
            int64_t lowest = left + inside.low[part] - (moved - change) / 2 - 1;
            peak = std::max(peak, std::max(magnitude(whole - 2 * highest), magnitude(whole - 2 * lowest)));
            left += now;
        }
        return std::min(peak + 2 * error_ + 8, 2 * everything) * (int64_t{1} << kRounding);
    }
};

}  // namespace dualboost
