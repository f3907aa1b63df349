// Simulated frames with known noise and given spots, for tests of detection.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "glint/camera.hpp"
#include "simulate/random.hpp"

namespace glint::test {

/// Expected photoelectrons per pixel.
struct Scene {
    int width = 0, height = 0;
    std::vector<double> mean;

    Scene(int w, int h, double background) : width(w), height(h), mean(std::size_t(w) * h, background) {}

    /// Adds a pixel-integrated Gaussian of `photons`.
    void add_spot(double x, double y, double sigma_px, double photons) {
        const auto part = [&](int i, double c) {
            const double scale = std::sqrt(2.0) * sigma_px;
            return 0.5 * (std::erf((i + 0.5 - c) / scale) - std::erf((i - 0.5 - c) / scale));
        };
        const int reach = int(6 * sigma_px) + 2;
        for (int j = std::max(0, int(y) - reach); j < std::min(height, int(y) + reach); ++j)
            for (int i = std::max(0, int(x) - reach); i < std::min(width, int(x) + reach); ++i)
                mean[std::size_t(j) * width + i] += photons * part(i, x) * part(j, y);
    }
};

/// Returns one exposure: Poisson noise, EM multiplication if the camera has a register, and normal read noise.
inline std::vector<float> expose(const Scene& scene, double read_variance, std::uint64_t seed,
                                 CameraKind kind = CameraKind::Ideal) {
    Random random(seed, Stream::frame_noise, 0);
    std::vector<float> frame;
    frame.reserve(scene.mean.size());
    for (double mean : scene.mean) {
        double electrons = random.poisson(mean);
        if (kind == CameraKind::EMCCD) electrons = random.gamma(electrons);
        frame.push_back(float(electrons + std::sqrt(read_variance) * random.normal()));
    }
    return frame;
}

inline Camera make_camera(double read_variance, CameraKind kind = CameraKind::Ideal) {
    Camera camera;
    camera.kind = kind;
    camera.readnoise_e.scalar = float(std::sqrt(read_variance));
    return camera;
}

/// Returns the standard error of the noise check (a median over frames) if every pixel is a sample, except those within
/// 4 px of a spot (of 1.3 px) and 2 px of the edge. Second differences of adjacent pixels are correlated: the effective
/// number of samples is smaller by (70/36)^2, the sum of the squared correlations.
inline double noise_check_error(int width, int height, int spots, int frames) {
    const double samples = (width - 4.0) * (height - 4) - 81.0 * spots, correlated = 70 * 70 / (36.0 * 36);
    const double of_a_median = std::sqrt(std::numbers::pi / 2);
    return of_a_median * std::sqrt(correlated / (2 * samples) / frames);
}

/// Returns the same camera with its read noise as a map.
inline Camera mapped(Camera camera, int width, int height) {
    camera.kind = CameraKind::SCMOS;
    camera.sensor_width = width, camera.sensor_height = height;
    camera.readnoise_e.map.assign(std::size_t(width) * height, camera.readnoise_e.scalar);
    return camera;
}

}  // namespace glint::test
