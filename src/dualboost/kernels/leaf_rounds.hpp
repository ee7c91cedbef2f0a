// Leveraging over real-valued trees without a return to Python: the steps of Leveraging("difference").
#pragma once

#include "leaf_trees.hpp"

namespace dualboost {

struct LeafProblem {
    const int8_t *y;
    const double *prior;  // 0 for rows that do not take part
    double *z;
    double mu, shrink, fixed;  // `fixed` is the size of one in fixed point
    bool newton;  // whether to try Newton's step first; without it all steps are the sure ones
};

class LeafRounds {
public:
    LeafRounds(const LeafTable &table, LeafGrowth &growth, const LeafProblem &problem)
        : table_(table), growth_(growth), at_(problem), d_(static_cast<size_t>(table.rows)), bend_(d_), column_(d_) {
        weigh();
    }

    // One round; false when the tree has no edge left.
    bool play(std::vector<int64_t> &g, const std::vector<int64_t> &h, const LeafLimits &limits) {
        for (size_t i = 0; i < d_.size(); ++i) g[i] = std::llrint(at_.y[i] * d_[i] * at_.fixed);
        tree_ = growth_.grow(g.data(), h.data(), limits);
        normalise();
        read(h);
        return step();
    }

    const std::vector<LeafNode> &tree() const { return tree_; }
    double amount() const { return amount_; }
    double loss() const { return loss_; }

private:
    const LeafTable &table_;
    LeafGrowth &growth_;
    LeafProblem at_;
    std::vector<double> d_, bend_, column_, start_;  // bend: the curvature of the logistic loss, times the prior
    std::vector<LeafNode> tree_;
    double amount_ = 0, loss_ = 0;

    // What the tree says about each row. Those it was grown on lie in its leaves already; the others walk.
    void read(const std::vector<int64_t> &h) {
        growth_.each_row([&](int32_t i, int32_t node) {
            column_[static_cast<size_t>(i)] = at_.y[i] * tree_[static_cast<size_t>(node)].value;
        });
        for (int64_t i = 0; i < table_.rows; ++i)
            if (h[static_cast<size_t>(i)] == 0)
                column_[static_cast<size_t>(i)] = at_.y[i] * leaf_value(table_, tree_.data(), table_.row(i));
    }

    // Row weights, curvature and loss at the margins. A row's loss is the logarithm of a number between 1 and e^mu:
    // rows of one weight share a logarithm, of the product of their numbers.
    void weigh() {
        double r = std::exp(-at_.mu), product = 1, share = 0;
        loss_ = 0;
        for (size_t i = 0; i < d_.size(); ++i) {
            double p = at_.prior[i];
            if (!(p > 0)) continue;
            double e = fast_exp(std::min(-at_.z[i], 300.0));  // beyond, the loss is flat to the last bit
            double both = 1 / ((1 + e) * (1 + e * r)), one = (1 + e * r) * both, number = (1 + e) * (1 + e) * both;
            d_[i] = p * (1 - r) * e * both;
            bend_[i] = p * e * one * one;
            if (p != share || product > 1e100) {
                loss_ += share * std::log(product);
                product = 1;
                share = p;
            }
            product *= number;
        }
        loss_ += share * std::log(product);
    }

    void normalise() {
        double largest = 0;
        for (const LeafNode &node : tree_) largest = std::max(largest, std::abs(node.value));
        if (largest > 0)
            for (LeafNode &node : tree_) node.value /= largest;
    }

    // The sure step 4 W / sum of p M^2; or Newton's, if wanted and where the loss then falls by at least what the sure
    // one promises.
    bool step() {
        double edge = 0, squares = 0, bend = 0, before = loss_;
        for (size_t i = 0; i < d_.size(); ++i) {
            double c = column_[i];
            edge += d_[i] * c;
            squares += at_.prior[i] * c * c;
            bend += bend_[i] * c * c;
        }
        if (!(edge > 1e-9) || !(squares > 0)) return false;
        double sure = 4 * edge / squares, promise = sure * edge * (at_.shrink - at_.shrink * at_.shrink / 2);
        double longer = at_.newton && bend > 0 ? at_.shrink * edge / bend : 0.0;
        sure *= at_.shrink;
        if (longer > sure && std::isfinite(longer)) {
            start_.assign(at_.z, at_.z + table_.rows);
            move(longer);
            if (loss_ <= before - promise) return true;
            std::copy(start_.begin(), start_.end(), at_.z);
        }
        move(sure);
        return true;
    }

    void move(double amount) {
        amount_ = amount;
        for (size_t i = 0; i < d_.size(); ++i) at_.z[i] += amount * column_[i];
        weigh();
    }
};

}  // namespace dualboost
