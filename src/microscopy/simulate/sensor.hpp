// Simulates a camera: from the expected signal of a pixel to its count (docs/theory.md, eq. 7.2 and 7.3).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "glint/camera.hpp"
#include "simulate/random.hpp"

namespace glint {

/// The value of a camera property at sensor pixel k (row * sensor_width + column); any k without a map.
inline double at(const SensorField& field, std::size_t k) { return field.is_map() ? field.map[k] : field.scalar; }

/// One exposure of a pixel with shot noise, EM register and read noise; in electrons, before the conversion to ADU (eq.
/// 7.2).
double expose(const Camera& camera, std::size_t sensor_pixel, double mean_photoelectrons, Random& random);

/// Exposes a frame whose pixel (0, 0) is the sensor's (roi_x, roi_y); counts are rounded and clipped to 0..65535 (eq.
/// 7.3).
void expose_frame(const Camera& camera, int width, std::span<const double> mean_photoelectrons, Random& random,
                  std::uint16_t* counts);

}  // namespace glint
