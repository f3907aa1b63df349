// A movie of a worker's client: its job, and the memory that both share.
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
    SharedMovie(const SharedMovie&) = delete;  // the job borrows `ends`
    SharedMovie& operator=(const SharedMovie&) = delete;

    LocalizeJob job;
    const PixelType type;
    const SharedMemory memory;
    StopFlag ends{false};  ///< its client is gone, or nothing more is done for it: long blocks are given up

    MovieInfo info() const;  ///< of its frames
    /// Whether a job stays within the memory, and has no more frames than a client may ask for.
    bool holds(const MovieJob& work) const;
    /// Where its results go.
    std::span<std::byte> place_of(const MovieJob& work) const {
        return {memory.data() + work.place, std::size_t(work.bytes)};
    }
};

}  // namespace glint::warm_worker
