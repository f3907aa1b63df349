// SPDX-License-Identifier: MIT
#include "psf/astigmatic_table.hpp"

#include <cmath>
#include <vector>

namespace glint {
namespace {

/// Turns values at every `step`-th place into the coefficients of the cubic spline through them, whose second
/// derivative is 0 at both ends: (c[k-1] + 4 c[k] + c[k+1]) / 6 = value[k].
void to_spline_coefficients(double* values, int count, std::size_t step) {
    std::vector<double> factors(std::size_t(count), 0.0);
    const auto at = [&](int k) -> double& { return values[std::size_t(k) * step]; };
    for (int k = 1; k + 1 < count; ++k) {  // Thomas' algorithm; the first and the last coefficient are the values
        const double left = 4 - factors[std::size_t(k - 1)];
        factors[std::size_t(k)] = 1 / left;
        at(k) = (6 * at(k) - at(k - 1)) / left;
    }
    for (int k = count - 2; k >= 1; --k) at(k) -= factors[std::size_t(k)] * at(k + 1);
}

/// The part of a Gaussian's light in the pixel whose centre is at a distance from it.
double light_of_pixel(double distance_px, double sigma_px) {
    const double scale = std::sqrt(2) * sigma_px;
    return 0.5 * (std::erf((distance_px + 0.5) / scale) - std::erf((distance_px - 0.5) / scale));
}

}  // namespace

std::shared_ptr<const PsfTable> make_astigmatic_table(const AstigmaticCurve& curve, double pixel_nm,
                                                      const PsfTable::Shape& shape, int samples_per_px) {
    const auto [depths, height, width, one] = shape;
    const bool is_flat = depths == 1;
    const double step_nm = (curve.z_max_nm - curve.z_min_nm) / (depths - 3), per_sample = 1.0 / samples_per_px;
    std::vector<double> values;
    for (int k = 0; k < depths; ++k) {
        const double z_nm = is_flat ? 0 : curve.z_min_nm + (k - 1) * step_nm;
        const double sx = curve.sigma_x_nm(z_nm) / pixel_nm, sy = curve.sigma_y_nm(z_nm) / pixel_nm;
        for (int j = 0; j < height; ++j)
            for (int i = 0; i < width; ++i)
                values.push_back(light_of_pixel(per_sample * (i - 0.5 * (width - 1)), sx) *
                                 light_of_pixel(per_sample * (j - 0.5 * (height - 1)), sy));
    }
    const std::size_t line = std::size_t(width), plane = line * std::size_t(height);
    for (std::size_t k = 0; k < values.size(); k += line) to_spline_coefficients(&values[k], width, 1);
    for (std::size_t k = 0; k < std::size_t(depths); ++k)
        for (std::size_t i = 0; i < line; ++i) to_spline_coefficients(&values[k * plane + i], height, line);
    for (std::size_t i = 0; i < plane && !is_flat; ++i) to_spline_coefficients(&values[i], depths, plane);
    const PsfTable::Scale scale{pixel_nm, is_flat ? 0 : curve.z_min_nm, is_flat ? 0 : curve.z_max_nm, samples_per_px};
    return std::make_shared<const PsfTable>(shape, std::vector<float>(values.begin(), values.end()), scale);
}

}  // namespace glint
