// Row weights in fixed point, and the rows that contradict each other: what no tree can get right.
#pragma once

#include "tree_layout.hpp"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"  // trees need some of the sums of the stump search, not all
#endif
#include "stumps_ranking.hpp"
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace dualboost {

// q_i = y_i d_i in units of 2^-61, as in the stump search.
class FixedWeights {
public:
    explicit FixedWeights(const StumpLayout &layout)
        : layout_(layout), q_(static_cast<size_t>(layout.rows()), 0),
          parts_(static_cast<size_t>(chunk_count(layout.rows()))) {}

    const int64_t *q() const { return q_.data(); }
    int64_t mass() const { return mass_; }  // sum of |q_i|
    int64_t total() const { return total_; }  // sum of q_i
    int64_t travelled() const { return travelled_; }  // sum of |change of q_i| by the last load

    void load(const double *d, int threads) {
        parallel(chunk_count(layout_.rows()), layout_.rows() >= kWorth ? threads : 1,
                 [&](int64_t c) { load_chunk(d, c); });
        loaded();
    }

    // Or chunk by chunk, each exactly once and in any order, and then `loaded`.
    void load_chunk(const double *d, int64_t c) {
        int64_t begin = c * kChunk, length = std::min(kChunk, layout_.rows() - begin);
        quantise(d + begin, layout_.y() + begin, q_.data() + begin, length, &parts_[static_cast<size_t>(c)]);
    }

    void loaded() { accept(parts_); }

private:
    static constexpr int64_t kWorth = 1 << 18;
    const StumpLayout &layout_;
    std::vector<int64_t> q_;
    std::vector<RowSums> parts_;
    int64_t mass_ = 0, total_ = 0, travelled_ = 0;

    // Bad weights may overflow: unsigned sums, and a look at the mass in floating point.
    void accept(const std::vector<RowSums> &parts) {
        uint64_t total = 0, travelled = 0, high = 0, low = 0;
        int64_t bad = 0;
        for (const RowSums &part : parts) {
            total += static_cast<uint64_t>(part.total);
            travelled += static_cast<uint64_t>(part.travelled);
            high += static_cast<uint64_t>(part.high);
            low += static_cast<uint64_t>(part.low);
            bad += part.bad;
        }
        require(bad == 0, "d must be finite, not negative and at most one");
        double mass = static_cast<double>(static_cast<int64_t>(high)) * 4294967296.0 +
                      static_cast<double>(static_cast<int64_t>(low));
        require(mass <= kFixedOne * (1.0 + 1e-9) + static_cast<double>(layout_.rows()),
                "d must not sum to more than one");
        total_ = static_cast<int64_t>(total);
        travelled_ = static_cast<int64_t>(travelled);
        mass_ = static_cast<int64_t>((high << 32) + low);
    }
};

// Rows with equal codes everywhere get the same vote from every tree, so of each such group the lighter label is lost.
// Candidates are found by a sum of random numbers, one for each code, and then compared code by code.
class Contradictions {
public:
    explicit Contradictions(const TreeLayout &layout) {
        std::vector<uint64_t> keys = row_keys(layout);
        std::vector<int32_t> first = first_alike(keys);
        std::vector<uint8_t> mixed(first.size(), 0);
        const int8_t *y = layout.layout.y();
        for (size_t i = 0; i < first.size(); ++i) mixed[at(first[i])] |= y[i] != y[first[i]];
        for (size_t i = 0; i < first.size(); ++i)
            if (mixed[at(first[i])] && equal_codes(layout, static_cast<int64_t>(i), first[i]))
                members_.push_back({first[i], static_cast<int32_t>(i)});
        std::sort(members_.begin(), members_.end());
    }

    size_t size() const { return members_.size(); }

    // Twice the weight of the lighter label of each group: no tree has an edge above the mass less this.
    int64_t lost(const int64_t *q) const {
        int64_t lost = 0;
        for (size_t k = 0; k < members_.size();) {
            int64_t positive = 0, negative = 0;
            size_t end = k;
            for (; end < members_.size() && members_[end].first == members_[k].first; ++end) {
                int64_t value = q[members_[end].second];
                (value > 0 ? positive : negative) += magnitude(value);
            }
            lost += 2 * std::min(positive, negative);
            k = end;
        }
        return lost;
    }

private:
    std::vector<std::pair<int32_t, int32_t>> members_;  // (first row of the group, row), by group

    static size_t at(int32_t row) { return static_cast<size_t>(row); }

    static uint64_t scrambled(uint64_t x) {  // splitmix64
        x += 0x9e3779b97f4a7c15u;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return x ^ (x >> 31);
    }

    static std::vector<uint64_t> row_keys(const TreeLayout &layout) {
        int64_t rows = layout.layout.rows();
        std::vector<uint64_t> keys(static_cast<size_t>(rows), 0);
        for (int32_t b : layout.full_blocks()) {
            uint64_t table[kCodes];
            uint64_t first = static_cast<uint64_t>(layout.first_cell(at(b)));
            for (uint64_t code = 0; code < kCodes; ++code) table[code] = scrambled(first + code);
            const uint8_t *codes = layout.blocks[b].codes;
            for (int64_t i = 0; i < rows; ++i) keys[static_cast<size_t>(i)] += table[codes[i]];
        }
        for (int64_t i = 0; layout.any_sparse() && i < rows; ++i)
            for (const int32_t *cell = layout.exceptions_begin(i); cell != layout.exceptions_end(i); ++cell)
                keys[static_cast<size_t>(i)] += scrambled(static_cast<uint64_t>(*cell));
        return keys;
    }

    // For each row the first row with its key, by open addressing.
    static std::vector<int32_t> first_alike(const std::vector<uint64_t> &keys) {
        size_t slots = 16;
        while (slots < 2 * keys.size()) slots *= 2;
        std::vector<int32_t> table(slots, -1), first(keys.size());
        for (size_t i = 0; i < keys.size(); ++i) {
            size_t slot = keys[i] & (slots - 1);
            while (table[slot] >= 0 && keys[at(table[slot])] != keys[i]) slot = (slot + 1) & (slots - 1);
            if (table[slot] < 0) table[slot] = static_cast<int32_t>(i);
            first[i] = table[slot];
        }
        return first;
    }

    static bool equal_codes(const TreeLayout &layout, int64_t a, int64_t b) {
        for (int32_t block : layout.full_blocks())
            if (layout.blocks[block].codes[a] != layout.blocks[block].codes[b]) return false;
        return std::equal(layout.exceptions_begin(a), layout.exceptions_end(a), layout.exceptions_begin(b),
                          layout.exceptions_end(b));
    }
};

}  // namespace dualboost
