// Binning: cuts for every column, codes for every value, and the choice between a full and a sparse column of codes.
#include "small_columns.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

namespace dualboost {

DUALBOOST_CLONES bool only_known(const double *x, int n, const double *known) {
    int strange = 0;
    for (int i = 0; i < n; ++i)
        strange |= (x[i] == x[i]) & (x[i] != known[0]) & (x[i] != known[1]) & (x[i] != known[2]) & (x[i] != known[3]);
    return strange == 0;
}

namespace {

constexpr int64_t kColumnChunk = 256;  // sparse columns handled together, so that buffers are reused

// `work` may run out of memory; an exception must not leave a thread.
template <class Work> void parallel_guarded(int64_t count, int threads, const Work &work) {
    std::atomic<bool> failed{false};
    parallel(count, threads, [&](int64_t k) {
        try {
            work(k);
        } catch (...) {
            failed = true;
        }
    });
    if (failed) throw std::bad_alloc();
}

template <class T> nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(std::vector<T> &&values) {
    auto *kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

int useful_threads(int threads, int64_t steps) { return steps < (1 << 16) ? 1 : threads; }

void check_common(int64_t rows, int max_bins, int threads) {
    require(rows >= 1 && rows < (int64_t{1} << 31), "X must have between 1 and 2^31 - 1 rows.");
    require(max_bins >= 2 && max_bins <= 255, "max_bins must lie between 2 and 255.");
    require(threads >= 1, "threads must be at least 1.");
}

Masses make_masses(const std::optional<Doubles> &weights, int64_t rows) {
    if (!weights) return equal_masses(rows);
    require(static_cast<int64_t>(weights->shape(0)) == rows, "There must be one weight for each row of X.");
    return masses_of(weights->data(), rows);
}

nb::tuple join_cuts(std::vector<std::vector<double>> &&columns) {
    std::vector<int64_t> start(columns.size() + 1, 0);
    for (size_t j = 0; j < columns.size(); ++j) start[j + 1] = start[j] + static_cast<int64_t>(columns[j].size());
    std::vector<double> cuts;
    cuts.reserve(static_cast<size_t>(start.back()));
    for (const auto &column : columns) cuts.insert(cuts.end(), column.begin(), column.end());
    return nb::make_tuple(to_numpy(std::move(cuts)), to_numpy(std::move(start)));
}

// Calls use(group number, buffers) for each of the groups, a worker with its own buffers taking one after the other.
template <class Buffers, class Use> void for_groups(int64_t groups, int threads, const Use &use) {
    int workers = static_cast<int>(std::min<int64_t>(threads, groups));
    std::atomic<int64_t> next{0};
    parallel_guarded(workers, workers, [&](int64_t) {
        Buffers buffers;
        for (int64_t g; (g = next.fetch_add(1)) < groups;) use(g, buffers);
    });
}

struct Nothing {};

// Cuts of all columns. Those of few values in the sample must be looked at in full; with `hope` the ones of very few
// are listed there instead, and whoever encodes them sees whether they have others.
template <class T>
void cut_groups(const DenseProblem &problem, int threads, KnownColumns *hope, std::vector<std::vector<double>> &cuts) {
    std::vector<Distinct> seen(problem.sample.empty() ? 0 : cuts.size());
    int64_t groups = (problem.x.columns + kTileColumns - 1) / kTileColumns;
    for_groups<GroupBuffers<T>>(groups, threads, [&](int64_t g, GroupBuffers<T> &buffers) {
        int64_t first = g * kTileColumns;
        cut_group(problem, group_from(first, problem.x.columns), buffers, cuts.data() + first,
                  seen.empty() ? nullptr : seen.data() + first);
    });
    if (seen.empty()) return;
    std::vector<int32_t> few, open;
    for (size_t j = 0; j < cuts.size(); ++j) {
        if (!cuts[j].empty()) continue;
        few.push_back(static_cast<int32_t>(j));
        if (hope && seen[j].size() >= 1 && seen[j].size() <= kKnown) hope->add(few.back(), seen[j]);
        else open.push_back(few.back());
    }
    int64_t parts = (static_cast<int64_t>(open.size()) + kTileColumns - 1) / kTileColumns;
    for_groups<Nothing>(parts, threads, [&](int64_t part, Nothing &) {
        ColumnGroup group{{}, 0};
        Distinct *distinct[kTileColumns];
        for (size_t k = static_cast<size_t>(part) * kTileColumns; k < open.size() && group.width < kTileColumns; ++k) {
            distinct[group.width] = &seen[static_cast<size_t>(open[k])];
            group.columns[group.width++] = open[k];
        }
        complete(problem, group, distinct);
    });
    Quantiles quantiles;
    for (int32_t j : few) cuts[static_cast<size_t>(j)] = quantiles.cuts(seen[static_cast<size_t>(j)], problem.max_bins);
}

nb::tuple cut_dense(const AnyMatrix &array, const std::optional<Doubles> &weights, int max_bins, int threads,
                    bool hopeful) {
    Matrix x = view(array);
    check_common(x.rows, max_bins, threads);
    std::vector<std::vector<double>> cuts(static_cast<size_t>(x.columns));
    KnownColumns hope;
    {
        nb::gil_scoped_release released;
        Masses masses = make_masses(weights, x.rows);
        std::vector<int32_t> sample = rows_to_sample(x.rows);
        DenseProblem problem{x, masses, sample, max_bins};
        threads = useful_threads(threads, x.rows * x.columns);
        if (weights) cut_groups<WeightedItem>(problem, threads, hopeful ? &hope : nullptr, cuts);
        else cut_groups<Item>(problem, threads, hopeful ? &hope : nullptr, cuts);
    }
    nb::tuple placed = join_cuts(std::move(cuts));
    return nb::make_tuple(placed[0], placed[1], to_numpy(std::move(hope.columns)), to_numpy(std::move(hope.values)));
}

DUALBOOST_CLONES bool any_infinite(const double *x, int64_t n) {
    int found = 0;
    for (int64_t i = 0; i < n; ++i) found |= std::fabs(x[i]) == std::numeric_limits<double>::infinity();
    return found != 0;
}

constexpr const char *kInfinite = "X contains infinity; replace it by a finite number or by NaN, which means missing.";

// Row numbers must ascend strictly inside a column: then there are no duplicates either.
SparseColumns checked(int64_t n_rows, const Longs &start, const Ints &rows, const Doubles &values) {
    int64_t columns = static_cast<int64_t>(start.shape(0)) - 1, entries = static_cast<int64_t>(rows.shape(0));
    require(columns >= 0 && start.data()[0] == 0 && start.data()[columns] == entries &&
                static_cast<int64_t>(values.shape(0)) == entries,
            "The column starts, rows and values of a sparse matrix do not fit together.");
    bool fine = true;
    for (int64_t j = 0; j < columns; ++j) {
        int64_t begin = start.data()[j], end = start.data()[j + 1];
        require(begin <= end && end <= entries, "The column starts of a sparse matrix must not decrease.");
        for (int64_t k = begin, last = -1; k < end; last = rows.data()[k++])
            fine &= rows.data()[k] > last && rows.data()[k] < n_rows;
    }
    require(fine, "The row numbers of a sparse column must ascend and lie in range.");
    return {n_rows, columns, start.data(), rows.data(), values.data()};
}

// Calls work(begin, end) for ranges of columns.
template <class Work> void for_column_chunks(int64_t columns, int threads, const Work &work) {
    parallel_guarded((columns + kColumnChunk - 1) / kColumnChunk, threads,
                     [&](int64_t k) { work(k * kColumnChunk, std::min(columns, (k + 1) * kColumnChunk)); });
}

template <class T>
void cut_sparse_columns(const SparseProblem &problem, int threads, std::vector<std::vector<double>> &cuts) {
    for_column_chunks(problem.x.n_columns, threads, [&](int64_t begin, int64_t end) {
        SparseBuffers<T> buffers;
        for (int64_t j = begin; j < end; ++j) cuts[static_cast<size_t>(j)] = cut_sparse_column(problem, j, buffers);
    });
}

nb::tuple cut_sparse(int64_t n_rows, const Longs &start, const Ints &rows, const Doubles &values,
                     const std::optional<Doubles> &weights, int max_bins, int threads) {
    check_common(n_rows, max_bins, threads);
    SparseColumns x = checked(n_rows, start, rows, values);
    std::vector<std::vector<double>> cuts(static_cast<size_t>(x.n_columns));
    {
        nb::gil_scoped_release released;
        Masses masses = make_masses(weights, n_rows);
        std::vector<uint8_t> in_sample;
        int64_t sample_mass = 0;
        for (int32_t row : rows_to_sample(n_rows)) {
            in_sample.resize(static_cast<size_t>(n_rows), 0);
            in_sample[static_cast<size_t>(row)] = 1;
            sample_mass += masses[row];
        }
        SparseProblem problem{x, masses, in_sample, sample_mass, max_bins};
        threads = useful_threads(threads, x.start[x.n_columns]);
        if (weights) cut_sparse_columns<WeightedItem>(problem, threads, cuts);
        else cut_sparse_columns<Item>(problem, threads, cuts);
    }
    return join_cuts(std::move(cuts));
}

// ---- Codes -----------------------------------------------------------------------------------------------------

void check_cuts(const Doubles &cuts, const Longs &cut_start, int64_t columns) {
    const int64_t *start = cut_start.data();
    require(static_cast<int64_t>(cut_start.shape(0)) == columns + 1 && start[0] == 0 &&
                start[columns] == static_cast<int64_t>(cuts.shape(0)),
            "cut_start must have one entry more than X has columns, begin with 0 and end with the number of cuts.");
    for (int64_t j = 0; j < columns; ++j)
        require(start[j] <= start[j + 1] && start[j + 1] - start[j] < kMissing,
                "A column must have between 0 and 254 cuts.");
}

// For each column where it is in a list; -1 where it is not.
std::vector<int32_t> places_in(const Ints &list, int64_t columns) {
    std::vector<int32_t> place(static_cast<size_t>(columns), -1);
    for (size_t k = 0; k < list.shape(0); ++k) {
        require(list.data()[k] >= 0 && list.data()[k] < columns, "A column number is out of range.");
        place[static_cast<size_t>(list.data()[k])] = static_cast<int32_t>(k);
    }
    return place;
}

// codes[j, i] = number of cuts of column j below X[i, j]; 255 = missing. True unless one of the columns `few` has a
// value other than the four that are given for it.
bool encode_dense(const AnyMatrix &array, const Doubles &cuts, const Longs &cut_start, const Grid<uint8_t> &codes,
                  int threads, const Ints &few, const Doubles &known) {
    Matrix x = view(array);
    check_cuts(cuts, cut_start, x.columns);
    require(static_cast<int64_t>(codes.shape(0)) == x.columns && static_cast<int64_t>(codes.shape(1)) == x.rows,
            "codes must have one row for each column of X.");
    require(threads >= 1, "threads must be at least 1.");
    require(known.shape(0) == kKnown * few.shape(0), "known must have four values for each of the columns few.");
    std::vector<int32_t> place = places_in(few, x.columns);
    nb::gil_scoped_release released;
    const int64_t *start = cut_start.data();
    std::vector<CutIndex> index;
    for (int64_t j = 0; j < x.columns; ++j)
        index.push_back(make_cut_index(cuts.data() + start[j], start[j + 1] - start[j], x.rows, kMissing));
    std::atomic<bool> finite{true}, as_known{true};
    parallel(chunk_count(x.rows), useful_threads(threads, x.rows * x.columns), [&](int64_t chunk) {
        int64_t end = std::min(x.rows, (chunk + 1) * kChunk);
        Tile tile;
        for (int64_t first = chunk * kChunk; first < end; first += kTileRows)
            for (int64_t j = 0; j < x.columns; j += kTileColumns) {
                int rows = static_cast<int>(std::min<int64_t>(kTileRows, end - first));
                ColumnGroup group = group_from(j, x.columns);
                load_tile(x, [first](int i) { return first + i; }, rows, group.columns, group.width, tile);
                for (int c = 0; c < group.width; ++c) {
                    uint8_t *out = codes.data() + (j + c) * x.rows + first;
                    auto write = [out](int i, int32_t code) { out[i] = static_cast<uint8_t>(code); };
                    for_codes(index[static_cast<size_t>(j + c)], tile[c], rows, write);
                    if (any_infinite(tile[c], rows)) finite = false;
                    int32_t at = place[static_cast<size_t>(j + c)];
                    if (at >= 0 && !only_known(tile[c], rows, known.data() + kKnown * static_cast<size_t>(at)))
                        as_known = false;
                }
            }
    });
    require(finite, kInfinite);
    return as_known;
}

// The same for the listed entries of sparse columns.
void encode_sparse(const Longs &start, const Doubles &values, const Doubles &cuts, const Longs &cut_start,
                   const Vector<uint8_t> &codes, int threads) {
    int64_t columns = static_cast<int64_t>(start.shape(0)) - 1, entries = static_cast<int64_t>(values.shape(0));
    require(columns >= 0 && start.data()[0] == 0 && start.data()[columns] == entries &&
                static_cast<int64_t>(codes.shape(0)) == entries &&
                std::is_sorted(start.data(), start.data() + columns + 1),
            "The column starts, values and codes of a sparse matrix do not fit together.");
    check_cuts(cuts, cut_start, columns);
    require(threads >= 1, "threads must be at least 1.");
    nb::gil_scoped_release released;
    std::atomic<bool> finite{true};
    for_column_chunks(columns, useful_threads(threads, entries), [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j)
            for (int64_t k = start.data()[j]; k < start.data()[j + 1]; ++k) {
                double x = values.data()[k];
                if (std::isinf(x)) finite = false;
                int64_t at = cut_start.data()[j];
                int64_t below = count_below(cuts.data() + at, cut_start.data()[j + 1] - at, x);
                codes.data()[k] = x == x ? static_cast<uint8_t>(below) : kMissing;
            }
    });
    require(finite, kInfinite);
}

// ---- Storage ---------------------------------------------------------------------------------------------------

nb::tuple modes_to_numpy(Modes &&modes) {
    return nb::make_tuple(to_numpy(std::move(modes.code)), to_numpy(std::move(modes.count)),
                          to_numpy(std::move(modes.missing)));
}

nb::tuple modes_dense(const Grid<const uint8_t> &codes, int threads) {
    auto columns = static_cast<int64_t>(codes.shape(0)), rows = static_cast<int64_t>(codes.shape(1));
    require(threads >= 1, "threads must be at least 1.");
    Modes modes(columns);
    {
        nb::gil_scoped_release released;
        parallel(columns, useful_threads(threads, rows * columns), [&](int64_t j) {
            int64_t counts[256];
            count_codes(codes.data() + j * rows, rows, counts);
            modes.set(j, counts);
        });
    }
    return modes_to_numpy(std::move(modes));
}

// A table of few rows that all count the same: (cuts, cut_start, commonest codes, their counts, missing, varying).
nb::tuple bin_small(const AnyMatrix &array, int max_bins, const Grid<uint8_t> &codes) {
    Matrix x = view(array);
    check_common(x.rows, max_bins, 1);
    require(x.rows <= kSmallTable, "bin_small is for tables of few rows.");
    require(static_cast<int64_t>(codes.shape(0)) == x.columns && static_cast<int64_t>(codes.shape(1)) == x.rows,
            "codes must have one row for each column of X.");
    std::vector<std::vector<double>> cuts(static_cast<size_t>(x.columns));
    Modes modes(x.columns);
    std::vector<int32_t> varying;
    {
        nb::gil_scoped_release released;
        SmallBuffers buffers(static_cast<size_t>(x.rows));
        std::vector<double> values(
            static_cast<size_t>(kTileColumns * x.rows));  // a group of columns, one after the other
        int64_t counts[256];
        for (int64_t j = 0; j < x.columns; ++j) {
            if (j % kTileColumns == 0) load_columns(x, group_from(j, x.columns), values.data());
            const double *column = values.data() + j % kTileColumns * x.rows;
            require(!any_infinite(column, x.rows), kInfinite);
            cuts[static_cast<size_t>(j)] =
                bin_small_column(column, x.rows, max_bins, buffers, codes.data() + j * x.rows, counts);
            modes.set(j, counts);
            if (modes.count[static_cast<size_t>(j)] < x.rows) varying.push_back(static_cast<int32_t>(j));
        }
    }
    nb::tuple placed = join_cuts(std::move(cuts));
    return nb::make_tuple(placed[0], placed[1], to_numpy(std::move(modes.code)), to_numpy(std::move(modes.count)),
                          to_numpy(std::move(modes.missing)), to_numpy(std::move(varying)));
}

nb::tuple modes_sparse(int64_t n_rows, const Longs &start, const Bytes &codes, const Bytes &zero_codes) {
    auto columns = static_cast<int64_t>(zero_codes.shape(0));
    require(static_cast<int64_t>(start.shape(0)) == columns + 1 && start.data()[0] == 0 &&
                start.data()[columns] == static_cast<int64_t>(codes.shape(0)) &&
                std::is_sorted(start.data(), start.data() + columns + 1),
            "The column starts and codes of a sparse matrix do not fit together.");
    Modes modes(columns);
    {
        nb::gil_scoped_release released;
        for (int64_t j = 0; j < columns; ++j) {
            int64_t begin = start.data()[j], end = start.data()[j + 1];
            if (begin == end) {
                modes.set_constant(j, zero_codes.data()[j], n_rows);
                continue;
            }
            int64_t counts[256] = {};
            for (int64_t k = begin; k < end; ++k) ++counts[codes.data()[k]];
            counts[zero_codes.data()[j]] += n_rows - (end - begin);
            modes.set(j, counts);
        }
    }
    return modes_to_numpy(std::move(modes));
}

constexpr const char *kMiscounted = "The number of exceptions of a column is not the one announced.";

void pack_dense(const Grid<const uint8_t> &codes, const Ints &columns, const Bytes &defaults, const Longs &start,
                const Vector<int32_t> &rows_out, const Vector<uint8_t> &codes_out, int threads) {
    auto n_rows = static_cast<int64_t>(codes.shape(1));
    PackedColumns packed =
        checked_packing(static_cast<int64_t>(codes.shape(0)), columns, defaults, start, rows_out, codes_out);
    require(threads >= 1, "threads must be at least 1.");
    nb::gil_scoped_release released;
    std::atomic<bool> complete{true};
    parallel(packed.count, useful_threads(threads, packed.count * n_rows), [&](int64_t s) {
        if (!pack_full_column(codes.data() + packed.columns[s] * n_rows, n_rows, packed, s)) complete = false;
    });
    require(complete, kMiscounted);
}

void pack_sparse(int64_t n_rows, const Longs &start, const Ints &rows, const Bytes &codes, const Bytes &zero_codes,
                 const Ints &columns, const Bytes &defaults, const Longs &packed_start, const Vector<int32_t> &rows_out,
                 const Vector<uint8_t> &codes_out, int threads) {
    SparseCodes x = checked_codes(n_rows, start, rows, codes, zero_codes);
    PackedColumns packed = checked_packing(x.n_columns, columns, defaults, packed_start, rows_out, codes_out);
    require(threads >= 1, "threads must be at least 1.");
    nb::gil_scoped_release released;
    std::atomic<bool> complete{true};
    for_column_chunks(packed.count, useful_threads(threads, x.start[x.n_columns]), [&](int64_t begin, int64_t end) {
        for (int64_t s = begin; s < end; ++s)
            if (!pack_sparse_column(x, packed, s)) complete = false;
    });
    require(complete, kMiscounted);
}

// out[k, :] = the full column columns[k].
void fill_sparse(int64_t n_rows, const Longs &start, const Ints &rows, const Bytes &codes, const Bytes &zero_codes,
                 const Ints &columns, const Grid<uint8_t> &out) {
    SparseCodes x = checked_codes(n_rows, start, rows, codes, zero_codes);
    require(out.shape(0) == columns.shape(0) && static_cast<int64_t>(out.shape(1)) == n_rows,
            "out must have one row for each column asked.");
    for (size_t k = 0; k < columns.shape(0); ++k)
        require(columns.data()[k] >= 0 && columns.data()[k] < x.n_columns, "A column number is out of range.");
    nb::gil_scoped_release released;
    for (size_t k = 0; k < columns.shape(0); ++k)
        fill_column(x, columns.data()[k], out.data() + static_cast<int64_t>(k) * n_rows);
}

}  // namespace

void bind_binning(nb::module_ &m) {
    using namespace nb::literals;
    // What is written to must not be converted: the caller would never see the copy.
    m.def("cut_dense", &cut_dense, "X"_a, "weights"_a.none(), "max_bins"_a, "threads"_a, "hopeful"_a = false,
          "Cuts of every column: (cuts, cut_start, few, known). With `hopeful` the columns `few` showed at most four "
          "values in a sample, `known`, and it must be seen whether they have others.");
    m.def("cut_sparse", &cut_sparse, "n_rows"_a, "start"_a, "rows"_a, "values"_a, "weights"_a.none(), "max_bins"_a,
          "threads"_a, "Cuts of every column of a matrix in compressed columns: (cuts, cut_start).");
    m.def("encode_dense", &encode_dense, "X"_a, "cuts"_a, "cut_start"_a, "codes"_a.noconvert(), "threads"_a, "few"_a,
          "known"_a,
          "Writes codes[j, i] = number of cuts of column j below X[i, j]; 255 for NaN. Whether the columns `few` have "
          "no other values than the four `known` of each.");
    m.def("encode_sparse", &encode_sparse, "start"_a, "values"_a, "cuts"_a, "cut_start"_a, "codes"_a.noconvert(),
          "threads"_a, "Writes the codes of the listed entries.");
    m.def("modes_dense", &modes_dense, "codes"_a, "threads"_a,
          "Most frequent code, its count, and whether 255 occurs, for each column.");
    m.def("bin_small", &bin_small, "X"_a, "max_bins"_a, "codes"_a.noconvert(),
          "Writes the codes of a table of few rows that count the same: (cuts, cut_start, modes, counts, missing, "
          "columns that vary).");
    m.def("modes_sparse", &modes_sparse, "n_rows"_a, "start"_a, "codes"_a, "zero_codes"_a,
          "The same for sparse columns.");
    m.def("pack_dense", &pack_dense, "codes"_a, "columns"_a, "defaults"_a, "start"_a, "rows_out"_a.noconvert(),
          "codes_out"_a.noconvert(), "threads"_a, "Writes the rows and codes that differ from the default.");
    m.def("pack_sparse", &pack_sparse, "n_rows"_a, "start"_a, "rows"_a, "codes"_a, "zero_codes"_a, "columns"_a,
          "defaults"_a, "packed_start"_a, "rows_out"_a.noconvert(), "codes_out"_a.noconvert(), "threads"_a,
          "The same for sparse columns.");
    m.def("fill_sparse", &fill_sparse, "n_rows"_a, "start"_a, "rows"_a, "codes"_a, "zero_codes"_a, "columns"_a,
          "out"_a.noconvert(), "Writes sparse columns in full.");
}

}  // namespace dualboost
