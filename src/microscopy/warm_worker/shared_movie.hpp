// A movie of a worker's client: its job, and the shared memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "glint/movie.hpp"
#include "pipeline/localize_job.hpp"
#include "warm_worker/messages.hpp"
#include "warm_worker/shared_memory.hpp"

namespace glint::warm_worker {

struct SharedMovie {
    SharedMovie(LocalizeJob of, PixelType pixels, SharedMemory with);
    SharedMovie(const SharedMovie&) = delete;  // the job refers to `ends`
    SharedMovie& operator=(const SharedMovie&) = delete;

    LocalizeJob job;
    const PixelType type;
    const SharedMemory memory;
    StopFlag ends{false};  ///< the client is gone, or the worker is ending: long blocks are given up

    MovieInfo info() const;  ///< of its frames
    /// Returns true if a job stays within the memory and has no more frames than a client may request.
    bool holds(const MovieJob& work) const;
    /// Returns the room for the job's results.
    std::span<std::byte> place_of(const MovieJob& work) const {
        return {memory.data() + work.place, std::size_t(work.bytes)};
    }
};

}  // namespace glint::warm_worker
