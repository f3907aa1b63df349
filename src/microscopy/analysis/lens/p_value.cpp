// Evaluates the fit kernels' tables of moments in double precision.
// SPDX-License-Identifier: MIT
#define GLINT_ISA in_double
#define GLINT_DOUBLE_LANE 1
#include "analysis/lens/p_value.hpp"

#include <algorithm>
#include <cmath>

#include "fit/deviance_moments.hpp"

namespace glint::lens {
namespace {

namespace tables = glint::in_double;

template <int n>
double in_powers(const float (&c)[n], double t) {
    double sum = 0;
    for (int i = n - 1; i >= 0; --i) sum = (sum + double(c[i])) * t;
    return sum;
}

template <int n, int m>
double in_powers(const float (&c)[n][m], double t, double s) {
    double sum = 0;
    for (int i = n - 1; i >= 0; --i) {
        double term = 0;
        for (int j = m - 1; j >= 0; --j) term = term * s + double(c[i][j]);
        sum = (sum + term) * t;
    }
    return sum;
}

/// P(a, x) by its series, for x < a + 1 (DLMF 8.7.1).
double lower_series(double a, double x) {
    double term = 1 / a, sum = term;
    for (double k = a + 1; term > 1e-16 * sum; ++k) sum += term *= x / k;
    return sum * std::exp(a * std::log(x) - x - std::lgamma(a));
}

/// Q(a, x) by its continued fraction, for x >= a + 1 (DLMF 8.9.2; modified Lentz).
double upper_fraction(double a, double x) {
    double b = x + 1 - a, c = 1e300, d = 1 / b, product = d;
    for (int k = 1; k < 100000; ++k) {
        const double numerator = k * (a - k);
        b += 2;
        d = 1 / (numerator * d + b), c = b + numerator / c;
        product *= c * d;
        if (std::abs(c * d - 1) < 1e-15) break;
    }
    return product * std::exp(a * std::log(x) - x - std::lgamma(a));
}

}  // namespace

DevianceMoments deviance_moments(DevianceOf noise, double model, double read_variance) {
    const double t = 1 / (1 + model), s = std::sqrt(std::min(1.0, read_variance / model));
    switch (noise) {
        case DevianceOf::poisson:
            return {1 + in_powers(tables::ideal_mean, t), 2 + in_powers(tables::ideal_variance, t)};
        case DevianceOf::poisson_with_read_noise:
            return {1 + in_powers(tables::poisson_mean, t, s), 2 + in_powers(tables::poisson_variance, t, s)};
        case DevianceOf::em_register:
            return {1 + in_powers(tables::multiplied_mean, t, s), 2 + in_powers(tables::multiplied_variance, t, s)};
    }
    return {};
}

double upper_gamma(double a, double x) {
    if (!(x > 0)) return 1;
    return x < a + 1 ? 1 - lower_series(a, x) : upper_fraction(a, x);
}

double p_value_of_deviance(double deviance, double mean, double variance) {
    mean = std::max(mean, 0.25), variance = std::max(variance, 0.5);
    const double scale = mean / variance;
    return upper_gamma(std::max(mean * scale, 0.1), deviance * scale);
}

}  // namespace glint::lens
