// The best split of a node, by the edge or by a criterion that looks ahead.
//
// The edge of a tree is the sum over its leaves of |P - N|, P and N the weights of the two labels. It does not see a
// split whose sides keep the same majority, so it says little about splits that others will follow. Those minimise the
// sum of sqrt(P N), the strictly concave criterion for which Kearns and Mansour prove that growing from the top boosts.
// The last split of a path has no followers: it is the stump of largest edge among the node's rows.
#pragma once

#include "tree_categories.hpp"
#include "tree_histograms.hpp"

namespace dualboost {

// What the scan of a node finds for each feature.
struct FeatureBest {
    int64_t edge = 0;
    float rough = HUGE_VALF;  // the criterion, nearly
};

class SplitFinder {
public:
    explicit SplitFinder(const TreeLayout &layout) : layout_(layout) {
        for (size_t b = 0; b < layout.blocks.size(); ++b)
            for (int32_t j = 0; j < block(b).count; ++j) {
                members_.push_back({b, &layout.blocks.members(block(b))[j]});
                features_.push_back(members_.back().member->feature);
            }
        found_.resize(members_.size());
        costs_.resize(members_.size());
    }

    // Looks at every feature of a node; `criterion` tells whether more than the edges is wanted.
    void scan(const int64_t *cells, const LabelSums &whole, bool criterion, int threads) {
        cells_ = cells;
        whole_ = whole;
        threads_ = threads;
        kept().holds = spare().holds = kNone;
        if (in_parts()) return for_features([&](size_t j, Room &room) { found_[j] = best_of(j, criterion, room); });
        float lowest = HUGE_VALF;
        for (size_t j = 0; j < found_.size(); ++j) {
            found_[j] = best_of(j, criterion, spare());
            if (!(found_[j].rough < lowest)) continue;
            lowest = found_[j].rough;
            spare().holds = j;
            kept_ = 1 - kept_;
        }
    }

    // Of all stumps, the constant included.
    int64_t largest_edge() const {
        int64_t best = magnitude(whole_.edge());
        for (const FeatureBest &found : found_) best = std::max(best, found.edge);
        return best;
    }

    // The stump with the largest edge; none where no split raises the edge. Among equals the lowest index.
    Split by_edge() {
        int64_t best = largest_edge();
        if (magnitude(whole_.edge()) >= best - kTie) return {};
        return first_reaching_edge(lowest([&](size_t j) { return found_[j].edge >= best - kTie; }), best);
    }

    // The split with the lowest criterion. Among equals the lowest index. Only features that nearly have it are
    // computed in full: both that one and theirs may be off by the share of a rough cost.
    Split by_criterion() {
        double best = HUGE_VAL;
        for (const FeatureBest &found : found_) best = std::min(best, static_cast<double>(found.rough));
        find_costs(best + 2.0 * kRoughShare * static_cast<double>(whole_.mass()) + 2.0 * kCostTie);
        best = HUGE_VAL;
        for (double cost : costs_) best = std::min(best, cost);
        if (!(best < HUGE_VAL)) return {};
        return first_reaching_cost(lowest([&](size_t j) { return costs_[j] <= best + kCostTie; }), best);
    }

    // The best splits of the k best features, best first.
    std::vector<Split> best_features(size_t k, bool criterion) {
        if (criterion) find_costs(HUGE_VAL);
        auto worth = [&](size_t j) { return criterion ? -costs_[j] : static_cast<double>(found_[j].edge); };
        double least = criterion ? -HUGE_VAL : static_cast<double>(magnitude(whole_.edge()) + kTie);
        std::vector<size_t> order;
        for (size_t j = 0; j < found_.size(); ++j)
            if (worth(j) > least) order.push_back(j);
        std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            return worth(a) != worth(b) ? worth(a) > worth(b) : features_[a] < features_[b];
        });
        std::vector<Split> splits;
        for (size_t place = 0; place < std::min(k, order.size()); ++place) {
            size_t j = order[place];
            splits.push_back(criterion ? first_reaching_cost(j, costs_[j]) : first_reaching_edge(j, found_[j].edge));
        }
        return splits;
    }

private:
    static constexpr double kCostTie = static_cast<double>(kTie);
    static constexpr size_t kNone = std::numeric_limits<size_t>::max();
    struct Place {
        size_t block;
        const Member *member;
    };
    struct Room {
        FeatureSums sums;
        CategoryOrder order;
        size_t holds = kNone;  // whose running sums these are
    };

    const TreeLayout &layout_;
    std::vector<Place> members_;
    std::vector<int32_t> features_;
    std::vector<FeatureBest> found_;
    std::vector<double> costs_;  // of the criterion, exactly; infinite where it was not asked for
    const int64_t *cells_ = nullptr;
    LabelSums whole_;
    int threads_ = 1;
    Room rooms_[2];
    int kept_ = 0;  // the room of what may be the best by the criterion; the other one is for all that passes

    Room &kept() { return rooms_[kept_]; }
    Room &spare() { return rooms_[1 - kept_]; }
    bool in_parts() const { return threads_ > 1 && members_.size() >= 64; }

    const Block &block(size_t b) const { return layout_.blocks[static_cast<int32_t>(b)]; }

    bool categorical(size_t j) const { return layout_.categorical(static_cast<size_t>(features_[j])); }

    // work(j, room) for every feature.
    template <class Work> void for_features(const Work &work) const {
        constexpr int64_t part = 16;
        int64_t count = static_cast<int64_t>(members_.size()), parts = (count + part - 1) / part;
        parallel(parts, in_parts() ? threads_ : 1, [&](int64_t p) {
            Room room;
            for (int64_t j = p * part; j < std::min(count, (p + 1) * part); ++j) work(static_cast<size_t>(j), room);
        });
    }

    // Of all cuts, with the missing values on either side.
    template <class Cost> static auto lowest_of_sides(const FeatureSums &sums, const Cost &cost_of) {
        auto best = cost_of(sums.positive, sums.negative, sums.cuts, sums.absent, sums.whole);
        if (!sums.missing) return best;
        return std::min(best, cost_of(sums.positive, sums.negative, sums.cuts + 1, LabelSums{}, sums.whole));
    }

    // The largest edge of a subset needs no order.
    FeatureBest best_of(size_t j, bool criterion, Room &room) const {
        load(j, room);
        FeatureBest best{categorical(j) ? room.order.largest_edge() : room.sums.largest_edge()};
        if (!criterion) return best;
        if (categorical(j)) room.order.sort(room.sums);
        best.rough = lowest_of_sides(room.sums, rough_cost_of);
        return best;
    }

    // The exact criterion of the features whose rough one is at most this: few, unless it is all.
    void find_costs(double most) {
        auto asked = [&](size_t j) { return found_[j].rough <= most; };
        auto find = [&](size_t j, Room &room) {
            load_running(j, room);
            costs_[j] = lowest_of_sides(room.sums, lowest_cost_of);
        };
        size_t few = 16, count = 0;
        for (size_t j = 0; j < found_.size(); ++j) count += asked(j);
        std::fill(costs_.begin(), costs_.end(), HUGE_VAL);
        if (count > few)
            return for_features([&](size_t j, Room &room) {
                if (asked(j)) find(j, room);
            });
        for (size_t j = 0; j < found_.size(); ++j)
            if (asked(j)) find(j, kept());
    }

    template <class Fine> size_t lowest(const Fine &fine) const {
        size_t winner = found_.size();
        for (size_t j = 0; j < found_.size(); ++j)
            if (fine(j) && (winner == found_.size() || features_[j] < features_[winner])) winner = j;
        return winner;
    }

    Split first_reaching_edge(size_t j, int64_t best) {
        double gain = static_cast<double>(best - magnitude(whole_.edge()));
        Split split;
        if (categorical(j) && split_by_signs(j, split)) {
            split.gain = gain;
            return split;
        }
        return first(j, gain, spare(),
                     [&](const FeatureSums &sums, const LabelSums &left) { return sums.edge(left) >= best - kTie; });
    }

    Split first_reaching_cost(size_t j, double best) {
        return first(
            j, impurity(whole_.positive, whole_.negative) - best, kept(),
            [&](const FeatureSums &sums, const LabelSums &left) { return sums.cost(left) <= best + kCostTie; });
    }

    bool split_by_signs(size_t j, Split &split) {
        load(j, spare());
        return spare().order.split_by_signs(features_[j], whole_, split);
    }

    template <class Fine> Split first(size_t j, double gain, Room &room, const Fine &fine) const {
        Split split;
        load_running(j, room);
        const FeatureSums &sums = room.sums;
        sums.splits([&](int cut, int missing_right, const LabelSums &left) {
            if (!fine(sums, left)) return false;
            split = categorical(j) ? room.order.split(features_[j], cut, left, whole_)
                                   : Split{{features_[j], cut, static_cast<uint8_t>(missing_right)}, left};
            split.gain = gain;
            return true;
        });
        return split;
    }

    // ---- sums of one feature --------------------

    // Running sums, of categories in their order.
    void load_running(size_t j, Room &room) const {
        if (room.holds == j) return;
        load(j, room);
        if (categorical(j)) room.order.sort(room.sums);
        room.holds = j;
    }

    // Running sums, of categories the sums by code.
    void load(size_t j, Room &room) const {
        const Place &place = members_[j];
        FeatureSums &sums = room.sums;
        room.holds = kNone;
        sums.cuts = place.member->cuts;
        sums.missing = place.member->missing;
        sums.whole = whole_;
        const int64_t *positive = by_code(place, cells_, whole_.positive, sums.positive, sums.absent.positive);
        const int64_t *negative =
            by_code(place, cells_ + layout_.cells(), whole_.negative, sums.negative, sums.absent.negative);
        if (categorical(j)) room.order.take(positive, negative, sums);
        else sums.run(positive, negative);
    }

    // The sums of one label by code, where they are or in `room`, and the weight of missing values.
    const int64_t *by_code(const Place &place, const int64_t *plane, int64_t whole, int64_t *room,
                           int64_t &absent) const {
        const Block &from = block(place.block);
        const int64_t *cells = plane + layout_.first_cell(place.block);
        if (place.member->code_of) {
            split_tuples(cells, place.member->code_of, from.bins, place.member->cuts + 1, room);
            absent = room[kMissing];
            return room;
        }
        if (from.codes) {
            absent = cells[kMissing];
            return cells;
        }
        absent = load_sparse(from, cells, whole, room);
        return room;
    }

    static int64_t load_sparse(const Block &from, const int64_t *cells, int64_t whole, int64_t *sums) {
        int64_t rest = whole - cells[from.bins], absent = cells[from.bins];
        for (int code = 0; code < from.bins; ++code) {
            sums[code] = cells[code];
            rest -= cells[code];
        }
        (from.sparse->fallback == kMissing ? absent : sums[from.sparse->fallback]) += rest;
        return absent;
    }
};

}  // namespace dualboost
