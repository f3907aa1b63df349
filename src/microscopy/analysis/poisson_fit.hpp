// Maximum likelihood fit of a few positive parameters to counts in bins.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace glint {

/// Fills the expected counts of all bins from the parameters.
using ExpectedCounts = std::function<void(std::span<const double> parameters, std::span<double> expected)>;

struct PoissonFit {
    std::vector<double> parameters;
    double deviance =
        0;  ///< 2 sum(m - n + n ln(n / m)), about the number of bins less that of parameters where the model is true
};

/// Fisher scoring in the logarithms of the parameters, damped (Levenberg), from `start`; each stays within low and high, and where
/// they are equal is fixed. Slopes are differences.
PoissonFit poisson_fit(std::span<const double> counts, const ExpectedCounts& expected, std::vector<double> start,
                       std::span<const double> low, std::span<const double> high);

}  // namespace glint
