// The search for the best subsets of categories: which columns to sum, and which to skip without changing the answer.
//
// A hypothesis is +1 on a subset of a column's codes and -1 on the others; a missing value is a code of its own. With
// s_c the sum of y_i d_i over the rows of code c, the largest |edge| of a column is the sum of |s_c|: the codes with
// positive sums against the rest. So one histogram settles a column, and what bounds the edges of stumps bounds these
// too.
#pragma once

#include "code_sums.hpp"
#include "tree_weights.hpp"

#include "stumps_bounds.hpp"

namespace dualboost {

struct Subset {
    int32_t feature;  // -1 is the constant +1
    CodeMask mask;  // where the hypothesis is +1; never holds code 0
    int64_t edge;  // signed
};

class SubsetEngine {
public:
    explicit SubsetEngine(const StumpArrays &arrays)
        : layout(arrays), blocks_(layout), bounds_(blocks_), weights_(layout), seen_(blocks_.size()),
          sums_(blocks_.member_count() * kCodes), place_(layout.features(), -1) {
        for (int32_t b = 0; b < static_cast<int32_t>(blocks_.size()); ++b)
            for (int32_t j = 0; j < blocks_[b].count; ++j)
                place_[static_cast<size_t>(blocks_.members(blocks_[b])[j].feature)] = blocks_[b].first + j;
    }

    const StumpLayout layout;

    void forget() {
        bounds_.forget();
        leaders_.clear();
    }

    int64_t looked() const { return looked_; }
    int64_t largest() const { return ranking_.largest(); }  // |edge| of the last answer
    const std::vector<Subset> &found() const { return found_; }

    // Row weights: all of them, or chunk by chunk and then `loaded`.
    void load(const double *d, int threads) {
        distrust();
        weights_.load(d, threads);
        trust();
    }
    void load_chunk(const double *d, int64_t chunk) { weights_.load_chunk(d, chunk); }
    void loaded() {
        distrust();
        weights_.loaded();
        trust();
    }

    // Finds the best subset of each of the k best columns under the loaded weights, best first; the constant counts as
    // a column before all others.
    void best(size_t k, int threads) {
        looked_ = 0;
        std::fill(seen_.begin(), seen_.end(), uint8_t{0});
        ranking_.start(std::min(k, blocks_.member_count() + 1));
        ranking_.offer(-1, magnitude(weights_.total()));
        batch_ = leaders_;  // their edges give a threshold that may spare most other columns
        look(threads);
        size_t count = bounds_.sort(ranking_.threshold());
        for (size_t next = 0; next < count;) {
            int64_t floor = ranking_.threshold() >> kCoarse;
            batch_.clear();
            for (; next < count && batch_.size() < kPanel; ++next) {
                auto [block, bound] = bounds_.order()[next];
                if (bound >= floor && !seen_[static_cast<size_t>(block)]) batch_.push_back(block);
            }
            look(threads);
        }
        answer();
    }

    // Calls use(place of the column, in the order of features; its sums under the loaded weights) for all. Returns the
    // largest |edge|.
    template <class Use> int64_t all_sums(int threads, const Use &use) {
        ranking_.start(1);
        batch_.resize(blocks_.size());
        for (size_t b = 0; b < batch_.size(); ++b) batch_[b] = static_cast<int32_t>(b);
        look(threads);
        int64_t largest = magnitude(total());
        size_t column = 0;
        for (size_t f = 0; f < place_.size(); ++f) {
            if (place_[f] < 0) continue;
            CodeSums<int64_t> found = sums_of(f);
            largest = std::max(largest, found.peak());
            use(column++, found);
        }
        return largest;
    }

    int64_t total() const { return weights_.total(); }
    size_t columns() const { return blocks_.member_count(); }
    const StumpBlocks &blocks() const { return blocks_; }

private:
    static constexpr size_t kPanel = 16;  // columns that share a tile of rows
    static constexpr int64_t kTile = 1 << 14;  // rows whose weights stay in the second-level cache
    static constexpr int64_t kFewRows = 1 << 12;
    static constexpr int64_t kWorth = 1 << 18;  // additions below which threads do not pay

    const StumpBlocks blocks_;
    StumpBounds bounds_;
    FixedWeights weights_;
    bool sound_ = true;  // false while q may hold weights that were refused
    std::vector<uint8_t> seen_;
    std::vector<int64_t> sums_;  // of each member by code, as of its last look
    std::vector<int32_t> place_;  // of a feature among the members
    std::vector<int32_t> leaders_, batch_, dense_;
    std::vector<std::vector<int64_t>> cells_;  // one workspace for each thread
    Ranking ranking_;
    std::vector<Subset> found_;
    int64_t looked_ = 0;

    CodeSums<int64_t> sums_of(size_t f) const {
        return {&sums_[static_cast<size_t>(place_[f]) * kCodes], layout.cuts(f), layout.missing(f)};
    }

    // Weights that are refused stay in q, and no distance to them means anything.
    void distrust() {
        if (!sound_) forget();
        sound_ = false;
    }

    void trust() {
        sound_ = true;
        bounds_.travel(weights_.travelled(), weights_.total(), weights_.mass(), weights_.q(), layout.rows());
    }

    // Sums the blocks of batch_ and offers their members.
    void look(int threads) {
        dense_.clear();
        for (int32_t b : batch_)
            if (blocks_[b].codes) dense_.push_back(b);
        int used = static_cast<int64_t>(dense_.size()) * layout.rows() >= kWorth ? threads : 1;
        if (cells_.size() < static_cast<size_t>(used)) cells_.resize(static_cast<size_t>(used));
        for (auto &cells : cells_) cells.resize(kPanel * kHistogram);
        for (size_t first = 0; first < dense_.size(); first += kPanel) look_dense(first, used);
        for (int32_t b : batch_)
            if (blocks_[b].sparse) {
                sum_sparse(*blocks_[b].sparse, weights_.q(), weights_.total(), blocks_[b].bins, cells_[0].data());
                note(b, cells_[0].data());
            }
    }

    // Each thread takes tiles of rows for a panel of columns, into histograms of its own that are joined at the end.
    void look_dense(size_t first, int threads) {
        size_t count = std::min(kPanel, dense_.size() - first);
        std::atomic<int64_t> next{0};
        parallel(threads, threads, [&](int64_t worker) {
            sum_tiles(&dense_[first], count, cells_[static_cast<size_t>(worker)].data(), next);
        });
        int64_t *cells = cells_[0].data();
        for (size_t j = 0; j < count; ++j, cells += kHistogram) {
            int bins = blocks_[dense_[first + j]].bins, planes = planes_of(&dense_[first], count, j);
            for (int worker = 1; worker < threads; ++worker)
                join_planes(cells, cells_[static_cast<size_t>(worker)].data() + j * kHistogram, planes, bins);
            join_planes(cells, cells + kCodes, planes - 1, bins);
            note(dense_[first + j], cells);
        }
    }

    void sum_tiles(const int32_t *panel, size_t count, int64_t *cells, std::atomic<int64_t> &next) const {
        for (size_t j = 0; j < count; ++j)
            clear_cells(cells + j * kHistogram, planes_of(panel, count, j), blocks_[panel[j]].bins);
        for (int64_t begin; (begin = next.fetch_add(1, std::memory_order_relaxed) * kTile) < layout.rows();) {
            int64_t length = std::min(kTile, layout.rows() - begin);
            for (size_t j = 0; j < count; j += 2) {
                const uint8_t *second = j + 1 < count ? blocks_[panel[j + 1]].codes + begin : nullptr;
                int64_t *target = cells + j * kHistogram;
                add_columns(blocks_[panel[j]].codes + begin, second, weights_.q() + begin, length,
                            planes_of(panel, count, j), target, target + kHistogram);
            }
        }
    }

    // Of the pair of columns that the j-th of a panel belongs to. Clearing and joining several costs as much as a few
    // thousand rows.
    int planes_of(const int32_t *panel, size_t count, size_t j) const {
        size_t a = j & ~size_t{1}, b = std::min(a + 1, count - 1);
        bool crowded = blocks_[panel[a]].crowded() || blocks_[panel[b]].crowded();
        return layout.rows() < kFewRows && !crowded ? 1 : kPlanes;
    }

    void note(int32_t b, const int64_t *cells) {
        const Block &block = blocks_[b];
        const Member *members = blocks_.members(block);
        int64_t highest = 0;
        for (int32_t j = 0; j < block.count; ++j) {
            int64_t *own = &sums_[static_cast<size_t>(block.first + j) * kCodes];
            if (members[j].code_of) {
                split_tuples(cells, members[j].code_of, block.bins, members[j].cuts + 1, own);
            } else {
                std::memcpy(own, cells, static_cast<size_t>(block.bins) * sizeof(int64_t));
                own[kMissing] = cells[kMissing];
            }
            int64_t peak = CodeSums<int64_t>{own, members[j].cuts, members[j].missing}.peak();
            ranking_.offer(members[j].feature, peak);
            highest = std::max(highest, peak);
        }
        bounds_.learn(b, highest);
        seen_[static_cast<size_t>(b)] = 1;
        looked_ += block.count;
    }

    void answer() {
        found_.clear();
        leaders_.clear();
        ranking_.settle([this](int32_t feature, int64_t reach) {
            if (feature < 0) {
                found_.push_back({-1, CodeMask{}, weights_.total()});
                return;
            }
            size_t f = static_cast<size_t>(feature);
            CodeSums<int64_t> sums = sums_of(f);
            CodeMask mask = sums.lowest(reach);
            found_.push_back({feature, mask, sums.edge(mask)});
            leaders_.push_back(blocks_.block_of(f));
        });
        std::sort(leaders_.begin(), leaders_.end());
        leaders_.erase(std::unique(leaders_.begin(), leaders_.end()), leaders_.end());
    }
};

}  // namespace dualboost
