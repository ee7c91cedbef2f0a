// Trees whose leaves carry a real value, grown leaf by leaf on binned rows: the split that explains most comes first.
#pragma once

#include "leaf_categories.hpp"

#include <memory>

namespace dualboost {

constexpr int32_t kByMask = -1;  // in the place of a cut: the categories on the right are those of the mask

struct LeafNode {
    int32_t feature = -1, cut = 0, left = -1, right = -1;
    uint8_t missing_right = 0;
    double value = 0;
    CodeMask mask{};
};

struct LeafLimits {
    int64_t leaves;
    int64_t least;  // of h in a leaf
    double ridge;  // added to h where g is divided by it
    double features;  // the share of the features that a node may look at
    uint64_t seed;
    double row;  // of h in one row that is independent of the others; 0 where chance is not reckoned with
};

// Rows by rows: the bins of a row stand together, since a node reads some rows and all features.
struct LeafTable {
    int64_t rows = 0, features = 0;
    std::vector<uint8_t> codes;  // the bin of each cell; bin cuts + 1 holds the missing values
    std::vector<int32_t> cuts;  // of each feature
    std::vector<uint8_t> named;  // whether a feature holds categories
    std::vector<int64_t> start;  // of each feature's bins in a histogram
    const uint8_t *row(int64_t i) const { return codes.data() + i * features; }
    int64_t bins() const { return start.back(); }
    bool goes_right(const LeafNode &node, int32_t code) const {
        if (code > cuts[static_cast<size_t>(node.feature)]) return node.missing_right != 0;
        return node.cut == kByMask ? holds(node.mask, code) : code > node.cut;
    }
};

inline uint64_t mixed_bits(uint64_t h) {
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9u;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBu;
    return h ^ (h >> 31);
}

class LeafGrowth {
public:
    explicit LeafGrowth(const LeafTable &table)
        : table_(table), order_(static_cast<size_t>(table.rows)), spare_(order_.size()) {}

    // The tree with the largest sum of g^2 / (h + ridge) over its leaves, greedily. Rows without h do not take part.
    const std::vector<LeafNode> &grow(const int64_t *g, const int64_t *h, const LeafLimits &limits) {
        g_ = g;
        h_ = h;
        limits_ = &limits;
        weigh_chance();
        nodes_.assign(1, LeafNode{});
        leaves_.clear();
        add_root();
        while (static_cast<int64_t>(leaves_.size()) < limits.leaves && split_best()) Breakable::look_up();
        for (const Leaf &leaf : leaves_) nodes_[static_cast<size_t>(leaf.node)].value = value_of(leaf.sums);
        return nodes_;
    }

    // tell(row, node) for each row that took part in the last tree and the leaf it fell into.
    template <class Tell> void each_row(Tell tell) const {
        for (const Leaf &leaf : leaves_)
            for (int64_t k = leaf.begin; k < leaf.end; ++k) tell(order_[static_cast<size_t>(k)], leaf.node);
    }

private:
    struct Split {
        float gain = 0;  // rounded: what differs in the last digits only is a tie, and ties go to the first
        int32_t feature = -1, cut = 0;
        uint8_t missing_right = 0;
        LeafSums left;
    };
    struct Leaf {
        int32_t node;
        int64_t begin, end;
        LeafSums sums;
        size_t histogram;
        uint64_t path;
        double squares = 0;  // the sum of g^2 / h over its rows, where chance is reckoned with
        Split best;
        CodeMask mask{};  // of the best split, where that is one of categories
    };
    struct Promise {
        double most;  // what no split of this column of categories gains more than
        int64_t feature;
    };

    const LeafTable &table_;
    const int64_t *g_ = nullptr, *h_ = nullptr;
    const LeafLimits *limits_ = nullptr;
    std::vector<int32_t> order_, spare_;
    std::vector<std::vector<LeafSums>> histograms_;
    std::vector<Leaf> leaves_;
    std::vector<LeafNode> nodes_;
    LeafCategories orders_[2];  // of the feature at hand, and of the best split of categories so far
    LeafCategories *categories_ = orders_, *best_categories_ = orders_ + 1;
    int best_place_ = 0;
    std::vector<Promise> promising_;
    std::vector<double> squares_;  // g^2 / h of each row, where chance is reckoned with

    double score(const LeafSums &sums) const {
        double g = static_cast<double>(sums.g), h = static_cast<double>(sums.h) + limits_->ridge;
        return h > 0 ? g * g / h : 0.0;
    }
    double value_of(const LeafSums &sums) const {
        double h = static_cast<double>(sums.h) + limits_->ridge;
        return h > 0 ? static_cast<double>(sums.g) / h : 0.0;
    }

    void add_root() {
        Leaf root{0, 0, 0, {}, new_histogram(0), 0, 0, {}, {}};
        int64_t mass = 0;
        for (int64_t i = 0; i < table_.rows; ++i) {
            if (h_[i] == 0) continue;
            order_[static_cast<size_t>(root.end++)] = static_cast<int32_t>(i);
            root.sums += {g_[i], h_[i]};
            mass += std::abs(g_[i]);
        }
        // Another draw of features for other weights; what differs by rounding only draws the same.
        float rounded = static_cast<float>(mass);
        uint32_t bits;
        std::memcpy(&bits, &rounded, 4);
        root.path = mixed_bits(mixed_bits(limits_->seed) + bits);
        fill(root);
        search(root);
        leaves_.push_back(root);
    }

    size_t new_histogram(size_t k) {
        if (histograms_.size() <= k) histograms_.resize(k + 1);
        histograms_[k].assign(static_cast<size_t>(table_.bins()), LeafSums{});
        return k;
    }

    void weigh_chance() {
        squares_.clear();
        bool named = std::any_of(table_.named.begin(), table_.named.end(), [](uint8_t flag) { return flag != 0; });
        if (!named || !(limits_->row > 0)) return;
        squares_.resize(order_.size());
        for (size_t i = 0; i < squares_.size(); ++i)
            if (h_[i] != 0) squares_[i] = std::pow(static_cast<double>(g_[i]), 2) / static_cast<double>(h_[i]);
    }

    // What a split of so many categories that mean nothing gains by chance, beyond a split of two: no more than a row's
    // share of the variance for each of the others, on average.
    double chance(const Leaf &leaf, int categories) const {
        if (squares_.empty() || categories <= 2 || leaf.sums.h <= 0) return 0;
        double variance = std::max(leaf.squares - score(leaf.sums), 0.0) / static_cast<double>(leaf.sums.h);
        return (categories - 2) * variance * limits_->row;
    }

    void fill(Leaf &leaf) {
        if (!squares_.empty()) {
            leaf.squares = 0;
            for (int64_t k = leaf.begin; k < leaf.end; ++k)
                leaf.squares += squares_[static_cast<size_t>(order_[static_cast<size_t>(k)])];
        }
        LeafSums *bins = histograms_[leaf.histogram].data();
        const int64_t *start = table_.start.data();
        for (int64_t k = leaf.begin; k < leaf.end; ++k) {
            int64_t i = order_[static_cast<size_t>(k)];
            LeafSums sums{g_[i], h_[i]};
            const uint8_t *codes = table_.row(i);
            for (int64_t f = 0; f < table_.features; ++f) bins[start[f] + codes[f]] += sums;
        }
    }

    const LeafSums *sums_of(const Leaf &leaf, int64_t f) const {
        return histograms_[leaf.histogram].data() + table_.start[static_cast<size_t>(f)];
    }
    int32_t codes(int64_t f) const { return table_.cuts[static_cast<size_t>(f)] + 2; }  // with that of missing values

    bool looks_at(const Leaf &leaf, int64_t f) const {
        if (limits_->features >= 1) return true;
        uint64_t h = mixed_bits(leaf.path + 0x9E3779B97F4A7C15u * static_cast<uint64_t>(f + 1));
        return static_cast<double>(h >> 11) * 0x1p-53 < limits_->features;
    }

    void search(Leaf &leaf) {
        leaf.best = Split{};
        leaf.best.gain = static_cast<float>(score(leaf.sums) * (1 + 1e-6));
        if (leaf.sums.h < 2 * limits_->least) return;
        promising_.clear();
        for (int64_t f = 0; f < table_.features; ++f) {
            if (!looks_at(leaf, f)) continue;
            if (table_.named[static_cast<size_t>(f)]) promising_.push_back(promise_of(leaf, f));
            else search_feature(leaf, f);
        }
        // The best column of categories first: it rules most of the others out.
        std::sort(promising_.begin(), promising_.end(), [](const Promise &a, const Promise &b) {
            return a.most != b.most ? a.most > b.most : a.feature < b.feature;
        });
        for (const Promise &promise : promising_)
            if (promise.most * (1 + 1e-6) >= leaf.best.gain) search_categories(leaf, promise.feature);
        if (leaf.best.feature >= 0 && leaf.best.cut == kByMask) settle_sides(leaf);
    }

    void search_feature(Leaf &leaf, int64_t f) {
        const LeafSums *bins = sums_of(leaf, f);
        int32_t cuts = table_.cuts[static_cast<size_t>(f)];
        LeafSums missing = bins[cuts + 1], left;
        bool either = missing.h > 0;
        for (int32_t cut = 0; cut <= cuts; ++cut) {
            left += bins[cut];
            if (bins[cut].h == 0 && bins[cut].g == 0 && cut < cuts) continue;  // the same split as one cut before
            auto side = static_cast<uint8_t>(either || larger_right(leaf, left));
            if (cut < cuts || either) offer(leaf, {0, static_cast<int32_t>(f), cut, side, left});
            if (cut < cuts && either) offer(leaf, {0, static_cast<int32_t>(f), cut, 0, left + missing});
        }
    }

    // Where none is missing here, one that is later goes with the larger part; left where only rounding is larger.
    static bool larger_right(const Leaf &leaf, const LeafSums &left) {
        return leaf.sums.h - left.h > left.h + (leaf.sums.h >> 32);
    }

    Promise promise_of(const Leaf &leaf, int64_t f) const {
        const LeafSums *bins = sums_of(leaf, f);
        auto here = std::count_if(bins, bins + codes(f), [](const LeafSums &sums) { return sums.h != 0; });
        return {most_gain(bins, codes(f)) - chance(leaf, static_cast<int>(here)), f};
    }

    // Of equal splits that of the first feature is the best, in whatever order they are searched.
    void search_categories(Leaf &leaf, int64_t f) {
        const LeafSums *bins = sums_of(leaf, f);
        categories_->take(bins, codes(f));
        bool ties = f < leaf.best.feature;
        double chance_gain = chance(leaf, categories_->count());
        Split best{leaf.best.gain, static_cast<int32_t>(f), kByMask, 0, {}};
        LeafSums left;
        int at = -1;
        for (int place = 0; place + 1 < categories_->count(); ++place) {
            left += bins[categories_->code(place)];
            float gain = gain_of(leaf, left, chance_gain);
            if (!(gain > best.gain || (ties && gain == best.gain))) continue;
            ties = false;
            best.gain = gain;
            best.left = left;
            at = place;
        }
        if (at < 0) return;
        leaf.best = best;
        best_place_ = at;
        std::swap(categories_, best_categories_);
    }

    // The lowest code of the node goes left, so that a split has one name. Categories that are not in this node go with
    // the larger part, like missing ones.
    void settle_sides(Leaf &leaf) const {
        Split &best = leaf.best;
        bool turn = !best_categories_->lowest_within(best_place_);
        if (turn) best.left = leaf.sums - best.left;
        leaf.mask = best_categories_->right_of(best_place_, turn, larger_right(leaf, best.left));
        int missing = table_.cuts[static_cast<size_t>(best.feature)] + 1;
        best.missing_right = holds(leaf.mask, missing);
        take_out(leaf.mask, missing);
    }

    void offer(Leaf &leaf, Split split) const {
        split.gain = gain_of(leaf, split.left);
        if (split.gain > leaf.best.gain) leaf.best = split;
    }

    // What both sides score; nothing where one of them is too light.
    float gain_of(const Leaf &leaf, const LeafSums &left, double less = 0) const {
        LeafSums right = leaf.sums - left;
        if (left.h < limits_->least || right.h < limits_->least || left.h == 0 || right.h == 0) return 0;
        return static_cast<float>(score(left) + score(right) - less);
    }

    bool split_best() {
        size_t at = leaves_.size();
        double most = 0;
        for (size_t k = 0; k < leaves_.size(); ++k) {
            double gain = static_cast<double>(leaves_[k].best.gain) - score(leaves_[k].sums);
            if (leaves_[k].best.feature >= 0 && static_cast<float>(gain) > static_cast<float>(most)) {
                most = gain;
                at = k;
            }
        }
        if (at == leaves_.size()) return false;
        split(at);
        return true;
    }

    void split(size_t at) {
        Leaf parent = leaves_[at];
        const Split &best = parent.best;
        auto left = static_cast<int32_t>(nodes_.size()), right = left + 1;
        LeafNode &node = nodes_[static_cast<size_t>(parent.node)];
        node = {best.feature, best.cut, left, right, best.missing_right, 0, {}};
        if (best.cut == kByMask) node.mask = parent.mask;
        int64_t middle = partition(parent, node);
        nodes_.resize(nodes_.size() + 2);
        size_t fresh = new_histogram(leaves_.size());
        uint64_t path =
            mixed_bits(parent.path ^ (static_cast<uint64_t>(best.feature) << 32) ^ static_cast<uint64_t>(best.cut));
        Leaf one{left, parent.begin, middle, best.left, fresh, mixed_bits(path + 1), 0, {}, {}};
        Leaf two{right,          middle, parent.end, parent.sums - best.left, parent.histogram, mixed_bits(path + 2),
                 parent.squares, {},     {}};
        bool last = static_cast<int64_t>(leaves_.size()) + 1 >= limits_->leaves;
        if (!last) share(one, two);
        leaves_[at] = one;
        leaves_.push_back(two);
    }

    // The smaller child is summed, the other one is what is left of the parent.
    void share(Leaf &one, Leaf &two) {
        bool swapped = one.end - one.begin > two.end - two.begin;
        if (swapped) std::swap(one.histogram, two.histogram);
        Leaf &small = swapped ? two : one, &large = swapped ? one : two;
        double squares = two.squares;  // of both
        fill(small);
        large.squares = std::max(squares - small.squares, 0.0);
        LeafSums *rest = histograms_[large.histogram].data();
        const LeafSums *taken = histograms_[small.histogram].data();
        for (int64_t b = 0; b < table_.bins(); ++b) rest[b] = rest[b] - taken[b];
        search(one);
        search(two);
    }

    int64_t partition(const Leaf &leaf, const LeafNode &node) {
        int64_t kept = leaf.begin, moved = 0;
        bool right[kCodes];  // of each bin, for masks are slower to read
        for (int32_t code = 0; code <= table_.cuts[static_cast<size_t>(node.feature)] + 1; ++code)
            right[code] = table_.goes_right(node, code);
        for (int64_t k = leaf.begin; k < leaf.end; ++k) {  // without a branch: sides are hard to foresee
            int32_t i = order_[static_cast<size_t>(k)];
            bool goes = right[table_.row(i)[node.feature]];
            order_[static_cast<size_t>(kept)] = i;
            spare_[static_cast<size_t>(moved)] = i;
            kept += !goes;
            moved += goes;
        }
        std::copy_n(spare_.begin(), moved, order_.begin() + kept);
        return kept;
    }
};

inline double leaf_value(const LeafTable &table, const LeafNode *nodes, const uint8_t *codes) {
    const LeafNode *node = nodes;
    while (node->feature >= 0)
        node = nodes + (table.goes_right(*node, codes[node->feature]) ? node->right : node->left);
    return node->value;
}

}  // namespace dualboost
