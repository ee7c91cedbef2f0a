// Coordinate descent that computes all weights anew each round and leaves the search to the stump engine.
//
// A round reads the rows twice: margins move and become weights, then weights are scaled to sum 1 and loaded into the
// search. The numbers are those of the single kernels, bit by bit.
#pragma once

#include "descent_math.hpp"
#include "descent_run.hpp"
#include "stumps_rows.hpp"
#include "weights_linear.hpp"

namespace dualboost::descent {

class PlainDescent {
public:
    // Works on z in place.
    PlainDescent(const Problem &problem, double *z)
        : problem_(problem), z_(z), d_(static_cast<size_t>(problem.m)), column_(new int8_t[static_cast<size_t>(problem.m)]),
          scaled_(new double[static_cast<size_t>(problem.m)]) {
        size_t chunks = static_cast<size_t>(chunk_count(problem.m));
        sums_.resize(chunks);
        losses_.resize(chunks);
        pass(nullptr, 0.0);
    }

    Question ask() {
        double scale = scale_to_one(mass_);
        over_chunks([&](int64_t k, int64_t begin, int64_t n) {
            for (int64_t i = begin; i < begin + n; ++i) scaled_[static_cast<size_t>(i)] = d_[static_cast<size_t>(i)] * scale;
            problem_.search->load_chunk(scaled_.get(), k);
        });
        problem_.search->loaded();
        BestStump best = problem_.search->best_loaded(problem_.threads);
        return {best.stump, best.edge, mass_, value_};
    }

    void move(const Stump &stump, double step) { pass(&stump, step); }

private:
    const Problem problem_;
    double *z_;
    std::vector<double> d_;
    std::unique_ptr<int8_t[]> column_;
    std::unique_ptr<double[]> scaled_;
    std::vector<double> sums_, losses_;
    double mass_ = 0, value_ = 0;

    template <class Work> void over_chunks(const Work &work) const {
        weights::over_chunks(problem_.m, problem_.threads, work);
    }

    // The margins after the step, their weights, and the sums of weights and losses.
    void pass(const Stump *stump, double step) {
        over_chunks([&](int64_t k, int64_t begin, int64_t n) {
            if (stump) {
                stump_column(problem_.search->layout(), *stump, begin, begin + n, column_.get());
                weights::move_chunk(z_ + begin, column_.get() + begin, n, 1.0, step, z_ + begin);
            }
            losses_[static_cast<size_t>(k)] = weigh(begin, begin + n);
            sums_[static_cast<size_t>(k)] = weights::lane_sum(d_.data() + begin, n);
        });
        mass_ = in_order(sums_);
        value_ = problem_.kind == Kind::exponential ? mass_ : in_order(losses_);
        require(std::isfinite(mass_) && std::isfinite(value_), "The loss must be finite where the rounds begin.");
    }

    // d <- prior * g'(-z) on these rows; returns the sum of prior * g(-z), which for the exponential loss is that of d.
    double weigh(int64_t begin, int64_t end) {
        constexpr int64_t strip = 512;
        double x[strip], loss[strip], sum = 0;
        for (int64_t i = begin; i < end; i += strip) {
            int64_t n = std::min(strip, end - i);
            double *d = d_.data() + i;
            for (int64_t j = 0; j < n; ++j) x[j] = -z_[i + j];
            if (problem_.kind == Kind::exponential) {
                exponential_of(x, n, d);
            } else {
                sigmoid_of(x, n, d);
                softplus_of(x, n, loss);
                for (int64_t j = 0; j < n; ++j) loss[j] *= problem_.prior_of(i + j);
                sum += weights::lane_sum(loss, n);
            }
            if (problem_.prior)
                for (int64_t j = 0; j < n; ++j) d[j] = problem_.prior[i + j] * d[j];
            else
                for (int64_t j = 0; j < n; ++j) d[j] = problem_.share * d[j];
        }
        return sum;
    }

    static double in_order(const std::vector<double> &parts) {
        double sum = 0;
        for (double part : parts) sum += part;
        return sum;
    }
};

}  // namespace dualboost::descent
