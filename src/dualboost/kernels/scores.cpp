// Scores from raw values: every used feature adds one entry of its lookup table. First the search among a feature's
// cuts, which binning uses too.
#include "search.hpp"

#include <cstdlib>
#include <memory>

namespace dualboost {

// ---- Search ----------------------------------------------------------------------------------------------------

namespace {

constexpr int32_t kMostCells = 2048;
constexpr int32_t kMostProbes = 4;

// cell(x), the same expression for cuts and values. Rounding cannot make it decrease in x.
DUALBOOST_INLINE int32_t linear_cell(double x, double low, double scale, double last_cell) {
    double cell = (x - low) * scale;
    cell = cell > 0.0 ? cell : 0.0;
    return static_cast<int32_t>(cell < last_cell ? cell : last_cell);
}

// The upper half of a double as an integer in the same order: in effect the logarithm of |x|, with the sign of x.
DUALBOOST_INLINE int32_t upper_half(double x) {
    x += 0.0;  // -0.0 becomes 0.0
    int64_t bits;
    std::memcpy(&bits, &x, 8);
    auto upper = static_cast<int32_t>(bits >> 32);
    return upper ^ ((upper >> 31) & 0x7fffffff);
}

DUALBOOST_INLINE int32_t log_cell(double x, int32_t lowest, int32_t highest, int32_t shift) {
    int32_t upper = upper_half(x);
    upper = upper < lowest ? lowest : upper;
    upper = upper > highest ? highest : upper;
    return static_cast<int32_t>((static_cast<uint32_t>(upper) - static_cast<uint32_t>(lowest)) >> shift);
}

// Sorts the cuts into the cells of the grid and returns how many the fullest one holds. One cell more is for NaN.
int32_t fill_cells(CutIndex &index, int64_t n) {
    index.start.assign(static_cast<size_t>(index.cells) + 1, 0);
    for (int64_t k = 0; k < n; ++k) {
        double cut = index.cuts[static_cast<size_t>(k)];
        int32_t cell = index.way == CutIndex::Way::linear ? linear_cell(cut, index.low, index.scale, index.cells - 1)
                                                          : log_cell(cut, index.lowest, index.highest, index.shift);
        ++index.start[static_cast<size_t>(cell)];
    }
    int32_t fullest = 0, below = 0;
    for (int32_t c = 0; c < index.cells; ++c) {
        int32_t inside = index.start[static_cast<size_t>(c)];
        index.start[static_cast<size_t>(c)] = static_cast<uint16_t>(below);
        below += inside;
        fullest = std::max(fullest, inside);
    }
    index.start[static_cast<size_t>(index.cells)] = static_cast<uint16_t>(index.missing_code);
    return fullest;
}

int32_t divide_linearly(CutIndex &index, int64_t n, int32_t cells) {
    index.way = CutIndex::Way::linear;
    index.cells = cells;
    index.low = index.cuts[0];
    index.scale = (cells - 1) / (index.cuts[static_cast<size_t>(n - 1)] - index.low);
    return fill_cells(index, n);
}

int32_t divide_by_logarithm(CutIndex &index, int64_t n, int32_t most_cells) {
    index.way = CutIndex::Way::logarithmic;
    index.lowest = upper_half(index.cuts[0]);
    index.highest = upper_half(index.cuts[static_cast<size_t>(n - 1)]);
    uint32_t range = static_cast<uint32_t>(index.highest) - static_cast<uint32_t>(index.lowest);
    for (index.shift = 0; (range >> index.shift) >= static_cast<uint32_t>(most_cells);) ++index.shift;
    index.cells = static_cast<int32_t>(range >> index.shift) + 1;
    return fill_cells(index, n);
}

// Tries finer and finer grids, up to `most_cells`, until no cell holds more than one or two cuts.
int32_t find_grid(CutIndex &index, int64_t n, int32_t most_cells) {
    constexpr int32_t kGood = 2, kFine = 512;
    int32_t fullest = kMostProbes + 1, cells = 64;
    while (cells <= n) cells *= 2;
    for (; cells <= most_cells; cells *= 2) {
        fullest = divide_linearly(index, n, cells);
        if (fullest == 1 || (fullest <= kGood && cells >= kFine)) return fullest;
    }
    if (fullest <= kGood || most_cells < n) return fullest;
    int32_t logarithmic = divide_by_logarithm(index, n, most_cells);
    return logarithmic < fullest || fullest > kMostProbes ? logarithmic : divide_linearly(index, n, cells / 2);
}

}  // namespace

CutIndex make_cut_index(const double *cuts, int64_t n, int64_t rows, int32_t missing_code) {
    CutIndex index;
    index.levels = bit_width(static_cast<uint64_t>(n));
    index.missing_code = missing_code;
    index.cuts.assign(cuts, cuts + n);
    int64_t last_read = std::max<int64_t>(int64_t{1} << index.levels, missing_code + 1);
    index.cuts.resize(static_cast<size_t>(last_read + kMostProbes), std::numeric_limits<double>::infinity());
    if (n <= kMostProbes) {
        index.way = CutIndex::Way::all;
        index.probes = static_cast<int32_t>(n);
        return index;
    }
    auto most_cells = static_cast<int32_t>(std::min<int64_t>(kMostCells, rows / 4));
    index.probes = find_grid(index, n, n < (1 << 15) ? most_cells : 0);
    if (index.probes > kMostProbes) index.way = CutIndex::Way::binary;
    return index;
}

DUALBOOST_CLONES void compare_with_all(const CutIndex &index, const double *x, int n, int32_t *code) {
    int32_t missing = index.missing_code;
    for (int i = 0; i < n; ++i) code[i] = x[i] == x[i] ? 0 : missing;
    for (int32_t k = 0; k < index.probes; ++k) {
        double cut = index.cuts[static_cast<size_t>(k)];
        for (int i = 0; i < n; ++i) code[i] += cut < x[i] ? 1 : 0;
    }
}

DUALBOOST_CLONES void find_linear_cells(const CutIndex &index, const double *x, int n, int32_t *cell) {
    double low = index.low, scale = index.scale, last_cell = index.cells - 1;
    int32_t missing_cell = index.cells;
    for (int i = 0; i < n; ++i) cell[i] = x[i] == x[i] ? linear_cell(x[i], low, scale, last_cell) : missing_cell;
}

DUALBOOST_CLONES void find_log_cells(const CutIndex &index, const double *x, int n, int32_t *cell) {
    int32_t lowest = index.lowest, highest = index.highest, shift = index.shift, missing_cell = index.cells;
    for (int i = 0; i < n; ++i) cell[i] = x[i] == x[i] ? log_cell(x[i], lowest, highest, shift) : missing_cell;
}

// Eight searches side by side: each step of one waits for its load, the others fill the time.
void search_padded(const CutIndex &index, const double *x, int n, int32_t *code) {
    constexpr int kLanes = 8;
    const double *cuts = index.cuts.data();
    int32_t top = 1 << (index.levels - 1);
    double lanes[kLanes];
    for (int i = 0; i < n; i += kLanes) {
        int width = std::min(kLanes, n - i);
        int32_t at[kLanes] = {};
        for (int k = 0; k < kLanes; ++k) lanes[k] = x[i + std::min(k, width - 1)];
        for (int32_t step = top; step > 0; step >>= 1)
            for (int k = 0; k < kLanes; ++k) at[k] += cuts[at[k] + step - 1] < lanes[k] ? step : 0;
        for (int k = 0; k < width; ++k) code[i + k] = lanes[k] == lanes[k] ? at[k] : index.missing_code;
    }
}

// ---- Model -----------------------------------------------------------------------------------------------------

namespace {

// One additive model: feature features[u] has the cuts [cut_start[u], cut_start[u + 1]) and one table entry more than
// cuts.
struct Model {
    int64_t used;
    const int32_t *features;
    const int64_t *cut_start;
    const double *cuts, *tables, *missing;
    double base;

    const double *cuts_of(int64_t u) const { return cuts + cut_start[u]; }
    int64_t count_of(int64_t u) const { return cut_start[u + 1] - cut_start[u]; }
    const double *table_of(int64_t u) const { return tables + cut_start[u] + u; }
    double term(int64_t u, double x) const {
        return x == x ? table_of(u)[count_below(cuts_of(u), count_of(u), x)] : missing[u];
    }
};

Model checked_model(int64_t n_features, const Ints &features, const Longs &cut_start, const Doubles &cuts,
                    const Doubles &tables, const Doubles &missing, double base) {
    auto used = static_cast<int64_t>(features.shape(0)), n_cuts = static_cast<int64_t>(cuts.shape(0));
    const int64_t *start = cut_start.data();
    require(static_cast<int64_t>(cut_start.shape(0)) == used + 1 && start[0] == 0 && start[used] == n_cuts,
            "cut_start must have one entry more than features, begin with 0 and end with the number of cuts.");
    require(std::is_sorted(start, start + used + 1), "cut_start must not decrease.");
    require(n_cuts < (int64_t{1} << 30), "There are too many cuts.");
    require(static_cast<int64_t>(tables.shape(0)) == n_cuts + used,
            "tables must have one entry more than cuts for each feature.");
    require(static_cast<int64_t>(missing.shape(0)) == used, "missing must have one entry for each feature.");
    bool ascend = true;
    for (int64_t u = 0; u < used; ++u) {
        require(features.data()[u] >= 0 && features.data()[u] < n_features,
                "A feature number of the model is out of range.");
        for (int64_t k = start[u]; k < start[u + 1]; ++k)  // a NaN does not
            ascend &= cuts.data()[k] == cuts.data()[k] && (k == start[u] || cuts.data()[k - 1] < cuts.data()[k]);
    }
    require(ascend, "The cuts of a feature must ascend.");
    return {used, features.data(), start, cuts.data(), tables.data(), missing.data(), base};
}

void check_output(const Vector<double> &out, int64_t rows, int threads) {
    require(static_cast<int64_t>(out.shape(0)) == rows, "out must have one entry for each row of X.");
    require(threads >= 1, "threads must be at least 1.");
}

// ---- Dense -----------------------------------------------------------------------------------------------------

// Few rows: no preparation, one search at a time.
void score_few(const Model &model, const Matrix &x, double *out) {
    for (int64_t i = 0; i < x.rows; ++i) {
        double score = model.base;
        for (int64_t u = 0; u < model.used; ++u) score += model.term(u, value_at(x, i, model.features[u]));
        out[i] = score;
    }
}

// A feature's cuts, prepared for many rows, and its table with the value for NaN at the end.
struct Term {
    CutIndex index;
    std::vector<double> table;
};

std::vector<Term> prepare(const Model &model, int64_t rows) {
    std::vector<Term> terms(static_cast<size_t>(model.used));
    for (int64_t u = 0; u < model.used; ++u) {
        int64_t n = model.count_of(u);
        Term &term = terms[static_cast<size_t>(u)];
        term.index = make_cut_index(model.cuts_of(u), n, rows, static_cast<int32_t>(n + 1));
        term.table.assign(model.table_of(u), model.table_of(u) + n + 1);
        term.table.push_back(model.missing[u]);
    }
    return terms;
}

void score_chunk(const Model &model, const std::vector<Term> &terms, const Matrix &x, int64_t begin, int64_t end,
                 double *out) {
    Tile tile;
    for (int64_t first = begin; first < end; first += kTileRows) {
        int rows = static_cast<int>(std::min<int64_t>(kTileRows, end - first));
        double *scores = out + first;
        std::fill(scores, scores + rows, model.base);
        for (int64_t u = 0; u < model.used; u += kTileColumns) {
            int width = static_cast<int>(std::min<int64_t>(kTileColumns, model.used - u));
            load_tile(x, [first](int i) { return first + i; }, rows, model.features + u, width, tile);
            for (int c = 0; c < width; ++c) {
                const Term &term = terms[static_cast<size_t>(u + c)];
                const double *table = term.table.data();
                for_codes(term.index, tile[c], rows,
                          [scores, table](int i, int32_t code) { scores[i] += table[code]; });
            }
        }
    }
}

void predict_dense(const AnyMatrix &array, const Ints &features, const Longs &cut_start, const Doubles &cuts,
                   const Doubles &tables, const Doubles &missing, double base, const Vector<double> &out, int threads) {
    Matrix x = view(array);
    Model model = checked_model(x.columns, features, cut_start, cuts, tables, missing, base);
    check_output(out, x.rows, threads);
    nb::gil_scoped_release released;
    if (x.rows <= kFewRows) return score_few(model, x, out.data());
    std::vector<Term> terms = prepare(model, x.rows);
    threads = x.rows * std::max<int64_t>(model.used, 1) < (1 << 16) ? 1 : threads;
    parallel(chunk_count(x.rows), threads, [&](int64_t chunk) {
        score_chunk(model, terms, x, chunk * kChunk, std::min(x.rows, (chunk + 1) * kChunk), out.data());
    });
}

// ---- Sparse ----------------------------------------------------------------------------------------------------

// From feature to 1 + its place in the model; 0 = not used. The pages of a calloc cost nothing until they are touched,
// so that one row of a matrix with a million columns does not pay for a million entries.
class Places {
public:
    Places(const Model &model, int64_t n_features)
        : table_(static_cast<int32_t *>(std::calloc(static_cast<size_t>(n_features) + 1, sizeof(int32_t))),
                 &std::free) {
        if (!table_) throw std::bad_alloc();
        for (int64_t u = 0; u < model.used; ++u) {
            int32_t &place = table_.get()[model.features[u]];
            require(place == 0, "A feature occurs twice in the model.");
            place = static_cast<int32_t>(u + 1);
        }
    }
    int32_t operator[](int64_t feature) const { return table_.get()[feature]; }

private:
    std::unique_ptr<int32_t, decltype(&std::free)> table_;
};

template <class Index, class Value> struct SparseRows {
    int64_t n_rows, n_features, entries;
    const Index *start, *columns;
    const Value *values;
};

// Each listed entry replaces the term of a zero. Returns false when a column number is out of range.
template <class Index, class Value> bool score_rows(const Model &model, const SparseRows<Index, Value> &x,
                                                    const Places &places, const std::vector<double> &at_zero,
                                                    double all_zero, int64_t begin, int64_t end, double *out) {
    for (int64_t i = begin; i < end; ++i) {
        double score = all_zero;
        for (int64_t k = x.start[i]; k < static_cast<int64_t>(x.start[i + 1]); ++k) {
            int64_t column = x.columns[k];
            if (column < 0 || column >= x.n_features) return false;
            int64_t u = places[column] - 1;
            if (u >= 0) score += model.term(u, static_cast<double>(x.values[k])) - at_zero[static_cast<size_t>(u)];
        }
        out[i] = score;
    }
    return true;
}

template <class Index, class Value>
void score_sparse(const Model &model, const SparseRows<Index, Value> &x, double *out, int threads) {
    require(x.start[0] == 0 && static_cast<int64_t>(x.start[x.n_rows]) == x.entries &&
                std::is_sorted(x.start, x.start + x.n_rows + 1),
            "indptr must begin with 0, not decrease, and end with the number of entries.");
    Places places(model, x.n_features);
    std::vector<double> at_zero(static_cast<size_t>(model.used));
    double all_zero = model.base;
    for (int64_t u = 0; u < model.used; ++u) all_zero += at_zero[static_cast<size_t>(u)] = model.term(u, 0.0);
    std::atomic<bool> fine{true};
    parallel(chunk_count(x.n_rows), x.entries < (1 << 14) ? 1 : threads, [&](int64_t chunk) {
        int64_t end = std::min(x.n_rows, (chunk + 1) * kChunk);
        if (!score_rows(model, x, places, at_zero, all_zero, chunk * kChunk, end, out)) fine = false;
    });
    require(fine, "A column number of the sparse matrix is out of range.");
}

template <class Index, class Value>
void predict_sparse(int64_t n_features, const Vector<const Index> &indptr, const Vector<const Index> &indices,
                    const Vector<const Value> &data, const Ints &features, const Longs &cut_start, const Doubles &cuts,
                    const Doubles &tables, const Doubles &missing, double base, const Vector<double> &out,
                    int threads) {
    require(n_features >= 0 && n_features < (int64_t{1} << 31), "n_features must lie between 0 and 2^31 - 1.");
    Model model = checked_model(n_features, features, cut_start, cuts, tables, missing, base);
    auto n_rows = static_cast<int64_t>(indptr.shape(0)) - 1, entries = static_cast<int64_t>(indices.shape(0));
    require(n_rows >= 0 && static_cast<int64_t>(data.shape(0)) == entries,
            "indptr, indices and data do not fit together.");
    check_output(out, n_rows, threads);
    nb::gil_scoped_release released;
    score_sparse(model,
                 SparseRows<Index, Value>{n_rows, n_features, entries, indptr.data(), indices.data(), data.data()},
                 out.data(), threads);
}

template <class Index, class Value> void bind_predict_sparse(nb::module_ &m) {
    using namespace nb::literals;
    m.def("predict_sparse", &predict_sparse<Index, Value>, "n_features"_a, "indptr"_a, "indices"_a, "data"_a,
          "features"_a, "cut_start"_a, "cuts"_a, "tables"_a, "missing"_a, "base"_a, "out"_a.noconvert(), "threads"_a,
          "The same for compressed rows without duplicates; what is not listed is zero.");
}

}  // namespace

void bind_scores(nb::module_ &m) {
    using namespace nb::literals;
    m.def("predict_dense", &predict_dense, "X"_a, "features"_a, "cut_start"_a, "cuts"_a, "tables"_a, "missing"_a,
          "base"_a, "out"_a.noconvert(), "threads"_a,
          "out[i] = base + sum over u of tables[u][number of cuts below X[i, features[u]]], or missing[u] for NaN.");
    bind_predict_sparse<int32_t, double>(m);
    bind_predict_sparse<int64_t, double>(m);
    bind_predict_sparse<int32_t, float>(m);
    bind_predict_sparse<int64_t, float>(m);
}

}  // namespace dualboost
