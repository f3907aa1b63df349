// How far the spots of a measured PSF extend.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "glint/psf.hpp"

namespace glint {

/// The planes of a table at the z of a spline's range: without the outermost two, or the only one.
struct InnerPlanes {
    int first, count;
};
constexpr InnerPlanes inner_planes(const PsfTable::Shape& shape) {
    return shape[0] == 1 ? InnerPlanes{0, 1} : InnerPlanes{1, shape[0] - 2};
}

/// Returns the standard deviation, px, of the Gaussian filter with the largest mean signal-to-noise ratio over the
/// planes of a table of spline coefficients: 0.3 to 8. Tables whose planes have no light give 1.3.
double find_filter_width_px(const PsfTable::Shape& shape, std::span<const float> coefficients, int samples_per_px);

/// Returns half the edge of a square window, px, that contains 80 % of a spot's light, on average over the planes. A
/// larger window gains little: its outer pixels contain mostly background. The cell with the widest
/// spots decides.
double find_half_window_px(const PsfTable& table);

/// A part of the light of each plane, 0 to 1.
struct LightShare {
    double mean = 0, min = 0;  ///< over the planes, and over the cells
};

/// Returns the part of a spot's light in a window of `size` px around the molecule.
LightShare find_light_share(const PsfTable& table, int size);

}  // namespace glint
