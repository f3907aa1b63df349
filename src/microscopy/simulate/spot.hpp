// The expected signal of one molecule, in double precision.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <span>

#include "psf/in_double.hpp"

namespace glint {

/// A molecule's parameters; positions in pixels, with the centre of pixel (0, 0) at 0.
struct Spot {
    double x_px, y_px;
    double photons;
    PsfInDouble psf;
    std::array<double, most_shape_parameters> shape{};  ///< the model's parameters after x, y, photons and bg
};

/// A spot of this model with its typical shape at z.
Spot make_spot(const Psf& psf, double pixel_size_um, double x_px, double y_px, double z_um, double photons);

/// Adds the spot's expected photoelectrons to an image of height x width pixels, up to six widths from its centre (eq.
/// 7.1).
void add_spot(const Spot& spot, int width, int height, std::span<double> image);

}  // namespace glint
