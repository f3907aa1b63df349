// The camera as lines of a processing step (Localizations::history), with Picasso's keys if Picasso has such keys.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "glint/camera.hpp"

namespace glint {

/// "Baseline: 100\nSensitivity: 0.5\nGain: 1\n...": offset, gain, EM gain, read noise,
/// relative QE; the median of a map.
std::string provenance_of(const Camera& camera);

/// Returns the median of a map, or the number itself.
float median_of(const SensorField& field);
/// Returns the root mean square of a map, from which a mean variance is computed; for a number, the number.
double rms_of(const SensorField& field);

}  // namespace glint
