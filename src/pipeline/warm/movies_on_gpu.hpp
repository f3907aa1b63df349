// The movies of a worker's clients on its GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "fit/cuda/joint_on_gpu.hpp"
#include "glint/gpu_fit.hpp"
#include "pipeline/frame_upload.hpp"
#include "pipeline/gpu_shares.hpp"
#include "pipeline/gpu_worker.hpp"
#include "pipeline/warm/locked_places.hpp"

namespace glint::worker {

/// Does the GPU's part of blocks and of groups, several jobs at once. What a job takes on the GPU is kept for the next one of that
/// movie, until another movie needs the seat. Thread-safe.
class MoviesOnGpu {
  public:
    explicit MoviesOnGpu(GpuFitter& fitter) : fitter_(fitter) {}

    /// Does a job that the movie holds; waits where all seats are taken. Throws gpu::GpuError; OptionError for what are no groups.
    void run(const std::shared_ptr<const SharedMovie>& movie, const MovieJob& job, MovieReply& reply);
    /// How many jobs of that kind may be under way, so that there is memory for one more of this movie.
    std::size_t at_once(const SharedMovie& movie, MovieWork work) const;
    /// Lets go of what is kept for the movie, or for all movies, but for what is in use.
    void forget(const SharedMovie& movie);
    void forget_all();

  private:
    struct ForBlocks {
        std::shared_ptr<LockedPlaces> places;  // one for all seats of the movie
        FrameUpload upload;
        GpuWorker worker;
        ForBlocks(std::shared_ptr<LockedPlaces> of, const gpu::Context& context, const gpu::Module& detect,
                  FitKernels& kernels, const SharedMovie& movie, const FramesOnGpu& share)
            : places(std::move(of)),
              upload(context, movie.frame_bytes(), share.frames),
              worker(context, detect, kernels, movie.job, share.frames) {}
    };
    template <class Part>
    struct Seat {
        bool taken = false;  // by a thread, whose the part is
        std::uint64_t last_use = 0;
        std::shared_ptr<const SharedMovie> movie = {};
        std::unique_ptr<Part> part = {};  // of that movie
    };

    template <class Seats, class Make, class Work>
    void on_seat(Seats& seats, const std::shared_ptr<const SharedMovie>& movie, const Make& make, const Work& work);
    template <class Seats>
    auto& take_seat(Seats& seats, const std::shared_ptr<const SharedMovie>& movie);
    void empty_seats(const SharedMovie* movie);
    std::shared_ptr<LockedPlaces> places_of(const std::shared_ptr<const SharedMovie>& movie);
    gpu::Module detect();
    FramesOnGpu share_of(const SharedMovie& movie) const;
    void localize(ForBlocks& part, const SharedMovie& movie, const MovieJob& job, MovieReply& reply);

    GpuFitter& fitter_;
    std::mutex mutex_;  // guards what follows
    std::condition_variable seat_is_free_;
    std::uint64_t uses_ = 0;
    std::optional<gpu::Module> detect_;
    std::map<const SharedMovie*, std::weak_ptr<LockedPlaces>> places_;
    std::array<Seat<ForBlocks>, most_gpu_workers> for_blocks_;
    std::array<Seat<JointOnGpu>, most_finders> for_groups_;
};

}  // namespace glint::worker
