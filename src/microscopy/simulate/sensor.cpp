// Simulates shot noise, electron multiplication, read noise and the conversion to counts.
// SPDX-License-Identifier: MIT
#include "simulate/sensor.hpp"

#include <algorithm>
#include <cmath>

namespace glint {

double expose(const Camera& camera, std::size_t sensor_pixel, double mean_photoelectrons, Random& random) {
    double electrons = random.poisson(mean_photoelectrons * at(camera.relative_qe, sensor_pixel));
    if (camera.kind == CameraKind::EMCCD) electrons = random.gamma(electrons);
    electrons *= camera.em_gain;
    const double readnoise = at(camera.readnoise_e, sensor_pixel);
    return readnoise > 0 ? electrons + readnoise * random.normal() : electrons;
}

void expose_frame(const Camera& camera, int width, std::span<const double> mean_photoelectrons, Random& random,
                  std::uint16_t* counts) {
    for (std::size_t k = 0; k < mean_photoelectrons.size(); ++k) {
        const std::size_t sensor_pixel =
            (k / width + camera.roi_y) * std::size_t(camera.sensor_width) + k % width + camera.roi_x;
        const double electrons = expose(camera, sensor_pixel, mean_photoelectrons[k], random);
        const double adu = electrons / at(camera.gain_e_per_adu, sensor_pixel) + at(camera.offset_adu, sensor_pixel);
        counts[k] = std::uint16_t(std::clamp(std::nearbyint(adu), 0.0, 65535.0));
    }
}

}  // namespace glint
