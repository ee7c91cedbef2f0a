// Rounds of coordinate descent on stumps: the loop, and what it needs to know of the rows.
//
// A round asks for the stump of the largest edge, decides whether to stop, and adds a step of it to the margins. How the
// question is answered is the engine's business: `PlainDescent` sums the weights anew, `IncrementalDescent` only
// what has changed. Steps are rounded to 24 bits, which costs 1e-15 of the gain, and all are multiples of 2^-40.
// Margins are then exact whatever the order of their additions, and a last bit of an edge does not change a step: the
// margins after a run do not depend on the engine, the threads, or how a run is cut into calls.
#pragma once

#include "stumps.hpp"

namespace dualboost::descent {

constexpr double kLargestStep = 60.0;             // of a hypothesis that is never wrong
constexpr int kStepBits = 24, kFinestStep = -40;  // steps have this many bits, none below 2^-40

enum class Kind { exponential, logistic };

struct Problem {
    StumpSearch *search;
    int64_t m;
    Kind kind;
    const double *prior;  // one entry a row, or null where all are `share`
    double share;
    double rate, tol;
    int threads;

    double prior_of(int64_t i) const { return prior ? prior[i] : share; }
    double start_value() const { return kind == Kind::exponential ? 1.0 : std::log(2.0); }
};

// What the learner says under the weights as they stand.
struct Question {
    Stump stump;
    double edge;   // signed, under the weights scaled to sum 1
    double mass;   // their sum
    double value;  // the loss
};

// One entry a question; the last question of a run that stops has no move.
struct Records {
    std::vector<Stump> stumps;
    std::vector<double> edges, values, steps;  // the edge as it is, not scaled; the signed step
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

// AdaBoost's closed form for the exponential loss; for the logistic one the edge over a bound of the curvature.
inline double step_of(const Problem &problem, const Question &asked) {
    double edge = std::fabs(asked.edge), step;
    if (problem.kind == Kind::exponential)
        step = edge < 1.0 ? std::min(std::atanh(edge), kLargestStep) : kLargestStep;
    else
        step = std::min(edge * asked.mass / std::min(asked.value, 0.25), kLargestStep);
    return std::copysign(on_grid(problem.rate * step), asked.edge);
}

// Up to `rounds` rounds; returns whether there was a reason to stop. `pause` is called in between and ends the run too.
template <class Engine, class Pause>
bool play(const Problem &problem, Engine &engine, int64_t rounds, const Pause &pause, Records &records) {
    for (int64_t t = 0; t < rounds; ++t) {
        Question asked = engine.ask();
        records.stumps.push_back(asked.stump);
        records.edges.push_back(asked.edge * asked.mass);
        records.values.push_back(asked.value);
        if (std::fabs(asked.edge) <= problem.tol || !(asked.value > problem.tol * problem.start_value())) return true;
        double step = step_of(problem, asked);
        records.steps.push_back(step);
        engine.move(asked.stump, step);
        if (t + 1 < rounds && pause()) return false;
    }
    return false;
}

}  // namespace dualboost::descent
