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

// The least margin, and how many are not positive. Offsets are sums of steps, so their half sum and half difference are
// exact.
DUALBOOST_CLONES inline Survey survey_counted(const double *v, const int8_t *y, int64_t n, double negative,
                                              double positive) {
    constexpr int64_t strip = 256;
    constexpr int lanes = 8;
    double z[strip], least[lanes], middle = (negative + positive) / 2, half = (positive - negative) / 2;
    int64_t wrong = 0;
    for (double &value : least) value = std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < n; i += strip) {
        int64_t count = std::min(strip, n - i);
        for (int64_t j = 0; j < count; ++j) z[j] = v[i + j] + (middle + half * static_cast<double>(y[i + j]));
        for (int64_t j = count; j < strip; ++j) z[j] = std::numeric_limits<double>::infinity();
        for (int64_t j = 0; j < strip; j += lanes)
            for (int k = 0; k < lanes; ++k) least[k] = z[j + k] < least[k] ? z[j + k] : least[k];
        int64_t here = 0;
        for (int64_t j = 0; j < strip; ++j) here += z[j] <= 0.0 ? 1 : 0;
        wrong += here;
    }
    return {*std::min_element(least, least + lanes), static_cast<double>(wrong)};
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
