// A table for TabulatedXYZNB, 1 MiB of coefficients: the splines through an astigmatic PSF, so that AstigmaticXYZNB is
// its reference.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "glint/psf.hpp"

namespace glint::test {

/// Turns values at every `step`-th place into the coefficients of the cubic spline through them, whose second
/// derivative is 0 at both ends: (c[k-1] + 4 c[k] + c[k+1]) / 6 = value[k].
inline void to_spline_coefficients(double* values, int count, std::size_t step) {
    std::vector<double> factors(std::size_t(count), 0.0);
    const auto at = [&](int k) -> double& { return values[std::size_t(k) * step]; };
    for (int k = 1; k + 1 < count; ++k) {  // Thomas' algorithm; the first and the last coefficient are the values
        const double left = 4 - factors[std::size_t(k - 1)];
        factors[std::size_t(k)] = 1 / left;
        at(k) = (6 * at(k) - at(k - 1)) / left;
    }
    for (int k = count - 2; k >= 1; --k) at(k) -= factors[std::size_t(k)] * at(k + 1);
}

inline std::shared_ptr<const PsfTable> spline_table(const AstigmaticCurve& curve, double pixel_nm) {
    constexpr PsfTable::Shape shape{17, 126, 126, 1};
    const auto [depths, height, width, one] = shape;
    const double step_nm = (curve.z_max_nm - curve.z_min_nm) / (depths - 3);
    const auto pixel = [](double at, double sigma) {
        return 0.5 * (std::erf((at + 0.5) / (std::sqrt(2) * sigma)) - std::erf((at - 0.5) / (std::sqrt(2) * sigma)));
    };
    std::vector<double> values;
    for (int k = 0; k < depths; ++k) {
        const double z_nm = curve.z_min_nm + (k - 1) * step_nm;
        const double sx = curve.sigma_x_nm(z_nm) / pixel_nm, sy = curve.sigma_y_nm(z_nm) / pixel_nm;
        for (int j = 0; j < height; ++j)
            for (int i = 0; i < width; ++i)
                values.push_back(pixel(0.5 * (i - 0.5 * (width - 1)), sx) * pixel(0.5 * (j - 0.5 * (height - 1)), sy));
    }
    const std::size_t line = std::size_t(width), plane = line * std::size_t(height);
    for (std::size_t k = 0; k < values.size(); k += line) to_spline_coefficients(&values[k], width, 1);
    for (std::size_t k = 0; k < std::size_t(depths); ++k)
        for (std::size_t i = 0; i < line; ++i) to_spline_coefficients(&values[k * plane + i], height, line);
    for (std::size_t i = 0; i < plane; ++i) to_spline_coefficients(&values[i], depths, plane);
    return std::make_shared<const PsfTable>(shape, std::vector<float>(values.begin(), values.end()),
                                            PsfTable::Scale{pixel_nm, curve.z_min_nm, curve.z_max_nm});
}

}  // namespace glint::test
