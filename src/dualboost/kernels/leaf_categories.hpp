// The categories of one feature in one node, in the order in which the best subsets are the first ones.
//
// The criterion of a split, g^2 / (h + ridge) of the left side and of the right one, is convex in the sums (g, h) of
// the left side, whatever the ridge. So over the convex hull of the sums of all subsets it is largest at a corner, and
// a corner is a subset { c : a g_c + b h_c > 0 }: the first or the last categories in the order of g_c / h_c. A least h
// of both sides cuts corners off. The best subset is then the first ones again where these are heavy enough without it;
// elsewhere finding it is a knapsack problem, and the first ones that are heavy enough are taken.
#pragma once

#include "category_sort.hpp"
#include "code_mask.hpp"
#include "leaf_sums.hpp"

namespace dualboost {

// What no split of these categories exceeds: each on a side of its own.
inline double most_gain(const LeafSums *bins, int codes) {
    double sum = 0;
    for (int code = 0; code < codes; ++code) {
        auto g = static_cast<double>(bins[code].g), h = static_cast<double>(bins[code].h);
        sum += g * g / (h + (bins[code].h == 0));  // those without a row add nothing
    }
    return sum;
}

class LeafCategories {
public:
    // The sums of all codes, missing last; those without a row in this node have no place in the order. Ratios are
    // rounded: what differs in the last digits only is a tie, and ties go by number.
    void take(const LeafSums *bins, int codes) {
        int count = 0;
        for (int code = 0; code < codes; ++code) {  // without a branch: who is here is hard to foresee
            auto g = static_cast<double>(bins[code].g), h = static_cast<double>(bins[code].h);
            code_[count] = static_cast<uint8_t>(code);
            ratio_[count] = static_cast<float>(g / h);
            count += bins[code].h != 0;
        }
        codes_ = codes;
        count_ = count;
        if (count_ < 2) return;
        double least = *std::min_element(ratio_, ratio_ + count_);
        for (int k = 0; k < count_; ++k) ratio_[k] -= least;
        sort_shares(ratio_, count_, order_);
    }

    int count() const { return count_; }
    int code(int place) const { return code_[order_[place]]; }

    // Whether the lowest code is among the categories up to this place.
    bool lowest_within(int place) const {
        for (int k = 0; k <= place; ++k)
            if (order_[k] == 0) return true;
        return false;
    }

    // The codes on the right where those up to this place are on the left, or the other way round.
    CodeMask right_of(int place, bool turn, bool others_right) const {
        CodeMask mask{};
        for (int code = 0, next = 0; code < codes_; ++code) {
            bool here = next < count_ && code_[next] == code;
            if (here) ++next;
            else put_if(mask, code, others_right);
        }
        for (int k = 0; k < count_; ++k) put_if(mask, code(k), (k > place) != turn);
        return mask;
    }

private:
    uint8_t code_[kCodes], order_[kCodes];
    double ratio_[kCodes];
    int count_ = 0, codes_ = 0;
};

}  // namespace dualboost
