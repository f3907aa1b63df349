// A camera run forwards: from the mean light on a pixel to what it reads out.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "glint/camera.hpp"
#include "simulate/random.hpp"

namespace glint {

/// The camera's value of a field at sensor pixel k (row * sensor_width + column); any k when there is no map.
inline double at(const SensorField& field, std::size_t k) { return field.is_map() ? field.map[k] : field.scalar; }

/// One exposure of a pixel: shot noise, EM register, read noise; electrons before the conversion to ADU
/// (docs/theory.md, equation 7.2).
double expose(const Camera& camera, std::size_t sensor_pixel, double mean_photoelectrons, Random& random);

/// Exposes a frame that lies on the sensor at (roi_x, roi_y): counts, rounded and clipped to 0..65535.
void expose_frame(const Camera& camera, int width, std::span<const double> mean_photoelectrons, Random& random,
                  std::uint16_t* counts);

}  // namespace glint
