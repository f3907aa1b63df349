// The camera of a stack or movie as a message, and data too large for messages, in shared memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "glint/camera.hpp"
#include "warm_worker/messages.hpp"

namespace glint::warm_worker {

CameraSetup setup_of(const CameraView& camera);

/// Data that jobs share and that are too large for messages. Packed at the beginning of the shared memory.
struct LargeParts {
    std::shared_ptr<const CameraView::Maps> maps;  ///< of the camera; null if it has none
    std::shared_ptr<const PsfTable> table;         ///< of the PSF; null if it has none
    bool operator==(const LargeParts&) const = default;
};
std::size_t num_bytes(const LargeParts& parts);
void pack(const LargeParts& parts, std::span<std::byte> to);

/// Returns true if a frame can have these sizes. Use it for untrusted data.
bool is_sound(const CameraSetup& setup);
/// Reads what pack() wrote, as the setups describe it. Returns nullopt if the data are not maps of such a camera, or
/// not a table.
std::optional<LargeParts> unpack(const CameraSetup& camera, const FitSetup& fit, std::span<const std::byte> from);
/// Returns true if the maps have a value for each pixel of such a camera.
bool cover(const CameraView::Maps& maps, const CameraSetup& setup);
/// `maps`: null for a camera without maps.
CameraView make_camera(const CameraSetup& setup, std::shared_ptr<const CameraView::Maps> maps);

}  // namespace glint::warm_worker
