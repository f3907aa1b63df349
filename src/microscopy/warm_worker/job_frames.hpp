// The frames of a client's job, from the memory that both share or from its file.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/lease/descriptor.hpp"
#include "warm_worker/shared_movie.hpp"

namespace glint::warm_worker {

/// The file has no such frames, or they would have to be waited for.
struct NotThere {};

class JobFrames {
  public:
    /// `file`: null if the client has sent none. All of it must outlive this.
    JobFrames(const SharedMovie& movie, const MovieJob& work, const gpu::lease::Descriptor* file);
    /// Copies frames [first, first + count) of the job. Never waits for a file; throws NotThere.
    void read(int first, int count, std::byte* out) const;

  private:
    const std::byte* const memory_;  // where the frames begin, or their places
    const FramesFrom from_;
    const std::size_t frame_bytes_;
    const int file_;
    std::vector<std::uint64_t> offsets_;
};

}  // namespace glint::warm_worker
