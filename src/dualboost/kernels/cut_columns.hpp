// The cuts of every column, for dense and sparse matrices: which rows are looked at, and how the columns are read.
#pragma once

#include "quantiles.hpp"
#include "search.hpp"

namespace dualboost {

constexpr int64_t kAllRows = 200000;  // up to here quantiles use all rows,
constexpr int64_t kSampleRows = 100000;  // above, a sample of this size
constexpr size_t kTallyLimit = 1 << 16;  // distinct values that a pass over all rows may collect

// The rows that place the quantiles: all of them, or one in each of equal blocks. Which one is scrambled, because
// data often come with a period, but depends on nothing else than the number of rows.
inline std::vector<int32_t> rows_to_sample(int64_t rows) {
    std::vector<int32_t> sample;
    if (rows <= kAllRows) return sample;  // empty: all
    sample.resize(static_cast<size_t>(kSampleRows));
    for (int64_t k = 0; k < kSampleRows; ++k) {
        int64_t begin = k * rows / kSampleRows, end = (k + 1) * rows / kSampleRows;
        uint64_t scrambled = (static_cast<uint64_t>(k) + 1) * 0x9E3779B97F4A7C15u;
        scrambled ^= scrambled >> 32;
        auto step = static_cast<int64_t>(scrambled % static_cast<uint64_t>(end - begin));
        sample[static_cast<size_t>(k)] = static_cast<int32_t>(begin + step);
    }
    return sample;
}

// Distinct values met in any order: an open hash table from key to mass (key 0 marks a free slot).
class Tally {
public:
    void add(uint64_t key, int64_t mass) {
        size_t at = slot(key);
        if (keys_[at] == 0) {
            keys_[at] = key;
            if (2 * ++size_ > keys_.size()) {
                grow();
                at = slot(key);
            }
        }
        masses_[at] += mass;
    }
    size_t size() const { return size_; }

    void write(Distinct &distinct) const {
        std::vector<WeightedItem> items, spare;
        for (size_t k = 0; k < keys_.size(); ++k)
            if (keys_[k]) items.push_back({keys_[k], masses_[k]});
        collect_distinct(items, spare, 0, distinct);
    }

private:
    size_t slot(uint64_t key) const {
        // The highest bits of the product: small integers differ only in the highest bits of their keys.
        size_t at = static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> shift_);
        while (keys_[at] != 0 && keys_[at] != key) at = (at + 1) & (keys_.size() - 1);
        return at;
    }
    void grow() {
        std::vector<uint64_t> keys(2 * keys_.size());
        std::vector<int64_t> masses(2 * masses_.size());
        keys.swap(keys_), masses.swap(masses_);
        --shift_;
        for (size_t k = 0; k < keys.size(); ++k) {
            if (!keys[k]) continue;
            size_t at = slot(keys[k]);
            keys_[at] = keys[k], masses_[at] = masses[k];
        }
    }

    int shift_ = 64 - 10;  // the table has 2^10 slots, later more
    std::vector<uint64_t> keys_ = std::vector<uint64_t>(1024);
    std::vector<int64_t> masses_ = std::vector<int64_t>(1024);
    size_t size_ = 0;
};

// ---- Cuts of a dense matrix ------------------------------------------------------------------------------------

template <class T> T make_item(double x, int64_t mass);
template <> inline Item make_item<Item>(double x, int64_t) { return {to_key(x)}; }
template <> inline WeightedItem make_item<WeightedItem>(double x, int64_t mass) { return {to_key(x), mass}; }

struct DenseProblem {
    Matrix x;
    const Masses &masses;
    const std::vector<int32_t> &sample;
    int max_bins;
};

// Up to eight neighbouring columns, which share their cache lines.
struct ColumnGroup {
    int32_t columns[kTileColumns];
    int width;
};

// Calls use(first, rows, tile) for tile after tile of all rows, until it returns false.
template <class Use> void for_tiles(const Matrix &x, const ColumnGroup &group, const Use &use) {
    Tile tile;
    for (int64_t first = 0; first < x.rows; first += kTileRows) {
        int rows = static_cast<int>(std::min<int64_t>(kTileRows, x.rows - first));
        load_tile(x, [first](int i) { return first + i; }, rows, group.columns, group.width, tile);
        if (!use(first, rows, tile)) return;
    }
}

// The present values of the rows that count, column by column.
template <class T> void gather(const DenseProblem &problem, const ColumnGroup &group, std::vector<T> *items) {
    const auto &sample = problem.sample;
    int64_t count = sample.empty() ? problem.x.rows : static_cast<int64_t>(sample.size());
    size_t filled[kTileColumns] = {};
    for (int c = 0; c < group.width; ++c) items[c].resize(static_cast<size_t>(count));
    Tile tile;
    int64_t mass[kTileRows];
    for (int64_t first = 0; first < count; first += kTileRows) {
        int rows = static_cast<int>(std::min<int64_t>(kTileRows, count - first));
        auto row_of = [&](int i) -> int64_t {
            return sample.empty() ? first + i : sample[static_cast<size_t>(first + i)];
        };
        load_tile(problem.x, row_of, rows, group.columns, group.width, tile);
        for (int i = 0; i < rows; ++i) mass[i] = problem.masses[row_of(i)];
        for (int c = 0; c < group.width; ++c) {
            T *out = items[c].data();
            size_t at = filled[c];
            for (int i = 0; i < rows; ++i) {
                out[at] = make_item<T>(tile[c][i], mass[i]);
                at += (tile[c][i] == tile[c][i]) & (mass[i] > 0);  // otherwise the next one takes its place
            }
            filled[c] = at;
        }
    }
    for (int c = 0; c < group.width; ++c) items[c].resize(filled[c]);
}

inline void tally_all(const DenseProblem &problem, int32_t column, size_t limit, Tally &tally) {
    for_tiles(problem.x, {{column}, 1}, [&](int64_t first, int rows, const Tile &tile) {
        for (int i = 0; i < rows; ++i) {
            int64_t mass = problem.masses[first + i];
            if (tile[0][i] == tile[0][i] && mass > 0) tally.add(to_key(tile[0][i]), mass);
        }
        return tally.size() <= limit;
    });
}

// True when every x is NaN or one of four known values: the usual case for flags and small counts, without a table.
bool only_known(const double *x, int n, const double *known);

constexpr size_t kKnown = 4;

// Columns of at most four values in the sample, each with these values (the last repeated).
struct KnownColumns {
    std::vector<int32_t> columns;
    std::vector<double> values;

    void add(int32_t column, const Distinct &seen) {
        columns.push_back(column);
        for (size_t k = 0; k < kKnown; ++k) values.push_back(seen.value[std::min(k, seen.size() - 1)]);
    }
};

// Columns that showed few values in the sample are looked at in full. Where few remain few, only the values matter; a
// column with many is counted again with its masses, and one with very many keeps the distinct values of the sample.
inline void complete(const DenseProblem &problem, const ColumnGroup &few, Distinct *const *distinct) {
    size_t limit = static_cast<size_t>(problem.max_bins);
    std::vector<Tally> tallies(static_cast<size_t>(few.width));
    for (int f = 0; f < few.width; ++f)
        for (double value : distinct[f]->value) tallies[static_cast<size_t>(f)].add(to_key(value), 0);
    for_tiles(problem.x, few, [&](int64_t first, int rows, const Tile &tile) {
        bool open = false;
        for (int f = 0; f < few.width; ++f) {
            Tally &tally = tallies[static_cast<size_t>(f)];
            if (tally.size() > limit) continue;
            open = true;
            for (int i = 0; i < rows; ++i)
                if (tile[f][i] == tile[f][i] && problem.masses[first + i] > 0) tally.add(to_key(tile[f][i]), 0);
        }
        return open;
    });
    for (int f = 0; f < few.width; ++f) {
        if (tallies[static_cast<size_t>(f)].size() <= limit) {
            tallies[static_cast<size_t>(f)].write(*distinct[f]);
            continue;
        }
        Tally full;
        tally_all(problem, few.columns[f], kTallyLimit, full);
        if (full.size() <= kTallyLimit) full.write(*distinct[f]);
    }
}

// One worker's memory, used for group after group: fresh pages would cost more than the sorting.
template <class T> struct GroupBuffers {
    std::vector<T> items[kTileColumns], spare;
    Distinct distinct[kTileColumns];
    Quantiles quantiles;
};

// The cuts of these columns, or where the sample showed few values, these: the other rows may have more.
template <class T> void cut_group(const DenseProblem &problem, const ColumnGroup &group, GroupBuffers<T> &buffers,
                                  std::vector<double> *cuts, Distinct *few) {
    gather(problem, group, buffers.items);
    for (int c = 0; c < group.width; ++c) {
        Distinct &distinct = buffers.distinct[c];
        collect_distinct(buffers.items[c], buffers.spare, problem.masses.unit, distinct);
        if (problem.sample.empty() || distinct.size() > static_cast<size_t>(problem.max_bins))
            cuts[c] = buffers.quantiles.cuts(distinct, problem.max_bins);
        else few[c] = distinct;
    }
}

inline ColumnGroup group_from(int64_t first, int64_t columns) {
    ColumnGroup group{{}, static_cast<int>(std::min<int64_t>(kTileColumns, columns - first))};
    for (int c = 0; c < group.width; ++c) group.columns[c] = static_cast<int32_t>(first + c);
    return group;
}

// ---- Cuts of a sparse matrix -----------------------------------------------------------------------------------

// Compressed columns, rows ascending inside a column; what is not listed is zero.
struct SparseColumns {
    int64_t n_rows, n_columns;
    const int64_t *start;
    const int32_t *rows;
    const double *values;
};

struct SparseProblem {
    SparseColumns x;
    const Masses &masses;
    const std::vector<uint8_t> &in_sample;  // one flag a row; empty: all rows
    int64_t sample_mass;
    int max_bins;
};

template <class T> struct SparseBuffers {
    std::vector<T> items, spare;
    Distinct distinct;
    Quantiles quantiles;
};

// The same values and masses as the dense column would show: the rows that are not listed share one zero.
template <class T>
void collect_column(const SparseProblem &problem, int64_t column, bool sampled, SparseBuffers<T> &buffers) {
    buffers.items.clear();
    int64_t unlisted = sampled ? problem.sample_mass : problem.masses.total;
    for (int64_t k = problem.x.start[column]; k < problem.x.start[column + 1]; ++k) {
        int64_t row = problem.x.rows[k];
        if (sampled && !problem.in_sample[static_cast<size_t>(row)]) continue;
        int64_t mass = problem.masses[row];
        double x = problem.x.values[k];
        unlisted -= mass;
        if (x == x && mass > 0) buffers.items.push_back(make_item<T>(x, mass));
    }
    collect_distinct(buffers.items, buffers.spare, problem.masses.unit, buffers.distinct);
    if (unlisted > 0) buffers.distinct.add(0.0, unlisted);
}

template <class T>
std::vector<double> cut_sparse_column(const SparseProblem &problem, int64_t column, SparseBuffers<T> &buffers) {
    if (problem.x.start[column] == problem.x.start[column + 1]) return {};
    bool sampled = !problem.in_sample.empty();
    collect_column(problem, column, sampled, buffers);
    if (sampled && buffers.distinct.size() <= static_cast<size_t>(problem.max_bins)) {
        collect_column(problem, column, false, buffers);
        if (buffers.distinct.size() > kTallyLimit) collect_column(problem, column, true, buffers);
    }
    return buffers.quantiles.cuts(buffers.distinct, problem.max_bins);
}

}  // namespace dualboost
