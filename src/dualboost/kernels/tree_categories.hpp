// The categories of one feature in one node, in the order in which the best subsets are the first ones.
#pragma once

#include "category_sort.hpp"
#include "tree_cuts.hpp"
#include "tree_nodes.hpp"

namespace dualboost {

struct Split {
    Stump stump{-1, 0, 0};
    LabelSums left{};
    double gain = 0.0;  // by the criterion, or of the edge
    CodeMask mask{};  // of categories, where the cut is -1

    bool exists() const { return stump.feature >= 0; }
    TreeNode node() const { return {stump.feature, stump.cut, stump.missing_right, mask}; }
};

// The share of label +1 in each category; one without weight in this node has the share of the whole node.
DUALBOOST_CLONES static void shares_of(const int64_t *positive, const int64_t *negative, int count, LabelSums whole,
                                       double *shares) {
    int64_t all = whole.mass() > 0 ? whole.mass() : 1;
    for (int k = 0; k < count; ++k) {
        int64_t mass = positive[k] + negative[k];
        int64_t part = mass > 0 ? positive[k] : whole.positive;
        shares[k] = as_double(part) / as_double(mass > 0 ? mass : all);
    }
}

// Categories in the order of their share of label +1: of all subsets, the best by a concave criterion are the first
// ones in this order (Breiman, Friedman, Olshen and Stone, 1984), and so are the best by the edge.
class CategoryOrder {
public:
    // The sums by code; the codes follow each other without gaps, missing last.
    void take(const int64_t *positive, const int64_t *negative, const FeatureSums &sums) {
        count_ = sums.cuts + 1;
        missing_ = sums.missing;
        std::copy_n(positive, count_, positive_);
        std::copy_n(negative, count_, negative_);
        if (!missing_) return;
        positive_[count_] = sums.absent.positive;
        negative_[count_] = sums.absent.negative;
        ++count_;
    }

    // Turns what was taken into running sums in the order.
    void sort(FeatureSums &sums) {
        shares_of(positive_, negative_, count_, sums.whole, shares_);
        sort_shares(shares_, count_, order_);
        LabelSums left;
        for (int k = 0; k < count_; ++k) {
            sums.positive[k] = left.positive += positive_[order_[k]];
            sums.negative[k] = left.negative += negative_[order_[k]];
        }
        sums.cuts = count_ - 1;
        sums.missing = false;
        sums.absent = {};
    }

    // The largest edge of all subsets, exactly: the shares are rounded, the signs of the sums are not.
    int64_t largest_edge() const { return sum_of_edges(positive_, negative_, count_); }

    // The split after place `cut` of the order; code 0 goes left, so that a split has one name.
    Split split(int32_t feature, int cut, const LabelSums &left, const LabelSums &whole) const {
        bool turn = true;
        for (int k = 0; k <= cut; ++k) turn &= order_[k] != 0;
        Split split{{feature, -1, 0}, turn ? whole - left : left};
        for (int k = 0; k < count_; ++k)
            if ((k > cut) != turn) put(split.mask, code(order_[k]));
        return split;
    }

    // The first split in the order whose edge ties with the largest, without the order: it ends with the last category
    // in which label -1 is heavier. Only where each of those is needed, and the caller knows that the constant does not
    // tie. Their shares are then below 1/2 after rounding, too, and the shares of the others are not.
    bool split_by_signs(int32_t feature, const LabelSums &whole, Split &split) {
        shares_of(positive_, negative_, count_, whole, shares_);
        int64_t closest = std::numeric_limits<int64_t>::min();
        double highest = -1.0;
        for (int k = 0; k < count_; ++k) {
            int64_t edge = positive_[k] - negative_[k];
            closest = std::max(closest, edge < 0 ? edge : closest);
            highest = std::max(highest, edge < 0 ? shares_[k] : highest);
        }
        if (closest >= -kTie || highest < 0.0) return false;
        int last = count_ - 1;
        while (shares_[last] != highest || positive_[last] >= negative_[last]) --last;
        auto goes_left = [&](int k) { return (shares_[k] < highest) | ((shares_[k] == highest) & (k <= last)); };
        bool turn = !goes_left(0);
        LabelSums left;
        split = {{feature, -1, 0}};
        for (int k = 0; k < count_; ++k) {
            int64_t inside = goes_left(k);
            left.positive += -inside & positive_[k];
            left.negative += -inside & negative_[k];
            put_if(split.mask, code(k), (inside != 0) == turn);
        }
        split.left = turn ? whole - left : left;
        return true;
    }

private:
    int64_t positive_[kCodes], negative_[kCodes];
    double shares_[kCodes];
    uint8_t order_[kCodes];
    int count_ = 0;
    bool missing_ = false;

    int code(int entry) const { return missing_ && entry == count_ - 1 ? kMissing : entry; }
};

}  // namespace dualboost
