// The search for subsets of categories as other kernels and Python see it; its engine is compiled in subsets.cpp only.
#pragma once

#include "code_mask.hpp"
#include "stumps_rows.hpp"

#include <memory>
#include <mutex>

namespace dualboost {

class StumpBlocks;
class SubsetEngine;

struct BestSubset {
    int32_t feature;  // -1 is the constant +1
    CodeMask mask;
    double edge;  // signed
    double bound;  // no subset has a larger |edge|
};

// out_i = y_i h(x_i) for rows in [begin, end).
inline void subset_column(const StumpLayout &layout, int32_t feature, const uint8_t *mask, int64_t begin, int64_t end,
                          int8_t *out) {
    const int8_t *y = layout.y();
    if (feature < 0) {
        std::memcpy(out + begin, y + begin, static_cast<size_t>(end - begin));
        return;
    }
    int8_t vote[kCodes];
    for (int code = 0; code < kCodes; ++code) vote[code] = holds(mask, code) ? 1 : -1;
    size_t f = static_cast<size_t>(feature);
    if (layout.home(f) == Home::dense) {
        const uint8_t *codes = layout.dense(f);
        for (int64_t i = begin; i < end; ++i) out[i] = static_cast<int8_t>(vote[codes[i]] * y[i]);
        return;
    }
    const SparseColumn &column = layout.sparse(f);
    for (int64_t i = begin; i < end; ++i) out[i] = static_cast<int8_t>(vote[column.fallback] * y[i]);
    Span span = rows_between(column, begin, end);
    for (int64_t k = span.first; k < span.last; ++k)
        out[column.rows[k]] = static_cast<int8_t>(vote[column.codes[k]] * y[column.rows[k]]);
}

class SubsetSearch {
public:
    explicit SubsetSearch(const StumpArrays &arrays);
    ~SubsetSearch();

    // ---- For Python ----
    nb::tuple best(const Vector<const double> &d, int64_t k, int threads);
    nb::tuple sums(const Vector<const double> &d, const Grid<double> &out, int threads);
    void column(int32_t feature, const Vector<const uint8_t> &mask, const Vector<int8_t> &out, int threads) const;
    void margins(double base, const Vector<const int32_t> &features, const Grid<const double> &tables,
                 const Vector<double> &out, int threads) const;
    void forget();
    int64_t looked() const;

    // ---- For kernels that hold the lock and not the interpreter; as in StumpSearch ----
    std::mutex &mutex() { return mutex_; }
    const StumpLayout &layout() const;
    const StumpBlocks &columns() const;
    // For whoever keeps the columns longer than a call.
    std::shared_ptr<const SubsetEngine> engine() const { return engine_; }
    void load(const double *d, int threads);
    void load_chunk(const double *d, int64_t chunk);
    void loaded();
    void forget_loaded();
    BestSubset best_loaded(int threads);

private:
    std::shared_ptr<SubsetEngine> engine_;
    std::mutex mutex_;  // calls from several Python threads share the workspace

    int64_t rows() const { return layout().rows(); }
    double bound(int64_t largest) const;
    void check_feature(int32_t feature) const;
    template <class Work> void over_rows(int threads, const Work &work) const;
};

}  // namespace dualboost
