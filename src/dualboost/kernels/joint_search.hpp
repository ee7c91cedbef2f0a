// Stumps, and beside them subsets of categories: the union of both classes, as compiled rounds ask it.
#pragma once

#include "stumps.hpp"
#include "stumps_rows.hpp"
#include "subsets.hpp"

namespace dualboost {

// A stump, or a subset of categories, which is told by a cut of -1.
struct Chosen {
    Stump stump;
    CodeMask mask{};

    bool subset() const { return stump.cut < 0; }
};

struct JointAnswer {
    Chosen chosen;
    double edge, bound;
};

constexpr double kJointTie = 1e-12;  // as in learners/base.py: among equals the stump

// Whether the stump is the answer, and not a subset whose edge is this much larger.
inline bool stump_wins(double stump_edge, double subset_edge) {
    double top = std::max(std::fabs(stump_edge), std::fabs(subset_edge));
    return std::fabs(stump_edge) >= top - kJointTie;
}

struct JointSearch {
    StumpSearch *stumps;
    SubsetSearch *subsets;  // or null

    const StumpLayout &layout() const { return stumps->layout(); }

    void check() const {
        require(!subsets || subsets->layout().rows() == layout().rows(), "Both searches must have the same rows.");
    }

    void load(const double *d, int threads) const {
        stumps->load(d, threads);
        if (subsets) subsets->load(d, threads);
    }
    void load_chunk(const double *d, int64_t chunk) const {
        stumps->load_chunk(d, chunk);
        if (subsets) subsets->load_chunk(d, chunk);
    }
    void loaded() const {
        stumps->loaded();
        if (subsets) subsets->loaded();
    }
    void forget_loaded() const {
        stumps->forget_loaded();
        if (subsets) subsets->forget_loaded();
    }

    JointAnswer best_loaded(int threads) const {
        BestStump stump = stumps->best_loaded(threads);
        if (!subsets) return {{stump.stump}, stump.edge, stump.bound};
        BestSubset subset = subsets->best_loaded(threads);
        double bound = std::max(stump.bound, subset.bound);
        if (stump_wins(stump.edge, subset.edge)) return {{stump.stump}, stump.edge, bound};
        return {{{subset.feature, -1, 0}, subset.mask}, subset.edge, bound};
    }

    void column(const Chosen &chosen, int64_t begin, int64_t end, int8_t *out) const {
        if (chosen.subset())
            subset_column(subsets->layout(), chosen.stump.feature, chosen.mask.data(), begin, end, out);
        else stump_column(layout(), chosen.stump, begin, end, out);
    }
};

// Both searches belong to one run at a time.
class JointLock {
public:
    explicit JointLock(const JointSearch &search) : first_(search.stumps->mutex()) {
        if (search.subsets) second_ = std::unique_lock<std::mutex>(search.subsets->mutex());
    }

private:
    std::unique_lock<std::mutex> first_, second_;
};

}  // namespace dualboost
