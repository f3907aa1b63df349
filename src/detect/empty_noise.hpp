// The noise between spots, compared with what the camera model expects.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "detect/background.hpp"
#include "glint/camera.hpp"
#include "glint/detect.hpp"

namespace glint {

/// More than this is no chance but a camera that the model does not describe.
constexpr double most_noise_spread = 1.25;

/// Second differences along both axes, on a grid of pixels away from spots. They are blind to anything as
/// smooth as a spot or a structured background, so they see the camera's noise even in dense frames.
class EmptyNoise {
  public:
    EmptyNoise(const CameraView& camera, int spot_radius_px);

    void sample(const float* photoelectrons, const Background& background);

    /// Leaves out the samples near spots.
    void leave_out(const Spots& spots);

    /// Root of observed over expected variance, outliers left out; 0 without information.
    double spread();

  private:
    struct Sample {
        float observed, expected;  ///< squares over the variance of the background's tile
        bool is_used;
    };
    Sample at(const float* photoelectrons, int x, int y, float tile_variance) const;

    const CameraView* camera_;
    int spot_radius_px_, step_px_, columns_, rows_;
    std::vector<Sample> samples_;
    std::vector<float> sorted_;
};

}  // namespace glint
