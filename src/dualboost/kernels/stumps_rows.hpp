// What stumps say about each row: one column of the margin matrix, and the margins of an ensemble.
#pragma once

#include "stumps_layout.hpp"

namespace dualboost {

DUALBOOST_CLONES inline void dense_column(const uint8_t *codes, const int8_t *y, int64_t n, uint8_t cut,
                                          uint8_t missing_right, int8_t *out) {
    // A missing value (255) is above every cut; one that goes left is told apart by a second bound.
    uint8_t last = missing_right ? 255 : 254;
    for (int64_t i = 0; i < n; ++i) {
        int8_t right = static_cast<int8_t>((codes[i] > cut) & (codes[i] <= last));
        out[i] = static_cast<int8_t>(right ? y[i] : -y[i]);
    }
}

inline bool goes_right(const Stump &stump, int code) {
    return code == kMissing ? stump.missing_right != 0 : code > stump.cut;
}

// Entries of a sparse column whose rows lie in [begin, end).
struct Span {
    int64_t first, last;
};

inline Span rows_between(const SparseColumn &column, int64_t begin, int64_t end) {
    const int32_t *rows = column.rows, *stop = rows + column.count;
    const int32_t *first = std::lower_bound(rows, stop, begin, [](int32_t row, int64_t bound) { return row < bound; });
    const int32_t *last = std::lower_bound(first, stop, end, [](int32_t row, int64_t bound) { return row < bound; });
    return {first - rows, last - rows};
}

inline void stump_column(const StumpLayout &layout, const Stump &stump, int64_t begin, int64_t end, int8_t *out) {
    const int8_t *y = layout.y();
    if (stump.feature < 0) {
        std::memcpy(out + begin, y + begin, static_cast<size_t>(end - begin));
        return;
    }
    size_t f = static_cast<size_t>(stump.feature);
    if (layout.home(f) == Home::dense) {
        uint8_t cut = static_cast<uint8_t>(stump.cut);
        dense_column(layout.dense(f) + begin, y + begin, end - begin, cut, stump.missing_right, out + begin);
        return;
    }
    const SparseColumn &column = layout.sparse(f);
    int usual = goes_right(stump, column.fallback) ? 1 : -1;
    for (int64_t i = begin; i < end; ++i) out[i] = static_cast<int8_t>(usual * y[i]);
    Span span = rows_between(column, begin, end);
    for (int64_t k = span.first; k < span.last; ++k) {
        int32_t row = column.rows[k];
        out[row] = goes_right(stump, column.codes[k]) ? y[row] : static_cast<int8_t>(-y[row]);
    }
}

// An ensemble of stumps as one table a feature: score of each code, summed in the order in which the stumps were given.
class StumpTables {
public:
    StumpTables(const StumpLayout &layout, const std::vector<Stump> &stumps, const double *weights) : layout_(layout) {
        std::vector<size_t> by_feature(stumps.size());
        for (size_t j = 0; j < stumps.size(); ++j) by_feature[j] = j;
        std::stable_sort(by_feature.begin(), by_feature.end(),
                         [&](size_t a, size_t b) { return stumps[a].feature < stumps[b].feature; });
        for (size_t j : by_feature) {
            if (stumps[j].feature < 0) {
                base_ += weights[j];
                continue;
            }
            if (features_.empty() || features_.back() != stumps[j].feature) {
                features_.push_back(stumps[j].feature);
                tables_.resize(tables_.size() + kCodes, 0.0);
            }
            double *table = &tables_[tables_.size() - kCodes];
            for (int code = 0; code < kCodes; ++code)
                table[code] += goes_right(stumps[j], code) ? weights[j] : -weights[j];
        }
        fold_defaults();
    }

    // Tables of kCodes scores each, ready made.
    StumpTables(const StumpLayout &layout, double base, std::vector<int32_t> features, std::vector<double> tables)
        : layout_(layout), base_(base), features_(std::move(features)), tables_(std::move(tables)) {
        fold_defaults();
    }

    size_t size() const { return features_.size(); }

    // out_i = y_i * (base + sum over features, ascending), for rows in [begin, end).
    void margins(int64_t begin, int64_t end, double *out) const {
        std::fill(out + begin, out + end, base_);
        for (size_t j = 0; j < features_.size();) {
            size_t run = dense_run(j);
            if (run == 0) add_sparse(j, begin, end, out);
            if (run == 1) add_dense(j, begin, end, out);
            if (run == 4) add_four_dense(j, begin, end, out);
            j += std::max<size_t>(run, 1);
        }
        const int8_t *y = layout_.y();
        for (int64_t i = begin; i < end; ++i) out[i] *= y[i];
    }

private:
    const StumpLayout &layout_;
    double base_ = 0.0;
    std::vector<int32_t> features_;
    std::vector<double> tables_;

    // 4 if features j..j+3 are dense, else 1 if j is, else 0.
    size_t dense_run(size_t j) const {
        size_t run = 0;
        while (run < 4 && j + run < features_.size() && is_dense(j + run)) ++run;
        return run == 4 ? 4 : std::min<size_t>(run, 1);
    }

    bool is_dense(size_t j) const { return layout_.home(static_cast<size_t>(features_[j])) == Home::dense; }

    const uint8_t *codes(size_t j) const { return layout_.dense(static_cast<size_t>(features_[j])); }

    void add_dense(size_t j, int64_t begin, int64_t end, double *out) const {
        const double *table = &tables_[j * kCodes];
        const uint8_t *code = codes(j);
        for (int64_t i = begin; i < end; ++i) out[i] += table[code[i]];
    }

    // The same sums in the same order as one feature after the other, with one visit to `out`.
    void add_four_dense(size_t j, int64_t begin, int64_t end, double *out) const {
        const double *tables = &tables_[j * kCodes];
        const uint8_t *a = codes(j), *b = codes(j + 1), *c = codes(j + 2), *d = codes(j + 3);
        for (int64_t i = begin; i < end; ++i) {
            double sum = out[i] + tables[a[i]];
            sum += tables[kCodes + b[i]];
            sum += tables[2 * kCodes + c[i]];
            out[i] = sum + tables[3 * kCodes + d[i]];
        }
    }

    void add_sparse(size_t j, int64_t begin, int64_t end, double *out) const {
        const double *table = &tables_[j * kCodes];
        const SparseColumn &column = layout_.sparse(static_cast<size_t>(features_[j]));
        Span span = rows_between(column, begin, end);
        for (int64_t k = span.first; k < span.last; ++k) out[column.rows[k]] += table[column.codes[k]];
    }

    // The default code of a sparse feature goes into the base, so that only listed rows are visited.
    void fold_defaults() {
        for (size_t j = 0; j < features_.size(); ++j) {
            size_t f = static_cast<size_t>(features_[j]);
            if (layout_.home(f) != Home::sparse) continue;
            double usual = tables_[j * kCodes + layout_.sparse(f).fallback];
            base_ += usual;
            for (int code = 0; code < kCodes; ++code) tables_[j * kCodes + static_cast<size_t>(code)] -= usual;
        }
    }
};

}  // namespace dualboost
