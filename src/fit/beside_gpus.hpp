// The CPU as one more that draws from the queue, where that is expected to pay.
// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <thread>

#include "fit/row_queue.hpp"
#include "glint/fit.hpp"
#include "glint/offload/decision.hpp"
#include "offload/device_pool.hpp"

namespace glint {

/// What is to be fitted, and where the results go.
struct Stack {
    const RoiView& rois;
    const Psf& psf;
    double pixel_size_um;
    const FitOptions& options;
    Fits& fits;
};

/// What a stack is expected to take on several GPUs.
struct Together {
    double gpus_s = 0, with_cpu_s = 0;  ///< by them alone; with the CPU, from the beginning
    double cpu_share = 0;               ///< what the CPU does of a stretch of time in which all work
    bool cpu_pays() const;              ///< a tenth is saved, at least
};
/// From what a decision expects of the CPU and of one GPU.
Together together(const offload::Decision& decision, int gpus);

/// A thread that fits on the CPU until the queue is empty.
class BesideGpus {
  public:
    BesideGpus(const Stack& stack, RowQueue& queue, const offload::DevicePool& pool, double share, int gpus);
    ~BesideGpus();
    /// Waits for its end. Throws what went wrong.
    void join(FitInfo& info);
    const StopFlag& finished() const { return finished_; }  ///< nothing is left to do

  private:
    void serve();
    std::int64_t part() const;

    const Stack& stack_;
    RowQueue& queue_;
    const offload::DevicePool& pool_;
    const double share_;
    FitOptions options_;
    FitInfo info_;
    std::exception_ptr error_;
    StopFlag finished_{false};
    std::thread thread_;
};

}  // namespace glint
