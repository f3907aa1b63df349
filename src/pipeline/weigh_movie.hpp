// Whether a movie is localized sooner on the CPU or on a GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "glint/offload/decision.hpp"
#include "offload/machine.hpp"
#include "pipeline/job.hpp"

namespace glint {

/// So many frames, as the cost model sees them: all that is done to them, from counts in memory to rows.
offload::Work movie_work(const MovieInfo& movie, const Job& job, std::int64_t frames);

/// One movie's decision, and what is learnt from it.
class MovieWeighing {
  public:
    MovieWeighing(const MovieInfo& movie, const Job& job) : movie_(movie), job_(job) {}

    /// Whether it is known how fast the CPU is with such movies; where there is no driver nothing needs to be known.
    bool knows_cpu() const;
    offload::Decision decide(std::int64_t frames);
    /// What so many frames took on one side, without waiting and opening.
    void learn(Backend side, std::int64_t frames, double seconds);

  private:
    const MovieInfo& movie_;
    const Job& job_;
    std::shared_ptr<offload::Machine> cpu_ = offload::machine_with("", "");  // what is known without a GPU
    std::shared_ptr<offload::Machine> machine_;
};

}  // namespace glint
