// One molecule's light on the pixels, in double precision.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "glint/psf.hpp"

namespace glint {

/// A molecule as the camera sees it; pixels, the centre of pixel (0, 0) at 0.
struct Spot {
    double x_px = 0, y_px = 0;
    double photons = 0;
    double sigma_x_px = 0, sigma_y_px = 0;
};

/// A spot of this model; z is used by AstigmaticXYZNB alone.
Spot make_spot(const Psf& psf, double pixel_size_um, double x_px, double y_px, double z_um, double photons);

/// Adds the spot's mean photoelectrons to an image (height rows of width), up to six widths from its centre
/// (docs/theory.md, equation 7.1).
void add_spot(const Spot& spot, int width, int height, std::span<double> image);

/// Throws OptionError when the model lacks a width or the pixel size is not positive.
void require_psf(const Psf& psf, double pixel_size_um);

}  // namespace glint
