// Rounds of the corrective booster on stumps, with or without subsets of categories, and a capped simplex, without a
// visit to the interpreter in between.
//
// Each number is computed by the same chunk functions, in the same order, as by the single kernels (best, column,
// average_lowest, dot, spread, move, entropic): the bits are equal. What is gained is the interpreter's time on small
// data, and on large data the fusion of passes. A round reads the rows three times:
//   1. the column of the answer and how far it is from z;
//   2. z moves; the exponentials of the new weights; the rows around the new relaxed margin's threshold;
//   3. exponentials become weights d; <d, z>; the integers that the next search sums.
#pragma once

#include "joint_search.hpp"
#include "weights_entropic.hpp"
#include "weights_linear.hpp"
#include "weights_lowest.hpp"

namespace dualboost {

struct CorrectiveProblem {
    JointSearch search;
    int64_t m;
    weights::Caps caps;
    weights::PerRow offset;
    double absorbed;  // by the level: what offset and cap contribute to every row alike
    double eta, budget, tol, rtol;
    int threads;
};

// What makes the next round fast: the margin at which rows reach their cap, the thresholds of the last two relaxed
// margins.
struct CorrectiveWarmth {
    double level_margin, threshold, last;
};

// One entry a question; the last question of a run that stops has no move.
struct CorrectiveRecords {
    std::vector<Chosen> chosen;
    std::vector<double> edges, objectives, bounds;  // signed edge; the best objective and bound so far
    std::vector<double> keep, added;  // z <- keep * z + added * column
};

class CorrectiveRun {
public:
    // Reads z and d where they are; from the first move on works in `z_room` and in the two of `d_rooms`.
    CorrectiveRun(const CorrectiveProblem &problem, CorrectiveWarmth warmth, double objective, double bound,
                  const double *z, const double *d, double *z_room, double *const d_rooms[2])
        : problem_(problem), warmth_(warmth), objective_(objective), bound_(bound), z_(z), d_(d), z_room_(z_room),
          d_rooms_{d_rooms[0], d_rooms[1]}, column_(new int8_t[static_cast<size_t>(problem.m)]) {
        size_t chunks = static_cast<size_t>(chunk_count(problem.m));
        sums_.resize(chunks);
        dots_.resize(chunks);
        band_.parts.resize(chunks);
        pieces_.resize(chunks);
        lowest_.resize(chunks);
    }

    // Up to `rounds` rounds; `pause` is called between them and ends the run by returning true.
    template <class Pause> void play(int64_t rounds, const Pause &pause) {
        try {
            for (int64_t t = 0; t < rounds; ++t) {
                JointAnswer answer = ask();
                certify(answer);
                if ((reached_ = is_reached())) return;
                update(answer, t + 1 < rounds);
                if (t + 1 < rounds && pause()) return;
            }
        } catch (...) {
            problem_.search.forget_loaded();  // perhaps in the middle of loading
            throw;
        }
    }

    const CorrectiveRecords &records() const { return records_; }
    const CorrectiveWarmth &warmth() const { return warmth_; }
    bool reached() const { return reached_; }
    // The question at which the best objective and bound of this run came up; -1 if none was an improvement.
    int64_t best_objective_at() const { return best_objective_at_; }
    int64_t best_bound_at() const { return best_bound_at_; }
    const double *z() const { return z_; }
    const double *d() const { return d_; }
    const double *best_d() const { return best_d_; }

private:
    const CorrectiveProblem problem_;
    CorrectiveWarmth warmth_;
    CorrectiveRecords records_;
    double objective_, bound_;
    int64_t best_objective_at_ = -1, best_bound_at_ = -1;
    bool reached_ = false;

    const double *z_, *d_, *best_d_ = nullptr;
    double *z_room_, *d_rooms_[2];
    std::unique_ptr<int8_t[]> column_;

    // Found for the next round by the passes of this one.
    bool loaded_ = false;
    std::optional<double> dot_;
    std::optional<weights::Filled> filled_;

    // Work of the passes, one entry a chunk; memory is kept from round to round.
    std::vector<double> sums_, dots_;
    weights::Band band_;
    std::vector<weights::Bracket> pieces_;
    std::vector<weights::LowestMass> lowest_;
    weights::Bracket bracket_;

    template <class Work> void over_chunks(const Work &work) const {
        weights::over_chunks(problem_.m, problem_.threads, work);
    }

    // ---- One round, as in boosters/corrective.py --------------------

    JointAnswer ask() {
        if (!loaded_) problem_.search.load(d_, problem_.threads);
        loaded_ = false;
        return problem_.search.best_loaded(problem_.threads);
    }

    void certify(const JointAnswer &answer) {
        auto asked = static_cast<int64_t>(records_.chosen.size());
        double objective = relaxed_margin(), bound = problem_.budget * answer.bound;
        if (objective > objective_) {
            objective_ = objective;
            best_objective_at_ = asked;
        }
        if (bound < bound_) {
            bound_ = bound;
            best_bound_at_ = asked;
            best_d_ = d_;
        }
        records_.chosen.push_back(answer.chosen);
        records_.edges.push_back(answer.edge);
        records_.objectives.push_back(objective_);
        records_.bounds.push_back(bound_);
    }

    double relaxed_margin() {
        weights::Filled filled = filled_ ? *filled_
                                         : weights::lowest_fill(z_, problem_.m, problem_.caps, warmth_.threshold,
                                                                lowest_width(), problem_.threads);
        filled_.reset();
        warmth_.last = warmth_.threshold;
        warmth_.threshold = filled.threshold;
        return filled.moment + (1.0 - filled.mass) * filled.threshold;
    }

    double lowest_width() const { return 2 * std::fabs(warmth_.threshold - warmth_.last); }

    bool is_reached() const {
        return bound_ - objective_ <= std::max(problem_.tol, problem_.rtol * std::fabs(objective_));
    }

    void update(const JointAnswer &answer, bool again) {
        double target = std::copysign(problem_.budget, answer.edge);
        double dot = dot_ ? *dot_ : weights::dot_of(d_, z_, problem_.m, problem_.threads);
        dot_.reset();
        double gap = problem_.budget * std::fabs(answer.edge) - dot;
        double step = step_of(gap, spread(answer, target));
        double keep = 1.0 - step, added = step * target;
        require(std::isfinite(keep) && std::isfinite(added), "The step is not finite.");
        records_.keep.push_back(keep);
        records_.added.push_back(added);
        double *d_next = d_rooms_[best_d_ == d_rooms_[0] ? 1 : 0];
        double level = project(keep, added, again, d_next);
        warmth_.level_margin = (level - problem_.absorbed) / problem_.eta;
        d_ = d_next;
    }

    double step_of(double gap, double spread) const {
        // Python's x ** 2 is pow, which may differ from x * x in the last bit; a constant 2 would become x * x.
        volatile double two = 2.0;
        double bend = problem_.eta * std::pow(spread, two);
        return bend > 0 ? std::min(1.0, std::max(0.0, gap / bend)) : 1.0;
    }

    // ---- Pass 1: the column and its largest distance from z --------------------

    double spread(const JointAnswer &answer, double target) {
        over_chunks([&](int64_t k, int64_t begin, int64_t n) {
            problem_.search.column(answer.chosen, begin, begin + n, column_.get());
            sums_[static_cast<size_t>(k)] = weights::spread_chunk(z_ + begin, column_.get() + begin, n, target);
        });
        double furthest = 0;
        for (double part : sums_) {
            require(std::isfinite(part), "z must be finite.");
            furthest = std::max(furthest, part);
        }
        return furthest;
    }

    // ---- Passes 2 and 3: the move and the projection --------------------

    // z moves and `out` receives the new weights; returns their level. With `again`, what the next round asks first is
    // prepared on the way.
    double project(double keep, double added, bool again, double *out) {
        double start = warmth_.level_margin * problem_.eta + problem_.absorbed, anchor = start / problem_.eta;
        weights::Entropic p{z_room_, problem_.m, problem_.eta, problem_.caps, problem_.offset, problem_.threads};
        if (!std::isfinite(anchor) || problem_.caps.total <= 1.0 + weights::kFullMass) {
            weights::move_to(z_, column_.get(), problem_.m, keep, added, z_room_, problem_.threads);
            z_ = z_room_;
            return weights::entropic_project(p, start, false, out);
        }
        move_and_gather(p, keep, added, anchor, again, out);
        z_ = z_room_;
        auto ratio = weights::solve_band(band_, problem_.caps.scale);
        if (ratio && share(*ratio, again, out)) {
            double level = problem_.eta * anchor + std::log(*ratio);
            require(std::isfinite(level), "eta * z must be finite.");
            return level;
        }
        // The guess was not good enough: the single kernel, which tries others after it.
        return weights::entropic_project(p, start, false, out);
    }

    void move_and_gather(const weights::Entropic &p, double keep, double added, double anchor, bool again,
                         double *out) {
        auto moved = [&](int64_t i) {
            return keep * z_[i] + added * static_cast<double>(column_[static_cast<size_t>(i)]);
        };
        double nearest = weights::eighth_nearest(problem_.m, [&](int64_t i) {
            double distance = std::fabs(p.eta * (anchor - moved(i)) + p.offset[i]);
            require(!std::isnan(distance), "z and offset must be finite.");
            return distance;
        });
        band_.width = std::clamp(nearest, weights::kNarrowestBand, weights::kWidestBand);
        double centre = warmth_.threshold, reach = lowest_width();
        bool look_lowest = again && !std::isnan(centre) && !std::isnan(reach);
        if (look_lowest)
            reach = std::min(
                reach, weights::eighth_nearest(problem_.m, [&](int64_t i) { return std::fabs(moved(i) - centre); }));
        over_chunks([&](int64_t k, int64_t begin, int64_t n) {
            weights::move_chunk(z_ + begin, column_.get() + begin, n, keep, added, z_room_ + begin);
            weights::BandPart &part = band_.parts[static_cast<size_t>(k)];
            part.outside = {};
            part.x.clear();
            part.weight.clear();
            weights::gather_chunk(p, begin, begin + n, anchor, band_.width, out, part);
            if (look_lowest) gather_lowest(k, begin, n, centre - reach, centre + reach);
        });
        band_.outside = {};
        for (const weights::BandPart &part : band_.parts) band_.outside.add(part.outside);
        require(std::isfinite(band_.outside.total), "z and offset must be finite, and their sum too.");
        if (look_lowest) filled_ = weights::fill_bracket(join_lowest(), problem_.caps.scale, false);
    }

    // Turns exponentials into weights; false if they do not sum to one closely enough.
    bool share(double ratio, bool again, double *out) {
        over_chunks([&](int64_t k, int64_t begin, int64_t n) {
            double sum = 0;
            for (int64_t i = begin, end = begin + n; i < end; i += weights::kStretch)
                sum += weights::share_stretch(problem_.caps.weight.from(i), std::min(weights::kStretch, end - i), ratio,
                                              problem_.caps.scale, out + i);
            sums_[static_cast<size_t>(k)] = sum;
            if (!again) return;
            dots_[static_cast<size_t>(k)] = weights::dot_chunk(out + begin, z_ + begin, n);
            problem_.search.load_chunk(out, k);
        });
        bool fine = std::fabs(in_order(sums_) * problem_.caps.scale - 1.0) <= weights::kSumTolerance;
        if (again && fine) {
            dot_ = in_order(dots_);
            problem_.search.loaded();
            loaded_ = true;
        } else if (again) {
            problem_.search.forget_loaded();
        }
        return fine;
    }

    static double in_order(const std::vector<double> &parts) {
        double sum = 0;
        for (double part : parts) sum += part;
        return sum;
    }

    // ---- The relaxed margin of the moved z --------------------

    void gather_lowest(int64_t k, int64_t begin, int64_t n, double low, double high) {
        weights::gather_piece(z_room_ + begin, problem_.caps.weight.from(begin), n, low, high,
                              lowest_[static_cast<size_t>(k)], pieces_[static_cast<size_t>(k)]);
    }

    weights::Bracket &join_lowest() {
        weights::join_pieces(pieces_, lowest_, problem_.caps.scale, bracket_);
        return bracket_;
    }
};

}  // namespace dualboost
