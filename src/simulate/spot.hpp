// One molecule's light on the pixels, in double precision.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <span>

#include "psf/in_double.hpp"

namespace glint {

/// A molecule as the camera sees it; pixels, the centre of pixel (0, 0) at 0.
struct Spot {
    double x_px, y_px;
    double photons;
    PsfInDouble psf;
    std::array<double, most_shape_parameters> shape{};  ///< the model's parameters after x, y, photons and bg
};

/// A spot of this model, of the shape that is typical so far from the focus.
Spot make_spot(const Psf& psf, double pixel_size_um, double x_px, double y_px, double z_um, double photons);

/// Adds the spot's mean photoelectrons to an image (height rows of width), up to six widths from its centre
/// (docs/theory.md, equation 7.1).
void add_spot(const Spot& spot, int width, int height, std::span<double> image);

}  // namespace glint
