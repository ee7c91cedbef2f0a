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

    // Subsets first: one sum settles a column of them, and what they reach spares stumps many.
    JointAnswer best_loaded(int threads) const {
        if (!subsets) return answer_of(*stumps->best_loaded(threads));
        BestSubset subset = subsets->best_loaded(threads);
        // Below this no stump wins or ties, nor decides a tie between those that do.
        double least = std::max(std::fabs(subset.edge) - 4 * kJointTie, 0.0);
        std::optional<BestStump> stump = stumps->best_loaded(threads, least);
        if (!stump) return answer_of(subset);
        JointAnswer answer = stump_wins(stump->edge, subset.edge) ? answer_of(*stump) : answer_of(subset);
        answer.bound = std::max(stump->bound, subset.bound);
        return answer;
    }

    void column(const Chosen &chosen, int64_t begin, int64_t end, int8_t *out) const {
        if (chosen.subset())
            subset_column(subsets->layout(), chosen.stump.feature, chosen.mask.data(), begin, end, out);
        else stump_column(layout(), chosen.stump, begin, end, out);
    }

private:
    static JointAnswer answer_of(const BestStump &best) { return {{best.stump}, best.edge, best.bound}; }
    static JointAnswer answer_of(const BestSubset &best) {
        return {{{best.feature, -1, 0}, best.mask}, best.edge, best.bound};
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
