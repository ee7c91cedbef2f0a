// The best split of a node, by the edge or by a criterion that looks ahead.
//
// The edge of a tree is the sum over its leaves of |P - N|, P and N the weights of the two labels. It does not see a
// split whose sides keep the same majority, so it says little about splits that others will follow. Those minimise the
// sum of sqrt(P N), the strictly concave criterion for which Kearns and Mansour prove that growing from the top boosts.
// The last split of a path has no followers: it is the stump of largest edge among the node's rows.
#pragma once

#include "tree_histograms.hpp"

namespace dualboost {

struct LabelSums {
    int64_t positive = 0, negative = 0;

    int64_t mass() const { return positive + negative; }
    int64_t edge() const { return positive - negative; }
    bool pure() const { return positive == 0 || negative == 0; }
    LabelSums operator-(const LabelSums &other) const { return {positive - other.positive, negative - other.negative}; }
};

struct Split {
    Stump stump{-1, 0, 0};
    LabelSums left{};
    double gain = 0.0;  // by the criterion, or of the edge

    bool exists() const { return stump.feature >= 0; }
};

DUALBOOST_INLINE double impurity(int64_t positive, int64_t negative) {
    return std::sqrt(static_cast<double>(positive) * static_cast<double>(negative));
}

// The sums left of each cut of one feature in one node; entry `cuts` is all that is present.
struct FeatureSums {
    int cuts = 0;
    bool missing = false;
    LabelSums whole, absent;
    int64_t positive[kCodes], negative[kCodes];

    LabelSums left(int cut, int missing_right) const {
        LabelSums sums{positive[cut], negative[cut]};
        return missing_right ? sums : LabelSums{sums.positive + absent.positive, sums.negative + absent.negative};
    }

    // Calls visit(cut, missing_right, sums on the left) in index order until it returns true.
    template <class Visit> void splits(const Visit &visit) const {
        for (int cut = 0; cut <= cuts; ++cut) {
            if (cut < cuts && visit(cut, 0, left(cut, 0))) return;
            if (missing && visit(cut, 1, left(cut, 1))) return;
        }
    }

    // The criterion of a split; one that leaves a side without weight is none.
    double cost(const LabelSums &left) const {
        LabelSums right = whole - left;
        if (left.mass() == 0 || right.mass() == 0) return HUGE_VAL;
        return impurity(left.positive, left.negative) + impurity(right.positive, right.negative);
    }

    int64_t edge(const LabelSums &left) const { return magnitude(left.edge()) + magnitude((whole - left).edge()); }
};

// What the scan of a node finds for each feature.
struct FeatureBest {
    int64_t edge;
    double cost;
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
    }

    // Looks at every feature of a node; `criterion` tells whether more than the edges is wanted.
    void scan(const int64_t *cells, const LabelSums &whole, bool criterion, int threads) {
        cells_ = cells;
        whole_ = whole;
        constexpr int64_t part = 16;
        int64_t count = static_cast<int64_t>(members_.size()), parts = (count + part - 1) / part;
        parallel(parts, count >= 64 ? threads : 1, [&](int64_t p) {
            FeatureSums sums;
            for (int64_t j = p * part; j < std::min(count, (p + 1) * part); ++j)
                found_[static_cast<size_t>(j)] = best_of(static_cast<size_t>(j), criterion, sums);
        });
    }

    // Of all stumps, the constant included.
    int64_t largest_edge() const {
        int64_t best = magnitude(whole_.edge());
        for (const FeatureBest &found : found_) best = std::max(best, found.edge);
        return best;
    }

    // The stump with the largest edge; none where no split raises the edge. Among equals the lowest index.
    Split by_edge() const {
        int64_t best = largest_edge();
        if (magnitude(whole_.edge()) >= best - kTie) return {};
        return first_reaching_edge(lowest([&](const FeatureBest &found) { return found.edge >= best - kTie; }), best);
    }

    // The split with the lowest criterion. Among equals the lowest index.
    Split by_criterion() const {
        double best = HUGE_VAL;
        for (const FeatureBest &found : found_) best = std::min(best, found.cost);
        if (!(best < HUGE_VAL)) return {};
        return first_reaching_cost(lowest([&](const FeatureBest &found) { return found.cost <= best + kCostTie; }), best);
    }

    // The best splits of the k best features, best first.
    std::vector<Split> best_features(size_t k, bool criterion) const {
        auto worth = [&](size_t j) { return criterion ? -found_[j].cost : static_cast<double>(found_[j].edge); };
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
            splits.push_back(criterion ? first_reaching_cost(j, found_[j].cost) : first_reaching_edge(j, found_[j].edge));
        }
        return splits;
    }

private:
    static constexpr double kCostTie = static_cast<double>(kTie);
    struct Place {
        size_t block;
        const Member *member;
    };

    const TreeLayout &layout_;
    std::vector<Place> members_;
    std::vector<int32_t> features_;
    std::vector<FeatureBest> found_;
    const int64_t *cells_ = nullptr;
    LabelSums whole_;

    const Block &block(size_t b) const { return layout_.blocks[static_cast<int32_t>(b)]; }

    FeatureBest best_of(size_t j, bool criterion, FeatureSums &sums) const {
        load(j, sums);
        FeatureBest best{0, HUGE_VAL};
        sums.splits([&](int, int, const LabelSums &left) {
            best.edge = std::max(best.edge, sums.edge(left));
            if (criterion) best.cost = std::min(best.cost, sums.cost(left));
            return false;
        });
        return best;
    }

    template <class Fine> size_t lowest(const Fine &fine) const {
        size_t winner = found_.size();
        for (size_t j = 0; j < found_.size(); ++j)
            if (fine(found_[j]) && (winner == found_.size() || features_[j] < features_[winner])) winner = j;
        return winner;
    }

    Split first_reaching_edge(size_t j, int64_t best) const {
        FeatureSums sums;
        load(j, sums);
        return first(j, sums, [&](const LabelSums &left) { return sums.edge(left) >= best - kTie; },
                     static_cast<double>(best - magnitude(whole_.edge())));
    }

    Split first_reaching_cost(size_t j, double best) const {
        FeatureSums sums;
        load(j, sums);
        return first(j, sums, [&](const LabelSums &left) { return sums.cost(left) <= best + kCostTie; },
                     impurity(whole_.positive, whole_.negative) - best);
    }

    template <class Fine> Split first(size_t j, const FeatureSums &sums, const Fine &fine, double gain) const {
        Split split;
        sums.splits([&](int cut, int missing_right, const LabelSums &left) {
            if (!fine(left)) return false;
            split = {{features_[j], cut, static_cast<uint8_t>(missing_right)}, left, gain};
            return true;
        });
        return split;
    }

    // ---- sums of one feature --------------------

    void load(size_t j, FeatureSums &sums) const {
        const Place &place = members_[j];
        sums.cuts = place.member->cuts;
        sums.missing = place.member->missing;
        sums.whole = whole_;
        int64_t absent_positive = load_label(place, cells_, whole_.positive, sums.positive);
        int64_t absent_negative = load_label(place, cells_ + layout_.cells(), whole_.negative, sums.negative);
        sums.absent = {absent_positive, absent_negative};
    }

    // Running sums of one label over the codes; returns the weight of missing values.
    int64_t load_label(const Place &place, const int64_t *plane, int64_t whole, int64_t *sums) const {
        const Block &from = block(place.block);
        const int64_t *cells = plane + layout_.first_cell(place.block);
        int cuts = place.member->cuts;
        int64_t absent = 0;
        if (place.member->code_of) {
            split_tuples(cells, place.member->code_of, from.bins, cuts + 1, sums);
            absent = sums[kMissing];
        } else if (from.codes) {
            std::memcpy(sums, cells, static_cast<size_t>(cuts + 1) * sizeof(int64_t));
            absent = cells[kMissing];
        } else {
            absent = load_sparse(from, cells, whole, sums);
        }
        for (int cut = 1; cut <= cuts; ++cut) sums[cut] += sums[cut - 1];
        return absent;
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
