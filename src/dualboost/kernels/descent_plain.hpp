// Coordinate descent that computes all weights anew each round and leaves the search to the engines.
//
// A round reads the rows twice: margins move and become weights, then weights are scaled to sum 1 and loaded into the
// search. The numbers are those of the single kernels, bit by bit.
#pragma once

#include "descent_math.hpp"
#include "descent_survey.hpp"
#include "weights_linear.hpp"

namespace dualboost::descent {

class PlainDescent {
public:
    // Works on z in place.
    PlainDescent(const Problem &problem, double *z)
        : problem_(problem), z_(z), d_(static_cast<size_t>(problem.m)),
          column_(new int8_t[static_cast<size_t>(problem.m)]), scaled_(new double[static_cast<size_t>(problem.m)]) {
        size_t chunks = static_cast<size_t>(chunk_count(problem.m));
        sums_.resize(chunks);
        losses_.resize(chunks);
        bends_.resize(chunks);
        pass(nullptr, 0.0);
    }

    Question ask() {
        double scale = scale_to_one(mass_);
        over_chunks([&](int64_t k, int64_t begin, int64_t n) {
            for (int64_t i = begin; i < begin + n; ++i)
                scaled_[static_cast<size_t>(i)] = d_[static_cast<size_t>(i)] * scale;
            problem_.search.load_chunk(scaled_.get(), k);
        });
        problem_.search.loaded();
        JointAnswer best = problem_.search.best_loaded(problem_.threads);
        return {best.chosen, best.edge, mass_, value_, bend_};
    }

    double step(const Question &asked) {
        bool sums = nearly_perfect(problem_, asked);
        if (problem_.search_kind != Search::wolfe && !sums) return closed_step(problem_, asked);
        over_chunks([&](int64_t, int64_t begin, int64_t n) {
            problem_.search.column(asked.chosen, begin, begin + n, column_.get());
        });
        double sign = std::copysign(1.0, asked.edge);
        if (sums) return perfect_step(2 * wrong_weight(sign) / mass_);
        return wolfe_step([&](double x) { return along(sign * x, sign); }, {value_, -std::fabs(asked.edge) * mass_});
    }

    void move(const Chosen &chosen, double step) { pass(&chosen, step); }

    Survey survey() const {
        constexpr double no_offset[2] = {0.0, 0.0};
        std::vector<Survey> parts(sums_.size());
        over_chunks([&](int64_t k, int64_t begin, int64_t n) {
            const double *prior = problem_.prior ? problem_.prior + begin : nullptr;
            const int8_t *y = problem_.search.layout().y() + begin;
            parts[static_cast<size_t>(k)] = survey_rows({z_ + begin, y, prior}, n, no_offset);
        });
        return joined(parts, problem_.prior ? 1.0 : problem_.share);
    }

private:
    const Problem problem_;
    double *z_;
    std::vector<double> d_;
    std::unique_ptr<int8_t[]> column_;
    std::unique_ptr<double[]> scaled_;
    std::vector<double> sums_, losses_, bends_;
    double mass_ = 0, value_ = 0, bend_ = 0;

    template <class Work> void over_chunks(const Work &work) const {
        weights::over_chunks(problem_.m, problem_.threads, work);
    }

    // The margins after the step, their weights, and the sums of weights and losses.
    void pass(const Chosen *chosen, double step) {
        over_chunks([&](int64_t k, int64_t begin, int64_t n) {
            if (chosen) {
                problem_.search.column(*chosen, begin, begin + n, column_.get());
                weights::move_chunk(z_ + begin, column_.get() + begin, n, 1.0, step, z_ + begin);
            }
            weigh(k, begin, begin + n);
            sums_[static_cast<size_t>(k)] = weights::lane_sum(d_.data() + begin, n);
        });
        mass_ = in_order(sums_);
        value_ = problem_.kind == Kind::exponential ? mass_ : in_order(losses_);
        bend_ = problem_.kind == Kind::exponential ? mass_ : in_order(bends_);
        require(std::isfinite(mass_) && std::isfinite(value_), "The loss must be finite where the rounds begin.");
    }

    // The weight of the rows that the column, with this sign, gets wrong.
    double wrong_weight(double sign) const {
        std::vector<double> parts(sums_.size(), 0.0);
        over_chunks([&](int64_t k, int64_t begin, int64_t n) {
            double sum = 0;
            for (int64_t i = begin; i < begin + n; ++i)
                sum +=
                    sign * static_cast<double>(column_[static_cast<size_t>(i)]) < 0 ? d_[static_cast<size_t>(i)] : 0.0;
            parts[static_cast<size_t>(k)] = sum;
        });
        return in_order(parts);
    }

    // The loss and its slope where the margins have moved by `step` along the column.
    Point along(double step, double sign) {
        std::vector<double> values(sums_.size()), slopes(sums_.size());
        over_chunks([&](int64_t k, int64_t begin, int64_t n) {
            Point sum = along_rows(begin, begin + n, step);
            values[static_cast<size_t>(k)] = sum.value;
            slopes[static_cast<size_t>(k)] = sum.slope;
        });
        return {in_order(values), -sign * in_order(slopes)};
    }

    // Sums of prior * g(-z) and of prior * g'(-z) * column on these rows.
    Point along_rows(int64_t begin, int64_t end, double step) const {
        constexpr int64_t strip = 512;
        double x[strip], slope[strip], value[strip];
        Point sum{0.0, 0.0};
        for (int64_t i = begin; i < end; i += strip) {
            int64_t n = std::min(strip, end - i);
            const int8_t *column = column_.get() + i;
            for (int64_t j = 0; j < n; ++j) x[j] = -(z_[i + j] + step * static_cast<double>(column[j]));
            if (problem_.kind == Kind::exponential) {
                exponential_of(x, n, slope);
                std::copy(slope, slope + n, value);
            } else {
                sigmoid_of(x, n, slope);
                softplus_of(x, n, value);
            }
            for (int64_t j = 0; j < n; ++j) slope[j] *= static_cast<double>(column[j]);
            for (double *values : {value, slope}) weight_rows(i, n, values);
            sum.value += weights::lane_sum(value, n);
            sum.slope += weights::lane_sum(slope, n);
        }
        return sum;
    }

    // d <- prior * g'(-z) on these rows; for the logistic loss also their sums of prior * g(-z) and prior * g''(-z).
    void weigh(int64_t chunk, int64_t begin, int64_t end) {
        constexpr int64_t strip = 512;
        double x[strip], loss[strip], bend[strip], losses = 0, bends = 0;
        for (int64_t i = begin; i < end; i += strip) {
            int64_t n = std::min(strip, end - i);
            double *d = d_.data() + i;
            for (int64_t j = 0; j < n; ++j) x[j] = -z_[i + j];
            if (problem_.kind == Kind::exponential) {
                exponential_of(x, n, d);
                weight_rows(i, n, d);
                continue;
            }
            sigmoid_of(x, n, d);
            softplus_of(x, n, loss);
            for (int64_t j = 0; j < n; ++j) bend[j] = d[j] * (1.0 - d[j]);
            for (double *values : {d, loss, bend}) weight_rows(i, n, values);
            losses += weights::lane_sum(loss, n);
            bends += weights::lane_sum(bend, n);
        }
        losses_[static_cast<size_t>(chunk)] = losses;
        bends_[static_cast<size_t>(chunk)] = bends;
    }

    // values <- prior * values, for rows from i on.
    void weight_rows(int64_t i, int64_t n, double *values) const {
        if (problem_.prior)
            for (int64_t j = 0; j < n; ++j) values[j] = problem_.prior[i + j] * values[j];
        else
            for (int64_t j = 0; j < n; ++j) values[j] = problem_.share * values[j];
    }

    static double in_order(const std::vector<double> &parts) {
        double sum = 0;
        for (double part : parts) sum += part;
        return sum;
    }
};

}  // namespace dualboost::descent
