// Rounds of coordinate descent on stumps, and subsets of categories beside them: the loop, and what it needs to know of
// the rows.
//
// A round asks for the hypothesis of the largest edge, decides whether to stop, and adds a step of it to the margins.
// How the question is answered is the engine's business: `PlainDescent` sums the weights anew, `IncrementalDescent`
// only what has changed. Steps are rounded to 24 bits, which costs 1e-15 of the gain, and all are multiples of 2^-40.
// Margins are then exact whatever the order of their additions, and a last bit of an edge does not change a step: the
// margins after a run do not depend on the engine, the threads, or how a run is cut into calls.
#pragma once

#include "joint_search.hpp"

namespace dualboost::descent {

constexpr double kLargestStep = 60.0;  // of a hypothesis that is never wrong
constexpr double kNearlyPerfect = 1.0 - 1.0 / (1 << 20);
constexpr int kStepBits = 24, kFinestStep = -40;  // steps have this many bits, none below 2^-40

constexpr double kDecrease = 1.0 / 3.0, kFlatten = 0.5;  // Wolfe's conditions
constexpr int kHalvings = 100;

enum class Kind { exponential, logistic };
enum class Search { adaboost, closed, wolfe };
enum class Ending { none, reached, stuck };  // stuck: rounding leaves no step that the line search accepts

struct Problem {
    JointSearch search;
    int64_t m;
    Kind kind;
    Search search_kind;
    const double *prior;  // one entry a row, or null where all are `share`
    double share;
    double rate, tol;
    double least_loss;  // a part of the first loss at which to stop
    bool surveyed;  // whether the margins are looked at before every question
    int threads;

    double start_value() const { return kind == Kind::exponential ? 1.0 : std::log(2.0); }
};

// What the learner says under the weights as they stand.
struct Question {
    Chosen chosen;
    double edge;  // signed, under the weights scaled to sum 1
    double mass;  // their sum
    double value;  // the loss
    double bend;  // its second derivative along any hypothesis; of the logistic loss only
};

// The least of the margins, and the share of the prior on rows whose margin is not positive.
struct Survey {
    double least, wrong;
};

// One entry a question; the last question of a run that stops has no move.
struct Records {
    std::vector<Chosen> chosen;
    std::vector<double> edges, values, steps;  // the edge as it is, not scaled; the signed step
    std::vector<double> least, wrong;  // where the rows are surveyed
};

// The factor that makes weights of this mass sum to 1; 0 where they have all but vanished.
inline double scale_to_one(double mass) { return mass > 1e-290 ? 1.0 / mass : 0.0; }

inline double on_grid(double step) {
    int exponent;
    std::frexp(step, &exponent);
    double unit = std::ldexp(1.0, std::max(exponent - kStepBits, kFinestStep));
    double whole = std::nearbyint(step / unit) * unit;
    return whole != 0.0 ? whole : step;
}

// The loss at a point of the line, and its slope there.
struct Point {
    double value, slope;
};

// Whether the edge is so near to 1 that rounding has taken digits of what is missing, which AdaBoost's step depends on.
inline bool nearly_perfect(const Problem &problem, const Question &asked) {
    return problem.search_kind == Search::adaboost && std::fabs(asked.edge) > kNearlyPerfect;
}

// AdaBoost's step artanh(1 - missing), where `missing` is known to all digits: twice the weight of the rows that are
// wrong.
inline double perfect_step(double missing) {
    return missing > 0.0 ? std::min(0.5 * std::log((2.0 - missing) / missing), kLargestStep) : kLargestStep;
}

// AdaBoost's closed form, or the edge over a bound of the curvature.
inline double closed_step(const Problem &problem, const Question &asked) {
    double edge = std::fabs(asked.edge);
    if (problem.search_kind == Search::adaboost) return std::min(std::atanh(edge), kLargestStep);
    if (problem.kind == Kind::exponential) return std::min(edge * asked.mass / asked.value, kLargestStep);
    // As in boosters/coordinate_descent.py: the one of two steps that promises more.
    double bend = std::min(asked.value, 0.25), now = std::max(asked.bend, std::numeric_limits<double>::min());
    edge *= asked.mass;
    double longer = std::log1p(edge / now);
    bool sure = (edge + now) * longer - edge >= edge * edge / (2 * bend);
    return std::min(sure ? longer : edge / bend, kLargestStep);
}

// A step that satisfies Wolfe's conditions, as in master/wolfe.py; 0 where there is none.
template <class Along> double wolfe_step(const Along &along, Point start) {
    auto enough = [&](double step, double value) { return value <= start.value + kDecrease * step * start.slope; };
    double high = 1.0, low = 0.0;
    while (enough(high, along(high).value)) {
        if (high >= kLargestStep) return kLargestStep;
        high = std::min(2 * high, kLargestStep);
    }
    double step = high / 2;
    for (int k = 0; k < kHalvings; ++k, step = (low + high) / 2) {
        Point now = along(step);
        if (!enough(step, now.value)) high = step;
        else if (now.slope < kFlatten * start.slope) low = step;
        else return step;
    }
    return 0.0;
}

// Up to `rounds` rounds; `pause` is called in between and ends the run by returning true.
template <class Engine, class Pause>
Ending play(const Problem &problem, Engine &engine, int64_t rounds, const Pause &pause, Records &records) {
    for (int64_t t = 0; t < rounds; ++t) {
        Question asked = engine.ask();
        records.chosen.push_back(asked.chosen);
        records.edges.push_back(asked.edge * asked.mass);
        records.values.push_back(asked.value);
        if (problem.surveyed) {
            Survey seen = engine.survey();
            records.least.push_back(seen.least);
            records.wrong.push_back(seen.wrong);
        }
        bool reached =
            std::fabs(asked.edge) <= problem.tol || !(asked.value > problem.least_loss * problem.start_value());
        if (reached) return Ending::reached;
        double step = engine.step(asked);
        if (step == 0.0) return Ending::stuck;
        step = std::copysign(on_grid(problem.rate * step), asked.edge);
        records.steps.push_back(step);
        engine.move(asked.chosen, step);
        if (t + 1 < rounds && pause()) return Ending::none;
    }
    return Ending::none;
}

}  // namespace dualboost::descent
