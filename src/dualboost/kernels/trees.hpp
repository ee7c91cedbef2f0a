// The tree search as Python sees it.
#pragma once

#include "tree_pairs.hpp"
#include "tree_polish.hpp"

#include <memory>
#include <mutex>

namespace dualboost {

class TreeSearch {
public:
    TreeSearch(const StumpArrays &arrays, std::vector<uint8_t> categorical);

    // (nodes of all trees, start of each, signed edges, bound)
    nb::tuple greedy(const Vector<const double> &d, std::pair<int, int64_t> most, bool polish, int64_t k, int threads);
    nb::tuple optimal(const Vector<const double> &d, int64_t k, int threads);
    void column(const NodeGrid &nodes, const Vector<int8_t> &out, int threads) const;
    void margins(const NodeGrid &nodes, const Vector<const int64_t> &start, const Vector<const double> &weights,
                 const Vector<double> &out, int threads) const;
    size_t contradictions() const { return contradictions_.size(); }

private:
    StumpLayout stored_;
    TreeLayout layout_;
    Contradictions contradictions_;
    FixedWeights weights_;
    TreeGrower grower_;
    TreePolisher polisher_;
    std::unique_ptr<PairSearch> pairs_;  // made when first asked
    std::mutex mutex_;  // calls from several Python threads share the workspace

    void check_question(const Vector<const double> &d, int64_t k, int threads) const;
    std::vector<int32_t> check_forest(Forest &forest) const;
    double bound(int64_t largest) const;
};

}  // namespace dualboost
