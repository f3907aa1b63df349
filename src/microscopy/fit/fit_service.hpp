// Interface of another process that fits stacks on its GPU. This layer knows nothing else about the warm worker, which
// is in a higher layer (../warm_worker).
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "fit/cpu_fit_thread.hpp"
#include "fit/row_queue.hpp"

namespace glint {

/// A GPU that another process has already opened.
struct OpenGpu {
    std::string uuid, driver;  ///< the driver's version
};

/// A Fitter's connection to such a process, kept from one stack to the next. Thread-safe: serves one stack at a time.
class FitService {
  public:
    virtual ~FitService() = default;
    /// Returns the GPU of a running process that could fit the stack; for the cost model.
    virtual std::optional<OpenGpu> open_gpu(const Stack& stack) = 0;
    /// Fits the rows in the queue in a process that is running or that this call starts. If the process ends, another
    /// process continues. Returns false if no process is available for this stack; the rows without results are then in
    /// the queue. `info` receives the work that was done, even if this throws. Throws Cancelled, OptionError.
    virtual bool fit(const Stack& stack, RowQueue& queue, FitInfo& info) = 0;
};

/// Defined in ../warm_worker.
std::unique_ptr<FitService> make_fit_service();

}  // namespace glint
