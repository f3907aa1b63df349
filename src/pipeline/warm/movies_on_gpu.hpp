// The movies of a worker's clients on its GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>

#include "fit/cuda/joint_on_gpu.hpp"
#include "fit/worker/shared_memory.hpp"
#include "glint/gpu_fit.hpp"
#include "pipeline/gpu_worker.hpp"
#include "pipeline/warm/movie_parts.hpp"

namespace glint::worker {

/// A client's movie, and the memory that it shares.
struct SharedMovie {
    Job job;
    PixelType type;
    SharedMemory memory;

    std::uint64_t frame_bytes() const {
        return std::uint64_t(job.camera.width()) * std::uint64_t(job.camera.height()) * std::uint64_t(bytes_of(type));
    }
    /// Whether a job stays within the memory.
    bool holds(const MovieJob& work) const;
};

/// Does the GPU's part of blocks and groups, of one client after the other. Keeps what that takes for the clients that had
/// jobs last. Not thread-safe.
class MoviesOnGpu {
  public:
    explicit MoviesOnGpu(GpuFitter& fitter) : fitter_(fitter) {}

    /// Does jobs that the movie holds, the groups among them at once; `replies`: one each. Throws gpu::GpuError; OptionError for
    /// what are no groups.
    void run(const std::shared_ptr<const SharedMovie>& movie, std::span<const MovieJob> jobs,
             std::span<MovieReply> replies);
    /// Lets go of the movies that nobody else has any more, and of their memory.
    void forget_ended();

  private:
    /// Page-locks the places that a client uses again and again: for one use it would take longer than it saves.
    class LockedPlaces {
      public:
        LockedPlaces(const gpu::Context& context, const SharedMemory& memory) : context_(context), memory_(memory) {}
        ~LockedPlaces();
        LockedPlaces(const LockedPlaces&) = delete;
        LockedPlaces& operator=(const LockedPlaces&) = delete;
        void used(std::uint64_t at, std::uint64_t bytes);

      private:
        enum class Place { used, locked, not_lockable };
        const gpu::Context context_;
        const SharedMemory& memory_;
        std::map<std::uint64_t, std::pair<Place, std::uint64_t>> places_;  // by offset; with the bytes
    };
    struct OnGpu {
        std::shared_ptr<const SharedMovie> movie;
        LockedPlaces places;
        std::optional<GpuWorker> worker = {};
        std::optional<JointOnGpu> finder = {};

        OnGpu(std::shared_ptr<const SharedMovie> of, const gpu::Context& context)
            : movie(std::move(of)), places(context, movie->memory) {}
    };
    OnGpu& of(const std::shared_ptr<const SharedMovie>& movie);
    void localize(OnGpu& on_gpu, const MovieJob& job, MovieReply& reply);
    void find(OnGpu& on_gpu, std::span<const MovieJob> jobs, std::span<MovieReply> replies);
    std::size_t share_bytes(const Job& job) const;

    GpuFitter& fitter_;
    std::optional<gpu::Module> detect_;
    std::list<OnGpu> movies_;  // the last one used comes first
};

}  // namespace glint::worker
