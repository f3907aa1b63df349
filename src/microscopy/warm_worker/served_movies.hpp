// The movies of a worker's clients on its GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

#include "fit/cuda/joint_on_gpu.hpp"
#include "glint/gpu_fit.hpp"
#include "pipeline/frame_upload.hpp"
#include "pipeline/gpu_localizer.hpp"
#include "pipeline/gpu_memory_plan.hpp"
#include "warm_worker/job_frames.hpp"
#include "warm_worker/resource_pool.hpp"

namespace glint::warm_worker {

/// Localizes several blocks simultaneously, like movie_on_gpus.cpp. A job's resources are kept for the next job of that
/// movie until another movie needs them. Page-locked memory of frames is kept permanently, since its creation takes
/// long. Thread-safe.
class ServedMovies {
  public:
    explicit ServedMovies(GpuFitter& fitter);

    /// Does a job of the movie; waits if all resources are in use. `file`: null if the client sent none. Throws
    /// gpu::GpuError. Throws Cancelled if the movie ends.
    void run(const std::shared_ptr<const SharedMovie>& movie, const MovieJob& job, const gpu::lease::Descriptor* file,
             MovieReply& reply);
    /// Returns the maximum number of simultaneous jobs, so that memory remains for one more job of this movie.
    std::size_t at_once(const SharedMovie& movie) const { return room_for(movie).uploads; }
    /// Frees the idle resources of the movie, or of all movies.
    void forget(const SharedMovie& movie) { empty_pools(&movie); }
    void forget_all() { empty_pools(nullptr); }

  private:
    struct ForBlock {
        FrameUpload upload;
        FoundSpots found;
        Fitter fitter = {};
    };
    using SharedPtr = std::shared_ptr<const SharedMovie>;

    void empty_pools(const SharedMovie* movie);
    gpu::Module detect();
    FramesOnGpu room_for(const SharedMovie& movie) const;
    void localize(ForBlock& mine, const SharedPtr& movie, const MovieJob& job, const JobFrames& frames,
                  BlockResult& result, MovieReply& reply);
    void find(const SharedPtr& movie, std::span<const JointCut> groups, MovieReply& reply);

    GpuFitter& fitter_;
    std::mutex mutex_;  // guards detect_
    std::optional<gpu::Module> detect_;
    static constexpr std::chrono::milliseconds long_{20};  // creating a GPU resource takes a third of this
    ResourcePool<ForBlock, SharedMovie> for_blocks_;
    ResourcePool<GpuLocalizer, SharedMovie> for_spots_{max_gpu_localizers, long_};
    ResourcePool<JointOnGpu, SharedMovie> for_groups_{max_finders, long_};
};

}  // namespace glint::warm_worker
