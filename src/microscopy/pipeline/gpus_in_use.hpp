// The GPUs that localize a movie together. GPUs may join and leave; threads borrow their parts.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <tuple>
#include <vector>

#include "offload/workload.hpp"
#include "pipeline/gpu_in_use.hpp"

namespace glint {

/// The workload is finished when serve() has run `run` to its end. A Part is a FrameUpload, a GpuLocalizer or a
/// JointOnGpu. Thread-safe.
class GpusInUse final : public offload::Workload {
  public:
    /// Lends the GPU's parts until the work is finished, or until the GPU fails or gives way. Call it on a thread for
    /// each GPU. If no other thread does so, runs `run`, which borrows parts of all GPUs through on_one_of(). Throws
    /// gpu::GpuError if this GPU failed; other GPUs repeat its work. Other exceptions of `run` end all work. When it
    /// returns or throws, no part of the GPU is borrowed.
    void serve(GpuInUse& gpu, const std::function<void()>& run);

    /// Returns the number of fits.
    template <class Part>
    using Work = std::function<std::int64_t(GpuInUse&, Part&)>;
    /// Waits for an idle part of the GPU `of`, or of any GPU if `of` is null, and calls work(gpu, part). After a GPU
    /// error, the work is repeated with another part. Throws gpu::GpuError if no GPU is left. Throws gpu::OutOfMemory
    /// if `of` has no memory while several uploads are borrowed: the caller must then put its upload back first.
    template <class Part>
    void on_one_of(const GpuInUse* of, const Work<Part>& work);

    /// Rethrows the failure of a GPU that failed or gives way.
    void throw_if_failed(const GpuInUse& gpu) const;

  private:
    template <class Part>
    struct Borrowed {
        GpuInUse* gpu;
        Part* part;
    };
    /// First in, first out, so that all GPUs are used equally.
    template <class Part>
    using Idle = std::deque<Borrowed<Part>>;
    template <class Part>
    Idle<Part>& idle() {
        return std::get<Idle<Part>>(idle_);
    }
    /// Calls act(idle parts) for each kind of part.
    template <class Act>
    void for_each_kind(const Act& act) {
        act(idle<FrameUpload>()), act(idle<GpuLocalizer>()), act(idle<JointOnGpu>());
    }

    bool all_done() const override { return ended_; }
    bool some_to_do() const override { return true; }  // more GPUs may join until the end
    bool runner_leaves() const { return runner_ && runner_->gave_way; }
    void join(GpuInUse& gpu);
    void run_with(GpuInUse& gpu, const std::function<void()>& run, std::unique_lock<std::mutex>& lock);
    template <class Part>
    Borrowed<Part> borrow(const GpuInUse* of);
    // Require mutex_:
    void withdraw(GpuInUse& gpu);
    template <class Part>
    void put_back(const Borrowed<Part>& borrowed);
    void succeeded(GpuInUse& gpu, std::int64_t fits);
    void fail(GpuInUse& gpu, std::exception_ptr failure);
    template <class Part>
    bool wait_for_memory(GpuInUse& gpu, std::unique_lock<std::mutex>& lock);
    void free_memory_of(GpuInUse& gpu);

    // Guarded by mutex_:
    std::tuple<Idle<FrameUpload>, Idle<GpuLocalizer>, Idle<JointOnGpu>> idle_;
    std::vector<GpuInUse*> gpus_;
    std::exception_ptr last_failure_;
    bool ended_ = false;
    GpuInUse* runner_ = nullptr;  // the GPU whose thread runs `run`
};

}  // namespace glint
