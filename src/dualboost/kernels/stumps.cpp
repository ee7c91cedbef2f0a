// Decision stumps on binned data: the exact best hypotheses of the whole class under given row weights.
#include "stumps.hpp"
#include "stumps_arrays.hpp"
#include "stumps_engine.hpp"
#include "stumps_rows.hpp"

namespace dualboost {

// New NumPy vectors by numpy.empty itself: half the time of an export through nanobind, which counts for small data.
class NewVectors {
public:
    NewVectors() : empty_(nb::module_::import_("numpy").attr("empty")) {
        nb::object dtype = nb::module_::import_("numpy").attr("dtype");
        int32_ = dtype("int32");
        uint8_ = dtype("uint8");
        float64_ = dtype("float64");
    }

    nb::object of(const std::vector<int32_t> &values) const { return filled(int32_, values); }
    nb::object of(const std::vector<uint8_t> &values) const { return filled(uint8_, values); }
    nb::object of(const std::vector<double> &values) const { return filled(float64_, values); }

private:
    nb::object empty_, int32_, uint8_, float64_;

    template <class T> nb::object filled(const nb::object &dtype, const std::vector<T> &values) const {
        nb::object vector = empty_(values.size(), dtype);
        Py_buffer view;
        if (PyObject_GetBuffer(vector.ptr(), &view, PyBUF_WRITABLE) != 0) throw nb::python_error();
        std::memcpy(view.buf, values.data(), values.size() * sizeof(T));
        PyBuffer_Release(&view);
        return vector;
    }
};

StumpSearch::StumpSearch(const StumpArrays &arrays) : make_(std::make_unique<NewVectors>()) {
    nb::gil_scoped_release release;
    engine_ = std::make_unique<StumpEngine>(arrays);
}

StumpSearch::~StumpSearch() = default;

// ---- The search --------------------

nb::tuple StumpSearch::best(const Vector<const double> &d, int64_t k, int threads) {
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
    return answer();
}

void StumpSearch::forget() {
    nb::gil_scoped_release release;
    std::lock_guard<std::mutex> lock(mutex_);
    forget_loaded();
}

int64_t StumpSearch::looked() const { return engine_->looked(); }
int64_t StumpSearch::summed() const { return engine_->summed(); }
size_t StumpSearch::blocks() const { return engine_->blocks(); }
const StumpLayout &StumpSearch::layout() const { return engine_->layout; }
const StumpBlocks &StumpSearch::columns() const { return engine_->columns(); }
void StumpSearch::load(const double *d, int threads) { engine_->load(d, threads); }
void StumpSearch::load_chunk(const double *d, int64_t chunk) { engine_->load_chunk(d, chunk); }
void StumpSearch::loaded() { engine_->loaded(); }
void StumpSearch::forget_loaded() {
    engine_->forget();
    remembered_.reset();
}

std::optional<BestStump> StumpSearch::best_loaded(int threads, double least) {
    engine_->best(1, threads, to_fixed(least));
    if (engine_->found().empty()) return std::nullopt;
    const Found &found = engine_->found().front();
    return BestStump{found.stump, static_cast<double>(found.edge) / kFixedOne, bound()};
}

nb::tuple StumpSearch::answer() {
    features_.clear();
    cuts_.clear();
    missing_right_.clear();
    edges_.clear();
    for (const Found &found : engine_->found()) {
        features_.push_back(found.stump.feature);
        cuts_.push_back(found.stump.cut);
        missing_right_.push_back(found.stump.missing_right);
        edges_.push_back(static_cast<double>(found.edge) / kFixedOne);
    }
    return nb::make_tuple(make_->of(features_), make_->of(cuts_), make_->of(missing_right_), make_->of(edges_),
                          bound());
}

// Each weight was rounded by at most half a unit; the next floats cover the rounding of this formula.
double StumpSearch::bound() const {
    double fixed = static_cast<double>(engine_->largest()) + static_cast<double>(rows() / 2 + 2);
    return std::nextafter(std::nextafter(fixed, HUGE_VAL), HUGE_VAL) / kFixedOne;
}

// ---- What stumps say about rows --------------------

void StumpSearch::column(int32_t feature, int32_t cut, int missing_right, const Vector<int8_t> &out,
                         int threads) const {
    require(missing_right == 0 || missing_right == 1, "missing_right must be 0 or 1");
    Stump stump{feature, cut, static_cast<uint8_t>(missing_right)};
    layout().check(stump);
    check_out(out.shape(0), threads);
    int8_t *data = out.data();
    nb::gil_scoped_release release;
    over_rows(1, threads, [&](int64_t begin, int64_t end) { stump_column(layout(), stump, begin, end, data); });
}

void StumpSearch::margins(const Vector<const int32_t> &features, const Vector<const int32_t> &cuts,
                          const Vector<const uint8_t> &missing_right, const Vector<const double> &weights,
                          const Vector<double> &out, int threads) const {
    size_t n = features.shape(0);
    require(cuts.shape(0) == n && missing_right.shape(0) == n && weights.shape(0) == n,
            "features, cuts, missing_right and weights must have equal lengths");
    check_out(out.shape(0), threads);
    std::vector<Stump> stumps(n);
    for (size_t j = 0; j < n; ++j) {
        stumps[j] = {features.data()[j], cuts.data()[j], missing_right.data()[j]};
        layout().check(stumps[j]);
    }
    double *data = out.data();
    const double *w = weights.data();
    nb::gil_scoped_release release;
    StumpTables tables(layout(), stumps, w);
    over_rows(tables.size() + 1, threads, [&](int64_t begin, int64_t end) { tables.margins(begin, end, data); });
}

void StumpSearch::check_out(size_t size, int threads) const {
    require(static_cast<int64_t>(size) == rows(), "out must have n_rows entries");
    require(threads >= 1, "threads must be at least 1");
}

template <class Work> void StumpSearch::over_rows(size_t passes, int threads, const Work &work) const {
    int used = rows() * static_cast<int64_t>(passes) >= kWorthThreads ? threads : 1;
    parallel(chunk_count(rows()), used, [&](int64_t c) { work(c * kChunk, std::min((c + 1) * kChunk, rows())); });
}

// ---- Python --------------------

void bind_stumps(nb::module_ &m) {
    nb::class_<StumpSearch> search(m, "StumpSearch",
                                   "The best stumps of the whole class, exactly, for given row weights.");
    take_arrays(search);
    search
        .def("best", &StumpSearch::best, nb::arg("d").noconvert(), nb::arg("k") = 1, nb::arg("threads") = 1,
             "(features, cuts, missing_right, signed edges, bound): the best hypothesis of each of the k best groups.")
        .def("column", &StumpSearch::column, nb::arg("feature"), nb::arg("cut"), nb::arg("missing_right"),
             nb::arg("out").noconvert(), nb::arg("threads") = 1, "out_i = y_i h(x_i).")
        .def("margins", &StumpSearch::margins, nb::arg("features").noconvert(), nb::arg("cuts").noconvert(),
             nb::arg("missing_right").noconvert(), nb::arg("weights").noconvert(), nb::arg("out").noconvert(),
             nb::arg("threads") = 1, "out_i = sum of w_j y_i h_j(x_i), one table a feature.")
        .def("forget", &StumpSearch::forget, "Drop what is remembered of earlier calls; answers do not change.")
        .def_prop_ro("looked", &StumpSearch::looked, "Features examined by the last call of best.")
        .def_prop_ro("summed", &StumpSearch::summed, "Those of them whose exact sums were needed.")
        .def_prop_ro("blocks", &StumpSearch::blocks, "Columns that a full look sums: those with few codes share one.");
}

}  // namespace dualboost
