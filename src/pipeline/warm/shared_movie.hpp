// A movie of a worker's client: its job, and the memory that both share.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fit/worker/messages.hpp"
#include "fit/worker/shared_memory.hpp"
#include "glint/movie.hpp"
#include "pipeline/job.hpp"

namespace glint::worker {

struct SharedMovie {
    Job job;
    PixelType type;
    SharedMemory memory;

    std::uint64_t frame_bytes() const;
    MovieInfo info() const;  ///< of its frames
    /// Whether a job stays within the memory.
    bool holds(const MovieJob& work) const;
    /// Where its groups are, and results go.
    std::span<std::byte> place_of(const MovieJob& work) const {
        return {memory.data() + work.place, std::size_t(work.bytes)};
    }
};

}  // namespace glint::worker
