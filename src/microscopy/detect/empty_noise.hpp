// The noise check: noise between spots compared with that of the camera model (docs/explanation/theory.md, eq. 5.9).
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "detect/background.hpp"
#include "glint/camera.hpp"
#include "glint/detect.hpp"

namespace glint {

/// Returns a grid of about 1024 pixels of a frame.
NoiseGrid noise_grid(int width, int height, int spot_radius_px);

/// Second differences along both axes, on a grid of pixels away from spots. They are insensitive to structures that are
/// as smooth as a spot. They therefore measure the camera's noise even in dense frames.
class EmptyNoise {
  public:
    EmptyNoise(const CameraView& camera, int spot_radius_px);

    void sample(const float* photoelectrons, const Background& background);

    /// Excludes the samples near spots.
    void leave_out(const Spots& spots);

    /// Returns the root of observed over expected variance, without outliers; 0 if there is no information.
    double spread();

  private:
    struct Sample : NoiseSample {
        bool is_used;
    };
    NoisePlace place(const float* photoelectrons, const Background& background, int x, int y) const;

    const CameraView* camera_;
    NoiseGrid grid_;
    std::vector<Sample> samples_;
    std::vector<float> sorted_;
};

}  // namespace glint
