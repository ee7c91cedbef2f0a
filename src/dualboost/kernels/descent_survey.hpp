// A look at all margins between two rounds of descent: the least one, and how much of the prior is wrong.
#pragma once

#include "descent_run.hpp"
#include "weights_linear.hpp"

namespace dualboost::descent {

// Margins v + offset of the row's class; without a prior the rows are counted.
struct SurveyedRows {
    const double *v;
    const int8_t *y;
    const double *prior;
};

// The least margin of the two classes, and how many rows are not positive.
DUALBOOST_CLONES inline Survey survey_counted(const double *v, const int8_t *y, int64_t n, double negative, double positive) {
    constexpr int lanes = 8;
    double least[lanes];
    int64_t wrong[lanes] = {};
    for (double &value : least) value = std::numeric_limits<double>::infinity();
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes)
        for (int j = 0; j < lanes; ++j) {
            double z = v[i + j] + (y[i + j] > 0 ? positive : negative);
            least[j] = z < least[j] ? z : least[j];
            wrong[j] += z <= 0.0 ? 1 : 0;
        }
    for (; i < n; ++i) {
        double z = v[i] + (y[i] > 0 ? positive : negative);
        least[0] = z < least[0] ? z : least[0];
        wrong[0] += z <= 0.0 ? 1 : 0;
    }
    for (int j = 1; j < lanes; ++j) {
        least[0] = least[j] < least[0] ? least[j] : least[0];
        wrong[0] += wrong[j];
    }
    return {least[0], static_cast<double>(wrong[0])};
}

inline Survey survey_rows(const SurveyedRows &rows, int64_t n, const double *offset) {
    Survey seen = survey_counted(rows.v, rows.y, n, offset[0], offset[1]);
    if (!rows.prior) return seen;
    double wrong = 0;
    for (int64_t i = 0; i < n; ++i)
        if (rows.v[i] + offset[rows.y[i] > 0 ? 1 : 0] <= 0.0) wrong += rows.prior[i];
    return {seen.least, wrong};
}

// Joined in the order of the rows, so that the sum does not depend on the threads.
inline Survey joined(const std::vector<Survey> &parts, double unit) {
    Survey all{std::numeric_limits<double>::infinity(), 0.0};
    for (const Survey &part : parts) {
        all.least = std::min(all.least, part.least);
        all.wrong += part.wrong;
    }
    all.wrong *= unit;
    return all;
}

}  // namespace dualboost::descent
