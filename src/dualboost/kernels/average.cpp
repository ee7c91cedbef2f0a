// Averages over a whole class of hypotheses under softmax weights, both signs of each counted.
#include "average_stumps.hpp"
#include "stumps.hpp"

namespace dualboost {
namespace {

using namespace average;

// ---- The softmax of edges of both signs ------------------------------------------------------------------------

constexpr int kLanes = 16;  // the order of additions is fixed by the source, not by the vector width of the machine
constexpr double kNothing = -60.0;  // e^-60 of the largest weight: a billion of them change no bit of a sum

double fold(const double *lanes) {
    double sum = 0;
    for (int l = 0; l < kLanes; ++l) sum += lanes[l];
    return sum;
}

DUALBOOST_INLINE double weight_of(double x) {
    double value = fast_exp(x);
    return x < kNothing ? 0.0 : value;
}

// The largest |edge + step * change|; NaN if an entry is not finite.
DUALBOOST_CLONES double largest_edge(const double *edges, const double *change, double step, int64_t n) {
    double top[kLanes] = {}, spoilt[kLanes] = {};
    for (int64_t j = 0; j < n; j += kLanes) {
        int width = n - j < kLanes ? static_cast<int>(n - j) : kLanes;
        for (int l = 0; l < width; ++l) {
            double edge = std::fabs(edges[j + l] + (change ? step * change[j + l] : 0.0));
            top[l] = edge > top[l] ? edge : top[l];
            spoilt[l] += edge * 0.0;
        }
    }
    return *std::max_element(top, top + kLanes) + fold(spoilt);
}

// out_j <- e^(eta (edge - top)) - e^(eta (-edge - top)); the sum of both parts over all j.
DUALBOOST_CLONES double net_weights(const double *edges, double eta, double top, int64_t n, double *out) {
    double mass[kLanes] = {};
    for (int64_t j = 0; j < n; j += kLanes) {
        int width = n - j < kLanes ? static_cast<int>(n - j) : kLanes;
        for (int l = 0; l < width; ++l) {
            double right = weight_of(eta * (edges[j + l] - top)), wrong = weight_of(eta * (-edges[j + l] - top));
            mass[l] += right + wrong;
            out[j + l] = right - wrong;
        }
    }
    return fold(mass);
}

// The average of `change` under the softmax weights of edge + step * change.
DUALBOOST_CLONES double average_change(const double *edges, const double *change, double eta, double step, double top,
                                       int64_t n) {
    double mass[kLanes] = {}, moved[kLanes] = {};
    for (int64_t j = 0; j < n; j += kLanes) {
        int width = n - j < kLanes ? static_cast<int>(n - j) : kLanes;
        for (int l = 0; l < width; ++l) {
            double edge = edges[j + l] + step * change[j + l];
            double right = weight_of(eta * (edge - top)), wrong = weight_of(eta * (-edge - top));
            mass[l] += right + wrong;
            moved[l] += (right - wrong) * change[j + l];
        }
    }
    return fold(moved) / fold(mass);
}

void check_eta(double eta) { require(std::isfinite(eta) && eta > 0, "eta must be a finite number above 0"); }

double signed_softmax(const Vector<const double> &edges, double eta, const Vector<double> &out) {
    auto n = static_cast<int64_t>(edges.shape(0));
    require(n >= 1 && static_cast<int64_t>(out.shape(0)) == n, "edges and out must have equal lengths, not 0");
    check_eta(eta);
    const double *e = edges.data();
    double *w = out.data();
    nb::gil_scoped_release release;
    double top = largest_edge(e, nullptr, 0.0, n);
    require(std::isfinite(top), "edges must be finite");
    double mass = net_weights(e, eta, top, n, w);
    for (int64_t j = 0; j < n; ++j) w[j] /= mass;
    return top + std::log(mass) / eta;
}

double signed_slope(const Vector<const double> &edges, const Vector<const double> &change, double eta, double step) {
    auto n = static_cast<int64_t>(edges.shape(0));
    require(n >= 1 && static_cast<int64_t>(change.shape(0)) == n, "edges and change must have equal lengths, not 0");
    check_eta(eta);
    const double *e = edges.data(), *c = change.data();
    nb::gil_scoped_release release;
    double top = largest_edge(e, c, step, n);
    require(std::isfinite(top), "edges, change and step must be finite");
    return average_change(e, c, eta, step, top, n);
}

// ---- Stumps ----------------------------------------------------------------------------------------------------

int64_t stump_count(StumpSearch &search) { return StumpOrder(search.layout()).size(); }

double stump_edges(StumpSearch &search, const Vector<const double> &d, const Vector<double> &out, int threads) {
    const StumpLayout &layout = search.layout();
    StumpOrder order(layout);
    require(static_cast<int64_t>(d.shape(0)) == layout.rows(), "d must have n_rows entries");
    require(static_cast<int64_t>(out.shape(0)) == order.size(), "out must have one entry for each stump");
    require(threads >= 1, "threads must be at least 1");
    const double *weights = d.data();
    double *edges = out.data();
    nb::gil_scoped_release release;
    FixedWeights q(layout, weights, threads);
    // Each weight was rounded by at most half a unit; the next floats cover the rounding of this formula.
    double fixed = static_cast<double>(StumpEdges(layout, order, q, edges).run(threads));
    fixed += static_cast<double>(layout.rows() / 2 + 2);
    return std::nextafter(std::nextafter(fixed, HUGE_VAL), HUGE_VAL) / kFixedOne;
}

void stump_margins(StumpSearch &search, const Vector<const double> &weights, const Vector<double> &out, int threads) {
    const StumpLayout &layout = search.layout();
    StumpOrder order(layout);
    require(static_cast<int64_t>(weights.shape(0)) == order.size(), "weights must have one entry for each stump");
    require(static_cast<int64_t>(out.shape(0)) == layout.rows(), "out must have n_rows entries");
    require(threads >= 1, "threads must be at least 1");
    const double *w = weights.data();
    double *margins = out.data();
    nb::gil_scoped_release release;
    StumpTables tables = tables_of(layout, order, w);
    int64_t work = layout.rows() * static_cast<int64_t>(tables.size() + 1);
    parallel(chunk_count(layout.rows()), work < kWorthThreads ? 1 : threads,
             [&](int64_t c) { tables.margins(c * kChunk, std::min((c + 1) * kChunk, layout.rows()), margins); });
}

}  // namespace

void bind_average(nb::module_ &m) {
    using namespace nb::literals;
    m.def("signed_softmax", &signed_softmax, "edges"_a.noconvert(), "eta"_a, "out"_a.noconvert(),
          "out = softmax weight of each edge minus that of its negative; returns log(sum of exponentials) / eta.");
    m.def("signed_slope", &signed_slope, "edges"_a.noconvert(), "change"_a.noconvert(), "eta"_a, "step"_a,
          "The average of `change` under the signed softmax weights of edges + step * change.");
    m.def("stump_count", &stump_count, "search"_a, "The number of stumps, each counted with one sign.");
    m.def("stump_edges", &stump_edges, "search"_a, "d"_a.noconvert(), "out"_a.noconvert(), "threads"_a = 1,
          "The edges of all stumps in index order; returns a bound that none exceeds in size.");
    m.def("stump_margins", &stump_margins, "search"_a, "weights"_a.noconvert(), "out"_a.noconvert(), "threads"_a = 1,
          "out_i = sum of w_j y_i h_j(x_i) over all stumps in index order, one table a feature.");
}

}  // namespace dualboost
