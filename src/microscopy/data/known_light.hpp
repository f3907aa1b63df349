// A camera that sees light which is known: it is taken out of the photoelectrons, and its noise is left.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "glint/camera.hpp"

namespace glint {

/// Returns a view whose photoelectrons lack `light_e` (>= 0; height * width, e-), and whose read variance includes
/// the shot noise of that light. In eq. 2.2 this is the known signal m: d' is unchanged, and mu' contains m / f.
/// Detection and fits need nothing but the maps of offset and variance that they have already. Masked pixels stay
/// masked.
CameraView with_known_light(const CameraView& camera, std::span<const float> light_e);

}  // namespace glint
