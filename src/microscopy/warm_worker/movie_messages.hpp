// A movie as messages between a client and its worker: its setup, and the rows of a block.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "pipeline/block_result.hpp"
#include "pipeline/localize_job.hpp"
#include "warm_worker/camera_setup.hpp"
#include "warm_worker/messages.hpp"

namespace glint::warm_worker {

LargeParts large_parts(const LocalizeJob& job);
MovieSetup setup_of(const LocalizeJob& job, PixelType type);
/// Returns the job that a setup describes, as far as a worker needs it. `memory` begins with the packed LargeParts.
/// Returns nullopt if a value is out of range, or if a fit or the detection would reject it.
std::optional<LocalizeJob> job_of(const MovieSetup& setup, std::span<const std::byte> memory);

/// Packs a block's rows, its counts and the noise of its frames. Returns false if there is not enough room.
bool pack(const BlockResult& result, std::span<std::byte> to);
/// Adds the block to `result`. Returns false if it is not one of frames [first, first + frames) of the job.
bool unpack(std::span<const std::byte> from, const LocalizeJob& job, std::int64_t first, int frames,
            BlockResult& result);

}  // namespace glint::warm_worker
