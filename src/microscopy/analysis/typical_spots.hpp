// Estimates the width, photons and density of a movie's spots without prior knowledge.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "glint/camera.hpp"
#include "glint/inspect.hpp"

namespace glint {

/// Frames of photoelectrons, all of the camera's size.
struct SpotFrames {
    std::vector<std::vector<float>> photoelectrons;
};

/// Finds spots and fits a Gaussian of free width to each lone spot. With `sigma_px` = 0, detection starts with 1.3 px
/// and repeats with the measured width until it is stable. Photons are those of the given camera.
MovieSpots typical_spots(const SpotFrames& frames, const CameraView& camera, double sigma_px);

}  // namespace glint
