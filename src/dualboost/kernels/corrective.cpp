// The corrective booster's rounds as Python sees them: checks at the boundary, results as new arrays.
#include "corrective_run.hpp"
#include "run_results.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

namespace dualboost {
namespace {

using In = Vector<const double>;
using namespace nb::literals;

int64_t length(const In &v) { return static_cast<int64_t>(v.shape(0)); }

// ---- Arguments --------------------

// As the single kernels read them: one cap for all is a scale, and the sum is taken chunk by chunk.
weights::Caps read_caps(const In &given, int64_t m) {
    const double *caps = given.data();
    bool positive = true;
    for (int64_t i = 0; i < length(given); ++i) positive &= caps[i] > 0.0 && std::isfinite(caps[i]);
    require(positive, "Every cap must be positive and finite.");
    double total = 0, one = std::min(caps[0], 2.0);
    if (length(given) == 1) total = one * static_cast<double>(m);
    else
        for (int64_t begin = 0; begin < m; begin += kChunk)
            total += weights::lane_sum(caps + begin, std::min(kChunk, m - begin));
    require(total >= 1.0 - weights::kFullMass, "The caps must sum to at least 1.");
    if (length(given) == 1) return {{nullptr, 1.0}, one, total};
    return {{caps, 1.0}, 1.0, total};
}

void check_finite(const In &v, const char *sentence) {
    double spoilt = 0;
    for (int64_t i = 0; i < length(v); ++i) spoilt += v.data()[i] * 0.0;
    require(spoilt == 0.0, sentence);
}

// What is the same for all rows is absorbed by the level: the offset, and a cap that was lowered.
double absorbed_by_level(const In &caps, const In &offset, const weights::Caps &read) {
    double absorbed = length(offset) == 1 ? offset.data()[0] : 0.0;
    if (read.equal()) absorbed += std::log(caps.data()[0] / read.scale);
    return absorbed;
}

struct Settings {
    double eta, budget, tol, rtol;
    int64_t rounds;
    int threads;
};

CorrectiveProblem read_problem(const JointSearch &search, const In &z, const In &d, const In &caps, const In &offset,
                               const Settings &s) {
    search.check();
    int64_t m = search.layout().rows();
    require(length(z) == m, "z must have one entry for each row of the search.");
    require(length(d) == m, "d must have one entry for each row of the search.");
    require(length(caps) == m || length(caps) == 1, "caps must have one entry, or one for each row.");
    require(length(offset) == m || length(offset) == 1, "offset must have one entry, or one for each row.");
    require(s.eta > 0.0 && std::isfinite(s.eta), "eta must be positive and finite.");
    require(s.budget > 0.0 && std::isfinite(s.budget), "budget must be positive and finite.");
    require(!std::isnan(s.tol) && !std::isnan(s.rtol), "tol and rtol must be numbers.");
    require(s.rounds >= 1, "rounds must be at least 1.");
    require(s.threads >= 1, "threads must be at least 1.");
    check_finite(offset, "offset must be finite.");
    check_finite(z, "z must be finite.");
    weights::Caps read = read_caps(caps, m);
    weights::PerRow shift{length(offset) == 1 ? nullptr : offset.data(), 0.0};
    double absorbed = absorbed_by_level(caps, offset, read);
    return {search, m, read, shift, absorbed, s.eta, s.budget, s.tol, s.rtol, s.threads};
}

// ---- Results --------------------

void add_records(const CorrectiveRecords &records, bool masks, nb::dict &result) {
    add_chosen(records.chosen, masks, result);
    result["edges"] = new_vector(records.edges);
    result["objectives"] = new_vector(records.objectives);
    result["bounds"] = new_vector(records.bounds);
    result["keep"] = new_vector(records.keep);
    result["added"] = new_vector(records.added);
}

// ---- The run --------------------

using Warmth = std::tuple<double, double, double>;
using Pair = std::tuple<double, double>;

nb::dict corrective_rounds(StumpSearch &search, const In &z, const In &d, double eta, const In &caps, const In &offset,
                           Warmth warmth, double budget, Pair accuracy, Pair best, int64_t rounds, int threads,
                           SubsetSearch *subsets) {
    Settings settings{eta, budget, std::get<0>(accuracy), std::get<1>(accuracy), rounds, threads};
    CorrectiveProblem problem = read_problem({&search, subsets}, z, d, caps, offset, settings);
    Room z_room(problem.m), d_first(problem.m), d_second(problem.m);
    double *const d_rooms[2] = {d_first.data(), d_second.data()};
    auto [level_margin, threshold, last] = warmth;
    SignalWatch watch;
    CorrectiveRun run(problem, {level_margin, threshold, last}, std::get<0>(best), std::get<1>(best), z.data(),
                      d.data(), z_room.data(), d_rooms);
    {
        nb::gil_scoped_release release;
        JointLock lock(problem.search);
        run.play(rounds, [&] { return watch(); });
    }
    nb::dict result;
    add_records(run.records(), subsets != nullptr, result);
    bool same_d = run.best_d() == run.d();
    result["z"] = vector_of(run.z(), problem.m, {&z_room});
    result["d"] = vector_of(run.d(), problem.m, {&d_first, &d_second});
    result["best_d"] = run.best_d() == nullptr ? nb::none()
                       : same_d                ? nb::object(result["d"])
                                               : vector_of(run.best_d(), problem.m, {&d_first, &d_second});
    result["best_objective_at"] = run.best_objective_at();
    result["best_bound_at"] = run.best_bound_at();
    const CorrectiveWarmth &warm = run.warmth();
    result["warmth"] = nb::make_tuple(warm.level_margin, warm.threshold, warm.last);
    result["reached"] = run.reached();
    result["interrupt"] = watch.raised();
    return result;
}

// The ensemble's weights through the same rounds: w <- keep * w, then w[number] += added.
nb::object shift_weights(const In &w, const Vector<const int64_t> &numbers, const In &keep, const In &added,
                         int64_t size) {
    size_t rounds = numbers.shape(0), n = static_cast<size_t>(size);
    require(keep.shape(0) == rounds && added.shape(0) == rounds, "numbers, keep and added must have equal lengths.");
    require(size >= length(w), "size must be at least the length of w.");
    for (size_t t = 0; t < rounds; ++t)
        require(numbers.data()[t] >= 0 && numbers.data()[t] < size, "a number is outside 0..size-1.");
    std::vector<double> out(n, 0.0);
    std::copy(w.data(), w.data() + w.shape(0), out.begin());
    for (size_t t = 0; t < rounds; ++t) {
        double factor = keep.data()[t];
        for (double &weight : out) weight *= factor;
        out[static_cast<size_t>(numbers.data()[t])] += added.data()[t];
    }
    return new_vector(out);
}

}  // namespace

void bind_corrective(nb::module_ &m) {
    m.def(
        "corrective_rounds", &corrective_rounds, "search"_a, "z"_a.noconvert(), "d"_a.noconvert(), "eta"_a,
        "caps"_a.noconvert(), "offset"_a.noconvert(), "warmth"_a, "budget"_a, "accuracy"_a, "best"_a, "rounds"_a,
        "threads"_a = 1, "subsets"_a.none() = nb::none(),
        "Up to `rounds` rounds of the corrective booster with closed-form steps and fixed smoothing; the same bits as "
        "by the single kernels. warmth = (level / eta, threshold, threshold before it), accuracy = (tol, rtol), best "
        "= (objective, bound) so far. Returns a dict: a record of each question (features, cuts, missing_right, "
        "edges, objectives, bounds; of a subset the cut is -1 and masks, 32 bytes each, tell it), of each move (keep, "
        "added), then z, d, best_d (None if no bound of this run was better), best_objective_at, best_bound_at (-1 "
        "likewise), warmth, reached, interrupt (None or what a signal handler raised).");
    m.def("shift_weights", &shift_weights, "w"_a.noconvert(), "numbers"_a.noconvert(), "keep"_a.noconvert(),
          "added"_a.noconvert(), "size"_a, "w through these rounds: w <- keep * w, then w[number] += added.");
}

}  // namespace dualboost
