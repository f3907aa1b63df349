// Width, photons and density of a movie's spots, before anybody says what they are.
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

/// Finds spots, and fits a Gaussian of free width to each that no other is near. With `sigma_px` = 0 detection begins with 1.3 px
/// and goes on with the width found until that stays. Photons are those of the camera.
MovieSpots typical_spots(const SpotFrames& frames, const CameraView& camera, double sigma_px);

}  // namespace glint
