// Maximum likelihood fit of a few positive parameters to counts in bins.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace glint {

/// Computes the expected counts of all bins from the parameters.
using ExpectedCounts = std::function<void(std::span<const double> parameters, std::span<double> expected)>;

struct PoissonFit {
    std::vector<double> parameters;
    /// 2 sum(m - n + n ln(n / m)). For a true model, about the number of bins minus the number of parameters.
    double deviance = 0;
};

/// Fits by Fisher scoring in the logarithms of the parameters, damped (Levenberg), from `start`. Each parameter stays
/// within `low` and `high`, and is fixed if these are equal. Slopes are finite differences.
PoissonFit poisson_fit(std::span<const double> counts, const ExpectedCounts& expected, std::vector<double> start,
                       std::span<const double> low, std::span<const double> high);

}  // namespace glint
