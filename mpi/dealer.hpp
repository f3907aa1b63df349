// Which rank gets which frames: whoever is faster gets more. Knows no MPI and no clock.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "glint/movie.hpp"

namespace glint::mpi {

/// Deals frames out in chunks. A rank's first one keeps its threads busy once; the next ones grow or shrink until each
/// takes about `chunk_s`: long enough for messages and syncs to cost nothing, short enough to be lost. Towards the end
/// nobody gets more than half of his share of what is left, so that all end together.
class Dealer {
  public:
    static constexpr double chunk_s = 2;

    /// `to_do` in order, not overlapping.
    Dealer(std::vector<FrameRange> to_do, int ranks);

    /// The next frames for a rank whose threads are kept busy by `at_once` frames; empty when none are left.
    FrameRange deal(int rank, std::int64_t at_once, double now_s);
    /// Deals no more.
    void close() { to_do_.clear(); }
    std::int64_t left() const;

  private:
    struct Hand {
        std::int64_t frames = 0;
        double since_s = 0;
    };
    std::int64_t chunk_of(const Hand& hand, std::int64_t at_once, double now_s) const;

    std::vector<FrameRange> to_do_;  ///< the next one last
    std::vector<Hand> hands_;
};

}  // namespace glint::mpi
