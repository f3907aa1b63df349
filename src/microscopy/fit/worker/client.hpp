// Fits by a warm worker: the rows of a stack, through shared memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fit/cpu_fit_thread.hpp"
#include "fit/row_queue.hpp"
#include "fit/worker/camera_setup.hpp"
#include "fit/worker/link.hpp"
#include "fit/worker/shared_memory.hpp"

namespace glint::worker {

/// A Fitter's connection to a worker, kept from one stack to the next with the memory that both share. Thread-safe: of
/// several stacks at once it serves one.
class Client {
  public:
    /// The GPU of a worker that is running already, for the cost model.
    struct Gpu {
        std::string uuid, driver;
    };
    std::optional<Gpu> running(const Stack& stack);

    /// Fits what the queue has, by a worker that is there or that it starts. Where that ends, another one goes on. False: none can be
    /// had, and the rows without results are in the queue. `info` receives what was done, also when this throws. Throws
    /// Cancelled, OptionError.
    bool fit(const Stack& stack, RowQueue& queue, FitInfo& info);

  private:
    struct InFlight {
        RowRange rows;
        BatchLayout layout;
        std::byte* memory;
    };
    bool connect(const FitOptions& options, bool may_start);
    void disconnect();
    std::byte* memory_for(const LargeParts& large, const BatchLayout& largest, std::size_t parts);
    void run(const Stack& stack, RowShare& share, FitInfo& part);
    void send(const Stack& stack, const InFlight& part);
    void take_results(const Stack& stack, const InFlight& part, FitInfo& info);

    std::mutex mutex_;  // guards the rest
    Link link_;
    std::optional<SharedMemory> memory_;
    LargeParts large_;  // in the memory
    bool memory_sent_ = false;
};

/// Whether a worker could fit the stack, as it is: one molecule a ROI, on one GPU, from the host's memory; and
/// Placement::gpu_worker names the program.
bool can_serve(const Stack& stack);

/// A worker of this user, for display.
struct RunningWorker {
    std::uint32_t pid = 0;
    std::string uuid;  ///< of its GPU
    Facts facts;
};
/// Those of this build that answer within 0.2 s.
std::vector<RunningWorker> running_workers();

}  // namespace glint::worker
