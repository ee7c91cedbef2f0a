// The binned data of a stump search: views of the caller's arrays, checked once, so that no later loop needs a check.
#pragma once

#include "common.hpp"

namespace dualboost {

constexpr int kMissing = 255;  // the code of a missing value
constexpr int kCodes = 256;
constexpr int kMaxCuts = 254;  // codes 0..cut_count, and 255 is taken

struct StumpArrays {
    int64_t n_rows;
    Vector<const int8_t> y;
    Vector<const int32_t> cut_counts;
    Vector<const uint8_t> has_missing;
    Grid<const uint8_t> dense_codes;
    Vector<const int32_t> dense_features;
    Vector<const int64_t> sparse_start;
    Vector<const int32_t> sparse_rows;
    Vector<const uint8_t> sparse_codes;
    Vector<const int32_t> sparse_features;
    Vector<const uint8_t> sparse_default;
};

// One hypothesis: +1 where code > cut; a missing value goes right (+1) or left (-1). Feature -1 is the constant +1.
struct Stump {
    int32_t feature, cut;
    uint8_t missing_right;
};

// Rows of one sparse feature; a row that is not listed has the code `fallback`.
struct SparseColumn {
    const int32_t *rows;
    const uint8_t *codes;
    int64_t count;
    uint8_t fallback;
    bool uniform;  // all listed codes are equal: a plain sum instead of a histogram
};

enum class Home : uint8_t { nowhere, dense, sparse };

class StumpLayout {
public:
    explicit StumpLayout(const StumpArrays &arrays) : arrays_(arrays) {
        check_shapes();
        home_.assign(features(), Home::nowhere);
        slot_.assign(features(), -1);
        settle_dense();
        settle_sparse();
        check_homeless();
    }

    int64_t rows() const { return arrays_.n_rows; }
    size_t features() const { return arrays_.cut_counts.shape(0); }
    const int8_t *y() const { return arrays_.y.data(); }
    int cuts(size_t feature) const { return arrays_.cut_counts.data()[feature]; }
    bool missing(size_t feature) const { return arrays_.has_missing.data()[feature] != 0; }
    Home home(size_t feature) const { return home_[feature]; }
    bool has_stumps(size_t feature) const { return cuts(feature) > 0 || missing(feature); }
    size_t dense_count() const { return arrays_.dense_features.shape(0); }
    size_t dense_feature(size_t slot) const { return static_cast<size_t>(arrays_.dense_features.data()[slot]); }
    const uint8_t *dense(size_t feature) const { return dense_row(static_cast<size_t>(slot_[feature])); }
    const SparseColumn &sparse(size_t feature) const { return sparse_[static_cast<size_t>(slot_[feature])]; }
    // The share of the commonest code of a dense feature: a histogram whose adds hit one cell waits for itself.
    double crowding(size_t feature) const { return crowding_[static_cast<size_t>(slot_[feature])]; }

    void check(const Stump &stump) const {
        if (stump.feature == -1) {
            require(stump.cut == 0 && stump.missing_right == 0, "the constant hypothesis is (-1, 0, 0)");
            return;
        }
        require(stump.feature >= 0 && static_cast<size_t>(stump.feature) < features(),
                "a feature index is outside -1..n_features-1");
        size_t feature = static_cast<size_t>(stump.feature);
        require(stump.missing_right <= 1, "missing_right must be 0 or 1");
        require(!stump.missing_right || missing(feature), "missing_right = 1 needs a feature with missing values");
        require(stump.cut >= 0 && stump.cut < cuts(feature) + (stump.missing_right ? 1 : 0),
                "a cut is outside the cuts of its feature");
    }

private:
    StumpArrays arrays_;
    std::vector<Home> home_;
    std::vector<int32_t> slot_;  // row of dense_codes, or index of a sparse column
    std::vector<SparseColumn> sparse_;
    std::vector<double> crowding_;

    const uint8_t *dense_row(size_t slot) const {
        return arrays_.dense_codes.data() + slot * static_cast<size_t>(rows());
    }

    void check_shapes() const {
        require(rows() >= 1 && rows() < (int64_t{1} << 31), "n_rows must be between 1 and 2^31 - 1");
        require(static_cast<int64_t>(arrays_.y.shape(0)) == rows(), "y must have n_rows entries");
        for (int64_t i = 0; i < rows(); ++i) require(y()[i] == 1 || y()[i] == -1, "y must be +1 or -1");
        require(features() < (size_t{1} << 31), "too many features");
        require(arrays_.has_missing.shape(0) == features(), "has_missing must have one entry for each feature");
        for (size_t f = 0; f < features(); ++f) {
            require(cuts(f) >= 0 && cuts(f) <= kMaxCuts, "cut_counts must be between 0 and 254");
            require(arrays_.has_missing.data()[f] <= 1, "has_missing must be 0 or 1");
        }
        size_t n_dense = arrays_.dense_features.shape(0), n_sparse = arrays_.sparse_features.shape(0);
        require(arrays_.dense_codes.shape(0) == n_dense, "dense_codes must have one row for each of dense_features");
        require(n_dense == 0 || static_cast<int64_t>(arrays_.dense_codes.shape(1)) == rows(),
                "dense_codes must have n_rows columns");
        require(arrays_.sparse_start.shape(0) == n_sparse + 1, "sparse_start must have n_sparse + 1 entries");
        require(arrays_.sparse_default.shape(0) == n_sparse, "sparse_default must have n_sparse entries");
        require(arrays_.sparse_rows.shape(0) == arrays_.sparse_codes.shape(0),
                "sparse_rows and sparse_codes must have equal lengths");
        const int64_t *start = arrays_.sparse_start.data();
        require(start[0] == 0 && start[n_sparse] == static_cast<int64_t>(arrays_.sparse_rows.shape(0)),
                "sparse_start must run from 0 to the length of sparse_rows");
        for (size_t j = 0; j < n_sparse; ++j) require(start[j] <= start[j + 1], "sparse_start must not decrease");
    }

    void settle(int32_t feature, Home home, size_t slot) {
        require(feature >= 0 && static_cast<size_t>(feature) < features(), "a stored feature index is out of range");
        size_t f = static_cast<size_t>(feature);
        require(home_[f] == Home::nowhere, "a feature is stored twice");
        home_[f] = home;
        slot_[f] = static_cast<int32_t>(slot);
    }

    bool code_is_fine(int32_t feature, int code) const {
        size_t f = static_cast<size_t>(feature);
        return code <= cuts(f) || (code == kMissing && missing(f));
    }

    void settle_dense() {
        size_t n_dense = arrays_.dense_features.shape(0);
        crowding_.resize(n_dense);
        for (size_t j = 0; j < n_dense; ++j) {
            int32_t feature = arrays_.dense_features.data()[j];
            settle(feature, Home::dense, j);
            int64_t counts[kCodes], commonest = 0;
            count_codes(dense_row(j), counts);
            for (int code = 0; code < kCodes; ++code) {
                require(counts[code] == 0 || code_is_fine(feature, code),
                        "a dense code is above its feature's cut count, or missing where has_missing is 0");
                commonest = std::max(commonest, counts[code]);
            }
            crowding_[j] = static_cast<double>(commonest) / static_cast<double>(rows());
        }
    }

    // Four tables in turn: neighbouring rows often share a code, and an add must not wait for the one before it.
    void count_codes(const uint8_t *codes, int64_t *counts) const {
        uint32_t parts[4][kCodes] = {};
        int64_t i = 0;
        for (; i + 4 <= rows(); i += 4)
            for (int k = 0; k < 4; ++k) ++parts[k][codes[i + k]];
        for (; i < rows(); ++i) ++parts[0][codes[i]];
        for (int code = 0; code < kCodes; ++code)
            counts[code] = int64_t{parts[0][code]} + parts[1][code] + parts[2][code] + parts[3][code];
    }

    void settle_sparse() {
        size_t n_sparse = arrays_.sparse_features.shape(0);
        sparse_.reserve(n_sparse);
        for (size_t j = 0; j < n_sparse; ++j) {
            int32_t feature = arrays_.sparse_features.data()[j];
            settle(feature, Home::sparse, j);
            int64_t begin = arrays_.sparse_start.data()[j], count = arrays_.sparse_start.data()[j + 1] - begin;
            SparseColumn column{arrays_.sparse_rows.data() + begin, arrays_.sparse_codes.data() + begin, count,
                                arrays_.sparse_default.data()[j], true};
            require(code_is_fine(feature, column.fallback), "a sparse default is not a code of its feature");
            int64_t previous = -1;
            for (int64_t k = 0; k < count; ++k) {
                require(column.rows[k] > previous && column.rows[k] < rows(),
                        "sparse_rows must ascend inside each feature and lie between 0 and n_rows - 1");
                require(code_is_fine(feature, column.codes[k]),
                        "a sparse code is above its feature's cut count, or missing where has_missing is 0");
                previous = column.rows[k];
                column.uniform &= column.codes[k] == column.codes[0];
            }
            sparse_.push_back(column);
        }
    }

    void check_homeless() const {
        for (size_t f = 0; f < features(); ++f)
            require(home_[f] != Home::nowhere || !has_stumps(f),
                    "a feature with cuts or missing values must be stored dense or sparse");
    }
};

}  // namespace dualboost
