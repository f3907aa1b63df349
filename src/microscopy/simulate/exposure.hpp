// A molecule's expected signal, and its exposure by a camera (docs/explanation/theory.md, eqs. 7.1 to 7.3).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "glint/camera.hpp"
#include "psf/in_double.hpp"
#include "simulate/random.hpp"

namespace glint {

/// A molecule's parameters; positions in pixels, with the centre of pixel (0, 0) at 0.
struct Spot {
    double x_px, y_px;
    double photons;
    PsfInDouble psf;
    std::array<double, max_shape_parameters> shape{};  ///< the model's parameters after x, y, photons and bg
};

/// Returns a spot of this model with its typical shape at z.
Spot make_spot(const PsfInDouble& psf, double x_px, double y_px, double z_um, double photons);

/// Adds the spot's expected photoelectrons to an image of height x width pixels: up to six widths from its centre (eq.
/// 7.1), or all pixels that the table of a measured PSF describes.
void add_spot(const Spot& spot, int width, int height, std::span<double> image);

/// Returns the value of a camera property at sensor pixel k (row * sensor_width + column). Without a map, k is ignored.
inline double at(const SensorField& field, std::size_t k) { return field.is_map() ? field.map[k] : field.scalar; }

/// Returns one exposure of a pixel with shot noise, EM register and read noise, in electrons before the conversion to
/// ADU (eq. 7.2).
double expose(const Camera& camera, std::size_t sensor_pixel, double mean_photoelectrons, Random& random);

/// Exposes a frame whose pixel (0, 0) is the sensor's (roi_x, roi_y); counts are rounded and clipped to 0..65535 (eq.
/// 7.3).
void expose_frame(const Camera& camera, int width, std::span<const double> mean_photoelectrons, Random& random,
                  std::uint16_t* counts);

}  // namespace glint
