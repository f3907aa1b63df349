// One stack's way over the GPUs: each has a thread that draws rows from one queue; what fails is tried again.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fit/gpu_seats.hpp"
#include "fit/row_queue.hpp"
#include "glint/fit.hpp"

namespace glint {

/// What is to be fitted, and where the results go.
struct Stack {
    const RoiView& rois;
    const Psf& psf;
    double pixel_size_um;
    const FitOptions& options;
    Fits& fits;
};

/// What is done on GPUs, part by part out of a queue.
struct GpuTask {
    const FitOptions& options;
    RowQueue& queue;
    bool is_empty;     ///< a GPU is opened nevertheless: Backend::gpu says whether there is one
    std::string near;  ///< UUID of the GPU that the input lies on, which no other one is asked for; empty: any will do
    /// Draws from the queue until there is nothing to be had; throws what goes wrong. `part` says how it was done.
    std::function<void(GpuFitter& gpu, RowShare& share, FitInfo& part)> serve;
};

/// How many of `most` GPUs such a stack keeps busy.
int useful_gpus(const RoiView& rois, const FitOptions& options, int most);

class OnGpus {
  public:
    /// By so many threads at once; the Fitter may hold `most` GPUs.
    OnGpus(GpuSeats& seats, const GpuTask& task, int threads, int most, FitInfo& info);

    /// True: every row is final. False: those that the queue still has are for the CPU. Throws what nothing helps
    /// against.
    bool run();

    /// To wait for a GPU for longer than `seconds` does not pay.
    void wait_at_most(double seconds) { pays_s_ = std::max(0.0, seconds); }
    /// Told of the first GPU when it is open, and how long that took.
    std::function<void(const GpuSeat&, double seconds)> on_opened;
    /// Set by others who draw from the queue too when all is finished: a wait for a GPU ends then.
    const StopFlag* finished_by_others = nullptr;

    /// The wait was not worth more; that of a later stack may be.
    bool waited_in_vain() const { return in_vain_; }
    /// Of one GPU alone, when nothing went wrong; 0: else.
    double undisturbed_seconds() const;
    bool opened() const { return opened_; }

  private:
    /// What a thread has, and what went wrong with it.
    struct Hand {
        std::unique_ptr<GpuSeat> seat;
        std::string uuid;
        int failures = 0;
        double pause_s = 0;
    };

    bool serve(bool first);
    bool attempt(Hand& hand, bool first);
    bool find_seat(Hand& hand, bool first);
    void open(Hand& hand, bool first);
    gpu::LeaseRequest request();
    std::optional<gpu::Lease> ask_for_first();
    std::optional<gpu::Lease> ask_for_further();
    void call_others();
    void serve_with(Hand& hand);
    void note(const GpuSeat& seat, FitInfo part, std::int64_t fits, double seconds);
    bool try_again(Hand& hand, const gpu::GpuError& error);
    void pause(Hand& hand);
    bool give_up(std::exception_ptr why);
    void tell(const std::string& what);
    std::string after_failure(const gpu::GpuError& error) const;
    bool is_empty() const { return task_.is_empty; }

    GpuSeats& seats_;
    const GpuTask& task_;
    const FitOptions& options_;
    RowQueue& queue_;
    const int threads_, most_;
    FitInfo& info_;
    const bool strict_;  // the CPU will not do
    const double patience_s_;
    double pays_s_ = std::numeric_limits<double>::infinity();
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    bool others_called_ = false;
    std::vector<std::thread> others_;
    std::atomic<bool> first_gone_{false}, in_vain_{false}, opened_{false}, told_of_refusal_{false};

    mutable std::mutex mutex_;            // for what follows, and info_
    std::exception_ptr error_, failure_;  // that stopped all; of the last GPU of a thread
    std::string last_failure_;
    double on_gpu_s_ = 0;
};

}  // namespace glint
