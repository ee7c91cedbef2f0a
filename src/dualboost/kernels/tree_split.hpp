// The best split of a node, by the edge or by a criterion that looks ahead.
//
// The edge of a tree is the sum over its leaves of |P - N|, P and N the weights of the two labels. It does not see a
// split whose sides keep the same majority, so it says little about splits that others will follow. Those minimise the
// sum of sqrt(P N), the strictly concave criterion for which Kearns and Mansour prove that growing from the top boosts.
// The last split of a path has no followers: it is the stump of largest edge among the node's rows.
#pragma once

#include "tree_histograms.hpp"
#include "tree_nodes.hpp"

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
    CodeMask mask{};    // of categories, where the cut is -1

    bool exists() const { return stump.feature >= 0; }
    TreeNode node() const { return {stump.feature, stump.cut, stump.missing_right, mask}; }
};

DUALBOOST_INLINE double impurity(int64_t positive, int64_t negative) {
    return std::sqrt(static_cast<double>(positive) * static_cast<double>(negative));
}

// The largest edge and the lowest criterion of the first `count` cuts of a feature, whose left sides gain `more`. The
// bits are those of one cut after the other, but first all become doubles, then several roots are taken side by side.
DUALBOOST_CLONES static int64_t largest_edge_of(const int64_t *positive, const int64_t *negative, int count,
                                                LabelSums more, LabelSums whole) {
    int64_t best = 0, shift = more.edge(), all = whole.edge();
    for (int cut = 0; cut < count; ++cut) {
        int64_t left = positive[cut] - negative[cut] + shift, right = all - left;
        int64_t edge = (left < 0 ? -left : left) + (right < 0 ? -right : right);
        best = edge > best ? edge : best;
    }
    return best;
}

DUALBOOST_CLONES static double lowest_cost_of(const int64_t *positive, const int64_t *negative, int count,
                                              LabelSums more, LabelSums whole) {
    constexpr int kLanes = 8;
    double p[kCodes + kLanes], n[kCodes + kLanes], other_p[kCodes + kLanes], other_n[kCodes + kLanes], best[kLanes];
    for (int cut = 0; cut < count; ++cut) {
        p[cut] = static_cast<double>(positive[cut] + more.positive);
        n[cut] = static_cast<double>(negative[cut] + more.negative);
        other_p[cut] = static_cast<double>(whole.positive - more.positive - positive[cut]);
        other_n[cut] = static_cast<double>(whole.negative - more.negative - negative[cut]);
    }
    for (int cut = count; cut < count + kLanes; ++cut) p[cut] = n[cut] = other_p[cut] = other_n[cut] = 0.0;
    for (int k = 0; k < kLanes; ++k) best[k] = HUGE_VAL;
    for (int first = 0; first < count; first += kLanes)
        for (int k = 0; k < kLanes; ++k) {
            int cut = first + k;
            double cost = std::sqrt(p[cut] * n[cut]) + std::sqrt(other_p[cut] * other_n[cut]);
            bool fine = (p[cut] + n[cut] > 0.0) & (other_p[cut] + other_n[cut] > 0.0);
            cost = fine ? cost : HUGE_VAL;
            best[k] = cost < best[k] ? cost : best[k];
        }
    return *std::min_element(best, best + kLanes);
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

// Categories in the order of their share of label +1: of all subsets, the best by a concave criterion are the first ones
// in this order (Breiman, Friedman, Olshen and Stone, 1984), and so are the best by the edge. A category without weight in
// this node has the share of the whole node.
class CategoryOrder {
public:
    // The sums by code; the codes follow each other without gaps, missing last.
    void take(const FeatureSums &sums) {
        count_ = 0;
        for (int code = 0; code <= sums.cuts; ++code) take(code, {sums.positive[code], sums.negative[code]}, sums.whole);
        if (sums.missing) take(kMissing, sums.absent, sums.whole);
    }

    // Turns what was taken into running sums in the order.
    void sort(FeatureSums &sums) {
        std::sort(order_, order_ + count_, [](const Place &a, const Place &b) {
            return a.share != b.share ? a.share < b.share : a.entry < b.entry;
        });
        LabelSums left;
        for (int k = 0; k < count_; ++k) {
            const LabelSums &own = entries_[order_[k].entry].sums;
            sums.positive[k] = left.positive += own.positive;
            sums.negative[k] = left.negative += own.negative;
        }
        sums.cuts = count_ - 1;
        sums.missing = false;
        sums.absent = {};
    }

    // The largest edge of all subsets, exactly: the shares are rounded, the signs of the sums are not.
    int64_t largest_edge() const {
        int64_t sum = 0;
        for (int k = 0; k < count_; ++k) sum += magnitude(entries_[k].sums.edge());
        return sum;
    }

    // The split after place `cut` of the order; code 0 goes left, so that a split has one name.
    Split split(int32_t feature, int cut, const LabelSums &left, const LabelSums &whole) const {
        bool turn = true;
        for (int k = 0; k <= cut; ++k) turn &= entries_[order_[k].entry].code != 0;
        Split split{{feature, -1, 0}, turn ? whole - left : left};
        for (int k = 0; k < count_; ++k)
            if ((k > cut) != turn) put(split.mask, entries_[order_[k].entry].code);
        return split;
    }

private:
    struct Entry {  // by code
        int code;
        LabelSums sums;
    };
    struct Place {  // in the order
        double share;
        int entry;
    };
    Entry entries_[kCodes];
    Place order_[kCodes];
    int count_ = 0;

    void take(int code, const LabelSums &sums, const LabelSums &whole) {
        const LabelSums &known = sums.mass() > 0 ? sums : whole;
        double share = static_cast<double>(known.positive) / static_cast<double>(std::max<int64_t>(known.mass(), 1));
        entries_[count_] = {code, sums};
        order_[count_] = {share, count_};
        ++count_;
    }
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
            CategoryOrder order;
            for (int64_t j = p * part; j < std::min(count, (p + 1) * part); ++j)
                found_[static_cast<size_t>(j)] = best_of(static_cast<size_t>(j), criterion, sums, order);
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

    bool categorical(size_t j) const { return layout_.categorical(static_cast<size_t>(features_[j])); }

    FeatureBest best_of(size_t j, bool criterion, FeatureSums &sums, CategoryOrder &order) const {
        load(j, sums, order);
        FeatureBest best{categorical(j) ? order.largest_edge() : 0, HUGE_VAL};
        if (categorical(j) && !criterion) return best;
        if (categorical(j)) order.sort(sums);
        consider(sums, sums.cuts, sums.absent, criterion, best);
        if (sums.missing) consider(sums, sums.cuts + 1, {}, criterion, best);
        return best;
    }

    // All cuts with the missing values on one side.
    static void consider(const FeatureSums &sums, int count, const LabelSums &more, bool criterion, FeatureBest &best) {
        best.edge = std::max(best.edge, largest_edge_of(sums.positive, sums.negative, count, more, sums.whole));
        if (criterion && count > 0)
            best.cost = std::min(best.cost, lowest_cost_of(sums.positive, sums.negative, count, more, sums.whole));
    }

    template <class Fine> size_t lowest(const Fine &fine) const {
        size_t winner = found_.size();
        for (size_t j = 0; j < found_.size(); ++j)
            if (fine(found_[j]) && (winner == found_.size() || features_[j] < features_[winner])) winner = j;
        return winner;
    }

    Split first_reaching_edge(size_t j, int64_t best) const {
        return first(j, static_cast<double>(best - magnitude(whole_.edge())),
                     [&](const FeatureSums &sums, const LabelSums &left) { return sums.edge(left) >= best - kTie; });
    }

    Split first_reaching_cost(size_t j, double best) const {
        return first(j, impurity(whole_.positive, whole_.negative) - best,
                     [&](const FeatureSums &sums, const LabelSums &left) { return sums.cost(left) <= best + kCostTie; });
    }

    template <class Fine> Split first(size_t j, double gain, const Fine &fine) const {
        Split split;
        FeatureSums sums;
        CategoryOrder order;
        load(j, sums, order);
        if (categorical(j)) order.sort(sums);
        sums.splits([&](int cut, int missing_right, const LabelSums &left) {
            if (!fine(sums, left)) return false;
            split = categorical(j) ? order.split(features_[j], cut, left, whole_)
                                   : Split{{features_[j], cut, static_cast<uint8_t>(missing_right)}, left};
            split.gain = gain;
            return true;
        });
        return split;
    }

    // ---- sums of one feature --------------------

    void load(size_t j, FeatureSums &sums, CategoryOrder &order) const {
        const Place &place = members_[j];
        sums.cuts = place.member->cuts;
        sums.missing = place.member->missing;
        sums.whole = whole_;
        int64_t absent_positive = load_label(place, cells_, whole_.positive, sums.positive);
        int64_t absent_negative = load_label(place, cells_ + layout_.cells(), whole_.negative, sums.negative);
        sums.absent = {absent_positive, absent_negative};
        if (categorical(j)) return order.take(sums);
        for (int64_t *label : {sums.positive, sums.negative})
            for (int cut = 1; cut <= sums.cuts; ++cut) label[cut] += label[cut - 1];
    }

    // The sums of one label by code; returns the weight of missing values.
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
