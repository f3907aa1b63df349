// Text for the provenance of a table.
// SPDX-License-Identifier: MIT
#include "data/provenance.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/median.hpp"

namespace glint {
namespace {

/// Maps are on a separate line, so that programs find a number under the key that they expect.
std::string line_of(const char* key, const SensorField& field) {
    if (!field.is_map()) return fmt::format("{}: {:g}\n", key, field.scalar);
    return fmt::format("{}: {:g}\n{} is the median of a map: true\n", key, median_of(field), key);
}

}  // namespace

float median_of(const SensorField& field) {
    if (!field.is_map()) return field.scalar;
    return float(median(field.map));
}

double rms_of(const SensorField& field) {
    if (!field.is_map()) return field.scalar;
    double sum = 0;
    for (const float value : field.map) sum += double(value) * value;
    return std::sqrt(sum / double(field.map.size()));
}

std::string provenance_of(const Camera& camera) {
    const char* kinds[] = {"ideal", "sCMOS", "EMCCD"};
    std::string text = fmt::format("Camera: {}\n", kinds[int(camera.kind)]);
    text += line_of("Baseline", camera.offset_adu);
    text += line_of("Sensitivity", camera.gain_e_per_adu);  // photoelectrons per ADU, as Picasso means it
    text += fmt::format("Gain: {:g}\n", camera.em_gain);    // Picasso's name of the EM gain
    text += line_of("Read noise (e-)", camera.readnoise_e);
    return text + line_of("Relative QE", camera.relative_qe);
}

}  // namespace glint
