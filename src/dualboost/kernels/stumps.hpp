// The stump search as other kernels and Python see it; the engine behind it is compiled in stumps.cpp only.
#pragma once

#include "stumps_layout.hpp"

#include <memory>
#include <mutex>
#include <optional>

namespace dualboost {

class StumpBlocks;
class StumpEngine;
class NewVectors;

struct BestStump {
    Stump stump;
    double edge;  // signed
    double bound;  // no stump has a larger |edge|
};

// What a run keeps with the search for the next call; dropped by `forget`.
class Remembered {
public:
    virtual ~Remembered() = default;
};

class StumpSearch {
public:
    explicit StumpSearch(const StumpArrays &arrays);
    ~StumpSearch();

    // ---- For Python ----
    nb::tuple best(const Vector<const double> &d, int64_t k, int threads);
    void column(int32_t feature, int32_t cut, int missing_right, const Vector<int8_t> &out, int threads) const;
    void margins(const Vector<const int32_t> &features, const Vector<const int32_t> &cuts,
                 const Vector<const uint8_t> &missing_right, const Vector<const double> &weights,
                 const Vector<double> &out, int threads) const;
    void forget();
    int64_t looked() const;
    int64_t summed() const;
    size_t blocks() const;

    // ---- For kernels that hold the lock and not the interpreter ----
    std::mutex &mutex() { return mutex_; }
    const StumpLayout &layout() const;
    const StumpBlocks &columns() const;
    std::unique_ptr<Remembered> &remembered() { return remembered_; }
    // Row weights come in all at once, or chunk by chunk, each exactly once and in any order, and then `loaded`. What
    // is remembered of earlier weights is wrong in between: whoever gives up there must call `forget_loaded`.
    void load(const double *d, int threads);
    void load_chunk(const double *d, int64_t chunk);
    void loaded();
    void forget_loaded();
    // The best stump, where there is one whose |edge| reaches `least`.
    std::optional<BestStump> best_loaded(int threads, double least = 0.0);

private:
    std::unique_ptr<StumpEngine> engine_;
    std::unique_ptr<NewVectors> make_;
    std::unique_ptr<Remembered> remembered_;  // may refer to the engine: dropped before it
    std::mutex mutex_;  // calls from several Python threads share the caches
    std::vector<int32_t> features_, cuts_;  // the answer by columns; kept to save allocations
    std::vector<uint8_t> missing_right_;
    std::vector<double> edges_;

    int64_t rows() const { return layout().rows(); }
    void check_out(size_t size, int threads) const;
    template <class Work> void over_rows(size_t passes, int threads, const Work &work) const;
    nb::tuple answer();
    double bound() const;
};

}  // namespace dualboost
