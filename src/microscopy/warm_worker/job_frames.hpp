// The frames of a client's job, from the shared memory or from the client's file.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/lease/descriptor.hpp"
#include "warm_worker/shared_movie.hpp"

namespace glint::warm_worker {

/// Thrown if the file does not contain the frames, or if reading them would wait.
struct NotThere {};

class JobFrames {
  public:
    /// `file`: null if the client sent none. All arguments must outlive this.
    JobFrames(const SharedMovie& movie, const MovieJob& work, const gpu::lease::Descriptor* file);
    /// Copies frames [first, first + count) of the job. Never waits for a file; throws NotThere instead.
    void read(int first, int count, std::byte* out) const;

  private:
    const std::byte* const memory_;  // start of the frames, or of their offsets
    const FramesFrom from_;
    const std::size_t frame_bytes_;
    const int file_;
    std::vector<std::uint64_t> offsets_;
};

}  // namespace glint::warm_worker
