// The tree of two levels with the largest edge of all, by enumeration.
//
// For each feature at the root its codes move to the left side one after the other, and the histograms of all features
// on the left follow; below the root either side takes its best stump. So the additions are rows x features^2 at most,
// not rows x features x splits. What cannot win is not looked at: when rows of weight v change sides, no edge on either
// side changes by more than v.
#pragma once

#include "tree_growth.hpp"

#include <array>
#include <mutex>

namespace dualboost {

// out = whole - part, and the extent of out over the cuts.
DUALBOOST_CLONES static Extent subtract_sums(const int64_t *whole, const int64_t *part, int cuts, int64_t *out) {
    int64_t low = std::numeric_limits<int64_t>::max(), high = std::numeric_limits<int64_t>::min();
    for (int i = 0; i < cuts; ++i) {
        int64_t rest = whole[i] - part[i];
        out[i] = rest;
        low = rest < low ? rest : low;
        high = rest > high ? rest : high;
    }
    out[cuts] = whole[cuts] - part[cuts];
    out[kMissing] = whole[kMissing] - part[kMissing];
    return {low, high};
}

// One feature below the root: the histogram of the left side, and the largest |edges| of either side when last looked
// at.
struct BelowRoot {
    int64_t moved = 0;  // rows that are in the histogram
    int64_t mass = 0;  // their weight
    int64_t left = 0, right;  // largest |edges|
    std::array<int64_t, kCodes> cells{};
};

// One feature at the root, missing values on a given side: the rows in the order in which they go left.
struct RootSweep {
    size_t root;
    int missing_right;
    std::vector<int32_t> rows;
    std::vector<int64_t> q;
    std::vector<BelowRoot> below;
    int64_t moved = 0, mass = 0, total = 0;  // of the rows on the left
    int64_t left = 0, right = 0;  // largest |edges| at the cut that is visited
};

constexpr int kCutsAtOnce = 16;  // between two looks up: on few rows a cut takes no longer than one

class PairSearch {
public:
    // Every pair of columns is read, so sparse columns are stored in full.
    explicit PairSearch(const TreeLayout &layout) : layout_(layout) {
        const StumpLayout &data = layout.layout;
        size_t sparse = 0, rows = static_cast<size_t>(data.rows());
        for (size_t f = 0; f < data.features(); ++f) {
            if (!data.has_stumps(f)) continue;
            features_.push_back(static_cast<int32_t>(f));
            sparse += data.home(f) == Home::sparse;
        }
        filled_.resize(sparse * rows);
        uint8_t *room = filled_.data();
        for (int32_t f : features_) {
            codes_.push_back(layout.codes(static_cast<size_t>(f), 0, data.rows(), room));
            room += codes_.back() == room ? rows : 0;
        }
        sums_.resize(features_.size() * kCodes);
        peaks_.resize(features_.size());
    }

    // The best tree of each of the k best features at the root, best first; trees that turn out to have no split at the
    // root are left out, except as the first. `known` is an |edge| that some tree has.
    std::vector<GrownTree> best(const FixedWeights &weights, size_t k, int64_t known, int threads) {
        weights_ = &weights;
        caller_ = std::this_thread::get_id();
        sum_all();
        ranking_.start(std::min(k, features_.size() + 1));
        ranking_.offer(-1, magnitude(weights.total()));
        known_ = k == 1 ? known - kTie : 0;
        parallel(static_cast<int64_t>(features_.size()), threads,
                 [&](int64_t root) { offer(static_cast<size_t>(root)); });
        std::vector<GrownTree> trees;
        ranking_.settle([&](int32_t feature, int64_t reach) {
            GrownTree tree = feature < 0 ? constant(weights.total()) : rebuilt(feature, reach);
            if (trees.empty() || tree.nodes.size() > 1) trees.push_back(std::move(tree));
        });
        return trees;
    }

    // No tree of two levels has a larger |edge|.
    int64_t largest() const { return ranking_.largest(); }

private:
    const TreeLayout &layout_;
    std::vector<int32_t> features_;
    std::vector<const uint8_t *> codes_;
    std::vector<uint8_t> filled_;
    const FixedWeights *weights_ = nullptr;
    std::vector<int64_t> sums_;  // of all rows, for each feature running over its codes
    std::vector<int64_t> peaks_;  // of all rows, the largest |edge| of each feature
    int64_t known_ = 0;
    Ranking ranking_;
    std::mutex mutex_;  // of the ranking
    std::thread::id caller_;  // the thread that looks up; see `parallel`

    int cuts(size_t g) const { return layout_.layout.cuts(static_cast<size_t>(features_[g])); }
    bool missing(size_t g) const { return layout_.layout.missing(static_cast<size_t>(features_[g])); }

    void sum_all() {
        std::fill(sums_.begin(), sums_.end(), 0);
        for (size_t g = 0; g < features_.size(); ++g) {
            int64_t *sums = &sums_[g * kCodes];
            for (int64_t i = 0; i < layout_.layout.rows(); ++i) sums[codes_[g][i]] += weights_->q()[i];
            Extent extent = accumulate(sums, cuts(g));
            peaks_[g] = peak_edge(sums, extent, cuts(g), missing(g), weights_->total());
            Breakable::look_up();
        }
    }

    // ---- one feature at the root --------------------

    // Rows without weight change nothing and are left out.
    RootSweep started(size_t root, int missing_right) const {
        RootSweep sweep{root, missing_right, {}, {}, std::vector<BelowRoot>(features_.size())};
        const uint8_t *codes = codes_[root];
        const int64_t *q = weights_->q();
        int64_t rows = layout_.layout.rows();
        // Missing values (code 255) come last; on the left side they come first.
        uint8_t shift = missing_right ? 0 : 1;
        std::array<int64_t, kCodes + 1> next{};
        auto place = [&](int64_t i) { return static_cast<size_t>(static_cast<uint8_t>(codes[i] + shift)); };
        for (int64_t i = 0; i < rows; ++i) next[place(i) + 1] += q[i] != 0;
        for (size_t code = 0; code < kCodes; ++code) next[code + 1] += next[code];
        sweep.rows.resize(static_cast<size_t>(next[kCodes]));
        sweep.q.resize(sweep.rows.size());
        for (int64_t i = 0; i < rows; ++i) {
            if (q[i] == 0) continue;
            size_t at = static_cast<size_t>(next[place(i)]++);
            sweep.rows[at] = static_cast<int32_t>(i);
            sweep.q[at] = q[i];
        }
        for (size_t g = 0; g < features_.size(); ++g) sweep.below[g].right = peaks_[g];
        return sweep;
    }

    // Calls visit(cut) for every cut in turn whose value, left + right, reaches floor(); stops when it says so.
    template <class Floor, class Visit> void walk(RootSweep &sweep, const Floor &floor, const Visit &visit) const {
        const uint8_t *codes = codes_[sweep.root];
        int64_t rows = static_cast<int64_t>(sweep.rows.size());
        for (int cut = 0; cut < cuts(sweep.root) + sweep.missing_right; ++cut) {
            for (; sweep.moved < rows; ++sweep.moved) {
                size_t at = static_cast<size_t>(sweep.moved);
                uint8_t code = codes[sweep.rows[at]];
                if (code > cut && (code != kMissing || sweep.missing_right)) break;
                sweep.mass += magnitude(sweep.q[at]);
                sweep.total += sweep.q[at];
            }
            if (reaches(sweep, floor()) && visit(cut)) return;
            if (cut % kCutsAtOnce == 0 && std::this_thread::get_id() == caller_) Breakable::look_up();
        }
    }

    int64_t most_left(const RootSweep &sweep, size_t g) const {
        const BelowRoot &below = sweep.below[g];
        return std::min(std::min(below.left + sweep.mass - below.mass, sweep.mass),
                        peaks_[g] + weights_->mass() - sweep.mass);
    }

    int64_t most_right(const RootSweep &sweep, size_t g) const {
        const BelowRoot &below = sweep.below[g];
        return std::min(below.right + sweep.mass - below.mass, weights_->mass() - sweep.mass);
    }

    // Whether the value at the sweep's place is at least `floor`; if so, left and right are exact. A feature need not
    // be looked at if even its bound on one side, with the largest bound on the other, stays below.
    bool reaches(RootSweep &sweep, int64_t floor) const {
        int64_t left = magnitude(sweep.total), right = magnitude(weights_->total() - sweep.total);
        int64_t most_on_left = left, most_on_right = right;
        for (size_t g = 0; g < features_.size(); ++g) {
            most_on_left = std::max(most_on_left, most_left(sweep, g));
            most_on_right = std::max(most_on_right, most_right(sweep, g));
        }
        if (most_on_left + most_on_right < floor) return false;
        for (size_t g = 0; g < features_.size(); ++g) {
            bool matters = most_left(sweep, g) + most_on_right >= floor || most_right(sweep, g) + most_on_left >= floor;
            if (!matters) continue;
            look(sweep, g);
            left = std::max(left, sweep.below[g].left);
            right = std::max(right, sweep.below[g].right);
        }
        sweep.left = left;
        sweep.right = right;
        return left + right >= floor;
    }

    // Brings the histogram of one feature up to the sweep's place and finds the largest edges on either side.
    void look(RootSweep &sweep, size_t g) const {
        BelowRoot &below = sweep.below[g];
        size_t from = static_cast<size_t>(below.moved);
        add_codes<1>(&codes_[g], sweep.rows.data() + from, sweep.q.data() + from, sweep.moved - below.moved,
                     below.cells.data());
        below.moved = sweep.moved;
        below.mass = sweep.mass;
        int64_t left[kCodes], right[kCodes];
        Extent extent = sums_of(sweep, g, left);
        below.left = peak_edge(left, extent, cuts(g), missing(g), sweep.total);
        extent = subtract_sums(&sums_[g * kCodes], left, cuts(g), right);
        below.right = peak_edge(right, extent, cuts(g), missing(g), weights_->total() - sweep.total);
    }

    Extent sums_of(const RootSweep &sweep, size_t g, int64_t *sums) const {
        std::memcpy(sums, sweep.below[g].cells.data(), sizeof sweep.below[g].cells);
        return accumulate(sums, cuts(g));
    }

    void offer(size_t root) {
        int64_t peak = -1;
        auto floor = [&] {
            std::lock_guard<std::mutex> lock(mutex_);
            return std::max(std::max(ranking_.threshold(), known_), peak + 1);
        };
        for (int missing_right = 0; missing_right <= (missing(root) ? 1 : 0); ++missing_right) {
            RootSweep sweep = started(root, missing_right);
            walk(sweep, floor, [&](int) {
                peak = sweep.left + sweep.right;
                return false;
            });
        }
        std::lock_guard<std::mutex> lock(mutex_);
        if (peak >= 0) ranking_.offer(features_[root], peak);
    }

    // ---- the winners, as trees --------------------

    static GrownTree constant(int64_t total) { return {{{-1, 1, 0}}, total}; }

    // The first tree with this root, by cut and then with missing values left before right, that reaches so far.
    GrownTree rebuilt(int32_t feature, int64_t reach) const {
        size_t root =
            static_cast<size_t>(std::lower_bound(features_.begin(), features_.end(), feature) - features_.begin());
        int first = kCodes;
        GrownTree tree;
        for (int missing_right = 0; missing_right <= (missing(root) ? 1 : 0); ++missing_right) {
            RootSweep sweep = started(root, missing_right);
            walk(
                sweep, [&] { return reach; },
                [&](int cut) {
                    if (cut >= first) return true;
                    first = cut;
                    for (size_t g = 0; g < features_.size(); ++g) look(sweep, g);
                    tree = joined({feature, cut, missing_right}, half_tree(sweep, true), half_tree(sweep, false));
                    return true;
                });
        }
        return tree;
    }

    // The best stump of a side, its first leaf of vote -1; or a constant, -1 on the left and +1 on the right.
    GrownTree half_tree(const RootSweep &sweep, bool left) const {
        int64_t total = left ? sweep.total : weights_->total() - sweep.total;
        int64_t reach = (left ? sweep.left : sweep.right) - kTie;
        int vote = left ? -1 : 1;
        if (magnitude(total) >= reach) return {{{-1, vote, 0}}, vote * total};
        size_t g = 0;
        while ((left ? sweep.below[g].left : sweep.below[g].right) < reach) ++g;
        int64_t sums[kCodes], rest[kCodes];
        sums_of(sweep, g, sums);
        subtract_sums(&sums_[g * kCodes], sums, cuts(g), rest);
        Spot spot = first_reaching(left ? sums : rest, cuts(g), missing(g), total, reach);
        return {{{features_[g], spot.cut, spot.missing_right}, {-1, -1, 0}, {-1, 1, 0}}, spot.edge};
    }

    // With the right half as it is, unless turned round it is better.
    static GrownTree joined(const TreeNode &root, const GrownTree &left, const GrownTree &right) {
        int64_t plain = left.edge + right.edge, turned = left.edge - right.edge;
        bool turn = magnitude(turned) > magnitude(plain) + kTie;
        if (turn && left.nodes.size() == 1 && right.nodes.size() == 1) return constant(-turned);
        GrownTree tree{{root}, turn ? turned : plain};
        tree.nodes.insert(tree.nodes.end(), left.nodes.begin(), left.nodes.end());
        for (TreeNode node : right.nodes) {
            if (node.leaf() && turn) node.cut = -node.cut;
            tree.nodes.push_back(node);
        }
        return tree;
    }
};

}  // namespace dualboost
