// A camera view that subtracts known light from the photoelectrons but keeps its noise.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "glint/camera.hpp"

namespace glint {

/// Returns a view whose photoelectrons lack `light_e` (>= 0; height * width, e-), and whose read variance includes the
/// shot noise of that light. In eq. 2.2 this is the known signal m: d' is unchanged, and mu' contains m / f. Detection
/// and fits need only their existing maps of offset and variance. Masked pixels stay masked.
CameraView with_known_light(const CameraView& camera, std::span<const float> light_e);

}  // namespace glint
