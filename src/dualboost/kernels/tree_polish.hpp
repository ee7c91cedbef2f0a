// Better splits for a grown tree, one at a time, as long as one gains.
//
// With everything below a split left as it is, only rows on which its two parts disagree care where they go. The split
// that sends most of their weight to the part that is right is a best stump: for labels "right" and "left" in the place
// of +1 and -1. Each exchange raises the edge of the tree, so the search ends.
#pragma once

#include "tree_blocks.hpp"
#include "tree_growth.hpp"

namespace dualboost {

class TreePolisher {
public:
    explicit TreePolisher(const TreeLayout &layout) : layout_(layout), histograms_(layout), finder_(layout) {}

    GrownTree polished(GrownTree tree, const FixedWeights &weights, int threads) {
        weights_ = &weights;
        threads_ = threads;
        cells_.resize(histograms_.size());
        if (tree.edge < 0) tree.turn();
        for (int pass = 0; pass < kPasses; ++pass) {
            edge_ = 0;
            Nodes nodes = improved(tree.nodes, Mask(static_cast<size_t>(layout_.layout.rows()), 255));
            bool gained = edge_ > tree.edge + kTie;
            if (edge_ >= tree.edge) tree = {std::move(nodes), edge_};
            if (!gained) break;
        }
        tree.turn_first_leaf();
        return tree;
    }

private:
    using Nodes = std::vector<TreeNode>;
    using Mask = std::vector<uint8_t>;  // 255 or 0 for each row
    static constexpr int kPasses = 10;  // nearly all of the gain comes with the first two or three

    // What to do with a split: exchange it, turn its parts round, or keep one of them alone.
    struct Choice {
        TreeNode split;
        bool turn = false, only_left = false, only_right = false;
    };

    const TreeLayout &layout_;
    TreeHistograms histograms_;
    SplitFinder finder_;
    const FixedWeights *weights_ = nullptr;
    int threads_ = 1;
    int64_t edge_ = 0;  // of the leaves written so far in this pass
    std::vector<int64_t> cells_;
    std::vector<int32_t> rows_, left_rows_;
    std::vector<int64_t> row_weights_, left_weights_;

    Mask votes(Nodes tree) const {
        Mask mask;
        vote_mask(layout_, std::move(tree), threads_, mask);
        return mask;
    }

    Mask right_of(const TreeNode &split) const { return votes({split, {-1, -1, 0}, {-1, 1, 0}}); }

    // The same part of the tree for the rows that reach it, from the top down.
    Nodes improved(const Nodes &part, const Mask &reach) {
        if (part.size() == 1) return {leaf(part.front(), reach)};
        auto middle = part.begin() + (behind(&part[1]) - part.data());
        Nodes left(part.begin() + 1, middle), right(middle, part.end());
        Choice choice = best_split(part.front(), votes(left), votes(right), reach);
        if (choice.only_left) return improved(left, reach);
        if (choice.only_right) return improved(right, reach);
        if (choice.turn) left.swap(right);
        Mask side = right_of(choice.split), other(side.size());
        for (size_t i = 0; i < side.size(); ++i) {
            other[i] = static_cast<uint8_t>(reach[i] & ~side[i]);
            side[i] = static_cast<uint8_t>(reach[i] & side[i]);
        }
        left = improved(left, other);
        right = improved(right, side);
        if (left.size() == 1 && right.size() == 1 && left[0].vote() == right[0].vote()) return left;
        Nodes whole{choice.split};
        whole.insert(whole.end(), left.begin(), left.end());
        whole.insert(whole.end(), right.begin(), right.end());
        return whole;
    }

    TreeNode leaf(const TreeNode &old, const Mask &reach) {
        int64_t sum = 0;
        for (size_t i = 0; i < reach.size(); ++i) sum += reach[i] ? weights_->q()[i] : 0;
        int vote = sum == 0 ? old.vote() : sum > 0 ? 1 : -1;
        edge_ += vote * sum;
        return {-1, vote, 0};
    }

    Choice best_split(const TreeNode &now, const Mask &left, const Mask &right, const Mask &reach) {
        int64_t reached_now = 0;
        NodeRows rows = rows_that_care(right_of(now), left, right, reach, reached_now);
        LabelSums sums;
        for (int64_t i = 0; i < rows.size(); ++i)
            (i < rows.positives ? sums.positive : sums.negative) += rows.weights[i];
        histograms_.fill(rows, cells_.data(), threads_);
        finder_.scan(cells_.data(), sums, false, threads_);
        if (finder_.largest_edge() <= reached_now + kTie) return {now};
        Split split = finder_.by_edge();
        if (!split.exists()) return {now, false, sums.edge() < 0, sums.edge() >= 0};
        bool turn = (sums - split.left).edge() < split.left.edge();
        return {split.node(), turn};
    }

    // Rows that want to go right, then those that want to go left; `reached_now` is their edge with the split `side`.
    NodeRows rows_that_care(const Mask &side, const Mask &left, const Mask &right, const Mask &reach,
                            int64_t &reached_now) {
        size_t all = reach.size();
        for (auto *rows : {&rows_, &left_rows_}) rows->resize(all);
        for (auto *weights : {&row_weights_, &left_weights_}) weights->resize(all);
        size_t positives = 0, negatives = 0;
        for (size_t i = 0; i < all; ++i) {
            int64_t q = weights_->q()[i], weight = magnitude(q);
            bool cares = (reach[i] & (left[i] ^ right[i])) != 0 && weight != 0;
            bool wants_right = (q > 0) == (right[i] != 0);
            rows_[positives] = left_rows_[negatives] = static_cast<int32_t>(i);
            row_weights_[positives] = left_weights_[negatives] = weight;
            positives += cares && wants_right;
            negatives += cares && !wants_right;
            if (cares) reached_now += wants_right == (side[i] != 0) ? weight : -weight;
        }
        std::copy_n(left_rows_.begin(), negatives, rows_.begin() + static_cast<int64_t>(positives));
        std::copy_n(left_weights_.begin(), negatives, row_weights_.begin() + static_cast<int64_t>(positives));
        return {rows_.data(), row_weights_.data(), static_cast<int64_t>(positives), static_cast<int64_t>(negatives)};
    }
};

}  // namespace dualboost
