// Localizes the frames of a job by a warm worker: all threads read frames into memory that both share, the worker finds and
// fits, and all threads make rows.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/movie_service.hpp"
#include "warm_worker/worker_connection.hpp"

namespace glint::warm_worker {

class MovieClient final : public MovieService {
  public:
    /// `frames`: how many there are; unknown_end: that is not known.
    MovieClient(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames, BlocksInOrder& blocks);

    std::optional<OpenGpu> open_gpu() override;
    bool run(FitInfo& info) override;

  private:
    bool can_serve() const;
    std::size_t place_bytes(int block_frames) const;
    void run_with(FitInfo& part);

    const MovieInfo& movie_;
    const LocalizeJob& job_;
    const LocalizeOptions& options_;  // of the job
    const std::int64_t frames_;
    BlocksInOrder& blocks_;
    WorkerConnection worker_;
};

}  // namespace glint::warm_worker
