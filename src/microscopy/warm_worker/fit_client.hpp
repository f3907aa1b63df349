// Hands rows of a stack to a warm worker, through shared memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <optional>

#include "fit/fit_service.hpp"
#include "warm_worker/camera_setup.hpp"
#include "warm_worker/shared_memory.hpp"
#include "warm_worker/worker_connection.hpp"

namespace glint::warm_worker {

/// A Fitter's connection to a worker, kept from one stack to the next with the memory that both share.
class FitClient final : public FitService {
  public:
    std::optional<OpenGpu> open_gpu(const Stack& stack) override;
    bool fit(const Stack& stack, RowQueue& queue, FitInfo& info) override;

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
    WorkerConnection worker_;
    std::optional<SharedMemory> memory_;
    LargeParts large_;  // in the memory
    bool memory_sent_ = false;
};

}  // namespace glint::warm_worker
