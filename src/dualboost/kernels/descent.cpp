// Coordinate descent's rounds as Python sees them, and the functions of one number that its losses are made of.
#include "descent_incremental.hpp"
#include "descent_plain.hpp"
#include "run_results.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

namespace dualboost {
namespace {

using In = Vector<const double>;
using namespace nb::literals;

int64_t length(const In &v) { return static_cast<int64_t>(v.shape(0)); }

// ---- Functions of each entry --------------------

template <void (*function)(const double *, int64_t, double *)> nb::object each(const In &x) {
    Room out(std::max<int64_t>(length(x), 1));
    if (length(x) < weights::kRowsForRelease) {
        function(x.data(), length(x), out.data());
    } else {
        nb::gil_scoped_release release;
        function(x.data(), length(x), out.data());
    }
    return out.release(length(x));
}

// The weights scaled to sum 1, and their sum; all zeros where they have all but vanished.
std::tuple<nb::object, double> scaled_to_one(const In &d, int threads) {
    require(threads >= 1, "threads must be at least 1.");
    int64_t m = length(d);
    Room out(std::max<int64_t>(m, 1));
    std::vector<double> sums(static_cast<size_t>(chunk_count(m)));
    double mass = 0;
    {
        nb::gil_scoped_release release;
        weights::over_chunks(m, threads, [&](int64_t k, int64_t begin, int64_t n) {
            sums[static_cast<size_t>(k)] = weights::lane_sum(d.data() + begin, n);
        });
        for (double part : sums) mass += part;
        double scale = descent::scale_to_one(mass), *values = out.data();
        weights::over_chunks(m, threads, [&](int64_t, int64_t begin, int64_t n) {
            for (int64_t i = begin; i < begin + n; ++i) values[i] = d.data()[i] * scale;
        });
    }
    return {out.release(m), mass};
}

// ---- Rounds --------------------

using Names = std::tuple<std::string, std::string>;

descent::Search read_search(const std::string &name, bool exponential) {
    require(name == "adaboost" || name == "closed" || name == "wolfe",
            "The line search must be adaboost, closed or wolfe.");
    require(name != "adaboost" || exponential, "The line search adaboost needs the exponential loss.");
    if (name == "adaboost") return descent::Search::adaboost;
    return name == "closed" ? descent::Search::closed : descent::Search::wolfe;
}

using Settings = std::tuple<double, double, double, bool>;

descent::Problem read_problem(const JointSearch &search, const Names &kind, const In &z, const In &prior,
                              Settings settings, int threads) {
    const auto &[loss, line_search] = kind;
    search.check();
    int64_t m = search.layout().rows();
    auto [rate, tol, least_loss, surveyed] = settings;
    require(loss == "exponential" || loss == "logistic", "loss must be exponential or logistic.");
    require(length(z) == m, "z must have one entry for each row of the search.");
    require(length(prior) == m || length(prior) == 1, "prior must have one entry, or one for each row.");
    bool fine = true;
    for (int64_t i = 0; i < length(prior); ++i) fine &= prior.data()[i] > 0.0 && prior.data()[i] <= 1.0;
    require(fine, "prior must be above 0 and at most 1.");
    for (int64_t i = 0; i < m; ++i) fine &= std::isfinite(z.data()[i]);
    require(fine, "z must be finite.");
    require(rate > 0.0 && rate <= 1.0, "rate must be above 0 and at most 1.");
    require(tol >= 0.0 && std::isfinite(tol), "tol must be a finite number of at least 0.");
    require(least_loss >= 0.0 && std::isfinite(least_loss), "least_loss must be a finite number of at least 0.");
    require(threads >= 1, "threads must be at least 1.");
    auto which = loss == "exponential" ? descent::Kind::exponential : descent::Kind::logistic;
    descent::Search how = read_search(line_search, which == descent::Kind::exponential);
    const double *priors = length(prior) == m && m > 1 ? prior.data() : nullptr;
    return {search, m, which, how, priors, prior.data()[0], rate, tol, least_loss, surveyed, threads};
}

void add_records(const descent::Records &records, bool masks, nb::dict &result) {
    add_chosen(records.chosen, masks, result);
    result["edges"] = new_vector(records.edges);
    result["values"] = new_vector(records.values);
    result["steps"] = new_vector(records.steps);
    result["least"] = new_vector(records.least);
    result["wrong"] = new_vector(records.wrong);
}

// The engine that is remembered, if it has arrived at these margins, or a new one.
descent::IncrementalDescent &incremental(const descent::Problem &problem, const double *z) {
    std::unique_ptr<Remembered> &kept = problem.search.stumps->remembered();
    auto *known = dynamic_cast<descent::IncrementalDescent *>(kept.get());
    if (known && known->takes_up(problem, z)) return *known;
    kept.reset();
    kept = std::make_unique<descent::IncrementalDescent>(problem, z);
    return static_cast<descent::IncrementalDescent &>(*kept);
}

// Plays with the engine that suits; z is as after the last move.
template <class Pause>
descent::Ending play_descent(const descent::Problem &problem, int64_t rounds, const Pause &pause, double *z,
                             descent::Records &records) {
    descent::Ending ending;
    try {
        if (problem.kind == descent::Kind::exponential && problem.search_kind != descent::Search::wolfe &&
            descent::IncrementalDescent::suits(problem.search)) {
            descent::IncrementalDescent &engine = incremental(problem, z);
            ending = descent::play(problem, engine, rounds, pause, records);
            engine.margins(z);
        } else {
            descent::PlainDescent engine(problem, z);
            ending = descent::play(problem, engine, rounds, pause, records);
        }
    } catch (...) {
        problem.search.forget_loaded();  // perhaps in the middle of loading or moving
        throw;
    }
    return ending;
}

nb::dict descent_rounds(StumpSearch &search, const Names &kind, const In &z, const In &prior, Settings settings,
                        int64_t rounds, int threads, SubsetSearch *subsets) {
    descent::Problem problem = read_problem({&search, subsets}, kind, z, prior, settings, threads);
    require(rounds >= 1, "rounds must be at least 1.");
    Room z_room(problem.m);
    std::copy(z.data(), z.data() + problem.m, z_room.data());
    descent::Records records;
    SignalWatch watch;
    descent::Ending ending = descent::Ending::none;
    {
        nb::gil_scoped_release release;
        JointLock lock(problem.search);
        ending = play_descent(problem, rounds, [&] { return watch(); }, z_room.data(), records);
    }
    nb::dict result;
    add_records(records, subsets != nullptr, result);
    result["z"] = z_room.release(problem.m);
    result["reached"] = ending == descent::Ending::reached;
    result["stuck"] = ending == descent::Ending::stuck;
    result["interrupt"] = watch.raised();
    return result;
}

}  // namespace

void bind_descent(nb::module_ &m) {
    m.def("exponential", &each<descent::exponential_of>, "x"_a.noconvert(), "e^x of each entry; 0 below -708.");
    m.def("sigmoid", &each<descent::sigmoid_of>, "x"_a.noconvert(), "1 / (1 + e^-x) of each entry.");
    m.def("softplus", &each<descent::softplus_of>, "x"_a.noconvert(), "log(1 + e^x) of each entry.");
    m.def("scaled_to_one", &scaled_to_one, "d"_a.noconvert(), "threads"_a = 1,
          "(d / sum, sum); zeros where the weights have all but vanished.");
    m.def("descent_rounds", &descent_rounds, "search"_a, "kind"_a, "z"_a.noconvert(), "prior"_a.noconvert(),
          "settings"_a, "rounds"_a, "threads"_a = 1, "subsets"_a.none() = nb::none(),
          "Up to `rounds` rounds of coordinate descent. kind = (loss, line search): exponential or logistic; adaboost, "
          "closed or wolfe. settings = (learning rate, tol, least loss, survey): it stops at an edge of tol times the "
          "sum of the weights, or a loss of `least loss` times the first; a survey looks at all margins before each "
          "question. Returns a dict: a record of each question (features, cuts, missing_right, edges, values; of a "
          "subset the cut is -1 and masks, 32 bytes each, tell it; surveyed: the least margin `least` and the share "
          "`wrong` of the prior whose margin is not positive), the signed step of each move (steps), then z, reached, "
          "stuck (no step is left that the search accepts), interrupt (None or what a signal handler raised).");
}

}  // namespace dualboost
