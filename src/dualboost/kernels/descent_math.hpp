// Exponentials and sigmoids of many numbers, in loops that vectorise.
#pragma once

#include "common.hpp"

namespace dualboost::descent {

constexpr double kLargestExponent = 709.0;  // fast_exp holds up to here; beyond it the number is nearly infinite

// exp(x); infinite above 709.78, 0 below -708.
DUALBOOST_CLONES inline void exponential_of(const double *x, int64_t n, double *out) {
    int64_t large = 0;
    for (int64_t i = 0; i < n; ++i) {
        large += x[i] > kLargestExponent ? 1 : 0;
        out[i] = fast_exp(x[i] > kLargestExponent ? kLargestExponent : x[i]);
    }
    for (int64_t i = 0; large > 0 && i < n; ++i)
        if (x[i] > kLargestExponent) out[i] = std::exp(x[i]);
}

// 1 / (1 + e^-x), accurate in both tails.
DUALBOOST_CLONES inline void sigmoid_of(const double *x, int64_t n, double *out) {
    for (int64_t i = 0; i < n; ++i) {
        double e = fast_exp(x[i] < 0.0 ? x[i] : -x[i]);
        double half = 1.0 / (1.0 + e);
        out[i] = x[i] < 0.0 ? e * half : half;
    }
}

// log(1 + u) for u in [0, 1], to about one unit in the last place: 2 artanh(u / (2 + u)) by its series.
DUALBOOST_INLINE double log_one_plus(double u) {
    double s = u / (2.0 + u), t = s * s, p = 1.0 / 35.0;
    p = p * t + 1.0 / 33.0;
    p = p * t + 1.0 / 31.0;
    p = p * t + 1.0 / 29.0;
    p = p * t + 1.0 / 27.0;
    p = p * t + 1.0 / 25.0;
    p = p * t + 1.0 / 23.0;
    p = p * t + 1.0 / 21.0;
    p = p * t + 1.0 / 19.0;
    p = p * t + 1.0 / 17.0;
    p = p * t + 1.0 / 15.0;
    p = p * t + 1.0 / 13.0;
    p = p * t + 1.0 / 11.0;
    p = p * t + 1.0 / 9.0;
    p = p * t + 1.0 / 7.0;
    p = p * t + 1.0 / 5.0;
    p = p * t + 1.0 / 3.0;
    p = p * t + 1.0;
    return 2.0 * s * p;
}

// log(1 + e^x).
DUALBOOST_CLONES inline void softplus_of(const double *x, int64_t n, double *out) {
    for (int64_t i = 0; i < n; ++i) {
        double e = fast_exp(x[i] < 0.0 ? x[i] : -x[i]);
        out[i] = (x[i] > 0.0 ? x[i] : 0.0) + log_one_plus(e);
    }
}

}  // namespace dualboost::descent
