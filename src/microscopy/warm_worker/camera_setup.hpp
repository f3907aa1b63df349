// The camera of a stack or movie as a message; and what is too large for messages, in shared memory.
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

/// Data that jobs share and that no message has room for. It is packed at the beginning of the shared memory.
struct LargeParts {
    std::shared_ptr<const CameraView::Maps> maps;  ///< of the camera; null: it has none
    std::shared_ptr<const PsfTable> table;         ///< of the PSF; null: it has none
    bool operator==(const LargeParts&) const = default;
};
std::size_t bytes_of(const LargeParts& parts);
void pack(const LargeParts& parts, std::span<std::byte> to);

/// Whether sizes are some that a frame can have, wherever they come from.
bool is_sound(const CameraSetup& setup);
/// Reads what pack() has written, as the setups describe it. Returns nullopt if it is not maps of such a camera, or not
/// a table.
std::optional<LargeParts> unpack(const CameraSetup& camera, const FitSetup& fit, std::span<const std::byte> from);
/// Whether maps have a value for each pixel of such a camera.
bool cover(const CameraView::Maps& maps, const CameraSetup& setup);
/// `maps`: null for a camera without.
CameraView camera_of(const CameraSetup& setup, std::shared_ptr<const CameraView::Maps> maps);

}  // namespace glint::warm_worker
