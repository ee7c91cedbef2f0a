// The tree of two levels with the largest edge of all, by enumeration.
//
// For each feature at the root its codes move to the left side one after the other, and the histograms of all features on
// the left follow; below the root either side takes its best stump. So the additions are rows x features^2, not rows x
// features x splits. A cut is not looked at where it cannot win: when rows of weight v change sides, the best edge of
// either side changes by v at most.
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
    }

    // The best tree of each of the k best features at the root, best first; trees that turn out to have no split at the
    // root are left out, except as the first.
    std::vector<GrownTree> best(const FixedWeights &weights, size_t k, int threads) {
        weights_ = &weights;
        sum_all();
        ranking_.start(std::min(k, features_.size() + 1));
        ranking_.offer(-1, magnitude(weights.total()));
        parallel(static_cast<int64_t>(features_.size()), threads, [&](int64_t root) { offer(static_cast<size_t>(root)); });
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
    // One side of the root: its sum, its largest |edge|, and for each feature the running sums over its codes.
    struct Half {
        int64_t total = 0, best = 0;
        std::vector<int64_t> sums, peak;
        explicit Half(size_t features) : sums(features * kCodes), peak(features) {}
    };

    // The rows in the order of the root's codes, missing values last, and what lies left of a cut so far.
    struct Sweep {
        size_t root;
        std::vector<int32_t> rows;
        std::vector<int64_t> q, cells;
        std::array<int64_t, kCodes + 1> start{};
        Half left, right;

        Sweep(size_t root, size_t features) : root(root), cells(features * kCodes), left(features), right(features) {}
    };

    struct Cut {
        int cut = kCodes, missing_right = 1;
        bool operator<(const Cut &other) const {
            return cut != other.cut ? cut < other.cut : missing_right < other.missing_right;
        }
    };

    const TreeLayout &layout_;
    std::vector<int32_t> features_;
    std::vector<const uint8_t *> codes_;
    std::vector<uint8_t> filled_;
    const FixedWeights *weights_ = nullptr;
    std::vector<int64_t> sums_;  // of all rows, for each feature running over its codes
    int64_t stump_peak_ = 0;     // the largest |edge| with one level
    Ranking ranking_;
    std::mutex mutex_;  // of the ranking

    int cuts(size_t g) const { return layout_.layout.cuts(static_cast<size_t>(features_[g])); }
    bool missing(size_t g) const { return layout_.layout.missing(static_cast<size_t>(features_[g])); }

    // ---- all rows --------------------

    void sum_all() {
        std::vector<int32_t> rows;
        std::vector<int64_t> q;
        for (int64_t i = 0; i < layout_.layout.rows(); ++i)
            if (weights_->q()[i] != 0) {
                rows.push_back(static_cast<int32_t>(i));
                q.push_back(weights_->q()[i]);
            }
        std::fill(sums_.begin(), sums_.end(), 0);
        add_rows(rows.data(), q.data(), static_cast<int64_t>(rows.size()), sums_.data());
        stump_peak_ = magnitude(weights_->total());
        for (size_t g = 0; g < features_.size(); ++g) {
            int64_t *sums = &sums_[g * kCodes];
            Extent extent = accumulate(sums, cuts(g));
            stump_peak_ = std::max(stump_peak_, peak_edge(sums, extent, cuts(g), missing(g), weights_->total()));
        }
    }

    void add_rows(const int32_t *rows, const int64_t *q, int64_t n, int64_t *cells) const {
        for (int64_t begin = 0; begin < n; begin += kTreeTile)
            add_columns_of(codes_.data(), codes_.size(), rows + begin, q + begin, std::min(kTreeTile, n - begin), cells);
    }

    // ---- one feature at the root --------------------

    Sweep sorted_by(size_t root) const {
        Sweep sweep(root, features_.size());
        const uint8_t *codes = codes_[root];
        const int64_t *q = weights_->q();
        int64_t rows = layout_.layout.rows();
        for (int64_t i = 0; i < rows; ++i) sweep.start[static_cast<size_t>(codes[i]) + 1] += q[i] != 0;
        for (size_t code = 0; code < kCodes; ++code) sweep.start[code + 1] += sweep.start[code];
        sweep.rows.resize(static_cast<size_t>(sweep.start[kCodes]));
        sweep.q.resize(sweep.rows.size());
        std::array<int64_t, kCodes + 1> next = sweep.start;
        for (int64_t i = 0; i < rows; ++i) {
            if (q[i] == 0) continue;
            size_t place = static_cast<size_t>(next[codes[i]]++);
            sweep.rows[place] = static_cast<int32_t>(i);
            sweep.q[place] = q[i];
        }
        return sweep;
    }

    void move_left(Sweep &sweep, int64_t begin, int64_t end) const {
        add_rows(sweep.rows.data() + begin, sweep.q.data() + begin, end - begin, sweep.cells.data());
        for (int64_t i = begin; i < end; ++i) sweep.left.total += sweep.q[static_cast<size_t>(i)];
    }

    static int64_t mass(const Sweep &sweep, int64_t begin, int64_t end) {
        int64_t sum = 0;
        for (int64_t i = begin; i < end; ++i) sum += magnitude(sweep.q[static_cast<size_t>(i)]);
        return sum;
    }

    // Calls visit(cut) with both halves looked at, for every cut in turn that may reach floor(); stops when it says so.
    template <class Floor, class Visit>
    void walk(Sweep &sweep, bool missing_right, const Floor &floor, const Visit &visit) const {
        std::fill(sweep.cells.begin(), sweep.cells.end(), 0);
        sweep.left.total = 0;
        int64_t known = stump_peak_, moved = 0, left_mass = 0, done = 0;  // `known`: the value before `moved` changed sides
        if (!missing_right && missing(sweep.root)) {
            move_left(sweep, sweep.start[kMissing], sweep.start[kCodes]);
            moved = left_mass = mass(sweep, sweep.start[kMissing], sweep.start[kCodes]);
        }
        for (int cut = 0; cut < cuts(sweep.root) + (missing_right ? 1 : 0); ++cut) {
            size_t code = static_cast<size_t>(cut);
            int64_t step = mass(sweep, sweep.start[code], sweep.start[code + 1]);
            moved += step;
            left_mass += step;
            int64_t most = std::min(known + 2 * moved, stump_peak_ + 2 * (weights_->mass() - left_mass));
            if (most < floor()) continue;
            move_left(sweep, done, sweep.start[code + 1]);
            done = sweep.start[code + 1];
            look(sweep);
            known = sweep.left.best + sweep.right.best;
            moved = 0;
            if (visit(cut)) return;
        }
    }

    void look(Sweep &sweep) const {
        Half &left = sweep.left, &right = sweep.right;
        right.total = weights_->total() - left.total;
        left.best = magnitude(left.total);
        right.best = magnitude(right.total);
        left.sums = sweep.cells;
        for (size_t g = 0; g < features_.size(); ++g) {
            int64_t *left_sums = &left.sums[g * kCodes], *right_sums = &right.sums[g * kCodes];
            Extent extent = accumulate(left_sums, cuts(g));
            left.peak[g] = peak_edge(left_sums, extent, cuts(g), missing(g), left.total);
            extent = subtract_sums(&sums_[g * kCodes], left_sums, cuts(g), right_sums);
            right.peak[g] = peak_edge(right_sums, extent, cuts(g), missing(g), right.total);
            left.best = std::max(left.best, left.peak[g]);
            right.best = std::max(right.best, right.peak[g]);
        }
    }

    void offer(size_t root) {
        auto floor = [&] {
            std::lock_guard<std::mutex> lock(mutex_);
            return ranking_.threshold();
        };
        Sweep sweep = sorted_by(root);
        int64_t peak = -1;
        auto visit = [&](int) {
            peak = std::max(peak, sweep.left.best + sweep.right.best);
            return false;
        };
        auto reach = [&] { return std::max(floor(), peak - kTie); };
        walk(sweep, false, reach, visit);
        if (missing(root)) walk(sweep, true, reach, visit);
        std::lock_guard<std::mutex> lock(mutex_);
        if (peak >= 0) ranking_.offer(features_[root], peak);
    }

    // ---- the winners, as trees --------------------

    static GrownTree constant(int64_t total) { return {{{-1, 1, 0}}, total}; }

    GrownTree rebuilt(int32_t feature, int64_t reach) const {
        size_t root = static_cast<size_t>(std::lower_bound(features_.begin(), features_.end(), feature) - features_.begin());
        Sweep sweep = sorted_by(root);
        Cut first;
        GrownTree tree;
        for (bool missing_right : {false, true}) {
            if (missing_right && !missing(root)) continue;
            walk(sweep, missing_right, [&] { return reach; }, [&](int cut) {
                Cut here{cut, missing_right ? 1 : 0};
                if (sweep.left.best + sweep.right.best < reach) return false;
                if (here < first) {
                    first = here;
                    tree = joined({feature, cut, here.missing_right}, half_tree(sweep.left, -1), half_tree(sweep.right, 1));
                }
                return true;
            });
        }
        return tree;
    }

    // The best stump of a half, or its constant, with its first leaf of vote -1 (a constant: as given).
    GrownTree half_tree(const Half &half, int constant_vote) const {
        if (magnitude(half.total) >= half.best - kTie) return {{{-1, constant_vote, 0}}, constant_vote * half.total};
        size_t g = 0;
        while (half.peak[g] < half.best - kTie) ++g;
        Spot spot = first_reaching(&half.sums[g * kCodes], cuts(g), missing(g), half.total, half.best - kTie);
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
