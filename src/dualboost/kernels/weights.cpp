// Kernels on row weights, as Python sees them: checks at the boundary, then the projections and linear passes.
#include "weights_entropic.hpp"
#include "weights_euclidean.hpp"
#include "weights_linear.hpp"
#include "weights_lowest.hpp"

#include <nanobind/stl/pair.h>

namespace dualboost::weights {
namespace {

using In = Vector<const double>;
using Out = Vector<double>;
using namespace nb::literals;

int64_t length(const In &v) { return static_cast<int64_t>(v.shape(0)); }

void check_rows(int64_t m, int threads) {
    require(m >= 1, "There must be at least one row.");
    require(threads >= 1, "threads must be at least 1.");
}

// Passes that read `input` after writing to `out` need them apart.
void check_out(const Out &out, int64_t m) {
    require(static_cast<int64_t>(out.shape(0)) == m, "out must have one entry for each row.");
}
void check_apart(const Out &out, const In &input) {
    auto begin = reinterpret_cast<uintptr_t>(out.data()), end = begin + 8 * out.shape(0);
    auto other = reinterpret_cast<uintptr_t>(input.data()), other_end = other + 8 * input.shape(0);
    require(other_end <= begin || end <= other, "out must not share memory with an input.");
}

void check_one_or_each(const In &numbers, int64_t m, const char *sentence) {
    require(length(numbers) == m || length(numbers) == 1, sentence);
}

// Per chunk: the sum of the caps (or of other positive numbers), NaN if one is not positive and finite.
DUALBOOST_CLONES double caps_chunk(const double *caps, int64_t n) {
    double sum[kLanes] = {}, spoilt[kLanes] = {};
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes)
        for (int l = 0; l < kLanes; ++l) {
            sum[l] += caps[j + l];
            spoilt[l] += caps[j + l] > 0.0 ? caps[j + l] * 0.0 : kInfinity;
        }
    for (int l = 0; j + l < n; ++l) {
        sum[l] += caps[j + l];
        spoilt[l] += caps[j + l] > 0.0 ? caps[j + l] * 0.0 : kInfinity;
    }
    return fold(spoilt) == 0.0 ? fold(sum) : std::numeric_limits<double>::quiet_NaN();
}

double positive_sum(const In &given, int64_t m, int threads, const char *sentence) {
    std::vector<double> parts(static_cast<size_t>(chunk_count(m)));
    over_chunks(m, threads, [&](int64_t k, int64_t begin, int64_t n) {
        parts[static_cast<size_t>(k)] = caps_chunk(given.data() + begin, n);
    });
    double total = 0;
    for (double part : parts) total += part;
    require(!std::isnan(total), sentence);
    return total;
}

Caps read_caps(const In &given, int64_t m, int threads) {
    constexpr const char *positive = "Every cap must be positive and finite.";
    constexpr const char *enough = "The caps must sum to at least 1.";
    double one = given.data()[0];
    if (length(given) == 1) {
        require(one > 0.0 && std::isfinite(one), positive);
        require(one * static_cast<double>(m) >= 1.0 - kFullMass, enough);
        one = std::min(one, 2.0);  // a cap above 1 is never reached, and a moderate one keeps exponentials in range
        return {{nullptr, 1.0}, one, one * static_cast<double>(m)};
    }
    double total = positive_sum(given, m, threads, positive);
    require(total >= 1.0 - kFullMass, enough);
    return {{given.data(), 1.0}, 1.0, total};
}

// Caps on each copy of a row; their total counts every copy.
Caps read_caps_of_copies(const In &caps, const In &copies, int64_t m, int threads) {
    if (length(copies) == 1 && copies.data()[0] == 1.0) return read_caps(caps, m, threads);
    constexpr const char *positive = "Every cap and every number of copies must be positive and finite.";
    bool one_cap = length(caps) == 1, one_count = length(copies) == 1;
    double rows = static_cast<double>(m), cap = caps.data()[0], count = copies.data()[0];
    require(cap > 0.0 && std::isfinite(cap) && count > 0.0 && std::isfinite(count), positive);
    double counts = one_count ? count * rows : positive_sum(copies, m, threads, positive);
    double total = one_cap ? cap * counts : count * positive_sum(caps, m, threads, positive);
    if (!one_cap && !one_count) total = dot_of(caps.data(), copies.data(), m, threads);
    require(total >= 1.0 - kFullMass, "The caps must sum to at least 1 over all copies.");
    return {{one_cap ? nullptr : caps.data(), 1.0}, one_cap ? cap : 1.0, total};
}

// Long work lets other Python threads run; short work is done before they would notice.
class ReleaseForLongWork {
public:
    explicit ReleaseForLongWork(int64_t rows) {
        if (rows >= kRowsForRelease) released_.emplace();
    }

private:
    std::optional<nb::gil_scoped_release> released_;
};

// ---- Entropic --------------------

std::pair<double, int> run_entropic(const In &z, double eta, const In &caps, const In &offset, double start,
                                    const Out &out, int threads, bool select_only) {
    int64_t m = length(z);
    check_rows(m, threads);
    check_out(out, m);
    check_one_or_each(caps, m, "caps must have one entry, or one for each row.");
    check_one_or_each(offset, m, "offset must have one entry, or one for each row.");
    for (const In *input : {&z, &caps, &offset}) check_apart(out, *input);
    require(eta > 0.0 && std::isfinite(eta), "eta must be positive and finite.");
    ReleaseForLongWork release(m);
    bool one_offset = length(offset) == 1;
    Entropic p{z.data(), m, eta, read_caps(caps, m, threads), {one_offset ? nullptr : offset.data(), 0.0}, threads};
    // What is the same for all rows is absorbed by the level: the offset, and a cap that was lowered.
    double absorbed = one_offset ? offset.data()[0] : 0.0;
    require(std::isfinite(absorbed), "z and offset must be finite.");
    if (p.caps.equal()) absorbed += std::log(caps.data()[0] / p.caps.scale);
    double level = entropic_project(p, start + absorbed, select_only, out.data());
    return {level - absorbed, p.passes};
}

std::pair<double, int> entropic(In z, double eta, In caps, In offset, double start, Out out, int threads) {
    return run_entropic(z, eta, caps, offset, start, out, threads, false);
}

double entropic_select(In z, double eta, In caps, In offset, Out out) {
    return run_entropic(z, eta, caps, offset, 0.0, out, 1, true).first;
}

// ---- Linear and Euclidean --------------------

std::pair<double, double> average_lowest(In v, In caps, double centre, double width, int threads) {
    int64_t m = length(v);
    check_rows(m, threads);
    check_one_or_each(caps, m, "caps must have one entry, or one for each row.");
    require(!(width < 0.0), "width must not be negative.");
    ReleaseForLongWork release(m);
    Caps read = read_caps(caps, m, threads);
    Filled filled = lowest_fill(v.data(), m, read, centre, width, threads);
    return {filled.moment + (1.0 - filled.mass) * filled.threshold, filled.threshold};
}

void vertex(In v, In caps, Out out) {
    int64_t m = length(v);
    check_rows(m, 1);
    check_out(out, m);
    check_one_or_each(caps, m, "caps must have one entry, or one for each row.");
    for (const In *input : {&v, &caps}) check_apart(out, *input);
    ReleaseForLongWork release(m);
    Caps read = read_caps(caps, m, 1);
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    Filled filled = lowest_fill(v.data(), m, read, unknown, unknown, 1);
    fill_vertex(v.data(), read.weight, m, read.scale, filled.threshold, filled.mass, out.data());
}

double euclidean_of_copies(In z, In caps, In copies, double start, Out out, int threads) {
    int64_t m = length(z);
    check_rows(m, threads);
    check_out(out, m);
    check_one_or_each(caps, m, "caps must have one entry, or one for each row.");
    check_one_or_each(copies, m, "copies must have one entry, or one for each row.");
    for (const In *input : {&z, &caps, &copies}) check_apart(out, *input);
    ReleaseForLongWork release(m);
    bool one_count = length(copies) == 1;
    PerRow counts{one_count ? nullptr : copies.data(), one_count ? copies.data()[0] : 1.0};
    Euclidean p{z.data(), m, read_caps_of_copies(caps, copies, m, threads), counts, threads};
    return euclidean_project(p, start, out.data());
}

double euclidean(In z, In caps, double start, Out out, int threads) {
    double one = 1.0;
    return euclidean_of_copies(z, caps, In(&one, {1}), start, out, threads);
}

// ---- Columns --------------------

template <class T> int64_t check_column(const In &z, const Vector<const T> &column, int threads) {
    check_rows(length(z), threads);
    require(column.shape(0) == z.shape(0), "column must have one entry for each row.");
    return length(z);
}

template <class T> double spread(In z, Vector<const T> column, double sign, int threads) {
    int64_t m = check_column(z, column, threads);
    require(std::isfinite(sign), "sign must be finite.");
    ReleaseForLongWork release(m);
    return spread_of(z.data(), column.data(), m, sign, threads);
}

template <class T> void move(In z, Vector<const T> column, double keep, double step, Out out, int threads) {
    int64_t m = check_column(z, column, threads);
    check_out(out, m);
    require(std::isfinite(keep) && std::isfinite(step), "keep and step must be finite.");
    if (static_cast<const void *>(out.data()) != z.data()) check_apart(out, z);  // in place is fine
    auto begin = reinterpret_cast<uintptr_t>(out.data()), other = reinterpret_cast<uintptr_t>(column.data());
    bool apart = other + sizeof(T) * column.shape(0) <= begin || begin + 8 * out.shape(0) <= other;
    require(apart, "out must not share memory with column.");
    ReleaseForLongWork release(m);
    move_to(z.data(), column.data(), m, keep, step, out.data(), threads);
}

template <class T> double dot(In a, Vector<const T> column, int threads) {
    int64_t m = check_column(a, column, threads);
    ReleaseForLongWork release(m);
    return dot_of(a.data(), column.data(), m, threads);
}

void centre(Grid<double> out, In centres, In factors) {
    const int64_t columns = length(centres), m = length(factors);
    require(static_cast<int64_t>(out.shape(0)) == columns, "centres must have one entry for each column.");
    require(static_cast<int64_t>(out.shape(1)) == m, "factors must have one entry for each row.");
    const Out whole(out.data(), {out.size()});
    for (const In *input : {&centres, &factors}) check_apart(whole, *input);
    ReleaseForLongWork release(columns * m);
    for (int64_t k = 0; k < columns; ++k) centre_column(out.data() + k * m, factors.data(), m, centres.data()[k]);
}

template <class T> void bind_columns(nb::module_ &m) {
    m.def("spread", &spread<T>, "z"_a.noconvert(), "column"_a.noconvert(), "sign"_a, "threads"_a = 1,
          "max_i |sign * column_i - z_i|.");
    m.def("move", &move<T>, "z"_a.noconvert(), "column"_a.noconvert(), "keep"_a, "step"_a, "out"_a.noconvert(),
          "threads"_a = 1, "out_i = keep * z_i + step * column_i; out may be z.");
    m.def("dot", &dot<T>, "a"_a.noconvert(), "column"_a.noconvert(), "threads"_a = 1, "sum_i a_i * column_i.");
}

void bind(nb::module_ &m) {
    m.def("entropic", &entropic, "z"_a.noconvert(), "eta"_a, "caps"_a.noconvert(), "offset"_a.noconvert(), "start"_a,
          "out"_a.noconvert(), "threads"_a = 1,
          "out_i = c_i min(1, exp(level + offset_i - eta z_i)) with sum 1, from the level `start` (NaN: unknown); "
          "returns (level, passes over z).");
    m.def("entropic_select", &entropic_select, "z"_a.noconvert(), "eta"_a, "caps"_a.noconvert(), "offset"_a.noconvert(),
          "out"_a.noconvert(), "The same by selection in expected linear time; returns level.");
    m.def("average_lowest", &average_lowest, "v"_a.noconvert(), "caps"_a.noconvert(), "centre"_a, "width"_a,
          "threads"_a = 1,
          "(min <d, v> over 0 <= d <= caps with sum 1, its threshold), looking first within centre +- width.");
    m.def("vertex", &vertex, "v"_a.noconvert(), "caps"_a.noconvert(), "out"_a.noconvert(),
          "The minimiser itself: full caps on the smallest v, at most one fraction, ties to the lowest index.");
    m.def("euclidean", &euclidean, "z"_a.noconvert(), "caps"_a.noconvert(), "start"_a, "out"_a.noconvert(),
          "threads"_a = 1,
          "out_i = clip(z_i - tau, 0, c_i) with sum 1, from the guess `start` (NaN: unknown); "
          "returns tau.");
    m.def("euclidean_of_copies", &euclidean_of_copies, "z"_a.noconvert(), "caps"_a.noconvert(), "copies"_a.noconvert(),
          "start"_a, "out"_a.noconvert(), "threads"_a = 1,
          "The same where a row stands for copies: the sum of copies_i * out_i is 1.");
    m.def("centre", &centre, "out"_a.noconvert(), "centres"_a.noconvert(), "factors"_a.noconvert(),
          "out_ki = (out_ki - centres_k) * factors_i, where each line of out is a column.");
    bind_columns<int8_t>(m);
    bind_columns<double>(m);
}

}  // namespace
}  // namespace dualboost::weights

namespace dualboost {
void bind_weights(nb::module_ &m) { weights::bind(m); }
}  // namespace dualboost
