// Subsets of categories: the best of all under given row weights, exactly, and what they say about rows.
#include "subsets.hpp"

#include "stumps_arrays.hpp"
#include "subsets_engine.hpp"

namespace dualboost {

SubsetSearch::SubsetSearch(const StumpArrays &arrays) {
    nb::gil_scoped_release release;
    engine_ = std::make_shared<SubsetEngine>(arrays);
}

SubsetSearch::~SubsetSearch() = default;

// ---- The search --------------------

nb::tuple SubsetSearch::best(const Vector<const double> &d, int64_t k, int threads) {
    require(static_cast<int64_t>(d.shape(0)) == rows(), "d must have n_rows entries");
    require(k >= 1, "k must be at least 1");
    require(threads >= 1, "threads must be at least 1");
    std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
    {
        nb::gil_scoped_release release;
        lock.lock();
        engine_->load(d.data(), threads);
        engine_->best(static_cast<size_t>(k), threads);
    }
    nb::list found;
    for (const Subset &subset : engine_->found())
        found.append(nb::make_tuple(subset.feature, nb::bytes(subset.mask.data(), subset.mask.size()),
                                    static_cast<double>(subset.edge) / kFixedOne));
    return nb::make_tuple(found, bound(engine_->largest()));
}

// Cells of codes that a column does not have are zero.
nb::tuple SubsetSearch::sums(const Vector<const double> &d, const Grid<double> &out, int threads) {
    require(static_cast<int64_t>(d.shape(0)) == rows(), "d must have n_rows entries");
    require(out.shape(0) == engine_->columns() && out.shape(1) == kCodes,
            "out must have a row of 256 cells for each column that varies");
    require(threads >= 1, "threads must be at least 1");
    double *data = out.data();
    int64_t largest;
    std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
    {
        nb::gil_scoped_release release;
        lock.lock();
        std::fill(data, data + out.size(), 0.0);
        engine_->load(d.data(), threads);
        largest = engine_->all_sums(threads, [&](size_t column, const CodeSums<int64_t> &found) {
            double *row = data + column * kCodes;
            row[0] = static_cast<double>(found.cells[0]) / kFixedOne;
            found.down_to_code_one([&](int code) { row[code] = static_cast<double>(found.cells[code]) / kFixedOne; });
        });
    }
    return nb::make_tuple(static_cast<double>(engine_->total()) / kFixedOne, bound(largest));
}

void SubsetSearch::forget() {
    nb::gil_scoped_release release;
    std::lock_guard<std::mutex> lock(mutex_);
    forget_loaded();
}

int64_t SubsetSearch::looked() const { return engine_->looked(); }
const StumpLayout &SubsetSearch::layout() const { return engine_->layout; }
const StumpBlocks &SubsetSearch::columns() const { return engine_->blocks(); }
void SubsetSearch::load(const double *d, int threads) { engine_->load(d, threads); }
void SubsetSearch::load_chunk(const double *d, int64_t chunk) { engine_->load_chunk(d, chunk); }
void SubsetSearch::loaded() { engine_->loaded(); }
void SubsetSearch::forget_loaded() { engine_->forget(); }

BestSubset SubsetSearch::best_loaded(int threads) {
    engine_->best(1, threads);
    const Subset &found = engine_->found().front();
    return {found.feature, found.mask, static_cast<double>(found.edge) / kFixedOne, bound(engine_->largest())};
}

// Each weight was rounded by at most half a unit; the next floats cover the rounding of this formula.
double SubsetSearch::bound(int64_t largest) const {
    double fixed = static_cast<double>(largest) + static_cast<double>(rows() / 2 + 2);
    return std::nextafter(std::nextafter(fixed, HUGE_VAL), HUGE_VAL) / kFixedOne;
}

// ---- What subsets say about rows --------------------

void SubsetSearch::column(int32_t feature, const Vector<const uint8_t> &mask, const Vector<int8_t> &out,
                          int threads) const {
    require(static_cast<int64_t>(out.shape(0)) == rows(), "out must have n_rows entries");
    require(mask.shape(0) == kCodes / 8, "a mask must have 32 bytes");
    require(threads >= 1, "threads must be at least 1");
    check_feature(feature);
    if (feature >= 0) check_mask(layout(), static_cast<size_t>(feature), mask.data());
    const uint8_t *codes = mask.data();
    int8_t *data = out.data();
    nb::gil_scoped_release release;
    over_rows(threads, [&](int64_t begin, int64_t end) { subset_column(layout(), feature, codes, begin, end, data); });
}

// The tables hold one score for each code of each feature, which ascend.
void SubsetSearch::margins(double base, const Vector<const int32_t> &features, const Grid<const double> &tables,
                           const Vector<double> &out, int threads) const {
    size_t n = features.shape(0);
    require(tables.shape(0) == n, "tables must have one row for each of features");
    require(n == 0 || tables.shape(1) == kCodes, "a table must have 256 scores");
    require(static_cast<int64_t>(out.shape(0)) == rows(), "out must have n_rows entries");
    require(threads >= 1, "threads must be at least 1");
    for (size_t j = 0; j < n; ++j) {
        check_feature(features.data()[j]);
        require(features.data()[j] >= 0 && (j == 0 || features.data()[j - 1] < features.data()[j]),
                "features must ascend from 0");
    }
    double *data = out.data();
    nb::gil_scoped_release release;
    StumpTables scores(layout(), base, {features.data(), features.data() + n},
                       {tables.data(), tables.data() + n * kCodes});
    over_rows(threads, [&](int64_t begin, int64_t end) { scores.margins(begin, end, data); });
}

void SubsetSearch::check_feature(int32_t feature) const {
    require(feature >= -1 && feature < static_cast<int64_t>(layout().features()),
            "a feature index is outside -1..n_features-1");
    require(feature < 0 || layout().home(static_cast<size_t>(feature)) != Home::nowhere,
            "a feature has no categories to choose from");
}

template <class Work> void SubsetSearch::over_rows(int threads, const Work &work) const {
    constexpr int64_t worth = 1 << 18;
    parallel(chunk_count(rows()), rows() >= worth ? threads : 1,
             [&](int64_t c) { work(c * kChunk, std::min((c + 1) * kChunk, rows())); });
}

// ---- Python --------------------

void bind_subsets(nb::module_ &m) {
    nb::class_<SubsetSearch> search(m, "SubsetSearch",
                                    "The best subsets of categories, exactly, for given row weights.");
    take_arrays(search);
    search
        .def("best", &SubsetSearch::best, nb::arg("d").noconvert(), nb::arg("k") = 1, nb::arg("threads") = 1,
             "([(feature, mask of 32 bytes, signed edge), ...], bound): the best subset of each of the k best columns.")
        .def("sums", &SubsetSearch::sums, nb::arg("d").noconvert(), nb::arg("out").noconvert(), nb::arg("threads") = 1,
             "out[j, c] = sum of y_i d_i where column j has code c; (sum over all rows, bound of the largest edge).")
        .def("column", &SubsetSearch::column, nb::arg("feature"), nb::arg("mask").noconvert(),
             nb::arg("out").noconvert(), nb::arg("threads") = 1, "out_i = y_i h(x_i).")
        .def("margins", &SubsetSearch::margins, nb::arg("base"), nb::arg("features").noconvert(),
             nb::arg("tables").noconvert(), nb::arg("out").noconvert(), nb::arg("threads") = 1,
             "out_i = y_i times the base and the table of each feature, by code.")
        .def("forget", &SubsetSearch::forget, "Drop what is remembered of earlier calls; answers do not change.")
        .def_prop_ro("looked", &SubsetSearch::looked, "Columns examined by the last call of best.");
}

}  // namespace dualboost
