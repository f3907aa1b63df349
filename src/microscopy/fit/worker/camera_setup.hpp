// The camera of a stack or movie as a message, and its maps in shared memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "fit/worker/messages.hpp"
#include "glint/camera.hpp"

namespace glint::worker {

CameraSetup setup_of(const CameraView& camera);
std::size_t bytes_of_maps(const CameraView& camera);
void pack_maps(const CameraView& camera, std::span<std::byte> to);

/// Whether sizes are some that a frame can have, wherever they come from.
bool is_sound(const CameraSetup& setup);
/// What pack_maps() has written; `setup` is sound. Nothing where these are no maps of such a camera.
std::shared_ptr<const CameraView::Maps> maps_of(const CameraSetup& setup, std::span<const std::byte> from);
/// Whether maps have a value for each pixel of such a camera.
bool cover(const CameraView::Maps& maps, const CameraSetup& setup);
/// `maps`: null for a camera without.
CameraView camera_of(const CameraSetup& setup, std::shared_ptr<const CameraView::Maps> maps);

}  // namespace glint::worker
