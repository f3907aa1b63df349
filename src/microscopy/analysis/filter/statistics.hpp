// Percentile and mode of a column, for conditions.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

namespace glint::conditions {

/// Of the finite values, interpolated linearly between them as NumPy does by default; NaN if there are none.
double percentile(std::vector<double> values, double percent);

/// Where the density of the finite values is highest: the maximum of a Gaussian kernel estimate, whose width is Silverman's
/// 0.9 IQR / 1.34 n^(-1/5) (Silverman, Density Estimation, 1986, eq. 3.31). NaN if there are none.
double mode(std::vector<double> values);

}  // namespace glint::conditions
