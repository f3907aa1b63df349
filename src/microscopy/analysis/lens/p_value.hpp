// The p value of a fit's deviance, in double precision.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint::lens {

/// The distribution of a pixel: which table of its deviance's moments is valid.
enum class DevianceOf { poisson, poisson_with_read_noise, em_register };

/// Mean and variance of one pixel's deviance at the model mu' with the read variance v / f^2 (theory.md, section 4).
struct DevianceMoments {
    double mean = 1, variance = 2;
};
DevianceMoments deviance_moments(DevianceOf noise, double model, double read_variance);

/// Q(a, x), the regularised upper incomplete gamma function; a > 0, x >= 0.
double upper_gamma(double a, double x);

/// The probability of a larger deviance, if it has this mean and this variance (eq. 4.2).
double p_value_of_deviance(double deviance, double mean, double variance);

}  // namespace glint::lens
