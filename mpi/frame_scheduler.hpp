// Dynamic load balancing: which rank gets which frames. Uses neither MPI nor a clock, so that tests can simulate both.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "glint/movie.hpp"

namespace glint::mpi {

/// Assigns frames to ranks in chunks. A rank's first chunk occupies all of its threads once. The following chunks grow
/// or shrink until each takes about `chunk_s`. With this length messages and fsync cost next to nothing, and little is
/// lost when a rank dies. Towards the end no rank gets more than half of its share of the remaining frames, so that all
/// ranks finish at about the same time.
class FrameScheduler {
  public:
    static constexpr double chunk_s = 2;

    /// `to_do`: the frames to assign, in order and not overlapping.
    FrameScheduler(std::vector<FrameRange> to_do, int ranks);

    /// Returns the next frames for a rank that needs `at_once` frames to occupy its threads; empty when none are left.
    FrameRange assign(int rank, std::int64_t at_once, double now_s);
    /// Stops the assignment: all later calls of assign() return no frames.
    void close() { to_do_.clear(); }
    /// Returns how many frames have not been assigned.
    std::int64_t left() const;

  private:
    /// The chunk that a rank got last.
    struct RankState {
        std::int64_t frames = 0;
        double since_s = 0;
    };
    std::int64_t chunk_size(const RankState& rank, std::int64_t at_once, double now_s) const;

    std::vector<FrameRange> to_do_;  ///< in reverse order: the next range is the last element
    std::vector<RankState> ranks_;
};

}  // namespace glint::mpi
