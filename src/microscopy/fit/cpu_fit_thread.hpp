// A CPU thread that draws rows from the same queue as the GPUs, if that is expected to save time.
// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <thread>

#include "fit/row_queue.hpp"
#include "glint/fit.hpp"
#include "glint/offload/decision.hpp"
#include "offload/device_pool.hpp"

namespace glint {

/// The data to fit, and the memory for the results.
struct Stack {
    const RoiView& rois;
    const Psf& psf;
    double pixel_size_nm;
    const FitOptions& options;
    Fits& fits;
};

/// Expected time of a stack on several GPUs, with and without the CPU.
struct JointEstimate {
    double gpus_s = 0, with_cpu_s = 0;  ///< time of the GPUs alone; with the CPU from the beginning
    double cpu_share = 0;               ///< the CPU's share of the rows while all devices work
    bool cpu_helps() const;             ///< true if it saves at least a tenth of the time
};
/// Combines a decision's estimates for the CPU and for one GPU.
JointEstimate joint_estimate(const offload::Decision& decision, int gpus);

/// A thread that fits on the CPU until the queue is empty.
class CpuFitThread {
  public:
    CpuFitThread(const Stack& stack, RowQueue& queue, const offload::DevicePool& pool, double share, int gpus);
    ~CpuFitThread();
    /// Waits for the thread and adds its part to `info`; rethrows its exception.
    void join(FitInfo& info);
    bool runs() const { return thread_.joinable(); }        ///< false: no thread could be started
    const StopFlag& finished() const { return finished_; }  ///< the queue is empty, or the thread failed

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
